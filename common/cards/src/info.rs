//! Description of an open card, and the counts of its callbacks.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64};

use sound::format::Channels;

/// Ways to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A JACK server, or PipeWire as one.
    Jack,
    /// The kernel's driver, through libasound.
    Alsa,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jack => "JACK",
            Self::Alsa => "ALSA",
        })
    }
}

/// Description of an open card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardInfo {
    /// The way to it.
    pub backend: Backend,
    /// Its name, as a [`CardSpec`](crate::CardSpec) names it.
    pub name: String,
    /// Its sample rate.
    pub rate_hz: u32,
    /// Frames of its period at first.
    pub period_frames: u32,
    /// Channels that the halves get; what the card has is mapped to them.
    pub capture: Option<Channels>,
    /// Channels that the halves fill.
    pub playback: Option<Channels>,
    /// From the air to the beginning of the callback, frames, as the driver says; what converters take is unknown to most.
    pub input_latency_frames: u32,
    /// From the beginning of the callback to the air, frames.
    pub output_latency_frames: u32,
}

impl fmt::Display for CardInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rate_hz, period_frames, .. } = self;
        let ms = f64::from(*period_frames) * 1e3 / f64::from(*rate_hz);
        write!(f, "{name}, {rate_hz} Hz, periods of {period_frames} frames ({ms:.1} ms)")
    }
}

/// Counts that callbacks share with the owner of a card. Nothing here waits.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Periods that were captured, where something is captured.
    pub captured: AtomicU64,
    /// Periods that were played, where something is played.
    pub played: AtomicU64,
    /// ALSA: frames that were captured, and that were played, in periods that may differ.
    pub served: [AtomicU64; 2],
    /// Periods that came too late, as the driver says.
    pub xruns: AtomicU64,
    /// JACK: frames of the last period.
    pub period_frames: AtomicU32,
    /// The server or the card says that it is over.
    pub gone: AtomicBool,
    /// ALSA: numbers of a card's threads, capture and playback, to which the kernel gives no real-time priority; 0: none.
    pub not_raised: [AtomicI32; 2],
    /// JACK: ports came or went.
    pub ports_changed: AtomicBool,
}
