//! Those who are known, and the one who calls.

use common::reach::NAME_MAX;
use egui::accesskit::Live;
use egui::{RichText, Ui};

use super::parts::{
    aside, at_right, card, centred, ending, field, heading, mark, named, portrait, primary, quiet, spoken,
};
use super::{LOW, Page, Screens};
use crate::face::theme;
use crate::facts::{Act, Facts};
use crate::line::Course;
use crate::people::{Person, Presence, Who};
use shell::cli::OTHERS_MAX;

/// Width under which buttons stand below a name, points.
const NARROW: f32 = 560.0;
/// Reasons that are shown.
const REASONS_MAX: usize = 4;

impl Screens {
    pub(super) fn show_people(&mut self, ui: &mut Ui, facts: &Facts) {
        let [invite, join, settings] = ["invite", "join", "settings"].map(|key| self.say(key));
        ui.horizontal_wrapped(|ui| {
            mark(ui, 28.0);
            let title = RichText::new(self.words.say("app")).heading().color(theme::TEXT);
            ui.label(title);
            if quiet(ui, "settings", &settings).clicked() {
                self.go(Page::Settings);
            }
        });
        ui.add_space(8.0);
        self.show_news(ui, facts);
        self.show_offer(ui, facts);
        if facts.people.is_empty() {
            card(ui, |ui| {
                heading(ui, &self.words.say("people-none"));
                aside(ui, &self.words.say("people-none-what"));
            });
        } else {
            heading(ui, &self.say("people"));
            for person in &facts.people {
                card(ui, |ui| self.show_person(ui, person, facts));
            }
        }
        ui.add_space(4.0);
        if self.typed.ticked.is_some() {
            aside(ui, &self.words.say("together-what"));
            ui.horizontal_wrapped(|ui| self.show_together(ui, facts));
            return;
        }
        ui.horizontal_wrapped(|ui| {
            let is_next = facts.people.is_empty() && facts.offered.is_none();
            let invited = if is_next { primary(ui, "invite", &invite) } else { quiet(ui, "invite", &invite) };
            if invited.clicked() {
                self.go(Page::Invite);
            }
            if quiet(ui, "join", &join).clicked() {
                self.go(Page::Join);
            }
            self.show_together(ui, facts);
        });
        self.show_reasons(ui, facts);
    }

    fn show_news(&mut self, ui: &mut Ui, facts: &Facts) {
        if let Some(news) = &facts.news {
            card(ui, |ui| {
                ui.horizontal_wrapped(|ui| {
                    spoken(ui, "news", RichText::new(self.words.of_engine(news)).color(theme::TEXT), Live::Polite);
                    if quiet(ui, "close-news", &self.words.say("close")).clicked() {
                        self.acts.push(Act::Read);
                    }
                });
            });
        }
    }

    fn show_offer(&mut self, ui: &mut Ui, facts: &Facts) {
        if let Some(link) = &facts.offered {
            card(ui, |ui| {
                ui.label(RichText::new(self.words.say("join-clipboard")).color(theme::TEXT));
                ui.horizontal_wrapped(|ui| {
                    if primary(ui, "join-offer", &self.words.say("join-do")).clicked() {
                        self.typed.link.clone_from(link);
                        self.acts.push(Act::ForgetOffer);
                        self.go(Page::Join);
                    }
                    if quiet(ui, "close-offer", &self.words.say("close")).clicked() {
                        self.acts.push(Act::ForgetOffer);
                    }
                });
            });
        }
    }

