//! Figures of made-up pictures and counts.

use common::percentiles::Percentiles;

use common::path::PathCounters;
use common::stream::video::ReceiverCounters;

use super::*;
use crate::handover::Missing;

fn at(us: u64) -> Timestamp {
    Timestamp::from_us(us)
}

fn near(percentiles: Percentiles, us: u64) -> bool {
    percentiles.p50.abs_diff(us) <= us / 500
}

#[test]
fn stages_add_up_to_the_latency_after_sending() {
    let mut presentation = Presentation::default();
    // The sender's clock is 5000 us ahead: it captured at our 10000 and sent at our 30000.
    let passed = Passed {
        capture: at(15_000),
        sent: at(35_000),
        received: at(42_000),
        released: at(43_000),
        decoded: at(53_000),
        compensate: Duration::from_micros(1_500),
        inverse: Duration::from_micros(4_000),
        clock_offset_us: Some(5_000),
        ..PASSED
    };
    let link = LinkSnapshot::default();
    presentation.on_shown(&passed, &link, at(55_000));
    let report = presentation.report(&link, None, Standing::default(), at(60_000), true);
    assert!(near(report.latency_us, 45_000), "{:?}", report.latency_us);
    let expected = [
        (Stage::Compensate, 1_500),
        (Stage::Network, 12_000),
        (Stage::Reassemble, 1_000),
        (Stage::Decode, 4_500),
        (Stage::Inverse, 4_000),
        (Stage::Present, 2_000),
    ];
    assert_eq!(report.stages_us.0.len(), expected.len());
    for ((stage, percentiles), (wanted, us)) in report.stages_us.0.iter().zip(expected) {
        assert!(*stage == wanted && near(*percentiles, us), "{stage:?} {percentiles:?}");
    }
    // The page in the window has all of the way, and its parts add up.
    let status = presentation.status(&link, None, at(60_000));
    assert_eq!(status.line, "Picture 45 ms behind, line good");
    let rows = [
        "camera and computer there    20.0 ms",
        "line                         12.0 ms",
        "wait for missing parts        1.0 ms",
        "decoder here                 10.0 ms",
        "display                       2.0 ms",
        "capture to display           45.0 ms",
    ];
    assert_eq!(status.details[..rows.len()], rows);
    assert!(!status.details.iter().any(|row| row.contains("clock")));
}

#[test]
fn a_clock_that_may_be_wrong_by_more_than_2_ms_is_told_with_its_error() {
    let told = |error_us| {
        let mut presentation = Presentation::default();
        let link = LinkSnapshot { clock_error_us: error_us, ..LinkSnapshot::default() };
        let passed = Passed { received: at(20_000), released: at(20_000), decoded: at(20_000), ..PASSED };
        presentation.on_shown(&Passed { clock_offset_us: Some(0), ..passed }, &link, at(30_000));
        let report = presentation.report(&link, None, Standing::default(), at(40_000), false);
        assert_eq!(report.clock_error_us, error_us);
        let status = presentation.status(&link, None, at(40_000));
        let row = status.details.into_iter().find(|row| row.contains("clock"));
        (report.clock_suspect, status.line, row)
    };
    for sure in [None, Some(2_000)] {
        assert_eq!(told(sure), (false, "Picture 30 ms behind, line good".to_owned(), None));
    }
    let row = "clock suspect: \u{b1}4 ms of the line and the whole";
    let wanted = (true, "Picture 30 ms behind (\u{b1}4 ms), line good".to_owned(), Some(row.to_owned()));
    assert_eq!(told(Some(4_100)), wanted);
}

#[test]
fn a_decoder_that_takes_longer_than_pictures_are_apart_is_too_slow() {
    let told = |decode_ms: u64| {
        let (mut presentation, link) = (Presentation::default(), LinkSnapshot::default());
        presentation.on_start(1, INTERVAL);
        let passed = Passed { decoded: at(1_000 * decode_ms), clock_offset_us: Some(0), ..PASSED };
        presentation.on_shown(&passed, &link, at(1_000 * decode_ms));
        presentation.status(&link, None, at(1_000_000)).line
    };
    assert_eq!(told(39), "Picture 39 ms behind, line good");
    let slow = "This computer is too slow to show 25 pictures a second";
    assert_eq!(told(41), format!("{slow}\nPicture 41 ms behind, line good"));
}

const PASSED: Passed = Passed {
    capture: Timestamp::from_us(0),
    sent: Timestamp::from_us(0),
    received: Timestamp::from_us(0),
    released: Timestamp::from_us(0),
    decoded: Timestamp::from_us(0),
    compensate: Duration::ZERO,
    inverse: Duration::ZERO,
    stalled: Duration::ZERO,
    clock_offset_us: None,
    missing: Missing { blocks: 0, coarse: 0 },
};
const INTERVAL: Duration = Duration::from_millis(40);

