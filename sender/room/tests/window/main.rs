//! Two people at two screens, who do not know each other and see each other after a few clicks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod homes;
mod screen;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::homes::World;
use crate::screen::{Screen, Shot};

/// Longest wait: this machine may have much else to do.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(100);
/// The colour of the button that is meant to be pressed next.
const NEXT: u32 = 0x00f3_b05f;
/// Settings that keep somebody from asking the world, and a picture that moves.
const ALONE: &str = "[network]\ndht = false\n[video]\nsource = \"pattern:size=640x360:fps=30\"\n";
/// Numbers of keys.
const TAB: u8 = 23;
const ENTER: u8 = 36;
const ESCAPE: u8 = 9;
const LETTER_W: u8 = 25;
const LETTER_F: u8 = 41;
/// The colour of the dot that tells of a recording, and its pixels at least.
const DOT: u32 = 0x00ff_8f86;
const DOT_PIXELS: usize = 20;
/// The colour of the button that ends a call.
const HANG_UP: u32 = 0x00b9_3536;
/// Colours of a page at most; a picture has more.
const PAGE_COLOURS: usize = 6_000;

#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} has not come");
        std::thread::sleep(LOOK);
    }
}

/// A person with an empty home, a screen, and the program on it.
struct Person {
    name: &'static str,
    home: PathBuf,
    screen: Screen,
    program: Child,
}

impl Person {
    /// Somebody in the same house as all others.
    fn new(name: &'static str, arguments: &[&str]) -> Self {
        Self::start(name, &[], "stun = []\n", ALONE, arguments)
    }

    /// Somebody whose program is started behind the words `within`, with these lines in the section `[expert]`, and `more`.
    fn start(name: &'static str, within: &[String], expert: &str, more: &str, arguments: &[&str]) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("room-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&home);
        let [settings, runtime] = [home.join(".config/duet"), home.join("run")];
        fs::create_dir_all(&settings).unwrap();
        fs::create_dir_all(&runtime).unwrap();
        // Nothing of it stands for a click: there is no camera here and no sound card, and the world is not to be asked.
        let text = format!(
            "[sound]\ncard = \"none\"\n{more}[expert]\nopen_port = false\n\
             house = false\nbackend = \"cpu\"\n{expert}"
        );
        fs::write(settings.join("duet.toml"), text).unwrap();
        let screen = Screen::start();
        let log = fs::File::create(home.join("log")).unwrap();
        let words: Vec<_> = within.iter().map(String::as_str).chain([env!("CARGO_BIN_EXE_duet")]).collect();
        let mut program = Command::new(words[0]);
        program.args(&words[1..]);
        program.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        program
            .env("HOME", &home)
            .env("XDG_RUNTIME_DIR", &runtime)
            .env("DISPLAY", &screen.name)
            .env("LANG", "en_GB.UTF-8");
        let program = program.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Self { name, home, screen, program }
    }

    /// Presses the button that is meant to be pressed next, once it is there and stands still; `goes`: and waits until another page is
    /// there.
    fn press_next(&self, what: &str, goes: bool) {
        let mut before = None;
        let (x, y) = until(&format!("{}: {what}", self.name), || {
            let place = self.shot(what).and_then(|shot| shot.centre_of(NEXT));
            let stands = place.is_some() && place == before;
            before = place;
            place.filter(|_| stands)
        });
        // The pointer stays where a person's would: what is under it when a busy program looks counts.
        self.screen.click(x, y);
        if goes {
            until(&format!("{}: the end of {what}", self.name), || {
                let place = self.screen.shot()?.centre_of(NEXT);
                (place != Some((x, y))).then_some(())
            });
        }
    }

    /// Presses that key so often, each time once the frame of what has the keyboard has moved: a busy program takes two presses for one.
    fn move_on(&self, key: u8, count: usize) {
        for _ in 0..count {
            let before = self.screen.shot().map(|shot| shot.place_of(NEXT));
            self.screen.press(key);
            until(&format!("{}: the frame", self.name), || {
                let now = self.shot("frame").map(|shot| shot.place_of(NEXT));
                (now != before).then_some(())
            });
        }
    }

    fn shot(&self, name: &str) -> Option<Shot> {
        let shot = self.screen.shot()?;
        if let Some(folder) = std::env::var_os("DUET_SHOTS") {
            shot.save(&Path::new(&folder).join(format!("{}-{}.png", self.name, name.replace(' ', "-"))));
        }
        Some(shot)
    }

    /// Lets the buttons of a call come, as they do when something moves; they stay while it does.
    fn show_buttons(&self) {
        let mut column = 500;
        until(&format!("{}: the buttons", self.name), || {
            column = 1_100 - column;
            self.screen.point(column, 200);
            self.shot("buttons").filter(|shot| shot.centre_of(HANG_UP).is_some())
        });
    }

    /// Returns the second window, once there is one with a picture.
    fn second_window(&self, first: u32) -> u32 {
        until(&format!("{}: a second window", self.name), || {
            let second = self.screen.windows().into_iter().find(|window| *window != first)?;
            self.shot("second window");
            self.screen.shot_of(second).filter(|shot| shot.colours() > PAGE_COLOURS).map(|_| second)
        })
    }

    /// Waits until there is one window.
    fn has_one_window(&self) {
        until(&format!("{}: one window", self.name), || (self.screen.windows().len() == 1).then_some(()));
    }

    fn sees_a_picture(&self) {
        until(&format!("{}: the picture", self.name), || {
            self.shot("call").filter(|shot| shot.colours() > PAGE_COLOURS)
        });
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: {}", self.name, self.log());
        }
        let _ = self.program.kill();
        let _ = self.program.wait();
        let _ = fs::remove_dir_all(&self.home);
    }
}

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
    clara.screen.give_keyboard();
    clara.show_buttons();
    let (x, y) = clara.shot("hang up").and_then(|shot| shot.centre_of(HANG_UP)).unwrap();
    clara.screen.click(x, y);
    robert.has_one_window();
    clara.press_next("call again", true);
    robert.press_next("take again", true);
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
