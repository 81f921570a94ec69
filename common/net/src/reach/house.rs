//! The same house: two machines that know each other's keys find each other on one local network by mDNS (RFC 6762), without
//! a server and whatever address either has remembered.
//!
//! Each announces itself under a name of one day that only the two can compute, and takes of all that is announced what
//! bears a name of the other. What it finds is knocked at, as all addresses are, and whoever is there proves its key: who
//! lies in a house costs knocks, and who listens learns that a program of this kind runs at an address.
//!
//! The crate reads packets of anybody in the house on a thread of its own and remembers what it has read until that
//! expires; so it is watched, and stopped for a while when it remembers too much ([`RECORDS_MAX`]).

use std::time::Duration;

use common::config::PublicKey;
use common::path::ways::{ADDRESSES_MAX, Candidate, Kind};
use mdns_sd::{Metrics, Receiver, ResolvedService, ServiceDaemon, ServiceEvent, ServiceInfo};
use ring::hmac::{Key, sign};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::pair;
use crate::clock;
use crate::identity::Identity;
use crate::limited;
use crate::wait;

/// The announced service (RFC 6763, section 7).
const SERVICE: &str = "_duet._udp.local.";
/// Bytes of a name.
const NAME_BYTES: usize = 16;
/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Time between looks at what is to be announced, and between tellings of what was found: whoever lies all the time is
/// knocked at no faster.
const LOOK: Duration = Duration::from_millis(100);
/// Looks from one count of records to the next, and longest wait for the answer.
const LOOKS_PER_COUNT: u32 = 10;
const COUNT: Duration = Duration::from_secs(5);
/// Most records that may be remembered: more than a house full of loudspeakers, televisions and printers announces.
const RECORDS_MAX: i64 = 8192;
/// Pause before the next try.
const PAUSE: Duration = Duration::from_secs(60);

/// Secrets with which a machine announces itself to one other, and knows what that has announced.
pub(crate) struct HouseNames {
    secret: Key,
    own: PublicKey,
    other: PublicKey,
}

impl HouseNames {
    /// Of the machine with the key `own` and the one with the key `other`; none if that is its own one.
    pub(crate) fn new(own: &Identity, other: &PublicKey) -> Option<Self> {
        Some(Self { secret: pair::secret(own, other)?, own: own.public_key(), other: *other })
    }

    /// Returns the name of the machine with this key on a day since 1970.
    fn of(&self, key: &PublicKey, day: u64) -> String {
        let tag = sign(&self.secret, &[b"house".as_slice(), &day.to_be_bytes(), key.as_bytes()].concat());
        tag.as_ref()[..NAME_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns true if this is how the other announces itself on that day, or on one beside it: clocks differ.
    fn is_of_other(&self, fullname: &str, day: u64) -> bool {
        let days = day.saturating_sub(1)..=day.saturating_add(1);
        fullname
            .strip_suffix(SERVICE)
            .and_then(|name| name.strip_suffix('.'))
            .is_some_and(|name| days.into_iter().any(|day| name == self.of(&self.other, day)))
    }
}

/// Announces this machine in the house and looks for the other, until it is dropped.
#[derive(Debug)]
pub(crate) struct House {
    own: watch::Sender<Vec<Candidate>>,
    news: mpsc::Receiver<Vec<Candidate>>,
    task: JoinHandle<()>,
}

impl House {
    /// Begins with the two machines of these names. Must be called on a tokio runtime.
    pub(crate) fn start(names: HouseNames) -> Self {
        let (own, told) = watch::channel(Vec::new());
        let (tell, news) = mpsc::channel(1);
        let at_work = AtWork { names, own: told, tell, found: None, told: Vec::new() };
        Self { own, news, task: tokio::spawn(at_work.go_on()) }
    }

    /// Announces this machine at these addresses from now on.
    pub(super) fn announce(&self, candidates: Vec<Candidate>) {
        self.own.send_replace(candidates);
    }

    /// Waits for the other machine's addresses, when they are others than before. Nothing is lost if it is dropped.
    pub(super) async fn next(&mut self) -> Vec<Candidate> {
        wait::item(&mut self.news).await
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The crate's thread, which ends with this.
struct Daemon(ServiceDaemon);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.shutdown();
    }
}

/// Reasons to stop for a while.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Daemon(#[from] mdns_sd::Error),
    #[error("more is announced in this house than anybody needs")]
    Crowded,
    #[error("it has ended")]
    Ended,
}

struct AtWork {
    names: HouseNames,
    own: watch::Receiver<Vec<Candidate>>,
    tell: mpsc::Sender<Vec<Candidate>>,
    /// Addresses of the other that were found last.
    found: Option<Vec<Candidate>>,
    /// Those that were told last.
    told: Vec<Candidate>,
}

impl AtWork {
    async fn go_on(mut self) {
        loop {
            let stopped = match ServiceDaemon::new() {
                Ok(daemon) => {
                    let daemon = Daemon(daemon);
                    let stopped = self.look(&daemon.0).await;
                    // Not two at once.
                    if let Ok(ended) = daemon.0.shutdown() {
                        let _ = ended.recv_async().await;
                    }
                    stopped
                }
                Err(error) => error.into(),
            };
            limited!(info, "the other machine is not looked for in this house for a minute: mDNS: {stopped}");
            sleep(PAUSE).await;
        }
    }

