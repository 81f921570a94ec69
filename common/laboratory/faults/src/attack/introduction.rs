//! Strangers at a machine that waits to be introduced, which takes any key until the ticket's secret is proved.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use common::config::{PublicKey, parse_peers};
use common::reach::{Introduced, MAC_BYTES, Message, Ticket};
use net::identity::Identity;
use net::tls::Protocol;
use quinn::VarInt;

use super::{Outcome, Testbed, weak_key};
use crate::flood;
use crate::hostile;
use crate::scenario::fault::Flood;

/// Strangers of each kind, each with an address.
const STRANGERS: u8 = 16;
/// Datagrams of junk a second.
const JUNK: u32 = 10_000;
/// Time from the strangers' begin to the friend's `join`, and the longest that this may take.
const BEFORE: Duration = Duration::from_secs(2);
const SPAN: Duration = Duration::from_secs(8);
/// Longest that a stranger waits for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Message of a stranger after its handshake.
#[derive(Clone, Copy)]
enum Says {
    /// Nothing.
    Nothing,
    /// A wrong proof.
    WrongProof,
    /// That it has remembered this machine.
    Remembered,
    /// The longest length and half of a message.
    Half,
}

const ALL: [Says; 4] = [Says::Nothing, Says::WrongProof, Says::Remembered, Says::Half];

/// Nobody outside is asked for an address, and no router.
const QUIET: &str = "[reach]\nstun = []\nopen_port = false\n";

/// Lets strangers knock, call with keys of their own and with a weak one, and say what is no introduction, while the
/// friend who has the ticket joins.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let (config, ticket_file) = (testbed.file("sender.toml"), testbed.file("ticket"));
    let theirs = testbed.file("receiver.toml");
    for file in [&config, &theirs] {
        std::fs::write(file, QUIET)?;
    }
    let mut invite = testbed.plain("sender")?;
    let mut victim = testbed.start_into(
        "sender",
        invite.arg("--config").arg(&config).args(["invite", "friend"]),
        std::fs::File::create(&ticket_file)?.into(),
    )?;
    let mut ticket = None;
    victim.until("a ticket", || {
        let text = std::fs::read_to_string(&ticket_file)?;
        ticket = text.lines().find(|line| line.starts_with("duet-ticket-")).map(str::to_owned);
        Ok(ticket.is_some())
    })?;
    let ticket = ticket.context("a ticket")?;
    let parsed: Ticket = ticket.parse().map_err(|error| anyhow!("{error}"))?;
    let port = parsed.candidates.first().context("an address")?.address.port();
    let target = SocketAddr::from((Ipv4Addr::LOCALHOST, port));

    victim.begin();
    let began = Instant::now();
    let junk = flood::start(Flood::Junk, target, JUNK, SPAN)?;
    let strangers = Guests::start(target, parsed.key)?;
    victim.watch(BEFORE);
    let in_time = victim.daemon.ended()?.is_none();
    let joined = Instant::now();
    let mut friend = testbed
        .start("receiver", testbed.plain("receiver")?.arg("--config").arg(&theirs).args(["join", &ticket, "host"]))?;
    let code = friend.wait()?;
    let took = joined.elapsed();
    strangers.stop();
    let mut outcome = victim.outcome()?;
    let own = victim.wait()?;
    outcome.exit_code = Some(own);
    let calls = strangers.end()?;
    outcome.note = format!(
        "{calls} calls in {} s, {}; the friend in after {} ms",
        began.elapsed().as_secs(),
        junk.note(),
        took.as_millis()
    );
    outcome.expect(in_time, "it did not wait for the friend");
    outcome.expect((own, code) == (0, 0), format!("exit codes {own} and {code}: {}", friend.daemon.said()));
    let known = parse_peers(std::fs::read_to_string(&config)?.trim_start_matches(QUIET))?.peers;
    let keys: Vec<_> = known.into_iter().filter_map(|peer| peer.public_key).collect();
    outcome.expect(keys == [testbed.key("receiver")?], format!("these are remembered: {}", keys.join(", ")));
    outcome.expect_little_growth();
    outcome.expect_few_lines();
    Ok(outcome)
}

/// Strangers at work.
struct Guests {
    over: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    thread: JoinHandle<Result<()>>,
}

impl Guests {
    fn start(target: SocketAddr, host: PublicKey) -> Result<Self> {
        let (over, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (theirs, counted) = (Arc::clone(&over), Arc::clone(&calls));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut strangers = tokio::task::JoinSet::new();
                for number in 1..=STRANGERS {
                    for (kind, says) in ALL.into_iter().enumerate() {
                        let own = Identity::generate()?;
                        // One of them signs for a key that anybody can sign for.
                        let key = if kind == 1 && number == 1 { weak_key::key()? } else { own.certified_key()? };
                        let client = hostile::client_as(key, host, Protocol::Introduction)?;
                        let endpoint = hostile::endpoint(Ipv4Addr::new(127, 9, 1 + kind as u8, number), client)?;
                        let (over, calls) = (Arc::clone(&theirs), Arc::clone(&counted));
                        strangers.spawn(async move {
                            while !over.load(Ordering::Relaxed) {
                                // That it fails is what should happen.
                                let _ = tokio::time::timeout(ANSWER_MAX, call(&endpoint, target, says)).await;
                                calls.fetch_add(1, Ordering::Relaxed);
                                tokio::task::yield_now().await;
                            }
                        });
                    }
                }
                while !theirs.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(())
            })
        });
        Ok(Self { over, calls, thread })
    }

    fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Returns how often they have called.
    fn end(self) -> Result<u64> {
        self.thread.join().map_err(|_| anyhow!("the strangers broke down"))??;
        Ok(self.calls.load(Ordering::Relaxed))
    }
}

async fn call(endpoint: &quinn::Endpoint, target: SocketAddr, says: Says) -> Result<()> {
    let connection = endpoint.connect(target, "duet")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    let proof = Message::Introduced(Introduced { mac: [7; MAC_BYTES], candidates: Vec::new() });
    match says {
        Says::Nothing => {}
        Says::WrongProof => send.write_all(&proof.encode()).await?,
        Says::Remembered => send.write_all(&Message::Remembered.encode()).await?,
        Says::Half => send.write_all(&[1, 0, 1]).await?,
    }
    receive.read_exact(&mut [0]).await?;
    connection.close(VarInt::from_u32(0), b"");
    Ok(())
}
