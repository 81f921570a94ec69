//! Camera, sound card and what this computer lacks: the first page of the first start, and the settings.

use egui::{RichText, Spinner, Ui, vec2};
use shell::doctor::Status;

use super::parts::{aside, card, heading, primary, quiet, title};
use super::{Page, Screens};
use crate::face::theme;
use crate::facts::{Act, Choice, Facts, Finding};
use crate::people::Answer;

/// Width of the camera's picture at most, points.
const PREVIEW: f32 = 320.0;

impl Screens {
    pub(super) fn show_settings(&mut self, ui: &mut Ui, facts: &Facts) {
        let is_first = self.page == Page::Start;
        if is_first {
            title(ui, &self.say("start-title"), None);
            aside(ui, &self.say("start-what"));
            if primary(ui, &self.say("start-go")).clicked() {
                self.go(Page::People);
            }
        } else if title(ui, &self.say("settings-title"), Some(&self.say("back"))) {
            return self.go(Page::People);
        }
        card(ui, |ui| self.show_cameras(ui, facts));
        card(ui, |ui| {
            heading(ui, &self.words.say("sound-card"));
            let always = [("auto", "sound-auto"), ("none", "sound-none")];
            let cards = facts.machine.cards.as_deref();
            if let Some(spec) = self.show_choices(ui, cards, &always, &facts.machine.card) {
                self.acts.push(Act::ChooseCard(spec));
            }
        });
        card(ui, |ui| {
            heading(ui, &self.words.say("answer"));
            let answers = [
                (Answer::Rings, "answer-rings"),
                (Answer::AtOnce, "answer-at-once"),
                (Answer::DoNotDisturb, "answer-disturb"),
            ];
            for (answer, key) in answers {
                if ui.radio(answer == facts.answer, self.words.say(key)).clicked() {
                    self.acts.push(Act::Reply(answer));
                }
            }
        });
        card(ui, |ui| {
            let mut is_used = facts.machine.dht;
            if ui.checkbox(&mut is_used, self.words.say("dht")).clicked() {
                self.acts.push(Act::UseDht(is_used));
            }
            aside(ui, &self.words.say("dht-what"));
        });
        card(ui, |ui| self.show_checks(ui, facts.machine.checks.as_deref()));
    }

    fn show_cameras(&mut self, ui: &mut Ui, facts: &Facts) {
        heading(ui, &self.words.say("camera"));
        if let Some(preview) = &facts.machine.preview {
            let [width, height] = preview.size();
            let wide = PREVIEW.min(ui.available_width());
            let size = vec2(wide, wide * height as f32 / width.max(1) as f32);
            ui.add(egui::Image::new((preview.id(), size)).corner_radius(8).alt_text(self.words.say("preview")));
        }
        match &facts.machine.cameras {
            None => self.show_search(ui, "camera-searching"),
            Some(cameras) => {
                if cameras.is_empty() {
                    aside(ui, &self.words.say("camera-none"));
                }
                let always = [("pattern", "camera-pattern")];
                if let Some(spec) = self.show_choices(ui, Some(cameras), &always, &facts.machine.camera) {
                    self.acts.push(Act::ChooseCamera(spec));
                }
            }
        }
    }

    /// Shows what there is to choose from; returns what was chosen. `always`: what is there on each machine.
    fn show_choices(
        &self,
        ui: &mut Ui,
        found: Option<&[Choice]>,
        always: &[(&str, &str)],
        chosen: &str,
    ) -> Option<String> {
        let mut picked = None;
        for Choice { spec, name, about: (about, is_bad) } in found.unwrap_or_default() {
            if ui.radio(spec == chosen, name).clicked() {
                picked = Some(spec.clone());
            }
            if !about.is_empty() {
                let colour = if *is_bad { theme::BAD } else { theme::QUIET };
                ui.horizontal_top(|ui| {
                    ui.add_space(24.0);
                    ui.add(egui::Label::new(RichText::new(about).small().color(colour)).wrap());
                });
            }
        }
        for (spec, key) in always {
            if ui.radio(*spec == chosen, self.words.say(key)).clicked() {
                picked = Some((*spec).to_owned());
            }
        }
        picked
    }

    fn show_checks(&mut self, ui: &mut Ui, checks: Option<&[Finding]>) {
        heading(ui, &self.words.say("computer"));
        let Some(checks) = checks else { return self.show_search(ui, "checking") };
        for Finding { status, detail, advice } in checks {
            let (sign, colour, key) = match status {
                Status::Ok => ("✓", theme::GOOD, "check-good"),
                Status::Warn => ("•", theme::ACCENT, "check-weak"),
                Status::Fail => ("✗", theme::BAD, "check-bad"),
            };
            ui.horizontal_top(|ui| {
                ui.label(RichText::new(sign).color(colour).family(theme::strong())).on_hover_text(self.words.say(key));
                ui.vertical(|ui| {
                    ui.spacing_mut().item_spacing.y = 2.0;
                    ui.add(egui::Label::new(RichText::new(detail).color(theme::TEXT)).wrap());
                    if let Some(advice) = advice {
                        ui.add(egui::Label::new(RichText::new(advice).small().color(theme::QUIET)).wrap());
                    }
                });
            });
        }
        if quiet(ui, &self.words.say("check-again")).clicked() {
            self.acts.push(Act::Examine);
        }
    }

    fn show_search(&self, ui: &mut Ui, key: &str) {
        ui.horizontal_wrapped(|ui| {
            ui.add(Spinner::new().size(18.0).color(theme::ACCENT));
            aside(ui, &self.words.say(key));
        });
    }
}
