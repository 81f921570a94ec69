//! Every page in every language at several sizes and scales, laid out without a window: nothing lies beside the window, and nothing
//! is cut off.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod keyboard;
mod reader;

use std::collections::BTreeMap;

use egui::accesskit::Node;
use egui::epaint::{ClippedShape, Shape};
use egui::{Context, Event, FullOutput, Key, Modifiers, Pos2, RawInput, Rect, WidgetRect, vec2};
use picture::effects::{Effect, Effects};
use shell::doctor::Status;
use showing::sink::Said;

use super::*;
use crate::computer::mend::{Mend, NOBODY_AGREED};
use crate::computer::trial::Standing;
use crate::facts::{Choice, Finding, InCall, Machine};
use crate::line::{Course, Line};
use crate::people::{Person, Presence, Reason, State, What, Who};
use crate::words::LANGUAGES;

/// Keys of three people (RFC 8032, 7.1).
const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const SECOND_KEY: &str = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
const THIRD_KEY: &str = "/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU=";
const LINK: &str =
    "duet:duet-ticket-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQr";
/// Widths and heights of windows, pixels, and their scales.
const SIZES: [(f32, f32, f32); 6] = [
    (1280.0, 720.0, 1.0),
    (1280.0, 720.0, 1.5),
    (1280.0, 720.0, 2.0),
    (640.0, 400.0, 1.0),
    (640.0, 400.0, 1.5),
    (640.0, 400.0, 2.0),
];

fn person(name: &str, presence: Presence) -> Person {
    let reasons = vec![Reason { at_ms: 5_000_000, what: What::NotFound }];
    Person { key: KEY.parse().unwrap(), name: name.to_owned(), presence, last_call_ms: Some(1_000), reasons }
}

fn clara() -> Who {
    Who { key: KEY.parse().unwrap(), name: "Clara".to_owned() }
}

fn facts() -> Facts {
    let choice = |spec: &str, name: &str, about: &str, is_bad| Choice {
        spec: spec.to_owned(),
        name: name.to_owned(),
        about: (about.to_owned(), is_bad),
    };
    let finding = |status, detail: &str, advice: Option<&str>| Finding {
        name: "socket buffers".to_owned(),
        status,
        detail: detail.to_owned(),
        advice: advice.map(str::to_owned),
        mend: (status == Status::Warn).then_some(Mend::RealTime),
    };
    let machine = Machine {
        cameras: Some(vec![
            choice(
                "camera:index=0",
                "HD Pro Webcam C920",
                "1280x720, 30 / s: the largest that this computer codes in time",
                false,
            ),
            choice("camera:index=2", "USB Capture", "another program has it", true),
        ]),
        cards: Some(vec![choice("jack", "jack", "PipeWire, 48000 Hz, periods of 128 frames", false)]),
        checks: Some(vec![
            finding(Status::Ok, "the router keeps a port's number whoever is called", None),
            finding(
                Status::Warn,
                "no real-time priority: sound may stutter under load",
                Some("be a member of the group `audio`"),
            ),
            finding(Status::Fail, "OpenCL: no device", None),
        ]),
        camera: "camera:index=0".to_owned(),
        card: "auto".to_owned(),
        trouble: Some("camera 0 cannot be opened: another program uses it: end that one".to_owned()),
        standing: Standing { is_open: true, trouble: Some("no microphone is connected".to_owned()) },
        level: Some(-23.0),
        mended: Some(NOBODY_AGREED.to_owned()),
        ..Machine::default()
    };
    Facts {
        people: vec![
            person("Clara", Presence::There),
            Person {
                key: SECOND_KEY.parse().unwrap(),
                ..person("Maximiliane-von-und-zu-Hohenfels", Presence::Gone(1_000))
            },
        ],
        machine,
        now_ms: 9_000_000,
        ..Facts::default()
    }
}

fn recorded() -> InCall {
    let effects = Effects::default().with(Effect::Noise, 3.0).unwrap();
    InCall { they_record: true, is_recording: true, effects, effects_on: true, ..InCall::default() }
}

