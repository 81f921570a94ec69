//! Quantisation and Huffman tables: of this picture, of those before it, and the usual ones.

use super::fault::JpegFault;
use super::marker::{DHT, DQT};

/// Most tables of one kind (ITU-T T.81, B.2.4).
const TABLES: usize = 4;
/// Coefficients of a quantisation table.
const COEFFICIENTS: usize = 64;

/// Tables by class and number, each as its bytes in a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tables {
    quantisation: [Option<Vec<u8>>; TABLES],
    /// DC, then AC.
    huffman: [[Option<Vec<u8>>; TABLES]; 2],
}

/// Uses of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Quantisation,
    Dc,
    Ac,
}

impl Tables {
    fn slots(&self, kind: Kind) -> &[Option<Vec<u8>>; TABLES] {
        match kind {
            Kind::Quantisation => &self.quantisation,
            Kind::Dc => &self.huffman[0],
            Kind::Ac => &self.huffman[1],
        }
    }

    /// Returns true if there is such a table.
    pub(super) fn has(&self, kind: Kind, number: u8) -> bool {
        self.slots(kind).get(usize::from(number)).is_some_and(Option::is_some)
    }

    /// Takes the tables of a segment with `marker`, DQT or DHT.
    pub(super) fn take(&mut self, marker: u8, segment: &[u8]) -> Result<(), JpegFault> {
        let broken = JpegFault::Structure("a table does not fill its segment");
        let mut rest = segment;
        while let Some(&head) = rest.first() {
            let (high, number) = (head >> 4, usize::from(head & 0xf));
            let length = match marker {
                DQT => 1 + COEFFICIENTS * if high == 0 { 1 } else { 2 },
                _ => 17 + rest.get(1..17).ok_or(broken.clone())?.iter().map(|&count| usize::from(count)).sum::<usize>(),
            };
            let (table, behind) = rest.split_at_checked(length).ok_or(broken.clone())?;
            rest = behind;
            let slots = match (marker, high) {
                (DQT, 0 | 1) => &mut self.quantisation,
                (DHT, 0 | 1) => &mut self.huffman[usize::from(high)],
                _ => return Err(JpegFault::Structure("a table is of no known class")),
            };
            let slot = slots.get_mut(number).ok_or(JpegFault::Structure("a table's number is above 3"))?;
            *slot = Some(table.to_vec());
        }
        Ok(())
    }

    /// Takes what `newer` has.
    pub(super) fn update(&mut self, newer: Self) {
        let newer_tables = newer.quantisation.into_iter().chain(newer.huffman.into_iter().flatten());
        let tables = self.quantisation.iter_mut().chain(self.huffman.iter_mut().flatten());
        for (table, newer) in tables.zip(newer_tables) {
            if newer.is_some() {
                *table = newer;
            }
        }
    }

    /// Appends a segment with table `number` to `out`: that of an earlier picture, else the usual one if there is any.
    pub(super) fn write(&self, kind: Kind, number: u8, out: &mut Vec<u8>) -> Result<(), JpegFault> {
        let kept = self.slots(kind).get(usize::from(number)).and_then(Option::as_deref);
        let usual = usual(kind, number);
        let (marker, table) = match (kept, &usual) {
            (Some(table), _) => (if kind == Kind::Quantisation { DQT } else { DHT }, table),
            (None, Some(table)) => (DHT, table.as_slice()),
            (None, None) => {
                return Err(JpegFault::NoTable(match kind {
                    Kind::Quantisation => "of quantisation",
                    Kind::Dc | Kind::Ac => "of Huffman codes",
                }));
            }
        };
        // A table has 273 bytes at most.
        out.extend([0xff, marker]);
        out.extend((table.len() as u16).wrapping_add(2).to_be_bytes());
        out.extend_from_slice(table);
        Ok(())
    }
}

/// Returns the Huffman table of ITU-T T.81, annex K.3, for luma (0) or chroma (1): what holds where a picture has none.
fn usual(kind: Kind, number: u8) -> Option<Vec<u8>> {
    let (class, counts, symbols): (u8, [u8; 16], &[u8]) = match (kind, number) {
        (Kind::Dc, 0) => (0, [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], &DC_SYMBOLS),
        (Kind::Dc, 1) => (0, [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], &DC_SYMBOLS),
        (Kind::Ac, 0) => (0x10, [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125], &AC_LUMA_SYMBOLS),
        (Kind::Ac, 1) => (0x10, [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119], &AC_CHROMA_SYMBOLS),
        _ => return None,
    };
    Some([&[class | number], counts.as_slice(), symbols].concat())
}

const DC_SYMBOLS: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

#[rustfmt::skip]
const AC_LUMA_SYMBOLS: [u8; 162] = [
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
    0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
    0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37,
    0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
    0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
    0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
    0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
    0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
    0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
];

#[rustfmt::skip]
const AC_CHROMA_SYMBOLS: [u8; 162] = [
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22,
    0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1,
    0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36,
    0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
    0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
    0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a,
    0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba,
    0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
    0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
];
