//! `--latency-test`: pictures go to a receiver that bounces them and come back, and a table says how long which part of
//! the way took.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::config::{Peer, SenderConfig};
use common::latency::{BOUNCED, Latency, Return, STAGES, STAGES_THERE, Trips};
use common::path::{Path, ProtocolViolation};
use common::percentiles::Percentiles;
use common::units::Timestamp;
use common::wire::control::{ControlMessage, StreamId};
use net::clock;
use net::failure::Failure;
use net::link::{Action, HangUp, Stream, Streams, Waker};
use net::lock::lock;
use net::tls::Protocol;
use shell::settings::{LatencyLimit, OwnSide};
use showing::Resolved;
use showing::present::Seen;
use showing::{Network, Shows, run_over};

use sending::source::SourceSpec;
use sending::{Sending, Start};

/// Time from the first picture that came back to those that count: by then the rate has been found.
const WARM_UP: Duration = Duration::from_secs(2);
/// Time in which pictures count.
const MEASURED: Duration = Duration::from_secs(10);
/// Longest wait for the first picture that comes back.
const AWAITED_MAX: Duration = Duration::from_secs(30);

/// Sends, receives what comes back, and prints what that took. Call it on the main thread, on which a window must live.
///
/// The connection, the identity and the peers are those of `config`; `receiving` says what to do with the pictures that
/// come.
pub(crate) fn run(config: &SenderConfig, spec: &SourceSpec, receiving: &Resolved) -> Result<(), Failure> {
    let waker = Waker::default();
    let own = OwnSide::new(config.rate, config.rate_most, config.effects);
    let sending = Sending::from_spec(config, spec, Start::new(config, &waker, &own))?;
    let options = sending.options(config, Protocol::Bounce)?;
    let hang_up = HangUp::new(waker.clone());
    let trips: Arc<Mutex<Trips>> = Arc::default();
    let network = Network {
        waker: waker.clone(),
        hang_up: Some(hang_up.clone()),
        pulses: vec![sending.pulse.clone()],
        own: None,
        latency_limit: LatencyLimit::new(receiving.config.latency_max),
        seen: Some(Box::new(seen(Arc::clone(&trips)))),
        sound: None,
        talk: None,
        view: Arc::default(),
        recording: Default::default(),
        is_last: true,
    };
    let (Sending { mut link, threads, .. }, rate) = (sending, config.rate);
    let counted = Arc::clone(&trips);
    println!("sending pictures to be sent back, some {} seconds", (WARM_UP + MEASURED).as_secs());
    let turn = move |mut receiver_link| {
        let mut test =
            Test { trips: counted, hang_up: hang_up.clone(), began: clock::now(), connected: None, ends: None };
        let call = Streams::both_ways(rate, &mut link, &mut receiver_link);
        let call = call.with(StreamId::received(BOUNCED), &mut test).ended_by(hang_up);
        let linked = net::link::run(options, &waker, &mut [call]);
        link.report_final();
        threads.end(linked)
    };
    run_over(network, &receiving.config, Shows::Specs(&receiving.sinks), None, turn)?;
    match lock(&trips).latency() {
        Some(latency) => print!("{}", report(&latency)),
        None => println!("ended before a picture came back"),
    }
    Ok(())
}

/// Returns the hook that counts pictures once they are shown.
fn seen(trips: Arc<Mutex<Trips>>) -> impl FnMut(&Seen<'_>) {
    move |seen: &Seen<'_>| {
        // Before the first answers nobody knows the other's clock.
        if let (Some(clock_offset_us), Some(clock_error_us)) = (seen.passed.clock_offset_us, seen.link.clock_error_us) {
            lock(&trips).on_return(Return { way: seen.way(), clock_offset_us, clock_error_us });
        }
    }
}

/// The course of a test, and its end.
struct Test {
    trips: Arc<Mutex<Trips>>,
    hang_up: HangUp,
    began: Timestamp,
    /// Name of the other side, once it was connected.
    connected: Option<String>,
    /// The end of the test, once a picture has come back.
    ends: Option<Timestamp>,
}

impl Test {
    /// Looks whether it is time to count, to end, or to give up.
    fn look(&mut self, now: Timestamp) -> Option<Failure> {
        match self.ends {
            Some(ends) if ends <= now => {
                self.ends = Some(now + AWAITED_MAX);
                self.hang_up.hang_up();
            }
            None if lock(&self.trips).pictures() > 0 => {
                lock(&self.trips).begin(now + WARM_UP);
                self.ends = Some(now + WARM_UP + MEASURED);
            }
            None if now.since(self.began) > AWAITED_MAX => return Some(Failure::network(self.nothing_came())),
            Some(_) | None => {}
        }
        None
    }

