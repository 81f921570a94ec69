//! A window that outlives calls: a call draws its pictures in it, and between calls its face is all that it shows. A process
//! has one event loop only, so that a call could not open one of its own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::composition::Composition;
use super::pane::{News, Pane};
use super::second::{SecondPlace, SecondWindow};
use super::with_winit::WinitPane;
use crate::sink::SinkError;
use crate::sink::face::{Layer, Press, Said, SharedFace};
use crate::sink::self_view::OwnPlace;

/// An open window with a face, on the main thread.
#[derive(Clone)]
pub struct HeldWindow {
    pane: Rc<RefCell<WinitPane>>,
    /// The contents between calls.
    empty: Rc<RefCell<Composition>>,
    layer: Arc<Mutex<Layer>>,
    place: OwnPlace,
    second: SecondPlace,
}

impl std::fmt::Debug for HeldWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HeldWindow")
    }
}

impl HeldWindow {
    /// Opens it.
    pub fn open(face: SharedFace) -> Result<Self, SinkError> {
        let pane = WinitPane::open(Some(face.clone()))?;
        let layer = face.0.borrow().layer();
        let empty = Composition::new(pane.size(), false, None, OwnPlace::default()).under(Some(Arc::clone(&layer)));
        Ok(Self {
            pane: Rc::new(RefCell::new(pane)),
            empty: Rc::new(RefCell::new(empty)),
            layer,
            place: OwnPlace::default(),
            second: SecondPlace::default(),
        })
    }

    pub(super) fn layer(&self) -> Arc<Mutex<Layer>> {
        Arc::clone(&self.layer)
    }

    /// Returns the place of the own picture in calls, which is shared with them.
    pub fn own_place(&self) -> OwnPlace {
        self.place.clone()
    }

    /// Returns the memory of the second window of calls, which is shared with them.
    pub fn second_place(&self) -> SecondPlace {
        self.second.clone()
    }

    /// Waits until something happens to it, for `most` at most, and shows what its face then has; `is_stale`: also if that is the
    /// same. Call it between calls only. Returns false once its cross was clicked.
    pub fn turn(&self, most: Duration, is_stale: bool) -> Result<bool, SinkError> {
        let mut pane = self.pane.borrow_mut();
        let size = pane.size();
        let news = pane.look(most)?;
        let (is_new, _) = pane.renew(None)?;
        if is_new || is_stale || news.is_bare || pane.size() != size {
            pane.show(&mut self.empty.borrow_mut())?;
        }
        Ok(pane.is_open())
    }

    /// Brings it before others, where the desktop lets a program do that; else it draws attention to it.
    pub fn raise(&self) -> Result<(), SinkError> {
        self.pane.borrow_mut().raise()
    }

    /// Takes back what a call has made of it: covers the screen no longer, and is the only window.
    pub fn leave_call(&self) -> Result<(), SinkError> {
        let mut pane = self.pane.borrow_mut();
        pane.close_second()?;
        pane.set_fullscreen(false)
    }
}

impl Pane for HeldWindow {
    fn size(&self) -> (usize, usize) {
        self.pane.borrow().size()
    }

    fn screen(&self) -> (usize, usize) {
        self.pane.borrow().screen()
    }

    /// Leaves the size to the person, who has seen the window before.
    fn resize(&mut self, _: (usize, usize)) -> Result<(), SinkError> {
        Ok(())
    }

    fn set_fullscreen(&mut self, on: bool) -> Result<(), SinkError> {
        self.pane.borrow_mut().set_fullscreen(on)
    }

    fn keep_above(&mut self, on: bool) -> Result<bool, SinkError> {
        self.pane.borrow_mut().keep_above(on)
    }

    fn show(&mut self, composition: &mut Composition) -> Result<(), SinkError> {
        self.pane.borrow_mut().show(composition)
    }

    fn look(&mut self, most: Duration) -> Result<News, SinkError> {
        self.pane.borrow_mut().look(most)
    }

    fn renew(&mut self, said: Option<&Said>) -> Result<(bool, Vec<Press>), SinkError> {
        self.pane.borrow_mut().renew(said)
    }

    fn open_second(&mut self, left: &SecondWindow) -> Result<bool, SinkError> {
        self.pane.borrow_mut().open_second(left)
    }

    fn close_second(&mut self) -> Result<(), SinkError> {
        self.pane.borrow_mut().close_second()
    }

    fn second(&self) -> Option<SecondWindow> {
        self.pane.borrow().second()
    }

    fn show_second(&mut self, composition: &mut Composition) -> Result<(), SinkError> {
        self.pane.borrow_mut().show_second(composition)
    }

    fn pointer(&self) -> Option<(f32, f32)> {
        self.pane.borrow().pointer()
    }

    fn show_pointer(&mut self, visible: bool) {
        self.pane.borrow_mut().show_pointer(visible);
    }

    fn is_open(&self) -> bool {
        self.pane.borrow().is_open()
    }

    fn hold_saver(&self, on: bool) {
        self.pane.borrow().hold_saver(on);
    }
}