/// Each page, with its name.
fn pages() -> Vec<(&'static str, Page, Facts, Option<Said>)> {
    let base = facts();
    let meeting = |meeting| Facts { meeting, ..base.clone() };
    let name = || "Clara".to_owned();
    let invites = Meeting::Invites(Some(LINK.to_owned()));
    let long = "the other machine could not be reached before the ticket expired: did `invite` run there all the time?"
        .to_owned();
    let line = |course| Facts { line: Some((clara().key, course)), ..base.clone() };
    let verdicts = ["line-good", "line-practice"];
    let tested = Line { there: 4.2, back: Some(12.0), round_trip_ms: 43.2, lost_percent: 0.4, verdicts };
    let call = Said {
        line: "Picture 43 ms behind, line good".to_owned(),
        details: vec!["line    12.0 ms".to_owned(); 12],
        is_muted: Some(false),
        sends: true,
        ..Said::default()
    };
    let looking = Said { notice: Some("Looking for clara, 13 s; she must run Duet, too".to_owned()), ..call.clone() };
    let calling = State::Calling { who: clara(), since_ms: 1_000, rings: false, why_not: None };
    vec![
        ("start", Page::Start, base.clone(), None),
        ("settings", Page::Settings, base.clone(), None),
        ("searching", Page::Settings, Facts::default(), None),
        ("nobody", Page::People, Facts { news: Some(long.clone()), ..Facts::default() }, None),
        ("people", Page::People, Facts { offered: Some(LINK.to_owned()), ..base.clone() }, None),
        ("ticking", Page::People, base.clone(), None),
        ("opened", Page::People, line(Course::Runs), None),
        ("tested", Page::People, line(Course::Tested(tested)), None),
        ("untested", Page::People, line(Course::Failed(long.clone())), None),
        ("invite", Page::Invite, base.clone(), None),
        (
            "asking",
            Page::Invite,
            Facts { machine: Machine { asks_dht: true, ..Machine::default() }, ..base.clone() },
            None,
        ),
        ("invites", Page::Invite, meeting(invites), None),
        ("invited", Page::Invite, meeting(Meeting::Met(Some(name()))), None),
        ("join", Page::Join, meeting(Meeting::Failed(long)), None),
        ("reading", Page::Join, Facts { machine: Machine { reads: true, ..Machine::default() }, ..base.clone() }, None),
        ("joins", Page::Join, meeting(Meeting::Joins { answer: Some(LINK.to_owned()) }), None),
        ("known", Page::Join, meeting(Meeting::Met(None)), None),
        ("joined", Page::Join, meeting(Meeting::Met(Some(name()))), None),
        ("ringing", Page::People, Facts { rings: Some(clara()), ..base.clone() }, None),
        ("looking", Page::People, Facts { state: calling, ..base.clone() }, Some(looking)),
        ("recorded", Page::People, Facts { call: recorded(), ..base.clone() }, Some(call.clone())),
        ("adjusting", Page::People, Facts { call: recorded(), ..base.clone() }, Some(call.clone())),
        ("call", Page::People, base, Some(call)),
    ]
}

/// A page without a window.
struct Shown {
    context: Context,
    screens: Screens,
    facts: Facts,
    call: Option<Said>,
    input: RawInput,
}

