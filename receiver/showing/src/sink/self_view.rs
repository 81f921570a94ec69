//! The picture that this machine sends, in a corner of the window.

use std::sync::{Arc, Mutex};

use kernels::Scaler;
use net::lock::lock;
use shell::settings::{OwnPicture, OwnSide};

/// The window is so many times as wide.
const SHARE: usize = 4;
/// Pixels of the frame around it.
const BORDER: usize = 2;
const BORDER_COLOUR: u32 = 0x00e0_e0e0;

/// A corner of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corner {
    /// At the top, not at the bottom.
    pub is_top: bool,
    /// At the left, not at the right.
    pub is_left: bool,
}

/// The corner for the own picture, and whether it is shown; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct OwnPlace(Arc<Mutex<(Corner, bool)>>);

impl OwnPlace {
    /// Returns the corner, and true if the picture is shown.
    pub fn get(&self) -> (Corner, bool) {
        *lock(&self.0)
    }

    /// Sets both; a window that is open already goes on as it is.
    pub fn set(&self, corner: Corner, is_shown: bool) {
        *lock(&self.0) = (corner, is_shown);
    }
}

/// The picture that is sent, and if it is shown.
pub(super) struct SelfView {
    pub(super) side: OwnSide,
    is_shown: bool,
    corner: Corner,
    /// Left upper corner while it is dragged, and where in it the pointer has it.
    dragged: Option<((usize, usize), (f32, f32))>,
    remembered: OwnPlace,
    picture: OwnPicture,
    scaler: Scaler,
}

impl SelfView {
    /// As `remembered` has it, which learns of each change.
    pub(super) fn new(side: OwnSide, remembered: OwnPlace) -> Self {
        let (corner, is_shown) = remembered.get();
        side.watch(is_shown);
        let scaler = Scaler::new((1, 1), (1, 1));
        Self { side, is_shown, corner, dragged: None, remembered, picture: OwnPicture::default(), scaler }
    }

    /// Shows it, or no longer.
    pub(super) fn toggle(&mut self) {
        self.is_shown = !self.is_shown;
        self.side.watch(self.is_shown);
        self.picture = OwnPicture::default();
        self.remembered.set(self.corner, self.is_shown);
    }

    /// Takes hold of it if the pointer is on it, in a frame of `size`.
    pub(super) fn grab(&mut self, pointer: (f32, f32), size: (usize, usize)) {
        let Some((corner, own)) = self.place(size.0, size.1) else { return };
        let at = (pointer.0 - corner.0 as f32, pointer.1 - corner.1 as f32);
        let is_on = |at: f32, long: usize| (0.0..long as f32).contains(&at);
        if is_on(at.0, own.0) && is_on(at.1, own.1) {
            self.dragged = Some((corner, at));
        }
    }

    /// Lets it follow the pointer, if that holds it; true if it stands elsewhere now.
    pub(super) fn drag(&mut self, pointer: (f32, f32), size: (usize, usize)) -> bool {
        let (Some((before, at)), Some((_, own))) = (self.dragged, self.place(size.0, size.1)) else { return false };
        let along = |pointer: f32, at: f32, own: usize, whole: usize| {
            ((pointer - at).max(0.0) as usize).clamp(BORDER, (whole - BORDER).saturating_sub(own).max(BORDER))
        };
        let now = (along(pointer.0, at.0, own.0, size.0), along(pointer.1, at.1, own.1, size.1));
        self.dragged = Some((now, at));
        now != before
    }

    /// Lets go of it: it goes to the corner that is nearest. True if it was held.
    pub(super) fn release(&mut self, size: (usize, usize)) -> bool {
        let place = self.place(size.0, size.1);
        if self.dragged.take().is_none() {
            return false;
        }
        if let Some(((left, top), own)) = place {
            self.corner = Corner { is_top: 2 * top + own.1 < size.1, is_left: 2 * left + own.0 < size.0 };
            self.remembered.set(self.corner, self.is_shown);
        }
        true
    }

    /// Returns true while it is wanted.
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Takes the newest picture; true if there is one.
    pub(super) fn renew(&mut self) -> bool {
        let new = self.side.take();
        new.is_some_and(|picture| {
            self.picture = picture;
            true
        })
    }

    /// Returns the first row of a frame of `width` x `height` pixels that it takes: `height` if none.
    pub(super) fn top(&self, (width, height): (usize, usize)) -> usize {
        self.place(width, height).map_or(height, |((_, top), _)| top - BORDER)
    }

