//! The seam between a window and a toolkit that lays its pages over the picture.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use winit::event::WindowEvent;
use winit::event_loop::ActiveEventLoop;
use winit::window::Window;

/// A wish that a person has told by a button on the picture: what the key of the same meaning does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Press {
    /// Full screen, or no longer.
    Fullscreen,
    /// A second window with the picture, or no longer.
    Second,
    /// Left and right of the picture swapped, or no longer.
    Mirror,
    /// The picture saved as a PNG file.
    Save,
    /// The picture that is sent shown in a corner, or no longer.
    Own,
    /// Effects on the picture that is sent off and on.
    Effects,
    /// Missing parts of pictures waited for longer.
    Wait,
    /// A higher highest rate.
    Faster,
    /// A lower one.
    Slower,
    /// The microphone off and on.
    Mute,
    /// The other side louder.
    Louder,
    /// The other side softer.
    Softer,
    /// A click that both hear, on and off.
    Click,
    /// The end of the call.
    HangUp,
}

/// The texts that a call has for its window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The line about the stream.
    pub line: String,
    /// Figures: where the time goes.
    pub details: Vec<String>,
    /// Sentence while no picture comes.
    pub notice: Option<String>,
    /// Sentence about something that this machine lacks.
    pub alert: Option<String>,
    /// Sentence that stays for a moment.
    pub message: Option<String>,
    /// True while nobody hears this side; none: there is no sound.
    pub is_muted: Option<bool>,
    /// True if pictures go out as well.
    pub sends: bool,
    /// True while the own picture is shown.
    pub own_shown: bool,
    /// True while the window covers the screen.
    pub is_fullscreen: bool,
    /// True while a second window has the picture, too.
    pub has_second: bool,
}

/// Pixels over a picture: red, green and blue, each multiplied by how much it covers, and that, of 255.
#[derive(Debug, Default)]
pub struct Layer {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The first row on which something is; `height`: nothing is.
    pub top: usize,
    /// The pixels, row by row.
    pub pixels: Vec<[u8; 4]>,
}

impl Layer {
    /// Makes it `width` x `height` pixels of `ground`.
    pub fn begin(&mut self, width: usize, height: usize, ground: [u8; 4]) {
        (self.width, self.height) = (width, height);
        self.pixels.clear();
        self.pixels.resize(width * height, ground);
        self.top = if ground == [0; 4] { height } else { 0 };
    }

    /// Lays it over `frame` of rows of `width` pixels, 0x00RRGGBB, of which those from [`Layer::top`] on are there. While a window
    /// changes its size, what is here is of the size before, and as much of it is laid as there is room for.
    pub(super) fn lay_over(&self, frame: &mut [u32], width: usize) {
        let rows = frame.chunks_exact_mut(width.max(1)).zip(self.pixels.chunks_exact(self.width.max(1)));
        for (under, over) in rows.skip(self.top) {
            for (under, &[red, green, blue, covers]) in under.iter_mut().zip(over) {
                let rest = 255 - u32::from(covers);
                if rest == 255 {
                    continue;
                }
                let [_, red_under, green_under, blue_under] = under.to_be_bytes();
                let mix =
                    |over: u8, under: u8| (u32::from(over) + (u32::from(under) * rest + 127) / 255).min(255) as u8;
                *under = u32::from_be_bytes([0, mix(red, red_under), mix(green, green_under), mix(blue, blue_under)]);
            }
        }
    }
}

/// Pages over the picture, drawn by a toolkit. It lives on the thread of the window.
pub trait Face {
    /// Takes the window, before it is seen.
    fn attach(&mut self, event_loop: &ActiveEventLoop, window: &Window);

    /// Takes an event of the window; true if it was meant for the face alone.
    fn on_event(&mut self, window: &Window, event: &WindowEvent) -> bool;

    /// Makes its pages anew if they should be; true if they are others now. `said`: the texts of the call, in one.
    fn renew(&mut self, window: &Window, said: Option<&Said>) -> bool;

    /// Returns the buttons pressed since.
    fn pressed(&mut self) -> Vec<Press>;

    /// Returns where it draws its pages.
    fn layer(&self) -> Arc<Mutex<Layer>>;
}

/// A face that the window's parts share.
#[derive(Clone)]
pub struct SharedFace(pub Rc<RefCell<dyn Face>>);

impl fmt::Debug for SharedFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedFace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_lies_over_the_picture_by_how_much_it_covers() {
        let mut layer = Layer::default();
        layer.begin(2, 2, [0; 4]);
        assert_eq!(layer.top, 2);
        layer.pixels[2] = [100, 0, 0, 128];
        layer.pixels[3] = [255; 4];
        layer.top = 1;
        let mut frame = [0x0080_8080; 4];
        layer.lay_over(&mut frame, 2);
        assert_eq!(frame, [0x0080_8080, 0x0080_8080, 0x00a4_4040, 0x00ff_ffff]);
        // A window of another size.
        let mut wide = [0x0080_8080; 9];
        layer.lay_over(&mut wide, 3);
        assert_eq!(wide[3..6], [0x00a4_4040, 0x00ff_ffff, 0x0080_8080]);
    }
}
