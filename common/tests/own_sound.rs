//! Own sound and picture on one path, in virtual time: what the picture has beside the sound, and what the sound suffers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of calls")]
mod call;

use std::time::Duration;

use call::beside::{self, Known, line};
use call::home::ROWS;
use call::own::Own;
use call::tcp::Tcp;
use call::{Call, mbit, ms};
use common::netsim::{NetConditions, Scenario};
use common::units::Bitrate;
use common::wire::LOWER_LAYERS_BYTES;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Returns a call on this line at up to `max` Mbit/s of pictures, 60 a second, with own sound of so many samples a packet; 0: without.
fn call(max: u64, media: impl Into<Scenario>, samples: u16) -> Call {
    let mut call = Call::beside(60, mbit(max), media.into(), Known::Nothing);
    if samples > 0 {
        Own::begin(&mut call, samples);
    }
    call
}

/// Figures of a call within a time.
#[derive(Clone, Copy, Debug)]
struct Figures {
    /// Mbit/s of the pictures.
    rate: f64,
    target: f64,
    /// Median and 95th percentile of the time until a frame has come, and the 99th of the sound's wait, ms.
    p50: f64,
    p95: f64,
    sound: f64,
}

fn figures(call: &Call, from: Duration, to: Duration) -> Figures {
    let targets = call.between(from, to).map(|seen| seen.target.as_bps() as f64 / 1e6);
    let count = call.between(from, to).count().max(1) as f64;
    let [p50, p95] = [0.5, 0.95].map(|share| 1e3 * call.latency(share, from, to).as_secs_f64());
    Figures {
        rate: call.rates(from, to).0,
        target: targets.sum::<f64>() / count,
        p50,
        p95,
        sound: call.own.as_ref().map_or(0.0, |own| own.p99_ms(from, to)),
    }
}

fn sound_mbit(samples: u16) -> f64 {
    if samples == 0 { 0.0 } else { Own::rate(samples.into()).as_bps() as f64 / 1e6 }
}

/// Steps of a line to so many Mbit/s.
fn steps<const N: usize>(steps: [(Duration, u64); N]) -> Scenario {
    Scenario::table(&steps.map(|(at, rate)| (at, line(mbit(rate)))))
}

#[test]
#[ignore = "prints a table"]
fn table() {
    println!("{:32} {:>4} {:>7} {:>7} {:>7} {:>7} {:>7}", "case", "smp", "target", "rate", "p50", "p95", "snd99");
    let show = |name: &str, samples: u16, seen: Figures| {
        println!(
            "{name:32} {samples:4} {:7.2} {:7.2} {:7.1} {:7.1} {:7.2}",
            seen.target, seen.rate, seen.p50, seen.p95, seen.sound
        );
    };
    for samples in [0, 64, 128] {
        for (rate, max) in [(20, 10), (20, 60), (50, 10), (50, 100), (10, 20), (5, 20), (2, 20), (1, 20)] {
            let mut call = call(max, line(mbit(rate)), samples);
            call.run(s(14));
            show(&format!("line {rate}, at most {max}"), samples, figures(&call, s(4), s(14)));
        }
        for dip in [100, 300, 800] {
            let mut call = call(60, steps([(s(0), 20), (s(8), 4), (s(8) + ms(dip), 20)]), samples);
            call.run(s(30));
            for (from, to) in [(8, 10), (10, 12), (12, 16), (16, 30)] {
                show(&format!("dip of {dip} ms, {from}-{to} s"), samples, figures(&call, s(from), s(to)));
            }
        }
        for rate in [10, 20] {
            let mut call = call(30, line(mbit(rate)), samples);
            call.run(s(4));
            call.tcp = Some(Tcp::new(ms(12)));
            call.run(s(26));
            show(&format!("TCP beside on {rate}, 14-30 s"), samples, figures(&call, s(14), s(30)));
        }
        if samples > 0 {
            let mut call = call(30, line(mbit(20)), samples);
            call.own.as_mut().unwrap().is_muted = true;
            call.run(s(10));
            show("muted, line 20", samples, figures(&call, s(4), s(10)));
        }
        let mut call = call(60, line(mbit(20)), samples);
        call.run(s(8));
        call.sender.on_path_changed(call.now);
        call.run(s(4));
        for (from, to) in [(8_000, 8_300), (8_300, 9_000), (9_000, 10_000)] {
            show(&format!("another way, {from}-{to} ms"), samples, figures(&call, ms(from), ms(to)));
        }
    }
    println!("sound takes {:.2} and {:.2}", sound_mbit(64), sound_mbit(128));
}