    fn show_person(&mut self, ui: &mut Ui, person: &Person, facts: &Facts) {
        if let Some((_, name)) = self.typed.renames.as_mut().filter(|(key, _)| *key == person.key) {
            let entered = field(ui, ("name", person.key), &self.words.say("name-of-other"), name, NAME_MAX);
            let name = name.clone();
            ui.horizontal_wrapped(|ui| {
                if primary(ui, ("save", person.key), &self.words.say("save")).clicked() || entered {
                    self.acts.push(Act::Rename(person.key, name));
                    self.typed.renames = None;
                }
                if quiet(ui, ("not-rename", person.key), &self.words.say("cancel")).clicked() {
                    self.typed.renames = None;
                }
            });
            return;
        }
        if self.typed.removes == Some(person.key) {
            heading(ui, &self.words.of_name("remove-sure", &person.name));
            aside(ui, &self.words.of_name("remove-what", &person.name));
            ui.horizontal_wrapped(|ui| {
                if ending(ui, ("remove-now", person.key), &self.words.say("remove")).clicked() {
                    self.acts.push(Act::Remove(person.key));
                    self.typed.removes = None;
                }
                if quiet(ui, ("not-remove", person.key), &self.words.say("cancel")).clicked() {
                    self.typed.removes = None;
                }
            });
            return;
        }
        let (point, state) = match person.presence {
            Presence::There => (theme::GOOD, "is-there"),
            Presence::InCall => (theme::ACCENT, "is-busy"),
            Presence::Likely => (theme::GOOD, "is-likely"),
            Presence::Gone(_) => (theme::QUIET, "is-away"),
            Presence::Unknown => (theme::QUIET, "is-unknown"),
        };
        let mut state = self.say(state);
        if let Some(last) = person.last_call_ms {
            let when = self.ago(facts.now_ms.saturating_sub(last));
            state = format!("{state} · {}", self.words.with("last-call", &[("when", when.into())]));
        }
        let is_narrow = ui.available_width() < NARROW;
        let is_tested = matches!(&facts.line, Some((key, Course::Runs)) if *key == person.key);
        ui.horizontal(|ui| {
            portrait(ui, &person.name, 44.0, Some(point));
            ui.vertical(|ui| {
                if !is_narrow {
                    ui.set_max_width(ui.available_width() - 230.0);
                }
                ui.spacing_mut().item_spacing.y = 2.0;
                heading(ui, &person.name);
                aside(ui, &state);
            });
            if !is_narrow {
                at_right(ui, |ui| self.show_buttons(ui, person, is_tested, true));
            }
        });
        if is_narrow {
            ui.horizontal_wrapped(|ui| self.show_buttons(ui, person, is_tested, false));
        }
        if self.typed.opened == Some(person.key) {
            ui.horizontal_wrapped(|ui| self.show_more(ui, person, is_tested));
        }
        if let Some((_, course)) = facts.line.as_ref().filter(|(key, _)| *key == person.key) {
            self.show_line(ui, &person.name, course);
        }
    }

    /// Shows the buttons that are wanted often, or the box to tick.
    fn show_buttons(&mut self, ui: &mut Ui, person: &Person, is_tested: bool, from_right: bool) {
        if let Some(ticked) = &mut self.typed.ticked {
            let mut is_ticked = ticked.contains(&person.key);
            let is_free = is_ticked || ticked.len() < OTHERS_MAX;
            let tick = egui::Checkbox::new(&mut is_ticked, self.words.say("tick"));
            if named(ui, ("tick", person.key), |ui| ui.add_enabled(is_free, tick)).changed() {
                match is_ticked {
                    true => ticked.push(person.key),
                    false => ticked.retain(|key| *key != person.key),
                }
            }
            return;
        }
        let call = |screens: &mut Self, ui: &mut Ui| {
            // A test has the port of the two.
            let name = ("call", person.key);
            let called = ui.add_enabled_ui(!is_tested, |ui| primary(ui, name, &screens.words.say("call")).clicked());
            if called.inner {
                screens.acts.push(Act::Call(person.key));
            }
        };
        if !from_right {
            call(self, ui);
        }
        let is_open = self.typed.opened == Some(person.key);
        if quiet(ui, ("more", person.key), &self.words.say(if is_open { "less" } else { "more" })).clicked() {
            self.typed.opened = (!is_open).then_some(person.key);
        }
        if from_right {
            call(self, ui);
        }
    }

    /// Shows the buttons that are wanted rarely.
    fn show_more(&mut self, ui: &mut Ui, person: &Person, is_tested: bool) {
        let is_there = matches!(person.presence, Presence::There | Presence::Likely) && !is_tested;
        let test = |ui: &mut Ui| quiet(ui, ("line-test", person.key), &self.words.say("line-test")).clicked();
        if ui.add_enabled_ui(is_there, test).inner {
            self.acts.push(Act::TestLine(person.key));
        }
        if quiet(ui, ("rename", person.key), &self.words.say("rename")).clicked() {
            self.typed.renames = Some((person.key, person.name.clone()));
        }
        if quiet(ui, ("remove", person.key), &self.words.say("remove")).clicked() {
            self.typed.removes = Some(person.key);
        }
    }

