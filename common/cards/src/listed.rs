//! The sound cards of this machine, for the command `devices`.

use std::fmt;

use crate::info::Backend;

/// A card that could be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The way to it.
    pub backend: Backend,
    /// Its name, as a [`CardSpec`](crate::CardSpec) names it.
    pub name: String,
    /// Its maker's words; empty if there are none.
    pub description: String,
    /// Offer for capturing; none: it captures nothing.
    pub capture: Option<Offer>,
    /// Offer for playing; none: it plays nothing.
    pub playback: Option<Offer>,
    /// The reason for which it cannot be used now, as a sentence.
    pub problem: Option<String>,
}

/// Offer of a direction of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Most channels.
    pub channels: u16,
    /// Lowest and highest sample rate.
    pub rates_hz: (u32, u32),
    /// Least and most frames of a period; none: it does not tell.
    pub frames: Option<(u32, u32)>,
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |(least, most): (u32, u32)| match least == most {
            true => least.to_string(),
            false => format!("{least} to {most}"),
        };
        write!(f, "{} channels, {} Hz", self.channels, range(self.rates_hz))?;
        self.frames.map_or(Ok(()), |frames| write!(f, ", periods of {} frames", range(frames)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_told_in_words() {
        let offer = Offer { channels: 2, rates_hz: (44_100, 192_000), frames: Some((32, 4096)) };
        assert_eq!(offer.to_string(), "2 channels, 44100 to 192000 Hz, periods of 32 to 4096 frames");
        let offer = Offer { channels: 8, rates_hz: (48_000, 48_000), frames: None };
        assert_eq!(offer.to_string(), "8 channels, 48000 Hz");
    }
}
