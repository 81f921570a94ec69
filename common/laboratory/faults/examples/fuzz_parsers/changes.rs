//! Inputs that are changed at random.

/// Knuth's linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number from 0 to `below` - 1.
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) as usize) % below.max(1)
    }
}

/// Longest input that is made, bytes.
const INPUT_BYTES_MAX: usize = 1 << 14;

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, u64::MAX];

/// Words that texts from outside are made of.
const WORDS: [&str; 43] = [
    "16385x1",
    "16384x16384",
    "0x0",
    "1280x720",
    "99999999999999999999",
    "-1",
    "0",
    "1e309",
    "NaN",
    ":loop",
    ":fps=0",
    ":size=",
    ":index=",
    "camera",
    "pattern",
    "y4m:-",
    "mjpeg:",
    "window:fullscreen",
    "[video]\n",
    "[network]\n",
    "[[peer]]\n",
    "public_key = ",
    "rate = \"1T\"\n",
    "size = \"16385x16385\"\n",
    "[codec]\nlevels = ",
    "[expert]\n",
    "[receiver.stats]\n",
    "[sender]\n",
    "\"",
    "=",
    "\n",
    "[",
    "]",
    "\\u0000",
    "\u{0}",
    "\u{feff}",
    "é",
    "GET /metrics HTTP/1.1",
    "\r\n\r\n",
    "Host: ",
    "AAAA",
    "/",
    "#",
];

/// Returns one of `inputs` with one to a few changes, which are those of texts if `is_text`.
pub(crate) fn changed(inputs: &[Vec<u8>], is_text: bool, random: &mut Random) -> Vec<u8> {
    let pick = |random: &mut Random| inputs.get(random.next(inputs.len())).cloned().unwrap_or_default();
    let mut input = pick(random);
    for _ in 0..=random.next(4) {
        let at = random.next(input.len() + 1);
        match random.next(if is_text { 10 } else { 9 }) {
            0 | 1 if at < input.len() => input[at] ^= 1 << random.next(8),
            2 if at < input.len() => input[at] = random.next(256) as u8,
            3 => input.truncate(at),
            4 => {
                let more: Vec<_> = (0..random.next(9)).map(|_| random.next(256) as u8).collect();
                input.splice(at..at, more);
            }
            5 => {
                let end = (at + random.next(16)).min(input.len());
                input.drain(at..end);
            }
            6 => {
                let end = (at + random.next(200)).min(input.len());
                let copy = input[at..end].to_vec();
                let to = random.next(input.len() + 1);
                input.splice(to..to, copy);
            }
            7 => {
                let number = NUMBERS[random.next(NUMBERS.len())].to_le_bytes();
                let end = (at + (1 << random.next(4))).min(input.len());
                let len = end - at;
                input[at..end].copy_from_slice(&number[..len]);
            }
            8 => {
                let other = pick(random);
                input.truncate(at);
                input.extend_from_slice(&other[random.next(other.len() + 1)..]);
            }
            9 => {
                let word = WORDS[random.next(WORDS.len())].bytes();
                let end = (at + random.next(8)).min(input.len());
                input.splice(at..end, word);
            }
            _ => {}
        }
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}
