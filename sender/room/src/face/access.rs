//! The pages for a screen reader: AccessKit tells it of them, and what it asks for comes back as if it had been done by hand.

use std::sync::mpsc::{Receiver, Sender, channel};

use egui::Context;
use egui::accesskit::{ActionHandler, ActionRequest, ActivationHandler, DeactivationHandler, TreeUpdate};
use egui_winit::State;
use egui_winit::accesskit_winit::Adapter;
use winit::event_loop::ActiveEventLoop;
use winit::window::Window;

enum Request {
    Begin,
    Act(ActionRequest),
    End,
}

/// Requests of a screen reader, which come on a thread of their own.
pub(super) struct Requests {
    give: Sender<Request>,
    taken: Receiver<Request>,
}

impl Default for Requests {
    fn default() -> Self {
        let (give, taken) = channel();
        Self { give, taken }
    }
}

struct Handler(Sender<Request>);

impl ActivationHandler for Handler {
    fn request_initial_tree(&mut self) -> Option<TreeUpdate> {
        let _ = self.0.send(Request::Begin);
        None
    }
}

impl ActionHandler for Handler {
    fn do_action(&mut self, request: ActionRequest) {
        let _ = self.0.send(Request::Act(request));
    }
}

impl DeactivationHandler for Handler {
    fn deactivate_accessibility(&mut self) {
        let _ = self.0.send(Request::End);
    }
}

impl Requests {
    /// Returns what tells a screen reader of the window, which must not be seen yet.
    pub(super) fn adapter(&self, event_loop: &ActiveEventLoop, window: &Window) -> Adapter {
        let handler = || Handler(self.give.clone());
        Adapter::with_direct_handlers(event_loop, window, handler(), handler(), handler())
    }

    /// Passes on what has been asked for; true if the pages should be made anew.
    pub(super) fn pass_on(&self, context: &Context, state: &mut State) -> bool {
        let mut came = false;
        for request in self.taken.try_iter() {
            came = true;
            match request {
                Request::Begin => context.enable_accesskit(),
                Request::Act(request) => state.on_accesskit_action_request(request),
                Request::End => context.disable_accesskit(),
            }
        }
        came
    }
}
