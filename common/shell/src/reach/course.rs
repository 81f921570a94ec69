//! The way of one call's packets at work: its decisions ([`Steering`]), the seals of its probes, and the socket.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use common::reach::{Act, Candidate, Kind, Probe, Role, Route, Steering};
use common::units::Timestamp;

use super::proof::{SEALED_BYTES, Seals};
use crate::exit::Failure;
use crate::limited;
use crate::quic::{Aside, InCall, Sending};

/// Time after which an end tells the other its addresses again, which may change.
const TELL: Duration = Duration::from_secs(2);

/// The way of one call's packets.
pub(crate) struct Course {
    call: InCall,
    seals: Seals,
    /// The peer's address for QUIC.
    base: SocketAddr,
    steering: Steering,
    sending: Sending,
    tell_at: Timestamp,
}

impl Course {
    /// Begins with a call that has come about on a way of that kind. None: its connection has no keys, as after its end.
    pub(crate) fn new(call: InCall, role: Role, kind: Kind, sending: &Sending, now: Timestamp) -> Option<Self> {
        let seals = Seals::new(&call.shared().ok()?, role)?;
        let (base, sending) = (call.address(), sending.clone());
        sending.steer(base);
        let steering = Steering::new(sending.route_of(base), kind, now);
        Some(Self { call, seals, base, steering, sending, tell_at: now })
    }

    /// Returns true if it is the way of that call.
    pub(crate) fn is_of(&self, call: &InCall) -> bool {
        self.call == *call
    }

    /// Sets the address from which this machine's relay passes packets on; none: there is no relay.
    pub(crate) fn set_relay(&mut self, relay: Option<IpAddr>) {
        self.steering.set_relay(relay);
    }

    /// Asks from another port of this machine as well from now on.
    pub(crate) fn set_other_port(&mut self, now: Timestamp) {
        self.steering.set_other_port(now);
    }

    /// Returns true if the call's packets pass a relay.
    pub(crate) fn is_relayed(&self) -> bool {
        self.steering.is_relayed()
    }

    /// Takes a probe. Those of strangers are dropped, and those that somebody has sent again.
    pub(crate) fn on_probe(&mut self, aside: &Aside, now: Timestamp) -> Result<(), Failure> {
        let probe = self.seals.open(&aside.bytes).and_then(|bytes| Probe::decode(&bytes));
        match probe {
            Some(Probe::Question { number, candidates }) if self.steering.on_question(aside.from, number, now) => {
                self.sending.prove(aside.from);
                if !candidates.is_empty() {
                    self.steering.set_told(&candidates, now);
                }
                self.sending.send(aside.from, &self.seals.seal(Probe::Answer(number).encode(0))?);
            }
            Some(Probe::Answer(number)) if self.steering.on_answer(aside.from, number, now) => {
                self.sending.prove(aside.from);
                self.sending.answered(aside.from);
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Does all that is due; `own`: this machine's addresses.
    pub(crate) fn drive(&mut self, own: impl Fn() -> Vec<Candidate>, now: Timestamp) -> Result<(), Failure> {
        let base = self.call.address();
        if base != self.base {
            // QUIC has followed the peer to another address.
            self.base = base;
            self.sending.steer(base);
            self.sending.take(None);
            self.steering.restart(self.sending.route_of(base), Kind::Learned, now);
        }
        while let Some(act) = self.steering.poll(now) {
            match act {
                Act::Take(route) => self.take(route),
                Act::Ask { route, number, is_full } => self.ask(route, number, is_full, &own, now)?,
            }
        }
        Ok(())
    }

    /// Returns true if answers on the way in use are overdue.
    pub(crate) fn is_in_doubt(&self, now: Timestamp) -> bool {
        self.steering.is_in_doubt(now)
    }

    /// Returns the time to call [`Course::drive`] again.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.steering.poll_timeout(now)
    }

    fn take(&mut self, route: Route) {
        let base = self.sending.route_of(self.base);
        self.sending.take((route != base).then_some(route));
        let kind = self.steering.kind_of(route).unwrap_or(Kind::Learned);
        limited!(info, "packets to {} now go {} ({})", self.call.peer(), kind.name(), route.to);
    }

    fn ask(
        &mut self,
        route: Route,
        number: u64,
        is_full: bool,
        own: &impl Fn() -> Vec<Candidate>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        if !route.is_relayed() && !self.sending.reaches(route.to) {
            return Ok(());
        }
        let tells = route == self.steering.used() && now >= self.tell_at;
        if tells {
            self.tell_at = now + TELL;
        }
        let candidates = if tells { own() } else { Vec::new() };
        // With its mark a packet is one byte longer.
        let length = if is_full { (self.call.longest() + 1).saturating_sub(SEALED_BYTES) } else { 0 };
        self.sending.send(route, &self.seals.seal(Probe::Question { number, candidates }.encode(length))?);
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
