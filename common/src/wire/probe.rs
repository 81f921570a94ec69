//! Datagrams of a link test, little-endian. None carries media, and they travel on connections of their own.
//!
//! ```text
//! kind  0 u8   1 u8, 2 u16     4 u64 (us)          12              20              28       32
//! ping  1      0, number       tester's clock
//! pong  2      0, number       the ping's          answerer's clock
//! load  3      0, train        tester's clock      padding
//! ask   4      0, train        0
//! tell  5      0, train        first arrival       last arrival    shortest way    95 % way  datagrams (u32)
//! ```
//!
//! A way is a load's arrival (answerer's clock) minus its departure (tester's clock), a signed number: the clocks'
//! difference is in it, and falls out when two are compared.

use super::DecodeError;
use crate::units::Timestamp;

/// Shortest datagram of a link test; a load has at least as many bytes.
pub const PROBE_BYTES_MIN: usize = 12;

const PONG_BYTES: usize = 20;
const TELL_BYTES: usize = 40;

/// A datagram of a link test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Tester: answer at once.
    Ping {
        /// Counts the pings.
        number: u16,
        /// Time of sending, tester's clock.
        sent: Timestamp,
    },
    /// Answerer: the answer.
    Pong {
        /// Number of the ping.
        number: u16,
        /// Time of sending the ping, tester's clock.
        sent: Timestamp,
        /// Time of the ping's arrival, answerer's clock.
        received: Timestamp,
    },
    /// Tester: one of a train, to be counted.
    Load {
        /// Counts the trains.
        train: u16,
        /// Time of sending, tester's clock.
        sent: Timestamp,
    },
    /// Tester: what came of this train?
    Ask {
        /// The train.
        train: u16,
    },
    /// Answerer: this.
    Tell {
        /// The train.
        train: u16,
        /// Counts and times of its arrival.
        arrived: Arrived,
    },
}

/// The arrival of a train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Datagrams.
    pub datagrams: u32,
    /// Time of the first arrival, answerer's clock.
    pub first: Timestamp,
    /// Time of the last arrival, answerer's clock.
    pub last: Timestamp,
    /// Shortest way, microseconds.
    pub way_min_us: i64,
    /// 95 of 100 ways were at most this, microseconds.
    pub way_p95_us: i64,
}

impl Probe {
    /// Encodes the datagram, `bytes` long if it is a load.
    pub fn to_bytes(&self, bytes: usize) -> Vec<u8> {
        let head = |kind: u8, number: u16, time: Timestamp| {
            let mut out = Vec::with_capacity(bytes.max(TELL_BYTES));
            out.extend([kind, 0]);
            out.extend(number.to_le_bytes());
            out.extend(time.as_us().to_le_bytes());
            out
        };
        match *self {
            Self::Ping { number, sent } => head(1, number, sent),
            Self::Pong { number, sent, received } => {
                let mut out = head(2, number, sent);
                out.extend(received.as_us().to_le_bytes());
                out
            }
            Self::Load { train, sent } => {
                let mut out = head(3, train, sent);
                out.resize(bytes.max(PROBE_BYTES_MIN), 0);
                out
            }
            Self::Ask { train } => head(4, train, Timestamp::default()),
            Self::Tell { train, arrived } => {
                let mut out = head(5, train, arrived.first);
                out.extend(arrived.last.as_us().to_le_bytes());
                out.extend(arrived.way_min_us.to_le_bytes());
                out.extend(arrived.way_p95_us.to_le_bytes());
                out.extend(arrived.datagrams.to_le_bytes());
                out
            }
        }
    }

    /// Reads what [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let broken = DecodeError::Malformed("no datagram of a link test");
        let u64_at = |at: usize| {
            let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes);
            word.ok_or(broken.clone())
        };
        let time = |at| u64_at(at).map(Timestamp::from_us);
        let (Some(&[kind, 0, low, high]), sent) = (bytes.first_chunk(), time(4)?) else { return Err(broken) };
        let number = u16::from_le_bytes([low, high]);
        match (kind, bytes.len()) {
            (1, PROBE_BYTES_MIN) => Ok(Self::Ping { number, sent }),
            (2, PONG_BYTES) => Ok(Self::Pong { number, sent, received: time(12)? }),
            (3, _) => Ok(Self::Load { train: number, sent }),
            (4, PROBE_BYTES_MIN) => Ok(Self::Ask { train: number }),
            (5, TELL_BYTES) => {
                let (way_min_us, way_p95_us) = (u64_at(20)?.cast_signed(), u64_at(28)?.cast_signed());
                let datagrams = u32::from_le_bytes([bytes[36], bytes[37], bytes[38], bytes[39]]);
                let arrived = Arrived { datagrams, first: sent, last: time(12)?, way_min_us, way_p95_us };
                Ok(Self::Tell { train: number, arrived })
            }
            _ => Err(broken),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_kind_survives_and_every_other_length_is_refused() {
        let t = Timestamp::from_us;
        let arrived = Arrived { datagrams: 7, first: t(u64::MAX), last: t(2), way_min_us: -3, way_p95_us: i64::MAX };
        let probes = [
            Probe::Ping { number: 1, sent: t(2) },
            Probe::Pong { number: u16::MAX, sent: t(2), received: t(3) },
            Probe::Load { train: 9, sent: t(u64::MAX) },
            Probe::Ask { train: 9 },
            Probe::Tell { train: 9, arrived },
        ];
        for probe in probes {
            let bytes = probe.to_bytes(1_000);
            assert_eq!(Probe::from_bytes(&bytes), Ok(probe));
            assert_eq!(bytes.len() == 1_000, matches!(probe, Probe::Load { .. }));
            for length in 0..PROBE_BYTES_MIN {
                assert!(Probe::from_bytes(&bytes[..length]).is_err());
            }
            if !matches!(probe, Probe::Load { .. }) {
                assert!(Probe::from_bytes(&bytes[..bytes.len() - 1]).is_err());
                assert!(Probe::from_bytes(&[bytes.as_slice(), &[0]].concat()).is_err());
            }
        }
        for kind in (0..=255).filter(|kind| !(1..=5).contains(kind)) {
            assert!(Probe::from_bytes(&[kind; 40]).is_err());
        }
    }
}
