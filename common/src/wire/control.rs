//! Messages on the one bidirectional stream of a connection, after a prefix of four bytes:
//!
//! ```text
//!  0 u16  length of the message
//!  2 u8   number of the stream that it is about, among those of the stream's sender; 0 if it is about none
//!  3 u8   whose stream: 0 of nobody, but about the path; 1 the speaker's; 2 the hearer's
//! ```
//!
//! The only file that names bincode. The library is no longer maintained and can be made to allocate without
//! bound, so it runs under a limit and only inside a connection whose peer has proved its key.

use std::time::Duration;

use bincode::config::{Configuration, Limit};
use bincode::{Decode, Encode};
use picture::frame::Raster;
use picture::params::{PARAMS_BYTES, ParamsError, RASTER_BYTES, StreamParams, Wavelet};

use sound::click::{BadMetre, Metre, Tempo};
use sound::format::Format;
use sound::unit::UNIT_BYTES_MAX;

use super::MESSAGE_BYTES_MAX;
use super::sound::{SoundError, format_code, format_of};
use crate::latency::OneWay;
use crate::units::{FrameId, Timestamp};

/// Longest text in a [`ByeReason::Protocol`], bytes; longer ones are cut.
pub const REASON_BYTES_MAX: usize = 200;

/// Longest [`ControlMessage::Text`], characters.
pub const TEXT_CHARS_MAX: usize = 1000;

const PREFIX_BYTES: usize = 4;

/// End of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamEnd {
    /// Sends it.
    Sender,
    /// Receives it.
    Receiver,
}

/// An end of a stream of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// Its number among those of its sender.
    pub number: u8,
    /// The end.
    pub end: StreamEnd,
}

impl StreamId {
    /// Returns the sending end of stream `number`.
    pub const fn sent(number: u8) -> Self {
        Self { number, end: StreamEnd::Sender }
    }

    /// Returns the receiving end of stream `number`.
    pub const fn received(number: u8) -> Self {
        Self { number, end: StreamEnd::Receiver }
    }

    /// Returns the stream's other end.
    pub const fn other_end(self) -> Self {
        match self.end {
            StreamEnd::Sender => Self::received(self.number),
            StreamEnd::Receiver => Self::sent(self.number),
        }
    }
}

/// A message of one end to the other besides video.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlMessage {
    /// First message of both machines.
    Hello {
        /// [`super::PROTOCOL_VERSION`] of the speaker.
        version: u16,
        /// False: the speaker only receives.
        sends: bool,
    },
    /// Sender to receiver after both Hellos: a stream begins (again).
    Welcome {
        /// Its parameters.
        params: StreamParams,
        /// Number of the first frame that will be sent.
        start_frame: FrameId,
    },
    /// Receiver to sender: the decoder is there, send.
    Ready,
    /// Of a machine that receives: what time is it?
    Ping {
        /// Chosen by the machine that asks, repeated in the answer.
        id: u32,
        /// Its clock.
        sent: Timestamp,
    },
    /// The answer.
    Pong {
        /// Id of the ping.
        id: u32,
        /// Time of sending the ping, clock of the machine that asked.
        ping_sent: Timestamp,
        /// Time of the ping's arrival, clock of the one that answers.
        received: Timestamp,
        /// Time of sending this answer, likewise.
        sent: Timestamp,
    },
    /// Sender to receiver while it streams: how its source is now.
    Source {
        /// Its state.
        state: SourceState,
    },
    /// Of a machine while it streams: its program should have run and did not.
    Stalled {
        /// For so long in all, since its first stream began; whole microseconds.
        total: Duration,
    },
    /// Sender of pictures that go back to where they came from, in a latency test only: of the picture that was shown at this
    /// time and is sent back with it as its capture time.
    Bounced(OneWay),
    /// Sender of sound to receiver after both Hellos: a stream begins (again), in this format for a start.
    WelcomeSound {
        /// Form of its samples.
        format: Format,
    },
    /// Sender of sound to receiver: the click that both hear from now on, by the sender's clock; none: no click.
    Click(Option<Tempo>),
    /// Receiver of sound to sender: the sound is recorded.
    RecordSound {
        /// True: keep what is sent, for what does not come. False: no more is wanted but what does not come of what was sent.
        goes_on: bool,
    },
    /// Receiver of sound to sender: the sound of these packets has not come and is wanted for a recording.
    WantSound {
        /// Number of the first packet.
        first: u32,
        /// Number of packets.
        count: u8,
    },
    /// Sender of sound to receiver, on request: a packet's own sound.
    LateSound {
        /// Number of the packet.
        number: u32,
        /// The packet, as far as it is there.
        found: FoundSound,
    },
    /// Sender of sound to a receiver that records: there will be no more sound but what does not come of that before.
    SoundEnds {
        /// Number behind the last packet's.
        next: u32,
    },
    /// Before Hello, of a machine that waits for calls: Hello follows when somebody takes the call.
    Waits {
        /// True if it rings there; false if whoever calls is turned away.
        rings: bool,
    },
    /// Before Hello, of a machine that has been in this call before: it calls on by itself.
    CallsOn,
    /// A person to the other: a short text.
    Text {
        /// At most [`TEXT_CHARS_MAX`] characters.
        text: String,
    },
    /// A person's picture is hidden, or no longer: none comes until then.
    Hidden {
        /// True while none is sent.
        is_hidden: bool,
    },
    /// A person records the call, or no longer.
    Recording {
        /// True while it is recorded.
        is_recording: bool,
    },
    /// Last message of either end of a stream, or of a machine about all of them.
    Bye {
        /// The reason.
        reason: ByeReason,
    },
}