fn link(streaming: bool, goodbye: u64, frames_lost: u64) -> LinkSnapshot {
    let counters = ReceiverCounters { frames_lost, ..ReceiverCounters::default() };
    LinkSnapshot { counters, streaming, goodbye, ..LinkSnapshot::default() }
}

/// Returns the longest freeze and the frames lost in a line written at `ms`.
fn line(presentation: &mut Presentation, link: &LinkSnapshot, ms: u64) -> (f64, u64) {
    let report = presentation.report(link, None, Standing::default(), at(1_000 * ms), false);
    (report.freeze_ms_max, report.frames_lost)
}

#[test]
fn a_standing_picture_is_a_freeze_and_a_pause_after_a_goodbye_is_not() {
    let mut presentation = Presentation::default();
    let (streaming, gone) = (link(true, 0, 0), link(false, 1, 0));
    presentation.on_start(1, INTERVAL);
    presentation.on_shown(&PASSED, &streaming, at(0));
    presentation.on_shown(&PASSED, &streaming, at(40_000));
    assert_eq!(line(&mut presentation, &streaming, 50), (40.0, 0));
    assert_eq!(line(&mut presentation, &streaming, 540), (500.0, 0));
    // The last picture is still on its way to the screen when the goodbye comes.
    presentation.on_shown(&PASSED, &gone, at(540_000));
    assert_eq!(line(&mut presentation, &gone, 5_000), (500.0, 0));
    presentation.on_start(2, INTERVAL);
    let back = link(true, 1, 0);
    presentation.on_shown(&PASSED, &back, at(9_000_000));
    let report = presentation.report(&back, None, Standing::default(), at(9_000_000), true);
    assert_eq!((report.freeze_ms_max, report.frames_lost, report.frames_shown), (500.0, 0, 4));
    assert_eq!(report.latency_us, Percentiles::default(), "without a clock offset there is no latency");
}

#[test]
fn an_outage_is_a_freeze_and_its_frames_are_lost_also_after_the_connection_has_timed_out() {
    let mut presentation = Presentation::default();
    presentation.on_start(1, INTERVAL);
    presentation.on_shown(&PASSED, &link(true, 0, 5), at(1_000_000));
    // The connection does not know yet; then it has timed out, and two frames that were under way are lost.
    assert_eq!(line(&mut presentation, &link(true, 0, 5), 5_000), (4_000.0, 5));
    assert_eq!(line(&mut presentation, &link(false, 0, 7), 8_000), (7_000.0, 5 + 174));
    assert_eq!(line(&mut presentation, &link(false, 0, 7), 9_000), (8_000.0, 5 + 199));
    // Somebody calls; no picture yet.
    assert_eq!(line(&mut presentation, &link(true, 0, 7), 9_010), (8_010.0, 5 + 199));
    presentation.on_start(2, INTERVAL);
    assert_eq!(line(&mut presentation, &link(true, 0, 7), 10_000), (9_000.0, 5 + 224));
    presentation.on_shown(&PASSED, &link(true, 0, 7), at(10_000_000));
    assert_eq!(line(&mut presentation, &link(true, 0, 7), 10_010), (9_000.0, 5 + 224));
    presentation.on_shown(&PASSED, &link(true, 0, 7), at(10_040_000));
    assert_eq!(line(&mut presentation, &link(true, 0, 7), 10_050), (9_000.0, 5 + 224));
}

