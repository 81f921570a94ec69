//! Markers of a JPEG stream (ITU-T T.81, annex B), found with what may stand between them.

pub(super) const SOF0: u8 = 0xc0;
pub(super) const SOF2: u8 = 0xc2;
pub(super) const DHT: u8 = 0xc4;
pub(super) const RST0: u8 = 0xd0;
pub(super) const RST7: u8 = 0xd7;
pub(super) const SOI: u8 = 0xd8;
pub(super) const EOI: u8 = 0xd9;
pub(super) const SOS: u8 = 0xda;
pub(super) const DQT: u8 = 0xdb;
pub(super) const DNL: u8 = 0xdc;
pub(super) const DRI: u8 = 0xdd;
pub(super) const APP0: u8 = 0xe0;
pub(super) const APP14: u8 = 0xee;
pub(super) const COM: u8 = 0xfe;
/// Stands for itself, without a length.
const TEM: u8 = 0x01;

/// Returns true for a start of frame, of whatever coding.
pub(super) const fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf)
}

/// Returns true for segments without which the coded data mean nothing. No picture begins inside one.
const fn is_structure(marker: u8) -> bool {
    is_frame(marker) || matches!(marker, DHT | SOS | DQT | DRI)
}

/// Contents of a place of a stream. Places count from the start of the bytes given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The begin of a picture, whose marker stands at `at`.
    Begin { at: usize },
    /// The end of a picture; `to` is behind it.
    End { to: usize },
    /// A segment: its marker, and the range of what follows its length.
    Segment { marker: u8, from: usize, to: usize },
    /// A segment whose length is impossible, or inside which the next picture begins; look on from `resume`.
    Broken { resume: usize },
    /// The bytes end here.
    Cut,
}

/// Returns the first marker or segment at or behind `at`. Stray bytes before it are passed over, as other decoders do.
pub(super) fn item(bytes: &[u8], at: usize) -> Item {
    let mut at = at;
    loop {
        let Some(&[first, marker]) = bytes.get(at..at + 2) else { return Item::Cut };
        match marker {
            _ if first != 0xff => at += 1,
            // Any number of FF may stand before a marker; FF 00 is none.
            0xff => at += 1,
            0 | TEM | RST0..=RST7 => at += 2,
            SOI => return Item::Begin { at },
            EOI => return Item::End { to: at + 2 },
            _ => break,
        }
    }
    let (marker, from) = (bytes[at + 1], at + 4);
    let Some(&[high, low]) = bytes.get(at + 2..from) else { return Item::Cut };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let to = at + 2 + length;
    let there = &bytes[from.min(to)..to.min(bytes.len())];
    if length < 2 {
        return Item::Broken { resume: at + 2 };
    }
    if let (true, Some(inside)) = (is_structure(marker), begin(there)) {
        return Item::Broken { resume: from + inside };
    }
    if to > bytes.len() { Item::Cut } else { Item::Segment { marker, from, to } }
}

/// Returns where a picture begins in `bytes`.
pub(super) fn begin(bytes: &[u8]) -> Option<usize> {
    bytes.windows(3).position(|window| window == [0xff, SOI, 0xff])
}

/// Returns the end of the coded data that begin at `at`: where a marker stands that is no restart. `None`: it is not here.
pub(super) fn data_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == 0xff)?;
        match bytes.get(at + 1)? {
            0xff => at += 1,
            0 | RST0..=RST7 => at += 2,
            _ => return Some(at),
        }
    }
}
