//! Pages over the picture of a call: how things stand, buttons, figures.

use egui::accesskit::Live;
use egui::{Align2, Area, CornerRadius, Frame, Margin, RichText, ScrollArea, Slider, Ui, vec2};
use picture::effects::Effect;
use showing::sink::{Press, Said};

use super::parts::{aside, ending, field, named, portrait, primary, quiet, spoken, switch};
use super::{LOW, Screens};
use crate::balance;
use crate::face::theme;
use crate::facts::{Act, Facts, InCall};
use crate::people::State;

/// Letters of a text, as the other side takes them, and texts that are shown.
const TEXT_MAX: usize = 1000;
const TEXTS_MAX: usize = 8;
/// Points between the bar, the sentences above it and the window's edge.
const BESIDE: f32 = 12.0;
/// Points above and below the contents of one of them.
const AROUND: f32 = 20.0 + 2.0 * BESIDE;
/// Points that the bar leaves for sentences at least.
const SENTENCES: f32 = 52.0;
/// Effects on the own picture, each with its name in the catalogue.
const EFFECTS: [(Effect, &str); 4] = [
    (Effect::Detail, "effect-detail"),
    (Effect::Noise, "effect-noise"),
    (Effect::StillNoise, "effect-still-noise"),
    (Effect::EvenLight, "effect-even-light"),
];

