//! The picture that this machine sends, in a corner of the window.

use kernels::Scaler;

use shell::settings::{OwnPicture, OwnSide};

/// The window is so many times as wide.
const SHARE: usize = 4;
/// Pixels of the frame around it.
const BORDER: usize = 2;
const BORDER_COLOUR: u32 = 0x00e0_e0e0;

/// The picture that is sent, and if it is shown.
pub(super) struct SelfView {
    pub(super) side: OwnSide,
    is_shown: bool,
    picture: OwnPicture,
    scaler: Scaler,
}

impl SelfView {
    /// Not shown yet.
    pub(super) fn new(side: OwnSide) -> Self {
        Self { side, is_shown: false, picture: OwnPicture::default(), scaler: Scaler::new((1, 1), (1, 1)) }
    }

    /// Shows it, or no longer.
    pub(super) fn toggle(&mut self) {
        self.is_shown = !self.is_shown;
        self.side.watch(self.is_shown);
        self.picture = OwnPicture::default();
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

    /// Returns where it stands, at the right above the line at the bottom, and its size, where the window has room for it.
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
        Some(((width - room.0, height - room.1), size))
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
    use common::units::Bitrate;
    use picture::effects::Effects;
    use picture::frame::{ColourSpace, FrameSize, PixelFormat};

    use super::*;

    #[test]
    fn it_stands_in_the_corner_while_it_is_wanted_and_has_room() {
        let rate = Bitrate::from_bps(1_000_000);
        let mut view = SelfView::new(OwnSide::new(rate, rate, Effects::default()));
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
}
