//! The failure that ends the encode thread.

use kernels::EncodeError;
use net::failure::Failure;
use shell::exit::codec_failure;

/// Returns the failure to show the person at the terminal for an encoder's error.
pub(crate) fn failure(error: &EncodeError) -> Failure {
    match error {
        EncodeError::BudgetTooSmall { .. } => Failure::usage(format!(
            "the bit rate is too low for pictures of this size: {error}; raise --rate or lower the frame rate"
        )),
        _ => codec_failure(error),
    }
}
