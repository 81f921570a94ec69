//! Every page by keyboard, without a window: it reaches all, and what has it keeps it whatever comes and goes beside.

use std::collections::{BTreeMap, BTreeSet};

use egui::accesskit::Role;

use super::*;

/// Tab goes to every button and field of each page, and back to the first; what has the keyboard is seen, in small windows, too.
#[test]
fn the_keyboard_reaches_all() {
    let mut unseen = BTreeSet::new();
    for (name, page, facts, call) in pages() {
        for size in [SIZES[0], SIZES[5]] {
            let mut shown = Shown::new("en", page, facts.clone(), call.clone(), size);
            shown.open(name);
            let wanted: BTreeSet<_> = shown.focusable().iter().map(|widget| widget.id.value()).collect();
            let mut reached = BTreeSet::new();
            for _ in 0..wanted.len() + 3 {
                shown.press(Key::Tab);
                let Some(id) = shown.context.memory(|memory| memory.focused()) else { continue };
                reached.insert(id.value());
                (0..2).for_each(|_| drop(shown.pass(Vec::new())));
                let place = shown.focusable().iter().find(|widget| widget.id == id).unwrap().rect;
                let screen = shown.input.screen_rect.unwrap();
                if !screen.expand(1.0).contains_rect(place) && place.height() < screen.height() {
                    unseen.insert(format!("{name} at {size:?}: {place:?}"));
                }
            }
            assert!(!wanted.is_empty(), "{name}");
            let missing = wanted.difference(&reached).count();
            assert!(missing == 0, "{name}: {missing} of {} are not reached", wanted.len());
        }
    }
    assert!(unseen.is_empty(), "{} beside the window:\n{}", unseen.len(), Vec::from_iter(unseen).join("\n"));
}

#[test]
fn enter_presses_what_has_the_keyboard_and_escape_goes_back() {
    let mut shown = Shown::new("en", Page::Invite, facts(), None, SIZES[0]);
    shown.press(Key::Escape);
    assert_eq!(shown.screens.page, Page::People);
    assert_eq!(shown.screens.acts, [Act::Leave]);
    // Who is called answers by Enter alone.
    let mut shown = Shown::new("en", Page::People, Facts { rings: Some(clara()), ..facts() }, None, SIZES[0]);
    shown.press(Key::Enter);
    assert_eq!(shown.screens.acts, [Act::Take(KEY.parse().unwrap())]);
}

/// Sentences above the buttons of a call, and a button that comes, leave the keyboard where it is.
#[test]
fn the_keyboard_stays_where_it_is_whatever_comes_beside() {
    let quiet = Said { sends: true, ..Said::default() };
    let mut shown = Shown::new("en", Page::People, facts(), Some(quiet.clone()), SIZES[0]);
    // "Record" is the eighth.
    (0..8).for_each(|_| shown.press(Key::Tab));
    let mut is_recording = false;
    for (line, trouble, they_hide, is_muted) in [
        ("Picture 43 ms behind, line good", None, false, None),
        ("Picture 43 ms behind, line good", Some("the disk is full"), false, None),
        ("", None, true, None),
        ("", None, false, Some(false)),
        ("", None, false, None),
    ] {
        shown.call = Some(Said { line: line.to_owned(), is_muted, ..quiet.clone() });
        let trouble = trouble.map(str::to_owned);
        shown.facts.call = InCall { trouble, they_hide, is_recording, ..InCall::default() };
        shown.press(Key::Enter);
        is_recording = !is_recording;
        assert_eq!(
            std::mem::take(&mut shown.screens.acts),
            [Act::Record(is_recording)],
            "{line:?} {they_hide} {is_muted:?}"
        );
    }
    // News and a link in the clipboard come on their own, too.
    let pressed = |tabs: usize, come: bool| {
        let mut shown = Shown::new("en", Page::People, Facts { news: None, offered: None, ..facts() }, None, SIZES[0]);
        (0..tabs).for_each(|_| shown.press(Key::Tab));
        if come {
            (shown.facts.news, shown.facts.offered) = (Some("the line is slow".to_owned()), Some(LINK.to_owned()));
        }
        shown.press(Key::Enter);
        (shown.screens.acts, shown.screens.page, shown.screens.typed.opened)
    };
    for tabs in 1..8 {
        assert_eq!(pressed(tabs, true), pressed(tabs, false), "{tabs}");
    }
}

