//! The sending end.

use std::collections::VecDeque;
use std::time::Duration;

use sound::adpcm;
use sound::click::Tempo;
use sound::format::{Coding, Format};
use sound::unit::{Body, COPIES_MAX};

use super::completing::interval;
use super::keeping::Keeping;
use super::packet::SoundPacket;
use super::redundancy::Redundancy;
use super::{LATE_PART, LINGER, SOUND};
use crate::path::{Outbox, Path, ProtocolViolation, SOUND_RANK, Share};
use crate::units::{Bitrate, Timestamp};
use crate::wire::control::{ByeReason, ControlMessage};
use crate::wire::media::Envelope;
use crate::wire::on_wire;
use crate::wire::sound::{EPOCHS, SOUND_HEADER_BYTES, SoundHeader, write_body};

/// Bytes of a packet of Opus for what it takes of the target: 2.5 ms of 128 kbit/s.
const OPUS_BYTES_MAX: usize = 40;
/// Packets that wait for the socket at most; of more the oldest are too late for the ear. A recording has them later.
const WAITING_MAX: usize = 32;
/// Time after a connection has broken in which what is captured is kept for a recording, should the same peer come back.
const BREAK_MAX: Duration = Duration::from_secs(10);
/// Time after which it is forgotten if the peer has not come back.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// Events of the sending end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoundSenderEvent {
    /// The receiver is ready: packets are wanted.
    Streaming,
    /// The receiver records what comes.
    Recorded,
    /// The receiver wants none, or no more; the text says why.
    Refused(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Disconnected,
    /// The peer's Hello is not in.
    Greeting,
    /// Both have greeted; the stream is not offered yet.
    Greeted,
    /// WelcomeSound is out.
    Offered,
    Streaming,
    /// Nothing leaves any more but what a recording lacks.
    Lingering,
    /// A Bye has come or gone.
    Over,
}

/// Counts of the sending end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoundSenderCounters {
    /// Packets that have left.
    pub packets_sent: u64,
    /// Packets that were too late to leave.
    pub packets_late: u64,
    /// Answers to a recording that lacked packets.
    pub packets_again: u64,
    /// Bytes of all datagrams.
    pub bytes_sent: u64,
}

/// The sending end of a stream of sound.
#[derive(Debug)]
pub struct SoundSender {
    /// Form of the sound; none: there is no microphone yet.
    format: Option<Format>,
    epoch: u8,
    phase: Phase,
    waiting: VecDeque<SoundPacket>,
    /// The last packets that left, newest first, without a gap between their numbers.
    before: VecDeque<SoundPacket>,
    redundancy: Redundancy,
    keeping: Keeping,
    /// True once the receiver has said on this connection that it records.
    is_recorded: bool,
    /// Number behind that of the last packet that was kept.
    next: u32,
    /// Time at which the last connection broke.
    broken: Option<Timestamp>,
    /// Time at which a recording is waited for no longer.
    linger_until: Option<Timestamp>,
    control: Outbox,
    events: VecDeque<SoundSenderEvent>,
    counters: SoundSenderCounters,
}

impl Default for SoundSender {
    fn default() -> Self {
        Self::new()
    }
}

impl SoundSender {
    /// Creates an end without a connection.
    pub fn new() -> Self {
        Self {
            format: None,
            epoch: 0,
            phase: Phase::Disconnected,
            waiting: VecDeque::new(),
            before: VecDeque::new(),
            redundancy: Redundancy::default(),
            keeping: Keeping::default(),
            is_recorded: false,
            next: 0,
            broken: None,
            linger_until: None,
            control: Outbox::default(),
            events: VecDeque::new(),
            counters: SoundSenderCounters::default(),
        }
    }

    /// Takes a new connection. Ends an earlier one. `is_same`: whether it is of the peer that was connected last; another one gets
    /// nothing of what was kept.
    pub fn on_connected(&mut self, is_same: bool, path: &mut Path, now: Timestamp) {
        self.on_disconnected(path, now);
        if !is_same {
            self.keeping.forget();
        }
        self.phase = Phase::Greeting;
    }

    /// Ends the connection; the stream waits for the next.
    pub fn on_disconnected(&mut self, path: &mut Path, now: Timestamp) {
        path.end(SOUND);
        self.clear();
        self.control.clear();
        if matches!(self.phase, Phase::Lingering | Phase::Over) {
            self.keeping.forget();
        } else if self.phase != Phase::Disconnected {
            self.keeping.on_disconnected();
            self.broken.get_or_insert(now);
        }
        self.linger_until = None;
        self.is_recorded = false;
        self.phase = Phase::Disconnected;
    }

    fn clear(&mut self) {
        self.waiting.clear();
        self.before.clear();
        self.redundancy = Redundancy::default();
    }

    /// Offers the stream, if there is a microphone: both machines have greeted.
    pub fn on_greeted(&mut self) {
        if self.phase == Phase::Greeting {
            self.phase = Phase::Greeted;
            self.offer();
        }
    }

