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
pub const PROTOCOL_VERSION: u16 = 8;

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
pub enum PacketError {
    /// Shorter than its header.
    #[error("shorter than its header")]
    ShorterThanHeader,
    /// Of another version.
    #[error("of another version")]
    OtherVersion,
    /// An unknown kind of datagram.
    #[error("an unknown kind of datagram")]
    UnknownKind,
    /// An unknown protection group.
    #[error("an unknown protection group")]
    UnknownGroup,
    /// A step beyond the coarsest.
    #[error("a step beyond the coarsest")]
    UnknownStep,
    /// A reference that the stream does not keep.
    #[error("a reference that the stream does not keep")]
    UnknownReference,
    /// More fine blocks than blocks.
    #[error("more fine blocks than blocks")]
    FineBlocks,
    /// A block beyond the last.
    #[error("a block beyond the last")]
    BeyondLastBlock,
    /// More bytes than a frame can have.
    #[error("more bytes than a frame can have")]
    TooManyBytes,
    /// Contradicts an earlier datagram of its frame, block or group.
    #[error("contradicts an earlier datagram of its frame, block or group")]
    Contradiction,
    /// A run of no blocks.
    #[error("a run of no blocks")]
    EmptyRun,
    /// A run of blocks that is none.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A part beyond the end of its block.
    #[error("a part beyond the end of its block")]
    BeyondBlock,
    /// A part of too few bytes.
    #[error("a part of too few bytes")]
    PartTooShort,
    /// A parity shard of no group.
    #[error("a parity shard of no group")]
    ParityWithoutGroup,
    /// A protection group of no data or too many shards.
    #[error("a protection group of no data or too many shards")]
    GroupSize,
    /// A parity shard that is none of its group's.
    #[error("a parity shard that is none of its group's")]
    ParityIndex,
    /// A parity shard of no, odd or too many bytes.
    #[error("a parity shard of no, odd or too many bytes")]
    ParityBytes,
    /// Parity of parity.
    #[error("parity of parity")]
    ParityOfParity,
    /// A shard shorter than it says.
    #[error("a shard shorter than it says")]
    ShardTooShort,
    /// Data shards that are not of the group their parity is of.
    #[error("data shards that are not of the group their parity is of")]
    OtherGroup,
    /// Shards that the code cannot hold.
    #[error("shards that the code cannot hold")]
    NotDecodable,
    /// A feedback is too long or ends inside an age.
    #[error("a feedback is too long or ends inside an age")]
    FeedbackLength,
    /// A feedback reports a datagram that was never sent.
    #[error("a feedback reports a datagram that was never sent")]
    NeverSent,
    /// A report of states is too long, ends inside a fate, or has bytes behind the last one.
    #[error("a report of states is too long, ends inside a fate, or has bytes behind the last one")]
    StatesLength,
    /// A report of states has a hash of no state.
    #[error("a report of states has a hash of no state")]
    StatesHash,
    /// A report of states has gaps that touch, are out of order, or are written long.
    #[error("a report of states has gaps that touch, are out of order, or are written long")]
    StatesGaps,
    /// A report of states tells of a frame that was never coded, or of blocks that it does not have.
    #[error("a report of states tells of a frame that was never coded, or of blocks that it does not have")]
    StatesBeyond,
}