/// Something that comes or goes by itself.
type Change = fn(&mut Shown, bool);

/// Each such thing.
const CHANGES: &[(&str, Change)] = &[
    ("news", |shown, comes| shown.facts.news = comes.then(|| "the line is slow".to_owned())),
    ("offer", |shown, comes| shown.facts.offered = comes.then(|| LINK.to_owned())),
    ("person", |shown, comes| {
        let key = THIRD_KEY.parse().unwrap();
        shown.facts.people.retain(|person| person.key != key);
        if comes {
            shown.facts.people.insert(0, Person { key, ..person("Anna", Presence::There) });
        }
    }),
    ("presence", |shown, comes| {
        for person in &mut shown.facts.people {
            person.presence = if comes { Presence::There } else { Presence::Likely };
            person.last_call_ms = comes.then_some(1_000);
        }
    }),
    ("reasons", |shown, comes| {
        for known in &mut shown.facts.people {
            known.reasons = if comes { person("", Presence::Unknown).reasons } else { Vec::new() };
        }
    }),
    ("line tested", |shown, comes| {
        shown.facts.line = comes.then(|| (clara().key, Course::Failed("no answer".to_owned())));
    }),
    ("camera's picture", |shown, comes| {
        let picture = egui::ColorImage::filled([64, 36], egui::Color32::RED);
        shown.facts.machine.preview =
            comes.then(|| shown.context.load_texture("preview", picture, egui::TextureOptions::LINEAR));
    }),
    ("camera's trouble", |shown, comes| shown.facts.machine.trouble = comes.then(|| "it is gone".to_owned())),
    ("cameras", |shown, comes| shown.facts.machine.cameras = comes.then(|| facts().machine.cameras).flatten()),
    ("another camera", |shown, comes| {
        let mut cameras = facts().machine.cameras.unwrap();
        if comes {
            cameras.insert(
                0,
                Choice { spec: "camera:index=7".to_owned(), name: "Other".to_owned(), ..cameras[0].clone() },
            );
        }
        shown.facts.machine.cameras = Some(cameras);
    }),
    ("words about a camera", |shown, comes| {
        let mut cameras = facts().machine.cameras.unwrap();
        cameras[0].about.0 = if comes { "good".to_owned() } else { String::new() };
        shown.facts.machine.cameras = Some(cameras);
    }),
    ("sound cards", |shown, comes| shown.facts.machine.cards = comes.then(|| facts().machine.cards).flatten()),
    ("sound", |shown, comes| shown.facts.machine.standing.is_open = comes),
    ("sound's trouble", |shown, comes| shown.facts.machine.standing.trouble = comes.then(|| "none".to_owned())),
    ("mended", |shown, comes| shown.facts.machine.mended = comes.then(|| NOBODY_AGREED.to_owned())),
    ("findings", |shown, comes| shown.facts.machine.checks = comes.then(|| facts().machine.checks).flatten()),
    ("another finding", |shown, comes| {
        let mut checks = facts().machine.checks.unwrap();
        checks[0].name = "port".to_owned();
        (checks[0].mend, checks[0].advice) =
            if comes { (Some(Mend::RealTime), Some("do that".to_owned())) } else { (None, None) };
        shown.facts.machine.checks = Some(checks);
    }),
    ("own name", |shown, comes| shown.facts.machine.name = if comes { "Robert".to_owned() } else { String::new() }),
    ("failure", |shown, comes| {
        if matches!(shown.facts.meeting, Meeting::None | Meeting::Failed(_)) {
            shown.facts.meeting = if comes { Meeting::Failed("no answer".to_owned()) } else { Meeting::None };
        }
    }),
    ("answer", |shown, comes| {
        if let Meeting::Joins { answer } = &mut shown.facts.meeting {
            *answer = comes.then(|| LINK.to_owned());
        }
    }),
    ("words about a link", |shown, comes| {
        shown.screens.typed.link = if comes { "no link".to_owned() } else { String::new() }
    }),
    ("notice", |shown, comes| said(shown, |call| call.notice = comes.then(|| "Looking for clara".to_owned()))),
    ("message", |shown, comes| said(shown, |call| call.message = comes.then(|| "Saved".to_owned()))),
    ("line", |shown, comes| {
        said(shown, |call| call.line = if comes { "Picture 43 ms".to_owned() } else { String::new() })
    }),
    ("microphone", |shown, comes| said(shown, |call| call.is_muted = comes.then_some(false))),
    ("own camera", |shown, comes| said(shown, |call| call.sends = comes)),
    ("their hiding", |shown, comes| shown.facts.call.they_hide = comes),
    ("their recording", |shown, comes| shown.facts.call.they_record = comes),
    ("recording's trouble", |shown, comes| shown.facts.call.trouble = comes.then(|| "the disk is full".to_owned())),
    ("texts", |shown, comes| {
        shown.screens.typed.texts_shown = true;
        shown.facts.texts = if comes { vec![(false, "hello".to_owned())] } else { Vec::new() };
    }),
    ("figures", |shown, comes| {
        shown.screens.typed.details_shown = true;
        said(shown, |call| call.details = if comes { vec!["line 12 ms".to_owned()] } else { Vec::new() });
    }),
    ("effects", |shown, comes| {
        let some = Effects::default().with(Effect::Noise, 3.0).unwrap();
        shown.facts.call.effects = if comes { some } else { Effects::default() };
    }),
];