#[test]
fn what_holds_a_picture_is_the_line_or_a_computer() {
    let ms = Duration::from_millis;
    let streaming = LinkSnapshot { streaming: true, ..LinkSnapshot::default() };
    // Captured, sent, received, shown, and how long the network thread had stood still.
    let held = |second: [u64; 4], stalled: u64, stalled_there: u64| {
        let mut presentation = Presentation::default();
        let pictures = [([0, 5, 30, 35], 0, 0), (second, stalled, stalled_there)];
        for ([capture, sent, received, shown], stalled, stalled_there) in pictures {
            let path_counters = PathCounters { peer_stalled: ms(stalled_there), ..PathCounters::default() };
            let streaming = LinkSnapshot { path_counters, ..streaming };
            let passed = Passed {
                capture: at(1_000 * capture),
                sent: at(1_000 * sent),
                received: at(1_000 * received),
                released: at(1_000 * received),
                decoded: at(1_000 * received),
                stalled: ms(stalled),
                ..PASSED
            };
            presentation.on_shown(&passed, &streaming, at(1_000 * shown));
        }
        let report = presentation.report(&streaming, None, Standing::default(), at(1_000_000), true);
        let line = presentation.status(&streaming, None, at(1_000_000)).line;
        let words = line.strip_prefix("Picture, its delay not known yet, ").unwrap_or(&line).to_owned();
        (report.held_line_ms_max, report.held_computer_ms_max, words)
    };
    assert_eq!(held([17, 22, 47, 52], 0, 0), (0.0, 0.0, "line good".to_owned()));
    assert_eq!(held([17, 22, 127, 132], 0, 0), (80.0, 0.0, "held up 80 ms by the line".to_owned()));
    assert_eq!(held([17, 22, 127, 132], 80, 0), (0.0, 80.0, "held up 80 ms by this computer".to_owned()));
    assert_eq!(held([17, 22, 47, 112], 0, 0), (0.0, 60.0, "held up 60 ms by this computer".to_owned()));
    assert_eq!(held([17, 92, 117, 122], 0, 0), (0.0, 70.0, "held up 70 ms by the computer there".to_owned()));
    // It stood still between two pictures, or when a datagram should have left.
    for second in [[97, 102, 127, 132], [17, 22, 127, 132]] {
        assert_eq!(held(second, 0, 80), (0.0, 80.0, "held up 80 ms by the computer there".to_owned()));
    }
}

#[test]
fn damage_is_blamed_on_whoever_has_done_it() {
    let ms = Duration::from_millis;
    let said = |change: fn(&mut ReceiverCounters, &mut PathCounters)| {
        let mut presentation = Presentation::default();
        let path_counters = PathCounters { receive_stalled: ms(500), peer_stalled: ms(700), ..PathCounters::default() };
        let mut link = LinkSnapshot { path_counters, streaming: true, ..LinkSnapshot::default() };
        let _ = presentation.status(&link, None, at(1_000_000));
        (link.counters.frames_complete, link.counters.frames_partial) = (22, 3);
        change(&mut link.counters, &mut link.path_counters);
        let line = presentation.status(&link, None, at(1_000_000)).line;
        line.rsplit_once("yet, ").map(|(_, words)| words.to_owned()).unwrap_or(line)
    };
    let not_finished = "the computer there is too busy: 12 % of pictures not finished";
    // Nothing was lost, mended or late.
    assert_eq!(said(|_, _| {}), not_finished);
    assert_eq!(
        said(|it, path| (path.peer_stalled, it.datagrams_late) = (Duration::from_millis(900), 16)),
        not_finished
    );
    let here = "this computer is too busy: 12 % of pictures damaged";
    assert_eq!(said(|_, path| (path.receive_stalled, path.datagrams_missing) = (Duration::from_millis(650), 9)), here);
    let poor = "line poor: 12 % of pictures damaged";
    assert_eq!(said(|_, path| path.datagrams_missing = 9), poor);
    assert_eq!(said(|it, _| it.datagrams_late = 2), poor);
    // A moment is no reason.
    assert_eq!(said(|_, path| (path.receive_stalled, path.datagrams_missing) = (Duration::from_millis(505), 9)), poor);
}

#[test]
fn counts_of_the_list_are_among_the_figures_once_they_have_occurred() {
    let mut presentation = Presentation::default();
    let mut link = LinkSnapshot::default();
    let line = "Frames not decoded because the state that they refer to was not there: 3".to_owned();
    assert!(!presentation.status(&link, None, at(1)).details.iter().any(|found| found.starts_with("Frames not")));
    link.counters.counts.frames_lacking_reference = 3;
    assert!(presentation.status(&link, None, at(2)).details.contains(&line));
}

#[test]
fn the_status_covers_the_time_since_the_last_one() {
    let mut presentation = Presentation::default();
    let mut words = |complete, lost, ms: u64| {
        let counters = ReceiverCounters { frames_complete: complete, frames_lost: lost, ..ReceiverCounters::default() };
        let path_counters = PathCounters { datagrams_missing: lost, ..PathCounters::default() };
        let link = LinkSnapshot { counters, path_counters, streaming: true, ..LinkSnapshot::default() };
        let line = presentation.status(&link, None, at(1_000 * ms)).line;
        line.rsplit_once("yet, ").map(|(_, words)| words.to_owned())
    };
    assert_eq!(words(27, 3, 1_000).as_deref(), Some("line poor: 10 % of pictures damaged"));
    assert_eq!(words(127, 5, 2_000).as_deref(), Some("line fair: 2 % of pictures damaged"));
    assert_eq!(words(157, 5, 3_000).as_deref(), Some("line good"));
}
