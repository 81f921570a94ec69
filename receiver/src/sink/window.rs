//! A window on an X11 display.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use common::units::{FrameId, Timestamp};
use kernels::{Converter, Picture, Scaler};
use minifb::{Key, KeyRepeat, MouseMode, ScaleMode, WindowOptions};
use picture::effects::Effects;
use picture::params::StreamParams;
use shell::clock;

use super::awake::Awake;
use super::keys::{Escape, Pointer};
use super::overlay::Overlay;
use super::self_view::SelfView;
use super::text::Canvas;
use super::x11::{self, Display, Surface};
use super::{Sink, SinkError, Wish, display_loss, snapshot};
use crate::own::OwnSide;
use crate::report::Status;

/// Size until the stream's is known, pixels.
const WAITING_SIZE: (usize, usize) = (1280, 720);
/// How often an unchanged picture is drawn again, in case something covered it.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Parts in which a frame goes to the X server.
const PARTS: usize = 8;

/// A resizable window that keeps the picture's shape.
pub struct Window {
    window: minifb::Window,
    display: Display,
    /// Full screen, and its place and size before.
    fullscreen: bool,
    place: ((isize, isize), (usize, usize)),
    converter: Option<Converter>,
    /// The picture as it came, or its mirror image.
    picture: Vec<u32>,
    size: (usize, usize),
    mirrored: bool,
    scaler: Scaler,
    /// Contents of the window: shared with the X server or, where it cannot share, to be sent to it; and its size.
    surface: Option<Surface>,
    shares: bool,
    frame: Vec<u32>,
    frame_size: (usize, usize),
    overlay: Overlay,
    /// True if the frame differs from what should be in the window.
    is_stale: bool,
    drawn: Timestamp,
    escape: Escape,
    pointer: Pointer,
    awake: Awake,
    ends: bool,
    saved: (Sender<String>, Receiver<String>),
    /// The picture that this machine sends, in a corner.
    own: Option<SelfView>,
}

impl Window {
    /// Opens the window. `status_line`: whether it has a line about the stream from the start.
    pub fn open(fullscreen: bool, status_line: bool, own: Option<OwnSide>) -> Result<Self, SinkError> {
        // minifb needs libX11 and a display; asking for the display first gives the better sentence.
        let display = Display::connect().map_err(|e| SinkError::NoDisplay(e.to_string()))?;
        let size = fit(WAITING_SIZE, display.size());
        let options = WindowOptions {
            resize: true,
            borderless: fullscreen,
            // The frame always has the window's size.
            scale_mode: ScaleMode::UpperLeft,
            ..WindowOptions::default()
        };
        let window =
            minifb::Window::new("Duet", size.0, size.1, options).map_err(|e| SinkError::NoDisplay(e.to_string()))?;
        display_loss::survive(&window);
        let mut opened = Self {
            place: (window.get_position(), size),
            window,
            display,
            fullscreen: false,
            converter: None,
            picture: vec![0; size.0 * size.1],
            size,
            mirrored: false,
            scaler: Scaler::new(size, size),
            surface: None,
            shares: true,
            frame: Vec::new(),
            frame_size: (0, 0),
            overlay: Overlay::new(status_line),
            is_stale: true,
            drawn: clock::now(),
            escape: Escape::default(),
            pointer: Pointer::default(),
            awake: Awake::default(),
            ends: false,
            saved: channel(),
            own: own.map(SelfView::new),
        };
        opened.overlay.sends = opened.own.is_some();
        if fullscreen {
            opened.toggle_fullscreen()?;
        }
        opened.draw()?;
        Ok(opened)
    }

    /// Returns the window's number on the X server.
    fn id(&self) -> u32 {
        // minifb hands the XID out as a pointer.
        self.window.get_window_handle() as usize as u32
    }

    fn toggle_fullscreen(&mut self) -> Result<(), SinkError> {
        self.fullscreen = !self.fullscreen;
        let done = if self.fullscreen {
            self.place = (self.window.get_position(), self.window.get_size());
            self.display.fullscreen(self.id())
        } else {
            self.display.leave_fullscreen(self.id(), self.place)
        };
        done.map_err(failed)
    }

