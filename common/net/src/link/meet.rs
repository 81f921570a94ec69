//! Connections to a machine that was introduced: both sides look for each other, and one of them dials.
//!
//! The side with the smaller key dials, so that there is one handshake; only a link test is dialled by whoever tests. The other
//! accepts, and answers knocks during a call as well: the path may have died on the way from there only. Both look for a better
//! way for the call while it lasts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::config::{Meet, PublicKey, candidate_of};
use common::path::ways::{ADDRESSES_MAX, Candidate, Role};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::dial::{Find, Stalled, revived};
use super::obstacle::{Obstacle, Obstacles};
use crate::clock;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::limited;
use crate::quic::{
    BindError, CloseCode, Connection, End, Endpoint, EndpointOptions, InCall, Probing, QuicError, Takes,
};
use crate::reach::presence::SignsOf;
use crate::reach::{Asks, Dht, Does, Found, House, HouseNames, ItemKeys, KnockKey, Notes, PairSeal, Search, open};
use crate::zones;

/// Time after which the side that is dialled looks again if a call has begun or ended.
const LOOK: Duration = Duration::from_millis(50);
/// Time between questions to a name server for the other machine.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// Longest search for a machine whose link shall be tested.
const TEST_PATIENCE: Duration = Duration::from_secs(20);
/// Dials without an answer, where knocks come, after which this side says so.
const SILENT_MAX: u32 = 3;
/// After this time without the other machine, this one says so.
const SAY_AFTER: Duration = Duration::from_secs(20);

/// One side of the search.
pub(super) struct Meeting {
    name: String,
    pub(super) role: Role,
    endpoint: Endpoint,
    search: Search,
    /// Addresses at which a name server says that the other machine is, whenever they change.
    named: mpsc::Receiver<Vec<Candidate>>,
    obstacles: Obstacles,
}

impl Meeting {
    /// Opens the socket that the other side knows. `identity`: that of `options`; `calls`: the call of now, as it changes.
    pub(super) fn open(
        options: &EndpointOptions,
        identity: &Identity,
        meet: &Meet,
        calls: watch::Receiver<Option<InCall>>,
        obstacles: Obstacles,
    ) -> Result<Self, QuicError> {
        let role = role(&options.own, &meet.peer.key);
        let takes = if role == Role::Waits { Takes::Everything } else { Takes::LinkTests };
        let mut meeting = Self::of(options, identity, meet, takes, role)?;
        meeting.search.follow(calls);
        meeting.obstacles = obstacles;
        Ok(meeting)
    }

    /// Opens the same socket and looks for the other side. `seeks`: whether this side dials where it has heard a knock.
    fn of(
        options: &EndpointOptions,
        identity: &Identity,
        meet: &Meet,
        takes: Takes,
        seeks: Role,
    ) -> Result<Self, QuicError> {
        let role = role(&options.own, &meet.peer.key);
        let (endpoint, beside) = open(options, meet.port, takes).map_err(|error| match error {
            BindError::AddressInUse(_) => BindError::MeetingPlaceInUse(meet.port, meet.peer.name.clone()),
            error => error,
        })?;
        let knocks = KnockKey::of_peers(identity, &meet.peer.key, role)
            .ok_or_else(|| QuicError::Other(format!("{} has this machine's own key", meet.peer.name)))?;
        let asks = Asks { stun: &meet.stun, turn: &meet.turn, open_port: meet.open_port };
        let mut search = Search::new(beside, meet.port, knocks, seeks, &meet.candidates, asks);
        if let Some((server, seal)) = meet.mailbox.clone().zip(PairSeal::new(identity, &meet.peer.key)) {
            search.take_notes(Notes::start(server, seal));
        }
        if let Some(names) = HouseNames::new(identity, &meet.peer.key).filter(|_| meet.house) {
            search.look_in(House::start(names));
        }
        if let Some(keys) = ItemKeys::of_peers(identity, &meet.peer.key).filter(|_| !meet.dht.is_empty()) {
            search.use_dht(Dht::start(keys, meet.dht.clone(), Does { publishes: true, looks: true }));
        }
        tracing::info!("looking for {}", meet.peer.name);
        let (found, named) = mpsc::channel(1);
        if let Some(host) = meet.host.clone() {
            tokio::spawn(look_up(host, found));
        }
        let obstacles = Obstacles::default();
        Ok(Self { name: meet.peer.name.clone(), role, endpoint, search, named, obstacles })
    }

