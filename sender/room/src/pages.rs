//! The pages on the toolkit, with what they show.

use egui::{ColorImage, TextureOptions, Ui};
use showing::sink::{Press, Said};

use crate::face::Pages;
use crate::facts::Facts;
use crate::screens::Screens;

/// The pages with what they show.
pub(crate) struct RoomPages {
    pub(crate) screens: Screens,
    pub(crate) facts: Facts,
    /// True if something has changed since that the pages show.
    pub(crate) is_stale: bool,
    /// The camera's newest picture.
    pub(crate) picture: Option<ColorImage>,
}

impl Pages for RoomPages {
    fn show(&mut self, ui: &mut Ui, call: Option<&Said>, pressed: &mut Vec<Press>) {
        if let Some(picture) = self.picture.take() {
            match &mut self.facts.machine.preview {
                Some(texture) => texture.set(picture, TextureOptions::LINEAR),
                none => *none = Some(ui.ctx().load_texture("preview", picture, TextureOptions::LINEAR)),
            }
        }
        match call {
            Some(call) => self.screens.show_call(ui, call, &self.facts, pressed),
            None => self.screens.show(ui, &self.facts),
        }
    }

    fn show_quiet(&mut self, ui: &mut Ui) {
        self.screens.show_recording(ui, &self.facts.call);
    }

    fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.is_stale) | self.picture.is_some()
    }
}
