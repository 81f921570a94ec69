//! The receivers of what is coded: one coding for those who are together, and frames of their own for others.
//!
//! A single receiver is always the one that frames are coded for, whether it wants them or not.

use std::sync::Arc;
use std::time::Duration;

use common::stream::video::band::{Band, MemberLine, Seat};
use common::stream::video::prediction::{Hindrance, ReceiverId};
use common::units::{FrameId, Timestamp};
use net::limited;
use net::link::Waker;
use shell::slot::{Put, Slot};

use super::encoded::Encoded;
use crate::gate::Gate;
use crate::predict::{PEER, StreamEncoder, Told};

/// The way to a receiver's link.
#[derive(Clone, Debug)]
pub(crate) struct Outlet {
    pub(crate) coded: Slot<Arc<Encoded>>,
    /// Wakes the loop that takes it.
    pub(crate) waker: Waker,
}

/// All receivers, in the order of the gate.
pub(crate) struct Company {
    outlets: Vec<Outlet>,
    /// The choice of who is coded for together, if there are several.
    band: Option<Band>,
}

impl Company {
    pub(crate) fn new(outlets: Vec<Outlet>) -> Self {
        let band = (outlets.len() > 1).then(|| Band::new(outlets.len()));
        Self { outlets, band }
    }

    /// Returns true if no frame waits for another to be taken: there is a live source, or another receiver, whom nobody holds back.
    pub(crate) fn never_waits(&self, is_live: bool) -> bool {
        is_live || self.band.is_some()
    }

    /// Takes an encoder that knows of no receiver yet.
    pub(crate) fn begin(&mut self, coder: &mut StreamEncoder) {
        if self.band.is_some() {
            coder.leave(PEER);
            self.band = Some(Band::new(self.outlets.len()));
        }
    }

    /// Tells the encoder what has been told of receivers.
    pub(crate) fn listen(&mut self, gate: &Gate, coder: &mut StreamEncoder, now: Timestamp) {
        for (receiver, id) in (0..self.outlets.len()).zip((0..).map(ReceiverId)) {
            for told in gate.take_told(receiver) {
                match &mut self.band {
                    Some(band) if told == Told::Restart => {
                        band.on_restart(receiver, now);
                        coder.leave(id);
                    }
                    _ => coder.on_told_of(id, told),
                }
            }
        }
    }

    /// Chooses for whom the next frame is coded; returns the bytes that it may have.
    pub(crate) fn choose(&mut self, gate: &Gate, coder: &mut StreamEncoder, now: Timestamp) -> usize {
        let Some(band) = &mut self.band else { return gate.budget_bytes(0) };
        let ids = || (0..self.outlets.len()).zip((0..).map(ReceiverId));
        let line = |(receiver, id)| {
            let hindrance = coder.hindrance(id, now).unwrap_or_default();
            gate.is_open_for(receiver).then(|| MemberLine { budget_bytes: gate.budget_bytes(receiver), hindrance })
        };
        let lines: Vec<_> = ids().map(line).collect();
        let before: Vec<_> = ids().map(|(receiver, _)| band.seat(receiver)).collect();
        let budget = band.choose(&lines, !coder.predicts(), now);
        for (receiver, id) in ids() {
            match (before[receiver] == Seat::Together, band.seat(receiver) == Seat::Together) {
                (false, true) => coder.join(id),
                (true, false) => coder.leave(id),
                _ => {}
            }
            if band.seat(receiver) != before[receiver] {
                tell(receiver, band.seat(receiver), &lines);
            }
        }
        budget.unwrap_or_else(|| ids().map(|(receiver, _)| gate.budget_bytes(receiver)).min().unwrap_or_default())
    }

    /// Returns the receivers that get frames of their own.
    pub(crate) fn apart(&self) -> Vec<usize> {
        let is_apart = |&receiver: &usize| self.band.as_ref().is_some_and(|band| band.seat(receiver) == Seat::Apart);
        (0..self.outlets.len()).filter(is_apart).collect()
    }

    /// Leaves a frame to those who are together, in place of one that still waits.
    pub(crate) fn replace(&self, encoded: Encoded) {
        let encoded = Arc::new(encoded);
        for outlet in self.together() {
            outlet.coded.replace(Arc::clone(&encoded));
            outlet.waker.wake();
        }
    }

    /// Leaves a frame of its own to a receiver.
    pub(crate) fn give(&self, receiver: usize, encoded: Encoded) {
        self.outlets[receiver].coded.replace(Arc::new(encoded));
        self.outlets[receiver].waker.wake();
    }

    /// Waits until the only receiver has taken the frame before, calling `wait` now and then, and leaves it this one; false if it takes none
    /// any more.
    pub(crate) fn put(&self, encoded: Encoded, each: Duration, mut wait: impl FnMut()) -> bool {
        let (mut encoded, outlet) = (Arc::new(encoded), &self.outlets[0]);
        outlet.waker.wake();
        loop {
            match outlet.coded.put_timeout(encoded, each) {
                Put::Done => break,
                Put::Timeout(again) => encoded = again,
                Put::Closed(_) => return false,
            }
            wait();
        }
        outlet.waker.wake();
        true
    }

    /// Takes the last frame back if none of those who are together comes to take it within `patience`, and returns its number. One who is
    /// late among others misses it.
    pub(crate) fn withdraw(&self, patience: Duration) -> Option<FrameId> {
        let (mut patience, mut left, mut waited_for) = (patience, None, 0);
        for outlet in self.together() {
            waited_for += 1;
            // The others had the same time.
            let late = outlet.coded.take_left(std::mem::take(&mut patience));
            left = late.map(|late| late.id).filter(|_| waited_for == 1 || left.is_some());
        }
        left
    }

    fn together(&self) -> impl Iterator<Item = &Outlet> {
        let is_together = |receiver| self.band.as_ref().is_none_or(|band| band.seat(receiver) == Seat::Together);
        self.outlets.iter().enumerate().filter(move |(receiver, _)| is_together(*receiver)).map(|(_, outlet)| outlet)
    }

    /// Ends all links' wait for frames.
    pub(crate) fn close(&self) {
        for outlet in &self.outlets {
            outlet.coded.close();
            outlet.waker.wake();
        }
    }

    /// Returns true if no link takes any frame any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.outlets.iter().all(|outlet| outlet.coded.is_closed())
    }

    #[cfg(test)]
    pub(crate) fn outlets(&self) -> &[Outlet] {
        &self.outlets
    }

    /// Tells all links that there is something to look at.
    pub(crate) fn wake(&self) {
        self.outlets.iter().for_each(|outlet| outlet.waker.wake());
    }
}

/// Says that a receiver gets other frames from now on, and what its line and its reports are like beside the others'.
fn tell(receiver: usize, seat: Seat, lines: &[Option<MemberLine>]) {
    let bear: Vec<_> = lines.iter().flatten().map(|line| line.budget_bytes).collect();
    let Some(MemberLine { hindrance, .. }) = lines.get(receiver).copied().flatten() else { return };
    let Hindrance { behind_percent, broken_percent, untrue } = hindrance;
    match seat {
        Seat::Apart => limited!(
            info,
            "receiver {receiver} gets frames of its own: lines bear {bear:?} bytes a frame, it is {behind_percent} % behind, lacks parts of \
             {broken_percent} % more frames than others, {untrue} of its reports cannot be true"
        ),
        Seat::Together => limited!(
            info,
            "receiver {receiver} gets the frames that are coded for all: lines bear {bear:?} bytes a frame"
        ),
        Seat::Nowhere => {}
    }
}
