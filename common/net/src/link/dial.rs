//! Sources of connections: a task that dials for ever, or one that accepts.
//!
//! The dialler does not wait until a connection has died: when it has heard nothing for longer than is normal, it
//! dials beside the old connection, and whichever works first is used.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::path::ways::Candidate;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::obstacle::Obstacles;
use crate::answering::answer;
use crate::clock;
use crate::gate::{Answer, Gate};
use crate::limit::Limit;
use crate::limited;
use crate::lock::lock;
use crate::quic::{Accepted, CloseCode, Connection, End, Endpoint, EndpointOptions, QuicError};
use crate::reach::own_addresses;
use crate::wait;
use crate::zones;

/// Time from one attempt to the next while none is answered. Earlier attempts go on, so that one succeeds as soon as
/// the path works: QUIC waits twice as long after each packet of a handshake that is lost, and of two attempts one
/// seldom loses any.
const BESIDE: Duration = Duration::from_millis(200);
/// Time from a failed attempt to the next.
const RETRY: Duration = Duration::from_millis(500);
/// Most attempts under way at once. Without an answer each lasts for two seconds, and two begin in a second.
const ATTEMPTS_MAX: usize = 4;
/// Time for which attempts keep that pace though nobody answers: where nobody has yet, and after a call, whose line may be back at
/// any moment. Then they become rarer, so that a wrong name is no nuisance to whoever is there.
const EAGER: Duration = Duration::from_secs(60);
const EAGER_AFTER_CALL: Duration = Duration::from_secs(660);
/// Time from one attempt to the next then, at first and at last: a musician who starts the other side an hour later waits no longer.
const RARER: Duration = Duration::from_secs(2);
const RARE: Duration = Duration::from_secs(15);
/// Time between two looks whether this machine's network is another.
const LOOK_AT_NETWORK: Duration = Duration::from_millis(500);
/// Time between two checks whether anything came.
const LOOK: Duration = Duration::from_millis(25);
/// Life of a connection that has worked: when it ends, it is dialled anew at once.
const LIFE_MIN: Duration = Duration::from_secs(1);
/// Pause after the first connection that has not; twice as long after each, up to [`LIFE_MIN`].
const PAUSE_MIN: Duration = Duration::from_millis(250);

/// A dialler that is turned away tries again each second.
pub(super) static TURNED_AWAY: Limit = Limit::each_minute();

/// The longest time without a packet that means nothing; the loop tells, the dialler reads.
#[derive(Debug)]
pub(super) struct SilenceMax(AtomicU64);

impl SilenceMax {
    pub(super) fn new(silence: Duration) -> Self {
        Self(AtomicU64::new(silence.as_millis() as u64))
    }

