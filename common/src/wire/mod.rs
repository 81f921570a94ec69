//! Bytes that cross the network.
//!
//! Frequent messages ([`media`], [`run`](picture::run), [`feedback`], [`states`]) are laid out by hand; rare ones
//! ([`control`]) are length-prefixed and derived. Every decoder here is total: any bytes give a value or the reason why
//! they are none.

pub mod control;
pub mod feedback;
pub mod media;
pub mod probe;
pub mod states;

use picture::run::RunError;

/// Version of everything in this module; both ends must have the same.
pub const PROTOCOL_VERSION: u16 = 10;

/// Longest control message, without its length prefix.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Longest feedback and report of states: fits every path that QUIC takes.
pub const FEEDBACK_BYTES_MAX: usize = 1150;

/// Cost of a datagram below us, bytes: IPv4 20, UDP 8, QUIC header 11 and tag 16, DATAGRAM frame 3, and 2 to spare; about
/// 4 % of a full one. IPv6 takes 20 more.
pub const LOWER_LAYERS_BYTES: usize = 60;

/// Returns what a datagram of `bytes` takes on the wire.
pub const fn on_wire(bytes: usize) -> usize {
    bytes + LOWER_LAYERS_BYTES
}

/// Reasons for which a datagram does not belong to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PacketError {
    #[error("shorter than its header")]
    ShorterThanHeader,
    #[error("of another version")]
    OtherVersion,
    #[error("an unknown kind of datagram")]
    UnknownKind,
    #[error("an unknown protection group")]
    UnknownGroup,
    #[error("a step beyond the coarsest")]
    UnknownStep,
    #[error("a reference that the stream does not keep")]
    UnknownReference,
    #[error("more fine blocks than blocks")]
    FineBlocks,
    #[error("a block beyond the last")]
    BeyondLastBlock,
    #[error("more bytes than a frame can have")]
    TooManyBytes,
    #[error("contradicts an earlier datagram of its frame, block or group")]
    Contradiction,
    #[error("a run of no blocks")]
    EmptyRun,
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("a part beyond the end of its block")]
    BeyondBlock,
    #[error("a part of too few bytes")]
    PartTooShort,
    #[error("a parity shard of no group")]
    ParityWithoutGroup,
    #[error("a protection group of no data or too many shards")]
    GroupSize,
    #[error("a parity shard that is none of its group's")]
    ParityIndex,
    #[error("a parity shard of no, odd or too many bytes")]
    ParityBytes,
    #[error("parity of parity")]
    ParityOfParity,
    #[error("a shard shorter than it says")]
    ShardTooShort,
    #[error("data shards that are not of the group their parity is of")]
    OtherGroup,
    #[error("shards that the code cannot hold")]
    NotDecodable,
    #[error("a feedback is too long or ends inside an age")]
    FeedbackLength,
    #[error("a feedback reports a datagram that was never sent")]
    NeverSent,
    #[error("a report of states is too long, ends inside a fate, or has bytes behind the last one")]
    StatesLength,
    #[error("a report of states has a hash of no state")]
    StatesHash,
    #[error("a report of states has gaps that touch, are out of order, or are written long")]
    StatesGaps,
    #[error("a report of states tells of a frame that was never coded, or of blocks that it does not have")]
    StatesBeyond,
}
