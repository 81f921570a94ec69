//! Somebody who has seen a knock of a friend sends it again, with the source of a third party.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::path::ways::TIMES;

use super::peer_in_call::{Got, calling, friend, socket, take};
use super::{Outcome, Testbed};
use crate::daemons::Daemon;

/// First byte of a knock.
const KNOCK: u8 = 0x0d;
/// Time within which a friend who looks for the other knocks.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for which is counted, and time between two copies, after the first.
const COUNTS: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_secs(1);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A program to which a knock is sent again, and the third party in whose name.
struct Scene {
    role: &'static str,
    knock: Vec<u8>,
    target: SocketAddr,
    victim: Daemon,
    third: UdpSocket,
    got: Got,
}

impl Scene {
    /// Takes a knock at an address at which the program's side was once, and starts the other side.
    fn new(testbed: &Testbed, role: &'static str, friend: &str) -> Result<Self> {
        let former = socket(Ipv4Addr::LOCALHOST)?;
        let knock = {
            let (_, _friend) = calling(testbed, "friend", friend, "sender", &former.local_addr()?.to_string())?;
            let (began, mut buffer) = (Instant::now(), [0; 2_048]);
            loop {
                match former.recv(&mut buffer) {
                    Ok(count) if buffer[0] == KNOCK => break Some(buffer[..count].to_vec()),
                    _ if began.elapsed() > PATIENCE => break None,
                    _ => {}
                }
            }
        };
        let knock = knock.context("the friend does not knock")?;
        let (target, mut victim) = calling(testbed, role, "sender", friend, "192.0.2.1:9")?;
        victim.begin();
        let third = socket(Ipv4Addr::new(127, 88, 0, 2))?;
        Ok(Self { role, knock, target, victim, third, got: Got::default() })
    }
}

/// Takes a knock at an address at which the other was once, and sends it to the other from elsewhere: to the side that dials,
/// and to the one that waits.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let mut scenes = Vec::new();
    for (role, is_smaller) in [("dials", false), ("waits", true)] {
        scenes.push(Scene::new(testbed, role, &friend(testbed, is_smaller)?)?);
    }
    let (began, mut sent) = (Instant::now(), 0);
    while began.elapsed() < COUNTS {
        let is_due = began.elapsed() >= AGAIN * sent;
        sent += u32::from(is_due);
        for scene in &mut scenes {
            if is_due {
                scene.third.send_to(&scene.knock, scene.target)?;
            }
            take(&scene.third, &mut scene.got)?;
            scene.victim.look();
        }
        std::thread::sleep(LOOK);
    }
    let (mut outcome, mut notes) = (Outcome::default(), Vec::new());
    for Scene { role, knock, mut victim, got, .. } in scenes {
        let figures = victim.outcome()?;
        notes.push(format!(
            "{sent} copies of {} bytes to the side that {role}: {} bytes to the third party, x {:.1} of the first",
            knock.len(),
            got.bytes,
            got.bytes as f64 / knock.len() as f64
        ));
        let most = TIMES * knock.len() as u64;
        outcome.expect(got.packets > 0, format!("the side that {role} has not answered: nothing was tried"));
        outcome.at_most(&format!("bytes by the side that {role}"), Some(got.bytes as f64), most as f64);
        outcome.growth_mb = larger(outcome.growth_mb, figures.growth_mb);
        outcome.cpu_s = larger(outcome.cpu_s, figures.cpu_s);
        outcome.log_lines = outcome.log_lines.max(figures.log_lines);
        outcome.exit_code = outcome.exit_code.or(figures.exit_code);
    }
    outcome.note = notes.join("; ");
    Ok(outcome)
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}