    /// Takes the form of the sound from now on: there is a microphone.
    pub fn set_format(&mut self, format: Format, path: &mut Path, now: Timestamp) {
        if self.format.replace(format) != Some(format) {
            self.epoch = (self.epoch + 1) % EPOCHS;
            self.before.clear();
            self.waiting.clear();
            if self.phase == Phase::Streaming {
                self.share(path, now);
            }
        }
        self.offer();
    }

    fn offer(&mut self) {
        if let (Phase::Greeted, Some(format)) = (self.phase, self.format) {
            self.control.push(ControlMessage::WelcomeSound { format });
            self.phase = Phase::Offered;
        }
    }

    /// Takes a message of the receiving end.
    pub fn on_control(
        &mut self,
        message: ControlMessage,
        path: &mut Path,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        match (self.phase, message) {
            (Phase::Disconnected | Phase::Over, _) => {}
            (_, ControlMessage::Bye { reason }) => {
                path.end(SOUND);
                self.clear();
                self.keeping.forget();
                self.phase = Phase::Over;
                if let ByeReason::Protocol(text) = reason {
                    self.events.push_back(SoundSenderEvent::Refused(text));
                }
            }
            (Phase::Offered, ControlMessage::Ready) => {
                self.phase = Phase::Streaming;
                self.broken = None;
                if !self.is_recorded {
                    self.keeping.forget();
                }
                self.share(path, now);
                self.events.push_back(SoundSenderEvent::Streaming);
            }
            (Phase::Offered | Phase::Streaming, ControlMessage::RecordSound { goes_on: true }) if !self.is_recorded => {
                self.is_recorded = true;
                self.keeping.begin();
                if self.is_streaming() {
                    self.share(path, now);
                }
                self.events.push_back(SoundSenderEvent::Recorded);
            }
            (Phase::Streaming, ControlMessage::RecordSound { goes_on: false }) if self.keeping.is_on() => {
                path.end(SOUND);
                self.linger(now);
            }
            // Both may say at once that they end.
            (Phase::Lingering, ControlMessage::RecordSound { goes_on: false }) => {}
            (Phase::Streaming | Phase::Lingering, ControlMessage::WantSound { first, count })
                if self.keeping.is_on() =>
            {
                if !self.keeping.want(first, count) {
                    path.violation("more sound is asked for than a recording may")?;
                }
            }
            (_, _) => path.violation("a message that no receiver of sound sends")?,
        }
        Ok(())
    }

    /// Lets nothing leave any more but what a recording lacks.
    fn linger(&mut self, now: Timestamp) {
        self.clear();
        self.phase = Phase::Lingering;
        self.linger_until = Some(now + LINGER);
    }

    /// Tells the path what the stream takes.
    fn share(&self, path: &mut Path, now: Timestamp) {
        let Some(format) = self.format else { return };
        let copies = usize::from(self.redundancy.copies()) * copy_bytes_max(format);
        let late = if self.keeping.is_on() { late_rate(format).as_bps() } else { 0 };
        let needs = Bitrate::from_bps(rate(format, copies).as_bps() + late);
        path.begin(SOUND, Share { rank: SOUND_RANK, needs: Some(needs), interval: interval(format) }, now);
    }

    /// Takes the click that both shall hear.
    pub fn set_click(&mut self, click: Option<Tempo>) {
        if self.phase == Phase::Streaming {
            self.control.push(ControlMessage::Click(click));
        }
    }

    /// Returns true if packets are wanted.
    pub fn is_streaming(&self) -> bool {
        self.phase == Phase::Streaming
    }