    fn nothing_came(&self) -> String {
        let seconds = AWAITED_MAX.as_secs();
        match &self.connected {
            Some(name) => format!("{name} is connected, and no picture has come back in {seconds} s"),
            None => {
                format!(
                    "nobody sends pictures back, in {seconds} s: start `receiver --bounce` at the other side, then this"
                )
            }
        }
    }
}

impl Stream for Test {
    fn on_connected(&mut self, peer: &Peer, _: &mut Path, _: Timestamp) {
        self.connected = Some(peer.name.clone());
    }

    fn on_control(&mut self, message: ControlMessage, _: &mut Path, _: Timestamp) -> Result<(), ProtocolViolation> {
        if let ControlMessage::Bounced(bounce) = message {
            lock(&self.trips).on_bounce(bounce);
        }
        Ok(())
    }

    fn on_stop(&mut self, _: Timestamp) {}

    fn keeps_call(&self) -> bool {
        false
    }

    fn poll_action(&mut self, _: &mut Path, now: Timestamp) -> Option<Action> {
        self.look(now).map(Action::Fail)
    }
}

/// Returns the table and what it means.
fn report(latency: &Latency) -> String {
    let ms = |us: f64| us / 1e3;
    let error = ms(latency.clock_error_us as f64);
    let row = |name: &str, us: f64| format!("{name:34}{:9.1} ms", ms(us));
    let spread = |of: &Percentiles| format!("(p50 {:.1}, p95 {:.1})", ms(of.p50 as f64), ms(of.p95 as f64));
    let rows = STAGES.iter().zip(latency.stages_us).map(|(name, us)| row(name, us) + "\n");
    let rows: Vec<String> = rows.collect();
    let (one_way_us, halved_us) = (latency.one_way_mean_us(), latency.halved_us());
    let verdict = if latency.is_clock_suspect() {
        format!(
            "clock suspect: by both clocks a picture is {:.1} ms on its way, by this clock alone {:.1}, and the other's should be \
             known to \u{b1}{error:.1} ms; or the line is much slower in one direction",
            ms(one_way_us),
            ms(halved_us)
        )
    } else {
        format!(
            "both clocks say {:.1} ms one way, this clock alone {:.1}: they agree within the clocks' error",
            ms(one_way_us),
            ms(halved_us)
        )
    };
    format!(
        "\nlatency of {} pictures, means\n{}{} \u{b1}{error:.1}, by both clocks {}\n\n{}{}, by this clock alone {}\n{}\n\n{verdict}\n",
        latency.pictures,
        rows[..STAGES_THERE].concat(),
        row("capture to the display there", one_way_us),
        spread(&latency.one_way_us),
        rows[STAGES_THERE..].concat(),
        row("round trip to the display here", latency.round_trip_mean_us()),
        spread(&latency.round_trip_us),
        row("one way, both lines halved", halved_us),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(stages_us: [f64; 10]) -> Latency {
        let percentiles = Percentiles { p50: 15_000, p95: 16_000, p99: 17_000, ..Percentiles::default() };
        Latency { pictures: 300, stages_us, one_way_us: percentiles, round_trip_us: percentiles, clock_error_us: 600 }
    }

    #[test]
    fn the_table_has_every_stage_and_what_it_means() {
        let text = report(&latency([1e3, 2e3, 3e3, 4e3, 5e3, 6e3, 2.4e3, 8e3, 9e3, 10e3]));
        for stage in STAGES {
            assert!(text.contains(stage), "{stage} is missing in\n{text}");
        }
        for wanted in [
            "latency of 300 pictures",
            "15.0 ms \u{b1}0.6, by both clocks (p50 15.0, p95 16.0)",
            "50.4 ms, by this clock alone",
            "both clocks say 15.0 ms one way, this clock alone 15.2: they agree",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
        let text = report(&latency([1e3, -2e3, 3e3, 4e3, 5e3, 6e3, 6e3, 8e3, 9e3, 10e3]));
        assert!(
            text.contains("clock suspect: by both clocks a picture is 11.0 ms on its way, by this clock alone 15.0")
        );
    }
}
