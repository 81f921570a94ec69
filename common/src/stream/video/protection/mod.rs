//! Unequal protection: Reed-Solomon parity for the most important parts of a picture.
//!
//! A frame's datagrams form groups: the coarse ones, which also carry the frame's header like all others; those up to
//! the second finest level; and the finest, which have no group and no parity. A group of `k` data shards with `m`
//! parity shards is whole as soon as any `k` of them are there. Coarse groups have at least as much parity as data, the
//! others what [`parity_shards`] finds best for the loss seen ([`Protector`]).
//!
//! A shard is what a datagram has to itself, padded with zeros to an even size common to its group:
//!
//! ```text
//! 0 u8   kind of datagram
//! 1 u16  bytes that follow, padding not counted
//! 3      the datagram behind the fields of all kinds
//! ```
//!
//! The rest of the header is the frame's, so a parity shard's header completes a data shard. A group of one data shard
//! has copies of it as parity. The code is that of reed-solomon-simd (Leopard-RS, GF(2^16)), whose shard counts and
//! sizes come from the peer and are therefore bounded here before the library sees them.
//!
//! # What it is worth
//!
//! `make protection`: 10,000 frames of 720p60 at 20 Mbit/s, the same bytes with parity (right) as without (left).
//! Shares of all frames, per cent; repaired: coarse blocks still missing if they were sent once more.
//!
//! ```text
//! loss  burst | parity | all but the finest whole | coarse missing | repaired
//!  1 %   1    | 10.3   |   77.6      99.87        |  1.78   0.00   |  0.00
//!  2 %   1    | 15.1   |   60.8      99.90        |  4.01   0.00   |  0.00
//!  5 %   1    | 17.4   |   27.8      99.57        |  9.91   0.04   |  0.01
//! 10 %   1    | 28.2   |    6.9      99.74        | 18.68   0.00   |  0.00
//!  1 %   3    | 18.7   |   91.2      99.30        |  1.40   0.02   |  0.00
//!  1 %   8    |  4.8   |   95.8      95.93        |  1.04   0.26   |  0.00
//!  5 %   3    | 28.6   |   62.1      98.70        |  6.56   0.01   |  0.00
//!  5 %   8    | 28.6   |   80.7      94.71        |  5.60   0.20   |  0.01
//! ```
//!
//! Rare long bursts are left to concealment: parity for them would cost more than it repairs.
//!
//! There is no repair by request. It would meet the frame's deadline only in a local network, and would repair there
//! the difference of the last two columns: at most one frame in 400, whose coarse blocks are otherwise the last frame's
//! for one frame interval. That is not worth a request datagram, a store at the sender and their abuse.

mod count;
mod error;
mod protector;
mod recovery;

pub use count::parity_shards;
pub use error::ParityError;
pub use protector::{Protected, Protector};
pub(crate) use recovery::{FrameShards, ParityShard};

use std::sync::Once;

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

use crate::wire::media::{COMMON_HEADER_BYTES, Content, PARITY_HEADER_BYTES};

/// Shards of a group, parity included.
pub const SHARDS_MAX: usize = 256;
const _: () = assert!(SHARDS_MAX - 1 <= u8::MAX as usize, "a shard's number is a byte");
/// Bytes of a shard: more than any datagram on a common network.
pub const SHARD_BYTES_MAX: usize = 4096;
const _: () = assert!(SHARD_BYTES_MAX.is_multiple_of(2), "the code takes shards of an even number of bytes");
/// Bytes that a datagram must leave free so that the parity shards of its group fit into datagrams of the same size.
pub const PARITY_EXTRA_BYTES: usize = PARITY_HEADER_BYTES + SHARD_HEAD_BYTES + 1 - COMMON_HEADER_BYTES;

const SHARD_HEAD_BYTES: usize = 3;

/// Protection of frames by parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// Protects by the loss seen, and coarse datagrams always.
    #[default]
    Auto,
    /// No parity at all.
    Off,
}

/// Has the library make its tables (a few megabytes, some milliseconds) before the first frame needs them, once per process.
pub fn prepare() {
    static TABLES: Once = Once::new();
    // Of this constant case nothing can go wrong, and nothing depends on it.
    TABLES.call_once(|| _ = try_prepare());
}

fn try_prepare() -> Result<(), reed_solomon_simd::Error> {
    let data = [[0; 2]; 2];
    let parity = code(&data, 1, 2)?;
    let mut decoder = ReedSolomonDecoder::new(2, 1, 2)?;
    decoder.add_original_shard(0, data[0])?;
    decoder.add_recovery_shard(0, &parity[0])?;
    decoder.decode()?;
    Ok(())
}

/// Returns the `parity` parity shards of data shards that are all `shard_bytes` long.
fn code(
    data: &[impl AsRef<[u8]>],
    parity: usize,
    shard_bytes: usize,
) -> Result<Vec<Vec<u8>>, reed_solomon_simd::Error> {
    if let [only] = data {
        return Ok(vec![only.as_ref().to_vec(); parity]);
    }
    let mut encoder = ReedSolomonEncoder::new(data.len(), parity, shard_bytes)?;
    for shard in data {
        encoder.add_original_shard(shard)?;
    }
    Ok(encoder.encode()?.recovery_iter().map(<[u8]>::to_vec).collect())
}

/// Returns the shard of a datagram, not padded.
fn write_shard(content: &Content, payload: &[u8]) -> Vec<u8> {
    let mut shard =
        Vec::with_capacity(SHARD_HEAD_BYTES + content.header_bytes() - COMMON_HEADER_BYTES + payload.len() + 1);
    shard.extend([content.kind(), 0, 0]);
    content.write(&mut shard);
    shard.extend_from_slice(payload);
    let bytes = u16::try_from(shard.len() - SHARD_HEAD_BYTES).unwrap_or(u16::MAX);
    shard[1..3].copy_from_slice(&bytes.to_le_bytes());
    shard
}

/// Returns a datagram's own part from its shard, or what is wrong with it.
pub(crate) fn read_shard(shard: &[u8]) -> Result<(Content, &[u8]), ParityError> {
    let (&[kind, low, high], rest) = shard.split_first_chunk().ok_or(ParityError::ShardTooShort)?;
    let bytes = rest.get(..u16::from_le_bytes([low, high]).into()).ok_or(ParityError::ShardTooShort)?;
    match Content::parse(kind, bytes)? {
        (Content::Parity { .. }, _) => Err(ParityError::OfParity),
        parsed => Ok(parsed),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
