//! Bits in bytes, the first one in the highest place, one at a time.

/// Writes bits.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    count: usize,
}

impl BitWriter {
    /// Appends a bit.
    pub(crate) fn push(&mut self, bit: bool) {
        if self.count.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (7 - self.count % 8);
        }
        self.count += 1;
    }

    /// Returns the bytes; what the last one has beyond the bits is 0.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads bits.
#[derive(Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> BitReader<'a> {
    /// Reads `bytes` from their first bit on.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, count: 0 }
    }

    /// Returns the next bit; 0 beyond the end.
    pub(crate) fn next(&mut self) -> bool {
        let byte = self.bytes.get(self.count / 8).copied().unwrap_or(0);
        let bit = byte >> (7 - self.count % 8) & 1;
        self.count += 1;
        bit == 1
    }

    /// Returns true if exactly the bytes were read that a writer of the bits read would have made.
    pub(crate) fn is_finished(&self) -> bool {
        let rest = self.bytes.last().map_or(0, |&last| last & (0xff_u32 >> ((self.count + 7) % 8 + 1)) as u8);
        self.count.div_ceil(8) == self.bytes.len() && rest == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_and_nothing_else_does() {
        for count in 0..20 {
            let bits: Vec<bool> = (0..count).map(|at| at % 3 == 1 || at == count - 1).collect();
            let mut writer = BitWriter::default();
            bits.iter().for_each(|&bit| writer.push(bit));
            let bytes = writer.finish();
            assert_eq!(bytes.len(), bits.len().div_ceil(8));
            let mut reader = BitReader::new(&bytes);
            for (at, &bit) in bits.iter().enumerate() {
                assert_eq!(reader.is_finished(), at == bits.len(), "{at} of {count}");
                assert_eq!(reader.next(), bit);
            }
            assert!(reader.is_finished());
            let mut dirty = bytes.clone();
            if let (Some(last), false) = (dirty.last_mut(), count % 8 == 0) {
                *last |= 1;
                let mut reader = BitReader::new(&dirty);
                bits.iter().for_each(|_| {
                    reader.next();
                });
                assert!(!reader.is_finished(), "{count}");
            }
            (0..=8).for_each(|_| assert!(!reader.next()));
            assert!(!reader.is_finished(), "{count}");
        }
    }
}
