//! The window: what is on the screen, and what keys and the cross do.

use std::process::Command;
use std::time::Duration;

use crate::display::{Compositor, Display, Screenshot};
use crate::support::{Daemon, PATTERN, Pair, until};

const ESCAPE: u32 = 0xff1b;
const LETTER_H: u32 = 0x68;
const LETTER_I: u32 = 0x69;
const LETTER_T: u32 = 0x74;

/// The libraries that open a window.
pub(crate) const BACKENDS: [&str; 2] = ["minifb", "winit"];

/// Returns the command of a receiver whose window is opened by `backend`.
pub(crate) fn receiver(pair: &Pair, backend: &str, sink: &str) -> Command {
    let file = pair.folder.join("receiver.toml");
    std::fs::write(&file, format!("[expert]\nwindow = \"{backend}\"\n")).unwrap();
    let mut command = pair.receiver();
    command.arg("--config").arg(file).args(["--sink", sink, "--backend", "cpu"]).env_remove("WAYLAND_DISPLAY");
    command
}

pub(crate) fn start(display: &Display, pair: &Pair, backend: &str, sink: &str) -> Daemon {
    Daemon::start("receiver", receiver(pair, backend, sink).env("DISPLAY", &display.name))
}

/// Opens the window of a receiver: its screen, the two daemons' place, the receiver, and the window's number.
fn opened(backend: &str, sink: &str) -> (Display, Pair, Daemon, u32) {
    let (display, pair) = (Display::start(800, 600), Pair::new());
    let receiver = start(&display, &pair, backend, sink);
    let window = until("a window", || display.find("Duet"));
    (display, pair, receiver, window)
}

fn is_white(pixel: &u32) -> bool {
    pixel.to_be_bytes()[1..].iter().all(|&channel| channel > 0xe0)
}

/// Presses Esc and waits for the question whether that is meant.
fn press_escape_once(display: &Display, window: u32) {
    let before = display.screenshot(window);
    let rows = 24 * before.width;
    let asked = || {
        let shot = display.screenshot(window);
        (shot.pixels[shot.pixels.len() - rows..] != before.pixels[before.pixels.len() - rows..]).then_some(())
    };
    display.press(window, ESCAPE, "a question", asked);
}

/// Presses Esc until the receiver ends: twice, unless the machine is slow.
fn escape(display: &Display, window: u32, receiver: &mut Daemon) {
    until("the end", || {
        display.tap(window, ESCAPE);
        (!receiver.is_running()).then_some(())
    });
}

#[test]
fn escape_pressed_twice_ends_a_waiting_receiver() {
    for backend in BACKENDS {
        let (display, _pair, mut receiver, window) = opened(backend, "window");
        let shot = until("a text on black", || {
            let shot = display.screenshot(window);
            shot.pixels.iter().any(is_white).then_some(shot)
        });
        assert_eq!((shot.width, shot.height), (800, 450), "the screen's width, in shape");
        assert!(shot.pixels[..shot.width * 150].iter().all(|&p| p == 0));
        press_escape_once(&display, window);
        assert!(receiver.is_running(), "one Esc only asks");
        escape(&display, window, &mut receiver);
        receiver.wait().check(0, &[]);
    }
}

#[test]
fn a_key_that_goes_down_and_up_between_two_looks_counts() {
    for backend in BACKENDS {
        let (display, _pair, receiver, window) = opened(backend, "window");
        let top = || {
            let shot = display.screenshot(window);
            shot.pixels[..shot.width * 150].iter().any(is_white)
        };
        until("a text", || display.screenshot(window).pixels.iter().any(is_white).then_some(()));
        assert!(!top(), "the list of keys is shown already");
        receiver.signal("STOP");
        display.tap_for(window, LETTER_H, Duration::ZERO);
        receiver.signal("CONT");
        until("the list of keys", || top().then_some(()));
        display.close(window);
        receiver.wait().check(0, &[]);
    }
}

