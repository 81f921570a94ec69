//! Strangers at a machine that waits to be introduced, which takes any key until the ticket's secret is proved.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use common::config::{PublicKey, parse_peers};
use common::reach::{Introduced, MAC_BYTES, Message, Ticket};
use net::identity::Identity;
use net::tls::Protocol;

use super::beside::{CallerAct, callers};
use super::{Outcome, Testbed, weak_key};
use crate::flood;
use crate::flood::Flood;
use crate::hostile::{self, AtWork};

/// Strangers, each with an address.
const STRANGERS: u8 = 64;
/// Datagrams of junk a second.
const JUNK: u32 = 10_000;
/// Time from the strangers' begin to the friend's `join`, and the longest that this may take.
const BEFORE: Duration = Duration::from_secs(2);
const SPAN: Duration = Duration::from_secs(8);
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
    let mut invite = testbed.plain_as("sender", "sender")?;
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
    let strangers = strangers(target, parsed.key);
    victim.watch(BEFORE);
    let in_time = victim.ended()?.is_none();
    let joined = Instant::now();
    let mut friend = testbed.start(
        "receiver",
        testbed.plain_as("receiver", "receiver")?.arg("--config").arg(&theirs).args(["join", &ticket, "host"]),
    )?;
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
    outcome.expect((own, code) == (0, 0), format!("exit codes {own} and {code}: {}", friend.said()));
    let known = parse_peers(std::fs::read_to_string(&config)?.trim_start_matches(QUIET))?.peers;
    let keys: Vec<_> = known.into_iter().filter_map(|peer| peer.public_key).collect();
    outcome.expect(keys == [testbed.key("receiver")?], format!("these are remembered: {}", keys.join(", ")));
    Ok(outcome)
}

/// Lets strangers call, each with a key of its own but one that signs for a key that anybody can sign for. In turn they say
/// nothing, a wrong proof, that they have remembered this machine, and the longest length with half of a message.
fn strangers(target: SocketAddr, host: PublicKey) -> AtWork<u64> {
    let proof = Message::Introduced(Introduced { mac: [7; MAC_BYTES], candidates: Vec::new(), name: String::new() });
    let says = vec![vec![], proof.encode(), Message::Remembered.encode(), vec![1, 0, 1]];
    AtWork::start(move |stop| {
        callers(STRANGERS, target, stop, CallerAct::Say(Arc::new(says)), |number| {
            let own = Identity::generate()?;
            let key = if number == 1 { weak_key::key()? } else { own.certified_key()? };
            hostile::client_as(key, host, Protocol::Introduction)
        })
    })
}