    /// Waits for whoever calls, and calls nobody; hands in signs of the other machine, if anybody takes them.
    pub(super) fn be_idle(&mut self, signs: Option<SignsOf>) {
        self.search.set_idle();
        signs.into_iter().for_each(|signs| self.search.tell_signs(signs));
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// Knocks while no call is on and answers knocks always, so that the other side finds this one.
    pub(super) async fn wait_for_ever(mut self, busy: Arc<AtomicBool>) {
        let (mut quiet, mut since, mut said) = (false, Instant::now(), false);
        loop {
            // Time runs out so that a call that has begun or ended is noticed.
            if let Ok(Err(failure)) = tokio::time::timeout(LOOK, self.search.next()).await {
                return tracing::error!("{failure}");
            }
            while let Ok(candidates) = self.named.try_recv() {
                self.search.add(&candidates);
            }
            let busy = busy.load(Ordering::Relaxed);
            if busy != quiet {
                quiet = busy;
                self.search.set_quiet(quiet);
                if !quiet {
                    self.search.restart();
                }
                (since, said) = (Instant::now(), false);
            }
            if !quiet && !said && since.elapsed() > SAY_AFTER {
                said = true;
                not_found(&self.name, &self.obstacles);
            }
        }
    }

    /// Goes on until the other machine is to be dialled at an address. Nothing is lost if it is dropped.
    pub(super) async fn next_at_home(&mut self) -> Result<SocketAddr, QuicError> {
        loop {
            while let Ok(candidates) = self.named.try_recv() {
                self.search.add(&candidates);
            }
            if let Found::Path(address) = self.search.next().await.map_err(broken)? {
                return Ok(address);
            }
        }
    }

    /// Forgets that it was dialled there: whoever knocks may be dialled again.
    pub(super) fn dial_ended(&mut self, address: SocketAddr) {
        self.search.dial_failed(address);
    }
}

/// The way to a machine that was found for a link test. A place at a relay and a port at the router are kept with it.
pub(crate) struct TestWay {
    pub(crate) probing: Probing,
    _search: Search,
}

/// Looks for the machine of `meet` as a call does, and connects to test the link. Whoever of the two would dial in a call,
/// here it is this side: the other one takes link tests in either role.
pub(crate) async fn find_to_test(
    options: &EndpointOptions,
    identity: &Identity,
    meet: &Meet,
) -> Result<TestWay, Failure> {
    let mut meeting = Meeting::of(options, identity, meet, Takes::Nothing, Role::Dials)?;
    let (mut dials, mut failed) = (JoinSet::new(), None);
    let mut is_there = false;
    let mut patience = std::pin::pin!(tokio::time::sleep(TEST_PATIENCE));
    loop {
        tokio::select! {
            biased;
            Some(Ok((address, dialled))) = dials.join_next() => match dialled {
                Ok(probing) => return Ok(TestWay { probing, _search: meeting.search }),
                Err(error) => {
                    let error: QuicError = error;
                    meeting.search.dial_failed(address);
                    if error.is_final() || error.is_mistake() {
                        failed = Some(error);
                    }
                }
            },
            found = meeting.search.next() => if let Found::Path(address) = found? {
                is_there = true;
                let endpoint = meeting.endpoint();
                dials.spawn(async move { (address, endpoint.dial_to_probe(address).await) });
            },
            Some(candidates) = meeting.named.recv() => meeting.search.add(&candidates),
            () = &mut patience => break,
        }
    }
    Err(match (failed, is_there) {
        (Some(error), _) => error.into(),
        (None, true) => Failure::network(format!(
            "{} is there and answers no link test: its Duet may be older than this one, or the line loses nearly everything",
            meeting.name
        )),
        (None, false) => Failure::network(format!(
            "{} was not found in {} s: start the receiver or `sender call` there, and test again",
            meeting.name,
            TEST_PATIENCE.as_secs()
        )),
    })
}

impl Find for Meeting {
    async fn find(&mut self, old: Option<&End>) -> Result<Option<Connection>, QuicError> {
        let old = old.map(|end| Stalled(end, end.packets()));
        self.search.set_quiet(false);
        self.search.restart();
        let mut dials = JoinSet::new();
        let mut say = std::pin::pin!(tokio::time::sleep(SAY_AFTER));
        let (mut said, mut silent) = (false, 0);
        loop {
            tokio::select! {
                biased;
                () = revived(old.as_ref()) => return Ok(None),
                Some(Ok((address, dialled))) = dials.join_next() => match dialled {
                    Ok(connection) if old.as_ref().is_some_and(Stalled::lives) => {
                        let connection: Connection = connection;
                        connection.close(CloseCode::Done, "the old connection works again");
                        return Ok(None);
                    }
                    Ok(connection) => {
                        limited!(info, "{} found {}", self.name, self.search.kind_of(address).name());
                        return Ok(Some(connection));
                    }
                    Err(error) => {
                        let error: QuicError = error;
                        if error.is_final() {
                            return Err(error);
                        }
                        self.obstacles.failed(&error, clock::now());
                        silent += u32::from(error == QuicError::TimedOut);
                        if error == QuicError::TimedOut && silent == SILENT_MAX {
                            limited!(
                                warn,
                                "{} knocks and does not answer: packets of 1200 bytes may not get through, or nothing from here \
                                 does; trying again",
                                self.name
                            );
                        }
                        match error.is_mistake() {
                            true => limited!(warn, "{} at {address}: {error}; trying again", self.name),
                            false => tracing::debug!("{address}: {error}"),
                        }
                        self.search.dial_failed(address);
                    }
                },
                found = self.search.next() => if let Found::Path(address) = found.map_err(broken)? {
                    let endpoint = self.endpoint.clone();
                    dials.spawn(async move { (address, endpoint.dial(address).await) });
                },
                Some(candidates) = self.named.recv() => self.search.add(&candidates),
                () = &mut say, if !said => {
                    said = true;
                    not_found(&self.name, &self.obstacles);
                }
            }
        }
    }

