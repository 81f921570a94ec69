//! States datagram, receiver to sender, little-endian: which of the last frames the decoder used, and what it lacked of
//! them.
//!
//! ```text
//!  0 u8   version << 4 | 14          7 u8   the state of the hash, so many frames before the newest; 255: there is none
//!  1 u8   stream                     8 u32  hash of that state, or 0
//!  2 u8   frames, at least 1        12 ..   a fate for each frame, from the newest back
//!  3 u32  newest frame
//!
//! fate: u8 0 to 64   used, with so many gaps; for each: blocks from the end of the last gap, and length, in groups of
//! seven
//!                    bits, lowest first, with the top bit set in all but the last
//!       u8 254       not used: its reference is not there
//!       u8 255       not used: it did not come, or too late
//! ```
//!
//! Each datagram repeats what earlier ones said, so that one that is lost loses nothing for long.

use picture::gaps::{GAPS_MAX, Gaps};
use picture::params::STATES_MAX;

use super::FEEDBACK_BYTES_MAX;
use super::media::MEDIA_VERSION;
use crate::units::FrameId;

/// Low half of the first byte.
pub(super) const KIND_STATES: u8 = 14;
/// Bytes before the fates.
pub const STATES_HEADER_BYTES: usize = 12;

const LACKS_REFERENCE: u8 = 254;
const NOT_USED: u8 = 255;
const NO_HASH: u8 = 255;

/// Fate of a frame at the decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was decoded without these parts.
    Used(Gaps),
    /// It was not: nothing came of it, or too late. The state before it is its state.
    NotUsed,
    /// It was not, because its reference is not there.
    LacksReference,
}

/// Reasons for which a datagram is no report of states to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StatesError {
    #[error("shorter than its header")]
    TooShort,
    #[error("of another version")]
    OtherVersion,
    #[error("a report of states is too long, ends inside a fate, or has bytes behind the last one")]
    Length,
    #[error("a report of states has a hash of no state")]
    Hash,
    #[error("a report of states has gaps that touch, are out of order, or are written long")]
    Gaps,
    #[error("a report of states tells of a frame that was never coded, or of blocks that it does not have")]
    Beyond,
    #[error("a report of states of a stream that keeps none")]
    NoStates,
}

/// The fates of the last frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatesReport {
    /// The newest frame that is told of.
    pub newest: FrameId,
    /// The hash of a state, so many frames before the newest one, at most 254.
    pub hash: Option<(u8, u32)>,
    /// Fates from the newest frame back, 1 to [`STATES_MAX`].
    pub fates: Vec<Fate>,
}

/// Returns the stream that a report of states is about; none: the datagram does not say to be one.
pub fn stream_of(datagram: &[u8]) -> Option<u8> {
    datagram.first().filter(|&first| first & 0xf == KIND_STATES)?;
    Some(datagram.get(1).copied().unwrap_or_default())
}

impl StatesReport {
    /// Encodes the datagram about stream `stream`. The oldest frames are left out if it would be too long.
    pub fn to_bytes(&self, stream: u8) -> Vec<u8> {
        let (back, hash) = self.hash.unwrap_or((NO_HASH, 0));
        let mut out = vec![MEDIA_VERSION << 4 | KIND_STATES, stream, 0];
        out.extend(self.newest.0.to_le_bytes());
        out.push(back);
        out.extend(hash.to_le_bytes());
        for fate in self.fates.iter().take(STATES_MAX.into()) {
            let before = out.len();
            match fate {
                Fate::NotUsed => out.push(NOT_USED),
                Fate::LacksReference => out.push(LACKS_REFERENCE),
                Fate::Used(gaps) => {
                    out.push(gaps.ranges().len() as u8);
                    let mut end = 0;
                    for range in gaps.ranges() {
                        push_number(range.start - end, &mut out);
                        push_number(range.end - range.start, &mut out);
                        end = range.end;
                    }
                }
            }
            if out.len() > FEEDBACK_BYTES_MAX {
                out.truncate(before);
                break;
            }
            out[2] += 1;
        }
        out
    }

    /// Reads what [`Self::to_bytes`] wrote, or says why it is no report of states.
    pub fn parse(datagram: &[u8]) -> Result<Self, StatesError> {
        let (head, mut rest) = datagram.split_first_chunk::<STATES_HEADER_BYTES>().ok_or(StatesError::TooShort)?;
        if head[0] != MEDIA_VERSION << 4 | KIND_STATES {
            return Err(StatesError::OtherVersion);
        }
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let hash = match (head[7], u32_at(8)) {
            (NO_HASH, 0) => None,
            (NO_HASH, _) => return Err(StatesError::Hash),
            (back, hash) => Some((back, hash)),
        };
        if !(1..=STATES_MAX).contains(&head[2]) || datagram.len() > FEEDBACK_BYTES_MAX {
            return Err(StatesError::Length);
        }
        let fates = (0..head[2]).map(|_| parse_fate(&mut rest)).collect::<Result<_, _>>()?;
        if !rest.is_empty() {
            return Err(StatesError::Length);
        }
        Ok(Self { newest: FrameId(u32_at(3)), hash, fates })
    }
}

