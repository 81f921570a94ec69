//! Several receivers of one coding: who gets the frames that are coded for all, and what those frames may take.
//!
//! Frames for all are predicted from what all hold, and may take what the least of them may have. So that nobody holds another back,
//! only those are *together* whose lines are comparable; the others have frames *apart*: coded alone, as large as their own lines
//! bear. A frame coded alone costs those who are together a little each time that one joins them; one that leaves costs nothing.
//!
//! | a receiver | is |
//! |---|---|
//! | whose line bears half or more of the best of those together | together |
//! | whose line bears little for a moment only | together; frames for all have part of what it has borne meanwhile |
//! | that comes while others are together | apart, until a frame alone is due again |
//! | that begins anew within a minute | apart, for as long as it was there before |
//! | that holds less than the others, lacks part of more frames or reports what cannot be true | apart, each time for longer |
//! | that is the only one together | together, whatever it does |
//!
//! If nobody is left who may be together, all may.

use std::time::Duration;

use super::prediction::Hindrance;
use crate::units::Timestamp;

/// Time between two frames that are coded alone because somebody joins.
const JOIN_EVERY: Duration = Duration::from_secs(5);
/// Time for which a line must have been comparable before its receiver joins others.
const COMPARABLE_FOR: Duration = Duration::from_secs(1);
/// Percent of the best line that a receiver's line bears at least where it joins, and where it stays.
const JOINS_FROM: usize = 50;
const STAYS_FROM: usize = 40;
/// Time for which the line of one that is together may bear less than that. Sound that takes more of a line, or a machine that stalls,
/// leaves little for a few frames, and one that leaves is apart for seconds. It is shorter than the time for which states are kept.
const DIP_MOST: Duration = Duration::from_millis(300);
/// Percent of all frames kept by which a receiver may hold less than others, as it does while a line pauses.
const BEHIND_MAX_PERCENT: u32 = 65;
/// Percent of the last frames by which a receiver may lack something of more of them than others do.
const BROKEN_MAX_PERCENT: u32 = 40;
/// One that hinders others so soon after it has joined gains nothing by joining.
const JOINED_IN_VAIN: Duration = Duration::from_secs(1);
/// Time for which one that hinders others is apart, at first and at most, and after which its past no longer counts.
const APART_FIRST: Duration = Duration::from_secs(3);
const APART_MOST: Duration = Duration::from_secs(120);
const FORGIVEN_AFTER: Duration = Duration::from_secs(60);

/// A receiver's line as its sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberLine {
    /// Bytes that its next frame may have.
    pub budget_bytes: usize,
    /// By which it hinders the others' frames, while it is together with others.
    pub hindrance: Hindrance,
}

/// The frames that a receiver gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seat {
    /// None: it wants none.
    #[default]
    Nowhere,
    /// Those that are coded for all.
    Together,
    /// Its own, coded alone.
    Apart,
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    seat: Seat,
    /// Time since which its line is comparable.
    comparable: Option<Timestamp>,
    /// Bytes that its line bore last while it was.
    bore: usize,
    /// Time since which it is not, while it may stay all the same.
    dipped: Option<Timestamp>,
    /// It is apart until then.
    apart_until: Option<Timestamp>,
    /// Time for which it was apart last because it hindered others.
    apart_for: Duration,
    joined: Option<Timestamp>,
    /// It began anew last then.
    restarted: Option<Timestamp>,
    /// Untrue reports that are known.
    untrue: u64,
}

/// The choice of who is together.
#[derive(Clone, Debug)]
pub struct Band {
    members: Vec<Member>,
    joined: Option<Timestamp>,
}

impl Band {
    /// Creates the choice among so many receivers, of whom nobody wants frames yet.
    pub fn new(receivers: usize) -> Self {
        Self { members: vec![Member::default(); receivers], joined: None }
    }

    /// Takes notice that a receiver begins anew at `now`, with nothing. Each time that it joins costs the others a frame that is coded
    /// alone, so that one that begins anew within a minute has to stay first for as long as it has stayed before.
    pub fn on_restart(&mut self, receiver: usize, now: Timestamp) {
        let Some(member) = self.members.get_mut(receiver) else { return };
        let stayed = member.restarted.replace(now).map(|before| now.since(before));
        if let Some(stayed) = stayed.filter(|stayed| *stayed < FORGIVEN_AFTER) {
            member.exile(now, stayed.max(APART_FIRST));
        }
        (member.seat, member.comparable) = (Seat::Nowhere, None);
    }

