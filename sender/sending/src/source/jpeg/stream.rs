//! JPEG pictures one after another, as most USB cameras deliver them.

use std::io::{self, Read};

use super::marker::{DHT, DQT, Item, SOS, begin, data_end, is_frame, item};

/// Largest picture, bytes; a longer one is broken.
const PICTURE_BYTES_MAX: usize = 64 << 20;
/// Bytes read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Finds the pictures in a stream of bytes, which may begin and end anywhere.
#[derive(Debug)]
pub struct MjpegReader<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    at_end: bool,
    broken: u64,
    /// True while what stands before the next picture is not known: it may be the thumbnail inside another's segment.
    is_lost: bool,
}

impl<R: Read> MjpegReader<R> {
    /// Creates a reader of `input`.
    pub fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), start: 0, at_end: false, broken: 0, is_lost: true }
    }

    /// Returns the input, to begin it again.
    pub fn into_inner(self) -> R {
        self.input
    }

    /// Returns the pictures whose structure was broken so far.
    pub fn broken(&self) -> u64 {
        self.broken
    }

    /// Returns the bytes of the next picture, from its first marker on; `None` at the end. Whatever stands between pictures is
    /// skipped. One without an end marker ends where the next begins, or with the input.
    pub fn next_picture(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let bytes = &self.buffer[self.start..];
            match scan(bytes) {
                Scan::Whole { from, to } => {
                    let is_unsure = self.is_lost && bytes.len() <= PICTURE_BYTES_MAX;
                    let tail = if is_unsure { headless(&bytes[from..to], &bytes[to..]) } else { Tail::Other };
                    if let Tail::Headless { to: rest } = tail {
                        self.broken += 1;
                        self.start += to + rest;
                        continue;
                    }
                    if matches!(tail, Tail::Unknown) && self.fill()? {
                        continue;
                    }
                    let range = self.start + from..self.start + to;
                    (self.start, self.is_lost) = (range.end, false);
                    return Ok(Some(&self.buffer[range]));
                }
                Scan::Broken { resume } => {
                    (self.broken, self.is_lost) = (self.broken + 1, true);
                    self.start += resume;
                }
                Scan::Nothing { keep_from } => {
                    self.start += keep_from;
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
                Scan::Unfinished { from, has_data } => {
                    self.start += from;
                    let bytes = self.buffer.len() - self.start;
                    if bytes <= PICTURE_BYTES_MAX && self.fill()? {
                        continue;
                    }
                    if self.at_end && has_data {
                        let range = self.start..self.buffer.len();
                        self.start = range.end;
                        return Ok(Some(&self.buffer[range]));
                    }
                    // Another picture may begin inside the one that has no end.
                    (self.broken, self.is_lost) = (self.broken + 1, true);
                    self.start += 2;
                }
            }
        }
    }

    /// Reads more; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        let read = self.input.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut self.buffer)?;
        self.at_end = read == 0;
        Ok(self.buffer.len() > before)
    }
}

/// Result of [`scan`]. Positions count from the start of the bytes given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// A picture.
    Whole { from: usize, to: usize },
    /// No picture begins before `keep_from`.
    Nothing { keep_from: usize },
    /// A picture begins at `from`; its end is not here yet. `has_data`: a part of its coded data is.
    Unfinished { from: usize, has_data: bool },
    /// A picture that cannot go on as it does; look on from `resume`.
    Broken { resume: usize },
}