    /// Returns where it stands, at the bottom above the line there, and its size, where the window has room for it.
    fn place(&self, width: usize, height: usize) -> Option<((usize, usize), (usize, usize))> {
        let from = self.picture.size;
        if !self.is_shown || from.0 == 0 {
            return None;
        }
        let size = (width / SHARE, width / SHARE * from.1 / from.0);
        let margin = height / 12;
        let room = (size.0 + BORDER + margin, size.1 + BORDER + margin);
        if size.0 == 0 || size.1 == 0 || room.0 + BORDER > width || room.1 + BORDER > height {
            return None;
        }
        let Corner { is_top, is_left } = self.corner;
        let corner = (
            if is_left { margin + BORDER } else { width - room.0 },
            if is_top { margin + BORDER } else { height - room.1 },
        );
        let clamped = |(left, top): (usize, usize)| {
            (left.clamp(BORDER, width - BORDER - size.0), top.clamp(BORDER, height - BORDER - size.1))
        };
        Some((self.dragged.map_or(corner, |(at, _)| clamped(at)), size))
    }

    /// Draws it.
    pub(super) fn draw(&mut self, frame: &mut [u32], width: usize) {
        let from = self.picture.size;
        let Some(((left, top), size)) = self.place(width, frame.len() / width.max(1)) else { return };
        for row in frame[(top - BORDER) * width..][..(size.1 + 2 * BORDER) * width].chunks_exact_mut(width) {
            row[left - BORDER..left + size.0 + BORDER].fill(BORDER_COLOUR);
        }
        if self.scaler.sizes() != (from, size) {
            self.scaler = Scaler::new(from, size);
        }
        self.scaler.scale(&self.picture.pixels, frame, width, (left, top));
    }
}

#[cfg(test)]
mod tests {
    use common::units::{Bitrate, Timestamp};
    use picture::effects::Effects;
    use picture::frame::{ColourSpace, FrameSize, PixelFormat};

    use super::*;

    #[test]
    fn it_stands_in_the_corner_while_it_is_wanted_and_has_room() {
        let rate = Bitrate::from_bps(1_000_000);
        let mut view = SelfView::new(OwnSide::new(rate, rate, Effects::default()), OwnPlace::default());
        let side = view.side.clone();
        let size = FrameSize::new(32, 18).unwrap();
        let show = || {
            side.on_picture(PixelFormat::Rgb8, size, ColourSpace::JPEG, &[200, 0, 0].repeat(32 * 18), net::clock::now())
        };
        let drawn = |view: &mut SelfView, width: usize, height: usize| {
            let mut frame = vec![0; width * height];
            view.draw(&mut frame, width);
            let first = frame.iter().position(|&pixel| pixel != 0).map_or(height, |at| at / width);
            assert_eq!(view.top((width, height)), first);
            frame.iter().filter(|&&pixel| pixel == 0x00c8_0000).count()
        };
        show();
        assert!(!view.renew() && drawn(&mut view, 640, 360) == 0);
        view.toggle();
        show();
        assert!(view.renew() && !view.renew());
        assert_eq!(drawn(&mut view, 640, 360), 160 * 90);
        for (width, height) in [(1, 1), (3, 200), (64, 10), (5, 5)] {
            let _ = drawn(&mut view, width, height);
        }
        view.toggle();
        assert_eq!(drawn(&mut view, 640, 360), 0);
    }

    #[test]
    fn it_is_dragged_to_any_corner_and_stands_there_the_next_time() {
        let rate = Bitrate::from_bps(1_000_000);
        let side = || OwnSide::new(rate, rate, Effects::default());
        let place = OwnPlace::default();
        let mut view = SelfView::new(side(), place.clone());
        let frame = (640, 360);
        view.toggle();
        let own = |view: &mut SelfView| {
            let size = FrameSize::new(32, 18).unwrap();
            view.side.on_picture(
                PixelFormat::Rgb8,
                size,
                ColourSpace::JPEG,
                &[200, 0, 0].repeat(32 * 18),
                Timestamp::from_us(0),
            );
            view.renew();
            view.place(frame.0, frame.1).unwrap()
        };
        assert_eq!(own(&mut view), ((448, 238), (160, 90)));
        // Beside it there is nothing to hold.
        view.grab((100.0, 100.0), frame);
        assert!(!view.drag((200.0, 100.0), frame) && !view.release(frame));
        for (to, corner, wanted) in [
            ((40.0, 300.0), Corner { is_top: false, is_left: true }, (32, 238)),
            ((30.0, 20.0), Corner { is_top: true, is_left: true }, (32, 32)),
            ((5000.0, -70.0), Corner { is_top: true, is_left: false }, (448, 32)),
            ((639.0, 359.0), Corner { is_top: false, is_left: false }, (448, 238)),
        ] {
            let ((left, top), _) = own(&mut view);
            view.grab((left as f32 + 10.0, top as f32 + 10.0), frame);
            assert!(view.drag(to, frame) && !view.drag(to, frame), "{to:?}");
            let ((x, y), (width, height)) = own(&mut view);
            assert!(x + width < frame.0 && y + height < frame.1, "{to:?}: it stays in the window, at {x}, {y}");
            let mut pixels = vec![0; frame.0 * frame.1];
            view.draw(&mut pixels, frame.0);
            assert!(view.release(frame));
            assert_eq!((own(&mut view).0, place.get()), (wanted, (corner, true)));
            assert_eq!(own(&mut SelfView::new(side(), place.clone())).0, wanted, "in the next call");
        }
    }
}