    /// Returns the frames that a receiver gets.
    pub fn seat(&self, receiver: usize) -> Seat {
        self.members.get(receiver).map(|member| member.seat).unwrap_or_default()
    }

    /// Chooses for the next frame at `now`. `lines`: those of all receivers, none for one that wants no frames; `is_free`: whether the
    /// next frame is coded alone in any case. Returns the bytes that the frame for all may have; none: nobody is together.
    pub fn choose(&mut self, lines: &[Option<MemberLine>], is_free: bool, now: Timestamp) -> Option<usize> {
        let present = self.members.iter().zip(lines).filter(|(_, line)| line.is_some());
        let mut together = present.filter(|(member, _)| member.seat == Seat::Together).count();
        for (member, line) in self.members.iter_mut().zip(lines) {
            match line {
                None => (member.seat, member.comparable) = (Seat::Nowhere, None),
                Some(line) if together > 1 => together -= usize::from(member.look(line.hindrance, now)),
                Some(line) => member.untrue = line.hindrance.untrue,
            }
        }
        let chosen = self.comparable(lines, now);
        for ((member, is_chosen), line) in self.members.iter_mut().zip(&chosen).zip(lines) {
            match (is_chosen, member.seat) {
                (true, _) => {
                    (member.comparable, member.dipped) = (member.comparable.or(Some(now)), None);
                    member.bore = line.map_or(0, |line| line.budget_bytes);
                }
                // Where frames are coded alone, leaving and coming back costs nothing.
                (false, Seat::Together) if is_free => (member.seat, member.comparable) = (Seat::Apart, None),
                (false, Seat::Together) => member.dip(now),
                (false, _) => member.comparable = None,
            }
        }
        let is_empty = self.members.iter().all(|member| member.seat != Seat::Together);
        let is_due = self.joined.is_none_or(|joined| now.since(joined) >= JOIN_EVERY);
        let mut joins = false;
        for ((member, is_chosen), line) in self.members.iter_mut().zip(chosen).zip(lines) {
            if line.is_none() || member.seat == Seat::Together {
                continue;
            }
            let may_join = is_chosen && (is_empty || is_free || (is_due && member.is_comparable_for_long(now)));
            member.seat = if may_join { Seat::Together } else { Seat::Apart };
            if may_join {
                (member.joined, joins) = (Some(now), true);
            }
        }
        if joins {
            self.joined = Some(now);
        }
        let together = self.members.iter().zip(lines).filter(|(member, _)| member.seat == Seat::Together);
        together.filter_map(|(member, line)| line.map(|line| member.takes(line.budget_bytes))).min()
    }

    /// Returns who may be together: as many as have comparable lines, and of two such sets the one with the faster lines.
    fn comparable(&self, lines: &[Option<MemberLine>], now: Timestamp) -> Vec<bool> {
        let is_out = |(member, line): (&Member, &MemberLine)| {
            let is_behind = line.hindrance.behind_percent > BEHIND_MAX_PERCENT;
            is_behind && member.seat != Seat::Together || member.apart_until.is_some_and(|until| now < until)
        };
        let present = || self.members.iter().zip(lines).map(|(member, line)| Some((member, line.as_ref()?)));
        let are_all_out = present().flatten().all(is_out);
        let budget = |of: (&Member, &MemberLine)| (are_all_out || !is_out(of)).then_some(of.1.budget_bytes);
        let budgets: Vec<_> = present().map(|of| of.and_then(budget)).collect();
        let with = |best: usize| -> Vec<bool> {
            let percent = |member: &Member| if member.seat == Seat::Together { STAYS_FROM } else { JOINS_FROM };
            let bears = |(member, budget): (&Member, &Option<usize>)| {
                budget.is_some_and(|budget| {
                    budget <= best && budget.saturating_mul(100) >= best.saturating_mul(percent(member))
                })
            };
            self.members.iter().zip(&budgets).map(bears).collect()
        };
        let best = budgets
            .iter()
            .flatten()
            .copied()
            .max_by_key(|&best| (with(best).into_iter().filter(|&is| is).count(), best));
        best.map_or_else(|| vec![false; lines.len()], with)
    }
}