fn said(shown: &mut Shown, change: impl FnMut(&mut Said)) {
    shown.call.iter_mut().for_each(change);
}

/// Returns what can have the keyboard, each with what a screen reader says of it.
fn stops(shown: &mut Shown) -> BTreeMap<u64, (Role, String)> {
    let told = shown.told();
    let stop = |id: egui::Id| {
        let node = told.get(&id.accesskit_id().0)?;
        Some((id.value(), (node.role(), node.label().unwrap_or_default().to_owned())))
    };
    shown.focusable().iter().filter_map(|widget| stop(widget.id)).collect()
}

/// Whatever comes or goes by itself: all that is there before and after stays the same for the keyboard.
#[test]
fn what_comes_and_goes_takes_the_keyboard_from_nothing() {
    let mut wrong = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for (name, page, facts, call) in pages() {
        // All of a page is seen.
        let mut shown = Shown::new("en", page, facts.clone(), call.clone(), (1280.0, 4000.0, 1.0));
        shown.context.enable_accesskit();
        for (what, change) in CHANGES {
            let show = |shown: &mut Shown, comes| {
                (shown.facts, shown.call, shown.screens.typed) = (facts.clone(), call.clone(), Typed::default());
                (shown.screens.page, shown.screens.typed.own) = (page, "Robert".to_owned());
                shown.open(name);
                change(shown, comes);
                shown.pass(Vec::new());
                let texts = texts(&shown.pass(Vec::new())).into_iter().map(|(text, place, ..)| (text, place));
                (stops(shown), texts.collect::<Vec<_>>())
            };
            let ((without, before), (with, after)) = (show(&mut shown, false), show(&mut shown, true));
            if before == after {
                continue;
            }
            for (one, other) in [(&without, &with), (&with, &without)] {
                for (id, stop) in one {
                    match other.get(id) {
                        Some(same) if same == stop => {}
                        Some(another) => drop(wrong.insert(format!("{name}, {what}: {stop:?} becomes {another:?}"))),
                        None if other.iter().any(|(new, same)| same == stop && !one.contains_key(new)) => {
                            wrong.insert(format!("{name}, {what}: {stop:?} loses the keyboard"));
                        }
                        None => {}
                    }
                }
            }
            if !seen.insert(*what) {
                continue;
            }
            // Pressed where it comes first, too.
            for (id, (role, label)) in without.iter().filter(|(id, _)| with.contains_key(id)) {
                show(&mut shown, false);
                let id = shown.focusable().iter().find(|widget| widget.id.value() == *id).unwrap().id;
                shown.context.memory_mut(|memory| memory.request_focus(id));
                show(&mut shown, true);
                shown.pass(vec![key(Key::Enter, true)]);
                let pressed = shown.context.read_response(id).unwrap();
                let is_pressed = pressed.clicked()
                    || matches!(role, Role::TextInput | Role::MultilineTextInput | Role::Slider | Role::SpinButton);
                if !is_pressed {
                    wrong.insert(format!("{name}, {what}: Enter does not press {label:?}"));
                }
                shown.pass(vec![key(Key::Enter, false)]);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of:\n{}", wrong.len(), Vec::from_iter(wrong).join("\n"));
    let unseen: Vec<_> = CHANGES.iter().map(|(what, _)| *what).filter(|what| !seen.contains(what)).collect();
    assert!(unseen.is_empty(), "on no page: {unseen:?}");
}
