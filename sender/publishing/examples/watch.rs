//! Watches a broadcast many times in one process and prints a line of JSON: bytes a second, delays, pauses.
//! `cargo run --release -p duet-publishing --example watch -- URL WATCHERS SECONDS [TRACK..]`.
#![allow(clippy::unwrap_used, reason = "a trial")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use moq_net::broadcast;
use publishing::{Target, Watchers};

/// Counts of all watchers.
#[derive(Default)]
struct Had {
    bytes: u64,
    /// Frames of each track.
    by_track: BTreeMap<String, u64>,
    delays_ms: Vec<f64>,
    firsts_ms: Vec<f64>,
    pauses_ms: Vec<f64>,
    /// Sentences with which the relay has sent somebody away, each with its count.
    refused: BTreeMap<String, u64>,
    /// Time of the newest frame, ms since 1970.
    last_unix_ms: f64,
}

fn unix_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3
}

/// Returns the time that a frame of a track carries, us.
fn time_of(frame: &[u8]) -> u64 {
    let len = 1 << (frame[0] >> 6);
    frame[1..len].iter().fold(u64::from(frame[0] & 0x3f), |time, byte| time << 8 | u64::from(*byte))
}

/// Takes a track until it ends; `last`: the time of its last frame, of a session before too.
async fn follow(
    broadcast: broadcast::Consumer,
    track: String,
    zero_ms: f64,
    joined: Instant,
    mut last: Option<Instant>,
    had: Arc<Mutex<Had>>,
) -> Option<Instant> {
    let name = track;
    let Ok(track) = broadcast.track(&name) else { return last };
    let Ok(subscriber) = track.subscribe(None).await else { return last };
    let mut subscriber = subscriber.ordered();
    while let Ok(Some(mut group)) = subscriber.next_group().await {
        while let Ok(Some(frame)) = group.read_frame().await {
            let now = Instant::now();
            let mut had = had.lock().unwrap();
            had.bytes += frame.payload.len() as u64;
            had.last_unix_ms = unix_ms();
            *had.by_track.entry(name.clone()).or_default() += 1;
            match last.replace(now) {
                None => had.firsts_ms.push(joined.elapsed().as_secs_f64() * 1e3),
                Some(last) => {
                    had.pauses_ms.push((now - last).as_secs_f64() * 1e3);
                    had.delays_ms.push(unix_ms() - zero_ms - time_of(&frame.payload) as f64 / 1e3);
                }
            }
        }
    }
    last
}

/// Watches for good: a relay that dies is dialled again.
async fn watch(watchers: Arc<Watchers>, tracks: Vec<String>, had: Arc<Mutex<Had>>) {
    let mut lasts = vec![None; tracks.len()];
    loop {
        if let Some(ended) = watch_once(&watchers, &tracks, &lasts, &had).await {
            lasts = ended;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Watches until the session ends; none: it has not begun.
async fn watch_once(
    watchers: &Watchers,
    tracks: &[String],
    lasts: &[Option<Instant>],
    had: &Arc<Mutex<Had>>,
) -> Option<Vec<Option<Instant>>> {
    let joined = Instant::now();
    let watcher = match watchers.join().await {
        Ok(watcher) => watcher,
        Err(error) => {
            *had.lock().unwrap().refused.entry(error.to_string()).or_default() += 1;
            return None;
        }
    };
    let broadcast = &watcher.broadcast;
    let mut catalogue = broadcast.track("catalog.json").ok()?.subscribe(None).await.ok()?.ordered();
    let text = catalogue.next_group().await.ok()??.read_frame().await.ok()??.payload;
    let catalogue: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let zero_ms = catalogue["duet"]["zero_unix_ms"].as_f64().unwrap();
    let followed = tracks.iter().zip(lasts).map(|(track, &last)| {
        tokio::spawn(follow(broadcast.clone(), track.clone(), zero_ms, joined, last, Arc::clone(had)))
    });
    let followed: Vec<_> = followed.collect();
    let mut lasts = Vec::new();
    for one in followed {
        lasts.push(one.await.unwrap());
    }
    Some(lasts)
}

fn share(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, watchers, seconds, tracks @ ..] = args.as_slice() else {
        eprintln!("watch URL WATCHERS SECONDS [TRACK..]");
        std::process::exit(2);
    };
    let (watchers, seconds): (usize, u64) = (watchers.parse().unwrap(), seconds.parse().unwrap());
    let tracks = match tracks {
        [] => ["main", "base", "sound"].map(str::to_owned).to_vec(),
        tracks => tracks.to_vec(),
    };
    let had = Arc::new(Mutex::new(Had::default()));
    let dialling = Arc::new(Watchers::new(Target::parse(url, None).unwrap()).unwrap());
    for _ in 0..watchers {
        tokio::spawn(watch(Arc::clone(&dialling), tracks.clone(), Arc::clone(&had)));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    {
        // What is told is of the steady state.
        let mut had = had.lock().unwrap();
        (had.bytes, had.delays_ms, had.pauses_ms) = (0, Vec::new(), Vec::new());
        had.by_track.clear();
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let mut had = std::mem::take(&mut *had.lock().unwrap());
    for values in [&mut had.delays_ms, &mut had.firsts_ms, &mut had.pauses_ms] {
        values.sort_by(f64::total_cmp);
    }
    let delays_ms = [50, 95, 99].map(|percent| share(&had.delays_ms, percent));
    let firsts_ms = [50, 95].map(|percent| share(&had.firsts_ms, percent));
    let told = serde_json::json!({
        "watchers": watchers,
        "tracks": tracks,
        "frames": had.delays_ms.len(),
        "by_track": had.by_track,
        "kbps_each": had.bytes as f64 * 8.0 / 1e3 / seconds as f64 / watchers as f64,
        "delay_ms": delays_ms,
        "first_ms": firsts_ms,
        "refused": had.refused,
        "last_unix_ms": had.last_unix_ms,
        "pause_ms": [share(&had.pauses_ms, 99), share(&had.pauses_ms, 100)],
    });
    println!("{told}");
}
