//! Log lines that say why the picture is as it is.

use common::reason::{Cause, Reason};

use crate::limit::Limit;
use crate::limited;

/// Writes a reason in plain words and with its figures: each kind at most once a minute, and more and more rarely while it goes on, so
/// that a bad line does not fill the log; all of them at the level `debug`.
pub fn tell(reason: &Reason) {
    static LIMITS: [Limit; Cause::ALL.len()] = [const { Limit::rarer() }; Cause::ALL.len()];
    let cause = reason.cause();
    limited!(LIMITS[cause as usize]; info, "{}: {reason}", cause.words());
}