    async fn attend(&mut self) {
        self.search.set_quiet(true);
        loop {
            if let Err(failure) = self.search.next().await {
                tracing::error!("{failure}");
                return std::future::pending().await;
            }
        }
    }
}

/// Asks for the addresses of a name again and again: those of homes change.
async fn look_up(host: String, found: mpsc::Sender<Vec<Candidate>>) {
    let mut last = Vec::new();
    loop {
        match zones::look_up(&host).await {
            Ok(addresses) => {
                let candidates: Vec<_> = addresses.into_iter().filter_map(candidate_of).take(ADDRESSES_MAX).collect();
                if candidates != last && found.send(candidates.clone()).await.is_err() {
                    return;
                }
                last = candidates;
            }
            Err(error) => limited!(warn, "the address of {host} cannot be found: {error}; asking again"),
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

fn not_found(name: &str, obstacles: &Obstacles) {
    obstacles.meet(Obstacle::NotFound, clock::now());
    limited!(
        warn,
        "{name} was not found yet; looking on. If both sides run, the address of one may have changed: introduce them anew \
         with `invite` and `join`"
    );
}

fn broken(failure: Failure) -> QuicError {
    QuicError::Other(failure.message)
}

/// Returns the role: the side with the smaller key dials.
fn role(own: &PublicKey, peer: &PublicKey) -> Role {
    if own.as_bytes() < peer.as_bytes() { Role::Dials } else { Role::Waits }
}
