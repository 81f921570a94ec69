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
pub enum Base {
    /// The port that the other machine has been told of, or has stored.
    Port,
    /// Another port of this machine, opened since that one leads nowhere ([`super::Rounds`]).
    OtherPort,
    /// This machine's relay.
    Relay,
}

/// A way to the other machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Address to knock at.
    pub to: SocketAddr,
    /// Its begin.
    pub base: Base,
}

impl Pair {
    /// Returns true if it goes through this machine's relay.
    pub fn is_relayed(&self) -> bool {
        self.base == Base::Relay
    }
}

impl From<SocketAddr> for Pair {
    fn from(to: SocketAddr) -> Self {
        Self { to, base: Base::Port }
    }
}

/// Something to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a knock that way, with the nonces that [`Meeting::nonces`] returns.
    Knock(Pair),
    /// Dial that way, which is open in both directions, and say how it ended.
    Dial(Pair),
}

/// A search for a path to one machine. It knows no socket and no clock, and has no more to do once there is a connection;
/// after the end of that, [`Meeting::restart`] begins anew.
#[derive(Clone, Debug)]
pub struct Meeting {
    role: Role,
    paths: Vec<Path>,
    since: Timestamp,
    dialling: Option<Pair>,
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
    fn seek(&mut self) -> Pair {
        self.turn = (self.turn + 1) % (2 * self.places());
        let port = self.ports.start().saturating_add((self.turn / 2) as u16);
        let via = if self.turn % 2 == 1 { Base::Relay } else { Base::Port };
        Pair { to: SocketAddr::new(self.at, port), base: via }
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
    route: Pair,
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
    fn new(route: Pair, kind: Kind, now: Timestamp) -> Self {
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
            let route = Pair::from(candidate.address);
            let alike = self.count(|path| path.source == source && path.route.base == Base::Port);
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
        self.paths.retain(|path| path.route.base != Base::OtherPort);
        if self.dialling.is_some_and(|route| route.base == Base::OtherPort) {
            self.dialling = None;
        }
        self.add_from_other_port(now);
    }

    /// Adds the told addresses once more, from the other port.
    fn add_from_other_port(&mut self, now: Timestamp) {
        if !self.has_other_port {
            return;
        }
        let is_told = |path: &&Path| path.route.base == Base::Port && path.source != Source::Knock;
        let told: Vec<_> =
            self.paths.iter().filter(is_told).map(|path| (path.route.to, path.kind, path.source)).collect();
        for (to, kind, source) in told {
            let route = Pair { to, base: Base::OtherPort };
            let most = if source == Source::Told { TOLD_MAX } else { ADDRESSES_MAX };
            let alike = self.count(|path| path.route.base == Base::OtherPort && path.source == source);
            if alike < most && self.kind_of(route).is_none() {
                self.paths.push(Path { source, ..Path::new(route, kind, now) });
            }
        }
    }

    /// Returns true if a connection without a relay may be about to come: there is a way on which knocks come, though not for
    /// so long that it must be open in that direction only.
    pub fn is_near(&self, now: Timestamp) -> bool {
        let is_dialled = |path: &Path| self.dialling == Some(path.route) && path.route.base == Base::OtherPort;
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
            path.route.base == Base::Port && !is_in_house && path.route.to.is_ipv4() == relay.at.is_ipv4()
        };
        let there: Vec<_> = self.paths.iter().filter(is_there).map(|path| (path.route.to, path.source)).collect();
        for (to, source) in there {
            let route = Pair { to, base: Base::Relay };
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
    pub fn nonces(&self, route: Pair) -> [u64; 2] {
        self.paths.iter().find(|path| path.route == route).map_or([0; 2], |path| [path.nonce, path.echo])
    }

    /// Takes a knock of the other machine that came that way. `is_new`: whether it is of now and has not come before. One that is
    /// not is believed if it returns a nonce of this side's, as where the two clocks differ; else only its own nonce is returned,
    /// with a knock that leaves in any case.
    pub fn on_knock(&mut self, from: Pair, knock: &Knock, is_new: bool, allowance: &mut Allowance, now: Timestamp) {
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
    pub fn on_proved(&mut self, route: Pair, kind: Kind, now: Timestamp) {
        if self.kind_of(route).is_none() && self.learn(route, now) {
            self.paths.iter_mut().filter(|path| path.route == route).for_each(|path| path.kind = kind);
        }
        if let Some(path) = self.paths.iter_mut().find(|path| path.route == route) {
            (path.proved, path.lapses) = (Some(now), now + LEARNED);
        }
    }

    /// Remembers a way that nobody has told; false if there is no place for it. What was proved gives way to nothing that is not.
    fn learn(&mut self, from: Pair, now: Timestamp) -> bool {
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
        let kind = if self.is_relay(from.to) { Kind::Relayed } else { Kind::PeerReflexive };
        self.paths.push(Path { source: Source::Knock, ..Path::new(from, kind, now) });
        true
    }

    /// Forgets what nobody has told and nobody is at any more.
    fn forget_learned(&mut self, now: Timestamp) {
        let dialling = self.dialling;
        self.paths.retain(|path| path.source != Source::Knock || path.lapses > now || dialling == Some(path.route));
    }

    /// Notes that dialling that way has failed.
    pub fn on_dial_failed(&mut self, route: Pair, now: Timestamp) {
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
    pub fn kind_of(&self, route: Pair) -> Option<Kind> {
        self.paths.iter().find(|path| path.route == route).map(|path| path.kind)
    }

    /// Returns the addresses that this machine's own user has given.
    pub fn given(&self) -> Vec<SocketAddr> {
        let given = self.paths.iter().filter(|path| path.source == Source::Told && path.route.base == Base::Port);
        given.map(|path| path.route.to).collect()
    }

    /// Returns true if a knock that was believed has come that way not long ago.
    pub fn works(&self, route: Pair, now: Timestamp) -> bool {
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
        let place = |path: &Path| (path.source, path.route.base, path.route.to.ip());
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
    fn to_dial(&self, now: Timestamp) -> Option<Pair> {
        if !self.dials() {
            return None;
        }
        let open = self.paths.iter().filter(|path| path.is_two_way(now) && path.dial_from <= now);
        // Through one relay rather than through two. One on which dialling fails must not keep others from being dialled.
        let order = |path: &&Path| (self.failed_alike(path), path.failed, path.kind, path.route.base, path.heard);
        let best = open.min_by_key(order)?;
        let better = self.paths.iter().any(|path| path.kind < best.kind);
        let settled = best.heard.is_some_and(|(first, _)| now >= first + best.settle());
        (!better || settled).then_some(best.route)
    }
}

#[cfg(test)]
#[path = "meeting_tests.rs"]
mod tests;
