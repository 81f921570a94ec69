//! Ports that the house's router opens when it is asked: UPnP, and PCP or NAT-PMP, side by side, each on a thread of its own.
//!
//! A router that does not answer, or answers with what cannot be, costs nothing but its candidate: nobody waits for it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::path::ways::{Candidate, Kind};
use common::reach::Opened;
use crab_nat::pcp::{self, BaseMapRequest};
use crab_nat::{
    GATEWAY_PORT, InternetProtocol, MappingFailure, PortMapping, PortMappingOptions, PortMappingType, TimeoutConfig,
    VersionCode, natpmp,
};
use igd_next::aio::Gateway;
use igd_next::aio::tokio::{Tokio, search_gateway};
use igd_next::{AddPortError, PortMappingProtocol, SearchOptions};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::proof::random;
use crate::clock;
use crate::wait;

/// Time for which the router keeps a port open unless it is asked again.
const LEASE: Duration = Duration::from_secs(600);
/// Time after which it is asked again, if it keeps the port for as long.
const RENEW: Duration = Duration::from_secs(240);
/// Time after which it is asked at the soonest, also if it has not opened one.
const AGAIN: Duration = Duration::from_secs(60);
/// Longest time in which a router shows that it speaks UPnP.
const SEARCH: Duration = Duration::from_secs(2);
/// A question by PCP or NAT-PMP goes again after this time, then after twice as long each time.
const QUESTION: TimeoutConfig =
    TimeoutConfig { initial_timeout: Duration::from_millis(250), max_retries: 2, max_retry_timeout: None };
/// Longest time for asking for a port.
const ASKING: Duration = Duration::from_secs(20);
/// Longest time, at the end, for a router to answer what it was asked last, and to close the port. Those of homes may need a
/// second for either, and a program that does not wait for them leaves the port open.
const LAST_ANSWER: Duration = longest(Duration::from_secs(2));
const CLOSING: Duration = longest(Duration::from_secs(1));
/// Time for a router that has not answered yet to hear that the port is not wanted any more.
const UNHEARD: TimeoutConfig =
    TimeoutConfig { initial_timeout: Duration::from_millis(250), max_retries: 0, max_retry_timeout: None };

/// As it is, but in this crate's own tests, where only a hang takes too long, on however busy a machine.
const fn longest(normal: Duration) -> Duration {
    if cfg!(test) { Duration::from_secs(60) } else { normal }
}

/// Answer of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Answer {
    /// Nothing yet.
    #[default]
    Awaited,
    /// No, or not in time, or with what cannot be.
    No,
    /// Packets to that address come here.
    Open(Opened),
}

/// Keeps a port open at the router, as far as it does that, until dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    asked: Vec<Asked>,
}

/// One way of asking.
#[derive(Debug)]
struct Asked {
    answer: watch::Receiver<Answer>,
    stop: Option<oneshot::Sender<()>>,
    ended: Receiver<()>,
}

impl Asked {
    fn answer(&self) -> Answer {
        match (*self.answer.borrow(), self.answer.has_changed()) {
            // A thread that is gone answers no more.
            (Answer::Awaited, Err(_)) => Answer::No,
            (answer, _) => answer,
        }
    }
}

impl Mapping {
    /// Asks for the UDP port of this number from now on.
    pub(super) fn start(port: u16) -> Self {
        let upnp = ask("upnp", Upnp { port, search, router: None, held: None });
        let pcp = ask("pcp", Pcp::new(port, default_router, QUESTION));
        Self { asked: [upnp, pcp].into_iter().flatten().collect() }
    }

    /// Returns the address outside at which this machine is reached, if a router has opened a port.
    pub(super) fn opened(&self) -> Option<Opened> {
        self.all().next()
    }

    /// Returns the addresses outside at which this machine is reached.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        self.all().filter_map(|opened| Candidate::new(Kind::Mapped, opened.at)).collect()
    }

    fn all(&self) -> impl Iterator<Item = Opened> {
        self.asked.iter().filter_map(|asked| match asked.answer() {
            Answer::Open(opened) => Some(opened),
            Answer::Awaited | Answer::No => None,
        })
    }

    /// Returns true once there is nothing more to wait for.
    pub(super) fn is_complete(&self) -> bool {
        self.opened().is_some() || self.asked.iter().all(|asked| asked.answer() != Answer::Awaited)
    }

    /// Waits until there is another answer.
    pub(super) async fn changed(&mut self) {
        match self.asked.as_mut_slice() {
            [one, other] => tokio::select! {
                () = wait::change(&mut one.answer) => {}
                () = wait::change(&mut other.answer) => {}
            },
            [one] => wait::change(&mut one.answer).await,
            _ => std::future::pending().await,
        }
    }
}

