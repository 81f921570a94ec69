//! A day with the window open and a call every ten minutes, compressed: no time passes but that of the calls. Cameras and the
//! sound card come and go, also in the middle of a call.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::person::{NEXT, Person, sound_server, until};
use crate::{ESCAPE, LETTER_V, LETTER_W, met};

/// Calls of a day.
const CALLS: usize = 144;
/// Sources of pictures, one after the other: two sizes, a camera that is not there, and none.
const SOURCES: [&str; 4] = ["pattern:size=640x360:fps=15", "pattern:size=480x360:fps=15", "camera", "none"];
/// Place of the button that leads to the settings.
const SETTINGS: (usize, usize) = (440, 35);
/// Calls until all memory is in use that calls of all kinds need, and growth after that at most, KiB a call. One call differs from the
/// next by some 4 MiB.
const FIRST: usize = 48;
const GROWTH_KIB: f64 = 40.0;

/// Returns the memory of a program that is in no file, KiB, its threads, and its open files.
fn size(person: &Person) -> (u64, usize, usize) {
    let folder = format!("/proc/{}", person.program.id());
    let status = fs::read_to_string(format!("{folder}/status")).unwrap();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let count = |name| fs::read_dir(format!("{folder}/{name}")).unwrap().count();
    (anonymous.trim().trim_end_matches(" kB").parse().unwrap(), count("task"), count("fd"))
}

/// Returns the growth from one to the next by least squares.
fn growth(sizes: &[u64]) -> f64 {
    let count = sizes.len() as f64;
    let middle = |sum: f64| sum / count;
    let at = middle((0..sizes.len()).map(|n| n as f64).sum());
    let mean = middle(sizes.iter().map(|size| *size as f64).sum());
    let (mut above, mut below) = (0.0, 0.0);
    for (n, size) in sizes.iter().enumerate() {
        above += (n as f64 - at) * (*size as f64 - mean);
        below += (n as f64 - at).powi(2);
    }
    above / below
}

/// Writes `key = "chosen"` in place of what the settings have.
fn set(person: &Person, key: &str, chosen: &str) {
    let before = fs::read_to_string(person.settings()).unwrap();
    let line = |line: &str| match line.starts_with(&format!("{key} = ")) {
        true => format!("{key} = \"{chosen}\"\n"),
        false => format!("{line}\n"),
    };
    fs::write(person.settings(), before.lines().map(line).collect::<String>()).unwrap();
}

/// A sound server without a card; none where there is no jackd.
struct Server(Option<Child>);

impl Server {
    fn start() -> Self {
        let mut command = Command::new("jackd");
        command.args(["-n", &sound_server(), "-r", "-d", "dummy", "-r", "48000", "-p", "256"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().ok())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Looks at camera, sound card and what the computer lacks.
fn look_at_settings(person: &Person) {
    person.screen.give_keyboard();
    // The first call has left somebody on the page of the introduction.
    person.screen.press(ESCAPE);
    // What is pressed twice is pressed on another page, where nothing is at that place.
    let is_on_people = |what| person.shot(what).map(|shot| shot.centre_of(NEXT).is_some());
    until(&format!("{}: the settings", person.name), || {
        person.screen.click(SETTINGS.0, SETTINGS.1);
        (is_on_people("settings") == Some(false)).then_some(())
    });
    until(&format!("{}: the people", person.name), || {
        person.screen.press(ESCAPE);
        (is_on_people("people") == Some(true)).then_some(())
    });
}

/// Waits until a call is on, in which the other side's source is `source`.
fn is_in_call(person: &Person, source: &str) {
    match source.starts_with("pattern") {
        true => person.sees_a_picture(),
        false => person.show_buttons(),
    }
}

/// `make room-hours`.
#[test]
#[ignore = "minutes"]
fn a_day_of_calls_takes_no_more_memory() {
    let calls = std::env::var("CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(CALLS);
    assert!(calls >= 4, "CALLS: fewer than 4 have no growth");
    let (robert, clara) = met(["robert-for-hours", "clara-for-hours"]);
    let both = [&robert, &clara];
    both.iter().for_each(|person| set(person, "card", "auto"));
    clara.hang_up();
    let mut sizes = [Vec::new(), Vec::new()];
    for call in 0..calls {
        robert.has_one_window();
        robert.waits_for_next("call");
        for (person, turn) in both.iter().zip([call, call / 2]) {
            set(person, "source", SOURCES[turn % SOURCES.len()]);
        }
        let server = (call % 2 == 0).then(Server::start);
        look_at_settings(&robert);
        clara.press_next("call", true);
        robert.take_call();
        is_in_call(&robert, SOURCES[call / 2 % SOURCES.len()]);
        is_in_call(&clara, SOURCES[call % SOURCES.len()]);
        robert.screen.give_keyboard();
        // What the other side sees, and a second window.
        robert.screen.press(LETTER_V);
        robert.screen.press(LETTER_W);
        // The card goes in the middle of every other call, and comes in that of the others.
        let came = server.is_none().then(Server::start);
        drop(server);
        robert.screen.press(LETTER_W);
        clara.hang_up();
        robert.waits_for_next("people");
        clara.waits_for_next("people");
        drop(came);
        for (person, sizes) in both.iter().zip(&mut sizes) {
            let (kib, threads, files) = size(person);
            println!(
                "{:2} {:18} {:6.1} MiB  {threads:2} threads  {files:2} files",
                call + 1,
                person.name,
                kib as f64 / 1024.0
            );
            sizes.push(kib);
        }
    }
    for (person, sizes) in both.iter().zip(&sizes) {
        let grows = growth(&sizes[FIRST.min(sizes.len() / 2)..]);
        println!("{}: {grows:.1} KiB a call", person.name);
        assert!(grows <= GROWTH_KIB, "{} grows by {grows:.1} KiB a call", person.name);
    }
}
