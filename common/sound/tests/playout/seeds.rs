//! Thousands of lines, cards and mishaps. `SEEDS` in the environment is a range such as `0..10000` (`make sound-seeds`), or one seed of
//! a failure.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::trial::Trial;
use crate::tried::run;

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("SEEDS") else { return 0..60 };
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("SEEDS={text}: write 7 or 0..10000"));
    match text.split_once("..") {
        Some((start, end)) => number(start)..number(end),
        None => number(&text)..number(&text) + 1,
    }
}

/// Returns a sentence on what does not hold of a seed's trial.
fn fault(seed: u64, is_alone: bool) -> Option<String> {
    let trial = Trial::of(seed);
    let tried = run(&trial, false);
    if is_alone {
        println!("{trial:?}\n{tried:?}");
    }
    let is_well = tried.faults.is_empty();
    (!is_well).then(|| format!("SEEDS={seed}: {}\n    {trial:?}", tried.faults.join("; ")))
}

/// Seeds of faults that were mended: lines that become longer, one upon another, cards that stand still under jitter, packets each of
/// which is a little late.
#[test]
fn what_failed_once_holds() {
    let failed: Vec<_> = [469, 915, 1069, 1260, 1535, 1644, 1649, 2038, 2985, 3098, 3407]
        .into_iter()
        .filter_map(|seed| fault(seed, false))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn whatever_a_line_and_two_cards_do_the_sound_comes_back_without_a_click() {
    let seeds = seeds();
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mut failed = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return failed;
            }
            failed.extend(fault(seed, seeds.end - seeds.start == 1));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} of {} fail:\n{}", failed.len(), seeds.count(), failed.join("\n"));
}
