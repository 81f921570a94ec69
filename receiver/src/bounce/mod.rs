//! `--bounce`: every picture that is shown is coded and sent back to whoever sent it, for a latency test there.
//!
//! ```text
//! main thread             bounce thread           network thread
//! present: sinks ---> slot of one: encoder ---> slot of one: BounceLink, beside the receiver's link
//! ```

mod coder;
mod link;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::config::ReceiverConfig;
use common::stats::ReceiverReport;
use common::units::{Bitrate, Timestamp};
use net::failure::Failure;
use net::link::{BothWays, HangUp, LiveRate, Waker};
use net::tls::Protocol;
use picture::params::StreamParams;
use shell::control;
use shell::settings::LatencyLimit;
use shell::slot::Slot;
use showing::present::Seen;
use showing::sink::SinkSpec;
use showing::{Network, run_over};

use self::coder::{Coder, ShownPicture};
use self::link::BounceLink;
use crate::run::options;

/// Least rate at which pictures go back, and the rate before it is known at which they come.
const RATE_MIN: Bitrate = Bitrate::from_bps(500_000);
/// Time between computations of the rate at which pictures come.
const RATE_INTERVAL: Duration = Duration::from_millis(500);
/// Room for one coded frame, bytes.
const FRAME_BYTES_MAX: usize = 512 << 10;

/// State that the three threads share besides pictures.
#[derive(Debug)]
struct Shared {
    /// The stream that goes back, by the serial number of the one that comes.
    stream: Mutex<Option<(u64, StreamParams)>>,
    /// True while the other side takes pictures.
    is_open: AtomicBool,
    budget_bytes: AtomicUsize,
    /// Bits a second that come.
    rate_bps: AtomicU64,
    failed: Mutex<Option<Failure>>,
}

/// Receives as [`crate::run`] does and sends every picture back, until a window is closed or the process is asked to stop.
/// Call it on the main thread.
pub(crate) fn run(config: &ReceiverConfig, sinks: &[SinkSpec]) -> Result<ReceiverReport, Failure> {
    let waker = Waker::default();
    let rate = LiveRate::new(RATE_MIN);
    let options = options(&config.shared, Protocol::Bounce, rate.clone(), FRAME_BYTES_MAX)?;
    let latency_limit = LatencyLimit::new(config.latency_max);
    let _control = control::serve("receiver", &config.shared, vec![latency_limit.setting()]);
    let shared = Arc::new(Shared {
        stream: Mutex::default(),
        is_open: AtomicBool::new(false),
        budget_bytes: AtomicUsize::new(0),
        rate_bps: AtomicU64::new(RATE_MIN.as_bps()),
        failed: Mutex::default(),
    });
    let (pictures, coded) = (Slot::new(), Slot::new());
    let coder = Coder {
        choice: config.shared.backend,
        device: config.shared.device.clone(),
        shared: Arc::clone(&shared),
        pictures: pictures.clone(),
        coded: coded.clone(),
        waker: waker.clone(),
    };
    // Nobody waits for its end: a driver may hold it.
    thread::Builder::new()
        .name("bounce".to_owned())
        .spawn(move || coder.run())
        .map_err(|error| Failure::device(format!("the bounce thread cannot be started: {error}")))?;
    let hang_up = HangUp::new(waker.clone());
    let network = Network {
        waker: waker.clone(),
        hang_up: Some(hang_up.clone()),
        pulses: Vec::new(),
        own: None,
        latency_limit,
        seen: Some(Box::new(seen(Arc::clone(&shared), pictures.clone()))),
    };
    let link = BounceLink::new(shared, coded, rate);
    tracing::info!("sending every picture back, for `sender --latency-test` at the other side");
    let turn = move |receiver_link| {
        let mut both = BothWays::new(link, receiver_link, hang_up);
        let linked = net::link::run(options, &waker, &mut both);
        pictures.close();
        linked
    };
    run_over(network, config, sinks, None, turn)
}

/// Returns the hook that hands pictures over once they are shown.
fn seen(shared: Arc<Shared>, pictures: Slot<ShownPicture>) -> impl FnMut(&Seen<'_>) {
    let mut rate = Rate::default();
    move |seen: &Seen<'_>| {
        if let Some(bps) = rate.on_picture(seen.link.counters.bytes_received, seen.presented) {
            shared.rate_bps.store(bps.max(RATE_MIN.as_bps()), Ordering::Relaxed);
        }
        let data = seen.picture.data().to_vec();
        let (serial, params) = (seen.stream.serial, seen.stream.params);
        // One that was not coded yet is replaced: the newest counts.
        pictures.replace(ShownPicture { serial, params, format: seen.picture.format(), data, way: seen.way() });
    }
}

/// Measures the rate at which something comes.
#[derive(Debug, Default)]
struct Rate {
    before: Option<(u64, Timestamp)>,
}

impl Rate {
    /// Takes the bytes that have come so far; returns bits a second, from time to time.
    fn on_picture(&mut self, bytes: u64, now: Timestamp) -> Option<u64> {
        let (bytes_before, at) = *self.before.get_or_insert((bytes, now));
        let span = now.since(at);
        if span < RATE_INTERVAL {
            return None;
        }
        self.before = Some((bytes, now));
        Some((8.0 * bytes.saturating_sub(bytes_before) as f64 / span.as_secs_f64()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_half_second() {
        let (mut rate, at) = (Rate::default(), |ms: u64| Timestamp::from_us(1_000 * ms));
        assert_eq!(rate.on_picture(1_000_000, at(0)), None);
        assert_eq!(rate.on_picture(1_050_000, at(400)), None);
        assert_eq!(rate.on_picture(1_100_000, at(800)), Some(1_000_000));
        assert_eq!(rate.on_picture(1_600_000, at(1_300)), Some(8_000_000));
    }
}
