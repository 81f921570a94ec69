//! Screens that few people have: other depths, X servers that lack something, and the end of a display server at any moment.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::display::{Compositor, Display};
use crate::support::{Daemon, PATTERN, Pair, until, with_memory};
use crate::window::{BACKENDS, four_colours, receiver, shows_the_line, shows_the_quarters, start};

/// Bytes of `/dev/shm`, as tmpfs takes them, where there is next to none.
const TINY: &str = "64k";

/// Waits until the picture and the line are on the display, in its only window.
fn shows_a_picture(display: &Display, pair: &Pair, command: &mut Command) {
    let receiver = Daemon::start("receiver", command.env("DISPLAY", &display.name));
    let sender = pair.stream(&four_colours(pair));
    let window = until("a window", || display.find("Duet"));
    until("the picture and the line", || {
        let shot = display.screenshot(window);
        (shows_the_quarters(&shot) && shows_the_line(&shot)).then_some(())
    });
    assert_eq!(display.windows(), 1);
    [sender, receiver].into_iter().for_each(Daemon::stop);
}

#[test]
fn pictures_have_their_colours_on_screens_of_every_depth() {
    for depth in [15, 16, 30] {
        for options in [&[][..], &["-extension", "MIT-SHM"]] {
            let (display, pair) = (Display::start_deep(801, 600, depth, options), Pair::new());
            shows_a_picture(&display, &pair, &mut receiver(&pair, "auto", "window"));
        }
    }
    // minifb shows 30 bits as well, and says that it knows no others.
    let (display, pair) = (Display::start_deep(800, 600, 30, &[]), Pair::new());
    shows_a_picture(&display, &pair, &mut receiver(&pair, "minifb", "window"));
    drop(pair);
    for depth in [15, 16] {
        let (display, pair) = (Display::start_deep(800, 600, depth, &[]), Pair::new());
        start(&display, &pair, "minifb", "window").wait().check(3, &["minifb knows no pixels but those of 32 bits"]);
    }
}

#[test]
fn a_screen_with_a_palette_is_refused_by_name() {
    let display = Display::start_deep(800, 600, 8, &[]);
    for backend in BACKENDS.into_iter().chain(["auto"]) {
        let pair = Pair::new();
        start(&display, &pair, backend, "window")
            .wait()
            .check(3, &["a palette of 8 bits", "set it to 15, 16, 24 or 30"]);
    }
}

#[test]
fn minifb_opens_the_window_where_the_x_server_lacks_what_winit_needs() {
    let display = Display::start_lacking(800, 600, "RANDR");
    let pair = Pair::new();
    start(&display, &pair, "winit", "window").wait().check(3, &["the X server lacks the extension RANDR"]);
    let receiver = start(&display, &pair, "auto", "window");
    receiver.says(&["minifb opens the window instead of winit", "lacks the extension RANDR"]);
    let window = until("a window", || display.find("Duet"));
    display.close(window);
    receiver.wait().check(0, &[]);
}

#[test]
fn a_picture_is_whole_where_the_folder_of_shared_memory_takes_nothing() {
    for options in ["ro", &format!("size={TINY}")] {
        let (display, pair) = (Display::start(800, 600), Pair::new());
        let plain = receiver(&pair, "winit", "window");
        let Some(mut command) = with_memory(&plain, Path::new("/dev/shm"), options) else { return };
        shows_a_picture(&display, &pair, &mut command);
    }
}

#[test]
fn the_end_of_the_x_server_at_any_moment_is_told_in_one_sentence() {
    for (number, backend) in BACKENDS.into_iter().cycle().take(16).enumerate() {
        let (mut display, pair) = (Display::start(800, 600), Pair::new());
        let receiver = start(&display, &pair, backend, "window");
        // From before the window until it has been shown for a while.
        std::thread::sleep(Duration::from_millis(25 * number as u64));
        display.end();
        let ended = receiver.wait();
        ended.check(3, &[]);
        let said = ["the X server has ended", "no window can be opened"];
        assert!(said.iter().any(|said| ended.sentence().contains(said)), "{}", ended.stderr);
        assert!(ended.stderr.lines().count() < 20, "{}", ended.stderr);
    }
}

#[test]
fn the_end_of_the_compositor_at_any_moment_is_told_in_one_sentence() {
    for number in 0..8 {
        let (mut compositor, pair) = (Compositor::start(), Pair::new());
        let mut command = receiver(&pair, "winit", "window");
        command.env("XDG_RUNTIME_DIR", compositor.folder.join("")).env("WAYLAND_DISPLAY", Compositor::NAME);
        let receiver = Daemon::start("receiver", command.env_remove("DISPLAY"));
        let sender = (number % 2 == 1).then(|| pair.stream(PATTERN));
        std::thread::sleep(Duration::from_millis(60 * number));
        compositor.end();
        let ended = receiver.wait();
        ended.check(3, &[]);
        let said = ["the Wayland compositor has ended", "no window can be opened"];
        assert!(said.iter().any(|said| ended.sentence().contains(said)), "{}", ended.stderr);
        assert!(ended.stderr.lines().count() < 20, "{}", ended.stderr);
        sender.into_iter().for_each(drop);
    }
}
