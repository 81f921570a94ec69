//! The two pages by which people get to know each other: the one that makes a link, and the one that has got it.

use common::reach::{NAME_MAX, told_name};
use egui::accesskit::Live;
use egui::{RichText, Spinner, TextEdit, Ui};

use super::parts::{aside, card, code, field, heading, named, picture, primary, quiet, spoken, title};
use super::{Page, Screens, waits};
use crate::face::theme;
use crate::facts::{Act, Facts, Meeting};

/// Letters of a link at most: more than any has.
const LINK_MAX: usize = 4096;
/// Side of a code, points.
const CODE: f32 = 260.0;

impl Screens {
    pub(super) fn show_invite(&mut self, ui: &mut Ui, facts: &Facts) {
        if title(ui, &self.say("invite-title"), Some(&self.say("back"))) {
            return self.go(Page::People);
        }
        if facts.machine.asks_dht {
            return card(ui, |ui| self.ask_for_dht(ui));
        }
        match &facts.meeting {
            Meeting::Invites(link) => card(ui, |ui| self.show_link(ui, link.as_deref())),
            Meeting::Met(name) => card(ui, |ui| self.show_met(ui, "invite-done", name.as_deref())),
            other => card(ui, |ui| {
                self.show_failed(ui, other);
                aside(ui, &self.words.say("invite-what"));
                let entered = facts.machine.name.is_empty() && self.show_own_name(ui);
                if primary(ui, "invite-make", &self.words.say("invite-make")).clicked() || entered {
                    self.be_called();
                    self.acts.push(Act::Invite);
                }
            }),
        }
    }

    /// Asks, once, whether BitTorrent's network may be used.
    fn ask_for_dht(&mut self, ui: &mut Ui) {
        heading(ui, &self.words.say("dht-ask"));
        aside(ui, &self.words.say("dht-what"));
        ui.horizontal_wrapped(|ui| {
            if primary(ui, "dht-use", &self.words.say("dht-use")).clicked() {
                self.acts.push(Act::UseDht(true));
            }
            if quiet(ui, "dht-without", &self.words.say("dht-without")).clicked() {
                self.acts.push(Act::UseDht(false));
            }
        });
    }

    fn show_link(&mut self, ui: &mut Ui, link: Option<&str>) {
        let Some(link) = link else {
            return self.show_wait(ui, "invite-making");
        };
        heading(ui, &self.words.say("invite-send"));
        show_line(ui, link);
        self.show_copy(ui, link);
        aside(ui, &self.words.say("invite-keep"));
        ui.add_space(4.0);
        aside(ui, &self.words.say("invite-qr"));
        code(ui, link, CODE.min(ui.available_width()));
        ui.add_space(4.0);
        let entered = field(ui, "answer", &self.words.say("invite-answer"), &mut self.typed.answer, LINK_MAX);
        let is_typed = !self.typed.answer.trim().is_empty();
        let done = ui.add_enabled_ui(is_typed, |ui| quiet(ui, "done", &self.words.say("done")).clicked()).inner;
        if is_typed && (entered || done) {
            self.acts.push(Act::Answer(std::mem::take(&mut self.typed.answer).trim().to_owned()));
        }
    }

    pub(super) fn show_join(&mut self, ui: &mut Ui, facts: &Facts) {
        if title(ui, &self.say("join-title"), Some(&self.say("back"))) {
            return self.go(Page::People);
        }
        if facts.machine.asks_dht {
            return card(ui, |ui| self.ask_for_dht(ui));
        }
        match &facts.meeting {
            Meeting::Joins { answer } => card(ui, |ui| {
                self.show_wait(ui, "join-looking");
                if let Some(answer) = answer {
                    aside(ui, &self.words.say("join-answer"));
                    show_line(ui, answer);
                    self.show_copy(ui, answer);
                }
            }),
            Meeting::Met(name) => card(ui, |ui| self.show_met(ui, "join-done", name.as_deref())),
            other => card(ui, |ui| {
                self.show_failed(ui, other);
                aside(ui, &self.words.say("join-what"));
                self.show_reading(ui, facts);
                let entered = field(ui, "link", &self.words.say("join-link"), &mut self.typed.link, LINK_MAX);
                let link = self.typed.link.trim().to_owned();
                let is_link = is_link(&link);
                if !link.is_empty() && !is_link {
                    let sentence = RichText::new(self.words.say("join-bad")).color(theme::BAD);
                    spoken(ui, "join-bad", sentence, Live::Polite);
                }
                let named = facts.machine.name.is_empty() && self.show_own_name(ui);
                let join =
                    ui.add_enabled_ui(is_link, |ui| primary(ui, "join-do", &self.words.say("join-do")).clicked()).inner;
                if is_link && (join || entered || named) {
                    self.be_called();
                    self.acts.push(Act::Join(link));
                }
            }),
        }
    }

