//! When to knock where, and when to dial.

use std::net::SocketAddr;
use std::time::Duration;

use super::candidate::{ADDRESSES_MAX, Candidate, Kind};
use crate::units::Timestamp;

/// Time between two knocks at one address, while the other is expected at any moment.
const KNOCK_MIN: Duration = Duration::from_millis(10);
const KNOCK_MAX: Duration = Duration::from_millis(200);
/// The same after [`EXPECTED`]: often enough that no router forgets, and that whoever comes is heard at once.
const KNOCK_LATER: Duration = Duration::from_secs(1);
/// Time for which the other is expected at any moment.
const EXPECTED: Duration = Duration::from_secs(30);
/// From the last knock in a call to the next that nobody has asked for.
const FOR_EVER: Duration = Duration::from_secs(1 << 32);
/// Time for which a knock shows that a path works.
const FRESH: Duration = Duration::from_secs(2);
/// Wait for a better path after the first that works.
const SETTLE: Duration = Duration::from_millis(40);
/// Time before an address is dialled again where dialling has failed.
const AGAIN: Duration = Duration::from_millis(200);
/// Addresses from which knocks came that nobody has told.
const LEARNED_MAX: usize = 4;
/// Addresses that were told: in a ticket and in an answer.
const TOLD_MAX: usize = 2 * ADDRESSES_MAX;

/// Roles of the two machines: one dials, so that there is one handshake and not two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This side dials.
    Dials,
    /// The other does.
    Waits,
}

/// Something to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a knock there.
    Knock(SocketAddr),
    /// Dial there, and say how it ended.
    Dial(SocketAddr),
}

/// A search for a path to one machine. It knows no socket and no clock, and has no more to do once there is a connection;
/// after the end of that, [`Meeting::restart`] begins anew.
#[derive(Clone, Debug)]
pub struct Meeting {
    role: Role,
    paths: Vec<Path>,
    since: Timestamp,
    dialling: Option<SocketAddr>,
    quiet: bool,
}

#[derive(Clone, Copy, Debug)]
struct Path {
    candidate: Candidate,
    /// When to knock next, and when it was done last.
    next: Timestamp,
    knocked: Option<Timestamp>,
    /// Times of knocks from there: the first of late, and the last.
    heard: Option<(Timestamp, Timestamp)>,
    /// Not dialled before.
    dial_from: Timestamp,
}

impl Path {
    fn new(candidate: Candidate, now: Timestamp) -> Self {
        Self { candidate, next: now, knocked: None, heard: None, dial_from: now }
    }

    fn works(&self, now: Timestamp) -> bool {
        self.heard.is_some_and(|(_, last)| now.since(last) < FRESH)
    }
}

impl Meeting {
    /// A search that begins `now`.
    pub fn new(role: Role, candidates: &[Candidate], now: Timestamp) -> Self {
        let mut meeting = Self { role, paths: Vec::new(), since: now, dialling: None, quiet: false };
        meeting.add(candidates, now);
        meeting
    }

    /// More addresses are known. Those beyond a bound are ignored.
    pub fn add(&mut self, candidates: &[Candidate], now: Timestamp) {
        for &candidate in candidates {
            let told = self.count(|kind| kind != Kind::Learned);
            match self.paths.iter_mut().find(|path| path.candidate.address == candidate.address) {
                Some(path) => path.candidate.kind = path.candidate.kind.min(candidate.kind),
                None if told < TOLD_MAX => self.paths.push(Path::new(candidate, now)),
                None => {}
            }
        }
        self.since = now;
    }

    /// Begins anew: the connection has ended.
    pub fn restart(&mut self, now: Timestamp) {
        self.since = now;
        self.dialling = None;
        for path in &mut self.paths {
            *path = Path::new(path.candidate, now);
        }
    }

