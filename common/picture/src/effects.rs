//! Effects that a picture may have before it is coded: what is asked for, and in which range.

/// Something that the filter before the encoder can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Gain of the finest detail: below 1 it is softened, above 1 sharpened.
    Detail,
    /// Threshold of fine detail below which it is taken for the camera's noise, grey levels.
    Noise,
    /// Difference to the picture before below which a part stands still and its noise is averaged, grey levels.
    StillNoise,
    /// Share of the coarsest differences in brightness that is taken away.
    EvenLight,
}

impl Effect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Detail, Self::Noise, Self::StillNoise, Self::EvenLight];

    /// Returns its name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detail => "detail",
            Self::Noise => "noise",
            Self::StillNoise => "still_noise",
            Self::EvenLight => "even_light",
        }
    }

    /// Returns the name under which it is set during a call.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Detail => "effects.detail",
            Self::Noise => "effects.noise",
            Self::StillNoise => "effects.still_noise",
            Self::EvenLight => "effects.even_light",
        }
    }

    /// Returns the largest value; the least is 0.
    pub const fn most(self) -> f32 {
        match self {
            Self::Detail => 4.0,
            Self::Noise => 32.0,
            Self::StillNoise => 20.0,
            Self::EvenLight => 1.0,
        }
    }

    /// Returns the value that changes nothing.
    pub const fn neutral(self) -> f32 {
        match self {
            Self::Detail => 1.0,
            Self::Noise | Self::StillNoise | Self::EvenLight => 0.0,
        }
    }

    /// Returns what values there are, for messages: `0 to 32 grey levels (0 is off)`.
    pub fn takes(self) -> String {
        let unit = match self {
            Self::Noise | Self::StillNoise => " grey levels",
            Self::Detail | Self::EvenLight => "",
        };
        format!("0 to {}{unit} ({} is off)", self.most(), self.neutral())
    }
}

/// A value that an effect does not take.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{} takes {}, not {value}", .effect.name(), .effect.takes())]
pub struct InvalidEffect {
    /// The effect.
    pub effect: Effect,
    /// The value that was asked for.
    pub value: f32,
}

/// Amount of each effect; none of them by default. Every value is in its effect's range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effects([f32; Effect::ALL.len()]);

impl Default for Effects {
    fn default() -> Self {
        Self(Effect::ALL.map(Effect::neutral))
    }
}

impl Effects {
    /// Returns these effects with `value` for one of them; an error if it is not one from 0 to [`Effect::most`].
    pub fn with(mut self, effect: Effect, value: f32) -> Result<Self, InvalidEffect> {
        if !(0.0..=effect.most()).contains(&value) {
            return Err(InvalidEffect { effect, value });
        }
        self.0[effect as usize] = value;
        Ok(self)
    }

    /// Returns the value of an effect.
    pub const fn get(&self, effect: Effect) -> f32 {
        self.0[effect as usize]
    }

    /// Returns true if they change nothing.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }
}

impl std::fmt::Display for Effects {
    /// Writes the effects that change something, such as `detail 1.2, noise 3`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_off() {
            return f.write_str("off");
        }
        let mut separator = "";
        for effect in Effect::ALL.into_iter().filter(|effect| self.get(*effect) != effect.neutral()) {
            write!(f, "{separator}{} {}", effect.name(), self.get(effect))?;
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_keep_to_their_ranges() {
        let off = Effects::default();
        assert!(off.is_off() && off.to_string() == "off");
        for effect in Effect::ALL {
            assert_eq!(off.with(effect, effect.neutral()), Ok(off));
            for value in [-0.1, effect.most() * 1.01, f32::NAN, f32::INFINITY] {
                let error = off.with(effect, value).unwrap_err().to_string();
                assert!(error.starts_with(effect.name()) && error.contains(&effect.takes()), "{error}");
            }
            let most = off.with(effect, effect.most()).unwrap();
            assert!(!most.is_off() && most.get(effect) == effect.most());
            assert_eq!(effect.key(), format!("effects.{}", effect.name()));
        }
        let error = off.with(Effect::Noise, 33.0).unwrap_err();
        assert_eq!(error.to_string(), "noise takes 0 to 32 grey levels (0 is off), not 33");
        let some = off.with(Effect::Noise, 3.0).unwrap().with(Effect::Detail, 1.25).unwrap();
        assert_eq!(some.to_string(), "detail 1.25, noise 3");
    }
}
