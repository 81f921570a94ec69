//! A WAV file that is readable whenever the program ends: its header is written anew each second, and as RF64 (EBU Tech 3306) once the
//! file is longer than 4 GiB.
//!
//! ```text
//!   0 RIFF size WAVE
//!  12 JUNK 28         room for the sizes of RF64
//!  48 fmt  16
//!  72 LIST 32 INFO ICMT 20   comment: by how much pictures are to be stretched, see `take.rs`
//! 112 bext 602        when its first sample was here (EBU Tech 3285): editors and `wavelet export` put recordings of one call in step by it
//! 722 data size       samples
//! ```

use std::io::{self, Seek, SeekFrom, Write};

use sound::RATE_HZ;

use super::name::UtcTime;

/// Length of the header, bytes.
pub(super) const HEADER_BYTES: usize = 730;
/// Room for a comment, with its end.
const COMMENT_BYTES: usize = 20;
/// Bytes of an extension chunk before its date, and those from its version on.
const BEXT_BEFORE: usize = 320;
const BEXT_AFTER: usize = 256;
/// Zeros that are written at once.
const ZEROS: [u8; 4_096] = [0; 4_096];

/// A file that is being written.
pub(super) struct Wav<W> {
    out: W,
    channels: u16,
    bits: u16,
    /// Bytes of samples, and as many as the header knows of.
    bytes: u64,
    told: u64,
    comment: String,
    begun: UtcTime,
}

impl<W: Write + Seek> Wav<W> {
    /// Begins a file of samples of 16 or 24 bits, of which the first is of the time `begun`.
    pub(super) fn new(out: W, channels: u16, bits: u16, begun: UtcTime) -> io::Result<Self> {
        let mut wav = Self { out, channels, bits, bytes: 0, told: 0, comment: String::new(), begun };
        wav.out.write_all(&wav.header())?;
        Ok(wav)
    }

    fn frame_bytes(&self) -> u16 {
        self.channels * self.bits / 8
    }

    /// Returns the frames in the file.
    pub(super) fn frames(&self) -> u64 {
        self.bytes / u64::from(self.frame_bytes())
    }

    /// Returns the bits of a sample.
    pub(super) fn bits(&self) -> u16 {
        self.bits
    }

    /// Returns the channels.
    pub(super) fn channels(&self) -> u16 {
        self.channels
    }

    /// Appends whole frames.
    pub(super) fn write(&mut self, samples: &[u8]) -> io::Result<()> {
        self.out.write_all(samples)?;
        self.bytes += samples.len() as u64;
        let second = u64::from(RATE_HZ) * u64::from(self.frame_bytes());
        if self.bytes - self.told >= second { self.tell() } else { Ok(()) }
    }

    /// Appends frames of silence.
    pub(super) fn silence(&mut self, frames: u64) -> io::Result<()> {
        let mut bytes = frames * u64::from(self.frame_bytes());
        while bytes > 0 {
            // A multiple of every frame's length.
            let part = bytes.min(4_080);
            self.write(&ZEROS[..part as usize])?;
            bytes -= part;
        }
        Ok(())
    }

    /// Sets the comment, of which only so much is kept as has room.
    pub(super) fn set_comment(&mut self, comment: String) {
        self.comment = comment;
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.tell()?;
        self.out.flush()
    }

