//! Decisions when to knock where, and when to dial.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::allowance::{Allowance, Origin};
use super::candidate::{ADDRESSES_MAX, Candidate, Kind, usable};
use super::knock::{KNOCK_BYTES, Knock};
use super::scope::Scope;
use super::tellings::Tellings;
use crate::units::Timestamp;

/// Time between two knocks at one address, while the other is expected at any moment, and at first, when most meet.
const KNOCK_MIN: Duration = Duration::from_millis(10);
const KNOCK_MAX: Duration = Duration::from_millis(200);
const KNOCK_MAX_AT_FIRST: Duration = Duration::from_millis(90);
/// Time for which that is so.
const AT_FIRST: Duration = Duration::from_secs(4);
/// Time likewise after [`EXPECTED`]: short enough that no router forgets, and that the other side is heard at once.
const KNOCK_LATER: Duration = Duration::from_secs(1);
/// Time for which the other is expected at any moment.
const EXPECTED: Duration = Duration::from_secs(30);
/// From the last knock in a call to the next that nobody has asked for.
const FOR_EVER: Duration = Duration::from_secs(1 << 32);
/// Time for which a knock shows that a path works.
const FRESH: Duration = Duration::from_secs(2);
/// Time for which a nonce that was returned shows that the other machine is there, so that what goes there needs no allowance.
const PROVED: Duration = Duration::from_secs(30);
/// Time after its last knock for which an address that nobody has told is remembered.
const LEARNED: Duration = Duration::from_secs(30);
/// Time after which there would be a connection over a path on which knocks come, were it open in both directions.
const ONE_WAY: Duration = Duration::from_millis(2_500);
/// Wait for a better path after the first that works.
const SETTLE: Duration = Duration::from_millis(40);
/// Time likewise where the first path that works goes through a relay: long enough to find a direct one.
const RELAY_SETTLE: Duration = Duration::from_secs(1);
/// Time before the other's place at a relay is searched for.
const SEEK_AFTER: Duration = Duration::from_millis(500);
/// From one place that is tried to the next, while the other is expected at any moment, and later.
const SEEK: Duration = Duration::from_millis(4);
const SEEK_LATER: Duration = Duration::from_millis(50);
/// Most places at a relay that are tried.
pub const PLACES_MAX: u16 = 64;
/// Time before an address is dialled again where dialling has failed.
const AGAIN: Duration = Duration::from_millis(200);
/// Addresses from which knocks came that nobody has told. A router that shows each destination another port makes as many as
/// this machine has addresses, for each of the other's two ports; were they to push each other out, none would settle.
const LEARNED_MAX: usize = 2 * ADDRESSES_MAX;
/// Addresses that were told: in a ticket and in an answer.
const TOLD_MAX: usize = 2 * ADDRESSES_MAX;

/// Roles of the two machines: one dials, so that there is one handshake and not two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This side dials.
    Dials,
    /// The other does.
    Waits,
}

/// The begin of a way. The order is that of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// The port that the other machine has been told of, or has stored.
    Port,
    /// Another port of this machine, opened since that one leads nowhere ([`super::Rounds`]).
    OtherPort,
    /// This machine's relay.
    Relay,
}

/// A way to the other machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// Address to knock at.
    pub to: SocketAddr,
    /// Its begin.
    pub via: Via,
}

impl Route {
    /// Returns true if it goes through this machine's relay.
    pub fn is_relayed(&self) -> bool {
        self.via == Via::Relay
    }
}

impl From<SocketAddr> for Route {
    fn from(to: SocketAddr) -> Self {
        Self { to, via: Via::Port }
    }
}

/// Something to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a knock that way, with the nonces that [`Meeting::nonces`] returns.
    Knock(Route),
    /// Dial that way, which is open in both directions, and say how it ended.
    Dial(Route),
}

/// A search for a path to one machine. It knows no socket and no clock, and has no more to do once there is a connection;
/// after the end of that, [`Meeting::restart`] begins anew.
#[derive(Clone, Debug)]
pub struct Meeting {
    role: Role,
    paths: Vec<Path>,
    since: Timestamp,
    dialling: Option<Route>,
    quiet: bool,
    relay: Option<Relay>,
    /// True if knocks leave from another port, too.
    has_other_port: bool,
    /// Ports of relays.
    places: Option<RangeInclusive<u16>>,
    notes: Tellings,
    house: Tellings,
}

/// This machine's relay. Where the other has none of its own that was told, it may be at the same one.
#[derive(Clone, Debug)]
struct Relay {
    at: IpAddr,
    /// The ports that the relay gives out, and which of them is tried next; each directly and through the relay.
    ports: RangeInclusive<u16>,
    turn: u32,
    next: Timestamp,
}

impl Relay {
    fn places(&self) -> u32 {
        u32::from(self.ports.end().saturating_sub(*self.ports.start()).min(PLACES_MAX - 1)) + 1
    }

    /// Returns the next place to try.
    fn seek(&mut self) -> Route {
        self.turn = (self.turn + 1) % (2 * self.places());
        let port = self.ports.start().saturating_add((self.turn / 2) as u16);
        let via = if self.turn % 2 == 1 { Via::Relay } else { Via::Port };
        Route { to: SocketAddr::new(self.at, port), via }
    }
}

/// Origin of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// It was told before.
    Told,
    /// By the newest news from there.
    News(News),
    /// A knock came from there; nobody has told it.
    Knock,
}

impl Source {
    /// Returns the origin of its addresses, as the allowance counts.
    const fn origin(self) -> Origin {
        match self {
            Self::Told => Origin::User,
            Self::News(News::Note) => Origin::Note,
            Self::News(News::House) => Origin::House,
            Self::Knock => Origin::Packet,
        }
    }
}

/// Source of news of the other machine's place. Each newer one of the same takes the place of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// A note at a mailbox server.
    Note,
    /// Somebody in the same house, who may be anybody.
    House,
}

#[derive(Clone, Copy, Debug)]
struct Path {
    route: Route,
    kind: Kind,
    source: Source,
    /// Time of the next knock, and of the last.
    next: Timestamp,
    knocked: Option<Timestamp>,
    /// Times of knocks from there: the first of late, and the last.
    heard: Option<(Timestamp, Timestamp)>,
    /// The nonce that knocks on this way bear, made with the first; 0: none has left yet.
    nonce: u64,
    /// The other side's nonce that came last; 0: none has.
    echo: u64,
    /// Time at which the nonce was last returned.
    proved: Option<Timestamp>,
    /// Time from which on it is forgotten, if nobody has told it.
    lapses: Timestamp,
    /// Not dialled before.
    dial_from: Timestamp,
    /// Times that dialling has failed.
    failed: u32,
}

