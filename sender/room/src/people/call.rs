//! A call of this process, with one person or with several at once, on a thread of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use calling::{Band, Call, Handle, Stage};
use common::config::PublicKey;
use common::units::Timestamp;
use net::clock;
use net::failure::Failure;
use net::link::Obstacle;
use shell::cli::CommonFlags;

use super::event::{State, Who, Why};
use super::host::Host;
use super::known;
use super::order::Order;
use super::person::What;

/// Longest wait for a caller whose call was taken and who is gone.
const TAKEN_MAX: Duration = Duration::from_secs(20);

/// A call that is being opened, or on.
pub(super) struct Running {
    /// Those who are called, at least one.
    pub(super) members: Vec<Member>,
    /// The other side has called.
    pub(super) is_taken: bool,
    since_ms: u64,
    /// Time since when all that the call needs is open.
    opened: Timestamp,
    why: Option<Why>,
    go: Option<Sender<()>>,
    thread: JoinHandle<()>,
}

/// Somebody who is called.
pub(super) struct Member {
    pub(super) who: Who,
    pub(super) is_connected: bool,
    pub(super) was_connected: bool,
    rings: bool,
    rang: bool,
    why_not: Option<Obstacle>,
    why: Option<Why>,
    handle: Option<Handle>,
}

/// Begins to open what a call with all of `who` needs; the thread says so, and waits for [`Running::go`].
pub(super) fn start(
    flags: CommonFlags,
    host: Host,
    who: Vec<Who>,
    is_taken: bool,
    orders: Sender<Order>,
) -> Result<Running, Failure> {
    let (go, gone) = channel();
    let keys: Vec<_> = who.iter().map(|who| who.key).collect();
    let body = move || {
        let ended = match keys[..] {
            [key] => call(&flags, &host, &key, &gone, &orders),
            _ => band(&flags, &host, &keys, &gone, &orders),
        };
        let _ = orders.send(Order::CallEnded(ended));
    };
    let thread = std::thread::Builder::new().name("call".to_owned()).spawn(body);
    Ok(Running {
        members: who.into_iter().map(Member::new).collect(),
        is_taken,
        since_ms: clock::unix_ms(),
        opened: clock::now(),
        why: None,
        go: Some(go),
        thread: thread.map_err(|error| Failure::device(format!("a thread cannot be started: {error}")))?,
    })
}

fn call(
    flags: &CommonFlags,
    host: &Host,
    key: &PublicKey,
    gone: &Receiver<()>,
    orders: &Sender<Order>,
) -> Result<(), Failure> {
    let wanted = known::call_with(flags, key)?;
    let call = Call::open(&wanted.config, &wanted.source, &wanted.receiving.config, None)?;
    let handle = call.handle();
    let _ = orders.send(Order::Opened(vec![handle.clone()]));
    // Given up meanwhile.
    if gone.recv().is_err() {
        return call.give_up();
    }
    call.run_with(|parts| (host.open_sinks)(&handle, parts))
}

fn band(
    flags: &CommonFlags,
    host: &Host,
    keys: &[PublicKey],
    gone: &Receiver<()>,
    orders: &Sender<Order>,
) -> Result<(), Failure> {
    let mut members = known::band_with(flags, keys)?.into_iter();
    let first = members.next().ok_or_else(|| Failure::usage("nobody is called"))?;
    let others: Vec<_> = members.map(|member| (member.config, member.receiving)).collect();
    let band = Band::open(&first.config, &first.source, &first.receiving, &others, None)?;
    let _ = orders.send(Order::Opened(band.handles()));
    // Given up meanwhile.
    if gone.recv().is_err() {
        return band.give_up();
    }
    band.run_with(|view| (host.show_band)(view))
}

impl Member {
    fn new(who: Who) -> Self {
        Self {
            who,
            is_connected: false,
            was_connected: false,
            rings: false,
            rang: false,
            why_not: None,
            why: None,
            handle: None,
        }
    }

    /// Ends the call with this one, which says so when it has ended; the first reason counts.
    fn hang_up(&mut self, why: Why) {
        self.why.get_or_insert(why);
        self.handle.iter().for_each(Handle::hang_up);
    }

    /// Looks how the call stands; `waits_in_vain`: who has called would be here by now.
    fn look(&mut self, waits_in_vain: bool) {
        let Some(handle) = self.handle.clone() else { return };
        let stage = handle.stage();
        self.is_connected = stage == Stage::Connected;
        self.was_connected |= self.is_connected;
        self.rings = stage == Stage::Ringing;
        self.rang |= self.rings;
        self.why_not = if let Stage::Looking(obstacle) = stage { obstacle } else { None };
        if let Some(why) = refused(stage, self.was_connected) {
            self.hang_up(why);
        } else if waits_in_vain && !self.was_connected || self.was_connected && !self.is_connected && handle.has_left()
        {
            self.hang_up(Why::There);
        }
    }

