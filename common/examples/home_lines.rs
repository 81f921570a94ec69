//! Behaviour of the rate control on the lines and computers of homes, in virtual time, as Markdown tables.
//!
//! `make home-lines` runs it. `SEEDS` in the environment: how many seeds a row (10). `FRAMES`: frames a second on the
//! lines that vary (60). `TRACES`: a folder of recordings in mahimahi's format, which are run besides the made-up mobile
//! line.
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "reads its settings")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/call/mod.rs"]
mod call;

use std::time::Duration;

use call::home::{self, ROWS};
use call::{Call, mbit, ms};
use common::netsim::{NetConditions, Scenario, lines};

const PATH: NetConditions = NetConditions::perfect(ms(25));

fn main() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let stamps = std::env::var("KERNEL_STAMPS").is_ok();
    let only = std::env::var("ROW").unwrap_or_default();
    println!("seeds 0 to {}; worst and median of them; kernel stamps: {stamps}\n", seeds - 1);
    println!(
        "| what stalls | ms, every ms | cap | loss | line | before | in the stalls, worst seed | worst second, median | from 2 s after the last | back at 90 %, worst | wait p95 | overshoot |"
    );
    println!("|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|");
    for row in ROWS.iter().filter(|row| row.name.contains(&only)) {
        if std::env::var("PRINT").is_ok() {
            let mut call = row.run(0, stamps).0;
            print(&call);
            while let Some(reason) = call.sender.poll_reason() {
                eprintln!("{reason}");
            }
        }
        let outcomes: Vec<_> = (0..seeds).map(|seed| row.run(seed, stamps).1).collect();
        let of = |get: fn(&home::Outcome) -> f64, share: f64| {
            let mut values: Vec<_> = outcomes.iter().map(get).collect();
            values.sort_by(f64::total_cmp);
            values[((values.len() - 1) as f64 * share) as usize]
        };
        println!(
            "| {} | {}, {} | {} | {} | {:?} | {:.1} | {:.1} | {:.1} | {:.1} | {:.2} s | {:.0} ms | {:.0} ms |",
            row.name,
            row.span,
            row.every,
            row.cap,
            row.loss,
            row.line,
            of(|o| o.before, 0.5),
            of(|o| o.during, 0.0),
            of(|o| o.worst, 0.5),
            of(|o| o.after, 0.0),
            of(|o| o.back.as_secs_f64(), 1.0),
            of(|o| o.wait_p95.as_secs_f64() * 1e3, 0.5),
            of(|o| o.overshoot.as_secs_f64() * 1e3, 1.0),
        );
    }
    println!(
        "\n| line | queue | cap | of the capacity, mean, worst | wait p50 | p95 | p99 |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    let long = Duration::from_secs(60);
    let traces = std::env::var("TRACES").ok().map(|folder| std::fs::read_dir(folder).unwrap());
    let traces: Vec<_> = traces.into_iter().flatten().map(|file| file.unwrap().path()).collect();
    let queues: &[u64] = if std::env::var("SHORT").is_ok() { &[200] } else { &[200, 1_000] };
    for queue in queues.iter().map(|&queue| ms(queue)) {
        if only.is_empty() || only == "steps" {
            varying("20, 6, 12, 3 every 0.5 to 2 s", 20, queue, seeds, long, |seed| {
                lines::steps(seed, long, PATH, queue)
            });
            varying("mobile", 12, queue, seeds, long, |seed| lines::mobile(seed, long, PATH, queue));
        }
        for path in traces.iter().filter(|path| path.extension().is_some_and(|ending| ending == "up")) {
            let text = std::fs::read_to_string(path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            varying(&name, 20, queue, 1, Duration::from_secs(120), |_| lines::recorded(&text, PATH, queue));
        }
    }
}

/// Prints each tenth of a second: target, longest wait, what arrived.
fn print(call: &Call) {
    let chunk: usize = std::env::var("PRINT").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    for lines in call.seen.chunks(chunk) {
        let wait = lines.iter().map(|seen| seen.wait).max().unwrap_or_default();
        let bytes: usize = lines.iter().map(|seen| seen.bytes).sum();
        let last = lines[lines.len() - 1];
        let at = last.at.as_secs_f64();
        eprintln!(
            "{at:6.2} s  target {}  wait {wait:?}  arrived {:.1}",
            last.target,
            bytes as f64 * 480e-6 / chunk as f64
        );
    }
}

fn varying(name: &str, cap: u64, queue: Duration, seeds: u64, long: Duration, line: impl Fn(u64) -> Scenario) {
    let from = Duration::from_secs(2);
    let frames = std::env::var("FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (mut shares, mut waits) = (vec![], vec![]);
    for seed in 0..seeds {
        let scenario = line(seed);
        let mut call = Call::with_frames(frames, mbit(cap), scenario.clone(), NetConditions::perfect(ms(25)));
        call.run(long);
        if std::env::var("PRINT").is_ok() {
            print(&call);
        }
        let capacity = lines::capacity(&scenario, 0.95 * 1e6 * cap as f64, from, long);
        shares.push(1e6 * call.rates(from, long).0 / capacity);
        waits.extend(call.waits.iter().filter(|wait| wait.0 > from).map(|wait| wait.1));
    }
    waits.sort_unstable();
    let wait = |share: f64| waits[(waits.len() as f64 * share) as usize].as_millis();
    println!(
        "| {name} | {queue:?} | {cap} | {:.2}, {:.2} | {} ms | {} ms | {} ms |",
        shares.iter().sum::<f64>() / shares.len() as f64,
        shares.iter().copied().fold(f64::MAX, f64::min),
        wait(0.5),
        wait(0.95),
        wait(0.99)
    );
}
