//! A stranger that shows somebody's key and cannot sign for it: whether the key is listed must show neither in the answer nor
//! in the time until it comes.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use net::identity::Identity;
use net::tls::{Protocol, spki};
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use super::{Outcome, Testbed};
use crate::hostile;

/// Addresses from which the stranger calls in turn: from each only some handshakes a second may fail.
const ADDRESSES: u8 = 200;
/// Handshakes with each key.
const HANDSHAKES: usize = 200;

/// Answers to handshakes with one key, and their times.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    /// Times from the first packet to the refusal, microseconds.
    us: Vec<f64>,
    /// Number of times that each answer came.
    answers: BTreeMap<String, usize>,
}

impl Refusals {
    /// Returns the time that this share of the handshakes took at most, microseconds.
    fn quantile(&self, share: f64) -> f64 {
        let mut us = self.us.clone();
        us.sort_by(f64::total_cmp);
        us.get((us.len() as f64 * share) as usize).copied().unwrap_or_default()
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ten, median, ninety, last] = [0.1, 0.5, 0.9, 0.99].map(|share| self.quantile(share));
        let answers: Vec<_> = self.answers.iter().map(|(answer, count)| format!("{count} x {answer}")).collect();
        write!(out, "{} | {ten:.0} | {median:.0} | {ninety:.0} | {last:.0} | {}", self.us.len(), answers.join(", "))
    }
}

/// Calls a receiver with both keys; the time is in the note, without a bar, since a busy machine has others.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let ([listed, other], mut outcome) = refusals(testbed, HANDSHAKES)?;
    let medians = [&listed, &other].map(|refusals| refusals.quantile(0.5));
    outcome.note = format!("medians {:.0} and {:.0} us for a listed key and another", medians[0], medians[1]);
    let (told, told_other) = (format!("{:?}", listed.answers), format!("{:?}", other.answers));
    outcome.expect(listed.answers == other.answers, format!("a listed key gets {told}, another {told_other}"));
    Ok(outcome)
}

/// Calls a receiver so often with a key that it lists and with one that it does not, without the private key of either;
/// returns the refusals, of the listed key first, and what they cost.
pub fn refusals(testbed: &Testbed, count: usize) -> Result<([Refusals; 2], Outcome)> {
    let (address, mut victim) = testbed.listening_receiver()?;
    let thief = Identity::generate()?.certified_key()?;
    let receiver = testbed.identity("receiver")?.public_key();
    let keys = [testbed.identity("sender")?.public_key(), Identity::generate()?.public_key()];
    let configs = keys.iter().map(|key| {
        let shown = CertifiedKey::new(vec![CertificateDer::from(spki(key))], Arc::clone(&thief.key));
        hostile::client_as(Arc::new(shown), receiver, Protocol::Call)
    });
    let configs: Vec<_> = configs.collect::<Result<_>>()?;
    victim.begin();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut refusals = [Refusals::default(), Refusals::default()];
    runtime.block_on(async {
        let endpoints =
            (1..=ADDRESSES).map(|last| hostile::endpoint(Ipv4Addr::new(127, 0, 1, last), configs[0].clone()));
        let endpoints: Vec<_> = endpoints.collect::<Result<_>>()?;
        for (number, endpoint) in endpoints.iter().cycle().take(count).enumerate() {
            // Neither key is always the first.
            let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
            for which in order {
                // Its own end of the handshake comes at no certain time before the refusal; so all of it is measured.
                let begun = Instant::now();
                let answer = match endpoint.connect_with(configs[which].clone(), address, "duet")?.await {
                    Ok(connection) => connection.closed().await,
                    Err(error) => error,
                };
                refusals[which].us.push(begun.elapsed().as_secs_f64() * 1e6);
                *refusals[which].answers.entry(answer.to_string()).or_default() += 1;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    Ok((refusals, victim.outcome()?))
}
