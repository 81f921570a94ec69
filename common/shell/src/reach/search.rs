//! A search for one machine at work: its decisions ([`Meeting`]), a socket, STUN servers and a clock.

use std::net::SocketAddr;
use std::time::Duration;

use common::reach::{Candidate, Kind, Meeting, Outside, Role, Step, merge};
use common::units::Timestamp;
use tokio::sync::mpsc;

use super::addresses;
use super::proof::{KnockKey, random};
use super::stun::Stun;
use crate::clock;
use crate::exit::Failure;
use crate::quic::{Aside, Beside, KNOCK};

/// Servers that are asked, and addresses of each.
const SERVERS_MAX: usize = 4;
/// Time that servers may take to be found and to answer before nobody waits for them.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What the caller has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Dial there, and say how it ended.
    Path(SocketAddr),
    /// This machine's addresses are known, as far as anybody answers in time.
    Addresses,
}

/// A search for one machine.
pub(crate) struct Search {
    beside: Beside,
    knocks: KnockKey,
    meeting: Meeting,
    stun: Stun,
    servers: mpsc::Receiver<SocketAddr>,
    port: u16,
    ready: bool,
    gathered: bool,
    gather_until: Timestamp,
    begun: Timestamp,
}

impl Search {
    /// A search through the socket at `port` to which `beside` belongs. `servers` are `HOST:PORT` of STUN servers. Must be
    /// called on a tokio runtime.
    pub(crate) fn new(
        beside: Beside,
        port: u16,
        knocks: KnockKey,
        role: Role,
        candidates: &[Candidate],
        servers: &[String],
    ) -> Self {
        let now = clock::now();
        let (found, receiver) = mpsc::channel(2 * SERVERS_MAX);
        for name in servers.iter().take(SERVERS_MAX) {
            let (name, found) = (name.clone(), found.clone());
            tokio::spawn(async move {
                let addresses: Vec<_> = match tokio::net::lookup_host(&name).await {
                    Ok(addresses) => addresses.collect(),
                    Err(error) => return tracing::debug!("{name}: {error}"),
                };
                // One of each family tells all that there is to learn.
                let first = |of: fn(&SocketAddr) -> bool| addresses.iter().copied().find(of);
                for address in [first(SocketAddr::is_ipv4), first(SocketAddr::is_ipv6)].into_iter().flatten() {
                    let _ = found.send(address).await;
                }
            });
        }
        Self {
            beside,
            knocks,
            meeting: Meeting::new(role, candidates, now),
            stun: Stun::default(),
            servers: receiver,
            port,
            ready: false,
            gathered: false,
            gather_until: now + if servers.is_empty() { Duration::ZERO } else { PATIENCE },
            begun: now,
        }
    }

    /// This machine's addresses as known now.
    pub(crate) fn addresses(&self) -> Vec<Candidate> {
        let local = addresses::local(self.port, self.beside.reaches((std::net::Ipv6Addr::LOCALHOST, 1).into()));
        merge(&[&local, &self.stun.seen()])
    }

    /// Returns what is known now of this machine's way outside.
    pub(crate) fn outside(&self) -> Outside {
        let local = addresses::local(self.port, self.beside.reaches((std::net::Ipv6Addr::LOCALHOST, 1).into()));
        Outside::of(&local, &self.stun.answers())
    }

    /// Where else the other machine may be.
    pub(crate) fn add(&mut self, candidates: &[Candidate]) {
        self.meeting.add(candidates, clock::now());
    }

    /// Begins anew: the connection has ended.
    pub(crate) fn restart(&mut self) {
        self.beside.forget();
        self.meeting.restart(clock::now());
    }

    /// During a call this side only answers.
    pub(crate) fn set_quiet(&mut self, quiet: bool) {
        self.meeting.set_quiet(quiet);
    }

    /// Dialling there has failed.
    pub(crate) fn dial_failed(&mut self, address: SocketAddr) {
        self.meeting.on_dial_failed(address, clock::now());
    }

    /// How the address is known.
    pub(crate) fn kind_of(&self, address: SocketAddr) -> Kind {
        self.meeting.kind_of(address).unwrap_or(Kind::Learned)
    }

    /// Goes on until there is something for the caller to do. Nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self) -> Result<Found, Failure> {
        if !self.ready {
            self.beside.writable().await;
            self.ready = true;
        }
        loop {
            let now = clock::now();
            while let Some((server, request)) = self.stun.poll(now) {
                self.beside.send(server, &request);
            }
            let answered = self.stun.is_complete() && self.servers.is_closed() && self.servers.is_empty();
            if !self.gathered && (now >= self.gather_until || answered && now > self.begun) {
                self.gathered = true;
                return Ok(Found::Addresses);
            }
            while let Some(step) = self.meeting.poll(now, u64::from_le_bytes(random()?)) {
                match step {
                    Step::Knock(to) if self.beside.reaches(to) => self.beside.send(to, &self.knocks.make()?),
                    Step::Knock(_) => {}
                    Step::Dial(address) => return Ok(Found::Path(address)),
                }
            }
            let gather = (!self.gathered).then_some(self.gather_until);
            let next = [self.stun.poll_timeout(), self.meeting.poll_timeout(), gather].into_iter().flatten().min();
            // A deadline that has passed comes again with a moment's pause, so that nobody turns in a circle.
            let next = next.map(|next| next.max(now + Duration::from_millis(1)));
            tokio::select! {
                aside = self.beside.receive() => self.on_aside(&aside),
                Some(server) = self.servers.recv() => {
                    if self.beside.reaches(server) {
                        self.beside.expect_from(server);
                        self.stun.add(server, clock::now());
                    }
                }
                () = wait(next) => {}
            }
        }
    }

    fn on_aside(&mut self, aside: &Aside) {
        match aside.bytes.first() {
            Some(&KNOCK) if self.knocks.is_of_peer(&aside.bytes) => self.meeting.on_knock(aside.from, clock::now()),
            Some(&KNOCK) => {}
            _ => self.stun.on_message(aside.from, &aside.bytes),
        }
    }
}

async fn wait(until: Option<Timestamp>) {
    match until {
        Some(until) => tokio::time::sleep_until(clock::to_tokio(until)).await,
        None => std::future::pending().await,
    }
}
