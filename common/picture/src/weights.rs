//! Steps of the subbands: some are quantised more coarsely than others.

/// Kind of a subband.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Orientation {
    /// Low pass both ways.
    LL,
    /// Horizontal detail.
    HL,
    /// Vertical detail.
    LH,
    /// Diagonal detail.
    HH,
}

/// Weights of the subbands, as [`Self::coarser`] has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weights {
    /// One step for all luma: its least squared error for the bits. The finest three octaves of colour differences are
    /// an eighth of an octave coarser.
    Psnr,
    /// Steps in inverse proportion to the eye's contrast sensitivity: the least visible error for the bits.
    Visual,
}

/// Samples of a degree of the field of view: 1080 lines seen from 3.2 times their height, one sample per arc minute.
#[cfg(test)]
const SAMPLES_PER_DEGREE: f64 = 60.0;
/// Ratio of the finest gratings seen in luminance and colour, 34 and 11 cycles per degree (Mullen 1985, "The contrast
/// sensitivity of human colour vision to red-green and blue-yellow chromatic gratings", J. Physiol. 359).
#[cfg(test)]
const COLOUR_FREQUENCY: f64 = 34.0 / 11.0;
/// The coarsest weight: 16 times the step.
#[cfg(test)]
const COARSEST: u8 = 32;

/// Steps of HL and LH, and of HH, for each octave of luma below the picture's own resolution.
const LUMA: [[u8; 2]; 2] = [[10, 21], [1, 4]];
/// Steps likewise of colour differences.
const COLOUR: [[u8; 2]; 4] = [[32, 32], [25, 32], [5, 13], [0, 1]];

impl Weights {
    /// Returns the excess of a band's step index (eighths of an octave) over the frame's.
    ///
    /// `octave` is its decomposition level counted from the picture's resolution: 1 for the finest of a plane of full
    /// size, 2 for the finest of one of half size. `colour` is true for colour differences.
    ///
    /// The visual weights are the contrast sensitivity `(0.0192 + 0.114 f) exp(-(0.114 f)^1.1)` of Mannos and Sakrison
    /// (1974, "The effects of a visual fidelity criterion on the encoding of images", IEEE Trans. Inf. Theory 20) over
    /// its maximum, and 1 below the frequency of that, where f in cycles per degree is the middle of the band at 60
    /// samples per degree, times sqrt(2) in HH, and 34/11 times for colour. At most 32.
    pub const fn coarser(self, octave: usize, orientation: Orientation, colour: bool) -> u8 {
        let table: &[[u8; 2]] = if colour { &COLOUR } else { &LUMA };
        match (self, orientation) {
            (_, Orientation::LL) => 0,
            (Self::Psnr, _) => (colour && octave <= 3) as u8,
            _ if octave == 0 || octave > table.len() => 0,
            (Self::Visual, Orientation::HL | Orientation::LH) => table[octave - 1][0],
            (Self::Visual, Orientation::HH) => table[octave - 1][1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensitivity(f: f64) -> f64 {
        (0.0192 + 0.114 * f) * (-(0.114 * f).powf(1.1)).exp()
    }

    #[test]
    fn visual_weights_follow_the_contrast_sensitivity() {
        let (mut peak, mut highest) = (0.0, 0.0);
        for f in (1..6000).map(|n| f64::from(n) / 100.0) {
            if sensitivity(f) > highest {
                (peak, highest) = (f, sensitivity(f));
            }
        }
        for octave in 1..=6_u8 {
            for (orientation, diagonal) in [(Orientation::HL, 1.0), (Orientation::HH, std::f64::consts::SQRT_2)] {
                for (colour, finer) in [(false, 1.0), (true, COLOUR_FREQUENCY)] {
                    let nyquist = SAMPLES_PER_DEGREE / 2.0 / f64::from(1_u32 << (octave - 1));
                    let f = 0.75 * nyquist * diagonal * finer;
                    let loss = if f < peak { 0.0 } else { 8.0 * (highest / sensitivity(f)).log2() };
                    let wanted = loss.round().min(COARSEST.into()) as u8;
                    let found = Weights::Visual.coarser(octave.into(), orientation, colour);
                    assert_eq!(found, wanted, "octave {octave} {orientation:?} colour {colour}");
                    assert_eq!(
                        Weights::Psnr.coarser(octave.into(), orientation, colour),
                        u8::from(colour && octave <= 3)
                    );
                }
            }
        }
    }
}