    /// During a call this side answers knocks and knocks nowhere else: the other side may come anew over another path.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// A knock of the other machine came from there.
    pub fn on_knock(&mut self, from: SocketAddr, now: Timestamp) {
        if !self.paths.iter().any(|path| path.candidate.address == from) {
            let Some(candidate) = Candidate::new(Kind::Learned, from) else { return };
            if self.count(|kind| kind == Kind::Learned) >= LEARNED_MAX {
                let heard = |path: &&(usize, &Path)| path.1.heard.map(|(_, last)| last);
                let learned: Vec<_> = self.paths.iter().enumerate().collect();
                let oldest = learned.iter().filter(|(_, path)| path.candidate.kind == Kind::Learned).min_by_key(heard);
                let Some(&(oldest, path)) = oldest else { return };
                if self.dialling == Some(path.candidate.address) {
                    return;
                }
                self.paths.remove(oldest);
            }
            self.paths.push(Path::new(candidate, now));
        }
        let Some(path) = self.paths.iter_mut().find(|path| path.candidate.address == from) else { return };
        let first = path.heard.filter(|(_, last)| now.since(*last) < FRESH).map_or(now, |(first, _)| first);
        path.heard = Some((first, now));
        // At once: the way to there may be open for the first time.
        path.next = path.next.min(path.knocked.map_or(now, |knocked| (knocked + KNOCK_MIN).max(now)));
    }

    /// Dialling there has failed.
    pub fn on_dial_failed(&mut self, address: SocketAddr, now: Timestamp) {
        if self.dialling == Some(address) {
            self.dialling = None;
        }
        if let Some(path) = self.paths.iter_mut().find(|path| path.candidate.address == address) {
            path.dial_from = now + AGAIN;
        }
    }

    /// Returns the next thing to do now; call it until there is none. `random` is any number, a new one for each call.
    pub fn poll(&mut self, now: Timestamp, random: u64) -> Option<Step> {
        if let Some(address) = self.to_dial(now) {
            self.dialling = Some(address);
            return Some(Step::Dial(address));
        }
        let expected = now.since(self.since) < EXPECTED;
        let path = self.paths.iter_mut().find(|path| path.next <= now)?;
        let (least, span) = match (self.quiet, expected) {
            (true, _) => (FOR_EVER, 1),
            (false, true) => (KNOCK_MIN, (KNOCK_MAX - KNOCK_MIN).as_micros() as u64),
            (false, false) => (KNOCK_LATER / 2, KNOCK_LATER.as_micros() as u64 / 2),
        };
        path.knocked = Some(now);
        path.next = now + least + Duration::from_micros(random % span);
        Some(Step::Knock(path.candidate.address))
    }

