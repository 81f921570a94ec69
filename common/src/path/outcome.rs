//! The counts of a path, and the outcomes of datagrams.

use std::time::Duration;

use crate::reason::ReasonCounts;
use crate::wire::ReportError;
use crate::wire::media::{Envelope, HeaderError};

/// The counts of a path since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Datagrams that the peer has reported lost.
    pub datagrams_lost: u64,
    /// Datagrams that the peer has reported received.
    pub datagrams_received: u64,
    /// Feedback reports that were malformed, or that reported datagrams never sent.
    pub feedback_malformed: u64,
    /// Feedback reports that were overtaken by newer ones, or came while nothing was streamed.
    pub feedback_unwanted: u64,
    /// Round trip that the last feedback report shows, without the time that it waited to be sent.
    pub rtt: Option<Duration>,
    /// Time for which the program should have run while it sent, and did not.
    pub send_stalled: Duration,
    /// Time for which the program should have run while it received, in this connection, and did not.
    pub receive_stalled: Duration,
    /// Time for which the peer's program should have run and did not, as it says.
    pub peer_stalled: Duration,
    /// Datagrams of this connection that have left there and not come, as far as their numbers tell.
    pub datagrams_missing: u64,
    /// Datagrams that are of no kind.
    pub datagrams_malformed: u64,
    /// Decisions of the rate control, by reason.
    pub reasons: ReasonCounts,
}

impl PathCounters {
    /// Returns the share of the reported datagrams that were lost, 0 to 1.
    pub fn loss(&self) -> f64 {
        let reported = self.datagrams_lost + self.datagrams_received;
        self.datagrams_lost as f64 / reported.max(1) as f64
    }
}

/// The meaning of a feedback report, or of another datagram for a stream's sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedbackOutcome {
    /// It has been taken into account.
    Accepted,
    /// It is older than one already taken.
    OutOfDate,
    /// It is none of this stream, and why.
    Malformed(ReportError),
    /// Nothing is streamed.
    Unexpected,
}

/// Whom a datagram is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// The path, which has taken it: a feedback report.
    Feedback(FeedbackOutcome),
    /// The receiving end of this stream.
    Media(Envelope),
    /// The sending end of this stream.
    States(u8),
    /// Nobody: what is wrong with it.
    Malformed(HeaderError),
}
