//! The tuner on a device that is there: what it chooses runs and gives the default's bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use kernels::tune::SETTINGS;
use lab::tune;
use picture::frame::FrameSize;

#[test]
fn it_measures_candidates() {
    let sizes = [FrameSize::new(333, 187).unwrap()];
    // However slow the machine is, some time is enough for a few.
    let tuned = (2..10).find_map(|power| {
        let mut seen = Vec::new();
        let report = tune::tune(None, &sizes, Duration::from_secs(1 << power), |progress| {
            assert!((1..=progress.of).contains(&progress.position));
            seen.push(progress.what.to_owned());
        })
        .unwrap();
        (report.tried > 2).then_some((report, seen))
    });
    let (report, seen) = tuned.unwrap();
    assert_eq!(report.tried + report.unfit, seen.len());
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