impl Path {
    fn new(route: Route, kind: Kind, now: Timestamp) -> Self {
        let kind = if route.is_relayed() { Kind::Relayed } else { kind };
        Self {
            route,
            kind,
            source: Source::Told,
            next: now,
            knocked: None,
            heard: None,
            nonce: 0,
            echo: 0,
            proved: None,
            lapses: now + LEARNED,
            dial_from: now,
            failed: 0,
        }
    }

    /// Returns the wait for a better path after this one has first worked.
    fn settle(&self) -> Duration {
        if self.kind == Kind::Relayed { RELAY_SETTLE } else { SETTLE }
    }

    fn works(&self, now: Timestamp) -> bool {
        self.heard.is_some_and(|(_, last)| now.since(last) < FRESH)
    }

    /// Returns true if it is open in both directions: the other side goes on returning this side's nonce.
    fn is_two_way(&self, now: Timestamp) -> bool {
        self.works(now) && self.proved.is_some_and(|proved| now.since(proved) < FRESH)
    }

    /// Returns true if the other machine was at its end not long ago.
    fn is_proved(&self, now: Timestamp) -> bool {
        self.proved.is_some_and(|proved| now.since(proved) < PROVED)
    }

    /// Returns the time of the next knock; none: there is none before one comes from there.
    fn due(&self, allowance: &Allowance, now: Timestamp) -> Option<Timestamp> {
        if self.is_proved(now) {
            return Some(self.next);
        }
        let opens = allowance.opens_at(self.source.origin(), self.route.to, KNOCK_BYTES, now)?;
        Some(self.next.max(opens))
    }
}

impl Meeting {
    /// Creates a search that begins `now`.
    pub fn new(role: Role, candidates: &[Candidate], now: Timestamp) -> Self {
        let mut meeting = Self {
            role,
            paths: Vec::new(),
            since: now,
            dialling: None,
            quiet: false,
            relay: None,
            has_other_port: false,
            places: None,
            notes: Tellings::default(),
            house: Tellings::default(),
        };
        meeting.add(candidates, now);
        meeting
    }

    /// Adds further addresses. Those beyond a bound are ignored.
    pub fn add(&mut self, candidates: &[Candidate], now: Timestamp) {
        self.add_from(Source::Told, candidates, now);
    }

    /// Takes the addresses in the newest of such news of the other machine, in the place of those before, soon. Those that may
    /// mean something in this house, to whoever is not in it, are left out.
    pub fn set_news(&mut self, news: News, candidates: &[Candidate], now: Timestamp) {
        let least = match news {
            News::Note => Scope::World,
            News::House => Scope::House,
        };
        let usable = |candidate: &&Candidate| Scope::of(candidate.address.ip()) >= least;
        let candidates: Vec<_> = candidates.iter().filter(usable).take(ADDRESSES_MAX).copied().collect();
        match news {
            News::Note => self.notes.tell(&candidates),
            News::House => self.house.tell(&candidates),
        }
        self.take_news(now);
    }

    fn take_news(&mut self, now: Timestamp) {
        let news = [(News::Note, self.notes.take(now)), (News::House, self.house.take(now))];
        for (news, candidates) in news {
            let Some(candidates) = candidates else { continue };
            let (dialling, source) = (self.dialling, Source::News(news));
            self.paths.retain(|path| {
                let is_told = candidates.iter().any(|candidate| candidate.address == path.route.to);
                path.source != source || is_told || path.works(now) || dialling == Some(path.route)
            });
            self.add_from(source, &candidates, now);
        }
    }

    fn add_from(&mut self, source: Source, candidates: &[Candidate], now: Timestamp) {
        for &candidate in candidates {
            let route = Route::from(candidate.address);
            let alike = self.count(|path| path.source == source && path.route.via == Via::Port);
            match self.paths.iter_mut().find(|path| path.route == route) {
                Some(path) => path.kind = path.kind.min(candidate.kind),
                None if alike < TOLD_MAX => {
                    self.paths.push(Path { source, ..Path::new(route, candidate.kind, now) });
                }
                None => {}
            }
        }
        self.add_relayed(now);
        self.add_from_other_port(now);
        self.since = now;
    }

    /// Sets the ports at which relays pass packets on: a knock from one of them that nobody has told has come through a relay,
    /// also while this machine's own has not answered yet.
    pub fn expect_relays(&mut self, ports: RangeInclusive<u16>) {
        self.places = Some(ports);
    }

    /// Sets this machine's relay: packets through it leave at the address `at`. The other machine may be at one of its
    /// `ports`, of which [`PLACES_MAX`] are tried where no path works.
    pub fn set_relay(&mut self, at: IpAddr, ports: RangeInclusive<u16>, now: Timestamp) {
        self.relay = Some(Relay { at, ports, turn: 0, next: now.max(self.since + SEEK_AFTER) });
        for path in &mut self.paths {
            if path.route.to.ip() == at {
                path.kind = Kind::Relayed;
            }
        }
        self.add_relayed(now);
    }

    /// Removes this machine's relay.
    pub fn remove_relay(&mut self) {
        self.relay = None;
        self.paths.retain(|path| !path.route.is_relayed() || self.dialling == Some(path.route));
    }

    /// Knocks from another port of this machine as well from now on, in the place of such a one before.
    pub fn set_other_port(&mut self, now: Timestamp) {
        self.has_other_port = true;
        self.paths.retain(|path| path.route.via != Via::OtherPort);
        if self.dialling.is_some_and(|route| route.via == Via::OtherPort) {
            self.dialling = None;
        }
        self.add_from_other_port(now);
    }

    /// Adds the told addresses once more, from the other port.
    fn add_from_other_port(&mut self, now: Timestamp) {
        if !self.has_other_port {
            return;
        }
        let is_told = |path: &&Path| path.route.via == Via::Port && path.source != Source::Knock;
        let told: Vec<_> =
            self.paths.iter().filter(is_told).map(|path| (path.route.to, path.kind, path.source)).collect();
        for (to, kind, source) in told {
            let route = Route { to, via: Via::OtherPort };
            let most = if source == Source::Told { TOLD_MAX } else { ADDRESSES_MAX };
            let alike = self.count(|path| path.route.via == Via::OtherPort && path.source == source);
            if alike < most && self.kind_of(route).is_none() {
                self.paths.push(Path { source, ..Path::new(route, kind, now) });
            }
        }
    }

