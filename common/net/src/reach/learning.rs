//! Addresses at which calls find a peer that was introduced, written down for the next one.

use std::net::SocketAddr;

use common::config::{LinkMode, Peer, SharedConfig};
use common::reach::Remembering;
use common::units::Timestamp;

use super::peers::PeersFile;
use crate::limited;

/// Places at which an introduced peer was found, for the next call.
#[derive(Clone, Debug)]
pub struct Learning {
    files: Vec<PeersFile>,
    remembering: Remembering,
}

impl Learning {
    /// Of the peer that `config` looks for; none if it looks for none that was introduced. It is listed beside this
    /// machine's key or in the configuration.
    pub fn of(config: &SharedConfig) -> Option<Self> {
        let LinkMode::Meet(meet) = &config.mode else { return None };
        let remembering = Remembering::new(meet.candidates.iter().map(|known| known.address));
        Some(Self { files: PeersFile::all(config), remembering })
    }

    /// A connection has begun.
    pub(crate) fn begin(&mut self) {
        self.remembering.begin();
    }

    /// Takes the address to which packets to `peer` go now, if the peer has proved that it receives there. What is worth it
    /// is written down, on another thread.
    pub(crate) fn look(&mut self, peer: &Peer, proved: Option<SocketAddr>, now: Timestamp) {
        let Some(address) = self.remembering.look(proved, now) else { return };
        let (files, peer) = (self.files.clone(), peer.clone());
        tokio::task::spawn_blocking(move || {
            for file in files {
                match file.learn(&peer.key, address) {
                    Ok(true) => return limited!(info, "{} is remembered at {address}", peer.name),
                    Ok(false) => {}
                    Err(failure) => limited!(warn, "the new address of {}, {address}: {failure}", peer.name),
                }
            }
        });
    }
}
