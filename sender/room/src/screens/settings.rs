//! Camera, sound card and what this computer lacks: the first page of the first start, and the settings.

use egui::accesskit::Live;
use egui::{ProgressBar, RichText, Spinner, Ui};
use shell::doctor::Status;

use super::parts::{aside, card, heading, named, picture, primary, quiet, spoken, title};
use super::{Page, Screens};
use crate::computer::trial::Standing;
use crate::face::theme;
use crate::facts::{Act, Choice, Facts, Finding, Machine};
use crate::people::Answer;

/// Level at the lower end of the bar, decibels below full scale, and its width at most, points.
const LEVEL_DB: f32 = 60.0;
const LEVEL_WIDTH: f32 = 320.0;

/// Width of the sign before a check, points.
const SIGN_WIDTH: f32 = 16.0;

/// Checks of the doctor, each with its name in the catalogue.
const TITLES: [(&str, &str); 15] = [
    ("socket buffers", "title-buffers"),
    ("real-time priority", "title-priority"),
    ("clock", "title-clock"),
    ("mtu", "title-packets"),
    ("router", "title-router"),
    ("port", "title-port"),
    ("udp", "title-outside"),
    ("ipv6", "title-ipv6"),
    ("relay", "title-relay"),
    ("calls", "title-calls"),
    ("dht", "title-dht"),
    ("backend", "title-computes"),
    ("graphics card", "title-graphics"),
    ("camera", "camera"),
    ("configuration", "title-configuration"),
];

impl Screens {
    pub(super) fn show_settings(&mut self, ui: &mut Ui, facts: &Facts) {
        let is_first = self.page == Page::Start;
        if is_first {
            title(ui, &self.say("start-title"), None);
            aside(ui, &self.say("start-what"));
            if primary(ui, "start-go", &self.say("start-go")).clicked() {
                self.go(Page::People);
            }
        } else if title(ui, &self.say("settings-title"), Some(&self.say("back"))) {
            return self.go(Page::People);
        }
        card(ui, |ui| {
            if self.show_own_name(ui) {
                self.be_called();
            }
        });
        card(ui, |ui| self.show_cameras(ui, facts));
        card(ui, |ui| {
            heading(ui, &self.words.say("sound-card"));
            let always = [("auto", "sound-auto"), ("none", "sound-none")];
            let cards = facts.machine.cards.as_deref();
            if let Some(spec) = self.show_choices(ui, cards, &always, &facts.machine.card) {
                self.acts.push(Act::ChooseCard(spec));
            }
            self.show_trial(ui, facts);
        });
        card(ui, |ui| {
            heading(ui, &self.words.say("answer"));
            let answers = [
                (Answer::Rings, "answer-rings"),
                (Answer::AtOnce, "answer-at-once"),
                (Answer::DoNotDisturb, "answer-disturb"),
            ];
            for (answer, key) in answers {
                let is_chosen = answer == facts.answer;
                if named(ui, key, |ui| ui.radio(is_chosen, self.words.say(key))).clicked() {
                    self.acts.push(Act::Reply(answer));
                }
            }
        });
        card(ui, |ui| {
            let mut is_used = facts.machine.dht;
            if named(ui, "dht", |ui| ui.checkbox(&mut is_used, self.words.say("dht"))).clicked() {
                self.acts.push(Act::UseDht(is_used));
            }
            aside(ui, &self.words.say("dht-what"));
        });
        card(ui, |ui| self.show_checks(ui, &facts.machine));
    }

    /// Shows how loud the microphone is, and the button of the tone.
    fn show_trial(&mut self, ui: &mut Ui, facts: &Facts) {
        let Machine { standing: Standing { is_open, trouble }, level, sounds, .. } = &facts.machine;
        if let Some(trouble) = trouble {
            ui.add(egui::Label::new(RichText::new(trouble).small().color(theme::BAD)).wrap());
        }
        if !is_open {
            return;
        }
        aside(ui, &self.words.say("microphone"));
        let share = level.map_or(0.0, |db| (1.0 + db / LEVEL_DB).clamp(0.0, 1.0));
        let said = level.map_or_else(String::new, |db| format!("{db:.0} dB"));
        let wide = LEVEL_WIDTH.min(ui.available_width());
        ui.add(ProgressBar::new(share).desired_width(wide).fill(theme::LEVEL).text(said));
        if quiet(ui, "tone", &self.words.say(if *sounds { "tone-end" } else { "tone-play" })).clicked() {
            self.acts.push(Act::Sound(!sounds));
        }
    }