    /// Returns true if a connection without a relay may be about to come: there is a way on which knocks come, though not for
    /// so long that it must be open in that direction only.
    pub fn is_near(&self, now: Timestamp) -> bool {
        let is_dialled = |path: &Path| self.dialling == Some(path.route) && path.route.via == Via::OtherPort;
        let is_old = |path: &Path| path.heard.is_some_and(|(first, _)| now.since(first) >= ONE_WAY);
        let is_new = |path: &Path| path.works(now) && !self.alike(path).any(|other| other.works(now) && is_old(other));
        self.paths.iter().any(|path| path.kind != Kind::Relayed && (is_new(path) || is_dialled(path)))
    }

    /// Adds the told addresses once more, through the relay, unless they mean something in the other's house only.
    fn add_relayed(&mut self, now: Timestamp) {
        let Some(relay) = &self.relay else { return };
        let is_there = |path: &&Path| {
            let told = Candidate { kind: path.kind, address: path.route.to };
            let is_in_house = told.is_in_house() || path.source == Source::News(News::House);
            path.route.via == Via::Port && !is_in_house && path.route.to.is_ipv4() == relay.at.is_ipv4()
        };
        let there: Vec<_> = self.paths.iter().filter(is_there).map(|path| (path.route.to, path.source)).collect();
        for (to, source) in there {
            let route = Route { to, via: Via::Relay };
            let (source, most) = match source {
                Source::News(_) => (source, ADDRESSES_MAX),
                Source::Told | Source::Knock => (Source::Told, TOLD_MAX),
            };
            let alike = self.count(|path| path.route.is_relayed() && path.source == source);
            if alike < most && self.kind_of(route).is_none() {
                self.paths.push(Path { source, ..Path::new(route, Kind::Relayed, now) });
            }
        }
    }

    /// Begins anew: the connection has ended.
    pub fn restart(&mut self, now: Timestamp) {
        self.since = now;
        self.dialling = None;
        for path in &mut self.paths {
            let Path { source, proved, lapses, .. } = *path;
            *path = Path { source, proved, lapses, ..Path::new(path.route, path.kind, now) };
        }
        if let Some(relay) = &mut self.relay {
            relay.next = now + SEEK_AFTER;
        }
    }

    /// During a call this side answers knocks and knocks nowhere else: the other side may come anew over another path.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Returns what a knock that way bears: this side's nonce, and the other's that is returned.
    pub fn nonces(&self, route: Route) -> [u64; 2] {
        self.paths.iter().find(|path| path.route == route).map_or([0; 2], |path| [path.nonce, path.echo])
    }

    /// Takes a knock of the other machine that came that way. `is_new`: whether it is of now and has not come before. One that is
    /// not is believed if it returns a nonce of this side's, as where the two clocks differ; else only its own nonce is returned,
    /// with a knock that leaves in any case.
    pub fn on_knock(&mut self, from: Route, knock: &Knock, is_new: bool, allowance: &mut Allowance, now: Timestamp) {
        let known = self.paths.iter().find(|path| path.route == from);
        let proves = known.is_some_and(|path| path.nonce != 0 && path.nonce == knock.echo);
        if !is_new && !proves {
            if let Some(path) = self.paths.iter_mut().find(|path| path.route == from && !path.works(now)) {
                path.echo = knock.nonce;
            }
            return;
        }
        if known.is_none() && !self.learn(from, now) {
            return;
        }
        allowance.on_heard(from.to, KNOCK_BYTES, now);
        let Some(path) = self.paths.iter_mut().find(|path| path.route == from) else { return };
        path.echo = knock.nonce;
        if proves {
            path.proved = Some(now);
        }
        path.lapses = now + LEARNED;
        let first = path.heard.filter(|(_, last)| now.since(*last) < FRESH).map_or(now, |(first, _)| first);
        path.heard = Some((first, now));
        // At once: the way to there may be open for the first time.
        path.next = path.next.min(path.knocked.map_or(now, |knocked| (knocked + KNOCK_MIN).max(now)));
    }

    /// Takes notice that the other machine has just answered on this way in a call.
    pub fn on_proved(&mut self, route: Route, kind: Kind, now: Timestamp) {
        if self.kind_of(route).is_none() && self.learn(route, now) {
            self.paths.iter_mut().filter(|path| path.route == route).for_each(|path| path.kind = kind);
        }
        if let Some(path) = self.paths.iter_mut().find(|path| path.route == route) {
            (path.proved, path.lapses) = (Some(now), now + LEARNED);
        }
    }

    /// Remembers a way that nobody has told; false if there is no place for it. What was proved gives way to nothing that is not.
    fn learn(&mut self, from: Route, now: Timestamp) -> bool {
        if !usable(from.to) {
            return false;
        }
        if self.count(|path| path.source == Source::Knock) >= LEARNED_MAX {
            let age = |path: &&(usize, &Path)| (path.1.is_proved(now), path.1.heard.map(|(_, last)| last));
            let learned: Vec<_> = self.paths.iter().enumerate().collect();
            let oldest = learned.iter().filter(|(_, path)| path.source == Source::Knock).min_by_key(age);
            let Some(&(oldest, path)) = oldest else { return false };
            if path.is_proved(now) || self.dialling == Some(path.route) {
                return false;
            }
            self.paths.remove(oldest);
        }
        let kind = if self.is_relay(from.to) { Kind::Relayed } else { Kind::Learned };
        self.paths.push(Path { source: Source::Knock, ..Path::new(from, kind, now) });
        true
    }

    /// Forgets what nobody has told and nobody is at any more.
    fn forget_learned(&mut self, now: Timestamp) {
        let dialling = self.dialling;
        self.paths.retain(|path| path.source != Source::Knock || path.lapses > now || dialling == Some(path.route));
    }

    /// Notes that dialling that way has failed.
    pub fn on_dial_failed(&mut self, route: Route, now: Timestamp) {
        if self.dialling == Some(route) {
            self.dialling = None;
        }
        if let Some(path) = self.paths.iter_mut().find(|path| path.route == route) {
            path.dial_from = now + AGAIN;
            path.failed = path.failed.saturating_add(1);
        }
    }

