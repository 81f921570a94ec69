//! The pages of the room. They show [`Facts`] and say what a person does as [`Act`]s; they do nothing themselves.

mod call;
mod meet;
mod parts;
mod people;
mod settings;

pub(crate) use self::meet::is_link;
use egui::{Frame, Key, Margin, ScrollArea, Ui};
use showing::sink::{Press, Said, TITLE};

use crate::face::theme;
use crate::facts::{Act, Facts, Meeting};
use crate::words::Words;

/// Widest text, points.
const WIDTH_MAX: f32 = 720.0;
/// Height under which there is room for what is needed most, points.
const LOW: f32 = 320.0;

/// The page that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Page {
    /// Camera and sound card, for the first time.
    Start,
    /// Those who are known.
    #[default]
    People,
    Invite,
    Join,
    Settings,
}

/// The pages, with what a person has typed on them and not yet sent.
pub(crate) struct Screens {
    pub(crate) words: Words,
    pub(crate) page: Page,
    typed: Typed,
    pub(crate) acts: Vec<Act>,
}

#[derive(Default)]
struct Typed {
    /// Name by which the person here goes.
    own: String,
    /// The same as it is written.
    own_before: String,
    link: String,
    answer: String,
    text: String,
    /// The person whose name is being changed, and the new one.
    renames: Option<(common::config::PublicKey, String)>,
    /// The person to be removed, if that is sure.
    removes: Option<common::config::PublicKey>,
    /// The person whose further buttons are shown.
    opened: Option<common::config::PublicKey>,
    /// Those who are ticked to be called together; none: nobody is asked to tick.
    ticked: Option<Vec<common::config::PublicKey>>,
    details_shown: bool,
    /// True while sliders stand in place of the buttons of a call.
    adjusts: bool,
    texts_shown: bool,
}

impl Screens {
    pub(crate) fn new(words: Words, page: Page) -> Self {
        Self { words, page, typed: Typed::default(), acts: Vec::new() }
    }

    /// Puts the name of the person here into its fields.
    pub(crate) fn is_called(&mut self, name: &str) {
        name.clone_into(&mut self.typed.own);
        name.clone_into(&mut self.typed.own_before);
    }

    /// Shows the page of now, between calls.
    pub(crate) fn show(&mut self, ui: &mut Ui, facts: &Facts) {
        name_window(ui);
        let wide = ui.available_width();
        let margin = if wide < 480.0 { 12 } else { 28 };
        let frame = Frame::NONE.fill(theme::GROUND).inner_margin(Margin::symmetric(margin, 18));
        egui::CentralPanel::default().frame(frame).show(ui, |ui| {
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                let free = (ui.available_width() - WIDTH_MAX).max(0.0) / 2.0;
                ui.horizontal_top(|ui| {
                    ui.spacing_mut().item_spacing.x = 0.0;
                    ui.add_space(free);
                    ui.vertical(|ui| {
                        ui.spacing_mut().item_spacing.x = 10.0;
                        ui.set_width((ui.available_width() - free).clamp(1.0, WIDTH_MAX));
                        self.show_page(ui, facts);
                    });
                });
            });
        });
        if self.page != Page::People && self.page != Page::Start && ui.input(|input| input.key_pressed(Key::Escape)) {
            self.go(Page::People);
        }
    }

    fn show_page(&mut self, ui: &mut Ui, facts: &Facts) {
        if let Some(who) = &facts.rings {
            return self.show_ringing(ui, who);
        }
        match self.page {
            Page::Start | Page::Settings => self.show_settings(ui, facts),
            Page::People => self.show_people(ui, facts),
            Page::Invite => self.show_invite(ui, facts),
            Page::Join => self.show_join(ui, facts),
        }
    }

    /// Shows another page.
    pub(crate) fn go(&mut self, page: Page) {
        let looks = |page| matches!(page, Page::Start | Page::Settings);
        if looks(self.page) {
            self.be_called();
        }
        if looks(page) != looks(self.page) {
            self.acts.push(Act::Preview(looks(page)));
        }
        if self.page == Page::Join {
            self.acts.push(Act::ReadCode(false));
        }
        if matches!(self.page, Page::Invite | Page::Join) {
            self.acts.push(Act::Leave);
        }
        self.page = page;
    }

    /// Shows what lies over the picture of a call.
    pub(crate) fn show_call(&mut self, ui: &mut Ui, call: &Said, facts: &Facts, pressed: &mut Vec<Press>) {
        name_window(ui);
        self.over_picture(ui, call, facts, pressed);
    }

    fn say(&self, key: &str) -> String {
        self.words.say(key)
    }
}

/// Lets a screen reader know the window by the name that its frame shows.
fn name_window(ui: &Ui) {
    ui.ctx().accesskit_node_builder(egui::accesskit_root_id(), |window| window.set_label(TITLE));
}

/// Returns true while an introduction waits for something.
fn waits(meeting: &Meeting) -> bool {
    matches!(meeting, Meeting::Invites(_) | Meeting::Joins { .. })
}

#[cfg(test)]
mod tests;