impl Shown {
    fn new(
        language: &str,
        page: Page,
        facts: Facts,
        call: Option<Said>,
        (width, height, scale): (f32, f32, f32),
    ) -> Self {
        let context = Context::default();
        theme::set(&context);
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(width, height) / scale)),
            focused: true,
            ..RawInput::default()
        };
        input.viewports.entry(egui::ViewportId::ROOT).or_default().native_pixels_per_point = Some(scale);
        let mut shown = Self { context, screens: Screens::new(Words::of(language), page), facts, call, input };
        // Sizes are known from the second time on.
        for _ in 0..3 {
            shown.pass(Vec::new());
        }
        shown
    }

    /// Opens what belongs to the page of that name.
    fn open(&mut self, name: &str) {
        let typed = &mut self.screens.typed;
        typed.adjusts = name == "adjusting";
        typed.ticked = (name == "ticking").then(|| vec![clara().key]);
        typed.opened = (name == "opened").then(|| clara().key);
        if typed.adjusts || typed.ticked.is_some() || typed.opened.is_some() {
            (0..2).for_each(|_| drop(self.pass(Vec::new())));
        }
    }

    fn pass(&mut self, events: Vec<Event>) -> Vec<ClippedShape> {
        self.run(events).shapes
    }

    /// Returns what can have the keyboard.
    fn focusable(&self) -> Vec<WidgetRect> {
        self.context.viewport(|viewport| {
            let widgets = viewport.prev_pass.widgets.layers().flat_map(|(_, widgets)| widgets.iter());
            widgets.filter(|widget| widget.sense.is_focusable() && widget.enabled).copied().collect()
        })
    }

    /// Returns what a screen reader is told.
    fn told(&mut self) -> BTreeMap<u64, Node> {
        let told = self.run(Vec::new()).platform_output.accesskit_update.unwrap().nodes;
        told.into_iter().map(|(id, node)| (id.0, node)).collect()
    }

    fn run(&mut self, events: Vec<Event>) -> FullOutput {
        let Self { context, screens, facts, call, input } = self;
        let input = RawInput { events, ..input.clone() };
        let mut pressed = Vec::new();
        let mut output = context.run_ui(input, |ui| match call {
            Some(call) => screens.show_call(ui, call, facts, &mut pressed),
            None => screens.show(ui, facts),
        });
        output.textures_delta.clear();
        output
    }

    fn press(&mut self, pressed: Key) {
        self.pass(vec![key(pressed, true)]);
        self.pass(vec![key(pressed, false)]);
    }
}

fn key(key: Key, pressed: bool) -> Event {
    Event::Key { key, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE }
}

/// Returns the texts among shapes, each with where it lies and where it may be seen.
fn texts(shapes: &[ClippedShape]) -> Vec<(String, Rect, Rect, bool)> {
    fn add(shape: &Shape, clip: Rect, found: &mut Vec<(String, Rect, Rect, bool)>) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| add(shape, clip, found)),
            Shape::Text(text) => {
                let place = text.galley.rect.translate(text.pos.to_vec2());
                found.push((text.galley.text().to_owned(), place, clip, text.galley.elided));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    shapes.iter().for_each(|shape| add(&shape.shape, shape.clip_rect, &mut found));
    found
}

