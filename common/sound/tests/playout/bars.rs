//! Delay and concealment under the conditions of a line.

use sound::observed::Outcome;
use sound::unit::Body;

use crate::trial::{Event, Trial};
use crate::tried;
use crate::world::{Scene, run};

#[test]
fn a_quiet_line_adds_little_with_two_clocks() {
    for (frames, most_ms) in [(64, 3.0), (128, 4.5), (256, 8.0)] {
        let scene = Scene {
            frames,
            period: frames,
            seconds: 45.0,
            sender_ppm: 100.0,
            receiver_ppm: -100.0,
            ..Scene::default()
        };
        let ran = run(&scene, false);
        let line = ran.line("quiet");
        assert!(ran.quantile_ms(0.5) <= most_ms && ran.count(Outcome::Concealed) == 0 && ran.is_resampling, "{line}");
    }
}

/// A copy is needed where a packet is lost. So it is enough that most copies are in time, and the delay bears less than each packet's own
/// lateness on top of them: 0.3 ms, half a bell, are 1.1 ms at one in 3000 and 0.4 at one in five.
#[test]
fn copies_are_waited_for_as_often_as_they_are_needed() {
    let scene = Scene {
        loss: 0.01,
        copies: 2,
        jitter_ms: 0.3,
        body: Body::Adpcm,
        sender_ppm: 50.0,
        receiver_ppm: -50.0,
        ..Scene::default()
    };
    let ran = run(&scene, false);
    let line = ran.line("1 % lost");
    println!("{line}");
    // The period, half the filter, what its loop leaves, slack, and two packets.
    let most_ms = f64::from(64 + 16 + 8 + 12 + 2 * 64) / 48.0 + 0.55;
    assert!(ran.quantile_ms(0.5) <= most_ms, "{most_ms:.2} ms at most: {line}");
    assert!(ran.a_minute(Outcome::Concealed) <= 1.0, "{line}");
}

/// Packets by the longer way are late beside the shorter one alone: they make the delay grow once, and not above the longer way again.
#[test]
fn a_longer_line_leaves_no_more_delay_than_before() {
    let trial = Trial { events: vec![(10.0, Event::Route(0.02))], ..Trial::quiet(128, 60.0) };
    let tried = tried::run(&trial, false);
    assert!(tried.faults.is_empty() && tried.most_ms < 4.0, "at most {:.1} ms: {:?}", tried.most_ms, tried.faults);
}

/// The delay that is wanted moves to and fro by the latest packets of 20 s: resampled sound follows without a cut.
#[test]
fn jitter_between_two_clocks_makes_no_jumps() {
    for (frames, jitter_ms) in [(64, 1.0), (256, 1.0), (128, 5.0), (256, 5.0)] {
        let scene = Scene {
            frames,
            period: frames,
            seconds: 150.0,
            jitter_ms,
            sender_ppm: 100.0,
            receiver_ppm: -100.0,
            ..Scene::default()
        };
        let ran = run(&scene, false);
        let line = ran.line(&format!("{frames} frames, jitter {jitter_ms} ms"));
        println!("{line}");
        assert!(ran.is_resampling && ran.a_minute(Outcome::Jump) <= 0.5, "{line}");
        assert!(ran.a_minute(Outcome::Concealed) <= 10.0, "{line}");
    }
}

#[test]
#[ignore = "ten minutes: prints the table"]
fn a_table() {
    let seconds = 150.0;
    for (frames, drift) in [(64, 0.0), (64, 100.0), (128, 0.0), (128, 100.0), (256, 0.0), (256, -100.0)] {
        let quiet =
            Scene { frames, period: frames, seconds, sender_ppm: drift, receiver_ppm: -drift, ..Scene::default() };
        let name = |name: &str| format!("{frames:3} {drift:+} {name}");
        println!("{}", run(&quiet, false).line(&name("quiet")));
        for (loss, copies) in [(0.01, 1), (0.01, 2), (0.05, 2), (0.05, 3)] {
            let scene = Scene { loss, copies, ..quiet.clone() };
            println!("{}", run(&scene, false).line(&name(&format!("loss {loss} copies {copies}"))));
        }
        println!("{}", run(&Scene { jitter_ms: 5.0, ..quiet.clone() }, false).line(&name("jitter")));
        println!("{}", run(&Scene { pauses: (5.0, 1e9), ..quiet.clone() }, false).line(&name("pauses")));
    }
}
