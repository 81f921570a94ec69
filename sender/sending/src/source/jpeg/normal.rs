//! A picture as decoders expect it: its segments without stray bytes, all tables before the data that need them, an end.

use super::fault::JpegFault;
use super::header::{Colours, Header, Marks};
use super::marker::{APP14, DHT, DNL, DQT, DRI, EOI, Item, SOF0, SOF2, SOI, SOS, data_end, is_frame, item};
use super::planes::Way;
use super::tables::{Kind, Tables};

/// Coefficients of a block.
const COEFFICIENTS: usize = 64;
/// A coefficient that no scan has brought.
const ABSENT: u8 = u8::MAX;
/// Most zeros that are kept behind data without an end.
const PADDING_MAX: usize = 64;
/// Place of the height in a start of frame, from its marker on.
const HEIGHT: usize = 5;

/// A picture in normal form.
pub(super) struct Normal {
    pub(super) header: Header,
    /// The tables that it has itself.
    pub(super) tables: Tables,
    /// True unless it is progressive.
    pub(super) is_sequential: bool,
    /// Bytes behind its data that may be none of them.
    pub(super) padding: usize,
}

/// Writes `picture`, which begins with SOI, to `out` in normal form; what it lacks comes from `kept`, the tables of pictures
/// before it. Without a frame but with tables, these are returned as [`Found::Tables`].
pub(super) fn normalise(picture: &[u8], kept: &Tables, out: &mut Vec<u8>) -> Result<Found, JpegFault> {
    out.clear();
    out.extend([0xff, SOI]);
    let mut writing =
        Writing { kept, tables: Tables::default(), marks: Marks::default(), frame: None, padding: 0, out };
    let mut at = 2;
    loop {
        match item(picture, at) {
            Item::Segment { marker, from, to } => {
                at = to;
                writing.segment(marker, &picture[from..to])?;
                if marker == SOS {
                    let end = data_end(picture, to);
                    let data = &picture[to..end.unwrap_or(picture.len())];
                    if end.is_none() {
                        // What fills a buffer behind a picture without an end belongs to no picture; the first few may.
                        let used = data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                        writing.padding = (data.len() - used).min(PADDING_MAX);
                        writing.out.extend_from_slice(&data[..used + writing.padding]);
                    } else {
                        writing.out.extend_from_slice(data);
                    }
                    at = end.unwrap_or(picture.len());
                }
            }
            Item::End { .. } | Item::Begin { .. } => break,
            Item::Cut if at >= picture.len() || writing.is_complete() => break,
            Item::Cut => return Err(JpegFault::Structure("it ends inside a segment")),
            Item::Broken { .. } => return Err(JpegFault::Structure("a segment's length is impossible")),
        }
    }
    writing.finish()
}

/// Result of [`normalise`].
pub(super) enum Found {
    Picture(Normal),
    Tables(Tables),
}

struct Frame {
    header: Header,
    /// Of each component, the bit down to which each coefficient has come, as progressive pictures refine it.
    bits: Vec<[u8; COEFFICIENTS]>,
    is_progressive: bool,
    /// Place of its marker in what is written.
    at: usize,
}

struct Writing<'a> {
    kept: &'a Tables,
    tables: Tables,
    marks: Marks,
    frame: Option<Frame>,
    padding: usize,
    out: &'a mut Vec<u8>,
}