    /// Announces and looks until that is not possible any more.
    async fn look(&mut self, daemon: &ServiceDaemon) -> Stopped {
        let events = match daemon.browse(SERVICE) {
            Ok(events) => events,
            Err(error) => return error.into(),
        };
        let mut announced = None;
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0_u32;
        loop {
            tokio::select! {
                event = events.recv_async() => match event {
                    Ok(ServiceEvent::ServiceResolved(service)) => self.on_service(&service, today()),
                    Ok(_) => {}
                    Err(_) => return Stopped::Ended,
                },
                _ = looks.tick() => {
                    count = count.wrapping_add(1);
                    if count.is_multiple_of(LOOKS_PER_COUNT) && is_crowded(daemon).await {
                        return Stopped::Crowded;
                    }
                    if let Err(error) = self.announce(daemon, &mut announced, today()) {
                        return error.into();
                    }
                    self.tell_found();
                }
            }
        }
    }

    /// Announces what is not announced yet, and takes back a name of yesterday.
    fn announce(
        &self,
        daemon: &ServiceDaemon,
        announced: &mut Option<(u64, Vec<Candidate>)>,
        day: u64,
    ) -> Result<(), mdns_sd::Error> {
        let own = self.own.borrow().clone();
        if own.is_empty() || announced.as_ref().is_some_and(|(of, what)| *of == day && *what == own) {
            return Ok(());
        }
        if let Some((of, _)) = announced.as_ref().filter(|(of, _)| *of != day) {
            let _ = daemon.unregister(&format!("{}.{SERVICE}", self.names.of(&self.names.own, *of)))?;
        }
        daemon.register(service(&self.names.of(&self.names.own, day), &own)?)?;
        *announced = Some((day, own));
        Ok(())
    }

    fn on_service(&mut self, service: &ResolvedService, day: u64) {
        if self.names.is_of_other(service.get_fullname(), day) {
            self.found = Some(addresses(service));
        }
    }

    fn tell_found(&mut self) {
        let Some(found) = self.found.take().filter(|found| !found.is_empty() && *found != self.told) else { return };
        // Who listens has not taken what was told before: then again at the next look.
        match self.tell.try_send(found.clone()) {
            Ok(()) => {
                limited!(info, "the other machine announces itself in this house");
                self.told = found;
            }
            Err(_) => self.found = Some(found),
        }
    }
}

/// Returns the announcement of that name. Nobody else can know the name, so nobody is asked whether it is taken.
fn service(name: &str, own: &[Candidate]) -> Result<ServiceInfo, mdns_sd::Error> {
    let ips: Vec<_> = own.iter().map(|candidate| candidate.address.ip()).collect();
    let port = own.first().map_or(0, |candidate| candidate.address.port());
    let mut service = ServiceInfo::new(SERVICE, name, &format!("{name}.local."), ips.as_slice(), port, None)?;
    service.set_requires_probe(false);
    Ok(service)
}

/// Returns the addresses of an announcement, [`ADDRESSES_MAX`] at most, in an order that does not change.
fn addresses(service: &ResolvedService) -> Vec<Candidate> {
    let mut ips: Vec<_> = service.get_addresses().iter().map(|ip| ip.to_ip_addr()).collect();
    ips.sort_unstable();
    ips.dedup();
    let candidates = ips.into_iter().filter_map(|ip| {
        let kind = if ip.is_ipv4() { Kind::Host } else { Kind::HostIpv6 };
        Candidate::new(kind, (ip, service.get_port()).into())
    });
    candidates.take(ADDRESSES_MAX).collect()
}

/// Returns true if the crate's thread remembers too much, or is too busy to tell.
async fn is_crowded(daemon: &ServiceDaemon) -> bool {
    let Ok(metrics) = daemon.get_metrics() else { return true };
    let metrics: Receiver<Metrics> = metrics;
    match timeout(COUNT, metrics.recv_async()).await {
        Ok(Ok(metrics)) => records(&metrics) > RECORDS_MAX,
        Ok(Err(_)) | Err(_) => true,
    }
}

/// Returns how many records are remembered, and how many times of theirs.
fn records(metrics: &Metrics) -> i64 {
    let counts = metrics.iter().filter(|(name, _)| name.starts_with("cached-") || *name == "timer");
    counts.map(|(_, count)| count).sum()
}

/// Returns the days since 1970.
fn today() -> u64 {
    clock::unix_ms() / DAY_MS
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn names() -> [HouseNames; 3] {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap());
        [(&a, &b), (&b, &a), (&c, &a)].map(|(own, other)| HouseNames::new(own, &other.public_key()).unwrap())
    }

