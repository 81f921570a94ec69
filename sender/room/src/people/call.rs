//! A call of this process, on a thread of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use calling::{Call, Handle, Stage};
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
    pub(super) who: Who,
    /// The other side has called.
    pub(super) is_taken: bool,
    pub(super) is_connected: bool,
    pub(super) was_connected: bool,
    since_ms: u64,
    /// Time since when all that the call needs is open.
    opened: Timestamp,
    rings: bool,
    rang: bool,
    why_not: Option<Obstacle>,
    why: Option<Why>,
    handle: Option<Handle>,
    go: Option<Sender<()>>,
    thread: JoinHandle<()>,
}

/// Begins to open what a call with `who` needs; the thread says so, and waits for [`Running::go`].
pub(super) fn start(
    flags: CommonFlags,
    host: Host,
    who: Who,
    is_taken: bool,
    orders: Sender<Order>,
) -> Result<Running, Failure> {
    let (go, gone) = channel();
    let key = who.key;
    let body = move || {
        let ended = call(&flags, &host, &key, &gone, &orders);
        let _ = orders.send(Order::CallEnded(ended));
    };
    let thread = std::thread::Builder::new().name("call".to_owned()).spawn(body);
    Ok(Running {
        who,
        is_taken,
        is_connected: false,
        was_connected: false,
        since_ms: clock::unix_ms(),
        opened: clock::now(),
        rings: false,
        rang: false,
        why_not: None,
        why: None,
        handle: None,
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
    let _ = orders.send(Order::Opened(Box::new(handle.clone())));
    // Given up meanwhile.
    if gone.recv().is_err() {
        return call.give_up();
    }
    call.run_with(|parts| (host.open_sinks)(&handle, parts))
}

impl Running {
    /// Lets the call begin.
    pub(super) fn go(&mut self, handle: Handle) {
        match self.why {
            // Hung up while all was being opened.
            Some(_) => self.go = None,
            None => {
                // A thread that has ended says why.
                let _ = self.go.as_ref().map(|go| go.send(()));
            }
        }
        self.handle = Some(handle);
        self.opened = clock::now();
    }

    /// Ends the call, which says so when it has ended; the first reason counts.
    pub(super) fn hang_up(&mut self, why: Why) {
        self.why.get_or_insert(why);
        self.handle.iter().for_each(Handle::hang_up);
    }

    /// Ends all that the call has to do with the machine of this key.
    pub(super) fn remove(&mut self, key: PublicKey) {
        if self.who.key == key {
            self.why.get_or_insert(Why::Removed);
        }
        if let Some(handle) = &self.handle {
            handle.remove(key);
            if self.who.key == key {
                handle.hang_up();
            }
        }
    }

    /// Looks how the call stands; returns the names of those who have called meanwhile.
    pub(super) fn look(&mut self) -> Vec<String> {
        let Some(handle) = self.handle.clone() else { return Vec::new() };
        let stage = handle.stage();
        self.is_connected = stage == Stage::Connected;
        if self.is_connected && !std::mem::replace(&mut self.was_connected, true) {
            self.since_ms = clock::unix_ms();
        }
        self.rings = stage == Stage::Ringing;
        self.rang |= self.rings;
        self.why_not = if let Stage::Looking(obstacle) = stage { obstacle } else { None };
        let waits_in_vain = self.is_taken && !self.was_connected && clock::now().since(self.opened) > TAKEN_MAX;
        if let Some(what) = refused(stage) {
            self.hang_up(Why::Kept(what));
        } else if waits_in_vain || self.was_connected && !self.is_connected && handle.has_left() {
            self.hang_up(Why::There);
        }
        handle.take_called()
    }

    pub(super) fn state(&self) -> State {
        let (who, since_ms, why_not) = (self.who.clone(), self.since_ms, self.why_not);
        match self.was_connected {
            true => State::InCall { who, since_ms, why_not },
            false => State::Calling { who, since_ms, rings: self.rings, why_not },
        }
    }

    /// Returns why the call has ended.
    pub(super) fn joined(self, ended: Result<(), Failure>) -> Why {
        let _ = self.thread.join();
        match (self.why, ended) {
            (None, Err(failure)) => Why::Kept(What::Failed(failure.message)),
            // Given up by whoever has tried: what was in the way is worth knowing.
            (None | Some(Why::Here), _) if !self.was_connected && self.rang => Why::Kept(What::NotTaken),
            (None | Some(Why::Here), _) if !self.was_connected && self.why_not.is_some() => {
                self.why_not.map_or(Why::Here, |obstacle| Why::Kept(obstacle.into()))
            }
            (why, _) => why.unwrap_or(Why::Here),
        }
    }

    /// Ends the call and waits for that.
    pub(super) fn end(mut self) {
        self.hang_up(Why::Here);
        self.go = None;
        let _ = self.thread.join();
    }
}

/// Returns why a call with that stage cannot go on, if it cannot.
fn refused(stage: Stage) -> Option<What> {
    match stage {
        Stage::Looking(Some(no @ (Obstacle::Declined | Obstacle::DoNotDisturb | Obstacle::Removed))) => Some(no.into()),
        _ => None,
    }
}
