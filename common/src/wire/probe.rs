//! Datagrams of a link test besides the load, which is media, and feedback reports, little-endian. They travel on connections of
//! their own.
//!
//! ```text
//! kind  0 u8   1 u8, 2 u16     4 u64               12              20              28
//! turn  6      0, 0            0
//! found 7      0, at least     usable (bits/s)     loaded p50, us  loaded p95, us  lost in a million (u32)
//! ```
//!
//! Once the side that has begun has its result it asks the other one to take its turn, which measures likewise and tells what it has
//! found.

use crate::units::Bitrate;

const TURN_BYTES: usize = 12;
const FOUND_BYTES: usize = 32;

/// A datagram of a link test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TestDatagram {
    /// Measure the other way, from there to here.
    Turn,
    /// This side has had its turn: this came of it.
    Found(OtherWay),
}

/// The findings of the side that was asked to take its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherWay {
    /// Rate that this way carried without queueing, with all that is around the datagrams; zero: none.
    pub usable: Bitrate,
    /// The link may carry more than was tried.
    pub at_least: bool,
    /// Half of the round trips at that rate took at most this, microseconds.
    pub loaded_p50_us: u64,
    /// 95 of 100 round trips at that rate took at most this, microseconds.
    pub loaded_p95_us: u64,
    /// Datagrams in a million that did not arrive at that rate.
    pub lost_ppm: u32,
}

impl TestDatagram {
    /// Encodes the datagram.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = |kind: u8, number: u16, value: u64| {
            let mut out = vec![kind, 0];
            out.extend(number.to_le_bytes());
            out.extend(value.to_le_bytes());
            out
        };
        match *self {
            Self::Turn => head(6, 0, 0),
            Self::Found(found) => {
                let mut out = head(7, found.at_least.into(), found.usable.as_bps());
                out.extend(found.loaded_p50_us.to_le_bytes());
                out.extend(found.loaded_p95_us.to_le_bytes());
                out.extend(found.lost_ppm.to_le_bytes());
                out
            }
        }
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` if it is something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let u64_at = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let (&[kind, 0, low, high], value) = (bytes.first_chunk()?, u64_at(4)?) else { return None };
        match (kind, bytes.len(), u16::from_le_bytes([low, high])) {
            (6, TURN_BYTES, 0) if value == 0 => Some(Self::Turn),
            (7, FOUND_BYTES, at_least @ 0..=1) => Some(Self::Found(OtherWay {
                usable: Bitrate::from_bps(value),
                at_least: at_least == 1,
                loaded_p50_us: u64_at(12)?,
                loaded_p95_us: u64_at(20)?,
                lost_ppm: u32::from_le_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]),
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_and_every_other_length_is_refused() {
        let (usable, at_least) = (Bitrate::from_bps(9), true);
        let found = OtherWay { usable, at_least, loaded_p50_us: 3, loaded_p95_us: u64::MAX, lost_ppm: u32::MAX };
        for datagram in [TestDatagram::Turn, TestDatagram::Found(found)] {
            let bytes = datagram.to_bytes();
            assert_eq!(TestDatagram::from_bytes(&bytes), Some(datagram));
            for length in 0..bytes.len() {
                assert!(TestDatagram::from_bytes(&bytes[..length]).is_none());
            }
            assert!(TestDatagram::from_bytes(&[bytes.as_slice(), &[0]].concat()).is_none());
        }
        for kind in (0..=255).filter(|kind| ![6, 7].contains(kind)) {
            let mut bytes = TestDatagram::Found(found).to_bytes();
            bytes[0] = kind;
            assert!(TestDatagram::from_bytes(&bytes).is_none());
        }
    }
}
