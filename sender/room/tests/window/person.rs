//! A person with an empty home and the program on a screen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::screen::{Screen, Shot};

/// Longest wait: this machine may have much else to do.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(100);
/// The colour of the button that is meant to be pressed next.
pub(crate) const NEXT: u32 = 0x00f3_b05f;
/// Settings that keep somebody from asking the world, and a picture that moves.
const ALONE: &str = "[network]\ndht = false\n[video]\nsource = \"pattern:size=640x360:fps=30\"\n";
/// The colour of the button that ends a call.
pub(crate) const HANG_UP: u32 = 0x00b9_3536;
/// The colour behind a page, and its pixels at least: half of the screen.
const GROUND: u32 = 0x0014_161a;
const GROUND_PIXELS: usize = 1280 * 720 / 2;
/// Colours of a page at most; a picture has more.
pub(crate) const PAGE_COLOURS: usize = 6_000;

#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} has not come");
        std::thread::sleep(LOOK);
    }
}

/// Returns the name of the sound server that programs of this test meet, where there is one.
pub(crate) fn sound_server() -> String {
    format!("duet-room-{}", std::process::id())
}

/// A person with an empty home, a screen, and the program on it.
pub(crate) struct Person {
    pub(crate) name: &'static str,
    pub(crate) home: PathBuf,
    pub(crate) screen: Screen,
    pub(crate) program: Child,
}

impl Person {
    /// Somebody in the same house as all others.
    pub(crate) fn new(name: &'static str, arguments: &[&str]) -> Self {
        Self::start(name, &[], "stun = []\n", ALONE, arguments)
    }

    /// Somebody whose program is started behind the words `within`, with these lines in the section `[expert]`, and `more`.
    pub(crate) fn start(name: &'static str, within: &[String], expert: &str, more: &str, arguments: &[&str]) -> Self {
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
            .env("JACK_DEFAULT_SERVER", sound_server())
            .env("JACK_NO_START_SERVER", "1")
            .envs(std::env::vars().filter(|(name, _)| name.starts_with("MALLOC_")))
            .env("LANG", "en_GB.UTF-8");
        let program = program.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Self { name, home, screen, program }
    }

    /// Presses the button that is meant to be pressed next, once it is there and stands still; `goes`: and waits until another page is
    /// there.
    pub(crate) fn press_next(&self, what: &str, goes: bool) {
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
    pub(crate) fn move_on(&self, key: u8, count: usize) {
        for _ in 0..count {
            let before = self.screen.shot().map(|shot| shot.place_of(NEXT));
            self.screen.press(key);
            until(&format!("{}: the frame", self.name), || {
                let now = self.shot("frame").map(|shot| shot.place_of(NEXT));
                (now != before).then_some(())
            });
        }
    }

    pub(crate) fn shot(&self, name: &str) -> Option<Shot> {
        let shot = self.screen.shot()?;
        if let Some(folder) = std::env::var_os("DUET_SHOTS") {
            shot.save(&Path::new(&folder).join(format!("{}-{}.png", self.name, name.replace(' ', "-"))));
        }
        Some(shot)
    }

    /// Lets the buttons of a call come, as they do when something moves; they stay while it does.
    pub(crate) fn show_buttons(&self) {
        let mut column = 500;
        until(&format!("{}: the buttons", self.name), || {
            column = 1_100 - column;
            self.screen.point(column, 200);
            self.shot("buttons").filter(|shot| shot.centre_of(HANG_UP).is_some())
        });
    }

    /// Returns the second window, once there is one with a picture.
    pub(crate) fn second_window(&self, first: u32) -> u32 {
        until(&format!("{}: a second window", self.name), || {
            let second = self.screen.windows().into_iter().find(|window| *window != first)?;
            self.shot("second window");
            self.screen.shot_of(second).filter(|shot| shot.colours() > PAGE_COLOURS).map(|_| second)
        })
    }

    /// Waits for a button that is meant to be pressed next.
    pub(crate) fn waits_for_next(&self, what: &str) {
        until(&format!("{}: {what}", self.name), || self.shot(what).and_then(|shot| shot.centre_of(NEXT)));
    }

    /// Takes the call that comes.
    pub(crate) fn take_call(&self) {
        // The page of a call that comes has a button to take it and one that ends it.
        until(&format!("{}: a call", self.name), || {
            let shot = self.shot("ringing")?;
            shot.centre_of(HANG_UP).and(shot.centre_of(NEXT))
        });
        self.press_next("take", true);
    }

    /// Ends the call by its button, and waits until a page is there.
    pub(crate) fn hang_up(&self) {
        self.screen.give_keyboard();
        let (mut column, mut before) = (500, None);
        until(&format!("{}: the end of the call", self.name), || {
            column = 1_100 - column;
            self.screen.point(column, 200);
            let shot = self.shot("hang up")?;
            // Sentences that come move the buttons: it is pressed where it stands still.
            let place = shot.centre_of(HANG_UP);
            if let Some((x, y)) = place.filter(|_| place == before) {
                self.screen.click(x, y);
            }
            before = place;
            (shot.count(GROUND) >= GROUND_PIXELS).then_some(())
        });
    }

    /// Returns the file of its settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.home.join(".config/duet/duet.toml")
    }

    /// Waits until there is one window.
    pub(crate) fn has_one_window(&self) {
        until(&format!("{}: one window", self.name), || (self.screen.windows().len() == 1).then_some(()));
    }

    pub(crate) fn sees_a_picture(&self) {
        until(&format!("{}: the picture", self.name), || {
            self.shot("call").filter(|shot| shot.colours() > PAGE_COLOURS)
        });
    }

    pub(crate) fn log(&self) -> String {
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