impl Member {
    /// Takes notice that its line is not comparable while it is together: puts it apart, unless that is so for a moment only, and the
    /// moment before is long ago.
    fn dip(&mut self, now: Timestamp) {
        if self.is_comparable_for_long(now) {
            self.dipped = Some(now);
        }
        self.comparable = None;
        let is_short = self.dipped.is_some_and(|since| now.since(since) < DIP_MOST);
        if !is_short || self.apart_until.is_some_and(|until| now < until) {
            (self.seat, self.dipped) = (Seat::Apart, None);
        }
    }

    /// Returns the bytes that it takes of a line which bears `budget_bytes` for a frame: for a moment it takes more.
    fn takes(&self, budget_bytes: usize) -> usize {
        let least = self.dipped.map_or(0, |_| self.bore.saturating_mul(STAYS_FROM) / 100);
        budget_bytes.max(least)
    }

    fn is_comparable_for_long(&self, now: Timestamp) -> bool {
        self.comparable.is_some_and(|since| now.since(since) >= COMPARABLE_FOR)
    }

    /// Puts it apart if it hinders others; returns true if it has.
    fn look(&mut self, hindrance: Hindrance, now: Timestamp) -> bool {
        let is_untrue = std::mem::replace(&mut self.untrue, hindrance.untrue) < hindrance.untrue;
        let hinders =
            hindrance.behind_percent > BEHIND_MAX_PERCENT || hindrance.broken_percent > BROKEN_MAX_PERCENT || is_untrue;
        if self.seat != Seat::Together || !hinders {
            return false;
        }
        // The frame that it has joined with may have been lost: it joins no more anyway before it has used another. What it holds may
        // be old for another reason once.
        let may_be_lost = hindrance.behind_percent >= 100 || self.is_forgiven(now);
        let joined = self.joined.filter(|_| !may_be_lost);
        let in_vain = is_untrue || joined.is_some_and(|joined| now.since(joined) < JOINED_IN_VAIN);
        (self.seat, self.comparable) = (Seat::Apart, None);
        let longer = if self.is_forgiven(now) { APART_FIRST } else { (2 * self.apart_for).min(APART_MOST) };
        self.exile(now, if in_vain { APART_MOST } else { longer });
        true
    }

    /// Returns true if it has hindered nobody for a while.
    fn is_forgiven(&self, now: Timestamp) -> bool {
        self.apart_until.is_none_or(|until| now.since(until) > FORGIVEN_AFTER)
    }

