//! A listed peer in a call that tells ever new addresses of others.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::Result;
use common::path::ways::{ADDRESSES_MAX, Candidate, Kind, Origin, Probe};

use super::peer_in_call::{Got, in_call, socket, take};
use super::{Outcome, Testbed};

/// Time for which it tells, and for which is counted afterwards.
const TELLS: Duration = Duration::from_secs(10);
const AFTER: Duration = Duration::from_secs(3);
/// Questions each millisecond.
const AT_ONCE: u64 = 2;

/// Tells eight new addresses in each of thousands of questions a second, and counts what comes to all of them.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let third = socket(Ipv4Addr::UNSPECIFIED)?;
    let port = third.local_addr()?.port();
    let ((got, said), mut victim) = in_call(testbed, async |peer, victim| {
        victim.begin();
        let (began, mut got, mut said, mut number) = (Instant::now(), Got::default(), 0, 0);
        while began.elapsed() < TELLS + AFTER {
            for _ in 0..AT_ONCE {
                if began.elapsed() < TELLS {
                    number += 1;
                    let address = |n: u64| {
                        let [.., b, c, d] = (ADDRESSES_MAX as u64 * number + n).to_be_bytes();
                        // Of the loopback's, those that nothing else of the test has.
                        SocketAddr::from(([127, 64 | b, c, d], port))
                    };
                    let all =
                        (0..ADDRESSES_MAX as u64).filter_map(|n| Candidate::new(Kind::ServerReflexive, address(n)));
                    let question = Probe::Question { number, nonce: number, candidates: all.collect() };
                    said += peer.say(&peer.front, &question, 0)? as u64;
                }
            }
            take(&third, &mut got)?;
            victim.look();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok((got, said))
    })?;
    let mut outcome = victim.outcome()?;
    let seconds = (TELLS + AFTER).as_secs_f64();
    outcome.note = format!(
        "{:.0} kB/s told, {:.0} packets and {:.1} kB/s to others",
        said as f64 / 1e3 / TELLS.as_secs_f64(),
        got.packets as f64 / seconds,
        got.bytes as f64 / 1e3 / seconds
    );
    let most = Origin::Call.quota().within(TELLS + AFTER);
    outcome.expect(said > 50_000, format!("only {said} bytes were told"));
    outcome.expect(got.packets > 0, "no address was asked: nothing was tried");
    outcome.at_most("bytes to others", Some(got.bytes as f64), most as f64);
    Ok(outcome)
}