/// Packets of own sound, samples.
const SAMPLES: [u16; 2] = [64, 128];

#[test]
fn the_picture_has_what_the_sound_leaves_and_comes_no_later() {
    let lines = [(20, 10), (50, 10), (5, 60), (10, 60), (20, 60), (50, 100)].into_iter();
    for ((rate, max), seed) in lines.flat_map(|line| (0..4).map(move |seed| (line, seed))) {
        let run = |samples| {
            let mut call = call(max, Scenario::from(line(mbit(rate))).with_seed(seed), samples);
            call.run(s(12));
            figures(&call, s(4), s(12))
        };
        let without = run(0);
        for samples in SAMPLES {
            let with = run(samples);
            let said =
                format!("{rate} Mbit/s, at most {max}, {samples} samples, seed {seed}: {with:?}, without {without:?}");
            // What `--rate` says is the picture's alone, if the line bears the sound besides.
            let sound = if 2 * max > rate { sound_mbit(samples) } else { 0.0 };
            // Both take nine tenths of what bursts have shown of a line, which is not exact.
            let used = (with.rate + sound_mbit(samples)) / rate as f64;
            assert!(with.rate >= 0.9 * (without.rate - sound) || (0.86..0.93).contains(&used), "{said}");
            assert!(with.p95 <= without.p95 + 3.0 && with.sound < 2.5, "{said}");
        }
    }
}

#[test]
fn lines_of_homes_are_used_beside_sound_too() {
    for row in ROWS.iter().filter(|row| row.line[0] > 0) {
        let run = |samples| {
            let mut call = row.call(1, false);
            if samples > 0 {
                Own::begin(&mut call, samples);
            }
            call.run(s(38));
            figures(&call, s(30), s(38))
        };
        let (without, with) = (run(0), run(128));
        let said = format!("{row:?}: {with:?}, without {without:?}");
        assert!(with.target > 0.75 * without.target && with.p95 <= without.p95 + 3.0 && with.sound < 3.0, "{said}");
    }
}

#[test]
fn the_rate_that_is_set_is_the_pictures_alone() {
    for samples in SAMPLES {
        let mut call = call(10, line(mbit(50)), samples);
        call.run(s(6));
        call.sender.set_rate_max(mbit(4));
        call.run(s(3));
        let [before, after] = [(4, 6), (7, 9)].map(|(from, to)| call.rates(s(from), s(to)).0);
        assert!((9.5..10.1).contains(&before) && (3.7..4.1).contains(&after), "{samples}: {before}, {after}");
        assert_eq!(call.sender.rate_target().as_bps(), 4_000_000 + Own::rate(samples.into()).as_bps());
    }
}

#[test]
fn a_dip_is_forgotten_two_seconds_later() {
    for (dip, samples) in [100, 300, 800].into_iter().flat_map(|dip| SAMPLES.map(|samples| (dip, samples))) {
        let mut call = call(60, steps([(s(0), 20), (s(8), 4), (s(8) + ms(dip), 20)]), samples);
        call.run(s(14));
        let [before, after] = [(6, 8), (11, 14)].map(|(from, to)| figures(&call, s(from), s(to)));
        // What the dip has lost is still answered with copies.
        assert!(
            after.target > 0.95 * before.target && after.rate > 0.85 * before.rate,
            "{dip} ms, {samples}: {after:?}"
        );
        assert!(after.sound < 2.5, "{dip} ms, {samples}: {after:?}");
    }
}

#[test]
fn a_queue_that_comes_back_is_tried_less_and_less() {
    // Much more is on the line than was said: what bursts show fills the queue, again and again.
    let mut call = Call::beside(60, mbit(60), line(mbit(4)).into(), Known::Declared(Bitrate::from_bps(600_000)));
    call.sound = Some(call::sound::Sound::new(16, 3, LOWER_LAYERS_BYTES, ms(12), call.now));
    call.run(s(60));
    let waits = &call.sound.as_ref().unwrap().waits;
    let late = waits.iter().filter(|(at, wait)| *at > s(20) && *wait > ms(3)).count();
    assert!(late < 20, "{late} of {}", waits.len());
}

