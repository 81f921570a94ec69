//! Datagrams of a link test, little-endian. None carries media, and they travel on connections of their own.
//!
//! ```text
//! kind  0 u8   1 u8, 2 u16     4 u64 (us)          12              20              28       32
//! ping  1      0, number       tester's clock
//! pong  2      0, number       the ping's          answerer's clock
//! load  3      0, train        tester's clock      padding
//! ask   4      0, train        0
//! tell  5      0, train        first arrival       last arrival    shortest way    95 % way  datagrams (u32)
//! turn  6      0, 0            0
//! found 7      0, at least     usable (bits/s)     loaded p50      loaded p95      lost in a million (u32)
//! ```
//!
//! A way is a load's arrival (answerer's clock) minus its departure (tester's clock), a signed number: the clocks'
//! difference is in it, and falls out when two are compared.
//!
//! Once the tester has its result it asks the other side to take its turn: then the answerer is a tester, and ends with what it
//! has found. A program that does not know this gives no answer to it.

use crate::units::{Bitrate, Timestamp};

/// Shortest datagram of a link test; a load has at least as many bytes.
pub const PROBE_BYTES_MIN: usize = 12;

const PONG_BYTES: usize = 20;
const TELL_BYTES: usize = 40;
const FOUND_BYTES: usize = 32;

/// A datagram of a link test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TestDatagram {
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
    /// Tester: measure the other way, from there to here.
    Turn,
    /// Answerer that has had its turn: this came of it.
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

impl TestDatagram {
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
            Self::Turn => head(6, 0, Timestamp::default()),
            Self::Found(found) => {
                let mut out = head(7, found.at_least.into(), Timestamp::from_us(found.usable.as_bps()));
                out.extend(found.loaded_p50_us.to_le_bytes());
                out.extend(found.loaded_p95_us.to_le_bytes());
                out.extend(found.lost_ppm.to_le_bytes());
                out
            }
        }
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` if it is no datagram of a link test.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let u64_at = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let time = |at| u64_at(at).map(Timestamp::from_us);
        let (&[kind, 0, low, high], sent) = (bytes.first_chunk()?, time(4)?) else { return None };
        let number = u16::from_le_bytes([low, high]);
        match (kind, bytes.len()) {
            (1, PROBE_BYTES_MIN) => Some(Self::Ping { number, sent }),
            (2, PONG_BYTES) => Some(Self::Pong { number, sent, received: time(12)? }),
            (3, _) => Some(Self::Load { train: number, sent }),
            (4, PROBE_BYTES_MIN) => Some(Self::Ask { train: number }),
            (5, TELL_BYTES) => {
                let (way_min_us, way_p95_us) = (u64_at(20)?.cast_signed(), u64_at(28)?.cast_signed());
                let datagrams = u32::from_le_bytes([bytes[36], bytes[37], bytes[38], bytes[39]]);
                let arrived = Arrived { datagrams, first: sent, last: time(12)?, way_min_us, way_p95_us };
                Some(Self::Tell { train: number, arrived })
            }
            (6, PROBE_BYTES_MIN) if number == 0 && sent == Timestamp::default() => Some(Self::Turn),
            (7, FOUND_BYTES) if number <= 1 => Some(Self::Found(OtherWay {
                usable: Bitrate::from_bps(sent.as_us()),
                at_least: number == 1,
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
        let t = Timestamp::from_us;
        let arrived = Arrived { datagrams: 7, first: t(u64::MAX), last: t(2), way_min_us: -3, way_p95_us: i64::MAX };
        let (usable, at_least) = (Bitrate::from_bps(9), true);
        let found = OtherWay { usable, at_least, loaded_p50_us: 3, loaded_p95_us: u64::MAX, lost_ppm: u32::MAX };
        let probes = [
            TestDatagram::Ping { number: 1, sent: t(2) },
            TestDatagram::Pong { number: u16::MAX, sent: t(2), received: t(3) },
            TestDatagram::Load { train: 9, sent: t(u64::MAX) },
            TestDatagram::Ask { train: 9 },
            TestDatagram::Tell { train: 9, arrived },
            TestDatagram::Turn,
            TestDatagram::Found(found),
        ];
        for probe in probes {
            let bytes = probe.to_bytes(1_000);
            assert_eq!(TestDatagram::from_bytes(&bytes), Some(probe));
            assert_eq!(bytes.len() == 1_000, matches!(probe, TestDatagram::Load { .. }));
            for length in 0..PROBE_BYTES_MIN {
                assert!(TestDatagram::from_bytes(&bytes[..length]).is_none());
            }
            if !matches!(probe, TestDatagram::Load { .. }) {
                assert!(TestDatagram::from_bytes(&bytes[..bytes.len() - 1]).is_none());
                assert!(TestDatagram::from_bytes(&[bytes.as_slice(), &[0]].concat()).is_none());
            }
        }
        for kind in (0..=255).filter(|kind| !(1..=7).contains(kind)) {
            assert!(TestDatagram::from_bytes(&[kind; 40]).is_none());
        }
    }
}
