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
    /// libjack does not come back.
    #[error(
        "JACK does not answer: end its server and start it anew; if none runs, a program that was killed has left its registry \
         locked, so remove /dev/shm/jack*"
    )]
    JackHangs,
    /// libjack would be ended by the kernel when it writes to its registry.
    #[error("JACK needs room in /dev/shm, and there is next to none: enlarge it, as with `docker run --shm-size 64m`")]
    NoSharedMemory,
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
    /// `auto`, and nothing is there.
    #[error("no sound: {no_jack}; and without JACK {no_alsa}")]
    Neither {
        /// Why not JACK.
        no_jack: String,
        /// Why not ALSA.
        no_alsa: String,
    },
    /// ALSA has no such card.
    #[error("ALSA has no card `{name}`: there {there}")]
    NoAlsaCard {
        /// The name asked for.
        name: String,
        /// Those that are there, as half a sentence.
        there: String,
    },
    /// Another program has the card.
    #[error("another program has the sound card `{0}`: close it, or let both use JACK or PipeWire")]
    Busy(String),
    /// The user may not.
    #[error("the sound card `{0}` may not be opened: become a member of the group `audio` and log in again")]
    Forbidden(String),
    /// The card has no samples that we know.
    #[error(
        "the sound card `{name}` has no {direction} with samples of 16, 24 or 32 bits: use alsa:plughw:..., which converts them"
    )]
    Format {
        /// The card.
        name: String,
        /// `input` or `output`.
        direction: &'static str,
    },
    /// Something else.
    #[error("the sound card `{name}` cannot be opened: {why}")]
    Alsa {
        /// The card.
        name: String,
        /// The words of ALSA.
        why: String,
    },
}
