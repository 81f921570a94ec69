//! The way to the relay: a session that is begun again whenever it ends, and a look from outside whether the relay shows the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use moq_net::{Client, Session, cache, origin, time};
use net::{clock, limited};
use web_transport_quinn::quinn;

use crate::dial::{DialError, Dialler};
use crate::target::Target;

/// Bytes of groups that are kept, and how long.
const POOL_BYTES: u64 = 4 * 1024 * 1024;
/// See [`POOL_BYTES`].
const POOL_TIME: Duration = Duration::from_secs(2);
/// Longest time for the relay's greeting.
const GREETING: Duration = Duration::from_secs(3);
/// Time in which a relay shows a call that it takes.
const SHOWN: Duration = Duration::from_secs(4);
/// Time between two looks at what the connection has sent.
const LOOK: Duration = Duration::from_millis(50);
/// Streams that the relay may have open to a publisher, who takes nothing.
const STREAMS: u32 = 16;
/// Rest after a session; doubled after each that the relay did not take, up to the second.
const REST: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// The relay's view of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Seen {
    /// Nobody has looked yet, or the token does not allow to.
    Unknown,
    /// It shows the call.
    Yes,
    /// It has taken the call and shows it to nobody: the token is for another name.
    No,
}

/// State of the way to the relay, which its task writes and others read.
#[derive(Debug, Default)]
pub struct RelayState {
    connected: AtomicBool,
    /// Sessions that were begun, and attempts that have failed.
    sessions: AtomicU64,
    failures: AtomicU64,
    /// Bytes that this connection has sent.
    sent: AtomicU64,
    seen: AtomicU8,
}

impl RelayState {
    /// Returns true while a relay has greeted.
    pub fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// Returns the number of sessions that have begun.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Returns the number of attempts that have failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Returns what a look from outside has found.
    pub fn seen(&self) -> Seen {
        match self.seen.load(Ordering::Relaxed) {
            1 => Seen::Yes,
            2 => Seen::No,
            _ => Seen::Unknown,
        }
    }

    /// Returns the bytes that the connection of now has sent; none: there is none.
    pub(crate) fn sent(&self) -> Option<u64> {
        self.is_connected().then(|| self.sent.load(Ordering::Relaxed))
    }

    fn set_seen(&self, seen: Seen) {
        self.seen.store(seen as u8, Ordering::Relaxed);
    }
}

/// Returns the place of broadcasts, which the driver keeps.
pub(crate) fn origin() -> (origin::Producer, origin::Driver) {
    let mut config = origin::Config::default();
    config.pool = cache::Pool::new(cache::Config::default().with_capacity(POOL_BYTES).with_expiry(POOL_TIME));
    origin::Producer::new(config)
}

/// Keeps a session with the relay for as long as the task runs. Nothing that the relay does ends it.
pub(crate) async fn keep(target: Target, origin: origin::Producer, state: Arc<RelayState>) {
    let dialler = match Dialler::new(target.clone(), STREAMS) {
        Ok(dialler) => dialler,
        Err(error) => {
            tracing::warn!("no audience: {error}");
            return;
        }
    };
    let mut rest = REST[0];
    loop {
        if let Err(error) = target.check(clock::unix_ms() / 1000) {
            limited!(warn, "no audience: {error}");
        }
        let failed = |error: &DialError| {
            state.failures.fetch_add(1, Ordering::Relaxed);
            limited!(warn, "the audience's relay cannot be reached ({target}): {error}; trying on");
        };
        let connection = dialler.dial(failed).await;
        match session(&dialler, &connection, &target, &origin, &state).await {
            Ok(why) => {
                rest = REST[0];
                limited!(info, "the audience's relay has ended the session: {why}; dialling again");
            }
            Err(why) => {
                rest = (2 * rest).min(REST[1]);
                state.failures.fetch_add(1, Ordering::Relaxed);
                let token = match why.contains("unauthorized") {
                    true => "its token is wrong, has ended or was taken back: ask the relay's host for a new one; ",
                    false => "",
                };
                limited!(warn, "the audience's relay does not take the call: {token}{why}; trying on");
            }
        }
        state.connected.store(false, Ordering::Relaxed);
        connection.close(0_u8.into(), b"");
        tokio::time::sleep(rest).await;
    }
}

