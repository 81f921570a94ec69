//! Datagram of a stream of sound, little-endian: the envelope of [`super::media`], then
//!
//! ```text
//!  0 u4   version, in the high half
//!    u1   0
//!    u1   copies are ADPCM of 4 bits a sample, which those of Opus never are; otherwise as the packet's own sound
//!    u2   copies
//! 15 u1   channels, less 1
//!    u3   coding and frames: 0 to 2 PCM of 16 bits, 64, 128, 256 frames; 3 to 5 PCM of 24 bits, likewise; 6 Opus, 120 frames
//!    u1   the sender is muted: the packet has no sound of its own
//!    u3   epoch: counts the changes of format
//! 16 u8   level, half decibels below full scale; 255 silence
//! 17 u32  number: counts the packets of the stream
//! 21      the packet's own sound, then copies of the sound of packets before, the newest first
//! ```
//!
//! Sound of PCM and ADPCM has the length that follows from the format; that of Opus has a `u8` before it that says it.

use sound::adpcm;
use sound::format::{Channels, Coding, Format};
use sound::level::Level;
use sound::unit::{Body, COPIES_MAX};

use super::media::{ENVELOPE_BYTES, Envelope, HeaderError};

/// Length of the header.
pub const SOUND_HEADER_BYTES: usize = ENVELOPE_BYTES + 6;
/// Changes of format that can be told apart.
pub const EPOCHS: u8 = 8;

/// Coding and frames, by their number.
const FORMS: [(Coding, u16); 7] = [
    (Coding::Pcm16, 64),
    (Coding::Pcm16, 128),
    (Coding::Pcm16, 256),
    (Coding::Pcm24, 64),
    (Coding::Pcm24, 128),
    (Coding::Pcm24, 256),
    (Coding::Opus, 120),
];
const MUTED: u8 = 16;
const ADPCM: u8 = 4;
/// Bits of the first byte that say what the copies are.
const KIND_MASK: u8 = 15;

/// Reasons for which bytes are no datagram of sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SoundError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error("shorter than the sound that it tells of")]
    TooShort,
    #[error("longer than the sound that it tells of")]
    BytesBehind,
    #[error("a coding that nobody knows")]
    UnknownCoding,
}

/// Header of a datagram of sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoundHeader {
    /// Stream, number, time of the first sample's capture, and when it left.
    pub envelope: Envelope,
    /// Form of the packet's own sound.
    pub format: Format,
    /// Counts the changes of format, below [`EPOCHS`].
    pub epoch: u8,
    /// Copies behind the packet's own sound, at most [`COPIES_MAX`].
    pub copies: u8,
    /// Form of the copies.
    pub body: Body,
    /// True if the sender's microphone is muted.
    pub is_muted: bool,
    /// Greatest absolute sample.
    pub level: Level,
    /// Counts the packets of the stream.
    pub number: u32,
}

impl SoundHeader {
    /// Appends the header to `out`; the sounds follow, each by [`write_body`].
    pub fn write(&self, out: &mut Vec<u8>) {
        let adpcm = if self.body == Body::Adpcm { ADPCM } else { 0 };
        let muted = if self.is_muted { MUTED } else { 0 };
        self.envelope.write(self.copies.min(COPIES_MAX) | adpcm, out);
        out.push(format_code(self.format) | muted | self.epoch << 5);
        out.push(self.level.0);
        out.extend(self.number.to_le_bytes());
    }

    /// Splits a datagram into its header and the sounds behind it, or says why it is none.
    pub fn parse(datagram: &[u8]) -> Result<(Self, Bodies<'_>), SoundError> {
        let envelope = Envelope::parse(datagram)?;
        let (head, rest) = datagram.split_first_chunk::<SOUND_HEADER_BYTES>().ok_or(HeaderError::TooShort)?;
        if head[0] & KIND_MASK > ADPCM | COPIES_MAX {
            return Err(HeaderError::UnknownKind.into());
        }
        let body = if head[0] & ADPCM == 0 { Body::Whole } else { Body::Adpcm };
        let format = format_of(head[15] & 15)?;
        if (format.coding, body) == (Coding::Opus, Body::Adpcm) {
            return Err(SoundError::UnknownCoding);
        }
        let header = Self {
            envelope,
            format,
            epoch: head[15] >> 5,
            copies: head[0] & COPIES_MAX,
            body,
            is_muted: head[15] & MUTED != 0,
            level: Level(head[16]),
            number: u32::from_le_bytes([head[17], head[18], head[19], head[20]]),
        };
        let bodies = Bodies { header, back: u8::from(header.is_muted), rest };
        bodies.check()?;
        Ok((header, bodies))
    }
}

/// Appends the sound of one packet, coded as `format` says.
pub fn write_body(format: Format, sound: &[u8], out: &mut Vec<u8>) {
    if format.coding == Coding::Opus {
        out.push(sound.len() as u8);
    }
    out.extend_from_slice(sound);
}

/// Returns the number of a format.
pub(super) fn format_code(format: Format) -> u8 {
    let form = FORMS.iter().position(|form| *form == (format.coding, format.frames)).unwrap_or(0);
    (format.channels.count() as u8 - 1) | (form as u8) << 1
}

/// Returns the format of a number.
pub(super) fn format_of(code: u8) -> Result<Format, SoundError> {
    let channels = if code & 1 == 0 { Channels::Mono } else { Channels::Stereo };
    let (coding, frames) = *FORMS.get(usize::from(code >> 1)).ok_or(SoundError::UnknownCoding)?;
    Ok(Format { channels, coding, frames })
}

/// The packets since the one whose sound this is, its form and its bytes.
pub type OneSound<'a> = (u8, Body, &'a [u8]);

/// The sounds of a datagram: its own, unless the sender is muted, and the copies.
#[derive(Clone, Copy, Debug)]
pub struct Bodies<'a> {
    header: SoundHeader,
    /// Distance of the next one's packet.
    back: u8,
    rest: &'a [u8],
}

impl<'a> Bodies<'a> {
    fn check(mut self) -> Result<(), SoundError> {
        while let Some(body) = self.pop() {
            body?;
        }
        if self.rest.is_empty() { Ok(()) } else { Err(SoundError::BytesBehind) }
    }

    fn pop(&mut self) -> Option<Result<OneSound<'a>, SoundError>> {
        if self.back > self.header.copies {
            return None;
        }
        let format = self.header.format;
        let body = if self.back == 0 { Body::Whole } else { self.header.body };
        let taken = match body {
            Body::Adpcm => {
                self.rest.split_at_checked(adpcm::block_bytes(format.channels.count(), format.frames.into()))
            }
            Body::Whole => match format.whole_bytes() {
                Some(bytes) => self.rest.split_at_checked(bytes),
                None => self.rest.split_first().and_then(|(&len, rest)| rest.split_at_checked(usize::from(len))),
            },
        };
        let back = self.back;
        self.back += 1;
        let Some((sound, rest)) = taken else {
            self.back = u8::MAX;
            return Some(Err(SoundError::TooShort));
        };
        self.rest = rest;
        Some(Ok((back, body, sound)))
    }
}

impl<'a> Iterator for Bodies<'a> {
    type Item = OneSound<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        // They have been checked.
        self.pop()?.ok()
    }
}