    fn full(names: &HouseNames, key: &PublicKey, day: u64) -> String {
        format!("{}.{SERVICE}", names.of(key, day))
    }

    #[test]
    fn the_other_is_known_by_its_name_of_the_day_and_nobody_else_is() {
        let [one, other, stranger] = names();
        let announced = |day| full(&one, &one.own, day);
        assert_ne!(announced(20_000), announced(20_001), "no name for longer than a day");
        for (day, known) in [(19_998, false), (19_999, true), (20_000, true), (20_001, true), (20_002, false)] {
            assert_eq!(other.is_of_other(&announced(day), 20_000), known, "{day}");
        }
        assert!(!one.is_of_other(&announced(20_000), 20_000), "its own name");
        assert!(!stranger.is_of_other(&announced(20_000), 20_000));
        for wrong in [SERVICE, "", "x._duet._udp.local.", &announced(20_000)[1..], &announced(20_000).replace('.', "")]
        {
            assert!(!other.is_of_other(wrong, 20_000), "{wrong}");
        }
        let own = Identity::generate().unwrap();
        assert!(HouseNames::new(&own, &own.public_key()).is_none());
    }

    #[test]
    fn of_an_announcement_a_bounded_number_of_usable_addresses_is_taken() {
        let candidate = |kind, text: &str| Candidate::new(kind, text.parse().unwrap()).unwrap();
        let own = [candidate(Kind::HostIpv6, "[2001:db8::1]:4820"), candidate(Kind::Host, "192.168.1.7:4820")];
        let resolved = service("abc", &own).unwrap().as_resolved_service();
        assert_eq!(resolved.get_fullname(), "abc._duet._udp.local.");
        assert_eq!(addresses(&resolved), [own[1], own[0]]);
        let lies: Vec<IpAddr> = (0..250).map(|n| IpAddr::from([if n < 50 { 224 } else { 10 }, 0, 0, n])).collect();
        let lies = |port| {
            let service = ServiceInfo::new(SERVICE, "abc", "abc.local.", lies.as_slice(), port, None).unwrap();
            addresses(&service.as_resolved_service())
        };
        assert_eq!(lies(9).len(), ADDRESSES_MAX);
        assert!(lies(9).iter().all(|candidate| candidate.kind == Kind::Host && candidate.address.port() == 9));
        assert!(lies(0).is_empty());
    }

    #[tokio::test]
    async fn what_is_found_is_told_once_and_no_faster_than_it_is_taken() {
        let [one, other, stranger] = names();
        let (_own, own) = watch::channel(Vec::new());
        let (tell, mut news) = mpsc::channel(1);
        let announced = |names: &HouseNames, last: u8| {
            let own = Candidate::new(Kind::Host, ([192, 168, 1, last], 4820).into()).unwrap();
            (service(&names.of(&names.own, 20_000), &[own]).unwrap().as_resolved_service(), vec![own])
        };
        let mut at_work = AtWork { names: one, own, tell, found: None, told: Vec::new() };
        for last in 1..100 {
            at_work.on_service(&announced(&stranger, last).0, 20_000);
            at_work.on_service(&announced(&other, last).0, 20_000);
            at_work.tell_found();
            at_work.tell_found();
        }
        assert_eq!(news.try_recv().unwrap(), announced(&other, 1).1);
        assert!(news.try_recv().is_err(), "one at a time");
        at_work.tell_found();
        assert_eq!(news.try_recv().unwrap(), announced(&other, 99).1, "the newest");
        at_work.on_service(&announced(&other, 99).0, 20_000);
        at_work.tell_found();
        assert!(news.try_recv().is_err(), "known");
    }

    #[test]
    fn what_is_remembered_is_counted() {
        let metrics = [("cached-ptr", 3), ("cached-addr", 4), ("timer", 5), ("respond", 1 << 40)];
        assert_eq!(records(&metrics.map(|(name, count)| (name.to_owned(), count)).into()), 12);
    }
}