    /// Returns the next thing to do now; call it until there is none. `random` is any number, a new one for each call, that nobody
    /// can guess.
    pub fn poll(&mut self, now: Timestamp, random: u128, allowance: &mut Allowance) -> Option<Step> {
        self.take_news(now);
        self.forget_learned(now);
        if let Some(route) = self.to_dial(now) {
            self.dialling = Some(route);
            return Some(Step::Dial(route));
        }
        let expected = now.since(self.since) < EXPECTED;
        let knock_max = if now.since(self.since) < AT_FIRST { KNOCK_MAX_AT_FIRST } else { KNOCK_MAX };
        // The one that waits longest comes first: so that none starves where the allowance is short.
        let due = |path: &&mut Path| path.next <= now && path.due(allowance, now).is_some_and(|due| due <= now);
        if let Some(path) = self.paths.iter_mut().filter(due).min_by_key(|path| path.next) {
            let (nonce, random) = ((random >> 64) as u64, random as u64);
            let (least, span) = match (self.quiet, expected) {
                (true, _) => (FOR_EVER, 1),
                (false, true) => (KNOCK_MIN, (knock_max - KNOCK_MIN).as_micros() as u64),
                (false, false) => (KNOCK_LATER / 2, KNOCK_LATER.as_micros() as u64 / 2),
            };
            if path.nonce == 0 {
                path.nonce = nonce;
            }
            path.knocked = Some(now);
            path.next = now + least + Duration::from_micros(random % span);
            if path.is_proved(now) || allowance.take(path.source.origin(), path.route.to, KNOCK_BYTES, now) {
                return Some(Step::Knock(path.route));
            }
        }
        self.seek(expected, allowance, now)
    }

    /// Returns a knock at the next place of the relay, if it is time.
    fn seek(&mut self, expected: bool, allowance: &mut Allowance, now: Timestamp) -> Option<Step> {
        // Of a way that is open from there to here only, knocks come as well.
        let is_open = |path: &Path| {
            let is_new = path.heard.is_some_and(|(first, _)| now.since(first) < ONE_WAY);
            path.works(now) && (is_new || path.is_two_way(now))
        };
        let is_met = self.quiet || self.dialling.is_some() || self.paths.iter().any(is_open);
        let relay = self.relay.as_mut().filter(|relay| relay.next <= now)?;
        let pause = match (is_met, expected) {
            (true, _) => SEEK_AFTER,
            (false, true) => SEEK,
            (false, false) => SEEK_LATER,
        };
        relay.next = now + pause;
        if is_met {
            return None;
        }
        let place = relay.seek();
        allowance.take(Origin::Relay, place.to, KNOCK_BYTES, now).then_some(Step::Knock(place))
    }

    /// Returns the time to call [`Meeting::poll`] again.
    pub fn poll_timeout(&self, now: Timestamp, allowance: &Allowance) -> Option<Timestamp> {
        let knock = self.paths.iter().filter_map(|path| path.due(allowance, now)).min();
        let dial = |path: &Path| path.heard.map(|(first, _)| (first + path.settle()).max(path.dial_from));
        let two_way = self.paths.iter().filter(|path| self.dials() && path.is_two_way(now));
        let seek = self.relay.as_ref().filter(|_| !self.quiet).map(|relay| relay.next);
        let learned =
            self.paths.iter().filter(|path| path.source == Source::Knock && self.dialling != Some(path.route));
        let lapses = learned.map(|path| path.lapses).min();
        let news = [self.notes.due(), self.house.due()].into_iter().flatten().min();
        [knock, two_way.filter_map(dial).min(), seek, lapses, news].into_iter().flatten().min()
    }

    /// Returns how a way is known; none if it is not.
    pub fn kind_of(&self, route: Route) -> Option<Kind> {
        self.paths.iter().find(|path| path.route == route).map(|path| path.kind)
    }

    /// Returns the addresses that this machine's own user has given.
    pub fn given(&self) -> Vec<SocketAddr> {
        let given = self.paths.iter().filter(|path| path.source == Source::Told && path.route.via == Via::Port);
        given.map(|path| path.route.to).collect()
    }

    /// Returns true if a knock that was believed has come that way not long ago.
    pub fn works(&self, route: Route, now: Timestamp) -> bool {
        self.paths.iter().any(|path| path.route == route && path.works(now))
    }

    /// Returns how many ways are remembered.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Returns true if no way is known.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns true if packets from there have come through a relay: this machine's, one that the other has told, or one of
    /// which the port tells it.
    fn is_relay(&self, from: SocketAddr) -> bool {
        let is_told =
            |path: &Path| path.kind == Kind::Relayed && !path.route.is_relayed() && path.route.to.ip() == from.ip();
        self.relay.as_ref().is_some_and(|relay| relay.at == from.ip())
            || self.places.as_ref().is_some_and(|places| places.contains(&from.port()))
            || self.paths.iter().any(is_told)
    }

    fn count(&self, is: impl Fn(&Path) -> bool) -> usize {
        self.paths.iter().filter(|path| is(path)).count()
    }

    fn dials(&self) -> bool {
        self.role == Role::Dials && self.dialling.is_none() && !self.quiet
    }

    /// Returns the ways that count as one with this: two routers that show each destination another port make a new way of each
    /// dial and each knock. So those from one address are one, for each port of this machine, if nobody has told them.
    fn alike(&self, path: &Path) -> impl Iterator<Item = &Path> {
        let place = |path: &Path| (path.source, path.route.via, path.route.to.ip());
        let (route, this) = (path.route, place(path));
        self.paths
            .iter()
            .filter(move |other| other.route == route || other.source == Source::Knock && place(other) == this)
    }

    /// Returns how often dialling has failed on ways like this one.
    fn failed_alike(&self, path: &Path) -> u32 {
        self.alike(path).fold(0, |sum: u32, other| sum.saturating_add(other.failed))
    }

