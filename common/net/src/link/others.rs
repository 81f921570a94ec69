//! Machines that this one knows and does not call now: whoever of them calls is told that it is in a call, since it would hear
//! nothing otherwise at the port that the two have for each other.
//!
//! This side knocks seldom, only so that routers on the way let their knocks in; where it would dial, it dials whoever has
//! knocked, to say so. The router is not asked for a port for each of them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use common::config::{Meet, Peer, Turn};
use common::path::ways::{Candidate, Role};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::dial::accept_for_ever;
use super::meet::Meeting;
use super::obstacle::Obstacles;
use crate::identity::Identity;
use crate::quic::{Claim, CloseCode, Connection, EndpointOptions, QuicError};

/// Pause before the same machine is told again.
const AGAIN: Duration = Duration::from_secs(2);
/// Time between knocks: routers forget where something was sent after half a minute.
const KNOCK: Duration = Duration::from_secs(20);
/// The words with which a connection is closed.
const BUSY: &str = "connected to another machine";

/// Turns away each of `others` that calls, for ever, and tells `called` who it was. Must be called on a tokio runtime.
pub(super) fn turn_away(options: &EndpointOptions, identity: &Identity, others: &[Meet], called: &mpsc::Sender<Peer>) {
    for other in others {
        // Who starts a second call beside this one may have the port.
        let options = EndpointOptions { peers: vec![other.peer.clone()], claim: Claim::Yielding, ..options.clone() };
        // Where it is, it says by calling.
        let asks_nobody = Meet {
            candidates: Vec::new(),
            host: None,
            turn: Turn::default(),
            open_port: false,
            house: false,
            mailbox: None,
            stun: Vec::new(),
            ..other.clone()
        };
        let (_, nobody) = watch::channel(None);
        match Meeting::open(&options, identity, &asks_nobody, nobody, Obstacles::default()) {
            Ok(meeting) => drop(tokio::spawn(turn_away_one(meeting, other.candidates.clone(), called.clone()))),
            // Another program of this user may be waiting for that one.
            Err(error) => tracing::debug!("{}: {error}", other.peer.name),
        }
    }
}

async fn turn_away_one(mut meeting: Meeting, candidates: Vec<Candidate>, called: mpsc::Sender<Peer>) {
    let (connections, mut accepted) = mpsc::channel::<Result<Connection, QuicError>>(1);
    let accepts = (meeting.role == Role::Waits).then_some(connections);
    let busy = Arc::new(AtomicBool::new(true));
    tokio::spawn(accept_for_ever(meeting.endpoint(), accepts, busy, Obstacles::default()));
    // A new socket takes nothing at once.
    let mut knocks = tokio::time::interval_at(Instant::now() + AGAIN, KNOCK);
    loop {
        let connection = tokio::select! {
            _ = knocks.tick() => {
                meeting.knock(&candidates);
                continue;
            }
            Some(connection) = accepted.recv() => connection,
            connection = meeting.next_caller() => connection,
        };
        match connection {
            Ok(connection) => {
                let peer = connection.peer().clone();
                connection.close(CloseCode::Busy, BUSY);
                if called.send(peer).await.is_err() {
                    return;
                }
                tokio::time::sleep(AGAIN).await;
            }
            Err(error) if error.is_final() => return tracing::debug!("{error}"),
            Err(error) => tracing::debug!("{error}"),
        }
    }
}