impl Drop for Mapping {
    /// Ends the asking, and waits until each opened port is closed: also one that has been asked for and of which the router
    /// has not said yet that it is open, or has said what cannot be.
    fn drop(&mut self) {
        for stop in self.asked.iter_mut().filter_map(|asked| asked.stop.take()) {
            let _ = stop.send(());
        }
        let end = clock::now() + LAST_ANSWER + CLOSING;
        for asked in &self.asked {
            let _ = asked.ended.recv_timeout(clock::until(end));
        }
    }
}

/// A way of asking a router. Every call ends in time.
trait Opener {
    /// Finds the router. Nothing is open yet, so this may be given up at any moment.
    fn find(&mut self) -> impl Future<Output = Result<(), String>>;
    /// Opens the port or keeps it open; returns the address outside, and how long the router keeps it. An error is a
    /// sentence.
    fn open(&mut self) -> impl Future<Output = Result<(Opened, Duration), String>>;
    /// Longest time for which [`Opener::open`] goes on at the end. After that the port can be closed though it has not ended.
    const LAST_ANSWER: Duration;
    /// Closes it.
    fn close(&mut self) -> impl Future<Output = ()>;
}

/// Asks on a thread; none: the system has no thread.
fn ask(name: &str, opener: impl Opener + Send + 'static) -> Option<Asked> {
    let (tell, answer) = watch::channel(Answer::Awaited);
    let (stop, stopped) = oneshot::channel();
    let (end, ended) = channel();
    let run = move || {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(keep(opener, tell, stopped)),
            Err(error) => tracing::debug!("no router is asked: {error}"),
        }
        let _ = end.send(());
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(run).ok()?;
    Some(Asked { answer, stop: Some(stop), ended })
}

async fn keep<O: Opener>(mut opener: O, tell: watch::Sender<Answer>, mut stopped: oneshot::Receiver<()>) {
    loop {
        let found = tokio::select! {
            biased;
            _ = &mut stopped => return opener.close().await,
            found = opener.find() => found,
        };
        let outcome = match found {
            Ok(()) => {
                let mut opening = std::pin::pin!(opener.open());
                tokio::select! {
                    outcome = &mut opening => Some(outcome),
                    // What the router has not answered yet it may still open.
                    _ = &mut stopped => timeout(O::LAST_ANSWER, opening).await.ok().and(None),
                }
            }
            Err(error) => Some(Err(error)),
        };
        let Some(outcome) = outcome else { return opener.close().await };
        let (answer, pause) = judge(outcome);
        let is_new = tell.send_if_modified(|last| std::mem::replace(last, answer) != answer);
        if let (true, Answer::Open(Opened { at, by })) = (is_new, answer) {
            tracing::info!("the router has opened {at} to this machine ({by})");
        }
        if timeout(pause, &mut stopped).await.is_ok() {
            return opener.close().await;
        }
    }
}

/// Returns what an outcome is worth, and when to ask again. Routers err, and some lie.
fn judge(outcome: Result<(Opened, Duration), String>) -> (Answer, Duration) {
    match outcome {
        Ok((opened, kept)) if is_outside(opened.at) && !kept.is_zero() => {
            (Answer::Open(opened), (kept / 2).clamp(AGAIN, RENEW))
        }
        Ok((Opened { at, by }, kept)) => {
            tracing::debug!("the router says that it has opened {at} for {kept:?} ({by}): nobody outside finds that");
            (Answer::No, RENEW)
        }
        Err(error) => {
            tracing::debug!("the router has opened no port: {error}");
            (Answer::No, AGAIN)
        }
    }
}

/// A router behind another one gives an address of the network between them, at which nobody outside is reached.
fn is_outside(at: SocketAddr) -> bool {
    let is_outside = match at.ip().to_canonical() {
        IpAddr::V4(ip) => {
            let carrier = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
            !(ip.is_private() || ip.is_loopback() || ip.is_link_local() || carrier)
        }
        IpAddr::V6(ip) => !(ip.is_loopback() || ip.is_unique_local()),
    };
    is_outside && Candidate::new(Kind::Mapped, at).is_some()
}

