//! A sound program and our picture on one line, in virtual time, as a Markdown table: today's JackTrip at 128 samples as a model.
//!
//! `make beside` runs it. `SEEDS` in the environment: how many seeds a row (5). `ROW`: only lines of so many Mbit/s. `PRINT`: each
//! tenth of a second of the first seed, and the reasons.
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "reads its settings")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/call/mod.rs"]
mod call;

use call::beside::{Known, Outcome, SAMPLES, rows};
use call::sound::Sound;

fn main() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = setting("SEEDS").unwrap_or(5);
    let declared = Known::Declared(Sound::rate(SAMPLES));
    println!("seeds 0 to {}; worst of them, medians of the picture\n", seeds - 1);
    println!(
        "| line, frames/s, rate | sound p99 ms: nobody knows, found, declared | late a minute | picture ms | picture Mbit/s | of the line |\n|---|---|---|---|---|---|"
    );
    for row in rows().iter().filter(|row| setting("ROW").is_none_or(|line| row.line == line)) {
        let all = [Known::Nothing, Known::Found, declared].map(|known| {
            if let Ok(name) = std::env::var("PRINT")
                && format!("{known:?}").starts_with(&name)
            {
                eprintln!("{row:?} {known:?}");
                let mut call = row.run(0, known).0;
                print(&call);
                while let Some(reason) = call.sender.poll_reason() {
                    eprintln!("{reason}");
                }
            }
            (0..seeds).map(|seed| row.run(seed, known).1).collect::<Vec<_>>()
        });
        let worst = |get: fn(&Outcome) -> f64| all.each_ref().map(|all| all.iter().map(get).fold(0.0, f64::max));
        let median = |get: fn(&Outcome) -> f64| {
            all.each_ref().map(|all| {
                let mut values: Vec<_> = all.iter().map(get).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            })
        };
        let text = |values: [f64; 3], digits| values.map(|value| format!("{value:.digits$}")).join(", ");
        println!(
            "| {}, {}, {} | {} | {} | {} | {} | {} |",
            row.line,
            row.frames,
            if row.is_half { "half" } else { "free" },
            text(worst(|o| o.p99_ms), 1),
            text(worst(|o| o.late), 0),
            text(median(|o| o.picture_ms), 1),
            text(median(|o| o.rate), 1),
            text(median(|o| o.used), 2)
        );
    }
}

/// Prints each tenth of a second: target, longest wait, what arrived.
fn print(call: &call::Call) {
    for lines in call.seen.chunks(6) {
        let wait = lines.iter().map(|seen| seen.wait).max().unwrap_or_default();
        let bytes: usize = lines.iter().map(|seen| seen.bytes).sum();
        let last = lines[lines.len() - 1];
        let sound = call.sound.iter().flat_map(|sound| &sound.waits);
        let sound = sound.filter(|(at, _)| (lines[0].at..last.at).contains(at)).map(|(_, wait)| wait).max();
        eprintln!(
            "{:6.2} s  target {}  wait {wait:?}  bytes {bytes}  sound {sound:?}",
            last.at.as_secs_f64(),
            last.target
        );
    }
}
