//! Pictures for whoever shows them elsewhere, beside their own way: the newest wins, and nobody waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::Thread;

use common::units::Timestamp;
use net::lock::lock;
use picture::frame::{ColourSpace, FrameSize, PixelFormat};

/// A copy of a picture.
#[derive(Clone, Debug)]
pub struct TappedPicture {
    /// Order of its samples.
    pub format: PixelFormat,
    /// Width and height.
    pub size: FrameSize,
    /// The meaning of its samples.
    pub colour: ColourSpace,
    /// Time at which it was to be seen.
    pub at: Timestamp,
    /// Its samples, of 8 bits.
    pub data: Vec<u8>,
}

/// A place at which pictures go by; clones are of the same place. It costs nothing until somebody listens.
#[derive(Clone, Debug, Default)]
pub struct PictureTap(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_wanted: AtomicBool,
    held: Mutex<Held>,
    listener: Mutex<Option<Thread>>,
}

#[derive(Debug, Default)]
struct Held {
    picture: Option<TappedPicture>,
    /// Memory of the one before.
    spare: Vec<u8>,
}

impl PictureTap {
    /// Copies a picture if one is wanted, in the place of one that nobody has taken. It never waits.
    pub fn offer(&self, format: PixelFormat, size: FrameSize, colour: ColourSpace, data: &[u8], at: Timestamp) {
        if !self.0.is_wanted.load(Ordering::Relaxed) {
            return;
        }
        let mut held = match self.0.held.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The one before is being taken.
            Err(TryLockError::WouldBlock) => return,
        };
        let before = held.picture.take().map(|picture| picture.data);
        let mut room = before.unwrap_or_else(|| std::mem::take(&mut held.spare));
        room.clear();
        room.extend_from_slice(data);
        held.picture = Some(TappedPicture { format, size, colour, at, data: room });
        drop(held);
        if let Ok(listener) = self.0.listener.try_lock() {
            listener.iter().for_each(Thread::unpark);
        }
    }

    /// Asks for pictures from now on, and wakes this thread for each; or for none.
    pub fn listen(&self, on: bool) {
        *lock(&self.0.listener) = on.then(std::thread::current);
        self.0.is_wanted.store(on, Ordering::Relaxed);
    }

    /// Takes the newest picture, if there is one since the last call; `used`: the memory of one that is not needed any more.
    pub fn take(&self, used: Option<TappedPicture>) -> Option<TappedPicture> {
        let mut held = lock(&self.0.held);
        if let Some(used) = used {
            held.spare = used.data;
        }
        held.picture.take()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_newest_picture_wins_and_none_is_copied_unasked() {
        let tap = PictureTap::default();
        let size = FrameSize::new(2, 1).unwrap();
        let offer = |tap: &PictureTap, grey: u8| {
            let at = Timestamp::from_us(grey.into());
            tap.offer(PixelFormat::Grey8, size, ColourSpace::JPEG, &[grey; 2], at);
        };
        offer(&tap, 1);
        assert!(tap.take(None).is_none());
        tap.listen(true);
        offer(&tap, 2);
        offer(&tap, 3);
        let taken = tap.take(None).unwrap();
        assert_eq!((taken.data.as_slice(), taken.at.as_us()), (&[3, 3][..], 3));
        assert!(tap.take(Some(taken)).is_none());
        // The one who takes holds it: the picture's own way goes on.
        let held = tap.0.held.lock().unwrap();
        offer(&tap, 4);
        drop(held);
        assert!(tap.take(None).is_none());
        tap.listen(false);
        offer(&tap, 5);
        assert!(tap.take(None).is_none());
    }
}