/// Finds the first picture in `bytes` by walking over its segments: each has its length, and after SOS come coded data, in which
/// FF is followed by 00 or a restart marker.
pub(super) fn scan(bytes: &[u8]) -> Scan {
    let Some(from) = begin(bytes) else { return Scan::Nothing { keep_from: bytes.len().saturating_sub(2) } };
    let (mut at, mut has_data) = (from + 2, false);
    loop {
        match item(bytes, at) {
            Item::End { to } => return Scan::Whole { from, to },
            // The next picture ends one that has no end of its own.
            Item::Begin { at: to } if has_data => return Scan::Whole { from, to },
            Item::Begin { at: resume } | Item::Broken { resume } => return Scan::Broken { resume },
            Item::Cut => return Scan::Unfinished { from, has_data },
            Item::Segment { marker: SOS, to, .. } => {
                has_data = true;
                let Some(end) = data_end(bytes, to) else { return Scan::Unfinished { from, has_data } };
                at = end;
            }
            Item::Segment { to, .. } => at = to,
        }
    }
}

/// Returns the first picture in `bytes`, and what stands behind it.
pub(super) fn first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = bytes;
    loop {
        match scan(rest) {
            Scan::Whole { from, to } => return Some((&rest[from..to], &rest[to..])),
            Scan::Unfinished { from, has_data: true } => return Some((&rest[from..], &[])),
            Scan::Broken { resume } => rest = &rest[resume..],
            Scan::Nothing { .. } | Scan::Unfinished { .. } => return None,
        }
    }
}

/// Returns the pixels that the frame of a picture names.
fn frame_pixels(picture: &[u8]) -> u32 {
    let mut at = 2;
    while let Item::Segment { marker, from, to } = item(picture, at) {
        if is_frame(marker) {
            return pixels(&picture[from..to]);
        }
        at = to;
    }
    0
}

/// Returns the pixels that a start of frame names.
fn pixels(frame: &[u8]) -> u32 {
    match frame {
        &[_, h1, h0, w1, w0, ..] => u32::from(u16::from_be_bytes([h1, h0])) * u32::from(u16::from_be_bytes([w1, w0])),
        _ => 0,
    }
}

/// Bytes behind a picture.
enum Tail {
    /// The rest of a picture that has no begin, up to `to`: the one before it was the thumbnail in one of its segments.
    Headless { to: usize },
    /// Another picture, or nothing that could be one.
    Other,
    /// Too few bytes to say.
    Unknown,
}