impl ControlMessage {
    /// Returns true if it offers a stream.
    pub const fn is_offer(&self) -> bool {
        matches!(self, Self::Welcome { .. } | Self::WelcomeSound { .. })
    }

    /// Returns true if it is about the path, whatever streams there are.
    pub const fn is_of_path(&self) -> bool {
        matches!(
            self,
            Self::Hello { .. }
                | Self::Waits { .. }
                | Self::CallsOn
                | Self::Ping { .. }
                | Self::Pong { .. }
                | Self::Stalled { .. }
        )
    }
}

/// A packet's own sound, as its sender has kept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundSound {
    /// It is there.
    Sound {
        /// Form of its samples.
        format: Format,
        /// Time of the first sample's capture.
        capture: Timestamp,
        /// At most [`UNIT_BYTES_MAX`] bytes.
        sound: Vec<u8>,
    },
    /// The microphone was muted.
    Muted {
        /// Form of its samples, if there were any.
        format: Format,
        /// Time at which the first would have been captured.
        capture: Timestamp,
    },
    /// The card left it out.
    Nothing,
    /// It is not kept any more, or never was.
    Gone,
}

/// State of the sender's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceState {
    /// Gives pictures.
    #[default]
    Gives,
    /// There, and gives no pictures.
    Stalled,
    /// Gone: unplugged, or taken by another program.
    Lost,
    /// There, and gives pictures of which none can be used, such as damaged ones.
    Unusable,
    /// No pictures are sent: nobody there wants it, or that machine has no time for them.
    Withheld,
}

impl SourceState {
    /// All states; the place is the number on the wire.
    const ALL: [Self; 5] = [Self::Gives, Self::Stalled, Self::Lost, Self::Unusable, Self::Withheld];
}

/// Reasons for which a peer leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ByeReason {
    /// The video has ended: both ends are done.
    Finished {
        /// The last frame sent; none from a receiver, or if none was sent.
        last_frame: Option<FrameId>,
    },
    /// The peer stops but may come back.
    Stopping,
    /// The other end broke the protocol; the text says how, at most [`REASON_BYTES_MAX`] bytes.
    Protocol(String),
    /// Another connection of the same peer has taken this one's place.
    ReplacedByNewer,
}

