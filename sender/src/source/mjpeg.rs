//! JPEG pictures one after another, as most USB cameras deliver them.

use std::io::{self, Read};

/// Largest picture, bytes; a longer one is broken.
const PICTURE_BYTES_MAX: usize = 64 << 20;
/// Bytes read at once.
const CHUNK_BYTES: usize = 256 << 10;

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;

/// Finds the pictures in a stream of bytes.
#[derive(Debug)]
pub struct MjpegReader<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    at_end: bool,
    broken: u64,
}

impl<R: Read> MjpegReader<R> {
    /// Creates a reader of `input`.
    pub fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), start: 0, at_end: false, broken: 0 }
    }

    /// Returns the input, to begin it again.
    pub fn into_inner(self) -> R {
        self.input
    }

    /// Returns the pictures whose structure was broken so far.
    pub fn broken(&self) -> u64 {
        self.broken
    }

    /// Returns the bytes of the next picture that is whole by its markers; `None` at the end. Whatever stands between
    /// pictures is skipped.
    pub fn next_picture(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            match scan(&self.buffer[self.start..]) {
                Scan::Whole { from, to } => {
                    let range = self.start + from..self.start + to;
                    self.start = range.end;
                    return Ok(Some(&self.buffer[range]));
                }
                Scan::Broken { resume } => {
                    self.broken += 1;
                    self.start += resume;
                }
                Scan::Nothing { keep_from } => {
                    self.start += keep_from;
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
                Scan::Unfinished { from } => {
                    self.start += from;
                    let too_long = self.buffer.len() - self.start > PICTURE_BYTES_MAX;
                    if too_long || !self.fill()? {
                        // Another picture may begin inside the one that has no end.
                        self.broken += 1;
                        self.start += 2;
                    }
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
enum Scan {
    /// A picture.
    Whole { from: usize, to: usize },
    /// No picture begins before `keep_from`.
    Nothing { keep_from: usize },
    /// A picture begins at `from`; its end is not here yet.
    Unfinished { from: usize },
    /// A picture that cannot go on as it does; look on from `resume`.
    Broken { resume: usize },
}

/// Finds the first picture in `bytes` by walking over its marker segments (ITU-T T.81, annex B): between SOI and
/// SOS each has its length; after SOS come coded data, in which FF is followed by 00 or a restart marker.
fn scan(bytes: &[u8]) -> Scan {
    let Some(from) = bytes.windows(3).position(|window| window == [0xff, SOI, 0xff]) else {
        return Scan::Nothing { keep_from: bytes.len().saturating_sub(2) };
    };
    let mut at = from + 2;
    loop {
        // Any number of FF may stand before a marker.
        let Some(&marker) = bytes[at..].iter().skip(1).find(|&&byte| byte != 0xff) else {
            return Scan::Unfinished { from };
        };
        if bytes[at] != 0xff {
            return Scan::Broken { resume: from + 2 };
        }
        at += 1 + bytes[at + 1..].iter().take_while(|&&byte| byte == 0xff).count();
        match marker {
            EOI => return Scan::Whole { from, to: at + 1 },
            SOI => return Scan::Broken { resume: at - 1 },
            0x01 | 0xd0..=0xd7 => at += 1,
            0x00 => return Scan::Broken { resume: from + 2 },
            _ => {
                let Some(&[high, low]) = bytes.get(at + 1..at + 3) else { return Scan::Unfinished { from } };
                let length = usize::from(u16::from_be_bytes([high, low]));
                if length < 2 {
                    return Scan::Broken { resume: from + 2 };
                }
                at += 1 + length;
                if marker == SOS {
                    let Some(data) = bytes.get(at..) else { return Scan::Unfinished { from } };
                    let end =
                        data.windows(2).position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7 | 0xff));
                    let Some(end) = end else { return Scan::Unfinished { from } };
                    at += end;
                }
            }
        }
        if at >= bytes.len() {
            return Scan::Unfinished { from };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            assert!(broken > 0 || found.len() == 4, "{cut}: {broken} {}", found.len());
        }
    }

    #[test]
    fn a_truncated_end_is_counted() {
        let whole = picture(1);
        let (found, broken) = pictures(&[whole.clone(), whole[..whole.len() - 1].to_vec()].concat());
        assert_eq!((found, broken), (vec![whole], 1));
        assert_eq!(pictures(b""), (vec![], 0));
        assert_eq!(pictures(b"no picture \xff\xd8"), (vec![], 0));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic_or_hang(bytes in prop::collection::vec(prop::sample::select(
            vec![0xff, SOI, EOI, SOS, 0xe0, 0xd0, 0, 1, 2, 3, 9]), 0..200)) {
            let (found, _) = pictures(&bytes);
            for picture in found {
                prop_assert!(picture.starts_with(&[0xff, SOI]) && picture.ends_with(&[EOI]));
                prop_assert!(super::super::jpeg::decode(&picture, true, &mut Vec::new()).is_err());
            }
        }

        #[test]
        fn random_tails_never_panic(tail: Vec<u8>) {
            let (found, _) = pictures(&[picture(1), tail].concat());
            prop_assert_eq!(&found[0], &picture(1));
        }
    }
}
