//! The window of a band: the pictures of all members on one sheet.

use net::failure::Failure;
use showing::sink::{Sink, WindowParts};

use crate::handle::Handle;

#[cfg(feature = "window")]
mod with_window {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use showing::sink::{Emphasis, Grid, HeldWindow, Pick, Says, Sheet, SinkError, Window, Wish};

    use super::*;

    /// Longest wait for something new before the window's keys are read.
    const LOOK: Duration = Duration::from_millis(8);

    /// The tiles that members fill, and what a window that shows them steers.
    #[derive(Clone)]
    struct Tiles {
        grid: Grid,
        names: Vec<String>,
        handles: Vec<Handle>,
    }

    /// The window, and the tiles that its members fill.
    pub(crate) struct Stage {
        window: Window,
        tiles: Tiles,
    }

    /// A band that wants to be seen in a window that is open already.
    pub struct BandView {
        parts: WindowParts,
        tiles: Tiles,
        is_over: Arc<AtomicBool>,
    }

    impl Tiles {
        fn new(names: &[String], handles: &[Handle]) -> Self {
            Self { grid: Grid::default(), names: names.to_vec(), handles: handles.to_vec() }
        }

        /// Returns the sink of a member, the first one first.
        fn tile(&self, place: usize) -> Box<dyn Sink + Send> {
            let sound = self.handles.get(place).and_then(|handle| handle.sound.clone());
            Box::new(self.grid.add(self.names.get(place).map_or("", String::as_str), sound))
        }

        /// Shows larger who was chosen, and lets its volume be steered; whoever is alone on the sheet is alone in the ear.
        fn take(&self, pick: Pick, sheet: &mut Sheet, window: &mut Window) {
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
            let side = |member: usize| Some(self.handles.get(member)?.sound.as_ref()?.side.clone());
            window.steer_volume(member.and_then(side));
            let alone = matches!(emphasis, Emphasis::Solo(_)).then_some(member).flatten();
            for place in 0..self.handles.len() {
                side(place).iter().for_each(|side| side.set_aside(alone.is_some_and(|alone| alone != place)));
            }
            if let Some(name) = alone.and_then(|alone| self.names.get(alone)) {
                window.tell(&format!("Only {name} is heard"));
            }
        }

        /// Shows what comes in `window` until that is closed or `is_over`; `between` is called now and then.
        fn show(
            &self,
            window: &mut Window,
            is_over: impl Fn() -> bool,
            mut between: impl FnMut(),
        ) -> Result<(), SinkError> {
            let mut sheet = Sheet::default();
            while !is_over() {
                self.grid.wait(LOOK);
                if sheet.renew(&self.grid) {
                    window.show_sheet(sheet.pixels(), sheet.large())?;
                }
                self.grid.take_said().iter().for_each(|said| window.say(said));
                for pick in window.take_picks() {
                    self.take(pick, &mut sheet, window);
                }
                between();
                if window.poll()? == Wish::Close {
                    break;
                }
            }
            Ok(())
        }
    }

    impl Stage {
        pub(crate) fn open(
            (parts, is_fullscreen): (WindowParts, bool),
            names: &[String],
            handles: &[Handle],
        ) -> Result<Self, Failure> {
            let window = Window::open(is_fullscreen, parts).map_err(Failure::device)?;
            Ok(Self { window, tiles: Tiles::new(names, handles) })
        }

        /// Returns the sink of the next member.
        pub(crate) fn tile(&self, place: usize) -> Box<dyn Sink + Send> {
            self.tiles.tile(place)
        }

        /// Shows what comes until the window is closed or `is_over`.
        pub(crate) fn run(mut self, is_over: impl Fn() -> bool) -> Result<(), Failure> {
            self.tiles.show(&mut self.window, is_over, || ()).map_err(Failure::device)
        }
    }

    impl BandView {
        pub(crate) fn new(parts: WindowParts, names: &[String], handles: &[Handle]) -> Self {
            Self { parts, tiles: Tiles::new(names, handles), is_over: Arc::default() }
        }

        /// Returns the sink of the next member.
        pub(crate) fn tile(&self, place: usize) -> Box<dyn Sink + Send> {
            self.tiles.tile(place)
        }

        /// Returns what is to be set when all calls have ended.
        pub(crate) fn end(&self) -> Arc<AtomicBool> {
            Arc::clone(&self.is_over)
        }

        /// Lets `says` say why a member has no picture.
        pub fn set_words(&self, says: Says) {
            self.tiles.grid.set_words(says);
        }

        /// Shows the band in `held` until all calls have ended, or ends them when that is wished in the window; call it on the main
        /// thread. `between` is called now and then.
        pub fn show(self, held: &HeldWindow, between: impl FnMut()) -> Result<(), SinkError> {
            let Self { parts, tiles, is_over } = self;
            let shown = Window::within(held, parts)
                .and_then(|mut window| tiles.show(&mut window, || is_over.load(Ordering::Relaxed), between));
            tiles.handles.iter().for_each(Handle::hang_up);
            shown
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
pub use self::with_window::BandView;
#[cfg(feature = "window")]
pub(crate) use self::with_window::Stage;
#[cfg(not(feature = "window"))]
pub(crate) use self::without_window::Stage;