/// Reasons for which bytes are no control message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ControlError {
    #[error("a control message of {0} bytes: at most {MESSAGE_BYTES_MAX} are allowed")]
    MessageTooLong(usize),
    #[error("a control message is none of those known")]
    UnknownMessage,
    #[error("a control message is longer than its content")]
    BytesBehind,
    #[error(transparent)]
    Params(#[from] ParamsError),
    #[error("a live stream is coded with the CDF 9/7")]
    NotLive,
    #[error("the reason of a goodbye is longer than {REASON_BYTES_MAX} bytes")]
    ReasonTooLong,
    #[error("a source has no such state")]
    UnknownSourceState,
    #[error(transparent)]
    Sound(#[from] SoundError),
    #[error(transparent)]
    Click(#[from] BadMetre),
    #[error("more sound than a packet has")]
    SoundTooLong,
    #[error("a text of more than {TEXT_CHARS_MAX} characters")]
    TextTooLong,
    #[error("an answer about sound that is none of those known")]
    UnknownFound,
    #[error("a control message about nobody's stream")]
    UnknownStream,
}

/// Appends `message` with its prefix to `out`. `about`: the end of a stream that says it; none: it is about the path.
pub fn encode(message: &ControlMessage, about: Option<StreamId>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + PREFIX_BYTES, 0);
    // Cannot fail: the writer is a vector, and no message holds anything that bincode refuses.
    if bincode::encode_into_std_write(Wire::from(message), out, CONFIG).is_err() {
        out.truncate(start);
        return;
    }
    let [low, high] = ((out.len() - start - PREFIX_BYTES) as u16).to_le_bytes();
    let (number, whose) = match about {
        None => (0, 0),
        Some(StreamId { number, end: StreamEnd::Sender }) => (number, 1),
        Some(StreamId { number, end: StreamEnd::Receiver }) => (number, 2),
    };
    out[start..start + PREFIX_BYTES].copy_from_slice(&[low, high, number, whose]);
}

/// Takes the stream's bytes as they come and gives whole messages.
#[derive(Debug, Default)]
pub struct ControlReader {
    buffer: Vec<u8>,
}

impl ControlReader {
    /// Adds what was read from the stream. Take the messages after each push: nothing else bounds the buffer.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole message and the end that says it, if it is about a stream; `None`: more bytes are needed. After
    /// an error the stream is of no use.
    #[expect(clippy::should_implement_trait, reason = "fallible, and the end is not the end for ever")]
    pub fn next(&mut self) -> Result<Option<(Option<StreamId>, ControlMessage)>, ControlError> {
        let Some((prefix, rest)) = self.buffer.split_first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
        let &[low, high, number, whose] = prefix;
        let len = usize::from(u16::from_le_bytes([low, high]));
        if len > MESSAGE_BYTES_MAX {
            return Err(ControlError::MessageTooLong(len));
        }
        let about = match (number, whose) {
            // Before version 10 this bit marked a receiver: its Hello is read, for the sentence that its version calls for.
            (0, 0 | 0x80) => None,
            (_, 1) => Some(StreamId::sent(number)),
            (_, 2) => Some(StreamId::received(number)),
            _ => return Err(ControlError::UnknownStream),
        };
        let Some(bytes) = rest.get(..len) else { return Ok(None) };
        let message = decode(bytes)?;
        self.buffer.drain(..PREFIX_BYTES + len);
        Ok(Some((about, message)))
    }
}

const CONFIG: Configuration<bincode::config::LittleEndian, bincode::config::Varint, Limit<MESSAGE_BYTES_MAX>> =
    bincode::config::standard().with_limit::<MESSAGE_BYTES_MAX>();

fn decode(bytes: &[u8]) -> Result<ControlMessage, ControlError> {
    let (wire, used) =
        bincode::decode_from_slice::<Wire, _>(bytes, CONFIG).map_err(|_| ControlError::UnknownMessage)?;
    if used != bytes.len() {
        return Err(ControlError::BytesBehind);
    }
    wire.try_into()
}

/// The messages as bincode lays them out. The order of the variants and fields is the format.
#[derive(Encode, Decode)]
enum Wire {
    Hello { version: u16, sends: bool },
    Welcome { params: [u8; PARAMS_BYTES], raster: [u8; RASTER_BYTES], start_frame: u32 },
    Ready,
    Ping { id: u32, sent: u64 },
    Pong { id: u32, ping_sent: u64, received: u64, sent: u64 },
    Finished { last_frame: Option<u32> },
    Stopping,
    Protocol { reason: String },
    ReplacedByNewer,
    Source { state: u8 },
    Stalled { total_us: u64 },
    Bounced { times_us: [u64; 6] },
    WelcomeSound { format: u8 },
    Click { mbpm: u32, beats: u8, count_in_bars: u8, goes_on: bool, start_us: u64 },
    NoClick,
    RecordSound { goes_on: bool },
    WantSound { first: u32, count: u8 },
    LateSound { number: u32, found: u8, format: u8, capture: u64, sound: Vec<u8> },
    SoundEnds { next: u32 },
    Text { text: String },
    Hidden { is_hidden: bool },
    Recording { is_recording: bool },
    Waits { rings: bool },
    CallsOn,
}

fn late_sound(number: u32, found: &FoundSound) -> Wire {
    let (kind, (format, capture), sound) = match found {
        FoundSound::Sound { format, capture, sound } => (0, (format_code(*format), capture.as_us()), sound.clone()),
        FoundSound::Muted { format, capture } => (1, (format_code(*format), capture.as_us()), Vec::new()),
        FoundSound::Nothing => (2, (0, 0), Vec::new()),
        FoundSound::Gone => (3, (0, 0), Vec::new()),
    };
    Wire::LateSound { number, found: kind, format, capture, sound }
}

impl From<&ControlMessage> for Wire {
    fn from(message: &ControlMessage) -> Self {
        match message {
            ControlMessage::Hello { version, sends } => Self::Hello { version: *version, sends: *sends },
            ControlMessage::Welcome { params, start_frame } => {
                let raster = params.raster.to_bytes();
                Self::Welcome { params: params.to_bytes(), raster, start_frame: start_frame.0 }
            }
            ControlMessage::Ready => Self::Ready,
            ControlMessage::Ping { id, sent } => Self::Ping { id: *id, sent: sent.as_us() },
            ControlMessage::Pong { id, ping_sent, received, sent } => {
                Self::Pong { id: *id, ping_sent: ping_sent.as_us(), received: received.as_us(), sent: sent.as_us() }
            }
            ControlMessage::Source { state } => Self::Source { state: *state as u8 },
            ControlMessage::Stalled { total } => {
                Self::Stalled { total_us: u64::try_from(total.as_micros()).unwrap_or(u64::MAX) }
            }
            ControlMessage::Bounced(OneWay { capture, sent, received, released, decoded, shown }) => {
                let times = [capture, sent, received, released, decoded, shown];
                Self::Bounced { times_us: times.map(|time| time.as_us()) }
            }
            ControlMessage::WelcomeSound { format } => Self::WelcomeSound { format: format_code(*format) },
            &ControlMessage::Click(Some(Tempo { metre, count_in_bars, goes_on, start_us })) => {
                Self::Click { mbpm: metre.mbpm(), beats: metre.beats(), count_in_bars, goes_on, start_us }
            }
            ControlMessage::Click(None) => Self::NoClick,
            ControlMessage::RecordSound { goes_on } => Self::RecordSound { goes_on: *goes_on },
            ControlMessage::WantSound { first, count } => Self::WantSound { first: *first, count: *count },
            ControlMessage::LateSound { number, found } => late_sound(*number, found),
            ControlMessage::SoundEnds { next } => Self::SoundEnds { next: *next },
            ControlMessage::Waits { rings } => Self::Waits { rings: *rings },
            ControlMessage::CallsOn => Self::CallsOn,
            ControlMessage::Text { text } => {
                let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(end, _)| end);
                Self::Text { text: text[..end].to_owned() }
            }
            ControlMessage::Hidden { is_hidden } => Self::Hidden { is_hidden: *is_hidden },
            ControlMessage::Recording { is_recording } => Self::Recording { is_recording: *is_recording },
            ControlMessage::Bye { reason } => match reason {
                ByeReason::Finished { last_frame } => Self::Finished { last_frame: last_frame.map(|frame| frame.0) },
                ByeReason::Stopping => Self::Stopping,
                ByeReason::Protocol(reason) => {
                    Self::Protocol { reason: reason[..reason.floor_char_boundary(REASON_BYTES_MAX)].to_owned() }
                }
                ByeReason::ReplacedByNewer => Self::ReplacedByNewer,
            },
        }
    }
}