/// A sentence: its name, and whether a screen reader says it by itself.
type Sentence = (&'static str, RichText, Live);

impl Screens {
    pub(super) fn over_picture(&mut self, ui: &mut Ui, call: &Said, facts: &Facts, pressed: &mut Vec<Press>) {
        let screen = ui.max_rect();
        let width = screen.width();
        let veil = |ui: &mut Ui, contents: &mut dyn FnMut(&mut Ui)| {
            Frame::NONE
                .fill(theme::VEIL)
                .corner_radius(CornerRadius::same(14))
                .inner_margin(Margin::symmetric(14, 10))
                .show(ui, |ui| contents(ui));
        };
        let context = ui.ctx().clone();
        if let Some(notice) = &call.notice {
            Area::new(egui::Id::unique("notice"))
                .anchor(Align2::CENTER_CENTER, vec2(0.0, -screen.height() * 0.12))
                .show(&context, |ui| {
                    veil(ui, &mut |ui| {
                        ui.set_max_width((width - 60.0).min(460.0));
                        let notice = self.words.of_engine(notice);
                        ui.vertical_centered(|ui| self.show_notice(ui, &notice, facts, screen.height() < LOW));
                    });
                });
        }
        if self.typed.texts_shown {
            Area::new(egui::Id::unique("texts")).anchor(Align2::RIGHT_TOP, vec2(-12.0, 12.0)).show(&context, |ui| {
                veil(ui, &mut |ui| {
                    ui.set_max_width((width - 60.0).min(300.0));
                    self.show_texts(ui, facts);
                });
            });
        }
        if self.typed.details_shown && !call.details.is_empty() {
            Area::new(egui::Id::unique("figures")).anchor(Align2::LEFT_TOP, vec2(12.0, 12.0)).show(&context, |ui| {
                veil(ui, &mut |ui| {
                    ui.set_max_width((width - 60.0).min(460.0));
                    ui.spacing_mut().item_spacing.y = 2.0;
                    for line in &call.details {
                        ui.label(RichText::new(line).small().color(theme::TEXT));
                    }
                });
            });
        }
        let wide = (width - 60.0).min(860.0);
        let bar = Area::new(egui::Id::unique("bar")).anchor(Align2::CENTER_BOTTOM, vec2(0.0, -BESIDE));
        let bar = bar.show(&context, |ui| {
            veil(ui, &mut |ui| {
                ui.set_width(wide);
                ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                let most = screen.height() - AROUND - SENTENCES;
                // Else it would grow by a row each time that it is shown.
                ScrollArea::vertical().max_height(most).min_scrolled_height(most).show(ui, |ui| {
                    if self.adjusts(call) {
                        return self.show_adjusting(ui, &facts.call);
                    }
                    ui.horizontal_wrapped(|ui| self.show_call_buttons(ui, call, &facts.call, pressed));
                });
            });
        });
        let sentences = self.sentences(call, facts);
        if sentences.is_empty() {
            return;
        }
        // They have a place of their own, so that none that comes or goes moves a button under a hand.
        let above = bar.response.rect.height() + 2.0 * BESIDE;
        let most = screen.height() - above - AROUND + BESIDE;
        Area::new(egui::Id::unique("sentences")).anchor(Align2::CENTER_BOTTOM, vec2(0.0, -above)).show(
            &context,
            |ui| {
                veil(ui, &mut |ui| {
                    ui.set_width(wide);
                    ScrollArea::vertical().max_height(most).min_scrolled_height(most).show(ui, |ui| {
                        ui.vertical_centered(|ui| {
                            sentences.iter().for_each(|(name, text, live)| spoken(ui, *name, text.clone(), *live));
                        });
                    });
                });
            },
        );
    }

    /// Returns true while sliders stand in place of the buttons.
    fn adjusts(&self, call: &Said) -> bool {
        self.typed.adjusts && call.sends
    }

    /// Returns what is said above the buttons: who records, what is wrong, and how things stand, which a screen reader tells only when
    /// it is asked, as figures change all the time.
    fn sentences(&self, call: &Said, facts: &Facts) -> Vec<Sentence> {
        let InCall { they_hide, is_recording, they_record, trouble, .. } = &facts.call;
        let signs = [(*is_recording, "you-record"), (*they_record, "they-record"), (*they_hide, "they-hide")];
        let said: Vec<_> = signs.into_iter().filter(|(is_so, _)| *is_so).map(|(_, key)| self.words.say(key)).collect();
        // Who records stands above it.
        let is_recorded = *is_recording || *they_record;
        let line = call.line.split_once('\n').filter(|_| is_recorded).map_or(call.line.as_str(), |(_, rest)| rest);
        // Without a picture there is nothing to tell of it.
        let line = if call.notice.is_some() { "" } else { line };
        let sentence = call.message.as_deref().or(call.alert.as_deref()).unwrap_or(line);
        let sentence = if self.adjusts(call) { "" } else { sentence };
        let point = if is_recorded { "● " } else { "" };
        let said = (!said.is_empty()).then(|| format!("{point}{}", said.join(" · ")));
        let said = said.map(|said| ("signs", RichText::new(said).small().color(theme::BAD), Live::Polite));
        let trouble =
            trouble.as_ref().map(|trouble| ("trouble", RichText::new(trouble).color(theme::BAD), Live::Polite));
        let sentence = Some(self.words.of_engine(sentence)).filter(|sentence| !sentence.is_empty());
        let live = if call.message.is_some() || call.alert.is_some() { Live::Polite } else { Live::Off };
        let sentence = sentence.map(|sentence| ("stands", RichText::new(sentence).color(theme::QUIET), live));
        said.into_iter().chain(trouble).chain(sentence).collect()
    }

    /// Shows that the call is recorded, which stays while nothing else does.
    pub(crate) fn show_recording(&self, ui: &Ui, call: &InCall) {
        let signs = [(call.is_recording, "you-record"), (call.they_record, "they-record")];
        let said: Vec<_> = signs.into_iter().filter(|(is_so, _)| *is_so).map(|(_, key)| self.words.say(key)).collect();
        if said.is_empty() {
            return;
        }
        Area::new(egui::Id::unique("recording")).anchor(Align2::LEFT_BOTTOM, vec2(12.0, -12.0)).show(ui.ctx(), |ui| {
            Frame::NONE
                .fill(theme::VEIL)
                .corner_radius(CornerRadius::same(8))
                .inner_margin(Margin::symmetric(8, 4))
                .show(ui, |ui| ui.label(RichText::new(format!("● {}", said.join(" · "))).small().color(theme::BAD)));
        });
    }

    /// Shows the texts of the call once one has come.
    pub(crate) fn on_texts(&mut self, has_come: bool) {
        self.typed.texts_shown |= has_come;
    }

    fn show_notice(&self, ui: &mut Ui, notice: &str, facts: &Facts, is_low: bool) {
        match &facts.state {
            State::Calling { who, since_ms, rings, .. } => {
                let name = &who.name;
                if !is_low {
                    portrait(ui, name, 64.0, None);
                }
                let title = RichText::new(self.words.of_name(if *rings { "rings-there" } else { "looking-for" }, name))
                    .heading()
                    .color(theme::TEXT);
                spoken(ui, "calling", title, Live::Polite);
                let seconds = facts.now_ms.saturating_sub(*since_ms) / 1000;
                aside(ui, &self.words.with("looking-seconds", &[("seconds", seconds.into())]));
                if seconds >= 8 && !rings {
                    aside(ui, &self.words.say("looking-why"));
                    aside(ui, notice);
                }
            }
            _ => {
                spoken(ui, "notice", RichText::new(notice).size(17.0).color(theme::TEXT), Live::Polite);
            }
        }
    }

    fn show_texts(&mut self, ui: &mut Ui, facts: &Facts) {
        for (number, (is_own, text)) in facts.texts.iter().enumerate().skip(facts.texts.len().saturating_sub(TEXTS_MAX))
        {
            let (colour, live) = if *is_own { (theme::QUIET, Live::Off) } else { (theme::TEXT, Live::Polite) };
            spoken(ui, ("text", number), RichText::new(text).color(colour), live);
        }
        let entered = field(ui, "text", &self.words.say("say-something"), &mut self.typed.text, TEXT_MAX);
        if (entered || quiet(ui, "send", &self.words.say("send")).clicked()) && !self.typed.text.trim().is_empty() {
            self.acts.push(Act::Say(std::mem::take(&mut self.typed.text)));
        }
    }

    fn show_call_buttons(&mut self, ui: &mut Ui, call: &Said, facts: &InCall, pressed: &mut Vec<Press>) {
        let mut button = |ui: &mut Ui, [off, on]: [&str; 2], is_on, press| {
            if switch(ui, press, self.words.both(off, on), is_on).clicked() {
                pressed.push(press);
            }
        };
        if let Some(is_muted) = call.is_muted {
            button(ui, ["mute", "unmute"], is_muted, Press::Mute);
        }
        if call.sends {
            button(ui, ["show-self", "hide-self"], call.own_shown, Press::Own);
            if switch(ui, "hide-picture", self.words.both("hide-picture", "show-picture"), facts.is_hidden).clicked() {
                self.acts.push(Act::Hide(!facts.is_hidden));
            }
            if quiet(ui, "adjust", &self.words.say("adjust")).clicked() {
                self.typed.adjusts = true;
            }
        }
        button(ui, ["mirror"; 2], false, Press::Mirror);
        button(ui, ["snapshot"; 2], false, Press::Save);
        button(ui, ["fullscreen", "window"], call.is_fullscreen, Press::Fullscreen);
        button(ui, ["second", "second-close"], call.has_second, Press::Second);
        if switch(ui, "record", self.words.both("record", "record-end"), facts.is_recording).clicked() {
            self.acts.push(Act::Record(!facts.is_recording));
        }
        if quiet(ui, "texts", &self.words.say("texts")).clicked() {
            self.typed.texts_shown = !self.typed.texts_shown;
        }
        if quiet(ui, "figures", &self.words.say("figures")).clicked() {
            self.typed.details_shown = !self.typed.details_shown;
        }
        if ending(ui, Press::HangUp, &self.words.say("hang-up")).clicked() {
            pressed.push(Press::HangUp);
        }
    }

    /// Shows the sliders in place of the buttons.
    fn show_adjusting(&mut self, ui: &mut Ui, call: &InCall) {
        let mut step = call.balance;
        let name = ui.label(RichText::new(self.words.say("balance")).color(theme::TEXT));
        ui.horizontal_wrapped(|ui| {
            aside(ui, &self.words.say("balance-soon"));
            let slider = Slider::new(&mut step, -balance::STEPS..=balance::STEPS).show_value(false);
            if named(ui, "balance", |ui| ui.add(slider)).labelled_by(name.id).changed() {
                self.acts.push(Act::Balance(step));
            }
            aside(ui, &self.words.say("balance-fine"));
        });
        for (effect, key) in EFFECTS {
            let mut value = call.effects.get(effect);
            let name = ui.label(RichText::new(self.words.say(key)).color(theme::QUIET));
            let slider = Slider::new(&mut value, 0.0..=effect.most()).max_decimals(1);
            if named(ui, key, |ui| ui.add(slider)).labelled_by(name.id).changed() {
                self.acts.push(Act::Effect(effect, value));
            }
        }
        ui.horizontal_wrapped(|ui| {
            let texts = self.words.both("effects-on", "effects-off");
            if !call.effects.is_off() && switch(ui, "effects", texts, call.effects_on).clicked() {
                self.acts.push(Act::SwitchEffects);
            }
            if primary(ui, "done", &self.words.say("done")).clicked() {
                self.typed.adjusts = false;
            }
        });
    }
}
