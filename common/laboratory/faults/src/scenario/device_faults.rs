//! Times at which OpenCL devices fail in the scenarios T13.

use std::time::Duration;

use crate::machine::device::{CALLS, DeviceAct};
use crate::scenario::fault::Fault;

/// Time before the first failure, from one to the kill that brings the device back, and from one to the next.
const LEAD: Duration = Duration::from_secs(3);
const SEEN: Duration = Duration::from_secs(2);
const CYCLE: Duration = Duration::from_secs(6);

fn both(at: Duration, act: DeviceAct) -> [(Duration, Fault); 2] {
    [0, 1].map(|end| (at, Fault::Device { end, act }))
}

/// Returns the case in which each call fails once at both ends; after each both daemons begin anew with their devices.
pub(crate) fn each_call() -> Vec<(Duration, Fault)> {
    let cycle = |(number, name)| {
        let at = LEAD + CYCLE * number;
        let kills = [(at + SEEN, Fault::KillSender), (at + SEEN, Fault::KillReceiver)];
        [both(at, DeviceAct::FailOnce(name)), kills].concat()
    };
    (0..).zip(CALLS).flat_map(cycle).collect()
}

/// Returns the case in which the device of one end is lost, then that of the other.
pub(crate) fn losses() -> Vec<(Duration, Fault)> {
    vec![
        (LEAD, Fault::Device { end: 0, act: DeviceAct::Fail }),
        (LEAD + SEEN, Fault::Device { end: 1, act: DeviceAct::Fail }),
    ]
}

/// Returns the case in which the device of one end hangs for 2 s, then that of the other.
pub(crate) fn hangs() -> Vec<(Duration, Fault)> {
    let hang = |end: usize| {
        let at = LEAD + CYCLE * end as u32;
        [(at, Fault::Device { end, act: DeviceAct::Hang }), (at + SEEN, Fault::Device { end, act: DeviceAct::Work })]
    };
    [0, 1].into_iter().flat_map(hang).collect()
}

/// Returns the case in which the drivers vanish during the call, then each daemon begins anew without.
pub(crate) fn no_drivers() -> Vec<(Duration, Fault)> {
    vec![(LEAD, Fault::RemoveDrivers), (LEAD + SEEN, Fault::KillSender), (LEAD + CYCLE, Fault::KillReceiver)]
}
