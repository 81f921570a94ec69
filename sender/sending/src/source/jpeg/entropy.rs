//! Damage of coded data, found by a walk over all codes of a sequential picture.
//!
//! The library makes a picture of damaged data without a word wherever codes fall into step again, which they soon do: of 2000
//! photographs with forty wrong bytes it let 616 pass. What gives them away is a run beyond the block's end, a mean that no samples
//! have, and bits that are left or lacking at the end of a scan or an interval.

use super::header::Header;
use super::marker::{DHT, DQT, DRI, Item, RST0, SOS, data_end, item};

/// Bits that are looked up at once.
const LOOKED_UP: u32 = 10;
/// Longest code, bits.
const CODE_BITS: u32 = 16;
/// Most bits of the difference of two means; other coefficients have one less, at 8 bits a sample.
const MEAN_BITS: u32 = 11;
const COEFFICIENT_BITS: u32 = 10;
const _: () = assert!(LOOKED_UP <= CODE_BITS && COEFFICIENT_BITS < MEAN_BITS);
/// Greatest mean of a block, before quantisation.
const MEAN_MAX: i32 = 1024;
/// Quantisation steps by which an encoder may be beyond that.
const STEPS_BEYOND: i32 = 1;
/// Greatest other coefficient, before quantisation, with room for what an encoder rounds.
const COEFFICIENT_MAX: u32 = 1400;
const _: () = assert!(MEAN_MAX < 1 << MEAN_BITS && COEFFICIENT_MAX < 2 << COEFFICIENT_BITS);
/// Zeros behind an interval: as many as are read ahead.
const AHEAD_BYTES: usize = 16;

/// A Huffman table: code length and symbol, by the bits that come next.
struct Codes {
    short: Box<[(u8, u8); 1 << LOOKED_UP]>,
    /// By length: the first code that is longer, left-aligned to [`CODE_BITS`], and what to add to a code for its symbol's place.
    ends: [(u32, i64); CODE_BITS as usize + 1],
    symbols: Vec<u8>,
}

impl Codes {
    /// Builds the table of a segment's bytes behind class and number.
    fn new(table: &[u8]) -> Option<Self> {
        let (counts, symbols) = table.split_first_chunk::<{ CODE_BITS as usize }>()?;
        let mut codes = Self {
            short: Box::new([(0, 0); 1 << LOOKED_UP]),
            ends: [(0, 0); CODE_BITS as usize + 1],
            symbols: symbols.to_vec(),
        };
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1..).zip(counts) {
            codes.ends[length as usize].1 = place as i64 - i64::from(code);
            for _ in 0..count {
                if length <= LOOKED_UP {
                    let first = (code << (LOOKED_UP - length)) as usize;
                    let same = codes.short.get_mut(first..first + (1 << (LOOKED_UP - length)))?;
                    same.fill((length as u8, *symbols.get(place)?));
                }
                (code, place) = (code + 1, place + 1);
            }
            if code > 1 << length {
                return None;
            }
            codes.ends[length as usize].0 = code << (CODE_BITS - length);
            code <<= 1;
        }
        Some(codes)
    }
}

/// Bits of an interval, from the first one on.
struct Bits<'a> {
    /// Without stuffing, and with [`AHEAD_BYTES`] zeros behind it.
    bytes: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
}

impl Bits<'_> {
    #[inline(always)]
    fn fill(&mut self) {
        if self.count <= 32 {
            let next = self
                .bytes
                .get(self.at..self.at + 4)
                .and_then(<[u8]>::first_chunk)
                .map_or(0, |four| u32::from_be_bytes(*four));
            self.held |= u64::from(next) << (32 - self.count);
            (self.at, self.count) = (self.at.wrapping_add(4), self.count.wrapping_add(32));
        }
    }

    /// Takes at most 32 bits, of which there are as many.
    #[inline(always)]
    fn skip(&mut self, bits: u32) {
        self.held = self.held.wrapping_shl(bits);
        self.count = self.count.wrapping_sub(bits);
    }

    /// Takes a code and returns its symbol; the number behind it is there then, too.
    #[inline(always)]
    fn symbol(&mut self, codes: &Codes) -> Option<u8> {
        self.fill();
        let (length, symbol) = codes.short[(self.held >> (64 - LOOKED_UP)) as usize];
        if length > 0 {
            self.skip(length.into());
            return Some(symbol);
        }
        self.long_symbol(codes)
    }

    #[cold]
    fn long_symbol(&mut self, codes: &Codes) -> Option<u8> {
        let code = (self.held >> (64 - CODE_BITS)) as u32;
        let length = (LOOKED_UP + 1..=CODE_BITS).find(|&length| code < codes.ends[length as usize].0)?;
        let place = i64::from(code >> (CODE_BITS - length)) + codes.ends[length as usize].1;
        self.skip(length);
        codes.symbols.get(usize::try_from(place).ok()?).copied()
    }

    /// Takes a number of `bits` bits.
    fn number(&mut self, bits: u32) -> i32 {
        if bits == 0 {
            return 0;
        }
        let value = (self.held >> (64 - bits)) as i32;
        self.skip(bits);
        if value < 1 << (bits - 1) { value - (1 << bits) + 1 } else { value }
    }

    /// Returns the bits that have been taken.
    fn taken(&self) -> usize {
        (8 * self.at).saturating_sub(self.count as usize)
    }
}

