//! Errors of datagrams for a sending end.

use super::feedback::FeedbackError;
use super::media::HeaderError;
use super::states::StatesError;

/// Reasons for which a datagram is no report to a sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ReportError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    #[error(transparent)]
    States(#[from] StatesError),
}