#[test]
fn by_itself_the_window_is_opened_by_winit_and_where_that_fails_by_minifb() {
    let (display, pair) = (Display::start(800, 600), Pair::new());
    // A library that the system finds and cannot load.
    let libraries = pair.folder.join("libraries");
    std::fs::create_dir(&libraries).unwrap();
    for name in ["libxkbcommon-x11.so.0", "libxkbcommon-x11.so"] {
        std::fs::write(libraries.join(name), "").unwrap();
    }
    let libraries = libraries.to_str().unwrap();
    let taken = "minifb opens the window instead of winit";
    let places = [
        ("DISPLAY", display.name.as_str(), None),
        ("WAYLAND_DISPLAY", "nowhere", Some("no window can be opened")),
        ("LD_LIBRARY_PATH", libraries, Some("libxkbcommon-x11.so.0 is missing")),
    ];
    for (name, value, refused) in places {
        let start = |backend| {
            let mut command = receiver(&pair, backend, "window");
            Daemon::start("receiver", command.env("DISPLAY", &display.name).env(name, value))
        };
        let receiver = start("auto");
        let window = until("a window", || display.find("Duet"));
        display.close(window);
        let ended = receiver.wait();
        ended.check(0, &[]);
        assert_eq!(ended.stderr.contains(taken), refused.is_some(), "{name}: {}", ended.stderr);
        assert!(!ended.stderr.contains("scale factor"), "winit's own remarks: {}", ended.stderr);
        if let Some(refused) = refused {
            assert!(ended.stderr.contains(refused), "{name}: {}", ended.stderr);
            // Who asks for winit alone is told.
            start("winit").wait().check(3, &["no window can be opened", refused]);
        }
    }
}

#[test]
fn closing_the_window_ends_a_waiting_receiver() {
    for backend in BACKENDS {
        let (display, _pair, receiver, window) = opened(backend, "window");
        display.close(window);
        receiver.wait().check(0, &[]);
    }
}

#[test]
fn full_screen_covers_the_screen() {
    for backend in BACKENDS {
        let (display, _pair, receiver, window) = opened(backend, "window:fullscreen");
        until("full screen", || (display.geometry(window) == (0, 0, 800, 600)).then_some(()));
        display.close(window);
        receiver.wait().check(0, &[]);
    }
}

#[test]
fn a_key_asks_the_window_manager_to_keep_the_window_above_others_or_no_longer() {
    for backend in BACKENDS {
        let (display, _pair, receiver, window) = opened(backend, "window");
        display.manage();
        for wanted in [true, false] {
            let asked = || display.asked_for(b"_NET_WM_STATE_ABOVE");
            assert_eq!(display.press(window, LETTER_T, "a wish", asked), wanted);
        }
        display.close(window);
        receiver.wait().check(0, &[]);
    }
}

#[test]
fn the_end_of_the_x_server_ends_a_call_with_a_goodbye() {
    for backend in BACKENDS {
        let (mut display, pair) = (Display::start(800, 600), Pair::new());
        let receiver = start(&display, &pair, backend, "window");
        let mut sender = pair.stream(PATTERN);
        let shown = || std::fs::read_to_string(pair.folder.join("receiver.jsonl")).ok();
        until("a picture", || shown()?.lines().any(|line| !line.contains("\"frames_shown\":0,")).then_some(()));
        display.end();
        receiver.wait().check(3, &["the X server has ended"]);
        let last = pair.folder.stats("receiver.jsonl").pop().unwrap();
        assert!(last["frames_shown"].as_u64().unwrap() > 0, "{last}");
        assert!(sender.is_running());
        sender.terminate();
        let ended = sender.wait();
        ended.check(0, &[]);
        assert!(ended.stderr.contains("the receiver has stopped"), "without a goodbye: {}", ended.stderr);
    }
}

/// Sides of the picture with four colours.
const SIZE: (usize, usize) = (320, 240);
/// Y, Cb, Cr (JFIF) and R, G, B of its quarters.
const QUARTERS: [([u8; 3], [u8; 3]); 4] = [
    ([76, 85, 255], [254, 0, 0]),
    ([150, 44, 21], [0, 255, 1]),
    ([29, 255, 107], [0, 0, 254]),
    ([128, 128, 128], [128, 128, 128]),
];

