//! The tuner on a device that is there: what it chooses runs, gives the default's bytes, and takes the time it may.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::time::{Duration, Instant};

use common::frame::FrameSize;
use kernels::opencl::SETTINGS;
use kernels::tune;

#[test]
fn it_measures_candidates_and_keeps_to_its_time() {
    let (start, mut seen) = (Instant::now(), Vec::new());
    let sizes = [FrameSize::new(333, 187).unwrap()];
    let report = tune::tune(None, &sizes, Duration::from_secs(4), |progress| {
        assert!((1..=progress.of).contains(&progress.position));
        seen.push(progress.what.to_owned());
    })
    .unwrap();
    assert_eq!(report.tried + report.unfit, seen.len());
    assert!(report.tried > 2 && report.elapsed <= start.elapsed(), "{report:?}");
    assert!(seen.iter().all(|what| SETTINGS.iter().any(|setting| what.starts_with(setting.name))), "{seen:?}");
    let [times] = report.times.as_slice() else { panic!("{:?}", report.times) };
    assert_eq!(times.size, sizes[0]);
    assert!(times.before.forward > Duration::ZERO && times.after.inverse > Duration::ZERO);
    assert!(times.after.total() <= times.before.total() || report.chosen == report.default);
}

#[test]
fn without_time_nothing_is_tried() {
    let sizes = [FrameSize::new(16, 16).unwrap()];
    let report = tune::tune(None, &sizes, Duration::ZERO, |_| panic!("a candidate was tried")).unwrap();
    assert_eq!((report.tried, report.complete), (0, false));
    assert_eq!(report.chosen, report.default);
}