    /// When to call [`Meeting::poll`] again.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let knock = self.paths.iter().map(|path| path.next).min();
        let dial = |path: &Path| path.heard.map(|(first, _)| (first + SETTLE).max(path.dial_from));
        let dial = if self.dials() { self.paths.iter().filter_map(dial).min() } else { None };
        match (knock, dial) {
            (Some(knock), Some(dial)) => Some(knock.min(dial)),
            (knock, dial) => knock.or(dial),
        }
    }

    /// Returns how the address is known.
    pub fn kind_of(&self, address: SocketAddr) -> Option<Kind> {
        self.paths.iter().find(|path| path.candidate.address == address).map(|path| path.candidate.kind)
    }

    /// Returns how many addresses are remembered.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Returns true if no address is known.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    fn count(&self, is: impl Fn(Kind) -> bool) -> usize {
        self.paths.iter().filter(|path| is(path.candidate.kind)).count()
    }

    fn dials(&self) -> bool {
        self.role == Role::Dials && self.dialling.is_none()
    }

    /// The best of the paths that work, once it is clear that no better one answers as soon.
    fn to_dial(&self, now: Timestamp) -> Option<SocketAddr> {
        if !self.dials() {
            return None;
        }
        let open = self.paths.iter().filter(|path| path.works(now) && path.dial_from <= now);
        let best = open.min_by_key(|path| (path.candidate.kind, path.heard))?;
        let better = self.paths.iter().any(|path| path.candidate.kind < best.candidate.kind);
        let settled = best.heard.is_some_and(|(first, _)| now >= first + SETTLE);
        (!better || settled).then_some(best.candidate.address)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn candidate(kind: Kind, text: &str) -> Candidate {
        Candidate::new(kind, text.parse().unwrap()).unwrap()
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    /// Returns everything to do until `end`, milliseconds, with its time.
    fn steps(meeting: &mut Meeting, from: u64, end: u64) -> Vec<(u64, Step)> {
        let mut all = Vec::new();
        for ms in from..end {
            while let Some(step) = meeting.poll(at(ms), ms.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) {
                all.push((ms, step));
            }
        }
        all
    }

    #[test]
    fn it_knocks_often_at_first_and_then_once_a_second_and_dials_nobody_unheard() {
        let address = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Meeting::new(Role::Dials, &[address], at(0));
        let first = steps(&mut meeting, 0, 30_000);
        assert!((150..3_000).contains(&first.len()), "{}", first.len());
        let later = steps(&mut meeting, 30_000, 130_000);
        assert!((100..=201).contains(&later.len()), "{}", later.len());
        assert!(first.iter().chain(&later).all(|(_, step)| *step == Step::Knock(address.address)));
    }

    #[test]
    fn a_knock_is_answered_at_once_and_dialled() {
        let [told, learned] = ["203.0.113.5:20000", "203.0.113.5:999"].map(|text| candidate(Kind::Seen, text));
        let mut meeting = Meeting::new(Role::Dials, &[told], at(0));
        let _ = steps(&mut meeting, 0, 50);
        meeting.on_knock(learned.address, at(50));
        assert_eq!(meeting.poll_timeout(), Some(at(50)));
        let next = steps(&mut meeting, 50, 51);
        assert!(next.contains(&(50, Step::Knock(learned.address))), "{next:?}");
        let next = steps(&mut meeting, 51, 100);
        assert!(next.contains(&(90, Step::Dial(learned.address))), "after waiting for what was told: {next:?}");
        assert_eq!(meeting.kind_of(learned.address), Some(Kind::Learned));
        // One at a time; after a failure again.
        meeting.on_knock(told.address, at(100));
        assert!(!steps(&mut meeting, 100, 1_000).iter().any(|(_, step)| matches!(step, Step::Dial(_))));
        meeting.on_dial_failed(learned.address, at(1_000));
        let next = steps(&mut meeting, 1_000, 1_010);
        assert!(next.contains(&(1_000, Step::Dial(told.address))), "{next:?}");
    }

    #[test]
    fn the_better_of_two_paths_is_dialled() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let local = candidate(Kind::Local, "192.168.1.7:20000");
        let mut meeting = Meeting::new(Role::Dials, &[seen, local], at(0));
        meeting.on_knock(seen.address, at(10));
        meeting.on_knock(local.address, at(30));
        let next = steps(&mut meeting, 30, 31);
        assert!(next.contains(&(30, Step::Dial(local.address))), "{next:?}");
    }

    #[test]
    fn who_waits_never_dials() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Meeting::new(Role::Waits, &[], at(0));
        assert_eq!(meeting.poll_timeout(), None);
        meeting.on_knock(seen.address, at(10));
        let all = steps(&mut meeting, 10, 1_000);
        assert!(all.len() > 4 && all.iter().all(|(_, step)| *step == Step::Knock(seen.address)), "{all:?}");
    }

    #[test]
    fn knocks_from_everywhere_take_no_more_than_a_few_places() {
        let told = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Meeting::new(Role::Dials, &[told], at(0));
        for port in 1..10_000 {
            meeting.on_knock((std::net::Ipv4Addr::new(198, 51, 100, 1), port).into(), at(u64::from(port)));
            let _ = meeting.poll(at(u64::from(port)), 1);
        }
        let many: Vec<_> = (1..100).map(|n| candidate(Kind::Seen, &format!("203.0.113.{n}:1"))).collect();
        meeting.add(&many, at(10_000));
        assert_eq!(meeting.len(), LEARNED_MAX + TOLD_MAX);
        assert_eq!(meeting.kind_of(told.address), Some(Kind::Seen));
    }

    #[test]
    fn in_a_call_it_answers_and_does_no_more() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Meeting::new(Role::Waits, &[seen], at(0));
        meeting.set_quiet(true);
        assert_eq!(steps(&mut meeting, 0, 10_000).len(), 1);
        meeting.on_knock(seen.address, at(10_000));
        assert_eq!(steps(&mut meeting, 10_000, 20_000), [(10_000, Step::Knock(seen.address))]);
        meeting.set_quiet(false);
        meeting.restart(at(20_000));
        assert!(steps(&mut meeting, 20_000, 21_000).len() > 4);
    }

    #[test]
    fn it_starts_anew_after_a_connection() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Meeting::new(Role::Dials, &[seen], at(0));
        meeting.on_knock(seen.address, at(0));
        assert_eq!(meeting.poll(at(0), 1), Some(Step::Dial(seen.address)));
        meeting.restart(at(100_000));
        assert_eq!(meeting.poll(at(100_000), 1), Some(Step::Knock(seen.address)), "what was heard is long ago");
        meeting.on_knock(seen.address, at(100_001));
        assert_eq!(meeting.poll(at(100_001), 1), Some(Step::Dial(seen.address)));
    }
}