fn parse_fate(bytes: &mut &[u8]) -> Result<Fate, StatesError> {
    match *bytes.split_off_first().ok_or(StatesError::Length)? {
        NOT_USED => Ok(Fate::NotUsed),
        LACKS_REFERENCE => Ok(Fate::LacksReference),
        count if usize::from(count) <= GAPS_MAX => {
            let (mut end, mut ranges) = (0, Vec::with_capacity(count.into()));
            for _ in 0..count {
                let start = end + pop_number(bytes)?;
                end = start + pop_number(bytes)?;
                ranges.push(start..end);
            }
            Gaps::new(ranges).map(Fate::Used).ok_or(StatesError::Gaps)
        }
        _ => Err(StatesError::Gaps),
    }
}

/// Numbers of blocks: less than this, so that no sum of [`GAPS_MAX`] of them overflows.
const NUMBER_BITS: u32 = 24;

fn push_number(mut number: u32, out: &mut Vec<u8>) {
    number = number.min((1 << NUMBER_BITS) - 1);
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn pop_number(bytes: &mut &[u8]) -> Result<u32, StatesError> {
    let mut number = 0;
    for shift in (0..=NUMBER_BITS).step_by(7) {
        let byte = *bytes.split_off_first().ok_or(StatesError::Length)?;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            let is_shortest = byte > 0 || shift == 0;
            return if is_shortest && number >> NUMBER_BITS == 0 { Ok(number) } else { Err(StatesError::Gaps) };
        }
    }
    Err(StatesError::Gaps)
}

#[allow(clippy::single_range_in_vec_init, reason = "tests")]
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fates() -> impl Strategy<Value = Fate> {
        let gaps = prop::collection::vec((0..40_000_u32, 1..40_000_u32), 0..=GAPS_MAX);
        let used = gaps.prop_map(|gaps| {
            let mut end = 0;
            let range = |(at, (skip, length)): (usize, (u32, u32))| {
                let start = end + skip + u32::from(at > 0);
                end = start + length;
                start..end
            };
            Fate::Used(Gaps::new(gaps.into_iter().enumerate().map(range).collect()).unwrap())
        });
        prop_oneof![Just(Fate::Used(Gaps::default())), used, Just(Fate::NotUsed), Just(Fate::LacksReference)]
    }

    proptest! {
        #[test]
        fn a_report_comes_back_without_what_does_not_fit(
            stream: u8,
            newest: u32,
            hash in prop::option::of((0..255_u8, any::<u32>())),
            fates in prop::collection::vec(fates(), 1..=STATES_MAX as usize),
        ) {
            let report = StatesReport { newest: FrameId(newest), hash, fates };
            let bytes = report.to_bytes(stream);
            prop_assert_eq!(stream_of(&bytes), Some(stream));
            prop_assert!(bytes.len() <= FEEDBACK_BYTES_MAX);
            let mut parsed = StatesReport::parse(&bytes).unwrap();
            prop_assert_eq!(&parsed.fates, &report.fates[..parsed.fates.len()]);
            prop_assert!(parsed.fates.len() == report.fates.len() || bytes.len() > FEEDBACK_BYTES_MAX - 520);
            parsed.fates = report.fates.clone();
            prop_assert_eq!(parsed, report);
        }

        #[test]
        fn any_bytes_are_a_report_that_is_written_like_them_or_refused(
            mut bytes in prop::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..80), is_one: bool,
        ) {
            if is_one && bytes.len() > 10 {
                bytes[0] = MEDIA_VERSION << 4 | KIND_STATES;
                bytes[2] &= 7;
            }
            if let Ok(report) = StatesReport::parse(&bytes) {
                prop_assert_eq!(report.to_bytes(bytes[1]), bytes);
            }
        }
    }

    #[test]
    fn golden_states() {
        let gaps = Gaps::new(vec![0..1, 300..302]).unwrap();
        let fates = vec![Fate::Used(Gaps::default()), Fate::Used(gaps), Fate::NotUsed, Fate::LacksReference];
        let report = StatesReport { newest: FrameId(0x0504_0302), hash: Some((3, 0x0a09_0807)), fates };
        let bytes = [0x3e, 1, 4, 2, 3, 4, 5, 3, 7, 8, 9, 10, 0, 2, 0, 1, 0xab, 2, 2, 255, 254];
        assert_eq!(report.to_bytes(1), bytes);
        assert_eq!(StatesReport::parse(&bytes), Ok(report));
        for (at, wrong, reason) in [
            (0, 0x2e, StatesError::OtherVersion),
            (2, 5, StatesError::Length),
            (2, 3, StatesError::Length),
            (7, 255, StatesError::Hash),
            (12, 65, StatesError::Gaps),
            (15, 0, StatesError::Gaps),
        ] {
            let mut bytes = bytes;
            bytes[at] = wrong;
            assert_eq!(StatesReport::parse(&bytes), Err(reason), "{at}");
        }
    }
}
