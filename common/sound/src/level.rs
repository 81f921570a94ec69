//! Loudness of a packet, as it travels and is shown.

/// Greatest absolute sample of a packet, all channels, in steps of half a decibel below full scale; 255: silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(pub u8);

impl Level {
    /// Nothing is heard.
    pub const SILENCE: Self = Self(u8::MAX);

    /// Returns the level of a greatest absolute sample; 1 is full scale. What is no number is silence.
    pub fn of(peak: f32) -> Self {
        if peak.is_nan() || peak <= 0.0 {
            return Self::SILENCE;
        }
        let steps = (-40.0 * peak.log10()).round();
        Self(steps.clamp(0.0, 255.0) as u8)
    }

    /// Returns decibels of full scale, 0 and below; none: silence.
    pub fn db(self) -> Option<f32> {
        (self != Self::SILENCE).then(|| f32::from(self.0) / -2.0)
    }
}
