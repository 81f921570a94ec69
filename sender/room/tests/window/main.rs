//! Two people at two screens, who do not know each other and see each other after a few clicks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod homes;
mod hours;
mod person;
mod screen;

use std::fs;
use std::path::Path;

use crate::homes::World;
use crate::person::{NEXT, Person, until};

/// Numbers of keys.
const TAB: u8 = 23;
const ENTER: u8 = 36;
const ESCAPE: u8 = 9;
const LETTER_V: u8 = 55;
const LETTER_W: u8 = 25;
const LETTER_F: u8 = 41;
/// The colour of the dot that tells of a recording, and its pixels at least.
const DOT: u32 = 0x00ff_8f86;
const DOT_PIXELS: usize = 20;

/// Lets two get to know each other and begin a call.
fn met(names: [&'static str; 2]) -> (Person, Person) {
    let robert = Person::new(names[0], &[]);
    robert.press_next("invite", true);
    robert.press_next("make the link", true);
    robert.press_next("copy", false);
    let link = until("the link", || robert.screen.clipboard()).trim().to_owned();
    assert!(link.starts_with("duet:"), "{link}");
    // A link in a message opens the program.
    let clara = Person::new(names[1], &[&link]);
    clara.press_next("join", true);
    clara.press_next("call", true);
    robert.press_next("take", true);
    clara.sees_a_picture();
    robert.sees_a_picture();
    for person in [&robert, &clara] {
        let given = fs::read(format!("/proc/{}/environ", person.program.id())).unwrap();
        let is_set = given.split(|byte| *byte == 0).any(|setting| setting.starts_with(b"MALLOC_MMAP_THRESHOLD_="));
        assert!(is_set, "{}: memory of pictures stays from call to call", person.name);
    }
    (robert, clara)
}

#[test]
fn two_strangers_see_each_other_after_a_few_clicks() {
    let (robert, clara) = met(["robert", "clara"]);
    robert.screen.give_keyboard();
    robert.show_buttons();
    // Without a microphone "Record" is the eighth.
    robert.move_on(TAB, 8);
    robert.screen.press(ENTER);
    for person in [&robert, &clara] {
        until(&format!("{}: the dot", person.name), || {
            person.shot("recorded").filter(|shot| shot.count(DOT) >= DOT_PIXELS)
        });
    }
    until("the recording", || fs::read_dir(robert.home.join("Duet")).ok()?.next().map(drop));
}

/// A second window has the picture; it covers a screen, and whoever closes it goes on with the call. The next call opens it as it was.
#[test]
fn a_second_window_has_the_picture_and_leaves_the_call_alone() {
    let (robert, clara) = met(["robert-with-two", "clara-with-one"]);
    let screen = &robert.screen;
    let first = screen.windows()[0];
    screen.give_keyboard_to(first);
    robert.show_buttons();
    // Without a microphone "Second window" is the seventh.
    robert.move_on(TAB, 7);
    screen.press(ENTER);
    let second = robert.second_window(first);
    assert_eq!(screen.place(second), Some((320, 180, 640, 360)));
    screen.give_keyboard_to(second);
    screen.press(LETTER_F);
    until("full screen", || (screen.place(second) == Some((0, 0, 1280, 720))).then_some(()));
    robert.shot("second window full");
    screen.press(LETTER_F);
    until("its place of before", || (screen.place(second) == Some((320, 180, 640, 360))).then_some(()));
    screen.press(ESCAPE);
    robert.has_one_window();
    // By its key, and by its cross.
    screen.give_keyboard_to(first);
    screen.press(LETTER_W);
    screen.close(robert.second_window(first));
    robert.has_one_window();
    robert.sees_a_picture();
    clara.sees_a_picture();
    screen.give_keyboard_to(first);
    screen.press(LETTER_W);
    screen.give_keyboard_to(robert.second_window(first));
    screen.press(LETTER_F);
    until("full screen again", || {
        screen.windows().into_iter().all(|window| screen.place(window) == Some((0, 0, 1280, 720))).then_some(())
    });
    // It ends with the call, and is there again in the next one, as it was.
    clara.hang_up();
    robert.has_one_window();
    clara.press_next("call again", true);
    robert.take_call();
    let second = robert.second_window(first);
    until("full screen at once", || (screen.place(second) == Some((0, 0, 1280, 720))).then_some(()));
}

/// The transcript of a first evening: two empty homes behind two routers, and nothing is done but what is clicked and sent in a message.
#[test]
fn two_strangers_behind_routers_see_each_other_after_a_few_clicks() {
    let Some(world) = World::new() else {
        eprintln!("NOT TESTED: network namespaces cannot be made here: run this as root");
        return;
    };
    let start = |name, side, arguments: &[&str]| {
        let picture = "[video]\nsource = \"pattern:size=640x360:fps=30\"\n";
        Person::start(name, &world.within(side), &World::knowledge(), picture, arguments)
    };
    let robert = start("robert-at-home", "a", &[]);
    robert.press_next("invite", true);
    robert.press_next("use the network", true);
    robert.press_next("make the link", true);
    robert.press_next("copy", false);
    let link = until("the link", || robert.screen.clipboard()).trim().to_owned();
    let clara = start("clara-at-home", "b", &[&link]);
    clara.press_next("use the network", true);
    clara.press_next("join", true);
    clara.press_next("call", true);
    robert.press_next("take", true);
    clara.sees_a_picture();
    robert.sees_a_picture();
}

/// Returns a film that shows a code.
fn film_of(text: &str) -> Vec<u8> {
    let code = qrcode::QrCode::with_error_correction_level(text, qrcode::EcLevel::L).unwrap();
    let (colours, modules) = (code.to_colors(), code.width());
    let (width, height, side) = (640, 480, 400);
    let mut film = format!("YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C420jpeg\nFRAME\n").into_bytes();
    for y in 0..height {
        for x in 0..width {
            let place = |at: usize, of: usize| {
                at.checked_sub((of - side) / 2).filter(|at| *at < side).map(|at| at * modules / side)
            };
            let dark = place(x, width)
                .zip(place(y, height))
                .is_some_and(|(x, y)| colours[y * modules + x] == qrcode::Color::Dark);
            film.push(if dark { 40 } else { 210 });
        }
    }
    film.extend(vec![128; width * height / 2]);
    film
}

/// A link's code that is held before the camera joins without typing, and the keyboard is enough for that.
#[test]
fn a_code_held_before_the_camera_is_joined_with_by_keys() {
    let robert = Person::new("robert-with-code", &[]);
    robert.press_next("invite", true);
    robert.press_next("make the link", true);
    robert.press_next("copy", false);
    let link = until("the link", || robert.screen.clipboard()).trim().to_owned();
    let film = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("code-{}.y4m", std::process::id()));
    fs::write(&film, film_of(&link)).unwrap();
    let more = format!("[network]\ndht = false\n[video]\nsource = \"y4m:{}:loop\"\n", film.display());
    let clara = Person::start("clara-with-code", &[], "stun = []\n", &more, &[]);
    until("the first page", || clara.shot("first page").and_then(|shot| shot.centre_of(NEXT)));
    clara.screen.give_keyboard();
    // Settings, "Invite somebody", "I have a link".
    clara.move_on(TAB, 3);
    clara.screen.press(ENTER);
    // No button is meant to be pressed next there until a link is known.
    until("the page that joins", || clara.shot("join page").filter(|shot| shot.centre_of(NEXT).is_none()));
    // "Back", "Read the code with the camera".
    clara.move_on(TAB, 2);
    clara.screen.press(ENTER);
    clara.press_next("join with the code", true);
    clara.press_next("call now", true);
    fs::remove_file(&film).unwrap();
}
