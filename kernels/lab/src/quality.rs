//! Coding to a quality: the fewest bytes found whose decoded luma has a PSNR at or just above a target.
//!
//! The search codes and decodes: first with whole steps, doubling its stride from the last picture's and then halving
//! it, until two neighbours enclose the target; then with byte budgets between those two. Eight steps an octave lie 0.4
//! to 0.75 dB apart, and a frame has as many sizes between them as it has blocks.

use kernels::OpenError;
use kernels::parts::reference::Sample;
use kernels::parts::reference::colour;
use kernels::{
    BackendChoice, BackendInfo, CodecError, DecodeError, Decoder, EncodeError, Encoder, Picture, PictureRef, Target,
};
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::Chroma;
use picture::params::StreamParams;
use picture::psnr::psnr_db;
use picture::run::coded_size;

/// Excess over the target up to which a result is accepted, decibels: smaller sizes are then tried no more.
pub const TOLERANCE_DB: f64 = 0.1;
/// Sizes tried between two steps: enough to tell 1/256 of their difference.
const SIZES: usize = 8;
/// First step of the first picture's search: 8.
const FIRST_GUESS: StepIndex = StepIndex::ONE.coarser_by(24);

/// Targets that make sense lie above 0 and below this: a single sample of the largest picture off by one gives 132 dB,
/// but no step does.
pub const MAX_DB: f64 = 100.0;

/// Errors of coding a picture to a quality.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum QualityError {
    /// A quality that is no number of decibels that a picture can have.
    #[error("a luma PSNR of {asked_db} dB is not possible: ask for more than 0 and less than {max} dB", max = MAX_DB)]
    Impossible { asked_db: f64 },
    /// A quality that not even the finest step reaches.
    #[error(
        "a luma PSNR of {asked_db} dB is out of reach: the finest step gives this picture {best_db:.2} dB; only a lossless stream is better"
    )]
    OutOfReach { asked_db: f64, best_db: f64 },
    /// The picture cannot be coded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Its code cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl CodecError for QualityError {
    fn is_of_device(&self) -> bool {
        match self {
            Self::Impossible { .. } | Self::OutOfReach { .. } => false,
            Self::Encode(error) => error.is_of_device(),
            Self::Decode(error) => error.is_of_device(),
        }
    }
}

/// A picture coded to a quality.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The code.
    pub frame: CodedFrame,
    /// PSNR of its luma when decoded, decibels; infinite if it is exact.
    pub psnr_db: f64,
}

/// Codes the pictures of a stream to a quality.
pub struct QualityEncoder {
    encoder: Encoder,
    decoder: Decoder,
    decoded: Picture,
    guess: StepIndex,
}

impl QualityEncoder {
    /// Opens an encoder and a decoder of the back end that [`Encoder::open`] takes for these arguments.
    pub fn open(params: &StreamParams, choice: BackendChoice, device: Option<&str>) -> Result<Self, OpenError> {
        Ok(Self {
            encoder: Encoder::open(params, (choice, device))?,
            decoder: Decoder::open(params, (choice, device))?,
            decoded: Picture::decoded_from(params),
            guess: FIRST_GUESS,
        })
    }

    /// Codes a picture so that its luma is at least `target_db` from the source's by PSNR, and no more than
    /// [`TOLERANCE_DB`] above where the picture has blocks enough.
    ///
    /// [`QualityError::Impossible`] unless the target is above 0 and below [`MAX_DB`]; [`QualityError::OutOfReach`] if
    /// the finest step misses it. What the coarsest step reaches may be far above.
    pub fn encode(&mut self, picture: PictureRef<'_>, target_db: f64) -> Result<Reached, QualityError> {
        if !(target_db > 0.0 && target_db < MAX_DB) {
            return Err(QualityError::Impossible { asked_db: target_db });
        }
        let luma = colour::planes(picture, Chroma::Grey).concat();
        let luma: Vec<u8> = luma.into_iter().map(f32::to_byte).collect();
        let guess = self.guess;
        let mut code = |target| self.code(picture, &luma, target);
        let (step, mut best, below) = search_steps(guess, target_db, |step| code(Target::Step(step)))?;
        let mut sizes = below.map_or(0, |below| coded_size(&below.frame))..coded_size(&best.frame);
        for _ in 0..SIZES {
            // Without a coarser step, or near enough.
            if sizes.start == 0 || best.psnr_db <= target_db + TOLERANCE_DB || sizes.len() < 2 {
                break;
            }
            let middle = sizes.start + sizes.len() / 2;
            let tried = code(Target::Bytes(middle))?;
            if tried.psnr_db >= target_db {
                (best, sizes.end) = (tried, middle);
            } else {
                sizes.start = middle;
            }
        }
        self.guess = step;
        Ok(best)
    }