/// Limits that a quantisation table sets to the numbers that it belongs to.
#[derive(Clone)]
struct Steps {
    mean: i32,
    /// Most bits of each coefficient.
    bits_max: [u32; 64],
}

/// A component's part of a scan.
struct Part<'a> {
    blocks: usize,
    mean: &'a Codes,
    others: &'a Codes,
    steps: &'a Steps,
    before: i32,
}

/// Checks the data of a sequential picture in normal form. Returns the whole bytes that are left behind the last code; the error says
/// what cannot be.
pub(super) fn check(normal: &[u8], header: &Header) -> Result<usize, &'static str> {
    let (mut codes, mut restart): ([[Option<Codes>; 4]; 2], usize) = Default::default();
    let mut steps = std::array::from_fn(|_| Steps { mean: 1, bits_max: [COEFFICIENT_BITS; 64] });
    let (mut at, mut left) = (2, 0);
    while let Item::Segment { marker, from, to } = item(normal, at) {
        let body = &normal[from..to];
        at = to;
        match marker {
            DRI => restart = body.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)),
            DQT => {
                let mut rest = body;
                while let [head, behind @ ..] = rest {
                    let wide = usize::from(head >> 4 != 0);
                    let read = |bytes: &[u8]| bytes.iter().fold(0, |step, &byte| step << 8 | u32::from(byte)).max(1);
                    let to: &mut Steps = &mut steps[usize::from(head & 3)];
                    for (bits, step) in to.bits_max.iter_mut().zip(behind.chunks_exact(1 + wide).map(read)) {
                        *bits = (u32::BITS - (COEFFICIENT_MAX / step).leading_zeros()).clamp(1, COEFFICIENT_BITS);
                    }
                    to.mean = behind.get(..=wide).map_or(1, |step| read(step) as i32);
                    rest = behind.get(64 << wide..).unwrap_or_default();
                }
            }
            DHT => {
                let mut rest = body;
                while let Some((counts, _)) = rest.get(1..17).zip(rest.first()) {
                    let (head, length) = (rest[0], 17 + counts.iter().map(|&count| usize::from(count)).sum::<usize>());
                    let table = rest.get(1..length).and_then(Codes::new).ok_or("a table of codes is impossible")?;
                    codes[usize::from(head >> 4 & 1)][usize::from(head & 3)] = Some(table);
                    rest = &rest[length..];
                }
            }
            SOS => {
                let end = data_end(normal, to).unwrap_or(normal.len());
                at = end;
                left = scan(body, &normal[to..end], header, (&codes, &steps, restart))?;
                if left > 0 && !matches!(item(normal, at), Item::End { .. }) {
                    return Err("bytes are left between two scans");
                }
            }
            _ => {}
        }
    }
    Ok(left)
}

type Known<'a> = (&'a [[Option<Codes>; 4]; 2], &'a [Steps; 4], usize);