    pub(super) fn set(&self, silence: Duration) {
        self.0.store(silence.as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns the number of checks in a row, in which nothing came, after which the connection has stalled. Time would
    /// not do: while this process stands still, the peer is not silent.
    fn looks(&self) -> u64 {
        self.0.load(Ordering::Relaxed).div_ceil(LOOK.as_millis() as u64)
    }
}

/// A way to the other side.
pub(super) trait Find: Send {
    /// Searches until there is a connection; none: the old one works again. An error is final.
    fn find(&mut self, old: Option<&End>) -> impl Future<Output = Result<Option<Connection>, QuicError>> + Send;

    /// Does what there is to do during a call; for ever.
    fn attend(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// Finds the other side and hands over the connection; does so anew whenever it has stalled or ended, while somebody takes
/// `connections`. Ends with an error that trying again cannot mend.
pub(super) async fn dial_for_ever(
    mut way: impl Find,
    connections: Sender<Result<Connection, QuicError>>,
    silence_max: Arc<SilenceMax>,
) {
    let mut current: Option<End> = None;
    let mut redial = Redial::default();
    loop {
        if let Some(end) = &current {
            tokio::select! {
                () = redial.wait(end, &silence_max) => {}
                () = way.attend() => {}
            }
        }
        if connections.is_closed() {
            // This program ends. What the way holds, such as a place at a relay, must outlast the goodbye.
            return way.attend().await;
        }
        match way.find(current.as_ref()).await {
            Ok(Some(connection)) => {
                current = Some(connection.end());
                redial.begun();
                if connections.send(Ok(connection)).await.is_err() {
                    return;
                }
            }
            Ok(None) => {}
            Err(error) => {
                let _ = connections.send(Err(error)).await;
                return;
            }
        }
    }
}

/// The way to an address.
pub(super) struct Dialler {
    sockets: Arc<Mutex<Sockets>>,
    address: String,
    obstacles: Obstacles,
}

impl Dialler {
    pub(super) fn new(options: EndpointOptions, address: String, obstacles: Obstacles) -> Self {
        Self { sockets: Arc::new(Mutex::new(Sockets { options, v4: None, v6: None })), address, obstacles }
    }
}

impl Find for Dialler {
    async fn find(&mut self, old: Option<&End>) -> Result<Option<Connection>, QuicError> {
        connect(&self.sockets, &self.address, old, &self.obstacles).await
    }
}

/// Times of dialling anew.
#[derive(Debug, Default)]
struct Redial {
    pace: Pace,
    began: Option<Instant>,
}

impl Redial {
    /// Takes the begin of a connection.
    fn begun(&mut self) {
        self.began = Some(Instant::now());
    }

    /// Waits until the connection has stalled or ended and it is time to dial anew.
    async fn wait(&mut self, end: &End, silence_max: &SilenceMax) {
        stalled(end, silence_max).await;
        // A peer that has restarted answers at once.
        if end.was_closed() {
            let life = self.began.map_or(Duration::ZERO, |began| began.elapsed());
            tokio::time::sleep(self.pace.pause(life, RandomState::new().hash_one(0))).await;
        }
    }
}

/// Pause before dialling anew when the peer has closed a connection. A listener in another call closes each at once.
#[derive(Debug, Default)]
struct Pace {
    /// Connections that were closed at once, one after the other.
    in_vain: u32,
}

impl Pace {
    /// Returns the pause after a connection that lasted for `life`; `random` is any number, so that diallers that a
    /// listener turns away do not keep step.
    fn pause(&mut self, life: Duration, random: u64) -> Duration {
        if life >= LIFE_MIN {
            self.in_vain = 0;
            return Duration::ZERO;
        }
        let pause = (PAUSE_MIN * (1 << self.in_vain.min(8))).min(LIFE_MIN);
        self.in_vain = self.in_vain.saturating_add(1);
        pause + pause * (random % 100) as u32 / 200
    }
}

/// Waits until the connection has ended or nothing has come for longer than is normal.
async fn stalled(end: &End, silence_max: &SilenceMax) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut packets, mut silent) = (end.packets(), 0);
    loop {
        tokio::select! {
            () = end.wait() => return,
            _ = looks.tick() => {}
        }
        let before = std::mem::replace(&mut packets, end.packets());
        silent = if packets == before { silent + 1 } else { 0 };
        if silent >= silence_max.looks() {
            tracing::debug!("nothing has come for {silent} looks: dialling anew");
            return;
        }
    }
}

/// Patience with somebody who does not answer.
#[derive(Clone, Copy, Debug)]
struct Eagerness {
    since: Instant,
    lasts: Duration,
}

impl Eagerness {
    /// Begins anew: with a machine that was called before, or one that was not.
    fn new(was_called: bool, now: Instant) -> Self {
        Self { since: now, lasts: if was_called { EAGER_AFTER_CALL } else { EAGER } }
    }

    /// Returns the least time to the next attempt; none: as if it had just begun.
    fn pause(&self, now: Instant) -> Option<Duration> {
        let over = (now - self.since).checked_sub(self.lasts)?;
        Some((over / 4).clamp(RARER, RARE))
    }
}

/// Waits until this machine's addresses are others than `before`.
async fn network_changed(before: &[Candidate]) {
    let mut looks = interval(LOOK_AT_NETWORK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        if own_addresses() != before {
            return;
        }
    }
}

/// An old connection, and the packets that had come when it stalled.
pub(super) struct Stalled<'a>(pub(super) &'a End, pub(super) u64);

impl Stalled<'_> {
    pub(super) fn lives(&self) -> bool {
        self.0.packets() != self.1 && !self.0.has_ended()
    }
}

/// Waits until something comes again over the old connection.
pub(super) async fn revived(old: Option<&Stalled<'_>>) {
    let mut looks = interval(LOOK);
    while !old.is_some_and(Stalled::lives) {
        looks.tick().await;
    }
}

/// Attempts, one after the other and side by side, until one succeeds; none: the old connection works again. An error
/// is final.
async fn connect(
    sockets: &Arc<Mutex<Sockets>>,
    address: &str,
    old: Option<&End>,
    obstacles: &Obstacles,
) -> Result<Option<Connection>, QuicError> {
    let old = old.map(|end| Stalled(end, end.packets()));
    let mut attempts = JoinSet::new();
    let mut starts = interval(BESIDE);
    starts.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut eagerness = Eagerness::new(old.is_some(), Instant::now());
    let (mut network, mut said_rare) = (own_addresses(), false);
    let mut said = Vec::new();
    let mut old_ends =
        std::pin::pin!(wait::of(old.as_ref().map(|old| old.0).filter(|end| !end.has_ended()).map(End::wait)));
    let mut old_has_ended = false;
    loop {
        let ended = tokio::select! {
            biased;
            () = revived(old.as_ref()) => return Ok(None),
            () = &mut old_ends, if !old_has_ended => {
                // The other side has restarted: it can be reached now.
                old_has_ended = true;
                starts.reset_immediately();
                continue;
            }
            Some(ended) = attempts.join_next() => ended,
            () = network_changed(&network), if eagerness.pause(Instant::now()).is_some() => {
                network = own_addresses();
                eagerness = Eagerness::new(old.is_some(), Instant::now());
                starts.reset_immediately();
                continue;
            }
            _ = starts.tick(), if attempts.len() < ATTEMPTS_MAX => {
                attempts.spawn(attempt(Arc::clone(sockets), address.to_owned()));
                if let Some(pause) = eagerness.pause(Instant::now()) {
                    starts.reset_after(pause);
                    if !std::mem::replace(&mut said_rare, true) {
                        let rare = RARE.as_secs();
                        limited!(info, "{address} has not answered for long: trying more rarely, at last every {rare} s");
                    }
                }
                continue;
            }
        };
        match ended {
            Ok(Ok(connection)) if old.as_ref().is_some_and(Stalled::lives) => {
                connection.close(CloseCode::Done, "the old connection works again");
                return Ok(None);
            }
            Ok(Ok(connection)) => return Ok(Some(connection)),
            Ok(Err(error)) if error.is_final() => return Err(error),
            Ok(Err(error)) => {
                obstacles.failed(&error, clock::now());
                if error != QuicError::TimedOut {
                    starts.reset_after(eagerness.pause(Instant::now()).unwrap_or(RETRY));
                }
                let kind = std::mem::discriminant(&error);
                if !said.contains(&kind) {
                    said.push(kind);
                    let again = format_args!("trying again every {} ms", RETRY.as_millis());
                    match error.is_mistake() {
                        true => limited!(warn, "{address}: {error}; {again}"),
                        false => limited!(info, "{address}: {error}; {again}"),
                    }
                }
            }
            Err(error) => return Err(QuicError::Other(format!("an attempt to dial broke down: {error}"))),
        }
    }
}

