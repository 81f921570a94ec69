//! `--bounce`: every picture that is shown is coded and sent back to whoever sent it, for a latency test there.
//!
//! The pictures shown are the source of a sending half.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::config::{Prediction, ReceiverConfig, SenderConfig, parse_sender, resolve_sender};
use common::latency::{BOUNCED, OneWay};
use common::path::{Path, ProtocolViolation};
use common::stats::ReceiverReport;
use common::units::{Bitrate, Timestamp};
use common::wire::control::{ControlMessage, StreamId};
use net::failure::Failure;
use net::link::{HangUp, Stream, Streams, Waker};
use net::lock::lock;
use net::tls::Protocol;
use picture::effects::Effects;
use picture::frame::{ColourSpace, FrameRate, FrameSize, Raster};
use sending::source::{FrameSource, SourceFrame, SourceInfo};
use sending::{Sending, Start};
use shell::control;
use shell::settings::{LatencyLimit, OwnSide};
use shell::slot::{Slot, Taken};
use showing::present::Seen;
use showing::sink::SinkSpec;
use showing::{Network, Shows, run_over};

use crate::run::has_peer;

/// Least rate at which pictures go back, and the rate before it is known at which they come.
const RATE_MIN: Bitrate = Bitrate::from_bps(500_000);
/// Most at which they go back: what one coded frame of 512 KiB, 60 times a second, takes.
const RATE_MAX: Bitrate = Bitrate::from_bps(60 * (512 << 10) * 8);
/// Time between computations of the rate at which pictures come.
const RATE_INTERVAL: Duration = Duration::from_millis(500);
/// Longest wait for a picture before its thread looks whether there will be any.
const WAIT: Duration = Duration::from_millis(250);
/// Ways of pictures that wait to be coded, or to be told. Where the line holds more back, the oldest are left out: they do not
/// count then.
const WAYS_MAX: usize = 64;

/// The pictures that were shown, as a source of pictures.
struct ShownSource {
    /// Properties before the first one.
    usual: SourceInfo,
    pictures: Slot<SourceFrame>,
}

impl FrameSource for ShownSource {
    fn info(&self) -> SourceInfo {
        self.usual
    }

    fn next(&mut self, _: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        loop {
            match self.pictures.take_timeout(WAIT) {
                Taken::Item(picture) => return Ok(Some(picture)),
                Taken::Timeout => {}
                Taken::Closed => return Ok(None),
            }
        }
    }
}

/// Receives as [`crate::run::run`] does and sends every picture back, until a window is closed or the process is asked to stop.
/// Call it on the main thread.
pub(crate) fn run(config: &ReceiverConfig, sinks: &[SinkSpec]) -> Result<ReceiverReport, Failure> {
    has_peer(&config.shared)?;
    let waker = Waker::default();
    let (own, ways) = (OwnSide::new(RATE_MIN, RATE_MAX, Effects::default()), Ways::default());
    let pictures = Slot::new();
    let sending = {
        let (pictures, ways, config) = (pictures.clone(), ways.clone(), of_return(config)?);
        let source = || Ok(Box::new(ShownSource { usual: usual()?, pictures }) as Box<dyn FrameSource>);
        let given: sending::Given = Box::new(move |shown| ways.on_given(shown));
        Sending::start(&config, source, Start { given: Some(given), ..Start::new(&config, &waker, &own) })?
    };
    let options = sending.options(&of_return(config)?, Protocol::Bounce)?;
    let latency_limit = LatencyLimit::new(config.latency_max);
    let _control = control::serve("receiver", &config.shared, vec![latency_limit.setting()]);
    let hang_up = HangUp::new(waker.clone());
    let network = Network {
        waker: waker.clone(),
        hang_up: Some(hang_up.clone()),
        pulses: vec![sending.pulse.clone()],
        own: None,
        latency_limit,
        seen: Some(Box::new(seen(own, ways.clone(), pictures.clone()))),
        sound: None,
        talk: None,
        view: Arc::default(),
        recording: Default::default(),
        is_last: true,
    };
    tracing::info!("sending every picture back, for `sender --latency-test` at the other side");
    let Sending { mut link, threads, .. } = sending;
    let turn = move |mut receiver_link| {
        let mut ways = ways;
        let call = Streams::both_ways(RATE_MIN, &mut link, &mut receiver_link);
        let call = call.with(StreamId::sent(BOUNCED), &mut ways).ended_by(hang_up);
        let linked = net::link::run(options, &waker, &mut [call]);
        pictures.close();
        threads.end(linked)
    };
    run_over(network, config, Shows::Specs(sinks), None, turn)
}