#[test]
fn nothing_is_cut_off_in_any_language_at_any_size() {
    let mut wrong = Vec::new();
    for (language, _) in LANGUAGES {
        for size in SIZES {
            let (width, height) = (size.0 / size.2, size.1 / size.2);
            for (name, page, facts, call) in pages() {
                let is_over_picture = call.is_some();
                let mut shown = Shown::new(language, page, facts, call, size);
                shown.open(name);
                let found = texts(&shown.pass(Vec::new()));
                assert!(found.len() > 2, "{name} in {language} at {size:?} shows {found:?}");
                for (text, place, clip, is_elided) in found {
                    // The link in its field is scrolled; pages scroll up and down.
                    if text.starts_with("duet:") {
                        continue;
                    }
                    let is_beside = place.left() < -0.5 || place.right() > width + 0.5;
                    let is_clipped = place.left() < clip.left() - 0.5 || place.right() > clip.right() + 0.5;
                    // What is scrolled is clipped within the window.
                    let is_scrolled = clip.bottom() < height - 0.5;
                    let is_below =
                        is_over_picture && !is_scrolled && (place.top() < -0.5 || place.bottom() > height + 0.5);
                    if is_beside || is_clipped || is_below || is_elided {
                        wrong
                            .push(format!("{name} in {language} at {size:?}: {text:?} at {place:?}, seen in {clip:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} texts are cut off:\n{}", wrong.len(), wrong.join("\n"));
}

/// The two buttons of a call that comes are in the middle, whatever their texts are.
#[test]
fn the_buttons_of_a_call_that_comes_are_in_the_middle() {
    for (language, _) in LANGUAGES {
        let rings = Facts { rings: Some(clara()), ..facts() };
        let mut shown = Shown::new(language, Page::People, rings, None, SIZES[0]);
        let found = texts(&shown.pass(Vec::new()));
        let place = |key: &str| {
            let wanted = shown.screens.words.say(key);
            found.iter().find(|(text, ..)| *text == wanted).map(|(_, place, ..)| *place).unwrap()
        };
        let middle = (place("take").left() + place("decline").right()) / 2.0;
        assert!((middle - SIZES[0].0 / 2.0).abs() < 2.0, "{language}: {middle}");
    }
}

/// Whoever aims at a button of a call hits it, or at a slider, whatever is said meanwhile, there or on the buttons: also in the
/// pass in which that changes.
#[test]
fn what_can_be_pressed_in_a_call_stays_where_it_is_when_sentences_come_and_texts_change() {
    let places = |shown: &Shown| -> BTreeMap<u64, Rect> {
        shown.focusable().iter().map(|widget| (widget.id.value(), widget.rect)).collect()
    };
    let long =
        "The network carries less than before: the picture is coarser, and it waits for what was lost".to_owned();
    let said = |line: &str, alert: Option<&String>, message: Option<&String>| Said {
        line: line.to_owned(),
        alert: alert.cloned(),
        message: message.cloned(),
        sends: true,
        is_muted: Some(false),
        ..Said::default()
    };
    let with = |they_record, they_hide, trouble: Option<&String>| InCall {
        they_record,
        they_hide,
        trouble: trouble.cloned(),
        ..InCall::default()
    };
    let sentences = [
        (said("Picture 43 ms behind, line good", None, None), with(false, false, None)),
        (said("Picture 43 ms behind, line good", Some(&long), None), with(false, true, None)),
        (said("Picture 43 ms behind, line good\nno sound", None, None), with(false, false, None)),
        (said("", None, Some(&long)), with(true, true, Some(&long))),
        (said("", None, None), with(true, false, None)),
        // All buttons say that something is on.
        (
            Said {
                is_muted: Some(true),
                own_shown: true,
                is_fullscreen: true,
                has_second: true,
                ..said("", None, None)
            },
            InCall { is_hidden: true, is_recording: true, ..InCall::default() },
        ),
        (said("", None, None), with(false, false, None)),
    ];
    let mut moved = Vec::new();
    for (language, _) in LANGUAGES {
        for size in [SIZES[0], SIZES[2], SIZES[3], SIZES[5]] {
            for page in ["call", "adjusting"] {
                let call = Some(said("", None, None));
                let mut shown = Shown::new(language, Page::People, facts(), call, size);
                shown.open(page);
                let before = places(&shown);
                assert!(before.len() > 4, "{page} in {language} at {size:?}: {before:?}");
                for (call, facts) in &sentences {
                    (shown.call, shown.facts.call) = (Some(call.clone()), facts.clone());
                    for pass in 0..3 {
                        shown.pass(Vec::new());
                        let now = places(&shown);
                        let others = before.iter().filter(|(id, place)| now.get(id) != Some(place)).count();
                        if others > 0 {
                            moved.push(format!("{page} in {language} at {size:?}, {call:?}, pass {pass}: {others}"));
                        }
                    }
                }
            }
        }
    }
    assert!(moved.is_empty(), "{} times:\n{}", moved.len(), moved.join("\n"));
}

#[test]
fn names_and_links_that_are_typed_become_what_the_files_take() {
    let mut screens = Screens::new(Words::of("en"), Page::Join);
    for (typed, name) in [
        ("Clara Schumann", "Clara Schumann"),
        ("", ""),
        ("\u{202e}evil\u{202c}", "evil"),
        ("../../x", "....x"),
        (&"x".repeat(10_000), &"x".repeat(32)),
    ] {
        screens.typed.own = typed.to_owned();
        screens.be_called();
        let acts = std::mem::take(&mut screens.acts);
        assert_eq!(acts, [Act::BeCalled(name.to_owned())], "{typed:?}");
    }
    for (text, wanted) in
        [(LINK, true), ("duet:", false), ("hello", false), ("duet:duet-ticket-A B\nC and more text", false)]
    {
        assert_eq!(is_link(text), wanted, "{text}");
    }
}
