//! Errors of what a datagram brings to a frame.

use picture::run::RunError;

use crate::stream::video::protection::ParityError;
use crate::wire::media::HeaderError;

/// Reasons for which a datagram does not belong to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PieceError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error("more fine blocks than blocks")]
    FineBlocks,
    #[error("a reference that the stream does not keep")]
    UnknownReference,
    #[error("a run of no blocks")]
    EmptyRun,
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("a block beyond the last")]
    BeyondLastBlock,
    #[error("more bytes than a frame can have")]
    TooManyBytes,
    #[error("a part beyond the end of its block")]
    BeyondBlock,
    #[error("a part of too few bytes")]
    PartTooShort,
    #[error("contradicts an earlier datagram of its frame or block")]
    Contradiction,
    #[error("a parity shard of no group")]
    ParityWithoutGroup,
    #[error(transparent)]
    Parity(#[from] ParityError),
}
