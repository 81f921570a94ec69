//! Delay and concealment under the conditions of a line.

use sound::observed::Outcome;

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
