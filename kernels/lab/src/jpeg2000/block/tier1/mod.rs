//! The block coder: bit planes of a block of coefficients in three passes each (ISO/IEC 15444-1, annex D).

mod contexts;
mod decode;
mod encode;
mod passes;

pub(crate) use self::decode::{Segment, decode};
pub(crate) use self::encode::{CodedBlock, FRACTION_BITS, encode};

/// A negative coefficient.
const NEGATIVE: u32 = 1 << 31;

/// Places of the options in the byte of the header that names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style(pub(crate) u8);

impl Style {
    /// Blocks of Part 15, and nothing else.
    pub(crate) const HIGH_THROUGHPUT: Self = Self(64);

    /// Two of three passes without arithmetic coding in the lower planes.
    pub(crate) const fn bypasses(self) -> bool {
        self.0 & 1 != 0
    }

    /// Contexts begin anew in each pass.
    pub(crate) const fn resets(self) -> bool {
        self.0 & 2 != 0
    }

    /// Each pass is a segment.
    pub(crate) const fn terminates(self) -> bool {
        self.0 & 4 != 0
    }

    /// No context looks at the stripe below.
    pub(crate) const fn is_causal(self) -> bool {
        self.0 & 8 != 0
    }

    /// Four decisions end each cleanup.
    pub(crate) const fn marks_segments(self) -> bool {
        self.0 & 32 != 0
    }

    /// Blocks are coded as Part 15 says.
    pub(crate) const fn is_high_throughput(self) -> bool {
        self.0 & 64 != 0
    }

    /// Some blocks are coded as Part 15 says, others as Part 1 does.
    pub(crate) const fn is_mixed(self) -> bool {
        self.0 & 128 != 0
    }

    /// Returns how many passes from the one of this index on are in its segment.
    pub(crate) const fn passes_left(self, pass: usize) -> usize {
        if self.is_high_throughput() {
            return match pass {
                0 => 1,
                1 | 2 => 3 - pass,
                _ => 0,
            };
        }
        match (self.terminates(), self.bypasses()) {
            (true, _) => 1,
            (false, false) => usize::MAX,
            (false, true) if pass < FIRST_BYPASS => FIRST_BYPASS - pass,
            (false, true) if (pass - FIRST_BYPASS).is_multiple_of(3) => 2,
            (false, true) => 1,
        }
    }

    /// Returns true if the pass is one without arithmetic coding.
    const fn is_raw(self, pass: usize) -> bool {
        self.bypasses() && pass >= FIRST_BYPASS && !pass.is_multiple_of(3)
    }
}

/// The first pass that may be without arithmetic coding.
const FIRST_BYPASS: usize = 10;