    /// Returns the best of the paths that work, once it is clear that no better one answers as soon.
    fn to_dial(&self, now: Timestamp) -> Option<Route> {
        if !self.dials() {
            return None;
        }
        let open = self.paths.iter().filter(|path| path.is_two_way(now) && path.dial_from <= now);
        // Through one relay rather than through two. One on which dialling fails must not keep others from being dialled.
        let order = |path: &&Path| (self.failed_alike(path), path.failed, path.kind, path.route.via, path.heard);
        let best = open.min_by_key(order)?;
        let better = self.paths.iter().any(|path| path.kind < best.kind);
        let settled = best.heard.is_some_and(|(first, _)| now >= first + best.settle());
        (!better || settled).then_some(best.route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(kind: Kind, text: &str) -> Candidate {
        Candidate::new(kind, text.parse().unwrap()).unwrap()
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    /// A search with an allowance of its own. Whoever knocks at it has heard it there.
    #[derive(Clone)]
    struct Tested {
        meeting: Meeting,
        allowance: Allowance,
    }

    impl std::ops::Deref for Tested {
        type Target = Meeting;

        fn deref(&self) -> &Meeting {
            &self.meeting
        }
    }

    impl std::ops::DerefMut for Tested {
        fn deref_mut(&mut self) -> &mut Meeting {
            &mut self.meeting
        }
    }

    impl Tested {
        fn new(role: Role, told: &[Candidate], now: Timestamp) -> Self {
            Self { meeting: Meeting::new(role, told, now), allowance: Allowance::default() }
        }

        /// Takes a knock that returns `echo`.
        fn hear(&mut self, from: Route, echo: u64, is_new: bool, now: Timestamp) {
            let knock = Knock { made_ms: 0, nonce: 7, echo };
            self.meeting.on_knock(from, &knock, is_new, &mut self.allowance, now);
        }

        fn on_knock(&mut self, from: Route, now: Timestamp) {
            self.hear(from, 0, true, now);
            let Some(path) = self.meeting.paths.iter_mut().find(|path| path.route == from) else { return };
            path.nonce = path.nonce.max(1);
            let echo = path.nonce;
            self.hear(from, echo, true, now);
        }

        fn poll(&mut self, now: Timestamp, random: u64) -> Option<Step> {
            self.meeting.poll(now, u128::from(random) << 64 | u128::from(random), &mut self.allowance)
        }

        fn timeout(&self, now: Timestamp) -> Option<Timestamp> {
            self.meeting.poll_timeout(now, &self.allowance)
        }
    }

    /// Returns everything to do until `end`, milliseconds, with its time.
    fn steps(meeting: &mut Tested, from: u64, end: u64) -> Vec<(u64, Step)> {
        let mut all = Vec::new();
        for ms in from..end {
            while let Some(step) = meeting.poll(at(ms), ms.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) {
                all.push((ms, step));
            }
        }
        all
    }

    #[test]
    fn it_knocks_often_at_first_and_then_once_a_second_and_dials_nobody_unheard() {
        let address = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Tested::new(Role::Dials, &[address], at(0));
        let first = steps(&mut meeting, 0, 30_000);
        assert!((150..3_000).contains(&first.len()), "{}", first.len());
        let later = steps(&mut meeting, 30_000, 130_000);
        assert!((100..=201).contains(&later.len()), "{}", later.len());
        assert!(first.iter().chain(&later).all(|(_, step)| *step == Step::Knock(address.address.into())));
    }

    #[test]
    fn a_knock_through_a_relay_that_has_not_given_a_place_yet_is_not_taken_for_a_direct_one() {
        let [told, relayed, direct] =
            ["203.0.113.5:20000", "198.51.100.9:49171", "203.0.113.5:999"].map(|text| candidate(Kind::Seen, text));
        let mut meeting = Tested::new(Role::Dials, &[told], at(0));
        meeting.expect_relays(49_152..=49_215);
        meeting.on_knock(relayed.address.into(), at(10));
        let dials = |steps: Vec<(u64, Step)>| -> Vec<_> {
            steps.into_iter().filter(|(_, step)| matches!(step, Step::Dial(_))).collect()
        };
        assert!(dials(steps(&mut meeting.clone(), 10, 1_000)).is_empty());
        assert_eq!(dials(steps(&mut meeting.clone(), 10, 1_100)), [(1_010, Step::Dial(relayed.address.into()))]);
        meeting.on_knock(direct.address.into(), at(60));
        assert_eq!(dials(steps(&mut meeting, 60, 200)), [(100, Step::Dial(direct.address.into()))]);
    }

    #[test]
    fn a_knock_is_answered_at_once_and_dialled() {
        let [told, learned] = ["203.0.113.5:20000", "203.0.113.5:999"].map(|text| candidate(Kind::Seen, text));
        let mut meeting = Tested::new(Role::Dials, &[told], at(0));
        let _ = steps(&mut meeting, 0, 50);
        meeting.on_knock(learned.address.into(), at(50));
        assert_eq!(meeting.timeout(at(50)), Some(at(50)));
        let next = steps(&mut meeting, 50, 51);
        assert!(next.contains(&(50, Step::Knock(learned.address.into()))), "{next:?}");
        let next = steps(&mut meeting, 51, 100);
        assert!(next.contains(&(90, Step::Dial(learned.address.into()))), "after waiting for what was told: {next:?}");
        assert_eq!(meeting.kind_of(learned.address.into()), Some(Kind::Learned));
        // One at a time; after a failure again.
        meeting.on_knock(told.address.into(), at(100));
        assert!(!steps(&mut meeting, 100, 1_000).iter().any(|(_, step)| matches!(step, Step::Dial(_))));
        meeting.on_dial_failed(learned.address.into(), at(1_000));
        let next = steps(&mut meeting, 1_000, 1_010);
        assert!(next.contains(&(1_000, Step::Dial(told.address.into()))), "{next:?}");
    }

    #[test]
    fn a_new_note_takes_the_place_of_the_one_before_and_of_nothing_else() {
        let [told, one, other] = [5, 6, 7].map(|n| candidate(Kind::Seen, &format!("203.0.113.{n}:20000")));
        let mut meeting = Tested::new(Role::Waits, &[told], at(0));
        meeting.set_relay("198.51.100.9".parse().unwrap(), 49_152..=49_215, at(0));
        let knows = |meeting: &Tested, candidate: Candidate| {
            let [direct, relayed] = [Via::Port, Via::Relay].map(|via| Route { to: candidate.address, via });
            assert_eq!(meeting.kind_of(direct).is_some(), meeting.kind_of(relayed).is_some());
            meeting.kind_of(direct).is_some()
        };
        meeting.set_news(News::Note, &[one, told], at(10));
        assert!(knows(&meeting, told) && knows(&meeting, one));
        meeting.restart(at(20));
        meeting.set_news(News::Note, &[other], at(30));
        assert!(knows(&meeting, one) && !knows(&meeting, other), "one in two seconds");
        let _ = steps(&mut meeting, 2_010, 2_011);
        assert!(knows(&meeting, told) && knows(&meeting, other) && !knows(&meeting, one));
        // One that works is kept.
        meeting.on_knock(other.address.into(), at(4_000));
        meeting.set_news(News::Note, &[one], at(4_050));
        assert!(meeting.kind_of(other.address.into()).is_some() && knows(&meeting, one));
        let knocks = steps(&mut meeting, 4_050, 4_051);
        assert!(knocks.contains(&(4_050, Step::Knock(one.address.into()))), "{knocks:?}");
        // Whatever notes say, in whatever order: bounded.
        for n in 0..1_000_u64 {
            let many: Vec<_> = (1..20).map(|m| candidate(Kind::Seen, &format!("203.0.{}.{m}:9", n % 250))).collect();
            meeting.set_news(News::Note, &many, at(10_000 + 2_000 * n));
            meeting.on_knock(many[0].address.into(), at(10_000 + 2_000 * n));
        }
        assert!(meeting.len() <= 8 * ADDRESSES_MAX, "{}", meeting.len());
        assert!(knows(&meeting, told));
    }

    #[test]
    fn news_from_the_house_and_notes_leave_each_other_alone_and_stay_bounded() {
        let note = candidate(Kind::Seen, "203.0.113.6:20000");
        let [here, other] = [7, 8].map(|n| candidate(Kind::Local, &format!("192.168.1.{n}:20000")));
        let six = candidate(Kind::Ipv6, "[2001:db8::1]:20000");
        let mut meeting = Tested::new(Role::Waits, &[], at(0));
        meeting.set_relay("2001:db8::9".parse().unwrap(), 49_152..=49_155, at(0));
        meeting.set_news(News::Note, &[note], at(10));
        meeting.set_news(News::House, &[here, six], at(20));
        assert_eq!(meeting.len(), 3, "nothing in the house is asked for through a relay");
        meeting.set_news(News::House, &[other], at(2_020));
        let knows = [note, here, six, other].map(|candidate| meeting.kind_of(candidate.address.into()).is_some());
        assert_eq!(knows, [true, false, false, true]);
        for n in 0..1_000_u64 {
            let lies: Vec<_> = (1..20).map(|m| candidate(Kind::Local, &format!("10.0.{}.{m}:9", n % 250))).collect();
            meeting.set_news(News::House, &lies, at(10_000 + 2_000 * n));
        }
        assert_eq!(meeting.len(), 1 + ADDRESSES_MAX);
        assert_eq!(meeting.kind_of(note.address.into()), Some(Kind::Seen));
    }

    #[test]
    fn the_better_of_two_paths_is_dialled() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let local = candidate(Kind::Local, "192.168.1.7:20000");
        let mut meeting = Tested::new(Role::Dials, &[seen, local], at(0));
        meeting.on_knock(seen.address.into(), at(10));
        meeting.on_knock(local.address.into(), at(30));
        let next = steps(&mut meeting, 30, 31);
        assert!(next.contains(&(30, Step::Dial(local.address.into()))), "{next:?}");
    }

    #[test]
    fn who_waits_never_dials() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Tested::new(Role::Waits, &[], at(0));
        assert_eq!(meeting.timeout(at(0)), None);
        meeting.on_knock(seen.address.into(), at(10));
        let all = steps(&mut meeting, 10, 1_000);
        assert!(all.len() > 4 && all.iter().all(|(_, step)| *step == Step::Knock(seen.address.into())), "{all:?}");
    }

    #[test]
    fn knocks_from_everywhere_take_no_more_than_a_few_places() {
        let told = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Tested::new(Role::Dials, &[told], at(0));
        for port in 1..10_000 {
            meeting.on_knock(SocketAddr::from(([198, 51, 100, 1], port)).into(), at(u64::from(port)));
            let _ = meeting.poll(at(u64::from(port)), 1);
        }
        let many: Vec<_> = (1..100).map(|n| candidate(Kind::Seen, &format!("203.0.113.{n}:1"))).collect();
        meeting.add(&many, at(10_000));
        assert_eq!(meeting.len(), LEARNED_MAX + TOLD_MAX);
        assert_eq!(meeting.kind_of(told.address.into()), Some(Kind::Seen));
    }

    #[test]
    fn ways_from_there_to_here_only_do_not_keep_the_relay_from_being_dialled() {
        let ways = [5, 6].map(|n| Route::from(SocketAddr::from(([203, 0, 113, n], 20_000))));
        let relayed = Route { to: ways[0].to, via: Via::Relay };
        let mut meeting = Tested::new(Role::Dials, &[], at(0));
        let mut dialled = Vec::new();
        for ms in 0..10_000 {
            if ms % 100 == 0 {
                ways.iter().chain([&relayed]).for_each(|way| meeting.on_knock(*way, at(ms)));
            }
            // Each attempt takes two seconds.
            if let Some((route, _)) = dialled.last().filter(|(_, began)| ms == began + 2_000) {
                meeting.on_dial_failed(*route, at(ms));
            }
            while let Some(step) = meeting.poll(at(ms), 1) {
                if let Step::Dial(route) = step {
                    dialled.push((route, ms));
                }
            }
        }
        let routes: Vec<_> = dialled.iter().map(|(route, _)| *route).collect();
        assert_eq!(routes[..4], [ways[0], ways[1], relayed, ways[0]], "{dialled:?}");
    }

    #[test]
    fn a_router_that_shows_each_dial_another_port_does_not_keep_the_relay_from_being_dialled() {
        let mut meeting = Tested::new(Role::Dials, &[], at(0));
        let relayed = Route { to: SocketAddr::from(([203, 0, 113, 5], 20_000)), via: Via::Relay };
        let (mut port, mut dialled) = (20_000, Vec::new());
        for ms in 0..5_000 {
            if ms % 100 == 0 {
                meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], port)).into(), at(ms));
                meeting.on_knock(relayed, at(ms));
            }
            if let Some((route, _)) = dialled.last().filter(|(_, began)| ms == began + 2_000) {
                meeting.on_dial_failed(*route, at(ms));
            }
            while let Some(step) = meeting.poll(at(ms), 1) {
                if let Step::Dial(route) = step {
                    dialled.push((route, ms));
                    port += 1;
                }
            }
        }
        let routes: Vec<_> = dialled.iter().map(|(route, _)| *route).collect();
        assert_eq!(routes[1], relayed, "{dialled:?}");
    }

    #[test]
    fn ways_that_are_new_with_each_knock_are_not_near_for_ever() {
        let mut meeting = Tested::new(Role::Waits, &[], at(0));
        for ms in 0..2_500 {
            meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], 20_000 + ms as u16 / 1_000)).into(), at(ms));
            meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], 20_000)).into(), at(ms));
            assert!(meeting.is_near(at(ms)));
        }
        meeting.on_knock(SocketAddr::from(([203, 0, 113, 5], 30_000)).into(), at(2_501));
        assert!(!meeting.is_near(at(2_501)));
        meeting.on_knock(Route { to: SocketAddr::from(([203, 0, 113, 5], 30_000)), via: Via::OtherPort }, at(2_502));
        assert!(meeting.is_near(at(2_502)), "from another port of this machine it is new");
    }

    #[test]
    fn another_port_knocks_wherever_the_first_one_does_and_a_further_one_takes_its_place() {
        let [told, note] = ["203.0.113.5:20000", "203.0.113.6:20000"].map(|text| candidate(Kind::Seen, text));
        let mut meeting = Tested::new(Role::Dials, &[told], at(0));
        meeting.set_other_port(at(0));
        meeting.set_news(News::Note, &[note], at(0));
        let there = |candidate: Candidate| Route { to: candidate.address, via: Via::OtherPort };
        let all: Vec<_> = steps(&mut meeting, 0, 1).into_iter().map(|(_, step)| step).collect();
        let wanted = [told.address.into(), there(told), note.address.into(), there(note)].map(Step::Knock);
        assert!(all.len() == 4 && wanted.iter().all(|step| all.contains(step)), "{all:?}");
        // What was heard there was heard at a port that is closed now.
        meeting.on_knock(there(told), at(10));
        assert!(meeting.is_near(at(10)));
        assert_eq!(meeting.poll(at(60), 1), Some(Step::Dial(there(told))));
        meeting.set_other_port(at(70));
        assert!(!meeting.is_near(at(70)) && meeting.len() == 4);
        meeting.on_knock(told.address.into(), at(80));
        assert!(steps(&mut meeting, 80, 130).contains(&(80, Step::Dial(told.address.into()))), "nobody dials now");
        // Of two ports at which the other is heard the first one.
        let mut meeting = Tested::new(Role::Dials, &[told], at(0));
        meeting.set_other_port(at(0));
        meeting.on_knock(there(told), at(10));
        meeting.on_knock(told.address.into(), at(20));
        let dialled = steps(&mut meeting, 20, 100).into_iter().find(|(_, step)| matches!(step, Step::Dial(_)));
        assert_eq!(dialled, Some((20, Step::Dial(told.address.into()))));
        // Bounded, whatever is told.
        for n in 0..1_000_u64 {
            let many: Vec<_> = (1..40).map(|m| candidate(Kind::Seen, &format!("203.0.{}.{m}:9", n % 250))).collect();
            meeting.add(&many, at(100 + n));
            meeting.set_news(News::Note, &many, at(100 + 2_000 * n));
        }
        assert!(meeting.len() <= 2 * (TOLD_MAX + TOLD_MAX), "{}", meeting.len());
    }

    #[test]
    fn a_way_is_dialled_once_the_other_has_returned_what_was_sent_there() {
        let [told, forged] = ["203.0.113.5:20000", "203.0.113.66:9"].map(|text| candidate(Kind::Seen, text));
        let mut meeting = Tested::new(Role::Dials, &[told], at(0));
        let _ = steps(&mut meeting, 0, 50);
        let [nonce, _] = meeting.nonces(told.address.into());
        assert_ne!(nonce, 0);
        // Knocks that the other has made come from elsewhere, or from where nothing was heard.
        for (ms, from, echo) in [(50, told, 0), (60, told, nonce ^ 1), (70, forged, nonce), (80, forged, 0)] {
            meeting.hear(from.address.into(), echo, true, at(ms));
        }
        let all = steps(&mut meeting, 80, 1_000);
        assert!(all.iter().all(|(_, step)| matches!(step, Step::Knock(_))), "{all:?}");
        assert_eq!(meeting.nonces(told.address.into()), [nonce, 7], "the other's is returned");
        meeting.hear(told.address.into(), nonce, true, at(1_000));
        assert!(steps(&mut meeting, 1_000, 1_050).contains(&(1_000, Step::Dial(told.address.into()))));
    }

    #[test]
    fn a_forged_source_gets_three_times_what_came_and_is_forgotten() {
        for role in [Role::Dials, Role::Waits] {
            let victim = Route::from(SocketAddr::from(([198, 51, 100, 66], 53)));
            let mut meeting = Tested::new(role, &[], at(0));
            meeting.hear(victim, 0, true, at(0));
            let all = steps(&mut meeting, 0, 120_000);
            assert_eq!(all.len() as u64, crate::reach::TIMES, "{role:?} {all:?}");
            assert!(all.iter().all(|(_, step)| *step == Step::Knock(victim)));
            assert_eq!((meeting.len(), meeting.timeout(at(120_000))), (0, None));
            // One that has come before shows nothing, and one that goes on coming is as good as three.
            meeting.hear(victim, 0, false, at(200_000));
            assert!(meeting.is_empty());
        }
    }

    #[test]
    fn where_clocks_differ_ways_are_proved_by_what_is_returned() {
        let told = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Tested::new(Role::Dials, &[told], at(0));
        let _ = steps(&mut meeting, 0, 50);
        let [nonce, echo] = meeting.nonces(told.address.into());
        assert_eq!(echo, 0);
        // Its time is not believed, and no knock leaves for it.
        let before = meeting.paths[0].next;
        meeting.hear(told.address.into(), 0, false, at(50));
        assert_eq!((meeting.nonces(told.address.into()), meeting.paths[0].next), ([nonce, 7], before));
        assert!(!meeting.is_near(at(50)));
        meeting.hear(told.address.into(), nonce, false, at(300));
        assert!(steps(&mut meeting, 300, 400).iter().any(|(_, step)| *step == Step::Dial(told.address.into())));
    }

    #[test]
    fn what_was_proved_gives_way_to_no_forged_knock() {
        let friend = Route::from(SocketAddr::from(([203, 0, 113, 5], 20_000)));
        let mut meeting = Tested::new(Role::Waits, &[], at(0));
        meeting.on_knock(friend, at(0));
        for port in 1..10_000 {
            meeting.hear(SocketAddr::from(([198, 51, 100, 1], port)).into(), 0, true, at(u64::from(port)));
        }
        let newest = SocketAddr::from(([198, 51, 100, 1], 9_999));
        assert!(meeting.kind_of(newest.into()).is_some(), "those that are not give way to each other");
        assert!(meeting.kind_of(friend).is_some());
        assert_eq!(meeting.len(), LEARNED_MAX);
    }

    #[test]
    fn what_a_note_says_of_this_machine_or_house_is_left_out() {
        let all: Vec<_> = ["127.0.0.1:9", "192.168.1.7:9", "[fd00::7]:9", "203.0.113.5:9"]
            .map(|text| candidate(Kind::Seen, text))
            .to_vec();
        let known = |news| {
            let mut meeting = Tested::new(Role::Waits, &[], at(0));
            meeting.set_news(news, &all, at(0));
            all.iter().map(|one| meeting.kind_of(one.address.into()).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(known(News::Note), [false, false, false, true]);
        assert_eq!(known(News::House), [false, true, true, true]);
    }

    #[test]
    fn in_a_call_it_answers_and_does_no_more() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Tested::new(Role::Waits, &[seen], at(0));
        meeting.set_quiet(true);
        assert_eq!(steps(&mut meeting, 0, 10_000).len(), 1);
        meeting.on_knock(seen.address.into(), at(10_000));
        assert_eq!(steps(&mut meeting, 10_000, 20_000), [(10_000, Step::Knock(seen.address.into()))]);
        meeting.set_quiet(false);
        meeting.restart(at(20_000));
        assert!(steps(&mut meeting, 20_000, 21_000).len() > 4);
    }

    #[test]
    fn it_starts_anew_after_a_connection() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let mut meeting = Tested::new(Role::Dials, &[seen], at(0));
        meeting.on_knock(seen.address.into(), at(0));
        assert_eq!(meeting.poll(at(0), 1), Some(Step::Dial(seen.address.into())));
        meeting.restart(at(100_000));
        assert_eq!(meeting.poll(at(100_000), 1), Some(Step::Knock(seen.address.into())), "what was heard is long ago");
        meeting.on_knock(seen.address.into(), at(100_001));
        assert_eq!(meeting.poll(at(100_001), 1), Some(Step::Dial(seen.address.into())));
    }

    const RELAY: &str = "198.51.100.9";

    fn with_relay(told: &[Candidate]) -> Tested {
        let mut meeting = Tested::new(Role::Dials, told, at(0));
        meeting.set_relay(RELAY.parse().unwrap(), 49_152..=49_155, at(0));
        meeting
    }

    #[test]
    fn a_relay_is_dialled_after_a_second_and_only_if_nothing_else_works() {
        let seen = candidate(Kind::Seen, "203.0.113.5:20000");
        let relayed = Route { to: seen.address, via: Via::Relay };
        for direct in [false, true] {
            let mut meeting = with_relay(&[seen]);
            meeting.on_knock(relayed, at(10));
            assert_eq!(meeting.kind_of(relayed), Some(Kind::Relayed));
            let early = steps(&mut meeting, 10, 900);
            assert!(!early.iter().any(|(_, step)| matches!(step, Step::Dial(_))), "{early:?}");
            assert!(early.iter().any(|(_, step)| *step == Step::Knock(relayed)));
            meeting.on_knock(relayed, at(900));
            if direct {
                meeting.on_knock(seen.address.into(), at(950));
            }
            let dialled = steps(&mut meeting, 950, 1_100).into_iter().find(|(_, step)| matches!(step, Step::Dial(_)));
            let wanted = if direct { (950, Step::Dial(seen.address.into())) } else { (1_010, Step::Dial(relayed)) };
            assert_eq!(dialled, Some(wanted));
        }
    }

    #[test]
    fn the_other_is_sought_at_every_place_of_the_relay_until_something_works() {
        let local = candidate(Kind::Local, "192.168.1.7:20000");
        let mut meeting = with_relay(&[local]);
        let places = |all: &[(u64, Step)]| {
            let mut places: Vec<_> = all
                .iter()
                .filter_map(|(_, step)| match step {
                    Step::Knock(route) if route.to.ip() == RELAY.parse::<IpAddr>().unwrap() => Some(*route),
                    _ => None,
                })
                .map(|route| (route.to.port(), route.is_relayed()))
                .collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        assert!(places(&steps(&mut meeting, 0, 499)).is_empty(), "a direct way comes first");
        let all = (49_152..=49_155).flat_map(|port| [(port, false), (port, true)]).collect::<Vec<_>>();
        assert_eq!(places(&steps(&mut meeting, 500, 600)), all);
        // Whoever answers from there is at a relay.
        let there = Route::from(SocketAddr::new(RELAY.parse().unwrap(), 49_154));
        meeting.on_knock(there, at(600));
        assert_eq!(meeting.kind_of(there), Some(Kind::Relayed));
        assert_eq!(places(&steps(&mut meeting, 600, 1_500)), [(49_154, false)]);
        // Later not as often, and during a call not at all.
        let mut meeting = with_relay(&[local]);
        let _ = steps(&mut meeting, 0, 60_000);
        let later = steps(&mut meeting, 60_000, 61_000).len();
        assert!((4..30).contains(&later), "{later}: one a second at each place");
        meeting.set_quiet(true);
        assert!(places(&steps(&mut meeting, 61_000, 70_000)).is_empty());
    }

    #[test]
    fn without_the_relay_its_ways_are_forgotten_and_the_house_is_never_asked_for_through_it() {
        let (local, six) = (candidate(Kind::Local, "192.168.1.7:20000"), candidate(Kind::Ipv6, "[2001:db8::1]:20000"));
        let told = candidate(Kind::Relayed, "198.51.100.9:49160");
        let mut meeting = with_relay(&[local, six, told]);
        assert_eq!(meeting.len(), 4);
        assert_eq!(meeting.kind_of(Route { to: told.address, via: Via::Relay }), Some(Kind::Relayed));
        meeting.remove_relay();
        assert_eq!(meeting.len(), 3);
        let many: Vec<_> = (1..100).map(|n| candidate(Kind::Seen, &format!("203.0.113.{n}:1"))).collect();
        let mut meeting = with_relay(&many);
        meeting.add(&many, at(0));
        for port in 1..1_000 {
            let to = SocketAddr::from(([198, 51, 100, 9], port));
            let via = if port % 2 == 0 { Via::Relay } else { Via::Port };
            meeting.on_knock(Route { to, via }, at(u64::from(port)));
        }
        assert_eq!(meeting.len(), 2 * TOLD_MAX + LEARNED_MAX);
    }
}