/// Returns one picture of four colours, in a file of the pair's folder, as a source.
pub(crate) fn four_colours(pair: &Pair) -> String {
    let (width, height) = SIZE;
    let mut bytes =
        format!("YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n").into_bytes();
    for (channel, (width, height)) in
        [(width, height), (width / 2, height / 2), (width / 2, height / 2)].iter().enumerate()
    {
        let quarter = |x: usize, y: usize| 2 * usize::from(y >= height / 2) + usize::from(x >= width / 2);
        bytes.extend((0..*height).flat_map(|y| (0..*width).map(move |x| QUARTERS[quarter(x, y)].0[channel])));
    }
    let clip = pair.folder.join("four.y4m");
    std::fs::write(&clip, bytes).unwrap();
    format!("y4m:{}:loop", clip.display())
}

/// Returns true if the middles of the quarters have their colours.
pub(crate) fn shows_the_quarters(shot: &Screenshot) -> bool {
    shows_the_quarters_dimmed(shot, 0)
}

/// Returns true for the same, but as dark as `shift` bits less make it.
fn shows_the_quarters_dimmed(shot: &Screenshot, shift: u32) -> bool {
    let (x, y) = (shot.width / 4, shot.height / 4);
    let middles = [(x, y), (3 * x, y), (x, 3 * y), (3 * x, 3 * y)];
    middles.iter().zip(QUARTERS).all(|(&(x, y), (_, wanted))| {
        shot.rgb(x, y).iter().zip(wanted).all(|(got, wanted)| got.abs_diff(wanted >> shift) <= 4)
    })
}

/// Returns true if white letters are in the strip at the bottom.
pub(crate) fn shows_the_line(shot: &Screenshot) -> bool {
    shot.pixels[(shot.height - 24) * shot.width..].iter().any(is_white)
}

#[test]
fn the_window_shows_what_was_sent_until_escape() {
    for backend in BACKENDS {
        let (display, pair) = (Display::start(800, 600), Pair::new());
        let clip = four_colours(&pair);
        let mut receiver = start(&display, &pair, backend, "window");
        let mut sender = pair.stream(&clip);

        let window = until("a window", || display.find("Duet"));
        until("the picture", || shows_the_quarters(&display.screenshot(window)).then_some(()));
        let (_, _, width, height) = display.geometry(window);
        assert_eq!((width, height), (640, 480), "wide enough to be seen");
        until("the line", || shows_the_line(&display.screenshot(window)).then_some(()));
        let no_line = || (!shows_the_line(&display.screenshot(window))).then_some(());
        display.press(window, LETTER_I, "the picture without the line", no_line);
        assert!(shows_the_quarters(&display.screenshot(window)));
        let line = || shows_the_line(&display.screenshot(window)).then_some(());
        display.press(window, LETTER_I, "the line again", line);

        escape(&display, window, &mut receiver);
        receiver.wait().check(0, &[]);
        assert!(sender.is_running(), "a viewer that leaves must not end the sender");
        sender.stop();
    }
}

#[test]
fn a_picture_is_whole_on_a_server_that_shares_no_memory() {
    for backend in BACKENDS {
        let (display, pair) = (Display::start_without_sharing(800, 600), Pair::new());
        let clip = four_colours(&pair);
        let receiver = start(&display, &pair, backend, "window");
        let sender = pair.stream(&clip);
        let window = until("a window", || display.find("Duet"));
        until("the picture and the line", || {
            let shot = display.screenshot(window);
            (shows_the_quarters(&shot) && shows_the_line(&shot)).then_some(())
        });
        [sender, receiver].into_iter().for_each(Daemon::stop);
    }
}