    /// Returns the back end that computes.
    pub fn backend(&self) -> &BackendInfo {
        self.encoder.backend()
    }

    fn code(&mut self, picture: PictureRef<'_>, luma: &[u8], target: Target) -> Result<Reached, QualityError> {
        let frame = self.encoder.encode(picture, target, None)?;
        self.decoder.decode(&ReceivedFrame::from(&frame), None, &mut self.decoded)?;
        Ok(Reached { frame, psnr_db: psnr_db(luma, self.decoded.data()) })
    }
}

/// Searches the coarsest step that reaches the target; returns it with what it gives, and what the next coarser one
/// gives, which does not; `None` beyond the coarsest.
fn search_steps(
    guess: StepIndex,
    target_db: f64,
    mut code: impl FnMut(StepIndex) -> Result<Reached, QualityError>,
) -> Result<(StepIndex, Reached, Option<Reached>), QualityError> {
    let (mut good, mut bad) = (None, None);
    let (mut step, mut stride) = (guess, 1);
    loop {
        let tried = code(step)?;
        if tried.psnr_db >= target_db {
            good = Some((step, tried));
        } else {
            bad = Some((step, tried));
        }
        step = match (&good, &bad) {
            (Some((fine, _)), Some((coarse, _))) if coarse.index() - fine.index() > 1 => {
                fine.coarser_by((coarse.index() - fine.index()) / 2)
            }
            (Some((fine, _)), None) if *fine < StepIndex::MAX => fine.coarser_by(stride),
            (None, Some((coarse, reached))) => {
                if *coarse == StepIndex::MIN {
                    return Err(QualityError::OutOfReach { asked_db: target_db, best_db: reached.psnr_db });
                }
                StepIndex::new(coarse.index().saturating_sub(stride)).unwrap_or(StepIndex::MIN)
            }
            _ => break,
        };
        stride = stride.saturating_mul(2);
    }
    let (step, best) = good.ok_or(QualityError::Impossible { asked_db: target_db })?;
    Ok((step, best, bad.map(|(_, reached)| reached)))
}

#[cfg(test)]
mod tests {
    use picture::coded::FrameHeader;

    use super::*;

    /// Returns a picture of 70 dB at the finest step, half a decibel less at each coarser one.
    fn quality_of(step: StepIndex) -> Reached {
        let header = FrameHeader { step, fine_blocks: 0 };
        Reached { frame: CodedFrame::from_blocks(header, &[]), psnr_db: 70.0 - 0.5 * f64::from(step.index()) }
    }

    #[test]
    fn the_search_ends_between_two_steps_from_wherever_it_starts() {
        for start in [0, 1, 56, 207, 208] {
            for target in [69.9, 60.2, 30.0, 1.7, -40.0] {
                let mut tries = 0;
                let (step, best, below) = search_steps(StepIndex::new(start).unwrap(), target, |step| {
                    tries += 1;
                    Ok(quality_of(step))
                })
                .unwrap();
                assert_eq!((step, best.psnr_db >= target), (best.frame.header.step, true));
                match below {
                    Some(below) => assert!(below == quality_of(step.coarser()) && below.psnr_db < target),
                    None => assert_eq!(step, StepIndex::MAX),
                }
                assert!(tries <= 18, "{tries} from {start} to {target}");
            }
        }
    }

    #[test]
    fn the_best_possible_is_named() {
        let error = search_steps(FIRST_GUESS, 71.0, |step| Ok(quality_of(step))).unwrap_err();
        assert_eq!(error, QualityError::OutOfReach { asked_db: 71.0, best_db: 70.0 });
        assert!(error.to_string().contains("70.00 dB"), "{error}");
    }
}
