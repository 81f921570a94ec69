//! The publisher: a thread that composes and codes, of low priority, and one that talks with the relay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use moq_net::{origin, time};
use net::clock;
use net::failure::Failure;
use net::link::LiveRate;
use shell::tap::PictureTap;
use shell::threads::{Ending, join, spawn};
use tokio::sync::oneshot;

use crate::relay::{self, RelayState};
use crate::show::Show;
use crate::sound::{self, SoundTap};
use crate::target::Target;
use crate::wishes::Wishes;

/// Added to the niceness of the thread that codes: what the call computes goes first.
const NICE: i32 = 10;
/// Longest sleep of that thread: sound comes in periods of a few milliseconds.
const SLEEP: Duration = Duration::from_millis(10);
/// Time that the relay has to hear of the end.
const FAREWELL: Duration = Duration::from_millis(300);

/// Places at which a call's pictures and sound go by, for whoever publishes them.
#[derive(Debug)]
pub struct Taps {
    /// Of each player, the host first.
    pub pictures: Vec<PictureTap>,
    /// Of the host's card.
    pub sound: SoundTap,
}

/// A publisher at work. Nothing of the call waits for it, and nothing that happens to it ends the call.
pub struct Publisher {
    coding: Option<Ending>,
    relay: Option<Ending>,
    is_over: Arc<AtomicBool>,
    leave: Option<oneshot::Sender<()>>,
    state: Arc<RelayState>,
}

impl Publisher {
    /// Starts it. `rate`: what the call's pictures take of the line, as its rate control says; none: there is no call beside.
    pub fn start(wishes: Wishes, rate: Option<LiveRate>) -> Result<(Self, Taps), Failure> {
        wishes.target.check(clock::unix_ms() / 1000).map_err(Failure::usage)?;
        let (sound, mixer) = sound::tap();
        let pictures: Vec<_> = (0..wishes.players.max(1)).map(|_| PictureTap::default()).collect();
        let (origin, keeper) = relay::origin();
        let state = Arc::new(RelayState::default());
        let is_over = Arc::new(AtomicBool::new(false));
        let (leave, leaves) = oneshot::channel();
        let relay = {
            let (target, origin, state) = (wishes.target.clone(), origin.clone(), Arc::clone(&state));
            spawn("audience", move || talk(target, origin, keeper, state, leaves))?
        };
        let (made, making) = mpsc::channel();
        let coding = {
            let (is_over, state, pictures) = (Arc::clone(&is_over), Arc::clone(&state), pictures.clone());
            spawn("publish", move || {
                // Where the system refuses, it is one thread among others.
                let _ = rustix::process::nice(NICE);
                let show = Show::new(&wishes, &origin, pictures, mixer, state, rate);
                let mut show = match show {
                    Ok(show) => {
                        let _ = made.send(Ok(()));
                        show
                    }
                    Err(failure) => {
                        let _ = made.send(Err(failure));
                        return Ok(());
                    }
                };
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::park_timeout(SLEEP);
                    if let Err(error) = show.turn(clock::now()) {
                        tracing::warn!("no audience from now on: {error}");
                        break;
                    }
                }
                show.end();
                Ok(())
            })?
        };
        making.recv().map_err(|_| Failure::device("the publish thread broke down"))??;
        let (coding, relay) = (Some(coding), Some(relay));
        Ok((Self { coding, relay, is_over, leave: Some(leave), state }, Taps { pictures, sound }))
    }

    /// Returns how the way to the relay is.
    pub fn state(&self) -> &RelayState {
        &self.state
    }

    /// Tells the audience that it is over, and ends.
    pub fn end(mut self) -> Result<(), Failure> {
        self.is_over.store(true, Ordering::Relaxed);
        self.coding.iter().for_each(|coding| coding.thread().unpark());
        let coded = self.coding.take().map_or(Ok(()), join);
        if let Some(leave) = self.leave.take() {
            let _ = leave.send(());
        }
        coded.and(self.relay.take().map_or(Ok(()), join))
    }
}

/// A call that cannot begin leaves no audience behind: its threads end by themselves.
impl Drop for Publisher {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Runs the network's side until `leaves`.
fn talk(
    target: Target,
    origin: origin::Producer,
    keeper: origin::Driver,
    state: Arc<RelayState>,
    leaves: oneshot::Receiver<()>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::network(format!("the network cannot be used: {error}")))?;
    runtime.block_on(async {
        let farewell = async {
            let _ = leaves.await;
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            () = relay::keep(target, origin, state) => std::future::pending().await,
            _ = time::run(keeper) => std::future::pending().await,
            () = farewell => {}
        }
    });
    runtime.shutdown_background();
    Ok(())
}
