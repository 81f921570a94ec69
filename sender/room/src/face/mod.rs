//! The room's face on the window: the toolkit egui, its input by egui-winit, its triangles by a rasteriser of this crate.

mod access;
mod raster;
pub(crate) mod theme;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use egui::{Color32, Context, Ui, ViewportId};
use egui_winit::State;
use net::lock::lock;
use showing::sink::{Face, Layer, Press, Said};
use winit::event::WindowEvent;
use winit::event_loop::ActiveEventLoop;
use winit::keyboard::Key;
use winit::window::Window;

use self::access::Requests;
use self::raster::Raster;

/// Time for which the pages of a call stay over the picture after the pointer or a key has moved.
const SHOWN: Duration = Duration::from_secs(3);

/// Contents of the pages.
pub(crate) trait Pages {
    /// Shows the page of now; `call`: the texts of the call, in one, with the buttons pressed into `pressed`.
    fn show(&mut self, ui: &mut Ui, call: Option<&Said>, pressed: &mut Vec<Press>);

    /// Shows what stays over the picture of a call while its pages are hidden.
    fn show_quiet(&mut self, ui: &mut Ui);

    /// Returns true if something has changed since that the pages show.
    fn has_news(&mut self) -> bool;
}

/// The toolkit with what it draws.
pub(crate) struct Toolkit<P> {
    context: Context,
    pub(crate) pages: P,
    state: Option<State>,
    requests: Requests,
    raster: Raster,
    layer: Arc<Mutex<Layer>>,
    size: (usize, usize),
    scale: f32,
    said: Option<Said>,
    /// True if the pages should be made anew, and the time at which they are at the latest.
    is_stale: bool,
    due: Option<Instant>,
    /// Time at which the person has last moved something.
    moved: Instant,
    is_hidden: bool,
    pressed: Vec<Press>,
}

impl<P: Pages> Toolkit<P> {
    pub(crate) fn new(pages: P) -> Self {
        let context = Context::default();
        theme::set(&context);
        Self {
            context,
            pages,
            state: None,
            requests: Requests::default(),
            raster: Raster::default(),
            layer: Arc::default(),
            size: (0, 0),
            scale: 1.0,
            said: None,
            is_stale: true,
            due: None,
            moved: Instant::now(),
            is_hidden: false,
            pressed: Vec::new(),
        }
    }

    /// Returns the text in the clipboard.
    pub(crate) fn clipboard(&mut self) -> Option<String> {
        self.state.as_mut()?.clipboard_text()
    }

    /// Returns true while the window has the keyboard.
    pub(crate) fn has_focus(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.egui_input().focused)
    }

    fn draw_pages(&mut self, window: &Window) {
        let Some(state) = &mut self.state else { return };
        let input = state.take_egui_input(window);
        let (pages, pressed, said) = (&mut self.pages, &mut self.pressed, self.said.as_ref());
        let is_hidden = self.is_hidden;
        let output = self.context.clone().run_ui(input, |ui| match is_hidden {
            true => pages.show_quiet(ui),
            false => pages.show(ui, said, pressed),
        });
        state.handle_platform_output(window, output.platform_output);
        self.due = output.viewport_output.get(&ViewportId::ROOT).and_then(|viewport| {
            Instant::now()
                .checked_add(viewport.repaint_delay)
                .filter(|_| viewport.repaint_delay < Duration::from_secs(3600))
        });
        self.scale = output.pixels_per_point;
        let mut textures = output.textures_delta;
        self.raster.take(&textures);
        let primitives = self.context.tessellate(output.shapes, output.pixels_per_point);
        let ground = if self.said.is_some() { Color32::TRANSPARENT } else { theme::GROUND };
        let mut layer = lock(&self.layer);
        layer.begin(self.size.0, self.size.1, ground.to_array());
        self.raster.draw(&primitives, self.scale, &mut layer);
        self.raster.forget(&textures);
        textures.clear();
    }
}

impl<P: Pages> Face for Toolkit<P> {
    fn attach(&mut self, event_loop: &ActiveEventLoop, window: &Window) {
        let scale = window.scale_factor() as f32;
        let mut state = State::new(self.context.clone(), ViewportId::ROOT, window, Some(scale), None, None);
        state.accesskit = Some(self.requests.adapter(event_loop, window));
        self.state = Some(state);
    }

    fn on_event(&mut self, window: &Window, event: &WindowEvent) -> bool {
        let Some(state) = &mut self.state else { return false };
        let response = state.on_window_event(window, event);
        self.is_stale |= response.repaint;
        match event {
            WindowEvent::CursorMoved { .. }
            | WindowEvent::MouseInput { .. }
            | WindowEvent::MouseWheel { .. }
            | WindowEvent::Touch(_)
            | WindowEvent::KeyboardInput { is_synthetic: false, .. } => self.moved = Instant::now(),
            _ => {}
        }
        let is_letter = matches!(
            event,
            WindowEvent::KeyboardInput { event, .. } if matches!(event.logical_key, Key::Character(_))
        );
        // A page that covers the window has all keys, and over a picture what is being written has. A button has those that press it
        // and go on from it.
        self.said.is_none() || response.consumed && (!is_letter || self.context.text_edit_focused())
    }

    fn renew(&mut self, window: &Window, said: Option<&Said>) -> bool {
        let now = Instant::now();
        if self.said.as_ref() != said {
            self.said = said.cloned();
            self.is_stale = true;
        }
        if self.state.as_mut().is_some_and(|state| self.requests.pass_on(&self.context, state)) {
            self.is_stale = true;
        }
        let is_quiet = said.is_some_and(|said| said.notice.is_none() && said.alert.is_none() && said.message.is_none());
        let hides = is_quiet && now.duration_since(self.moved) >= SHOWN && !self.context.egui_wants_keyboard_input();
        let size = window.inner_size();
        let size = (size.width as usize, size.height as usize);
        let is_due = self.due.is_some_and(|due| due <= now);
        if !(self.is_stale || is_due || self.pages.has_news() || size != self.size || hides != self.is_hidden) {
            return false;
        }
        (self.size, self.is_hidden, self.is_stale) = (size, hides, false);
        self.draw_pages(window);
        true
    }

    fn pressed(&mut self) -> Vec<Press> {
        std::mem::take(&mut self.pressed)
    }

    fn layer(&self) -> Arc<Mutex<Layer>> {
        Arc::clone(&self.layer)
    }
}