async fn attempt(sockets: Arc<Mutex<Sockets>>, address: String) -> Result<Connection, QuicError> {
    let unreachable = |message: String| QuicError::Unreachable { address: address.clone(), message };
    let found = zones::look_up(&address).await.map_err(|error| unreachable(error.to_string()))?;
    let mut last = unreachable("the name has no address".to_owned());
    for address in found.into_iter().take(zones::DIALLED_MAX) {
        let endpoint = lock(&sockets).of(address)?;
        match endpoint.dial(address).await {
            Err(error) if last.is_mistake() && !error.is_final() => tracing::debug!("{address}: {error}"),
            Err(error) if !error.is_final() => last = error,
            result => return result,
        }
    }
    Err(last)
}

/// A socket for each family of addresses, opened when first needed.
struct Sockets {
    options: EndpointOptions,
    v4: Option<Endpoint>,
    v6: Option<Endpoint>,
}

impl Sockets {
    fn of(&mut self, address: SocketAddr) -> Result<Endpoint, QuicError> {
        let (socket, any) = match address {
            SocketAddr::V4(_) => (&mut self.v4, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))),
            SocketAddr::V6(_) => (&mut self.v6, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))),
        };
        match socket {
            Some(endpoint) => Ok(endpoint.clone()),
            None => Ok(socket.insert(Endpoint::bind(&self.options, any, false)?).clone()),
        }
    }
}

/// Accepts handshakes side by side and hands over those that succeed; without `connections` only those of link tests.
/// Then, while `busy`, or after failed handshakes, a caller must first prove its address.
pub(super) async fn accept_for_ever(
    endpoint: Endpoint,
    connections: Option<Sender<Result<Connection, QuicError>>>,
    busy: Arc<AtomicBool>,
    obstacles: Obstacles,
) {
    let gate = Arc::new(Mutex::new(Gate::default()));
    while let Some(incoming) = endpoint.incoming().await {
        let address = incoming.address();
        let proves = connections.is_none() || busy.load(Ordering::Relaxed);
        let ticket = match lock(&gate).knock(address.ip(), incoming.address_is_validated(), proves, clock::now()) {
            Answer::Admit(ticket) => ticket,
            Answer::Prove => {
                incoming.demand_address_validation();
                continue;
            }
            Answer::Refuse => {
                limited!(warn, "a connection from {address} was not accepted: too many from there have failed");
                incoming.refuse();
                continue;
            }
        };
        let (connections, busy, gate) = (connections.clone(), Arc::clone(&busy), Arc::clone(&gate));
        let obstacles = obstacles.clone();
        tokio::spawn(async move {
            let accepted = incoming.accept().await;
            lock(&gate).ended(ticket, accepted.is_ok(), clock::now());
            if let Err(error) = &accepted {
                obstacles.failed(error, clock::now());
            }
            match accepted {
                Ok(Accepted::Call(connection)) => {
                    if let Some(connections) = connections {
                        let _ = connections.send(Ok(connection)).await;
                    }
                }
                Ok(Accepted::LinkTest(probing)) => answer(probing, &busy).await,
                // Another attempt of the same dialler was faster, or this program ends.
                Err(error @ (QuicError::Closed(_) | QuicError::ClosedHere)) => {
                    tracing::debug!("a handshake from {address}: {error}")
                }
                // A machine that this one looks for says so.
                Err(error) if error.is_no() => limited!(TURNED_AWAY; info, "{error}; trying again"),
                Err(error) if error.is_mishap() => {
                    limited!(info, "a call from {address} did not come about: {error}; waiting for the next");
                }
                Err(error) => limited!(warn, "a connection from {address} was not accepted: {error}"),
            }
        });
    }
}

#[cfg(test)]
#[path = "dial_tests.rs"]
mod tests;