    /// Takes a packet. Its number is greater than that of the one before.
    pub fn on_packet(&mut self, packet: SoundPacket) {
        self.keep(&packet);
        if !self.is_streaming() || Some(packet.format) != self.format {
            return;
        }
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
            self.counters.packets_late += 1;
        }
        self.waiting.push_back(packet);
    }

    /// Keeps a packet for a recording: of a call, and of a short break in one.
    fn keep(&mut self, packet: &SoundPacket) {
        let is_wanted = match (self.phase, self.broken) {
            (Phase::Streaming, _) => true,
            (Phase::Lingering | Phase::Over, _) | (_, None) => false,
            (_, Some(broken)) => {
                let away = packet.capture.since(broken);
                if away > AWAY_MAX {
                    self.keeping.forget();
                }
                away <= BREAK_MAX
            }
        };
        if is_wanted {
            self.next = packet.number.wrapping_add(1);
            self.keeping.keep(packet);
        }
    }

    /// Returns the next datagram.
    pub fn poll_datagram(&mut self, path: &mut Path, now: Timestamp) -> Option<Vec<u8>> {
        let packet = self.waiting.pop_front()?;
        let copies_before = self.redundancy.copies();
        self.redundancy.on_loss(path.loss(), now);
        if self.redundancy.copies() != copies_before {
            self.share(path, now);
        }
        let format = packet.format;
        if self.before.front().is_some_and(|before| before.number.wrapping_add(1) != packet.number) {
            self.before.clear();
        }
        let own = if packet.is_muted { 0 } else { body_bytes(format, &packet.whole) };
        let mut bytes = SOUND_HEADER_BYTES + own;
        let most = path.max_sound_datagram();
        // A muted packet has no sound to copy, and ends what can be.
        let copies = self.before.iter().take(self.redundancy.copies().into()).map_while(|before| {
            let copy = copy_of(before);
            let more = body_bytes(format, copy);
            let has_room = !before.is_muted && bytes + more <= most;
            bytes += if has_room { more } else { 0 };
            has_room.then_some(copy)
        });
        let copies: Vec<&[u8]> = copies.collect();
        let header = SoundHeader {
            envelope: Envelope {
                stream: SOUND,
                sequence: path.send(SOUND, bytes, now),
                capture: packet.capture,
                sent_offset_us: now.since(packet.capture).as_micros().try_into().unwrap_or(u32::MAX),
            },
            format,
            epoch: self.epoch,
            copies: copies.len() as u8,
            body: copy_form(format),
            is_muted: packet.is_muted,
            level: packet.level,
            number: packet.number,
        };
        let mut datagram = Vec::with_capacity(bytes);
        header.write(&mut datagram);
        if !packet.is_muted {
            write_body(format, &packet.whole, &mut datagram);
        }
        copies.iter().for_each(|copy| write_body(format, copy, &mut datagram));
        debug_assert_eq!(datagram.len(), bytes, "the path was told");
        self.counters.packets_sent += 1;
        self.counters.bytes_sent += datagram.len() as u64;
        self.before.push_front(packet);
        self.before.truncate(COPIES_MAX.into());
        Some(datagram)
    }

    /// Returns the next message for the receiving end.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.control.pop()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SoundSenderEvent> {
        self.events.pop_front()
    }

    /// Returns the time to call [`Self::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        [self.keeping.poll_timeout(), self.linger_until].into_iter().flatten().min()
    }

    /// Answers what a recording wants, slowly, and waits for it no longer than [`LINGER`].
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let rate = late_rate(self.format.unwrap_or_default());
        if matches!(self.phase, Phase::Streaming | Phase::Lingering)
            && let Some(answer) = self.keeping.poll(rate, now)
        {
            self.counters.packets_again += 1;
            self.control.push(answer);
        }
        if self.linger_until.is_some_and(|until| until <= now) {
            self.bye();
        }
    }

    /// Says that we stop: nothing leaves any more but what a recording at the other end lacks.
    pub fn stop(&mut self, now: Timestamp) {
        if self.phase == Phase::Streaming && self.keeping.is_on() {
            self.linger(now);
            self.control.push(ControlMessage::SoundEnds { next: self.next });
        } else if self.phase != Phase::Lingering {
            self.bye();
        }
    }

    fn bye(&mut self) {
        self.clear();
        self.keeping.forget();
        self.linger_until = None;
        if !matches!(self.phase, Phase::Disconnected | Phase::Over) {
            self.control.push(ControlMessage::Bye { reason: ByeReason::Stopping });
        }
        self.phase = Phase::Over;
    }

    /// Returns true while a recording at the other end is waited for.
    pub fn is_lingering(&self) -> bool {
        self.phase == Phase::Lingering
    }

    /// Returns what has been counted.
    pub fn counters(&self) -> SoundSenderCounters {
        self.counters
    }

    /// Returns the copies that a packet carries now.
    pub fn copies(&self) -> u8 {
        self.redundancy.copies()
    }
}

/// Returns the rate of packets with so many bytes of copies, with all that is around them.
fn rate(format: Format, copies: usize) -> Bitrate {
    let bytes = on_wire(SOUND_HEADER_BYTES + whole_bytes_max(format) + copies);
    Bitrate::from_bps((8.0 * bytes as f64 / interval(format).as_secs_f64()) as u64)
}

/// Returns the rate of what is sent again.
fn late_rate(format: Format) -> Bitrate {
    Bitrate::from_bps(rate(format, 0).as_bps() / LATE_PART)
}

/// Returns the form of copies.
fn copy_form(format: Format) -> Body {
    if format.coding == Coding::Opus { Body::Whole } else { Body::Adpcm }
}

/// Returns the sound of a packet as copies have it.
fn copy_of(packet: &SoundPacket) -> &[u8] {
    match copy_form(packet.format) {
        Body::Whole => &packet.whole,
        Body::Adpcm => &packet.adpcm,
    }
}

/// Returns what a packet's sound takes in a datagram, bytes.
fn body_bytes(format: Format, sound: &[u8]) -> usize {
    sound.len() + usize::from(format.coding == Coding::Opus)
}

/// Returns the most that a packet's own sound takes, bytes.
fn whole_bytes_max(format: Format) -> usize {
    format.whole_bytes().unwrap_or(OPUS_BYTES_MAX)
}

/// Returns the most that a copy takes, bytes.
fn copy_bytes_max(format: Format) -> usize {
    if copy_form(format) == Body::Whole {
        whole_bytes_max(format)
    } else {
        adpcm::block_bytes(format.channels.count(), format.frames.into())
    }
}