/// The address of this machine's from which packets go to `to`.
fn own_address(to: SocketAddr) -> Result<IpAddr, String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(said)?;
    socket.connect(to).map_err(said)?;
    socket.local_addr().map(|address| address.ip()).map_err(said)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Settings of the search for a router with UPnP.
fn search() -> SearchOptions {
    let mut options = SearchOptions::default();
    (options.timeout, options.single_search_timeout) = (Some(SEARCH), Some(SEARCH));
    options
}

const UDP: PortMappingProtocol = PortMappingProtocol::UDP;
const IP_UDP: InternetProtocol = InternetProtocol::Udp;
/// Name of the port on the router's page.
const NAME: &str = "Duet";

struct Upnp<S> {
    port: u16,
    search: S,
    router: Option<Gateway<Tokio>>,
    /// The port outside.
    held: Option<u16>,
}

impl<S: Fn() -> SearchOptions> Upnp<S> {
    async fn try_open(&mut self) -> Result<(Opened, Duration), String> {
        let router = self.router.as_ref().ok_or("no router speaks UPnP")?;
        let outside = self.held.unwrap_or(self.port);
        let inside = SocketAddr::new(own_address(router.addr)?, self.port);
        let seconds = LEASE.as_secs() as u32;
        let outside = match router.add_port(UDP, outside, inside, seconds, NAME).await {
            Ok(()) => outside,
            // Some open ports for ever only; this one is closed at the end.
            Err(AddPortError::OnlyPermanentLeasesSupported) => {
                router.add_port(UDP, outside, inside, 0, NAME).await.map_err(said)?;
                outside
            }
            // It is another machine's of this house.
            Err(AddPortError::PortInUse) => router.add_any_port(UDP, inside, seconds, NAME).await.map_err(said)?,
            Err(error) => return Err(said(error)),
        };
        self.held = Some(outside);
        let ip = router.get_external_ip().await.map_err(said)?;
        Ok((Opened { at: SocketAddr::new(ip.to_canonical(), outside), by: "UPnP" }, LEASE))
    }
}

impl<S: Fn() -> SearchOptions> Opener for Upnp<S> {
    async fn find(&mut self) -> Result<(), String> {
        if self.router.is_none() {
            let found = in_time(ASKING, search_gateway((self.search)())).await?;
            self.router = Some(found.map_err(said)?);
        }
        Ok(())
    }

    async fn open(&mut self) -> Result<(Opened, Duration), String> {
        let outcome = in_time(ASKING, self.try_open()).await.flatten();
        if outcome.is_err() {
            self.close().await;
            // It may be another one next time.
            self.router = None;
        }
        outcome
    }

    /// Were the port closed over another connection meanwhile, the router might do that first.
    const LAST_ANSWER: Duration = LAST_ANSWER;

    async fn close(&mut self) {
        if let (Some(router), Some(outside)) = (&self.router, self.held.take()) {
            let _ = timeout(CLOSING, router.remove_port(UDP, outside)).await;
        }
    }
}

/// PCP, or NAT-PMP where the router knows no better or does not answer the first question.
struct Pcp<R> {
    port: u16,
    router: R,
    question: TimeoutConfig,
    /// By it the router knows whose port it is when it is asked again.
    nonce: Option<pcp::Nonce>,
    /// A router that has been asked and has not answered yet, and this machine's address there.
    unheard: Option<(Ipv4Addr, IpAddr)>,
    held: Option<PortMapping>,
}

impl<R: Fn() -> Option<Ipv4Addr>> Pcp<R> {
    fn new(port: u16, router: R, question: TimeoutConfig) -> Self {
        Self { port, router, question, nonce: None, unheard: None, held: None }
    }