    fn show_cameras(&mut self, ui: &mut Ui, facts: &Facts) {
        heading(ui, &self.words.say("camera"));
        if let Some(preview) = &facts.machine.preview {
            picture(ui, preview, &self.words.say("preview"));
        }
        self.show_camera_trouble(ui, &facts.machine);
        match &facts.machine.cameras {
            None => self.show_search(ui, "camera-searching"),
            Some(cameras) => {
                let always = [("pattern", "camera-pattern")];
                if let Some(spec) = self.show_choices(ui, Some(cameras), &always, &facts.machine.camera) {
                    self.acts.push(Act::ChooseCamera(spec));
                }
            }
        }
    }

    /// Shows why there is no picture of the camera.
    pub(super) fn show_camera_trouble(&self, ui: &mut Ui, machine: &Machine) {
        match (&machine.cameras, &machine.trouble) {
            (Some(cameras), _) if cameras.is_empty() => aside(ui, &self.words.say("camera-none")),
            (Some(_), Some(trouble)) => {
                spoken(ui, "trouble", RichText::new(self.words.of_engine(trouble)).color(theme::BAD), Live::Polite);
            }
            _ => {}
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
            if named(ui, ("choice", spec), |ui| ui.radio(spec == chosen, name)).clicked() {
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
            if named(ui, key, |ui| ui.radio(*spec == chosen, self.words.say(key))).clicked() {
                picked = Some((*spec).to_owned());
            }
        }
        picked
    }

    fn show_checks(&mut self, ui: &mut Ui, machine: &Machine) {
        heading(ui, &self.words.say("computer"));
        if let Some(mended) = &machine.mended {
            spoken(ui, "mended", RichText::new(self.words.of_engine(mended)).color(theme::ACCENT), Live::Polite);
        }
        let Some(checks) = &machine.checks else { return self.show_search(ui, "checking") };
        for Finding { name, status, detail, advice, mend } in checks {
            let (sign, colour, key) = match status {
                Status::Ok => ("✓", theme::GOOD, "check-good"),
                Status::Warn => ("•", theme::ACCENT, "check-weak"),
                Status::Fail => ("✗", theme::BAD, "check-bad"),
            };
            ui.horizontal_top(|ui| {
                let sign = egui::Label::new(RichText::new(sign).color(colour).family(theme::strong()));
                let (sign, word) = (ui.add_sized([SIGN_WIDTH, 20.0], sign), self.words.say(key));
                ui.ctx().accesskit_node_builder(sign.id, |node| node.set_value(&*word));
                sign.on_hover_text(word);
                ui.vertical(|ui| {
                    ui.spacing_mut().item_spacing.y = 2.0;
                    let title = TITLES.iter().find(|(known, _)| known == name).map(|(_, key)| self.words.say(key));
                    let title = RichText::new(title.as_ref().unwrap_or(name)).family(theme::strong());
                    ui.label(title.color(theme::TEXT));
                    let colour = if *status == Status::Ok { theme::QUIET } else { theme::TEXT };
                    ui.add(egui::Label::new(RichText::new(self.words.of_engine(detail)).color(colour)).wrap());
                    if let Some(advice) = advice {
                        let advice = self.words.of_engine(advice);
                        ui.add(egui::Label::new(RichText::new(advice).small().color(theme::QUIET)).wrap());
                    }
                    if let Some(mend) = mend {
                        let is_free = machine.mends.is_none();
                        let mending = |ui: &mut Ui| quiet(ui, ("mend", name), &self.words.say("mend")).clicked();
                        if ui.add_enabled_ui(is_free, mending).inner {
                            self.acts.push(Act::Mend(*mend));
                        }
                    }
                });
            });
        }
        if quiet(ui, "check-again", &self.words.say("check-again")).clicked() {
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
