//! Cameras, through V4L2.
//!
//! Pictures are taken as the camera gives them, where the coder knows that order in the driver's own memory; JPEGs are decoded here.

mod account;
mod colour;
mod device;
mod layout;
mod list;
mod modes;
mod problem;
mod stream;
mod taking;

use std::sync::Arc;
use std::time::Duration;

use net::clock;
use net::failure::Failure;
use picture::frame::{ColourSpace, FrameRate, FrameSize, Raster};

use self::account::Account;
use self::problem::CameraError;
use self::taking::{OpenCamera, Taken};
use super::health::{Health, Unusable};
use super::{FrameSource, SourceFrame, SourceInfo};

pub use self::list::{CameraDescription, cameras};
pub use self::modes::{Chosen, Offer, rate_text};

/// Pause before a camera that failed is opened again, at first: most faults are over at once.
const REOPEN_MIN: Duration = Duration::from_millis(10);
/// Likewise, after it has failed often.
const REOPEN_MAX: Duration = Duration::from_millis(500);
/// Longest wait for a picture before anything else is looked at.
const WAIT: Duration = Duration::from_millis(500);
/// Time without a picture after which a camera is started anew: some wake up then.
const STALL_MAX: Duration = Duration::from_secs(10);
const _: () = assert!(REOPEN_MIN.as_millis() < REOPEN_MAX.as_millis() && WAIT.as_millis() < STALL_MAX.as_millis());
/// Pictures that [`examine`] takes.
const EXAMINED: u32 = 10;

/// A camera that is open, or that is waited for.
pub(super) struct Camera {
    index: u32,
    open: Option<OpenCamera>,
    info: SourceInfo,
    health: Arc<Health>,
    account: Account,
    /// Size of pictures that was told because it is not the one agreed on.
    told_size: Option<FrameSize>,
}

impl Camera {
    /// Opens camera `index` without starting it, in the mode nearest to what is wanted. A size that was asked for
    /// must be there.
    pub(super) fn open(index: u32, size: Option<FrameSize>, rate: Option<FrameRate>) -> Result<Self, Failure> {
        let open = OpenCamera::open(index, size, rate).map_err(|error| list::failure(index, &error))?;
        tracing::info!("camera {index} {}", open.why());
        let info = SourceInfo {
            size: open.size(),
            frame_rate: open.rate(),
            colour: open.colour(),
            raster: Raster::default(),
            is_live: true,
            is_there: true,
        };
        Ok(Self::new(index, Some(open), info))
    }

    /// Waits for camera `index`, which is not there yet. Its pictures are then made `size`.
    pub(super) fn awaited(index: u32, size: FrameSize, frame_rate: FrameRate) -> Self {
        // Of all that cameras give.
        let colour = ColourSpace::BT601_LIMITED;
        Self::new(
            index,
            None,
            SourceInfo { size, frame_rate, colour, raster: Raster::default(), is_live: true, is_there: false },
        )
    }

    fn new(index: u32, open: Option<OpenCamera>, info: SourceInfo) -> Self {
        Self { index, open, info, health: Arc::default(), account: Account::new(index), told_size: None }
    }

    /// Takes what comes next, with the camera opened and started if it is not.
    fn take(&mut self, data: &mut Vec<u8>) -> Result<Taken, CameraError> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let (size, rate) = (Some(self.info.size), Some(self.info.frame_rate));
                let open = match OpenCamera::open(self.index, size, rate) {
                    // Better in a part of the picture than not at all.
                    Err(CameraError::Sizes(..) | CameraError::Other { .. }) => {
                        OpenCamera::open(self.index, None, rate)?
                    }
                    open => open?,
                };
                tracing::info!("camera {} {}", self.index, open.why());
                self.open.insert(open)
            }
        };
        open.take(WAIT, &self.info, data)
    }

    /// Says once that pictures have another size than the stream.
    fn tell_size(&mut self, size: FrameSize) {
        if size != self.info.size && self.told_size.replace(size) != Some(size) {
            let (index, wanted) = (self.index, self.info.size);
            tracing::warn!(
                "camera {index}: its pictures are {size} where they are to be {wanted}: they are cut, or black is put around"
            );
        }
    }
}

impl FrameSource for Camera {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        let (mut reported, mut pause) = (false, REOPEN_MIN);
        while !self.health.ends_within(Duration::ZERO) {
            let taken = self.take(&mut data);
            let now = clock::now();
            match taken {
                Ok(Taken::Picture(picture, size)) => {
                    self.health.set_lost(false);
                    self.account.on_good(now);
                    self.health.set_trouble(self.account.trouble());
                    self.tell_size(size);
                    return Ok(Some(picture));
                }
                Ok(Taken::Unusable(reason, text)) => {
                    if reason != Unusable::Failed {
                        self.health.set_lost(false);
                    }
                    self.health.count(reason);
                    self.account.on_unusable(reason, &text, now);
                    self.health.set_trouble(self.account.trouble());
                }
                Ok(Taken::Nothing(since)) if since > STALL_MAX => {
                    tracing::debug!("camera {}: it is started anew", self.index);
                    self.open = None;
                }
                Ok(Taken::Nothing(_)) => {}
                Err(error) => {
                    self.health.set_lost(true);
                    self.health.set_trouble(None);
                    if !std::mem::replace(&mut reported, true) {
                        tracing::warn!("camera {}: {error}; opening it again until it works", self.index);
                    }
                    self.open = None;
                    self.health.ends_within(pause);
                    pause = (2 * pause).min(REOPEN_MAX);
                }
            }
        }
        Ok(None)
    }

    fn rest(&mut self) {
        if let Some(open) = &mut self.open {
            open.rest();
        }
    }

    fn share(&mut self, health: Arc<Health>) {
        self.health = health;
    }

    fn skipped(&self) -> u64 {
        self.health.unusable().sum()
    }
}

/// Outcome of a look at a camera's pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The mode that was taken, in a sentence.
    pub why: String,
    /// Pictures that can be used.
    pub good: u32,
    /// Of each picture that cannot be used the reason.
    pub unusable: Vec<String>,
}

/// Takes ten pictures, or as many as come within `limit`, and makes them ready for the coder.
pub fn examine(
    index: u32,
    size: Option<FrameSize>,
    rate: Option<FrameRate>,
    limit: Duration,
) -> Result<Examined, Failure> {
    let mut camera = Camera::open(index, size, rate)?;
    let why = camera.open.as_ref().map(|open| open.why().to_owned()).unwrap_or_default();
    let mut examined = Examined { why, good: 0, unusable: Vec::new() };
    let (until, mut data) = (clock::now() + limit, Vec::new());
    while examined.good + (examined.unusable.len() as u32) < EXAMINED && clock::now() < until {
        match camera.take(&mut data) {
            Ok(Taken::Picture(..)) => examined.good += 1,
            Ok(Taken::Unusable(_, text)) => examined.unusable.push(text),
            Ok(Taken::Nothing(_)) => {}
            Err(error) => return Err(Failure::device(format!("camera {index}: {error}"))),
        }
    }
    Ok(examined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_waited_for_is_given_up() {
        let health = Arc::<Health>::default();
        let mut camera = Camera::awaited(9_999, FrameSize::USUAL, FrameRate::USUAL);
        camera.share(Arc::clone(&health));
        let thread = std::thread::spawn(move || camera.next(Vec::new()).map(|picture| picture.is_some()));
        while !health.is_lost() {
            std::thread::yield_now();
        }
        health.end();
        assert_eq!(thread.join().unwrap(), Ok(false));
    }
}
