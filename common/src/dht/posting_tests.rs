use proptest::prelude::*;

use super::*;
use crate::path::ways::Kind;

const DAY: u64 = 20_000;
const NOW_MS: u64 = DAY * DAY_MS + DAY_MS / 2;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_us(1_000_000 + 1_000 * ms)
}

fn candidate(text: &str) -> Candidate {
    Candidate::new(Kind::ServerReflexive, text.parse().unwrap()).unwrap()
}

fn note(made_ms: u64, addresses: &[&str]) -> Vec<u8> {
    let candidates = addresses.iter().map(|text| candidate(text)).collect();
    TimedNote { made_ms, until_ms: made_ms + 60_000, note: Note { candidates } }.encode()
}

/// Does what is due at once; returns the times of it in milliseconds, until `end`.
fn run(posting: &mut Posting, from: u64, end: u64, answers: usize) -> Vec<(u64, Due)> {
    let mut done = Vec::new();
    for ms in (from..end).step_by(50) {
        let day = DAY + ms / DAY_MS;
        while let Some(due) = posting.poll(day, at(ms)) {
            done.push((ms, due));
            posting.on_end(due, answers, answers, at(ms));
        }
    }
    done
}

fn count(done: &[(u64, Due)], what: Due) -> usize {
    done.iter().filter(|(_, due)| *due == what).count()
}

#[test]
fn it_is_busy_after_a_change_and_idle_later() {
    let mut posting = Posting::new(true, at(0));
    let first = run(&mut posting, 0, 60_000, 9);
    assert_eq!(count(&first, Due::Publish), 0, "nothing is known yet");
    assert!((50..=61).contains(&count(&first, Due::Look)), "{}", count(&first, Due::Look));
    posting.set_own(&[candidate("203.0.113.5:9")], at(60_000));
    let hour = run(&mut posting, 60_000, 3_660_000, 9);
    assert_eq!(hour[0], (60_000, Due::Publish));
    assert_eq!(count(&hour, Due::Publish), 3, "each twenty minutes");
    let late: Vec<_> = hour.iter().filter(|(ms, _)| *ms > 1_000_000).copied().collect();
    assert!((40..=46).contains(&count(&late, Due::Look)), "once a minute: {}", count(&late, Due::Look));
    // In a call only what has changed is published.
    posting.set_pace(Pace::Quiet);
    posting.set_own(&[candidate("203.0.113.6:9")], at(3_660_000));
    assert_eq!(run(&mut posting, 3_660_000, 3_700_000, 9), [(3_660_000, Due::Publish)]);
    // After it all is in a hurry again.
    posting.set_pace(Pace::Seeks);
    posting.wake(at(3_700_000));
    assert!(count(&run(&mut posting, 3_700_000, 3_710_000, 9), Due::Look) >= 9);
}

#[test]
fn another_day_is_another_item() {
    let mut posting = Posting::new(false, at(0));
    posting.set_own(&[candidate("203.0.113.5:9")], at(0));
    assert_eq!(run(&mut posting, 0, 1_000, 9), [(0, Due::Publish)]);
    assert_eq!(run(&mut posting, DAY_MS - 600_000, DAY_MS - 599_000, 9).len(), 1, "that of before is old");
    assert_eq!(run(&mut posting, DAY_MS - 1_000, DAY_MS + 1_000, 9), [(DAY_MS, Due::Publish)]);
    let days = |ms| Posting::days(ms).collect::<Vec<_>>();
    assert_eq!(days(NOW_MS), [DAY]);
    assert_eq!(days(DAY * DAY_MS + 60_000), [DAY - 1, DAY]);
    assert_eq!(days(DAY * DAY_MS - 60_000), [DAY - 1, DAY]);
    assert_eq!((days(0), days(u64::MAX)), (vec![0], vec![u64::MAX / DAY_MS]));
}

#[test]
fn a_network_without_answers_is_left_alone_for_longer_and_longer() {
    let mut posting = Posting::new(true, at(0));
    posting.set_own(&[candidate("203.0.113.5:9")], at(0));
    let day = run(&mut posting, 0, DAY_MS, 0);
    assert_eq!(day[1].0, 0, "{:?}", &day[..4]);
    assert!(day[2].0 >= 60_000, "{:?}", &day[..4]);
    assert!(day.len() <= 55, "{}", day.len());
    let last = at(DAY_MS);
    posting.poll(DAY + 1, last);
    assert!(posting.poll_timeout().unwrap() > last, "nobody turns in a circle");
    // Elsewhere it may be there.
    posting.wake(last);
    assert!(posting.poll(DAY + 1, last).is_some());
}

#[test]
fn what_was_stored_nowhere_is_published_again() {
    let mut posting = Posting::new(false, at(0));
    posting.set_own(&[candidate("203.0.113.5:9")], at(0));
    assert_eq!(posting.poll(DAY, at(0)), Some(Due::Publish));
    assert_eq!(posting.poll(DAY, at(9_000)), None, "under way");
    assert_eq!(posting.on_end(Due::Publish, 5, 0, at(10_000)), None);
    assert_eq!(posting.poll(DAY, at(11_999)), None);
    assert_eq!(posting.poll(DAY, at(12_000)), Some(Due::Publish));
    // Nodes that answer and never store are asked ever more rarely.
    let mut last = 12_000;
    for times in 1..40 {
        assert_eq!(posting.on_end(Due::Publish, 5, 0, at(last)), None);
        let next = posting.poll_timeout().unwrap();
        last = (next.as_us() - at(0).as_us()) / 1000;
        assert_eq!(posting.poll(DAY, next), Some(Due::Publish), "{times}");
    }
    assert!(last > 8 * 3_600_000, "{last}");
    // Elsewhere they may.
    posting.set_own(&[candidate("203.0.113.6:9")], at(last));
    posting.on_end(Due::Publish, 5, 0, at(last));
    assert!(posting.poll_timeout().unwrap() <= at(last + 2_000));
}

