//! `invite` and `join`: two machines that have never met remember each other's keys and addresses.
//!
//! Whoever invites takes any key on this endpoint, which carries no media, and remembers it only after a proof of the
//! ticket's secret; once, and until the ticket expires.

use std::io::{BufRead, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::config::{Controller, Peer, PublicKey, SharedConfig, Turn};
use common::reach::{
    Candidate, Introduced, Kind, Message, Outside, Purpose, Role, Route, TICKET_LIFE_S, Ticket, merge,
};
use common::units::Bitrate;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::peers::{NewPeer, PeersFile, name};
use super::proof::{Keys, KnockKey, Secret, random};
use super::search::{Asks, Found, Search};
use super::{open, port_of};
use crate::clock;
use crate::exit::Failure;
use crate::identity::Identity;
use crate::limited;
use crate::link::LiveRate;
use crate::link::gate::{Answer, Gate};
use crate::quic::{Beside, CloseCode, Endpoint, EndpointOptions, Introducing, QuicError};
use crate::tls::Protocol;

/// Ports of calls by name: where systems take no ports by themselves, so that the port is free next time.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Ports that are tried.
const PORT_TRIES: usize = 20;
/// Time for which `join` tries before it prints an answer.
const ALONE: Duration = Duration::from_secs(3);
/// Handshakes under way at once.
const GUESTS_MAX: usize = 16;

const WAITS: &str = "nobody has come in ten minutes, and the ticket has expired: try again with a new one";
const NOT_REACHED: &str = "the other machine could not be reached before the ticket expired: were both programs running, \
                           and did the answer get there? If so, one of the two routers must forward a UDP port, see \
                           config/README.md";

/// Prints a ticket and waits for a machine that has it: the command `invite`. `wanted`: the name for the other machine.
pub fn invite(config: &SharedConfig, file: &PeersFile, wanted: Option<&str>) -> Result<(), Failure> {
    let name = name(wanted)?;
    let identity = Identity::load_or_create(&crate::cli::identity_path(config)?)?;
    on_the_network(Inviting::run(config, file, name, &identity))
}

/// Finds the machine that made the ticket: the command `join`. `wanted`: the name for that machine.
pub fn join(config: &SharedConfig, file: &PeersFile, ticket: &str, wanted: Option<&str>) -> Result<(), Failure> {
    let ticket: Ticket = ticket.parse().map_err(Failure::usage)?;
    ticket.check(Purpose::Invitation, unix_s()).map_err(Failure::usage)?;
    let name = name(wanted)?;
    let identity = Identity::load_or_create(&crate::cli::identity_path(config)?)?;
    if ticket.key == identity.public_key() {
        return Err(Failure::usage("this machine made the ticket: type `join` on the other one"));
    }
    on_the_network(join_by(config, file, &ticket, name, &identity))
}

/// Finds out what this machine's way outside is like; takes up to two seconds. None: no server is to be asked.
pub fn outside(config: &SharedConfig) -> Result<Option<Outside>, Failure> {
    if config.stun.is_empty() {
        return Ok(None);
    }
    // Nobody is met, so any key does.
    let identity = Identity::generate()?;
    let key = identity.public_key();
    on_the_network(async {
        let (_endpoint, beside, port) = endpoint(config, &identity, Vec::new(), false)?;
        let knocks = KnockKey::of_peers(&key, &key, Role::Waits);
        let without_relay = Asks { turn: &Turn::default(), ..asks(config) };
        let mut search = Search::new(beside, port, knocks, Role::Waits, &[], without_relay);
        while search.next().await? != Found::Addresses {}
        Ok(Some(search.outside()))
    })
}

fn asks(config: &SharedConfig) -> Asks<'_> {
    Asks { stun: &config.stun, turn: &config.turn, open_port: config.open_port }
}

fn on_the_network<T>(task: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::network(format!("the network cannot be used: {error}")))?;
    let result = runtime.block_on(task);
    runtime.shutdown_background();
    result
}

