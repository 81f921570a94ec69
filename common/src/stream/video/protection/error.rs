//! Errors of parity.

use crate::wire::media::HeaderError;

/// Reasons for which a shard of parity, or what is made of it, is none of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ParityError {
    #[error("a protection group of no data or too many shards")]
    GroupSize,
    #[error("a parity shard that is none of its group's")]
    Index,
    #[error("a parity shard of no, odd or too many bytes")]
    Bytes,
    #[error("contradicts an earlier datagram of its group")]
    Contradiction,
    #[error("data shards that are not of the group their parity is of")]
    OtherGroup,
    #[error("shards that the code cannot hold")]
    NotDecodable,
    #[error("a shard shorter than it says")]
    ShardTooShort,
    #[error("parity of parity")]
    OfParity,
    #[error(transparent)]
    Header(#[from] HeaderError),
}