    /// Makes the frame: the picture at the window's size, bars around it, texts on it. Where its pixels are shared, those that have
    /// no text go to the X server while others are made.
    fn compose(&mut self) -> Result<(), SinkError> {
        let (width, height) = self.window.get_size();
        if self.frame_size != (width, height) {
            self.make_room((width, height))?;
        }
        let inner = enlarged(self.size, self.frame_size);
        if self.scaler.sizes() != (self.size, inner) {
            self.scaler = Scaler::new(self.size, inner);
        }
        let (left, top) = ((width - inner.0) / 2, (height - inner.1) / 2);
        // The own picture may lie anywhere.
        let written = if self.own.is_some() { 0..height } else { self.overlay.rows(height) };
        let Self { scaler, picture, frame, display, surface, .. } = self;
        let put = |pixels: &[u32], first: usize| match &*surface {
            Some(surface) => display.put(surface, pixels, first).map_err(failed),
            None => Ok(()),
        };
        let mut scale = |rows: &mut [u32], first: usize| {
            let last = first + rows.len() / width.max(1);
            let (begin, end) = ((top.clamp(first, last)), (top + inner.1).clamp(first, last));
            rows[..(begin - first) * width].fill(0);
            rows[(end - first) * width..].fill(0);
            let rows = &mut rows[(begin - first) * width..(end - first) * width];
            if inner.0 < width {
                for row in rows.chunks_exact_mut(width) {
                    row[..left].fill(0);
                    row[left + inner.0..].fill(0);
                }
            }
            if begin < end {
                scaler.scale_rows(picture, rows, width, left, begin - top);
            }
        };
        let (mut made, mut unput): (Option<(&[u32], usize)>, _) = (None, None);
        let part_rows = height.div_ceil(PARTS).max(1);
        for (number, part) in frame.chunks_mut((part_rows * width).max(1)).enumerate() {
            let first = number * part_rows;
            let before = made.take();
            let (done, ()) =
                rayon::join(|| before.map_or(Ok(()), |(pixels, first)| put(pixels, first)), || scale(part, first));
            done?;
            let is_free = first + part_rows <= written.start || first >= written.end;
            match is_free && unput.is_none() {
                true => made = Some((part, first)),
                false => unput = unput.or(Some(first)),
            }
        }
        if let Some((pixels, first)) = made {
            put(pixels, first)?;
        }
        if let Some(first) = unput {
            if let Some(own) = &mut self.own {
                own.draw(&mut self.frame, width);
            }
            self.overlay.draw(&mut Canvas { pixels: &mut self.frame, width });
            if let Some(surface) = &self.surface {
                self.display.put(surface, &self.frame[first * width..], first).map_err(failed)?;
            }
        }
        if let Some(surface) = &self.surface {
            self.display.finish(surface).map_err(failed)?;
        }
        self.is_stale = false;
        Ok(())
    }

    /// Sets memory aside for a frame of `size`.
    fn make_room(&mut self, size: (usize, usize)) -> Result<(), SinkError> {
        if let Some(old) = self.surface.take() {
            self.display.unshare(&old).map_err(failed)?;
        }
        if self.shares {
            match self.display.share(self.id(), size) {
                Ok(surface) => self.surface = Some(surface),
                Err(error) if x11::is_lost(&error) => return Err(failed(error)),
                Err(error) => {
                    tracing::info!("pictures are sent to the X server, which takes longer than to share them: {error}");
                    self.shares = false;
                }
            }
        }
        self.frame = vec![0; size.0 * size.1];
        self.frame_size = size;
        Ok(())
    }

    fn draw(&mut self) -> Result<(), SinkError> {
        if self.is_stale || self.frame_size != self.window.get_size() {
            self.compose()?;
        } else if let Some(surface) = &self.surface {
            self.display.put_again(surface).map_err(failed)?;
        }
        if self.surface.is_some() {
            self.window.update();
        } else {
            let (width, height) = self.frame_size;
            self.window.update_with_buffer(&self.frame, width, height).map_err(|e| SinkError::Window(e.to_string()))?;
        }
        check_display()?;
        self.drawn = clock::now();
        self.handle_keys()
    }

    /// Keys pressed since the last update; every update forgets the ones before.
    fn handle_keys(&mut self) -> Result<(), SinkError> {
        for key in self.window.get_keys_pressed(KeyRepeat::No) {
            let now = clock::now();
            match key {
                Key::H => self.overlay.toggle_keys(),
                Key::I => self.overlay.line_shown = !self.overlay.line_shown,
                Key::D => self.overlay.toggle_details(),
                Key::F => self.toggle_fullscreen()?,
                Key::M => {
                    self.mirrored = !self.mirrored;
                    mirror(&mut self.picture, self.size.0);
                }
                Key::S => snapshot::save(self.picture.clone(), self.size.0, self.saved.0.clone()),
                Key::V => self.own.iter_mut().for_each(SelfView::toggle),
                Key::E => {
                    if let Some(own) = &self.own {
                        self.overlay.say(effects_said(own.side.switch_effects()), now);
                    }
                }
                Key::Up | Key::Down => {
                    if let Some(own) = &self.own {
                        let rate = own.side.step_rate(key == Key::Up).as_bps() as f64 / 1e6;
                        self.overlay.say(format!("Sending {rate:.1} Mbit/s at most"), now);
                    }
                }
                Key::Escape if self.escape.press(now) => self.ends = true,
                Key::Escape => self.overlay.say("Press Esc again to end", now),
                _ => continue,
            }
            self.is_stale = true;
        }
        Ok(())
    }

    fn look_at_pointer(&mut self, now: Timestamp) {
        let place = self.window.get_unscaled_mouse_pos(MouseMode::Pass);
        if let Some(visible) = self.pointer.look(place, now) {
            self.window.set_cursor_visibility(visible);
        }
    }
}