/// Returns the configuration of what goes back: without prediction, whose states the other side would have to report, and without
/// statistics, since the receiver's tell all.
fn of_return(config: &ReceiverConfig) -> Result<SenderConfig, Failure> {
    let usual = resolve_sender(&parse_sender("")?)?;
    let mut shared = config.shared.clone();
    (shared.stats_file, shared.metrics) = (None, None);
    Ok(SenderConfig { shared, prediction: Prediction::Off, rate: RATE_MIN, rate_most: RATE_MAX, ..usual })
}

/// Returns what is sent before a picture has come.
fn usual() -> Result<SourceInfo, Failure> {
    let (size, frame_rate, colour) = (FrameSize::USUAL, FrameRate::USUAL, ColourSpace::JPEG);
    Ok(SourceInfo { size, frame_rate, colour, raster: Raster::default(), is_live: true, is_there: true })
}

/// Returns the hook that hands pictures over once they are shown.
fn seen(own: OwnSide, ways: Ways, pictures: Slot<SourceFrame>) -> impl FnMut(&Seen<'_>) {
    let mut rate = Rate::default();
    move |seen: &Seen<'_>| {
        if let Some(bps) = rate.on_picture(seen.link.counters.bytes_received, seen.presented) {
            own.set_rate(Bitrate::from_bps(bps).clamp(RATE_MIN, RATE_MAX));
        }
        let (params, way) = (&seen.stream.params, seen.way());
        let (size, frame_rate, colour, raster) = (params.size, params.frame_rate, params.colour, params.raster);
        let info = Some(SourceInfo { size, frame_rate, colour, raster, is_live: true, is_there: true });
        ways.on_shown(way);
        let (format, data) = (seen.picture.format(), seen.picture.data().to_vec().into());
        // One that was not coded yet is replaced: the newest counts.
        pictures.replace(SourceFrame { format, data, capture: way.shown, info });
    }
}

/// The ways of the pictures, which the other side is told of each that goes back; clones share them.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// Of pictures that were shown.
    shown: Arc<Mutex<VecDeque<OneWay>>>,
    /// Of those that go back.
    given: Arc<Mutex<VecDeque<OneWay>>>,
}

impl Ways {
    fn on_shown(&self, way: OneWay) {
        push(&mut lock(&self.shown), way);
    }

    /// Notes that the picture that was shown then goes back. Those before it never will.
    fn on_given(&self, shown: Timestamp) {
        let mut ways = lock(&self.shown);
        while let Some(way) = ways.pop_front() {
            if way.shown == shown {
                return push(&mut lock(&self.given), way);
            }
        }
    }
}

impl Stream for Ways {
    fn on_control(&mut self, _: ControlMessage, _: &mut Path, _: Timestamp) -> Result<(), ProtocolViolation> {
        Ok(())
    }

    fn on_stop(&mut self, _: Timestamp) {}

    fn keeps_call(&self) -> bool {
        false
    }

    fn poll_control(&mut self) -> Option<ControlMessage> {
        lock(&self.given).pop_front().map(ControlMessage::Bounced)
    }
}

/// Puts a way behind `ways`, of which the oldest goes when there are too many.
fn push(ways: &mut VecDeque<OneWay>, way: OneWay) {
    if ways.len() >= WAYS_MAX {
        ways.pop_front();
    }
    ways.push_back(way);
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

    #[test]
    fn a_picture_that_never_went_back_is_not_told() {
        let way = |us| {
            let [capture, sent, received, released, decoded, shown] = [0, 0, 0, 0, 0, us].map(Timestamp::from_us);
            OneWay { capture, sent, received, released, decoded, shown }
        };
        let mut ways = Ways::default();
        (1..=3).for_each(|us| ways.on_shown(way(us)));
        ways.on_given(Timestamp::from_us(2));
        ways.on_given(Timestamp::from_us(9));
        let told = |ways: &mut Ways| ways.poll_control();
        assert_eq!((told(&mut ways), told(&mut ways)), (Some(ControlMessage::Bounced(way(2))), None));
    }
}