    fn tell(&mut self) -> io::Result<()> {
        self.told = self.bytes;
        let header = self.header();
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header)?;
        self.out.seek(SeekFrom::End(0)).map(drop)
    }

    fn header(&self) -> Vec<u8> {
        let whole = HEADER_BYTES as u64 - 8 + self.bytes;
        let is_long = whole > u64::from(u32::MAX);
        let size = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes();
        let mut header = Vec::with_capacity(HEADER_BYTES);
        let mut put = |bytes: &[u8]| header.extend_from_slice(bytes);
        put(if is_long { b"RF64" } else { b"RIFF" });
        put(&if is_long { [0xff; 4] } else { size(whole) });
        put(b"WAVE");
        put(if is_long { b"ds64" } else { b"JUNK" });
        put(&28_u32.to_le_bytes());
        for value in [whole, self.bytes, self.frames()] {
            put(&if is_long { value } else { 0 }.to_le_bytes());
        }
        put(&[0; 4]);
        put(b"fmt ");
        put(&16_u32.to_le_bytes());
        put(&1_u16.to_le_bytes());
        put(&self.channels.to_le_bytes());
        put(&RATE_HZ.to_le_bytes());
        put(&(RATE_HZ * u32::from(self.frame_bytes())).to_le_bytes());
        put(&self.frame_bytes().to_le_bytes());
        put(&self.bits.to_le_bytes());
        put(b"LIST");
        put(&(12 + COMMENT_BYTES as u32).to_le_bytes());
        put(b"INFOICMT");
        put(&(COMMENT_BYTES as u32).to_le_bytes());
        let mut comment = [0; COMMENT_BYTES];
        let known = self.comment.as_bytes();
        let len = known.len().min(COMMENT_BYTES - 1);
        comment[..len].copy_from_slice(&known[..len]);
        put(&comment);
        put(b"bext");
        put(&((BEXT_BEFORE + 26 + BEXT_AFTER) as u32).to_le_bytes());
        put(&[0; BEXT_BEFORE]);
        put(self.begun.date().as_bytes());
        put(self.begun.clock().as_bytes());
        put(&(self.begun.ms_of_day() * u64::from(RATE_HZ) / 1000).to_le_bytes());
        // Version 1, and what there is nothing to say of.
        put(&[1]);
        put(&[0; BEXT_AFTER - 1]);
        put(b"data");
        put(&if is_long { [0xff; 4] } else { size(self.bytes) });
        header
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const BEGUN: UtcTime = UtcTime::new(951_782_399_250);

    fn number(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_file_is_whole_each_second_and_at_its_end() {
        let mut file = Cursor::new(Vec::new());
        let mut wav = Wav::new(&mut file, 2, 24, BEGUN).unwrap();
        wav.set_comment("1.000042".to_owned());
        wav.write(&[7; 6]).unwrap();
        wav.silence(48_000).unwrap();
        wav.write(&[8; 12]).unwrap();
        assert_eq!(wav.frames(), 48_003);
        // Killed here: the header knows of all but the last part of a second.
        drop(wav);
        let killed = file.get_ref();
        assert_eq!(killed.len(), HEADER_BYTES + 6 * 48_003);
        let known = number(killed, HEADER_BYTES - 4);
        assert!(known.is_multiple_of(6) && (6 * 47_000..=6 * 48_001).contains(&known), "{known}");
        assert_eq!((&killed[..4], number(killed, 4)), (&b"RIFF"[..], known + HEADER_BYTES as u32 - 8));

        let mut file = Cursor::new(Vec::new());
        let mut wav = Wav::new(&mut file, 2, 24, BEGUN).unwrap();
        wav.set_comment("1.000042".to_owned());
        wav.silence(10).unwrap();
        wav.write(&[8; 12]).unwrap();
        wav.finish().unwrap();
        let bytes = file.into_inner();
        assert_eq!(number(&bytes, HEADER_BYTES - 4), 72);
        assert_eq!(bytes[HEADER_BYTES - 8..HEADER_BYTES - 4], *b"data");
        assert_eq!(bytes[92..101], *b"1.000042\0");
        assert_eq!(&bytes[440..458], b"2000-02-2823:59:59");
        assert_eq!(bytes[458..466], (86_399_250_u64 * 48).to_le_bytes());
        assert_eq!((number(&bytes, 60), &bytes[58..60], &bytes[68..72]), (48_000, &[2, 0][..], &[6, 0, 24, 0][..]));
    }

    #[test]
    fn a_long_file_says_its_length_in_64_bits() {
        let mut wav = Wav {
            out: Cursor::new(Vec::new()),
            channels: 2,
            bits: 16,
            bytes: 0,
            told: 0,
            comment: "x".repeat(99),
            begun: BEGUN,
        };
        wav.bytes = 5 << 32;
        let header = wav.header();
        assert_eq!(header.len(), HEADER_BYTES);
        assert_eq!((&header[..8], &header[8..16]), (&b"RF64\xff\xff\xff\xff"[..], &b"WAVEds64"[..]));
        assert_eq!(header[28..36], (5_u64 << 32).to_le_bytes());
        assert_eq!(header[36..44], (5_u64 << 30).to_le_bytes());
        assert_eq!(header[HEADER_BYTES - 4..], [0xff; 4]);
        wav.bytes = u64::from(u32::MAX) - HEADER_BYTES as u64 + 8;
        assert_eq!(&wav.header()[..4], b"RIFF");
    }
}