    /// Shows what the camera sees while it looks for a code, and the button for that.
    fn show_reading(&mut self, ui: &mut Ui, facts: &Facts) {
        let is_on = facts.machine.reads;
        if is_on {
            aside(ui, &self.words.say("code-hold"));
            self.show_camera_trouble(ui, &facts.machine);
            if let Some(preview) = &facts.machine.preview {
                picture(ui, preview, &self.words.say("preview"));
            }
        }
        if quiet(ui, "code-read", &self.words.say(if is_on { "code-end" } else { "code-read" })).clicked() {
            self.acts.push(Act::ReadCode(!is_on));
        }
    }

    /// Puts a link into the field of the page that joins, and shows that.
    pub(crate) fn offer(&mut self, link: &str) {
        self.typed.link = link.trim().to_owned();
        self.go(Page::Join);
    }

    /// Shows that both know each other; no name: they did before.
    fn show_met(&mut self, ui: &mut Ui, key: &str, name: Option<&str>) {
        let Some(name) = name else {
            heading(ui, &self.words.say("met-again"));
            if primary(ui, "done", &self.words.say("done")).clicked() {
                self.go(Page::People);
            }
            return;
        };
        heading(ui, &self.words.of_name(key, name));
        ui.horizontal_wrapped(|ui| {
            if primary(ui, "call-now", &self.words.of_name("call-now", name)).clicked() {
                self.acts.push(Act::CallName(name.to_owned()));
                self.go(Page::People);
            }
            if quiet(ui, "done", &self.words.say("done")).clicked() {
                self.go(Page::People);
            }
        });
    }

    fn show_wait(&self, ui: &mut Ui, key: &str) {
        ui.horizontal_wrapped(|ui| {
            ui.add(Spinner::new().size(18.0).color(theme::ACCENT));
            ui.label(RichText::new(self.words.say(key)).color(theme::TEXT));
        });
    }

    fn show_failed(&self, ui: &mut Ui, meeting: &Meeting) {
        if let Meeting::Failed(why) = meeting {
            let failed = RichText::new(self.words.say("failed")).color(theme::BAD).family(theme::strong());
            spoken(ui, "failed", failed, Live::Assertive);
            ui.label(RichText::new(why).color(theme::TEXT));
        }
        debug_assert!(!waits(meeting));
    }

    fn show_copy(&mut self, ui: &mut Ui, text: &str) {
        if primary(ui, "copy", &self.words.say("copy")).clicked() {
            ui.copy_text(text.to_owned());
        }
    }

    /// Shows the field for the name of the person here; true if Enter was pressed in it.
    pub(super) fn show_own_name(&mut self, ui: &mut Ui) -> bool {
        let entered = field(ui, "own-name", &self.words.say("own-name"), &mut self.typed.own, NAME_MAX);
        aside(ui, &self.words.say("own-name-what"));
        entered
    }

    /// Takes the name that was typed, as far as it can be one.
    pub(super) fn be_called(&mut self) {
        self.typed.own = told_name(&self.typed.own);
        if self.typed.own != self.typed.own_before {
            self.typed.own_before.clone_from(&self.typed.own);
            self.acts.push(Act::BeCalled(self.typed.own.clone()));
        }
    }
}

/// Returns true if `text` begins as links and tickets do.
pub(crate) fn is_link(text: &str) -> bool {
    let text = text.trim();
    common::reach::Ticket::is_begun_by(text) && text.len() > 20 && !text.contains(char::is_whitespace)
}

/// Shows a line that may be copied and not changed.
fn show_line(ui: &mut Ui, mut line: &str) {
    let edit =
        TextEdit::multiline(&mut line).desired_width(f32::INFINITY).desired_rows(2).font(egui::TextStyle::Monospace);
    named(ui, "line", |ui| ui.add(edit));
}
