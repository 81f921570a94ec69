//! Why a card could not be opened.

use sound::RATE_HZ;

/// Why a card could not be opened: a sentence that names what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// Sound is not wanted.
    #[error("sound is switched off (card `none`)")]
    NotWanted,
    /// libjack is not there.
    #[error(
        "JACK's library libjack.so.0 cannot be loaded: install libjack-jackd2-0 or pipewire-jack, or use an ALSA card"
    )]
    NoJackLibrary,
    /// No server.
    #[error(
        "no JACK server answers: start jackd or PipeWire (with pipewire-jack), or name the server in JACK_DEFAULT_SERVER"
    )]
    NoJackServer,
    /// The server refuses.
    #[error("the JACK server refuses: {0}")]
    Jack(String),
    /// JACK has no such client.
    #[error("JACK has no client `{name}` with sound ports: there {there}")]
    NoJackClient {
        /// The name asked for.
        name: String,
        /// Those that are there, as half a sentence.
        there: String,
    },
    /// Another rate.
    #[error("{what} runs at {rate_hz} Hz, and Duet's sound at {RATE_HZ}: {remedy}")]
    Rate {
        /// The thing with the rate.
        what: String,
        /// Its rate.
        rate_hz: u32,
        /// The right thing to do.
        remedy: &'static str,
    },
    /// No way to ALSA.
    #[error("ALSA is not there")]
    WithoutAlsa,
}
