//! A listed peer in a call that answers in the name of an address that hears nothing of it.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::path::ways::{Candidate, Kind, Origin, Probe, TIMES};

use super::peer_in_call::{Got, in_call, socket, take};
use super::{Outcome, Testbed};

/// Time for which it goes on answering on its own way as well, and for which it does not.
const BOTH: Duration = Duration::from_secs(3);
const SILENT: Duration = Duration::from_secs(12);
/// Time between two questions of its own.
const ASKS: Duration = Duration::from_millis(100);
/// Guesses of each round, the newest ones.
const GUESSES: usize = 8;

/// Tells an address, answers for it with all that it hears on its own way, falls silent there, and counts what comes to the
/// address.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    // What comes there is only counted: the peer sees nothing of it, as of one whose source it forges.
    let third = socket(Ipv4Addr::new(127, 88, 0, 1))?;
    let address = third.local_addr()?;
    let ((got, came), mut victim) = in_call(testbed, async |peer, victim| {
        victim.begin();
        let (began, mut asked) = (Instant::now(), None);
        let (mut got, mut came, mut number, mut guesses) = (Got::default(), 0, 0, Vec::new());
        while began.elapsed() < BOTH + SILENT {
            if asked.is_none_or(|asked: Instant| asked.elapsed() >= ASKS) {
                asked = Some(Instant::now());
                number += 1;
                let candidates =
                    [peer.front.local_addr()?, address].map(|to| Candidate::new(Kind::ServerReflexive, to));
                let candidates = candidates.into_iter().flatten().collect();
                // One in its own name tells the address, one comes from there.
                let tells = Probe::Question { number, nonce: number, candidates };
                if began.elapsed() < BOTH {
                    peer.say(&peer.front, &tells, 0)?;
                }
                number += 1;
                came += peer.say(&third, &Probe::Question { number, nonce: number, candidates: Vec::new() }, 0)?;
            }
            for probe in peer.probes() {
                let Probe::Question { number, nonce, .. } = probe else { continue };
                guesses.extend([nonce, number, number + 1, number + 2, nonce.wrapping_add(1)]);
                if began.elapsed() < BOTH {
                    peer.say(&peer.front, &Probe::Answer(nonce), 0)?;
                }
            }
            if began.elapsed() >= BOTH {
                peer.fall_silent();
            }
            for guess in guesses.iter().rev().take(GUESSES) {
                came += peer.say(&third, &Probe::Answer(*guess), 0)?;
            }
            take(&third, &mut got)?;
            victim.look();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok((got, came as u64))
    })?;
    let mut outcome = victim.outcome()?;
    outcome.note = format!(
        "{} packets, {} bytes to the address, {:.2} Mbit/s of the call",
        got.packets,
        got.bytes,
        8.0 * got.of_call as f64 / 1e6 / SILENT.as_secs_f64()
    );
    outcome.expect(got.packets > 0, "the address was not asked: nothing was tried");
    outcome.at_most("bytes of the call to the address", Some(got.of_call as f64), 0.0);
    let told = Origin::Call.of_each().map_or(0, |each| each.within(BOTH + SILENT));
    outcome.at_most("bytes to the address", Some(got.bytes as f64), (told + TIMES * came) as f64);
    Ok(outcome)
}