#[test]
fn a_killed_sender_dims_the_picture_and_a_line_says_so_until_it_is_back() {
    for backend in BACKENDS {
        let (display, pair) = (Display::start(800, 600), Pair::new());
        let clip = four_colours(&pair);
        let receiver = start(&display, &pair, backend, "window");
        let sender = pair.stream(&clip);
        let window = until("a window", || display.find("Duet"));
        let picture = || shows_the_quarters(&display.screenshot(window)).then_some(());
        until("the picture", picture);
        let streams =
            || std::fs::read_to_string(pair.folder.join("receiver.jsonl")).ok()?.contains("streaming").then_some(());
        until("a line of statistics about it", streams);

        sender.kill();
        let dead = || {
            let shot = display.screenshot(window);
            let middle = &shot.pixels[220 * shot.width..260 * shot.width];
            (shows_the_quarters_dimmed(&shot, 2) && middle.iter().any(is_white)).then(|| middle.to_vec())
        };
        let said = until("a dimmed picture and a line", dead);
        until("the next second in the line", || dead().filter(|now| *now != said));

        let sender = pair.stream(&clip);
        until("the picture again", picture);
        [sender, receiver].into_iter().for_each(Daemon::stop);
        let lines = pair.folder.stats("receiver.jsonl");
        let states: Vec<_> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
        for state in ["waiting", "streaming", "silent"] {
            assert!(states.contains(&state), "no line says {state}: {states:?}");
        }
        assert!(lines.is_sorted_by_key(|line| line["unix_ms"].as_u64().unwrap()));
        assert!(lines.is_sorted_by_key(|line| line["freeze_ms_max"].as_f64().unwrap() as u64), "{lines:?}");
        let last = lines.last().unwrap();
        assert!(
            last["frames_lost"].as_u64().unwrap() > 0 && last["freeze_ms_max"].as_f64().unwrap() > 1_000.0,
            "{last}"
        );
    }
}

#[test]
fn the_screen_saver_is_held_while_minifb_shows_a_picture() {
    holds_the_screen_saver("minifb");
}

#[test]
fn the_screen_saver_is_held_while_winit_shows_a_picture() {
    holds_the_screen_saver("winit");
}

/// Half a minute each, in which little is done: two tests, side by side.
fn holds_the_screen_saver(backend: &str) {
    let (display, pair) = (Display::start(800, 600), Pair::new());
    let clip = four_colours(&pair);
    let receiver = start(&display, &pair, backend, "window");
    let window = until("a window", || display.find("Duet"));
    let is_on = |on: bool| move |(state, _): &(bool, Duration)| *state == on;
    display.set_saver(1);
    until("a dark screen before there is a picture", || Some(display.saver()).filter(is_on(true)));

    let sender = pair.stream(&clip);
    until("the picture", || shows_the_quarters(&display.screenshot(window)).then_some(()));
    until("the light", || Some(display.saver()).filter(is_on(false)));
    // Three times the server's own time without a key, and it stays on.
    let (is_dark, _) = until("a long rest", || {
        Some(display.saver()).filter(|(is_dark, rest)| *is_dark || *rest > Duration::from_secs(3))
    });
    assert!(!is_dark, "the screen went dark in a call");

    sender.stop();
    until("a dark screen when nobody is in the call", || Some(display.saver()).filter(is_on(true)));
    receiver.stop();
}

#[test]
fn on_wayland_pictures_are_shown_until_the_compositor_ends() {
    let (pair, mut compositor) = (Pair::new(), Compositor::start());
    let mut command = receiver(&pair, "winit", "window");
    command.env("XDG_RUNTIME_DIR", compositor.folder.join("")).env("WAYLAND_DISPLAY", Compositor::NAME);
    let receiver = Daemon::start("receiver", command.env_remove("DISPLAY"));
    let sender = pair.stream(PATTERN);
    let shown = || std::fs::read_to_string(pair.folder.join("receiver.jsonl")).ok();
    until("a picture", || shown()?.lines().any(|line| !line.contains("\"frames_shown\":0,")).then_some(()));
    compositor.end();
    let ended = receiver.wait();
    ended.check(3, &["the Wayland compositor has ended"]);
    assert!(!ended.stderr.contains("Broken pipe") && ended.stderr.lines().count() < 20, "{}", ended.stderr);
    sender.stop();
}
