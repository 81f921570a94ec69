//! Decision when an address at which a peer was found is written down for later calls.
//!
//! A peer decides how often it connects and from where, so nothing that it does may cost a write each time. Worth
//! remembering is an address only if the peer has proved that it receives there, and if a call has used it for a while; how
//! often that happens is bounded by the clock alone.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use crate::path::ways::ADDRESSES_MAX;
use crate::units::Timestamp;

/// Addresses that are remembered of one peer, besides those of its introduction.
pub const FOUND_MAX: usize = ADDRESSES_MAX / 2;

/// Time for which a call must have used an address.
const LASTED: Duration = Duration::from_secs(5);
/// Shortest time from one address that is written down to the next.
const PAUSE: Duration = Duration::from_secs(60);
/// Most addresses that are written down in [`SPAN`].
const WRITES_MAX: usize = 4;
const SPAN: Duration = Duration::from_secs(3_600);
/// Addresses that are known to be written down: those of the file at first, and some more.
const KNOWN_MAX: usize = 2 * (ADDRESSES_MAX + FOUND_MAX);

/// The addresses at which one peer was found. It knows no file and no clock.
#[derive(Clone, Debug)]
pub struct Remembering {
    /// Oldest first.
    known: VecDeque<SocketAddr>,
    /// The address that the call uses, and since when.
    used: Option<(SocketAddr, Timestamp)>,
    /// Times of the last writes, oldest first.
    written: VecDeque<Timestamp>,
}

impl Remembering {
    /// Begins with the addresses that are written down.
    pub fn new(known: impl IntoIterator<Item = SocketAddr>) -> Self {
        let known = known.into_iter().take(KNOWN_MAX).collect();
        Self { known, used: None, written: VecDeque::with_capacity(WRITES_MAX) }
    }

    /// Another connection has taken the place of the one before: it must last by itself.
    pub fn begin(&mut self) {
        self.used = None;
    }

    /// Takes the address to which the call's packets go now, if the peer has proved that it receives there; returns the one
    /// that is to be written down now. To be called several times a second.
    pub fn look(&mut self, proved: Option<SocketAddr>, now: Timestamp) -> Option<SocketAddr> {
        let since = |address| match self.used {
            Some((used, since)) if used == address => since,
            _ => now,
        };
        self.used = proved.map(|address| (address, since(address)));
        let (address, since) = self.used?;
        if now.since(since) < LASTED || self.known.contains(&address) || !self.may_write(now) {
            return None;
        }
        if self.written.len() >= WRITES_MAX {
            self.written.pop_front();
        }
        self.written.push_back(now);
        if self.known.len() >= KNOWN_MAX {
            self.known.pop_front();
        }
        self.known.push_back(address);
        Some(address)
    }

    fn may_write(&self, now: Timestamp) -> bool {
        let has_paused = self.written.back().is_none_or(|last| now.since(*last) >= PAUSE);
        let has_room = self.written.len() < WRITES_MAX || self.written.front().is_none_or(|at| now.since(*at) >= SPAN);
        has_paused && has_room
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    fn address(number: u32) -> SocketAddr {
        ([203, 0, (number >> 16) as u8 % 100, 5], number as u16).into()
    }

    /// From one look of the loop to the next, milliseconds.
    const LOOK_MS: u64 = 250;

    #[test]
    fn an_address_that_has_lasted_is_written_down_once() {
        let mut remembering = Remembering::new([address(1)]);
        let mut written = Vec::new();
        for ms in (0..20_000).step_by(LOOK_MS as usize) {
            let used = if ms < 10_000 { address(1) } else { address(2) };
            written.extend(remembering.look(Some(used), at(ms)).map(|address| (ms, address)));
        }
        assert_eq!(written, [(15_000, address(2))]);
    }

    #[test]
    fn an_address_that_is_not_proved_is_never_written_down() {
        let mut remembering = Remembering::new([]);
        // As a forged packet moves a connection for some seconds: QUIC believes it, and nobody answers there.
        for ms in (0..3_600_000).step_by(LOOK_MS as usize) {
            assert_eq!(remembering.look(None, at(ms)), None);
        }
        // What was proved before counts for nothing after a gap.
        for ms in (3_600_000..3_700_000).step_by(LOOK_MS as usize) {
            let used = (ms % 4_000 < 3_750).then_some(address(1));
            assert_eq!(remembering.look(used, at(ms)), None);
        }
    }

    #[test]
    fn a_peer_that_connects_all_the_time_is_written_down_nowhere_and_takes_no_memory() {
        let mut remembering = Remembering::new([address(0)]);
        // 152 connections a second for an hour, each from another port.
        for number in 0..152 * 3_600_u32 {
            remembering.begin();
            let now = at(u64::from(number) * 1_000 / 152);
            assert_eq!(remembering.look(Some(address(number + 1)), now), None);
        }
        assert_eq!((remembering.known.len(), remembering.written.len()), (1, 0));
    }

    #[test]
    fn a_peer_that_moves_every_few_seconds_is_written_down_a_few_times_an_hour() {
        let mut remembering = Remembering::new([]);
        let mut written = Vec::new();
        for ms in (0..24 * 3_600_000).step_by(LOOK_MS as usize) {
            let used = address((ms / 6_000) as u32);
            written.extend(remembering.look(Some(used), at(ms)).map(|_| ms));
        }
        assert_eq!(written.len(), WRITES_MAX * 24);
        assert_eq!(remembering.known.len(), KNOWN_MAX);
    }

    proptest! {
        #[test]
        fn whatever_a_peer_does_writes_an_hour_and_memory_are_bounded(
            steps in proptest::collection::vec((0..100_000_u64, 0..40_u32, any::<bool>(), any::<bool>()), 1..400),
        ) {
            let mut remembering = Remembering::new([]);
            let (mut ms, mut written) = (0, Vec::new());
            for (wait, number, proved, begins) in steps {
                ms += wait;
                if begins {
                    remembering.begin();
                }
                written.extend(remembering.look(proved.then(|| address(number)), at(ms)).map(|_| ms));
                prop_assert!(remembering.known.len() <= KNOWN_MAX && remembering.written.len() <= WRITES_MAX);
            }
            for (n, first) in written.iter().enumerate() {
                let hour = written[n..].iter().take_while(|ms| **ms < first + 3_600_000).count();
                prop_assert!(hour <= WRITES_MAX, "{written:?}");
                prop_assert!(written.get(n + 1).is_none_or(|next| next - first >= 60_000), "{written:?}");
            }
        }
    }
}
