//! Hours of two clocks.

use sound::observed::Outcome;

use crate::world::{Scene, run};

/// Greatest difference of the delay from a second to any other, ms.
const WANDER_MS: f64 = 0.3;

/// `HOURS` in the environment is their length (`make sound-hours`).
#[test]
fn two_clocks_make_no_jump_and_the_delay_stays() {
    let hours: f64 = std::env::var("HOURS").map_or(0.2, |hours| hours.parse().unwrap());
    std::thread::scope(|scope| {
        for (frames, ppm) in [(64, 100.0), (128, -100.0), (256, 100.0)] {
            scope.spawn(move || {
                let scene = Scene {
                    seed: frames as u64,
                    frames,
                    period: frames,
                    seconds: 3600.0 * hours,
                    skip: 180.0,
                    sender_ppm: ppm,
                    receiver_ppm: -ppm,
                    ..Scene::default()
                };
                let ran = run(&scene, false);
                let line = ran.line(&format!("{frames} frames, {hours} h"));
                println!("{line}");
                let missed = ran.count(Outcome::Concealed) + ran.count(Outcome::Jump) + ran.count(Outcome::Skipped);
                assert!(ran.is_resampling && missed == 0, "{line}");
                assert!(ran.quantile_ms(1.0) - ran.quantile_ms(0.0) < WANDER_MS, "{line}");
            });
        }
    });
}