    async fn try_open(&mut self) -> Result<(Opened, Duration), String> {
        let router = (self.router)().ok_or("this machine has no router")?;
        let own = own_address((router, GATEWAY_PORT).into())?;
        let port = NonZeroU16::new(self.port).ok_or("port 0 cannot be opened")?;
        let nonce = match self.nonce {
            Some(nonce) => nonce,
            None => {
                let word = || random().map(u32::from_le_bytes).map_err(|failure| failure.message);
                *self.nonce.insert([word()?, word()?, word()?])
            }
        };
        let outside = self.held.as_ref().map_or(port, PortMapping::external_port);
        let asking = |question| PortMappingOptions {
            external_port: Some(outside),
            lifetime_seconds: Some(LEASE.as_secs() as u32),
            timeout_config: Some(question),
        };
        let by_pcp = BaseMapRequest::new(router.into(), own, IP_UDP, port);
        let once = TimeoutConfig { max_retries: 0, ..self.question };
        self.unheard = Some((router, own));
        let asked = match pcp::port_mapping(by_pcp, Some(nonce), None, asking(once)).await {
            // Of the routers that know only NAT-PMP some say so, as they should, and others are silent.
            Err(pcp::Failure::UnsupportedVersion(VersionCode::NatPmp) | pcp::Failure::Timeout) => {
                match natpmp::port_mapping(router.into(), IP_UDP, port, asking(self.question)).await {
                    // It is slow, or the question was lost.
                    Err(natpmp::Failure::Timeout | natpmp::Failure::UnsupportedVersion(_)) => {
                        let asked = pcp::port_mapping(by_pcp, Some(nonce), None, asking(self.question)).await;
                        asked.map_err(MappingFailure::from)
                    }
                    asked => asked.map_err(MappingFailure::from),
                }
            }
            asked => asked.map_err(MappingFailure::from),
        };
        self.unheard = None;
        let mapping = self.held.insert(asked.map_err(said)?);
        let (ip, by) = match mapping.mapping_type() {
            PortMappingType::Pcp { external_ip, .. } => (external_ip, "PCP"),
            PortMappingType::NatPmp => {
                let ip = natpmp::external_address(router.into(), Some(self.question)).await.map_err(said)?;
                (ip.into(), "NAT-PMP")
            }
        };
        let at = SocketAddr::new(ip.to_canonical(), mapping.external_port().get());
        Ok((Opened { at, by }, Duration::from_secs(mapping.lifetime().into())))
    }

    /// Closes the port at a router that has not said that it has opened one, by both protocols: one datagram each, which
    /// comes there after the question.
    async fn take_back(&self, router: Ipv4Addr, own: IpAddr) {
        let (Some(nonce), Some(internal_port)) = (self.nonce, NonZeroU16::new(self.port)) else { return };
        let port = pcp::DropMappingRange::Single { internal_port, protocol: IP_UDP };
        let _ = tokio::join!(
            pcp::try_drop_mapping(router.into(), own, nonce, port, Some(UNHEARD)),
            natpmp::try_drop_mapping(router.into(), IP_UDP, Some(internal_port), Some(UNHEARD)),
        );
    }
}

impl<R: Fn() -> Option<Ipv4Addr>> Opener for Pcp<R> {
    async fn find(&mut self) -> Result<(), String> {
        Ok(())
    }

    async fn open(&mut self) -> Result<(Opened, Duration), String> {
        in_time(ASKING, self.try_open()).await.flatten()
    }

    /// A router that does not speak it never answers, and most do not.
    const LAST_ANSWER: Duration = Duration::ZERO;

    async fn close(&mut self) {
        if let Some((router, own)) = self.unheard.take() {
            self.take_back(router, own).await;
        }
        if let Some(mapping) = self.held.take() {
            let _ = timeout(CLOSING, mapping.try_drop()).await;
        }
    }
}

/// Goes on for no longer than `limit`.
async fn in_time<T>(limit: Duration, task: impl Future<Output = T>) -> Result<T, String> {
    timeout(limit, task).await.map_err(|_| format!("no answer in {limit:?}"))
}

/// Returns the router of the default route.
fn default_router() -> Option<Ipv4Addr> {
    router_in(&std::fs::read_to_string("/proc/net/route").ok()?)
}

/// Returns the router of the default route in the kernel's table.
fn router_in(table: &str) -> Option<Ipv4Addr> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (destination, router) = (fields.next()?, fields.next()?);
        let router = u32::from_str_radix(router, 16).ok().filter(|router| *router != 0)?;
        (destination == "00000000").then(|| Ipv4Addr::from(router.to_ne_bytes()))
    })
}

#[cfg(test)]
#[path = "mapping_tests.rs"]
mod tests;
