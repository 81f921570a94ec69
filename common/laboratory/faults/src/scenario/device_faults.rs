//! Times at which OpenCL devices fail in the scenarios T13.

use std::time::Duration;

use crate::machine::device::{CALLS, DeviceAct};
use crate::scenario::event::Event;
use crate::testbed::{RECEIVER, SENDER};

/// Time before the first failure, from one to the kill that brings the device back, and from one to the next.
const LEAD: Duration = Duration::from_secs(3);
const SEEN: Duration = Duration::from_secs(2);
const CYCLE: Duration = Duration::from_secs(6);

fn both(at: Duration, act: DeviceAct) -> [(Duration, Event); 2] {
    [SENDER, RECEIVER].map(|end| (at, Event::Device { end, act }))
}

/// Returns the case in which each call fails once at both ends; after each both daemons begin anew with their devices.
pub(crate) fn each_call() -> Vec<(Duration, Event)> {
    let cycle = |(number, name)| {
        let at = LEAD + CYCLE * number;
        let kills = [(at + SEEN, Event::Kill(SENDER)), (at + SEEN, Event::Kill(RECEIVER))];
        [both(at, DeviceAct::FailOnce(name)), kills].concat()
    };
    (0..).zip(CALLS).flat_map(cycle).collect()
}

/// Returns the case in which the device of one end is lost, then that of the other.
pub(crate) fn losses() -> Vec<(Duration, Event)> {
    vec![
        (LEAD, Event::Device { end: SENDER, act: DeviceAct::Fail }),
        (LEAD + SEEN, Event::Device { end: RECEIVER, act: DeviceAct::Fail }),
    ]
}

/// Returns the case in which the device of one end hangs for 2 s, then that of the other.
pub(crate) fn hangs() -> Vec<(Duration, Event)> {
    let hang = |end: usize| {
        let at = LEAD + CYCLE * end as u32;
        [(at, Event::Device { end, act: DeviceAct::Hang }), (at + SEEN, Event::Device { end, act: DeviceAct::Work })]
    };
    [SENDER, RECEIVER].into_iter().flat_map(hang).collect()
}

/// Returns the case in which the drivers vanish during the call, then each daemon begins anew without.
pub(crate) fn no_drivers() -> Vec<(Duration, Event)> {
    vec![(LEAD, Event::RemoveDrivers), (LEAD + SEEN, Event::Kill(SENDER)), (LEAD + CYCLE, Event::Kill(RECEIVER))]
}