    /// Shows how the test of the line to somebody stands.
    fn show_line(&mut self, ui: &mut Ui, name: &str, course: &Course) {
        match course {
            Course::Runs => {
                ui.horizontal_wrapped(|ui| {
                    ui.add(egui::Spinner::new().size(18.0).color(theme::ACCENT));
                    aside(ui, &self.words.of_name("line-runs", name));
                });
                return;
            }
            Course::Failed(why) => {
                spoken(ui, "why", RichText::new(self.words.of_engine(why)).color(theme::BAD), Live::Polite);
            }
            Course::Tested(line) => {
                for key in line.verdicts {
                    ui.label(RichText::new(self.words.say(key)).color(theme::TEXT));
                }
                let number = |value: f64| if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
                let mut figures = self.words.with(
                    "line-figures",
                    &[
                        ("there", number(line.there).into()),
                        ("ms", format!("{:.0}", line.round_trip_ms).into()),
                        ("lost", number(line.lost_percent).into()),
                    ],
                );
                if let Some(back) = line.back {
                    figures = format!("{figures} {}", self.words.with("line-back", &[("back", number(back).into())]));
                }
                aside(ui, &figures);
                aside(ui, &self.words.say("line-taken"));
            }
        }
        if quiet(ui, "close-line", &self.words.say("close")).clicked() {
            self.acts.push(Act::ForgetLine);
        }
    }

    /// Shows the way to call several at once.
    fn show_together(&mut self, ui: &mut Ui, facts: &Facts) {
        let Some(ticked) = &mut self.typed.ticked else {
            if facts.people.len() > 1 && quiet(ui, "together", &self.words.say("together")).clicked() {
                (self.typed.ticked, self.typed.opened) = (Some(Vec::new()), None);
            }
            return;
        };
        ticked.retain(|key| facts.people.iter().any(|person| person.key == *key));
        let count = ticked.len();
        let text = self.words.with("together-call", &[("count", count.into())]);
        if ui.add_enabled_ui(count > 1, |ui| primary(ui, "together-call", &text).clicked()).inner {
            self.acts.extend(self.typed.ticked.take().map(Act::CallTogether));
        }
        if quiet(ui, "not-together", &self.words.say("cancel")).clicked() {
            self.typed.ticked = None;
        }
    }

    fn show_reasons(&self, ui: &mut Ui, facts: &Facts) {
        let mut reasons: Vec<_> = facts
            .people
            .iter()
            .flat_map(|person| person.reasons.iter().map(move |reason| (reason.at_ms, &person.name, &reason.what)))
            .collect();
        reasons.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        if !reasons.is_empty() {
            ui.add_space(8.0);
            heading(ui, &self.say("reasons"));
            for (at, name, what) in reasons.into_iter().take(REASONS_MAX) {
                aside(ui, &format!("{} · {name}: {}", self.ago(facts.now_ms.saturating_sub(at)), self.words.why(what)));
            }
        }
    }

    /// Shows who calls, over everything else.
    pub(super) fn show_ringing(&mut self, ui: &mut Ui, Who { key, name }: &Who) {
        let is_low = ui.clip_rect().height() < LOW;
        ui.add_space(if is_low { 0.0 } else { 80.0 });
        card(ui, |ui| {
            ui.vertical_centered(|ui| {
                portrait(ui, name, if is_low { 44.0 } else { 84.0 }, None);
                let rings = RichText::new(self.words.of_name("ringing", name)).heading().color(theme::TEXT);
                spoken(ui, "rings", rings, Live::Assertive);
                aside(ui, &self.words.say("ringing-what"));
                ui.add_space(6.0);
                let [taking, declining] = ["take", "decline"].map(|key| self.words.say(key));
                centred(ui, [&taking, &declining], |ui| {
                    let take = primary(ui, ("take", key), &taking);
                    if take.clicked() {
                        self.acts.push(Act::Take(*key));
                    }
                    if ui.memory(|memory| memory.focused().is_none()) {
                        take.request_focus();
                    }
                    if ending(ui, ("decline", key), &declining).clicked() {
                        self.acts.push(Act::Decline(*key));
                    }
                });
            });
        });
    }
}

impl Screens {
    /// Returns a time that has passed, short: 12 min, 3 h, 5 d.
    fn ago(&self, ms: u64) -> String {
        let with = |key, count: u64| self.words.with(key, &[("count", count.into())]);
        match ms / 60_000 {
            0 => self.say("ago-now"),
            minutes @ ..60 => with("ago-minutes", minutes),
            minutes @ ..2880 => with("ago-hours", minutes / 60),
            minutes => with("ago-days", minutes / 1440),
        }
    }
}