/// Returns a connection as the protocol's session; none if the other side takes no datagrams, without which the library breaks down.
pub(crate) fn raw(connection: &quinn::Connection) -> Option<web_transport_quinn::Session> {
    connection.max_datagram_size()?;
    Some(web_transport_quinn::Session::raw(connection.clone()))
}

/// Greets and serves the relay until it ends; returns why, or why it was not begun.
async fn session(
    dialler: &Dialler,
    connection: &quinn::Connection,
    target: &Target,
    origin: &origin::Producer,
    state: &Arc<RelayState>,
) -> Result<moq_net::Error, String> {
    let client = Client::new().with_publisher(origin).with_path(target.path());
    let raw = raw(connection).ok_or("it takes no datagrams")?;
    let greeted = tokio::time::timeout(GREETING, client.connect(Instant::now(), raw)).await;
    let (session, driver) = greeted.map_err(|_| "no greeting")?.map_err(|error| error.to_string())?;
    state.sent.store(0, Ordering::Relaxed);
    let driven = time::run(driver);
    tokio::pin!(driven);
    let witness = witness(dialler, connection, target);
    tokio::pin!(witness);
    let mut looks = tokio::time::interval(LOOK);
    let (mut has_looked, mut turns) = (false, 0_u64);
    loop {
        tokio::select! {
            why = &mut driven => {
                let reason = connection.close_reason();
                // One that was refused has been sent away at once.
                let is_short = turns < 4;
                return match (is_short, reason) {
                    (true, Some(reason)) => Err(format!("{why} ({reason})")),
                    (true, None) => Err(why.to_string()),
                    (false, _) => Ok(why),
                };
            }
            seen = &mut witness, if !has_looked => {
                has_looked = true;
                tell(seen, target, state);
            }
            _ = looks.tick() => {
                turns += 1;
                if turns == 4 {
                    state.sessions.fetch_add(1, Ordering::Relaxed);
                    limited!(info, "the audience's relay has taken {target}");
                }
                // Before, it may still send us away.
                state.connected.store(turns >= 4, Ordering::Relaxed);
                state.sent.store(connection.stats().udp_tx.bytes, Ordering::Relaxed);
                let _: &Session = &session;
            }
        }
    }
}

fn tell(seen: Seen, target: &Target, state: &RelayState) {
    state.set_seen(seen);
    match seen {
        Seen::Yes => tracing::debug!("the relay shows {target}"),
        Seen::No => limited!(
            warn,
            "the relay has taken the call and shows it to nobody: its token is for another name than {:?}; ask the relay's host for a token of \
             this name",
            target.name
        ),
        Seen::Unknown => tracing::debug!("the token does not allow to look whether the relay shows {target}"),
    }
}

/// Looks at the relay as one who watches.
async fn witness(dialler: &Dialler, connection: &quinn::Connection, target: &Target) -> Seen {
    let Ok(connection) = dialler.again(connection).await else { return Seen::Unknown };
    let (origin, keeper) = origin();
    let client = Client::new().with_subscriber(origin.clone()).with_path(target.path());
    let Some(raw) = raw(&connection) else { return Seen::Unknown };
    let greeted = tokio::time::timeout(GREETING, client.connect(Instant::now(), raw)).await;
    let Ok(Ok((_session, driver))) = greeted else { return Seen::Unknown };
    let consumer = origin.consume();
    let seen = tokio::select! {
        // Who may not watch is sent away.
        _ = time::run(driver) => Seen::Unknown,
        _ = time::run(keeper) => Seen::Unknown,
        seen = tokio::time::timeout(SHOWN, consumer.routed(target.name.as_str())) => match seen {
            Ok(Some(_)) => Seen::Yes,
            Ok(None) => Seen::Unknown,
            Err(_) => Seen::No,
        },
    };
    connection.close(0_u8.into(), b"");
    seen
}