impl Writing<'_> {
    fn segment(&mut self, marker: u8, body: &[u8]) -> Result<(), JpegFault> {
        match marker {
            DQT | DHT => self.tables.take(marker, body)?,
            DRI => {}
            DNL => return self.late_height(body),
            SOS => return self.scan(body),
            _ if is_frame(marker) => return self.begin(marker, body),
            _ => {
                self.marks.note(marker, body);
                return Ok(());
            }
        }
        write(self.out, marker, body);
        Ok(())
    }

    fn begin(&mut self, marker: u8, body: &[u8]) -> Result<(), JpegFault> {
        if self.frame.is_some() {
            return Err(JpegFault::Structure("it has two frames"));
        }
        let header = Header::parse(marker, body, &self.marks)?;
        if header.colours != Colours::Grey {
            let transform = u8::from(matches!(Way::of(&header), Way::Planes(..)));
            write(self.out, APP14, &[b"Adobe".as_slice(), &[0, 100, 0, 0, 0, 0, transform]].concat());
        }
        let bits = vec![[ABSENT; COEFFICIENTS]; header.components.len()];
        self.frame = Some(Frame { header, bits, is_progressive: marker == SOF2, at: self.out.len() });
        // Both are decoded alike; only the first is known to all decoders.
        write(self.out, if marker == SOF2 { SOF2 } else { SOF0 }, body);
        Ok(())
    }

    /// Takes the height that stands behind the first scan.
    fn late_height(&mut self, body: &[u8]) -> Result<(), JpegFault> {
        let Some(frame) = &mut self.frame else { return Ok(()) };
        let &[high, low] = body else { return Err(JpegFault::Structure("its height has not two bytes")) };
        if frame.header.height == 0 {
            frame.header.height = u16::from_be_bytes([high, low]);
            self.out[frame.at + HEIGHT..][..2].copy_from_slice(body);
        }
        Ok(())
    }

    /// Writes a start of scan, behind the tables that it needs and that the picture does not have.
    fn scan(&mut self, body: &[u8]) -> Result<(), JpegFault> {
        let odd = JpegFault::Structure("the head of its data is odd");
        let Some(frame) = &mut self.frame else { return Err(JpegFault::Structure("its data come before its frame")) };
        let Some((&count, rest)) = body.split_first() else { return Err(odd) };
        let parts = rest.split_at_checked(2 * usize::from(count)).filter(|_| (1..=4).contains(&count));
        let Some((selectors, &[first, last, approximation])) = parts else { return Err(odd) };
        let (high, low) = (approximation >> 4, approximation & 0xf);
        let is_range = first <= last && usize::from(last) < COEFFICIENTS;
        if !is_range || (!frame.is_progressive && (first, last, approximation) != (0, COEFFICIENTS as u8 - 1, 0)) {
            return Err(odd);
        }
        let mut needed = Vec::new();
        for selector in selectors.chunks_exact(2) {
            let &[id, tables] = selector else { return Err(odd) };
            let found = frame.header.components.iter().position(|component| component.id == id);
            let Some(number) = found else { return Err(JpegFault::Structure("its data are of no component")) };
            for bit in &mut frame.bits[number][usize::from(first)..=usize::from(last)] {
                if (high == 0) != (*bit == ABSENT) || (high != 0 && (*bit != high || low + 1 != high)) {
                    return Err(JpegFault::Structure("its data come twice or out of order"));
                }
                *bit = low;
            }
            if (first, high) == (0, 0) {
                needed.push((Kind::Dc, tables >> 4));
            }
            if last > 0 {
                needed.push((Kind::Ac, tables & 0xf));
            }
            needed.push((Kind::Quantisation, frame.header.components[number].table));
        }
        for (kind, number) in needed {
            if !self.tables.has(kind, number) {
                self.kept.write(kind, number, self.out)?;
            }
        }
        write(self.out, SOS, body);
        Ok(())
    }

    /// Returns true once all components have come whole.
    fn is_complete(&self) -> bool {
        let whole = |bits: &[u8; COEFFICIENTS]| bits[0] == 0 && bits.iter().all(|&bit| matches!(bit, 0 | ABSENT));
        self.frame.as_ref().is_some_and(|frame| frame.bits.iter().all(whole))
    }

    fn finish(mut self) -> Result<Found, JpegFault> {
        self.out.extend([0xff, EOI]);
        let is_complete = self.is_complete();
        let Some(frame) = self.frame.take() else {
            return match self.tables == Tables::default() {
                true => Err(JpegFault::Structure("it has no frame")),
                false => Ok(Found::Tables(self.tables)),
            };
        };
        if !is_complete {
            return Err(JpegFault::Structure("a part of its data is missing"));
        }
        Ok(Found::Picture(Normal {
            is_sequential: !frame.is_progressive,
            header: frame.header,
            tables: self.tables,
            padding: self.padding,
        }))
    }
}

fn write(out: &mut Vec<u8>, marker: u8, body: &[u8]) {
    out.extend([0xff, marker]);
    // As it came from a segment, or is short.
    out.extend((body.len() as u16).wrapping_add(2).to_be_bytes());
    out.extend_from_slice(body);
}