impl Sink for Window {
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        let size = (params.size.width(), params.size.height());
        if self.size != size || self.converter.is_none() {
            if !self.fullscreen {
                let (width, height) = fit(size, self.display.size());
                self.display.resize(self.id(), width, height).map_err(failed)?;
            }
            self.size = size;
            self.picture = vec![0; size.0 * size.1];
            self.is_stale = true;
        }
        self.converter = Some(Converter::new(params.colour));
        Ok(())
    }

    fn show(&mut self, _id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        if let Some(converter) = &self.converter {
            converter.convert(picture, &mut self.picture);
            if self.mirrored {
                mirror(&mut self.picture, self.size.0);
            }
            self.is_stale = true;
            self.draw()?;
            self.awake.on_picture(&self.display, clock::now());
        }
        Ok(())
    }

    fn status(&mut self, status: &Status) {
        let said = self.own.as_ref().and_then(|own| own.side.said());
        match said {
            Some(said) => {
                let line = format!("{said}; {}", status.line);
                self.overlay.set_status(&Status { line, ..status.clone() }, clock::now());
            }
            None => self.overlay.set_status(status, clock::now()),
        }
    }

    fn notice(&mut self, notice: Option<&str>) {
        self.is_stale |= self.overlay.set_notice(notice);
    }

    fn poll(&mut self) -> Result<Wish, SinkError> {
        let now = clock::now();
        self.is_stale |= self.overlay.expire(now) | self.own.as_mut().is_some_and(SelfView::renew);
        while let Ok(said) = self.saved.1.try_recv() {
            self.overlay.say(said, now);
            self.is_stale = true;
        }
        if self.is_stale || self.frame_size != self.window.get_size() || now.since(self.drawn) >= REDRAW_INTERVAL {
            self.draw()?;
        } else {
            self.window.update();
            check_display()?;
            self.handle_keys()?;
        }
        self.look_at_pointer(now);
        self.awake.look(&self.display, now);
        Ok(if self.window.is_open() && !self.ends { Wish::Continue } else { Wish::Close })
    }
}

/// Swaps left and right.
fn mirror(pixels: &mut [u32], width: usize) {
    pixels.chunks_exact_mut(width.max(1)).for_each(<[u32]>::reverse);
}

/// Message about an X server that has gone.
const ENDED: &str = "the X server has ended";

/// An error once the X server has gone.
fn check_display() -> Result<(), SinkError> {
    if display_loss::has_happened() { Err(SinkError::Window(ENDED.to_owned())) } else { Ok(()) }
}

/// Returns the error of the second connection to the X server.
/// The sentence about effects that have been switched; none: there are none.
fn effects_said(effects: Option<Effects>) -> String {
    match effects {
        None => "No effects are set: sender set effects.still_noise=3, for example".to_owned(),
        Some(effects) => format!("Effects on your picture: {effects}"),
    }
}

fn failed(error: Box<dyn std::error::Error>) -> SinkError {
    SinkError::Window(if x11::is_lost(&error) { ENDED.to_owned() } else { error.to_string() })
}

/// Returns the largest size of the shape of `size` that is neither larger than it nor than the screen.
fn fit(size: (usize, usize), screen: (usize, usize)) -> (usize, usize) {
    let larger = size.0 > screen.0 || size.1 > screen.1;
    if larger { enlarged(size, screen) } else { size }
}

/// Returns the largest size of the shape of `size` that is not larger than `room`.
pub(super) fn enlarged(size: (usize, usize), room: (usize, usize)) -> (usize, usize) {
    let (width, height) = size;
    // The side that fills the room does so exactly.
    let is_wide = width * room.1 >= height * room.0;
    let fitted = if is_wide { (room.0, height * room.0 / width) } else { (width * room.1 / height, room.1) };
    (fitted.0.max(1), fitted.1.max(1))
}

#[cfg(test)]
mod tests {
    use super::{enlarged, fit, mirror};

    #[test]
    fn pictures_fill_the_window_in_shape() {
        assert_eq!(enlarged((1280, 720), (2560, 1440)), (2560, 1440));
        assert_eq!(enlarged((1280, 720), (1000, 1000)), (1000, 562));
        assert_eq!(enlarged((640, 480), (1920, 1080)), (1440, 1080));
        assert_eq!(enlarged((16384, 1), (100, 100)), (100, 1));
        assert_eq!(enlarged((1280, 720), (1, 1)), (1, 1));
    }

    #[test]
    fn a_mirror_swaps_left_and_right() {
        let mut pixels = [1, 2, 3, 4, 5, 6];
        mirror(&mut pixels, 3);
        assert_eq!(pixels, [3, 2, 1, 6, 5, 4]);
    }

    #[test]
    fn large_pictures_are_fitted_to_the_screen_in_shape() {
        assert_eq!(fit((640, 360), (1920, 1080)), (640, 360));
        assert_eq!(fit((3840, 2160), (1920, 1200)), (1920, 1080));
        assert_eq!(fit((16384, 1), (1000, 1000)), (1000, 1));
    }
}