fn scan(head: &[u8], data: &[u8], header: &Header, (codes, steps, restart): Known<'_>) -> Result<usize, &'static str> {
    let (width, height) = (usize::from(header.width), usize::from(header.height));
    let most = header.components.iter().fold((1, 1), |most, it| (it.across.max(most.0), it.down.max(most.1)));
    let selectors = head.get(1..head.len().saturating_sub(3)).unwrap_or_default().chunks_exact(2);
    let is_single = selectors.len() == 1;
    let mut units = width.div_ceil(8 * usize::from(most.0)) * height.div_ceil(8 * usize::from(most.1));
    let mut parts = Vec::new();
    for selector in selectors {
        let found = header.components.iter().find(|component| component.id == selector[0]);
        let component = found.ok_or("its data are of no component")?;
        let table = |class: usize, number: u8| {
            codes[class][usize::from(number & 3)].as_ref().ok_or("a table of codes is missing")
        };
        let (across, down) = (usize::from(component.across), usize::from(component.down));
        if is_single {
            let side = |length: usize, part: usize, most: u8| (length * part).div_ceil(usize::from(most)).div_ceil(8);
            units = side(width, across, most.0) * side(height, down, most.1);
        }
        parts.push(Part {
            blocks: if is_single { 1 } else { across * down },
            mean: table(0, selector[1] >> 4)?,
            others: table(1, selector[1] & 0xf)?,
            steps: &steps[usize::from(component.table & 3)],
            before: 0,
        });
    }
    let (mut rest, mut plain, mut number, mut left) = (data, Vec::new(), 0, 0);
    while units > 0 {
        let now = if restart > 0 { restart.min(units) } else { units };
        units -= now;
        let end = interval(rest, &mut plain);
        left = walk(&plain, now, &mut parts)?;
        rest = &rest[end..];
        if units > 0 {
            match rest {
                [0xff, marker, behind @ ..] if *marker == RST0 + number % 8 && left == 0 => rest = behind,
                _ => return Err("a restart marker is not where it should be"),
            }
            number = number.wrapping_add(1);
        }
    }
    if rest.is_empty() { Ok(left) } else { Err("a restart marker is not where it should be") }
}

/// Puts the bytes up to the next restart marker into `plain`, without stuffing; returns where that is.
fn interval(data: &[u8], plain: &mut Vec<u8>) -> usize {
    plain.clear();
    let mut at = 0;
    while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
        let run = rest.iter().position(|&byte| byte == 0xff).unwrap_or(rest.len());
        plain.extend_from_slice(&rest[..run]);
        at += run;
        match rest.get(run..run + 2) {
            Some([_, 0]) => {
                plain.push(0xff);
                at += 2;
            }
            Some([_, 0xff]) => at += 1,
            Some(_) => break,
            // A lone FF at the end.
            None => at = data.len(),
        }
    }
    plain.resize(plain.len() + AHEAD_BYTES, 0);
    at
}

/// Walks over the codes of an interval; returns the whole bytes that are left behind them.
fn walk(plain: &[u8], units: usize, parts: &mut [Part<'_>]) -> Result<usize, &'static str> {
    let mut bits = Bits { bytes: plain, at: 0, held: 0, count: 0 };
    let bytes = plain.len() - AHEAD_BYTES;
    parts.iter_mut().for_each(|part| part.before = 0);
    for _ in 0..units {
        for part in &mut *parts {
            for _ in 0..part.blocks {
                block(&mut bits, part)?;
            }
        }
        // Behind the end come zeros.
        if bits.taken() > 8 * bytes {
            return Err("they end too soon");
        }
    }
    Ok(bytes - bits.taken().div_ceil(8))
}

fn block(bits: &mut Bits<'_>, part: &mut Part<'_>) -> Result<(), &'static str> {
    const NO_CODE: &str = "there is no such code";
    let size = u32::from(bits.symbol(part.mean).ok_or(NO_CODE)?);
    if size > MEAN_BITS {
        return Err("a mean is too large");
    }
    part.before += bits.number(size);
    if (part.before * part.steps.mean).abs() > MEAN_MAX + STEPS_BEYOND * part.steps.mean {
        return Err("a mean is too large");
    }
    let mut at = 1;
    while at < 64 {
        let symbol = bits.symbol(part.others).ok_or(NO_CODE)?;
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 0xf));
        match (run, size) {
            (0, 0) => return Ok(()),
            (15, 0) => at += 16,
            (_, 0) => return Err(NO_CODE),
            _ => {
                at += run + 1;
                let Some(&most) = part.steps.bits_max.get(at - 1) else { return Err("a run goes beyond its block") };
                if size > most {
                    return Err("a coefficient is too large");
                }
                bits.skip(size);
            }
        }
    }
    Ok(())
}