fn headless(picture: &[u8], bytes: &[u8]) -> Tail {
    let (mut at, mut has_frame) = (0, false);
    loop {
        match item(bytes, at) {
            // Some cameras put a smaller picture without a begin behind the large one.
            Item::Segment { marker, from, to } if is_frame(marker) => {
                (at, has_frame) = (to, pixels(&bytes[from..to]) > frame_pixels(picture));
            }
            Item::Segment { marker: DHT | DQT, to, .. } => at = to,
            Item::Segment { marker: SOS, to, .. } if has_frame => {
                return data_end(bytes, to).map_or(Tail::Unknown, |to| Tail::Headless { to });
            }
            Item::Segment { .. } | Item::Begin { .. } | Item::End { .. } | Item::Broken { .. } => return Tail::Other,
            Item::Cut => return Tail::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::JpegDecoder;
    use super::super::marker::{EOI, SOI};
    use super::*;

    /// Returns the structure of a JPEG: an application segment that holds an EOI, a scan with stuffing and a restart.
    fn picture(mark: u8) -> Vec<u8> {
        let mut bytes = vec![0xff, SOI, 0xff, 0xe0, 0, 5, 0xff, EOI, mark];
        bytes.extend_from_slice(&[0xff, SOS, 0, 3, 1, 9, 0xff, 0, 7, 0xff, 0xd3, mark, 0xff, 0xff, EOI]);
        bytes
    }

    fn pictures(bytes: &[u8]) -> (Vec<Vec<u8>>, u64) {
        // One byte at a time, so that every cut is tried.
        struct Drops<'a>(&'a [u8]);
        impl Read for Drops<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let count = self.0.len().min(out.len()).min(1);
                out[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut reader = MjpegReader::new(Drops(bytes));
        let mut found = Vec::new();
        while let Some(picture) = reader.next_picture().unwrap() {
            found.push(picture.to_vec());
        }
        (found, reader.broken())
    }

    #[test]
    fn pictures_are_cut_at_their_own_ends() {
        let stream = [picture(1), b"between".to_vec(), picture(2), picture(3)].concat();
        assert_eq!(pictures(&stream), (vec![picture(1), picture(2), picture(3)], 0));
    }

    #[test]
    fn a_broken_picture_is_skipped_and_counted() {
        let whole = picture(2);
        for cut in 4..whole.len() {
            let stream = [picture(1), whole[..cut].to_vec(), picture(3), picture(4), picture(5)].concat();
            let (found, broken) = pictures(&stream);
            assert!(found.contains(&picture(1)) && found.contains(&picture(5)), "{cut}");
            // One of which data are there is left to the decoder.
            let is_left = cut >= 14 && found.contains(&whole[..cut].to_vec());
            assert!(broken > 0 || is_left || found.len() == 4, "{cut}: {broken} {}", found.len());
        }
    }

    #[test]
    fn a_truncated_end_is_left_to_the_decoder() {
        let whole = picture(1);
        let without_end = whole[..whole.len() - 2].to_vec();
        assert_eq!(pictures(&[whole.clone(), without_end.clone()].concat()), (vec![whole.clone(), without_end], 0));
        // A picture of which no data have come is none.
        assert_eq!(pictures(&[whole.clone(), whole[..9].to_vec()].concat()), (vec![whole], 1));
        assert_eq!(pictures(b""), (vec![], 0));
        assert_eq!(pictures(b"no picture \xff\xd8"), (vec![], 0));
    }

    #[test]
    fn the_next_picture_ends_one_without_an_end() {
        let without_end = |mark| picture(mark)[..picture(mark).len() - 2].to_vec();
        let stream = [without_end(1), without_end(2), picture(3)].concat();
        assert_eq!(pictures(&stream), (vec![without_end(1), without_end(2), picture(3)], 0));
    }

    #[test]
    fn stray_bytes_between_segments_belong_to_the_picture() {
        let whole = picture(1);
        let stray = [&whole[..2], &[1, 2, 0xff, 0, 3], &whole[2..]].concat();
        // Such a picture is found where its begin is followed by another marker.
        let stray = [&[0xff, SOI, 0xff, 0xe1, 0, 2][..], &stray[2..]].concat();
        assert_eq!(pictures(&[stray.clone(), picture(2)].concat()), (vec![stray, picture(2)], 0));
    }

    #[test]
    fn a_thumbnail_whose_picture_has_no_begin_is_none() {
        // The rest of a picture: a frame and a scan.
        let rest = [0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0, 0xff, SOS, 0, 3, 1, 9, 7, 0xff, EOI];
        let stream = [b"tail of a segment".as_slice(), &picture(1), &rest, &picture(2), &picture(3)].concat();
        assert_eq!(pictures(&stream), (vec![picture(2), picture(3)], 1));
    }

    #[test]
    fn a_segment_that_is_cut_by_the_next_picture_costs_that_one_only() {
        let cut = [0xff, SOI, 0xff, DQT, 0, 67, 0, 16, 11, 10];
        assert_eq!(pictures(&[picture(1), cut.to_vec(), picture(2)].concat()), (vec![picture(1), picture(2)], 1));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic_or_hang(bytes in prop::collection::vec(prop::sample::select(
            vec![0xff, SOI, EOI, SOS, 0xe0, 0xd0, 0, 1, 2, 3, 9]), 0..200)) {
            let (found, _) = pictures(&bytes);
            for picture in found {
                prop_assert!(picture.starts_with(&[0xff, SOI]));
                prop_assert!(JpegDecoder::default().decode(&picture, &mut Vec::new()).is_err());
            }
        }

        #[test]
        fn random_tails_never_panic(tail: Vec<u8>) {
            let (found, _) = pictures(&[picture(1), tail].concat());
            prop_assert_eq!(&found[0], &picture(1));
        }
    }
}
