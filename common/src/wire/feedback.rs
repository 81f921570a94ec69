//! Feedback datagram, receiver to sender, little-endian: which media datagrams have come, and when.
//!
//! ```text
//!  0 u8   version << 4 | 15            12 u32  sequence number of the first age
//!  1 u8   unsure, in units of 2 ms     16 u48  when this left, us, receiver's clock
//!  2 u16  number of this feedback      22 u16  ages, one for each consecutive sequence number:
//!  4 u32  datagrams received                   from arrival to leaving in units of 8 us, saturating at 65534;
//!  8 u32  datagrams missing                    65535: has not come
//! ```
//!
//! The receiver was not sure of the arrivals of the last `unsure` before this left: its program had not run when it
//! should have, so that what had come was noted late.
//!
//! The counts are totals of the connection, so a feedback that is lost loses none of them; the ages of consecutive
//! feedbacks overlap for the same reason. Datagrams are used, and not the control stream, because what is said here is
//! worth nothing when it comes late.

use std::time::Duration;

use super::FEEDBACK_BYTES_MAX;
use super::media::MEDIA_VERSION;
use crate::units::{SequenceNumber, Timestamp};

/// Bytes before the ages.
pub const FEEDBACK_HEADER_BYTES: usize = 22;
/// Sequence numbers that one feedback can cover.
pub const AGES_MAX: usize = (FEEDBACK_BYTES_MAX - FEEDBACK_HEADER_BYTES) / 2;

/// A datagram that so many later ones have overtaken is lost to the sender. So the receiver covers as many numbers
/// below those that are due, and a datagram overtaken by fewer is still reported.
pub const REORDER_DATAGRAMS: usize = 32;
const _: () = assert!(REORDER_DATAGRAMS < AGES_MAX, "a feedback covers new numbers, too");

const KIND_FEEDBACK: u8 = 15;
const UNSURE_UNIT_MS: u64 = 2;
const AGE_UNIT_US: u64 = 8;
const AGE_OLDEST: u16 = u16::MAX - 1;
const AGE_NONE: u16 = u16::MAX;

/// Reasons for which a datagram is no feedback report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FeedbackError {
    #[error("shorter than its header")]
    TooShort,
    #[error("of another version")]
    OtherVersion,
    #[error("a feedback is too long or ends inside an age")]
    Length,
    #[error("a feedback reports a datagram that was never sent")]
    NeverSent,
}

/// A feedback without its ages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackHeader {
    /// Number of the feedback in its connection, in wrapping order.
    pub number: u16,
    /// Media datagrams of the connection that came, each number once.
    pub received: u32,
    /// Sequence numbers up to the highest that came which have not come.
    pub missing: u32,
    /// The datagram that the first age is about.
    pub base: SequenceNumber,
    /// Time of sending the feedback report, receiver's clock; 48 bits.
    pub time: Timestamp,
    /// Time before that in which arrivals may have been noted late; 0.5 s at most.
    pub unsure: Duration,
}

/// Returns true if a datagram says to be a feedback report, which is of no stream.
pub fn is_feedback(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| first & 0xf == KIND_FEEDBACK)
}

impl FeedbackHeader {
    /// Encodes a whole feedback report. `arrivals` are those of consecutive sequence numbers from [`Self::base`],
    /// receiver's clock; those beyond [`AGES_MAX`] are left out.
    pub fn encode(&self, arrivals: impl Iterator<Item = Option<Timestamp>>) -> Vec<u8> {
        let mut out = Vec::with_capacity(FEEDBACK_BYTES_MAX);
        let unsure = self.unsure.as_millis().div_ceil(UNSURE_UNIT_MS.into());
        out.extend([MEDIA_VERSION << 4 | KIND_FEEDBACK, u8::try_from(unsure).unwrap_or(u8::MAX)]);
        out.extend(self.number.to_le_bytes());
        out.extend(self.received.to_le_bytes());
        out.extend(self.missing.to_le_bytes());
        out.extend(self.base.0.to_le_bytes());
        out.extend(&self.time.as_us().min((1 << 48) - 1).to_le_bytes()[..6]);
        for arrival in arrivals.take(AGES_MAX) {
            let age = arrival.map_or(AGE_NONE, |arrival| {
                let units = self.time.since(arrival).as_micros() / u128::from(AGE_UNIT_US);
                u16::try_from(units).map_or(AGE_OLDEST, |units| units.min(AGE_OLDEST))
            });
            out.extend(age.to_le_bytes());
        }
        out
    }

    /// Splits a datagram into what it says and the ages, or says why it is no feedback.
    pub fn parse(datagram: &[u8]) -> Result<(Self, Ages<'_>), FeedbackError> {
        let split = datagram.split_first_chunk::<FEEDBACK_HEADER_BYTES>();
        let (head, ages) = split.ok_or(FeedbackError::TooShort)?;
        if head[0] != MEDIA_VERSION << 4 | KIND_FEEDBACK {
            return Err(FeedbackError::OtherVersion);
        }
        if ages.len() > 2 * AGES_MAX || !ages.len().is_multiple_of(2) {
            return Err(FeedbackError::Length);
        }
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let high = u16::from_le_bytes([head[20], head[21]]);
        let header = Self {
            number: u16::from_le_bytes([head[2], head[3]]),
            received: u32_at(4),
            missing: u32_at(8),
            base: SequenceNumber(u32_at(12)),
            time: Timestamp::from_us(u64::from(u32_at(16)) | u64::from(high) << 32),
            unsure: Duration::from_millis(UNSURE_UNIT_MS * u64::from(head[1])),
        };
        Ok((header, Ages { time: header.time, base: header.base, bytes: ages }))
    }
}

/// The sequence numbers that a feedback covers, with their arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages<'a> {
    time: Timestamp,
    base: SequenceNumber,
    bytes: &'a [u8],
}

impl Ages<'_> {
    /// Returns the number of sequence numbers covered, at most [`AGES_MAX`].
    pub const fn len(&self) -> usize {
        self.bytes.len() / 2
    }

    /// Returns true if nothing is covered.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns each covered number and its arrival (receiver's clock, to 8 us; what is older than half a second seems
    /// to be that old), none if it has not come.
    pub fn arrivals(&self) -> impl Iterator<Item = (SequenceNumber, Option<Timestamp>)> {
        let arrival = |age: u16| {
            let us = self.time.as_us().saturating_sub(u64::from(age) * AGE_UNIT_US);
            (age != AGE_NONE).then_some(Timestamp::from_us(us))
        };
        let ages = self.bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        ages.zip(0..).map(move |(age, place)| (SequenceNumber(self.base.0.wrapping_add(place)), arrival(age)))
    }
}