#[test]
fn a_microphone_that_is_muted_does_not_hold_the_picture_down() {
    for samples in SAMPLES {
        let rate = |is_muted| {
            let mut call = call(60, line(mbit(20)), samples);
            call.own.as_mut().unwrap().is_muted = is_muted;
            call.run(s(6));
            call.rates(s(3), s(6)).0
        };
        let (heard, muted) = (rate(false), rate(true));
        assert!(muted > 0.95 * heard, "{samples}: {muted}, heard {heard}");
    }
}

#[test]
fn a_picture_beside_sound_has_a_share_of_what_tcp_fills() {
    for (rate, least) in [(10, 1.0), (20, 4.0)] {
        for samples in SAMPLES {
            let mut call = call(60, line(mbit(rate)), samples);
            call.run(s(4));
            call.tcp = Some(Tcp::new(ms(12)));
            call.run(s(26));
            let (picture, tcp) = call.rates(s(14), s(30));
            assert!(picture > least && tcp > 1.0, "{rate} Mbit/s, {samples} samples: {picture}, TCP {tcp}");
        }
    }
}

#[test]
fn sound_on_a_narrow_line_has_its_copies() {
    for samples in SAMPLES {
        let lossy = NetConditions { loss: 0.01, ..line(mbit(5)) };
        let mut call = call(60, lossy, samples);
        call.run(s(10));
        let own = call.own.as_ref().unwrap();
        assert!(own.with_copies * 10 > own.packets * 7, "{samples}: {} of {}", own.with_copies, own.packets);
        assert!(call.sender.path().max_datagram() < 600, "the picture's datagrams stay small");
        assert!(own.p99_ms(s(4), s(10)) < 3.5 && call.rates(s(4), s(10)).0 > 1.0);
    }
}

#[test]
fn copies_do_not_fill_a_line_that_hardly_bears_the_sound() {
    let mut call = call(20, line(mbit(2)), 128);
    call.run(s(14));
    let seen = figures(&call, s(4), s(14));
    assert!(seen.sound < 70.0, "{seen:?}");
}

#[test]
fn on_a_line_below_the_sounds_own_rate_frames_still_end() {
    for rate in [1, 2] {
        let mut call = call(20, line(mbit(rate)), 64);
        call.run(s(8));
        assert!(call.sender.path().pace().as_bps() >= 250_000, "{rate}");
        assert!(call.rates(s(4), s(8)).0 > 0.01, "{rate}: {:?}", figures(&call, s(4), s(8)));
    }
}

#[test]
fn another_way_begins_with_what_the_last_one_bore() {
    for samples in SAMPLES {
        let mut call = call(60, line(mbit(20)), samples);
        call.run(s(8));
        let before = call.rates(s(6), s(8)).0;
        call.sender.on_path_changed(call.now);
        assert!(call.sender.path().max_datagram() < 600, "a line of which nothing is known may be narrow");
        call.run(s(2));
        let after = call.rates(s(8), s(10)).0;
        assert!(after > 0.9 * before, "{samples}: {before}, then {after}");
        assert!(call.sender.path().max_datagram() == call::MAX_DATAGRAM);
        // And one that bears much less is soon found out.
        let mut call = self::call(60, steps([(s(0), 20), (s(8), 5)]), samples);
        call.run(s(8));
        call.sender.on_path_changed(call.now);
        call.run(s(4));
        assert!(figures(&call, s(10), s(12)).sound < 3.0, "{samples}: {:?}", figures(&call, s(10), s(12)));
    }
}

#[test]
fn own_sound_is_not_forgotten_with_that_of_others() {
    let mut call = Call::beside(30, mbit(60), line(mbit(10)).into(), Known::Found);
    call.sound = Some(beside::sound(0, call.now));
    call.run(s(18));
    let found = call.sender.path().beside().unwrap();
    Own::begin(&mut call, 128);
    call.run(s(2));
    assert!(call.sender.path().beside().unwrap() > found);
    call.sender.on_path_changed(call.now);
    assert_eq!(call.sender.path().beside(), Some(Own::rate(128)), "that of others is looked for anew");
    call.run(s(2));
    assert!(call.sender.path().line().is_some(), "frames leave gently");
}