#[test]
fn who_calls_nobody_looks_up_only_those_whose_knocks_stay_away() {
    let mut posting = Posting::new(true, at(0));
    posting.set_pace(Pace::Idle);
    posting.set_own(&[candidate("203.0.113.5:9")], at(0));
    // Somebody who is not there for a day.
    let day = run(&mut posting, 0, DAY_MS - 1_000, 9);
    assert_eq!(count(&day, Due::Publish), 24, "once an hour");
    assert!((140..=160).contains(&count(&day, Due::Look)), "{}", count(&day, Due::Look));
    assert!(count(&day[..8], Due::Look) >= 6 && day[7].0 < 300_000, "more often at first: {day:?}");
    let note = posting.own(NOW_MS);
    assert_eq!((note.made_ms, note.until_ms), (NOW_MS, NOW_MS + 65 * 60_000), "there until the next but a little");
    // Knocks each twenty seconds: nothing is looked up. They stay away: soon, and often at first.
    let mut looks = Vec::new();
    for knock in 0..180 {
        let ms = DAY_MS + 20_000 * knock;
        posting.on_heard(at(ms));
        looks.extend(run(&mut posting, ms, ms + 20_000, 9).into_iter().filter(|(_, due)| *due == Due::Look));
    }
    assert_eq!(looks, []);
    let last = DAY_MS + 180 * 20_000;
    let after = run(&mut posting, last, last + 120_000, 9);
    assert!((4..=6).contains(&count(&after, Due::Look)) && after[0].0 <= last + 45_000, "{after:?}");
}

#[test]
fn only_notes_of_the_other_machine_of_now_and_of_the_world_are_believed() {
    let mut posting = Posting::new(true, at(0));
    let one = |made_ms| {
        let note = Note { candidates: vec![candidate("203.0.113.5:9")] };
        Some(TimedNote { made_ms, until_ms: made_ms + 60_000, note })
    };
    let hour = 3_600_000;
    assert_eq!(posting.believe(None, NOW_MS), None);
    for end in 0..TIMED_NOTE_BYTES {
        assert_eq!(posting.believe(Some(&note(NOW_MS, &["203.0.113.5:9"])[..end]), NOW_MS), None);
    }
    assert_eq!(posting.believe(Some(&[0; TIMED_NOTE_BYTES + 1]), NOW_MS), None);
    assert_eq!(posting.believe(Some(&note(NOW_MS - 4 * hour, &["203.0.113.5:9"])), NOW_MS), None);
    assert_eq!(posting.believe(Some(&note(NOW_MS + 700_000, &["203.0.113.5:9"])), NOW_MS), None);
    let mut many = note(NOW_MS, &["203.0.113.5:9"]);
    many[17] = 9;
    assert_eq!(posting.believe(Some(&many), NOW_MS), None, "too many");
    let mut group = note(NOW_MS, &["203.0.113.5:9"]);
    group[19] = 224;
    assert_eq!(posting.believe(Some(&group), NOW_MS), None, "of a group");
    let expected =
        Refused { sealed_by_others: 1, malformed: TIMED_NOTE_BYTES as u64 + 3, old: 1, early: 1, addresses: 0 };
    assert_eq!(posting.refused(), expected);
    assert_eq!(posting.believe(Some(&note(NOW_MS - 100, &["203.0.113.5:9"])), NOW_MS), one(NOW_MS - 100));
    assert_eq!(posting.believe(Some(&note(NOW_MS - 100, &["203.0.113.5:9"])), NOW_MS), None, "no news");
    assert_eq!(posting.believe(Some(&note(NOW_MS - 101, &["203.0.113.4:9"])), NOW_MS), None, "a replay");
    let here = ["127.0.0.1:9", "192.168.1.1:9", "203.0.113.5:9"];
    assert_eq!(posting.believe(Some(&note(NOW_MS, &here)), NOW_MS), one(NOW_MS));
    assert_eq!(posting.believe(Some(&note(NOW_MS + 1, &here[..2])), NOW_MS), None);
    assert_eq!(posting.refused(), Refused { old: 2, addresses: 4, ..expected });
    // Nor does this machine publish such.
    posting.set_own(&here.map(candidate), at(0));
    assert_eq!(posting.own(NOW_MS).note.candidates, [candidate("203.0.113.5:9")]);
}

proptest! {
    #[test]
    fn hostile_notes_give_a_few_addresses_of_the_world_or_none(noise in proptest::collection::vec(any::<u8>(), 0..TIMED_NOTE_BYTES + 9), fits in any::<bool>()) {
        let mut posting = Posting::new(true, at(0));
        let mut bytes = noise;
        if fits {
            bytes.resize(TIMED_NOTE_BYTES, 0);
            bytes[..8].copy_from_slice(&NOW_MS.to_be_bytes());
            bytes[16] = 1;
        }
        if let Some(TimedNote { note: Note { candidates: told }, .. }) = posting.believe(Some(&bytes), NOW_MS) {
            prop_assert!(told.len() <= ADDRESSES_MAX);
            prop_assert!(told.iter().all(|candidate| Scope::of(candidate.address.ip()) == Scope::World));
        }
    }
}
