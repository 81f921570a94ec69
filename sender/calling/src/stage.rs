//! The window of a band: the pictures of all members on one sheet.

use net::failure::Failure;
use showing::sink::{Sink, WindowParts};

use crate::handle::Handle;

#[cfg(feature = "window")]
mod with_window {
    use std::time::Duration;

    use shell::settings::SoundSide;
    use showing::sink::{Emphasis, Grid, Pick, Sheet, SinkError, Window, Wish};

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

        /// Shows larger who was chosen, and lets its volume be steered; whoever is alone on the sheet is alone in the ear.
        fn take(&mut self, pick: Pick, sheet: &mut Sheet) {
            let emphasis = match pick {
                Pick::Member(member) if member >= self.names.len() => return,
                Pick::Member(member) => sheet.emphasis().pressed(member),
                Pick::Next => sheet.emphasis().next(self.names.len()),
                Pick::At(pixel) => match sheet.member_at(pixel) {
                    Some(member) => sheet.emphasis().pressed(member),
                    None => return,
                },
            };
            sheet.set_emphasis(emphasis);
            let member = emphasis.member();
            self.window.steer_volume(member.and_then(|member| self.sides.get(member)?.clone()));
            let alone = matches!(emphasis, Emphasis::Solo(_)).then_some(member).flatten();
            for (place, side) in self.sides.iter().enumerate() {
                side.iter().for_each(|side| side.set_aside(alone.is_some_and(|alone| alone != place)));
            }
            if let Some(name) = alone.and_then(|alone| self.names.get(alone)) {
                self.window.tell(&format!("Only {name} is heard"));
            }
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
                for pick in self.window.take_picks() {
                    self.take(pick, &mut sheet);
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
