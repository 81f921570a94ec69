//! Form of the samples of a stream.

/// Frames (samples of all channels at one instant) that a packet can hold.
pub const FRAMES_MAX: usize = 256;
/// Channels that a stream can have.
pub const CHANNELS_MAX: usize = 2;

/// Channels of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Channels {
    /// One.
    Mono,
    /// Two, left first.
    #[default]
    Stereo,
}

impl Channels {
    /// Returns how many there are.
    pub fn count(self) -> usize {
        match self {
            Self::Mono => 1,
            Self::Stereo => 2,
        }
    }
}

/// Form of the samples in a packet's own sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Coding {
    /// 16 bits a sample, little-endian.
    #[default]
    Pcm16,
    /// 24 bits a sample, little-endian.
    Pcm24,
    /// Opus in frames of 2.5 ms (120 samples).
    Opus,
}

/// Form of a stream, as its sender has offered it. It changes with a new epoch only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Format {
    /// Channels.
    pub channels: Channels,
    /// Form of the samples.
    pub coding: Coding,
    /// Frames of a packet: 64, 128 or 256; of Opus 120.
    pub frames: u16,
}

impl Format {
    /// Returns the bytes of a packet's own sound; none: it depends on the sound, as with Opus.
    pub fn whole_bytes(self) -> Option<usize> {
        let bits = match self.coding {
            Coding::Pcm16 => 16,
            Coding::Pcm24 => 24,
            Coding::Opus => return None,
        };
        Some(usize::from(self.frames) * self.channels.count() * bits / 8)
    }
}
