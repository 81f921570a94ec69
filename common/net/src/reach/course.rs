//! The way of one call's packets at work: its decisions ([`Steering`]), the seals of its probes, and the socket.

use std::net::SocketAddr;
use std::time::Duration;

use common::path::ways::{Act, Allowance, Candidate, Kind, Pair, Probe, Role, SEALED_BYTES, Steering};
use common::units::Timestamp;

use super::proof::{Seals, random};
use crate::failure::Failure;
use crate::limited;
use crate::quic::{Aside, InCall, Sending};

/// Time after which an end tells the other its addresses again, which may change.
const TELL: Duration = Duration::from_secs(2);

/// The way of one call's packets.
pub(crate) struct Course {
    call: InCall,
    seals: Seals,
    /// The peer's address for QUIC, which never changes: an endpoint follows nobody elsewhere.
    base: SocketAddr,
    pub(super) steering: Steering,
    sending: Sending,
    tell_at: Timestamp,
}

impl Course {
    /// Begins with a call that has come about on a way of that kind. `given`: addresses of the peer that this machine's own user
    /// has given. None: the connection has no keys, as after its end.
    pub(crate) fn new(
        call: InCall,
        role: Role,
        kind: Kind,
        given: Vec<SocketAddr>,
        sending: &Sending,
        now: Timestamp,
    ) -> Option<Self> {
        let seals = Seals::new(&call.shared().ok()?, role)?;
        let (base, sending) = (call.address(), sending.clone());
        sending.steer(base);
        let mut steering = Steering::new(sending.pair_of(base), kind, now);
        steering.set_given(given);
        Some(Self { call, seals, base, steering, sending, tell_at: now })
    }

    /// Returns true if it is the way of that call.
    pub(crate) fn is_of(&self, call: &InCall) -> bool {
        self.call == *call
    }

    /// Returns the way in use and its kind, if the peer has shown not long ago that it is there.
    pub(crate) fn proved(&self, now: Timestamp) -> Option<(Pair, Kind)> {
        let used = self.steering.used();
        self.steering.kind_of(used).filter(|_| self.steering.is_proved(used, now)).map(|kind| (used, kind))
    }

    /// Takes a probe. Those of strangers are dropped, and those that somebody has sent again.
    pub(crate) fn on_probe(&mut self, aside: &Aside, allowance: &mut Allowance, now: Timestamp) -> Result<(), Failure> {
        let probe = self.seals.open(&aside.bytes).and_then(|bytes| Probe::decode(&bytes));
        match probe {
            Some(Probe::Question { number, nonce, candidates }) => {
                if self.steering.on_question(aside.from, number, aside.bytes.len(), allowance, now) {
                    self.sending.prove(aside.from, false);
                    if !candidates.is_empty() {
                        self.steering.set_told(&candidates, now);
                    }
                    self.sending.send(aside.from, &self.seals.seal(Probe::Answer(nonce).encode(0))?);
                }
            }
            Some(Probe::Answer(nonce)) if self.steering.on_answer(aside.from, nonce, now) => {
                self.sending.prove(aside.from, true);
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Does all that is due; `own`: this machine's addresses.
    pub(crate) fn drive(
        &mut self,
        own: impl Fn() -> Vec<Candidate>,
        allowance: &mut Allowance,
        now: Timestamp,
    ) -> Result<(), Failure> {
        while let Some(act) = self.steering.poll(now, u64::from_le_bytes(random()?), allowance) {
            match act {
                Act::Take(pair) => self.take(pair),
                Act::Ask { pair, number, nonce, is_full } => self.ask(pair, (number, nonce), is_full, &own, now)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, pair: Pair) {
        let base = self.sending.pair_of(self.base);
        self.sending.take((pair != base).then_some(pair));
        let kind = self.steering.kind_of(pair).unwrap_or(Kind::PeerReflexive);
        limited!(info, "packets to {} now go {} ({})", self.call.peer(), kind.name(), pair.to);
    }

    fn ask(
        &mut self,
        pair: Pair,
        (number, nonce): (u64, u64),
        is_full: bool,
        own: &impl Fn() -> Vec<Candidate>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        if !pair.is_relayed() && !self.sending.reaches(pair.to) {
            return Ok(());
        }
        // It makes the question longer.
        let is_used = pair == self.steering.used() && self.steering.is_proved(pair, now);
        let tells = is_used && now >= self.tell_at;
        if tells {
            self.tell_at = now + TELL;
        }
        let candidates = if tells { own() } else { Vec::new() };
        // With its mark a packet is one byte longer.
        let length = if is_full { (self.call.longest() + 1).saturating_sub(SEALED_BYTES) } else { 0 };
        self.sending.send(pair, &self.seals.seal(Probe::Question { number, nonce, candidates }.encode(length))?);
        Ok(())
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        self.sending.end_call();
    }
}

#[cfg(test)]
#[path = "course_tests.rs"]
mod tests;
