//! Quantities that must not be mixed up: time, bit rate, frame and datagram numbers.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use picture::frame::FrameRate;

/// The way that sound goes in a millisecond, metres: musicians know a delay as a distance.
pub const SOUND_METRES_PER_MS: f64 = 0.343;

/// A point on the local monotonic clock, in microseconds since an origin that only its machine knows.
///
/// Two machines' timestamps are comparable only through [`crate::path::clock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Returns the timestamp `us` microseconds after the origin.
    pub const fn from_us(us: u64) -> Self {
        Self(us)
    }

    /// Microseconds since the origin.
    pub const fn as_us(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_micros().try_into().unwrap_or(u64::MAX)))
    }
}

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bitrate(u64);

impl Bitrate {
    /// Returns a rate of `bps` bits a second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Returns bits a second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the whole bytes that one frame may take at this rate.
    pub const fn bytes_per_frame(self, rate: FrameRate) -> usize {
        (self.0 as u128 * rate.denominator() as u128 / (8 * rate.numerator() as u128)) as usize
    }
}

/// A number without a unit below which no picture has a rate, bits a second: a unit was forgotten.
const WITHOUT_UNIT_MIN: f64 = 10_000.0;

/// A text that is no bit rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum InvalidBitrate {
    /// No positive number with or without a unit.
    #[error("`{0}` is not a bit rate: write a positive number with k, M or G, such as 800k or 20M (bits a second)")]
    NotANumber(String),
    /// A number whose unit is missing, with the likely one.
    #[error("`{text}` would be {text} bits a second: did you mean {text}{unit}?")]
    WithoutUnit { text: String, unit: char },
}

impl FromStr for Bitrate {
    type Err = InvalidBitrate;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidBitrate::NotANumber(text.to_owned());
        let (number, factor) = match text.char_indices().next_back() {
            Some((at, 'k' | 'K')) => (&text[..at], 1e3),
            Some((at, 'M' | 'm')) => (&text[..at], 1e6),
            Some((at, 'G' | 'g')) => (&text[..at], 1e9),
            _ => (text, 1.0),
        };
        let bps = number.trim().parse::<f64>().map_err(|_| invalid())? * factor;
        if !(1.0..=1e12).contains(&bps) {
            return Err(invalid());
        }
        if number == text && bps < WITHOUT_UNIT_MIN {
            return Err(InvalidBitrate::WithoutUnit {
                text: text.trim().to_owned(),
                unit: if bps < 1e3 { 'M' } else { 'k' },
            });
        }
        Ok(Self(bps as u64))
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} bit/s", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kbit/s", self.0 as f64 / 1e3),
            _ => write!(f, "{:.1} Mbit/s", self.0 as f64 / 1e6),
        }
    }
}

/// Number of a frame in its stream, in wrapping order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameId(pub u32);

impl FrameId {
    /// Returns the frame after this one.
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Returns how many frames `self` is ahead of `other` (negative: behind), by the shorter way round.
    pub const fn ahead_of(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Returns true if `self` comes after `other`.
    pub const fn is_newer_than(self, other: Self) -> bool {
        self.ahead_of(other) > 0
    }
}

/// Number of a media datagram in its connection, in wrapping order; feedback names datagrams by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(pub u32);

impl SequenceNumber {
    /// Returns the number after this one.
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Returns how many datagrams `self` is ahead of `other` (negative: behind), by the shorter way round.
    pub const fn ahead_of(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_rates_parse_with_their_unit() {
        assert_eq!("20M".parse(), Ok(Bitrate::from_bps(20_000_000)));
        assert_eq!("1.5M".parse(), Ok(Bitrate::from_bps(1_500_000)));
        assert_eq!("800k".parse(), Ok(Bitrate::from_bps(800_000)));
        for wrong in ["", "M", "-3M", "0", "NaN", "12Q", "infM"] {
            assert!(wrong.parse::<Bitrate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_that_lacks_its_unit_is_asked_about() {
        let said = |text: &str| text.parse::<Bitrate>().unwrap_err().to_string();
        assert_eq!(said("10"), "`10` would be 10 bits a second: did you mean 10M?");
        assert_eq!(said(" 2.5 "), "`2.5` would be 2.5 bits a second: did you mean 2.5M?");
        assert_eq!(said("8000"), "`8000` would be 8000 bits a second: did you mean 8000k?");
        assert_eq!("800000".parse(), Ok(Bitrate::from_bps(800_000)));
        assert_eq!("1k".parse(), Ok(Bitrate::from_bps(1_000)));
    }

    #[test]
    fn a_frame_gets_its_share_of_the_rate() {
        let rate = FrameRate::new(30_000, 1_001).unwrap();
        assert_eq!(Bitrate::from_bps(24_000_000).bytes_per_frame(rate), 100_100);
    }

    #[test]
    fn frame_order_wraps() {
        assert!(FrameId(0).is_newer_than(FrameId(u32::MAX)));
        assert!(!FrameId(u32::MAX).is_newer_than(FrameId(0)));
        assert_eq!(FrameId(3).ahead_of(FrameId(5)), -2);
    }
}