/// Seconds since 1970 on this machine's clock.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Opens a socket at a port that a later call can use again.
fn endpoint(
    config: &SharedConfig,
    identity: &Identity,
    peers: Vec<Peer>,
    listens: bool,
) -> Result<(Endpoint, Beside, u16), Failure> {
    let options = EndpointOptions {
        key: identity.certified_key()?,
        own: identity.public_key(),
        peers,
        socket_buffer_bytes: 1 << 18,
        gso: config.gso,
        controller: Controller::default(),
        rate: LiveRate::new(Bitrate::from_bps(0)),
        frame_bytes: 0,
        protocol: Protocol::Introduction,
    };
    let mut last = Failure::network("there is no free UDP port");
    for _ in 0..PORT_TRIES {
        let port = PORTS.start + u16::from_le_bytes(random()?) % (PORTS.end - PORTS.start);
        match open(&options, port, listens) {
            Ok((endpoint, beside)) => {
                let port = port_of(&endpoint)?;
                return Ok((endpoint, beside, port));
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// The side that invites.
struct Inviting {
    secret: Secret,
    own: PublicKey,
    /// Key of the guest that has proved the secret: nobody else can any more.
    guest: Mutex<Option<PublicKey>>,
}

impl Inviting {
    async fn run(config: &SharedConfig, file: &PeersFile, name: &str, identity: &Identity) -> Result<(), Failure> {
        let secret = random()?;
        let expires = unix_s() + TICKET_LIFE_S;
        let end = tokio::time::Instant::now() + Duration::from_secs(TICKET_LIFE_S);
        let (endpoint, beside, port) = endpoint(config, identity, Vec::new(), true)?;
        let inviting =
            Arc::new(Self { secret: Secret::new(&secret), own: identity.public_key(), guest: Mutex::new(None) });
        let knocks = inviting.secret.knocks(Role::Waits);
        let mut search = Search::new(beside, port, knocks, Role::Waits, &[], asks(config));
        let mut answers = lines();
        let mut guests = JoinSet::new();
        let mut gate = Gate::default();
        loop {
            tokio::select! {
                found = search.next() => if found? == Found::Addresses {
                    let candidates = search.addresses();
                    let own = inviting.own;
                    let ticket = Ticket { purpose: Purpose::Invitation, key: own, proof: secret, expires, candidates };
                    show_invitation(&ticket, config);
                },
                Some(incoming) = endpoint.incoming() => {
                    let (address, proved) = (incoming.address(), incoming.address_is_validated());
                    if !search.has_knocked(address) {
                        // Whoever has the ticket knocks first, and sends again what is lost: strangers get no answer.
                        incoming.ignore();
                        continue;
                    }
                    match gate.knock(address.ip(), proved, false, clock::now()) {
                        Answer::Admit(place) if guests.len() < GUESTS_MAX => {
                            let (inviting, told) = (Arc::clone(&inviting), search.addresses());
                            guests.spawn(async move {
                                let introduced = match incoming.accept_to_introduce().await {
                                    Ok(guest) => inviting.receive(guest, told).await,
                                    Err(error) => Err(error.to_string()),
                                };
                                (place, address, introduced)
                            });
                        }
                        Answer::Admit(place) => {
                            gate.ended(place, true, clock::now());
                            incoming.refuse();
                        }
                        Answer::Prove => incoming.demand_address_validation(),
                        Answer::Refuse => incoming.refuse(),
                    }
                }
                Some(Ok((place, address, introduced))) = guests.join_next() => {
                    gate.ended(place, introduced.is_ok(), clock::now());
                    match introduced {
                        Ok((guest, candidates)) => {
                            let peer = NewPeer { key: guest.key(), candidates, port };
                            let stored = file.remember(name, &peer);
                            let (code, word) = match &stored {
                                Ok(_) => (CloseCode::Done, "introduced"),
                                Err(_) => (CloseCode::Protocol, "the other side could not write its file"),
                            };
                            guest.close(code, word).await;
                            endpoint.close().await;
                            show_result(&stored?, file);
                            return Ok(());
                        }
                        Err(error) => limited!(warn, "{address} was not introduced: {error}"),
                    }
                }
                Some(line) = answers.recv() => match inviting.read_answer(&line) {
                    Ok(candidates) => {
                        eprintln!("the answer is right; now both sides knock at each other's routers");
                        search.add(&candidates);
                    }
                    Err(message) => eprintln!("{message}"),
                },
                () = tokio::time::sleep_until(end) => return Err(Failure::network(WAITS)),
            }
        }
    }

    /// Exchanges introductions with a guest; then it is ready to be remembered.
    async fn receive(
        &self,
        mut guest: Introducing,
        told: Vec<Candidate>,
    ) -> Result<(Introducing, Vec<Candidate>), String> {
        let outcome = self.exchange(&mut guest, told).await;
        match outcome {
            Ok(candidates) => Ok((guest, candidates)),
            Err(message) => {
                guest.close(CloseCode::Protocol, &message).await;
                Err(message)
            }
        }
    }

    async fn exchange(&self, guest: &mut Introducing, told: Vec<Candidate>) -> Result<Vec<Candidate>, String> {
        let said = |error: QuicError| error.to_string();
        let keys = Keys { inviting: self.own, joining: guest.key() };
        let shared = guest.shared().map_err(said)?;
        let Message::Introduced(Introduced { mac, candidates }) = guest.hear().await.map_err(said)? else {
            return Err("it did not introduce itself".to_owned());
        };
        if guest.key() == self.own || !self.secret.proves(&mac, Role::Dials, &keys, &shared) {
            return Err("it does not know the ticket's secret".to_owned());
        }
        {
            let mut first = self.guest.lock().unwrap_or_else(PoisonError::into_inner);
            if *first.get_or_insert(guest.key()) != guest.key() {
                return Err("the ticket has been used".to_owned());
            }
        }
        let mac = self.secret.prove(Role::Waits, &keys, &shared);
        let introduced = Introduced { mac, candidates: told };
        guest.say(&Message::Introduced(introduced)).await.map_err(said)?;
        match guest.hear().await.map_err(said)? {
            Message::Remembered => Ok(with_observed(guest.route(), &candidates)),
            Message::Introduced(_) => Err("it introduced itself twice".to_owned()),
        }
    }

    fn read_answer(&self, line: &str) -> Result<Vec<Candidate>, String> {
        let answer: Ticket = line.parse().map_err(|error| format!("{error}"))?;
        answer.check(Purpose::Answer, unix_s()).map_err(|error| error.to_string())?;
        if self.secret.seal(&answer) != answer.proof {
            return Err("this answer is to another ticket: each `invite` makes a new one".to_owned());
        }
        Ok(answer.candidates)
    }
}

async fn join_by(
    config: &SharedConfig,
    file: &PeersFile,
    ticket: &Ticket,
    name: &str,
    identity: &Identity,
) -> Result<(), Failure> {
    let end =
        tokio::time::Instant::now() + Duration::from_secs(ticket.expires.saturating_sub(unix_s()).min(TICKET_LIFE_S));
    let secret = Secret::new(&ticket.proof);
    let host = Peer { name: name.to_owned(), key: ticket.key };
    let (endpoint, beside, port) = endpoint(config, identity, vec![host], false)?;
    let knocks = secret.knocks(Role::Dials);
    let mut search = Search::new(beside, port, knocks, Role::Dials, &ticket.candidates, asks(config));
    let answer_at = tokio::time::Instant::now() + ALONE;
    let (mut gathered, mut answered) = (false, false);
    let mut dials = JoinSet::new();
    eprintln!("looking for the other machine");
    loop {
        tokio::select! {
            found = search.next() => match found? {
                Found::Addresses => gathered = true,
                Found::Path(address) => {
                    let endpoint = endpoint.clone();
                    dials.spawn(async move { (address, endpoint.dial_to_introduce(address).await) });
                }
            },
            Some(Ok((address, dialled))) = dials.join_next() => match dialled {
                Ok(host) => {
                    let way = search.kind_of(address).name();
                    match introduce_myself(host, &secret, ticket.key, identity, search.addresses()).await {
                        Ok((host, candidates)) => {
                            eprintln!("found it {way}");
                            let stored = file.remember(name, &NewPeer { key: ticket.key, candidates, port });
                            let result = match stored {
                                Ok(stored) => part(host).await.map(|()| stored),
                                Err(failure) => {
                                    host.close(CloseCode::Protocol, "the guest could not write its file").await;
                                    Err(failure)
                                }
                            };
                            endpoint.close().await;
                            show_result(&result?, file);
                            return Ok(());
                        }
                        Err(error @ QuicError::Closed(_)) => {
                            return Err(Failure::network(format!("the other machine did not accept the ticket: {error}")));
                        }
                        Err(error) => {
                            limited!(warn, "{address}: {error}");
                            search.dial_failed(address);
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!("{address}: {error}");
                    search.dial_failed(address);
                }
            },
            () = tokio::time::sleep_until(answer_at), if gathered && !answered => {
                answered = true;
                let own = identity.public_key();
                let candidates = search.addresses();
                let expires = ticket.expires;
                let mut answer = Ticket { purpose: Purpose::Answer, key: own, proof: [0; 16], expires, candidates };
                answer.proof = secret.seal(&answer);
                show_answer(&answer);
            }
            () = tokio::time::sleep_until(end) => return Err(Failure::network(NOT_REACHED)),
        }
    }
}

/// Exchanges introductions, as a guest, before it remembers its host.
async fn introduce_myself(
    mut host: Introducing,
    secret: &Secret,
    inviting: PublicKey,
    identity: &Identity,
    told: Vec<Candidate>,
) -> Result<(Introducing, Vec<Candidate>), QuicError> {
    let keys = Keys { inviting, joining: identity.public_key() };
    let shared = host.shared()?;
    let mac = secret.prove(Role::Dials, &keys, &shared);
    host.say(&Message::Introduced(Introduced { mac, candidates: told })).await?;
    let Message::Introduced(Introduced { mac, candidates }) = host.hear().await? else {
        return Err(QuicError::Other("the other machine did not introduce itself".to_owned()));
    };
    if host.key() != inviting || !secret.proves(&mac, Role::Waits, &keys, &shared) {
        return Err(QuicError::Other("the machine there does not know the ticket's secret".to_owned()));
    }
    let candidates = with_observed(host.route(), &candidates);
    Ok((host, candidates))
}

/// Tells the host that it is remembered, and waits until it has remembered this machine.
async fn part(mut host: Introducing) -> Result<(), Failure> {
    if host.say(&Message::Remembered).await.is_ok() && host.is_done().await {
        return Ok(());
    }
    Err(Failure::network(
        "the other machine is remembered here, but may not have remembered this one: if it still waits, type `join` again, \
         or else `invite` and `join` anew",
    ))
}

/// Where a machine may be in later calls: what it says of itself, and where it was found. Its place at a relay lasts as long
/// as its program.
fn with_observed(found: Route, told: &[Candidate]) -> Vec<Candidate> {
    let (relays, told): (Vec<Candidate>, Vec<_>) =
        told.iter().copied().partition(|candidate| candidate.kind == Kind::Relayed);
    let is_direct = !found.relayed && relays.iter().all(|relay| relay.address != found.to);
    let observed = Candidate::new(Kind::Seen, found.to).filter(|_| is_direct);
    merge(&[&told, observed.as_slice()])
}

/// Lines from standard input, without an end of the program for the end of the input.
fn lines() -> mpsc::Receiver<String> {
    let (give, lines) = mpsc::channel(4);
    // Without such a thread there are no answers.
    let _ = std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if !line.trim().is_empty() && give.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn show_invitation(ticket: &Ticket, config: &SharedConfig) {
    let has_outer = ticket.candidates.iter().any(|candidate| candidate.kind >= Kind::Mapped);
    if !has_outer && !config.stun.is_empty() {
        eprintln!("no STUN server answers: outside this house the ticket works only if nothing is in between");
    }
    eprintln!("Send this line to the other musician, who types `receiver join` or `sender join` and the line:\n");
    println!("{ticket}");
    if std::io::stdout().is_terminal()
        && let Ok(code) = QrCode::new(ticket.to_string())
    {
        println!("\n{}", code.render::<Dense1x2>().build());
    }
    eprintln!(
        "\nIt works once, for ten minutes, while this program runs. If the other side prints an answer, type it here and \
         press Enter."
    );
}

fn show_answer(answer: &Ticket) {
    eprintln!(
        "the other machine cannot be reached directly. Send this line back; it belongs where the ticket was made, while both \
         programs run:\n"
    );
    println!("{answer}");
}

fn show_result(name: &str, file: &PeersFile) {
    let path = file.path().display();
    eprintln!("{name} is remembered in {path}; `sender call {name}` calls");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::net::Ipv4Addr;

    use super::*;

    fn options(identity: &Identity, peers: Vec<Peer>) -> EndpointOptions {
        EndpointOptions {
            key: identity.certified_key().unwrap(),
            own: identity.public_key(),
            peers,
            socket_buffer_bytes: 1 << 16,
            gso: true,
            controller: Controller::default(),
            rate: LiveRate::new(Bitrate::from_bps(0)),
            frame_bytes: 0,
            protocol: Protocol::Introduction,
        }
    }

    /// Returns the outcomes of guests that come one after the other, each with a secret.
    fn guests(
        secrets: &[(&Identity, [u8; 16])],
        host: &Identity,
    ) -> Vec<(Result<PublicKey, String>, Result<(), QuicError>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let inviting = Inviting { secret: Secret::new(&[1; 16]), own: host.public_key(), guest: Mutex::new(None) };
            let here = (Ipv4Addr::LOCALHOST, 0).into();
            let listening = Endpoint::bind(&options(host, Vec::new()), here, true).unwrap();
            let address = listening.local_addr().unwrap();
            let mut outcomes = Vec::new();
            for (guest, secret) in secrets {
                let peer = Peer { name: "host".to_owned(), key: host.public_key() };
                let dialling = Endpoint::bind(&options(guest, vec![peer]), here, false).unwrap();
                let accept = async {
                    let guest = listening.incoming().await.unwrap().accept_to_introduce().await.unwrap();
                    inviting.receive(guest, Vec::new()).await.map(|(guest, _)| guest.key())
                };
                let dial = async {
                    let dialled = dialling.dial_to_introduce(address).await?;
                    let secret = Secret::new(secret);
                    let known = introduce_myself(dialled, &secret, host.public_key(), guest, Vec::new()).await;
                    let (mut known, candidates) = known?;
                    assert_eq!(candidates.len(), 1, "where it was found");
                    known.say(&Message::Remembered).await?;
                    // Alive until the host has heard it.
                    let _ = known.is_done().await;
                    Ok(())
                };
                outcomes.push(tokio::join!(accept, dial));
            }
            outcomes
        })
    }

    #[test]
    fn a_ticket_is_good_for_one_machine_that_knows_its_secret() {
        let [host, one, other] = std::array::from_fn(|_| Identity::generate().unwrap());
        let secret = [1; 16];
        let outcomes = guests(&[(&other, [2; 16]), (&one, secret), (&other, secret), (&one, secret)], &host);
        let introduced: Vec<_> = outcomes.iter().map(|(introduced, _)| introduced.clone()).collect();
        let key = one.public_key();
        let refused = |why: &str| Err(why.to_owned());
        // One that lost the last word of its introduction may try again.
        assert_eq!(
            introduced,
            [refused("it does not know the ticket's secret"), Ok(key), refused("the ticket has been used"), Ok(key)]
        );
        assert_eq!(outcomes[0].1, Err(QuicError::Closed("it does not know the ticket's secret".to_owned())));
        assert_eq!(outcomes[2].1, Err(QuicError::Closed("the ticket has been used".to_owned())));
    }

    #[test]
    fn an_answer_belongs_to_its_ticket() {
        let [host, guest] = std::array::from_fn(|_| Identity::generate().unwrap());
        let inviting = Inviting { secret: Secret::new(&[1; 16]), own: host.public_key(), guest: Mutex::new(None) };
        let candidates = vec![Candidate::new(Kind::Seen, "203.0.113.5:20000".parse().unwrap()).unwrap()];
        let key = guest.public_key();
        let mut answer = Ticket {
            purpose: Purpose::Answer,
            key,
            proof: [0; 16],
            expires: unix_s() + 100,
            candidates: candidates.clone(),
        };
        assert!(inviting.read_answer(&answer.to_string()).unwrap_err().contains("another ticket"));
        answer.proof = Secret::new(&[1; 16]).seal(&answer);
        assert_eq!(inviting.read_answer(&answer.to_string()), Ok(candidates));
        answer.expires = unix_s();
        answer.proof = Secret::new(&[1; 16]).seal(&answer);
        assert!(inviting.read_answer(&answer.to_string()).unwrap_err().contains("expired"));
    }
}