impl TryFrom<Wire> for ControlMessage {
    type Error = ControlError;

    fn try_from(wire: Wire) -> Result<Self, ControlError> {
        let bye = |reason| Self::Bye { reason };
        Ok(match wire {
            Wire::Hello { version, sends } => Self::Hello { version, sends },
            Wire::Welcome { params, raster, start_frame } => {
                let raster = Raster::from_bytes(&raster)?;
                let params = StreamParams { raster, ..StreamParams::from_bytes(&params)? };
                if params.codec.wavelet != Wavelet::Cdf97 {
                    return Err(ControlError::NotLive);
                }
                Self::Welcome { params, start_frame: FrameId(start_frame) }
            }
            Wire::Ready => Self::Ready,
            Wire::Ping { id, sent } => Self::Ping { id, sent: Timestamp::from_us(sent) },
            Wire::Pong { id, ping_sent, received, sent } => Self::Pong {
                id,
                ping_sent: Timestamp::from_us(ping_sent),
                received: Timestamp::from_us(received),
                sent: Timestamp::from_us(sent),
            },
            Wire::Finished { last_frame } => bye(ByeReason::Finished { last_frame: last_frame.map(FrameId) }),
            Wire::Stopping => bye(ByeReason::Stopping),
            Wire::Protocol { reason } if reason.len() > REASON_BYTES_MAX => {
                return Err(ControlError::ReasonTooLong);
            }
            Wire::Protocol { reason } => bye(ByeReason::Protocol(reason)),
            Wire::ReplacedByNewer => bye(ByeReason::ReplacedByNewer),
            Wire::Source { state } => {
                let known = SourceState::ALL.get(usize::from(state));
                Self::Source { state: *known.ok_or(ControlError::UnknownSourceState)? }
            }
            Wire::Stalled { total_us } => Self::Stalled { total: Duration::from_micros(total_us) },
            Wire::Bounced { times_us } => {
                let [capture, sent, received, released, decoded, shown] = times_us.map(Timestamp::from_us);
                Self::Bounced(OneWay { capture, sent, received, released, decoded, shown })
            }
            Wire::WelcomeSound { format } => Self::WelcomeSound { format: format_of(format)? },
            Wire::Click { mbpm, beats, count_in_bars, goes_on, start_us } => {
                let metre = Metre::new(mbpm, beats)?;
                Self::Click(Some(Tempo { metre, count_in_bars, goes_on, start_us }))
            }
            Wire::NoClick => Self::Click(None),
            Wire::RecordSound { goes_on } => Self::RecordSound { goes_on },
            Wire::WantSound { first, count } => Self::WantSound { first, count },
            Wire::LateSound { sound, .. } if sound.len() > UNIT_BYTES_MAX => return Err(ControlError::SoundTooLong),
            Wire::LateSound { number, found, format, capture, sound } => {
                let (format, capture) = (format_of(format)?, Timestamp::from_us(capture));
                let found = match found {
                    0 => FoundSound::Sound { format, capture, sound },
                    1 => FoundSound::Muted { format, capture },
                    2 => FoundSound::Nothing,
                    3 => FoundSound::Gone,
                    _ => return Err(ControlError::UnknownFound),
                };
                Self::LateSound { number, found }
            }
            Wire::SoundEnds { next } => Self::SoundEnds { next },
            Wire::Waits { rings } => Self::Waits { rings },
            Wire::CallsOn => Self::CallsOn,
            Wire::Text { text } if text.chars().count() > TEXT_CHARS_MAX => return Err(ControlError::TextTooLong),
            Wire::Text { text } => Self::Text { text },
            Wire::Hidden { is_hidden } => Self::Hidden { is_hidden },
            Wire::Recording { is_recording } => Self::Recording { is_recording },
        })
    }
}
