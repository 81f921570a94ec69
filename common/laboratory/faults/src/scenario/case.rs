//! Scenarios: conditions of the network and faults of the daemons.

use std::time::Duration;

use common::netsim::{NetConditions, Scenario};
use picture::frame::FrameSize;

use crate::bars::Bars;
use crate::hostile::Act;
use crate::machine::route::Route;
use crate::relay::Passed;
use crate::scenario::checks;
use crate::scenario::event::Event;
use crate::scenario::measured::Measured;
use crate::testbed::RECEIVER;

/// Settling of a scenario that needs no longer one.
pub(crate) const SETTLING: Duration = Duration::from_secs(2);
/// A TCP flow needs this long.
const LINE_LENGTH_MIN: Duration = Duration::from_secs(45);

/// Holds a run to its bars.
pub(crate) type Check = fn(&Measured) -> Bars;

/// One scenario.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) route: Route,
    /// Conditions from the dialler to the listener.
    pub(crate) there: Scenario,
    pub(crate) back: Scenario,
    /// Events, each at its time.
    pub(crate) events: Vec<(Duration, Event)>,
    /// End that listens.
    pub(crate) listens: usize,
    /// Size of both ends' cameras, if each sends and receives: `sender call`. None: a sender and a receiver.
    pub(crate) cameras: Option<FrameSize>,
    /// End whose pictures are waited for.
    pub(crate) watched: usize,
    /// True if each event waits until pictures have come after the one before.
    pub(crate) is_patient: bool,
    /// Time from the first picture to the begin: clocks, path, rate and memory are settled then.
    pub(crate) settling: Duration,
    /// True if QUIC's usual controller must fail here: if it does not, the network was not bad.
    pub(crate) is_proof: bool,
    /// True if the check compares with [`CLEAN`].
    pub(crate) needs_clean: bool,
    /// Back end of both daemons, if it is not the one asked for.
    pub(crate) backend: Option<&'static str>,
    /// Source and rate, if they are not those asked for.
    pub(crate) stream: Option<(&'static str, &'static str)>,
    pub(crate) check: Check,
    /// Returns a remark for the table.
    pub(crate) note: fn(&Measured) -> Option<String>,
    /// Returns true if the network has done its part.
    pub(crate) fired: fn(&Passed) -> bool,
}

impl Case {
    /// Returns the scenario in which nothing happens, on a line of [`FAR`] both ways through the relay.
    pub(crate) fn new(name: &'static str, title: &'static str, check: Check) -> Self {
        Self {
            name,
            title,
            route: Route::Relay,
            there: FAR.into(),
            back: FAR.into(),
            events: Vec::new(),
            listens: RECEIVER,
            cameras: None,
            watched: RECEIVER,
            is_patient: false,
            settling: SETTLING,
            is_proof: false,
            needs_clean: false,
            backend: None,
            stream: None,
            check,
            note: checks::note,
            fired: |_| true,
        }
    }

    /// Returns the same over another path.
    pub(crate) fn route(self, route: Route) -> Self {
        Self { route, ..self }
    }

    /// Returns the same on these lines, there and back.
    pub(crate) fn lines(self, there: impl Into<Scenario>, back: impl Into<Scenario>) -> Self {
        Self { there: there.into(), back: back.into(), ..self }
    }

    /// Returns the same on such a line both ways.
    pub(crate) fn both_ways(self, line: impl Into<Scenario>) -> Self {
        let line = line.into();
        self.lines(line.clone(), line)
    }

    /// Returns the same with these events, each at its time.
    pub(crate) fn events(self, events: Vec<(Duration, Event)>) -> Self {
        Self { events, ..self }
    }

    /// Returns the same where this end listens.
    pub(crate) fn listens(self, listens: usize) -> Self {
        Self { listens, ..self }
    }

    /// Returns the same with this back end of both daemons, source and rate.
    pub(crate) fn of(self, backend: Option<&'static str>, stream: (&'static str, &'static str)) -> Self {
        Self { backend, stream: Some(stream), ..self }
    }

    /// Returns the same if it counts only where `fired` holds: the network has done its part.
    pub(crate) fn fired(self, fired: fn(&Passed) -> bool) -> Self {
        Self { fired, ..self }
    }

    /// Returns the same with another remark.
    pub(crate) fn noted(self, note: fn(&Measured) -> Option<String>) -> Self {
        Self { note, ..self }
    }

    /// Returns the same with the fates of `seed`, and others on the way back.
    pub(crate) fn seeded(self, seed: u64) -> Self {
        Self { there: self.there.with_seed(seed), back: self.back.with_seed(seed ^ 0x5eed), ..self }
    }

    /// Returns the duration of a run, at least `asked`: a TCP flow must find its share, and all events must come.
    pub(crate) fn length(&self, asked: Duration) -> Duration {
        let least = if matches!(self.route, Route::Line { .. }) { LINE_LENGTH_MIN } else { Duration::ZERO };
        let last = self.events.iter().map(|(at, _)| *at + Duration::from_secs(3)).max().unwrap_or_default();
        asked.max(least).max(last)
    }

    fn has(&self, is: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(|(_, event)| is(event))
    }

    /// Returns true if OpenCL devices must obey the scenario.
    pub(crate) fn needs_layer(&self) -> bool {
        self.needs_drivers() || self.has(|event| matches!(event, Event::Device { .. }))
    }

    /// Returns true if drivers are taken away.
    pub(crate) fn needs_drivers(&self) -> bool {
        self.has(|event| matches!(event, Event::RemoveDrivers))
    }

    /// Returns true if a hostile peer sends video of its own.
    pub(crate) fn has_other_pictures(&self) -> bool {
        self.has(|event| matches!(event, Event::Hostile { act: Act::Flood, .. }))
    }

    /// Returns true if the daemons run under a limit of memory.
    pub(crate) fn limits_memory(&self) -> bool {
        self.has(|event| matches!(event, Event::Hostile { act: Act::Abuse | Act::AbuseSender, .. }))
    }

    /// Returns true if the daemons' wall clocks are changed.
    pub(crate) fn needs_clock(&self) -> bool {
        self.has(|event| matches!(event, Event::Clock(_)))
    }

    /// Returns true if another peer, which both allow, calls beside.
    pub(crate) fn allows_second(&self) -> bool {
        self.has(|event| matches!(event, Event::Beside { .. }))
    }
}

/// The scenario that others are compared with.
pub(crate) const CLEAN: &str = "clean";
/// Name of the run on this machine alone, whose latency is told in words.
pub(crate) const LOOPBACK: &str = "L1";

/// One way of a 50 ms round trip.
pub(crate) const FAR: NetConditions = NetConditions::perfect(Duration::from_millis(25));
