//! The window of a band: the pictures of all members on one sheet.

use net::failure::Failure;
use showing::sink::{Sink, WindowParts};

use crate::handle::Handle;

#[cfg(feature = "window")]
mod with_window {
    use std::time::Duration;

    use shell::settings::SoundSide;
    use showing::sink::{Grid, Sheet, SinkError, Window, Wish};

    use super::*;

    /// Longest wait for something new before the window's keys are read.
    const LOOK: Duration = Duration::from_millis(8);

    /// The window, and the tiles that its members fill.
    pub(crate) struct Stage {
        window: Window,
        grid: Grid,
        names: Vec<String>,
        sides: Vec<Option<SoundSide>>,
        handles: Vec<Handle>,
    }

    impl Stage {
        pub(crate) fn open(
            (parts, is_fullscreen): (WindowParts, bool),
            names: &[String],
            handles: &[Handle],
        ) -> Result<Self, Failure> {
            let window = Window::open(is_fullscreen, parts).map_err(Failure::device)?;
            let sides = handles.iter().map(|handle| handle.sound.as_ref().map(|sound| sound.side.clone())).collect();
            Ok(Self { window, grid: Grid::default(), names: names.to_vec(), sides, handles: handles.to_vec() })
        }

        /// Returns the sink of the next member.
        pub(crate) fn tile(&self, place: usize) -> Box<dyn Sink + Send> {
            let sound = self.handles.get(place).and_then(|handle| handle.sound.clone());
            Box::new(self.grid.add(self.names.get(place).map_or("", String::as_str), sound))
        }

        /// Shows what comes until the window is closed or `is_over`.
        pub(crate) fn run(mut self, is_over: impl Fn() -> bool) -> Result<(), Failure> {
            self.until_closed(is_over).map_err(Failure::device)
        }

        fn until_closed(&mut self, is_over: impl Fn() -> bool) -> Result<(), SinkError> {
            let mut sheet = Sheet::default();
            while !is_over() {
                self.grid.wait(LOOK);
                if sheet.renew(&self.grid) {
                    let (size, pixels) = sheet.pixels();
                    self.window.show_sheet(size, pixels)?;
                }
                self.grid.take_said().iter().for_each(|said| self.window.say(said));
                for member in self.window.take_members() {
                    sheet.set_emphasis(sheet.emphasis().pressed(member));
                    self.window.steer_volume(self.sides.get(member).cloned().flatten());
                }
                if self.window.poll()? == Wish::Close {
                    break;
                }
            }
            Ok(())
        }
    }
}

#[cfg(not(feature = "window"))]
mod without_window {
    use super::*;

    /// No window: there is none in this program.
    pub(crate) struct Stage(std::convert::Infallible);

    impl Stage {
        pub(crate) fn open(_: (WindowParts, bool), _: &[String], _: &[Handle]) -> Result<Self, Failure> {
            Err(Failure::device(showing::sink::SinkError::WithoutWindow))
        }

        pub(crate) fn tile(&self, _: usize) -> Box<dyn Sink + Send> {
            match self.0 {}
        }

        pub(crate) fn run(self, _: impl Fn() -> bool) -> Result<(), Failure> {
            match self.0 {}
        }
    }
}

#[cfg(feature = "window")]
pub(crate) use self::with_window::Stage;
#[cfg(not(feature = "window"))]
pub(crate) use self::without_window::Stage;
