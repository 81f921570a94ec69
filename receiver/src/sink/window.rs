//! A window on an X11 display.

use std::time::{Duration, Instant};

use common::params::StreamParams;
use common::units::FrameId;
use kernels::Picture;
use minifb::{Key, KeyRepeat, ScaleMode, WindowOptions};

use super::colour::Converter;
use super::x11::Display;
use super::{Sink, SinkError, Wish, display_loss, text};

/// Size until the stream's is known, pixels.
const WAITING_SIZE: (usize, usize) = (1280, 720);
/// How often an unchanged picture is drawn again, in case something covered it.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// A resizable window that keeps the picture's shape.
pub struct Window {
    window: minifb::Window,
    display: Display,
    fullscreen: bool,
    converter: Option<Converter>,
    pixels: Vec<u32>,
    size: (usize, usize),
    status: String,
    status_shown: bool,
    drawn: Instant,
}

impl Window {
    /// Opens the window with a line that says it waits. `status_line`: whether the line stays once pictures come.
    pub fn open(fullscreen: bool, status_line: bool) -> Result<Self, SinkError> {
        // minifb needs libX11 and a display; asking for the display first gives the better sentence.
        let display = Display::connect().map_err(|e| SinkError::NoDisplay(e.to_string()))?;
        let size = fit(WAITING_SIZE, display.size());
        let options = WindowOptions {
            resize: true,
            borderless: fullscreen,
            scale_mode: ScaleMode::AspectRatioStretch,
            ..WindowOptions::default()
        };
        let window =
            minifb::Window::new("Duet", size.0, size.1, options).map_err(|e| SinkError::NoDisplay(e.to_string()))?;
        display_loss::survive(&window);
        let mut opened = Self {
            window,
            display,
            fullscreen,
            converter: None,
            pixels: vec![0; size.0 * size.1],
            size,
            status: "waiting for the sender   (i: this line, Esc: close)".to_owned(),
            status_shown: status_line,
            drawn: Instant::now(),
        };
        if fullscreen {
            opened.display.fullscreen(opened.id()).map_err(|e| SinkError::Window(e.to_string()))?;
        }
        text::draw_line(&mut opened.pixels, opened.size.0, &opened.status);
        opened.draw()?;
        Ok(opened)
    }

    /// The window's number on the X server.
    fn id(&self) -> u32 {
        // minifb hands the XID out as a pointer.
        self.window.get_window_handle() as usize as u32
    }

    fn draw(&mut self) -> Result<(), SinkError> {
        let (width, height) = self.size;
        self.window.update_with_buffer(&self.pixels, width, height).map_err(|e| SinkError::Window(e.to_string()))?;
        check_display()?;
        self.drawn = Instant::now();
        self.handle_toggle();
        Ok(())
    }

    /// Keys pressed since the last update; every update forgets the ones before.
    fn handle_toggle(&mut self) {
        if self.window.is_key_pressed(Key::I, KeyRepeat::No) {
            self.status_shown = !self.status_shown;
        }
    }
}

impl Sink for Window {
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        let size = (params.size.width(), params.size.height());
        if !self.fullscreen && self.size != size {
            let (width, height) = fit(size, self.display.size());
            self.display.resize(self.id(), width, height).map_err(|e| SinkError::Window(e.to_string()))?;
        }
        self.size = size;
        self.pixels = vec![0; size.0 * size.1];
        self.converter = Some(Converter::new(params.colour, params.size));
        Ok(())
    }

    fn show(&mut self, _id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        if let Some(converter) = &mut self.converter {
            converter.convert(picture, &mut self.pixels);
            if self.status_shown {
                text::draw_line(&mut self.pixels, self.size.0, &self.status);
            }
            self.draw()?;
        }
        Ok(())
    }

    fn status(&mut self, line: &str) {
        line.clone_into(&mut self.status);
    }

    fn poll(&mut self) -> Result<Wish, SinkError> {
        if self.drawn.elapsed() >= REDRAW_INTERVAL {
            self.draw()?;
        } else {
            self.window.update();
            check_display()?;
            self.handle_toggle();
        }
        let open = self.window.is_open() && !self.window.is_key_down(Key::Escape);
        Ok(if open { Wish::Continue } else { Wish::Close })
    }
}

/// An error once the X server has gone.
fn check_display() -> Result<(), SinkError> {
    if display_loss::has_happened() { Err(SinkError::Window("the X server has ended".to_owned())) } else { Ok(()) }
}

/// The largest size of the shape of `size` that is neither larger than it nor than the screen.
fn fit(size: (usize, usize), screen: (usize, usize)) -> (usize, usize) {
    let (width, height) = size;
    let scale = (screen.0 as f64 / width as f64).min(screen.1 as f64 / height as f64).min(1.0);
    let scaled = |side: usize| ((side as f64 * scale) as usize).max(1);
    (scaled(width), scaled(height))
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn large_pictures_are_fitted_to_the_screen_in_shape() {
        assert_eq!(fit((640, 360), (1920, 1080)), (640, 360));
        assert_eq!(fit((3840, 2160), (1920, 1200)), (1920, 1080));
        assert_eq!(fit((16384, 1), (1000, 1000)), (1000, 1));
    }
}
