//! JPEG pictures of eight colours, made as cameras and older programs make them.

/// Width and height: each colour has 32x32 pixels, so that no block of any sampling has two.
pub(crate) const SIZE: (usize, usize) = (128, 64);
/// Side of a colour's square, pixels.
pub(crate) const CELL: usize = 32;
/// The colours, R G B, from the upper left to the lower right.
pub(crate) const COLOURS: [[u8; 3]; 8] = [
    [200, 30, 30],
    [30, 180, 40],
    [30, 40, 200],
    [220, 210, 40],
    [200, 60, 190],
    [40, 190, 200],
    [235, 235, 235],
    [20, 20, 20],
];

/// Codes of the usual DC tables by length: of luma and of chroma.
const DC_COUNTS: [[u8; 16]; 2] =
    [[0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]];
/// The code that ends a block in the usual AC tables, and its bits.
const USUAL_END: [(u32, u32); 2] = [(0b1010, 4), (0b00, 2)];
/// That of the table that these pictures bring: one that is not usual, so that it is seen which one was taken.
const OWN_END: (u32, u32) = (0b0, 1);

/// Meanings of a picture's samples.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Samples {
    /// Y Cb Cr as JFIF has them.
    Full,
    /// Y Cb Cr of the limited range.
    Limited,
    Rgb,
    Grey,
}

/// A picture to be made.
#[derive(Clone)]
pub(crate) struct Jpeg {
    pub(crate) samples: Samples,
    /// Name of each component, and its samples across and down in a unit.
    pub(crate) components: Vec<(u8, usize, usize)>,
    /// Components of each scan.
    pub(crate) scans: Vec<Vec<usize>>,
    /// Segments before all others: marker and body.
    pub(crate) marks: Vec<(u8, Vec<u8>)>,
    /// Bytes before the quantisation table.
    pub(crate) stray: Vec<u8>,
    pub(crate) has_quantisation: bool,
    pub(crate) has_huffman: bool,
    /// True if the codes are those of the usual tables.
    pub(crate) is_usual: bool,
    /// Units from one restart marker to the next; 0: there are none.
    pub(crate) restart: usize,
    pub(crate) has_end: bool,
    /// Lines of the picture that are taken: the first, and from one to the next.
    pub(crate) lines: (usize, usize),
    /// Times by which all is smaller.
    pub(crate) shrunk: usize,
    /// True if the height stands behind the first scan.
    pub(crate) is_late: bool,
}

impl Jpeg {
    /// A usual picture, 4:2:0 in one scan.
    pub(crate) fn usual() -> Self {
        Self {
            samples: Samples::Full,
            components: vec![(1, 2, 2), (2, 1, 1), (3, 1, 1)],
            scans: vec![vec![0, 1, 2]],
            marks: vec![(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec())],
            stray: vec![],
            has_quantisation: true,
            has_huffman: true,
            is_usual: false,
            restart: 0,
            has_end: true,
            lines: (0, 1),
            shrunk: 1,
            is_late: false,
        }
    }

    fn size(&self) -> (usize, usize) {
        (SIZE.0 / self.shrunk, SIZE.1 / self.shrunk / self.lines.1)
    }

    /// The sample of component `number` at a pixel.
    fn sample(&self, number: usize, x: usize, y: usize) -> u8 {
        let (width, height) = self.size();
        let (x, y) = (x.min(width - 1) * self.shrunk, y.min(height - 1) * self.shrunk);
        let y = self.lines.0 + y * self.lines.1;
        let [r, g, b] = COLOURS[y / CELL * 4 + x / CELL].map(f64::from);
        let luma = 0.299 * r + 0.587 * g + 0.114 * b;
        let full = [luma, (b - luma) / 1.772 + 128.0, (r - luma) / 1.402 + 128.0];
        let value = match self.samples {
            Samples::Rgb => [r, g, b][number],
            Samples::Full | Samples::Grey => full[number],
            Samples::Limited if number == 0 => 16.0 + full[0] * 219.0 / 255.0,
            Samples::Limited => 128.0 + (full[number] - 128.0) * 224.0 / 255.0,
        };
        value.round() as u8
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (width, height) = self.size();
        let mut out = vec![0xff, 0xd8];
        for (marker, body) in &self.marks {
            segment(&mut out, *marker, body);
        }
        out.extend_from_slice(&self.stray);
        if self.has_quantisation {
            segment(&mut out, 0xdb, &[&[0][..], &[1; 64]].concat());
        }
        let told = if self.is_late { 0 } else { height };
        let mut frame =
            vec![8, (told >> 8) as u8, told as u8, (width >> 8) as u8, width as u8, self.components.len() as u8];
        for &(name, across, down) in &self.components {
            frame.extend([name, (across << 4 | down) as u8, 0]);
        }
        segment(&mut out, 0xc0, &frame);
        if self.has_huffman {
            for table in 0..2 {
                let symbols: Vec<u8> = (0..12).collect();
                segment(&mut out, 0xc4, &[&[table], DC_COUNTS[usize::from(table)].as_slice(), &symbols].concat());
                let one = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                segment(&mut out, 0xc4, &[&[0x10 | table][..], &one, &[0]].concat());
            }
        }
        if self.restart > 0 {
            segment(&mut out, 0xdd, &[(self.restart >> 8) as u8, self.restart as u8]);
        }
        for (number, scan) in self.scans.iter().enumerate() {
            let mut head = vec![scan.len() as u8];
            for &component in scan {
                let table = self.table(component) as u8;
                head.extend([self.components[component].0, table << 4 | table]);
            }
            head.extend([0, 63, 0]);
            segment(&mut out, 0xda, &head);
            self.data(scan, &mut out);
            if number == 0 && self.is_late {
                segment(&mut out, 0xdc, &[(height >> 8) as u8, height as u8]);
            }
        }
        if self.has_end {
            out.extend([0xff, 0xd9]);
        }
        out
    }