    /// Lets it join no more for this time.
    fn exile(&mut self, now: Timestamp, time: Duration) {
        self.apart_for = time;
        self.apart_until = self.apart_until.max(Some(now + time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_millis(33);

    /// Receivers in steps of a frame.
    struct Room {
        band: Band,
        now: Timestamp,
    }

    impl Room {
        fn new(receivers: usize) -> Self {
            Self { band: Band::new(receivers), now: Timestamp::from_us(1) }
        }

        /// Goes on for so many frames; returns the places, and the budget for all.
        fn frames<const N: usize>(&mut self, frames: u32, lines: [Option<usize>; N]) -> ([Seat; N], Option<usize>) {
            self.with(frames, lines, |_| Hindrance::default())
        }

        fn with<const N: usize>(
            &mut self,
            frames: u32,
            lines: [Option<usize>; N],
            hindrance: impl Fn(u32) -> Hindrance,
        ) -> ([Seat; N], Option<usize>) {
            let mut budget = None;
            for frame in 0..frames {
                let mut at = 0;
                let lines = lines.map(|line| {
                    at += 1;
                    let hindrance = if at == N { hindrance(frame) } else { Hindrance::default() };
                    line.map(|budget_bytes| MemberLine { budget_bytes, hindrance })
                });
                budget = self.band.choose(&lines, false, self.now);
                self.now = self.now + FRAME;
            }
            (std::array::from_fn(|at| self.band.seat(at)), budget)
        }
    }

    use Seat::{Apart, Nowhere, Together};

    #[test]
    fn the_least_of_comparable_lines_counts_and_a_slow_one_holds_nobody_back() {
        let mut room = Room::new(3);
        assert_eq!(room.frames(1, [Some(9_000), Some(6_000), Some(700)]), ([Together, Together, Apart], Some(6_000)));
        assert_eq!(room.frames(300, [Some(9_000), Some(6_000), Some(700)]), ([Together, Together, Apart], Some(6_000)));
        // A little less is no reason to leave; much less is one after a moment.
        assert_eq!(room.frames(1, [Some(9_000), Some(4_000), Some(700)]).1, Some(4_000));
        assert_eq!(room.frames(20, [Some(9_000), Some(3_000), Some(700)]), ([Together, Apart, Apart], Some(9_000)));
        // It is back once it has been comparable for a while.
        assert_eq!(room.frames(20, [Some(9_000), Some(6_000), Some(700)]).0, [Together, Apart, Apart]);
        assert_eq!(room.frames(20, [Some(9_000), Some(6_000), Some(700)]).0, [Together, Together, Apart]);
    }

    #[test]
    fn one_fast_line_does_not_put_two_apart() {
        let mut room = Room::new(3);
        assert_eq!(room.frames(1, [Some(9_000), Some(2_000), Some(1_500)]), ([Apart, Together, Together], Some(1_500)));
        assert_eq!(room.frames(9, [Some(9_000), Some(2_000), None]), ([Together, Apart, Nowhere], Some(9_000)));
    }

    #[test]
    fn a_line_that_bears_little_for_a_moment_costs_its_receiver_nothing_and_the_others_little() {
        let (mut room, all) = (Room::new(2), [Some(9_000); 2]);
        room.frames(60, all);
        for _ in 0..9 {
            assert_eq!(room.frames(9, [Some(9_000), Some(22)]), ([Together; 2], Some(3_600)));
            assert_eq!(room.frames(1, all), ([Together; 2], Some(9_000)));
            assert_eq!(room.frames(9, [Some(22), Some(9_000)]), ([Together; 2], Some(3_600)));
            assert_eq!(room.frames(31, all), ([Together; 2], Some(9_000)));
        }
        // A line that bears much for a moment makes the others no worse.
        assert_eq!(room.frames(1, [Some(9_000), Some(54_000)]), ([Together; 2], Some(9_000)));
        room.frames(60, all);
        // One that does so too often or for too long leaves.
        room.frames(9, [Some(9_000), Some(22)]);
        room.frames(9, all);
        assert_eq!(room.frames(1, [Some(9_000), Some(22)]), ([Together, Apart], Some(9_000)));
        room.frames(300, all);
        assert_eq!(room.frames(11, [Some(9_000), Some(22)]), ([Together, Apart], Some(9_000)));
        // Who hinders others leaves at once.
        room.frames(300, all);
        let behind = |_| Hindrance { behind_percent: 70, ..Hindrance::default() };
        assert_eq!(room.with(1, [Some(9_000), Some(22)], behind), ([Together, Apart], Some(9_000)));
    }

    #[test]
    fn whoever_comes_again_and_again_costs_others_a_frame_ever_more_rarely() {
        let (mut room, mut joined) = (Room::new(2), 0);
        assert_eq!(room.frames(9, [Some(5_000), None]).0, [Together, Nowhere]);
        for _ in 0..60 {
            room.band.on_restart(1, room.now);
            let before = room.band.seat(1);
            joined +=
                u32::from(before != room.frames(60, [Some(5_000), Some(5_000)]).0[1] && room.band.seat(1) == Together);
            room.frames(3, [Some(5_000), None]);
        }
        // Two minutes, of which a few seconds.
        assert!(joined <= 3, "{joined}");
        let free = [Some(MemberLine { budget_bytes: 5_000, hindrance: Hindrance::default() }); 2];
        room.frames(30 * 300, [Some(5_000), None]);
        room.band.on_restart(1, room.now);
        assert_eq!((room.band.choose(&free, true, room.now), room.band.seat(1)), (Some(5_000), Together));
    }

    #[test]
    fn whoever_hinders_others_or_reports_what_is_not_true_is_apart_for_longer_each_time() {
        let hindrances: [fn(u32) -> Hindrance; 3] = [
            |_| Hindrance { behind_percent: 70, ..Hindrance::default() },
            |_| Hindrance { broken_percent: 41, ..Hindrance::default() },
            |frame| Hindrance { untrue: frame.into(), ..Hindrance::default() },
        ];
        // One that hinders others as soon as it joins, and one that does so later.
        for (hinders, later, expected) in [
            (hindrances[0], 0, 3..=4),
            (hindrances[1], 0, 3..=4),
            (hindrances[2], 0, 2..=3),
            (hindrances[0], 60, 3..=7),
            (hindrances[1], 60, 3..=7),
            (hindrances[2], 60, 2..=3),
        ] {
            let mut room = Room::new(3);
            room.frames(1, [Some(5_000); 3]);
            let (mut times, mut together) = (0, 0);
            // Five minutes.
            for _ in 0..9_000 {
                let was = room.band.seat(2);
                together = if was == Together { together + 1 } else { 0 };
                let frame = times * 2 + u32::from(together > later);
                let hinders = |_| {
                    if together > later {
                        hinders(frame)
                    } else {
                        Hindrance { untrue: (times * 2).into(), ..Hindrance::default() }
                    }
                };
                let (places, budget) = room.with(1, [Some(5_000); 3], hinders);
                assert_eq!((places[0], places[1], budget), (Together, Together, Some(5_000)));
                times += u32::from(was == Together && places[2] == Apart);
            }
            assert!(expected.contains(&times), "{times} {later}");
        }
    }

    #[test]
    fn whoever_begins_anew_within_a_minute_stays_apart_for_as_long_as_it_stayed() {
        let all = [Some(5_000); 2];
        for (stayed_s, apart_s) in [(1, 3), (20, 20), (59, 59), (61, 0)] {
            let mut room = Room::new(2);
            room.band.on_restart(1, room.now);
            room.frames(30 * stayed_s, all);
            room.band.on_restart(1, room.now);
            let began = room.now;
            while room.frames(1, all).0[1] != Together {
                assert!(room.now.since(began) < Duration::from_secs(99), "{stayed_s}");
            }
            // Frames of 33 ms are a little more than 30 a second.
            let apart = room.now.since(began).as_secs_f64();
            assert!((0.95 * f64::from(apart_s)..f64::from(apart_s) + 6.0).contains(&apart), "{stayed_s}: {apart}");
        }
    }

    #[test]
    fn whoever_loses_the_frame_that_it_joins_with_twice_is_back_soon() {
        let (mut room, all) = (Room::new(2), [Some(5_000); 2]);
        let lost = |_| Hindrance { behind_percent: 100, ..Hindrance::default() };
        room.frames(1, all);
        for apart_most_s in [6, 8, 14] {
            assert_eq!(room.with(1, all, lost).0, [Together, Apart]);
            let began = room.now;
            while room.frames(1, all).0[1] != Together {
                assert!(room.now.since(began) < Duration::from_secs(apart_most_s), "{apart_most_s}");
            }
        }
    }

    #[test]
    fn if_nobody_is_left_who_may_be_together_all_may() {
        let mut room = Room::new(3);
        room.frames(1, [Some(5_000); 3]);
        let behind = |_| Hindrance { behind_percent: 70, ..Hindrance::default() };
        assert_eq!(room.with(1, [Some(5_000); 3], behind).0, [Together, Together, Apart]);
        // The second begins anew, and the first leaves.
        room.band.on_restart(1, room.now);
        room.band.on_restart(1, room.now);
        assert_eq!(room.frames(1, [Some(5_000); 3]).0, [Together, Apart, Apart]);
        assert_eq!(room.frames(1, [None, Some(5_000), Some(5_000)]), ([Nowhere, Together, Together], Some(5_000)));
        // The first of two that hinder each other leaves the other together.
        assert_eq!(room.with(60, [None, None, Some(5_000)], behind).0, [Nowhere, Nowhere, Together]);
    }

    #[test]
    fn whoever_would_hinder_others_does_not_join_them() {
        let mut room = Room::new(3);
        let denies = |_| Hindrance { behind_percent: 100, ..Hindrance::default() };
        room.frames(1, [Some(5_000); 3]);
        for _ in 0..600 {
            assert_eq!(room.with(1, [Some(5_000); 3], denies), ([Together, Together, Apart], Some(5_000)));
        }
        // Once, its frame may have been lost: as soon as it holds something, it is one among others.
        assert_eq!(room.frames(60, [Some(5_000); 3]).0, [Together; 3]);
    }

    #[test]
    fn the_only_receiver_is_together_whatever_it_does() {
        let mut room = Room::new(2);
        let lies = |frame: u32| Hindrance { behind_percent: 100, broken_percent: 100, untrue: frame.into() };
        assert_eq!(room.with(99, [None, Some(300)], lies), ([Nowhere, Together], Some(300)));
        assert_eq!(room.with(1, [None, None], lies), ([Nowhere, Nowhere], None));
    }
}
