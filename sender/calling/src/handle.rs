//! The parts of a call that a window shows and steers.

use std::sync::{Arc, Mutex};

use common::config::PublicKey;
use net::link::{HangUp, Obstacle};
use net::lock::lock;
use shell::settings::{LatencyLimit, OwnSide, TalkSide};
use showing::handover::{LinkSnapshot, LinkView};
use showing::sound::Audible;

use crate::recordings::Recordings;

/// The parts of a call that a window shows and steers. Clones are of the same call; each may be used on any thread, also when it has ended.
#[derive(Clone)]
pub struct Handle {
    /// The picture that is sent, its rate and its effects.
    pub own: OwnSide,
    /// Time for which missing parts of a picture are waited for.
    pub latency_limit: LatencyLimit,
    /// The sound of the call, where there is any.
    pub sound: Option<Audible>,
    /// Short texts, and what each side says of its picture and its recording.
    pub talk: TalkSide,
    /// The recordings of the call.
    pub recordings: Recordings,
    pub(crate) hang_up: HangUp,
    pub(crate) view: Arc<Mutex<LinkView>>,
}

/// Stage of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The other machine is looked for; the obstacle is what keeps the two apart, as far as is known.
    Looking(Option<Obstacle>),
    /// The other machine has proved its key and has not taken the call yet.
    Ringing,
    /// Both have greeted.
    Connected,
}

impl Handle {
    /// Ends the call: the other side is told.
    pub fn hang_up(&self) {
        self.hang_up.hang_up();
    }

    /// Ends all that there is with the machine of this key, which is not known any more: the call with it, or that it is told of one.
    pub fn remove(&self, key: PublicKey) {
        self.hang_up.remove(key);
    }

    /// Returns true if the other side has said goodbye, and is not back.
    pub fn has_left(&self) -> bool {
        let snapshot = lock(&self.view).snapshot;
        snapshot.peer.is_none() && snapshot.left.is_some()
    }

    /// Returns the names of those who have called meanwhile and were told that this side is in a call, each once.
    pub fn take_called(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.view).told_busy)
    }

    /// Returns how far the call is now.
    pub fn stage(&self) -> Stage {
        let snapshot = lock(&self.view).snapshot;
        match snapshot {
            LinkSnapshot { greeted: true, .. } => Stage::Connected,
            LinkSnapshot { rings: true, .. } => Stage::Ringing,
            LinkSnapshot { obstacle, .. } => Stage::Looking(obstacle),
        }
    }
}