    /// Returns why the call with this one has ended.
    fn ended(&self, of_all: Option<&Why>, ended: Result<(), Failure>) -> Why {
        match (self.why.as_ref().or(of_all), ended) {
            (None, Err(failure)) => Why::Kept(What::Failed(failure.message)),
            // Given up by whoever has tried: what was in the way is worth knowing.
            (None | Some(Why::Here), _) if !self.was_connected && self.rang => Why::Kept(What::NotTaken),
            (None | Some(Why::Here), _) if !self.was_connected && self.why_not.is_some() => {
                self.why_not.map_or(Why::Here, |obstacle| Why::Kept(obstacle.into()))
            }
            (why, _) => why.cloned().unwrap_or(Why::Here),
        }
    }
}

impl Running {
    /// Returns true if that one is called.
    pub(super) fn has(&self, key: PublicKey) -> bool {
        self.members.iter().any(|member| member.who.key == key)
    }

    /// Lets the call begin; `handles` are those of the members.
    pub(super) fn go(&mut self, handles: &[Handle]) {
        match self.why {
            // Hung up while all was being opened.
            Some(_) => self.go = None,
            None => {
                // A thread that has ended says why.
                let _ = self.go.as_ref().map(|go| go.send(()));
            }
        }
        for (member, handle) in self.members.iter_mut().zip(handles) {
            member.handle = Some(handle.clone());
        }
        self.opened = clock::now();
    }

    /// Ends the call, which says so when it has ended; the first reason counts.
    pub(super) fn hang_up(&mut self, why: Why) {
        self.why.get_or_insert(why);
        self.members.iter().filter_map(|member| member.handle.as_ref()).for_each(Handle::hang_up);
    }

    /// Ends all that the call has to do with the machine of this key.
    pub(super) fn remove(&mut self, key: PublicKey) {
        for member in &mut self.members {
            member.handle.iter().for_each(|handle| handle.remove(key));
            if member.who.key == key {
                member.hang_up(Why::Removed);
            }
        }
        if self.members.iter().all(|member| member.why.is_some()) {
            self.hang_up(Why::Removed);
        }
    }

    /// Looks how the call stands; returns the names of those who have called meanwhile.
    pub(super) fn look(&mut self) -> Vec<String> {
        let was_connected = self.was_connected();
        let waits_in_vain = self.is_taken && clock::now().since(self.opened) > TAKEN_MAX;
        self.members.iter_mut().for_each(|member| member.look(waits_in_vain));
        if self.was_connected() && !was_connected {
            self.since_ms = clock::unix_ms();
        }
        let called = self.members.iter().filter_map(|member| member.handle.as_ref()).flat_map(Handle::take_called);
        called.collect()
    }

    /// Returns true if somebody was there.
    fn was_connected(&self) -> bool {
        self.members.iter().any(|member| member.was_connected)
    }

    pub(super) fn state(&self) -> State {
        let since_ms = self.since_ms;
        match &self.members[..] {
            [Member { who, rings, why_not, was_connected, .. }] => {
                let (who, rings, why_not) = (who.clone(), *rings, *why_not);
                match was_connected {
                    true => State::InCall { who, since_ms, why_not },
                    false => State::Calling { who, since_ms, rings, why_not },
                }
            }
            members => State::InBand { who: members.iter().map(|member| member.who.clone()).collect(), since_ms },
        }
    }

    /// Returns with whom the call was, if that one was there, and why it has ended.
    pub(super) fn joined(self, ended: Result<(), Failure>) -> Vec<(Who, bool, Why)> {
        let _ = self.thread.join();
        let of = |member: Member| {
            let why = member.ended(self.why.as_ref(), ended.clone());
            (member.who, member.was_connected, why)
        };
        self.members.into_iter().map(of).collect()
    }

    /// Ends the call and waits for that.
    pub(super) fn end(mut self) {
        self.hang_up(Why::Here);
        self.go = None;
        let _ = self.thread.join();
    }
}

/// Returns why a call with that stage cannot go on, if it cannot; `was_connected`: it has been on.
fn refused(stage: Stage, was_connected: bool) -> Option<Why> {
    match stage {
        // This program has called on before it heard that the other has hung up.
        Stage::Looking(Some(Obstacle::Declined)) if was_connected => Some(Why::There),
        Stage::Looking(Some(no @ (Obstacle::Declined | Obstacle::DoNotDisturb | Obstacle::Removed))) => {
            Some(Why::Kept(no.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_hangs_up_has_declined_nothing() {
        for (obstacle, before, after) in [
            (Obstacle::Declined, Why::Kept(What::Declined), Why::There),
            (Obstacle::Removed, Why::Kept(What::Removed), Why::Kept(What::Removed)),
        ] {
            let stage = Stage::Looking(Some(obstacle));
            assert_eq!([refused(stage, false), refused(stage, true)], [Some(before), Some(after)]);
        }
        assert_eq!(refused(Stage::Looking(None), true), None);
    }
}