    /// The number of a component's Huffman tables.
    fn table(&self, component: usize) -> usize {
        usize::from(component > 0)
    }

    /// Appends the coded data of a scan: each block is its mean.
    fn data(&self, scan: &[usize], out: &mut Vec<u8>) {
        let (width, height) = self.size();
        let (most_across, most_down) = self.components.iter().fold((1, 1), |m, c| (m.0.max(c.1), m.1.max(c.2)));
        let blocks = |length: usize, part: usize, most: usize| (length * part).div_ceil(most).div_ceil(8);
        let (columns, rows) = match *scan {
            [only] => {
                let (_, across, down) = self.components[only];
                (blocks(width, across, most_across), blocks(height, down, most_down))
            }
            _ => (width.div_ceil(8 * most_across), height.div_ceil(8 * most_down)),
        };
        let mut bits = Bits { out, held: 0, count: 0 };
        let mut before = [0; 4];
        for unit in 0..columns * rows {
            if self.restart > 0 && unit > 0 && unit % self.restart == 0 {
                bits.pad();
                bits.out.extend([0xff, 0xd0 + ((unit / self.restart - 1) % 8) as u8]);
                before = [0; 4];
            }
            for &component in scan {
                let (_, across, down) = self.components[component];
                let (inside_x, inside_y) = if scan.len() == 1 { (1, 1) } else { (across, down) };
                for block in 0..inside_x * inside_y {
                    let x = 8 * (unit % columns * inside_x + block % inside_x) * most_across / across;
                    let y = 8 * (unit / columns * inside_y + block / inside_x) * most_down / down;
                    let mean = 8 * (i32::from(self.sample(component, x, y)) - 128);
                    bits.mean(mean - before[component], self.table(component));
                    before[component] = mean;
                    let (code, length) = if self.is_usual { USUAL_END[self.table(component)] } else { OWN_END };
                    bits.put(code, length);
                }
            }
        }
        bits.pad();
    }
}

/// Appends a segment.
pub(crate) fn segment(out: &mut Vec<u8>, marker: u8, body: &[u8]) {
    out.extend([0xff, marker, ((body.len() + 2) >> 8) as u8, (body.len() + 2) as u8]);
    out.extend_from_slice(body);
}

struct Bits<'a> {
    out: &'a mut Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits<'_> {
    fn put(&mut self, value: u32, bits: u32) {
        for bit in (0..bits).rev() {
            self.held = self.held << 1 | (value >> bit & 1);
            self.count += 1;
            if self.count == 8 {
                self.out.push(self.held as u8);
                if self.held as u8 == 0xff {
                    self.out.push(0);
                }
                (self.held, self.count) = (0, 0);
            }
        }
    }

    /// Codes the difference of a mean.
    fn mean(&mut self, difference: i32, table: usize) {
        let size = 32 - difference.unsigned_abs().leading_zeros();
        let (mut code, mut symbol) = (0, 0);
        for (length, &count) in (1..).zip(&DC_COUNTS[table]) {
            if size < symbol + u32::from(count) {
                self.put(code + size - symbol, length);
                break;
            }
            symbol += u32::from(count);
            code = (code + u32::from(count)) << 1;
        }
        let bits = if difference < 0 { difference - 1 } else { difference };
        self.put(bits as u32 & ((1 << size) - 1), size);
    }

    fn pad(&mut self) {
        while self.count > 0 {
            self.put(1, 1);
        }
    }
}
