//! Notes: what two machines that know each other's keys leave for each other at a mailbox server, so that a later call finds
//! a home whose address has changed.
//!
//! Of secrets an introduction leaves nothing on either side but each machine's own key. What the two share is made of these
//! ([`seal`]): the name of a mailbox, and a key for the notes of each side. The server cannot tell whose mailbox it is, and can
//! neither read nor make a note. It learns at which addresses and times two machines have come to the same mailbox.
//!
//! The addresses of a note are knocked at, as all others are, and whoever is found there proves its key. So a server that
//! leaves notes out, gives old ones out again or is not there costs what notes are for, and nothing else.

mod client;
mod seal;

use std::convert::Infallible;
use std::time::Duration;

use common::path::ways::Candidate;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep};

use self::client::{NotesClient, NotesError};
pub(crate) use self::seal::PairSeal;
use super::socket::Socket;
use crate::limited;
use crate::wait;

/// Pause before the server is tried again, at first and at most; the first again after a connection that has lasted.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Time within which a server that is there says something, since it is asked to.
const HEARD: Duration = Duration::from_secs(30);
/// Shortest time from one note to the next.
const LEAST: Duration = Duration::from_millis(100);

/// Leaves notes and gets the other machine's, until it is dropped.
#[derive(Debug)]
pub(crate) struct Notes {
    own: watch::Sender<Vec<Candidate>>,
    news: mpsc::Receiver<Vec<Candidate>>,
    task: JoinHandle<()>,
}

impl Notes {
    /// Begins at `server`, `ws://HOST:PORT/PATH`, with the machine of that seal. Must be called on a tokio runtime.
    pub(crate) fn start(server: String, seal: PairSeal) -> Self {
        let (own, told) = watch::channel(Vec::new());
        let (tell, news) = mpsc::channel(1);
        let at_work = AtWork { server, client: NotesClient::new(seal), own: told, tell };
        Self { own, news, task: tokio::spawn(at_work.go_on()) }
    }

    /// Leaves a note with this machine's addresses, if they are others than before.
    pub(super) fn leave(&self, candidates: Vec<Candidate>) {
        self.own.send_if_modified(|own| {
            let is_new = *own != candidates;
            *own = candidates;
            is_new
        });
    }

    /// Waits for the addresses in the other machine's next note. Nothing is lost if it is dropped.
    pub(super) async fn next(&mut self) -> Vec<Candidate> {
        wait::item(&mut self.news).await
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct AtWork {
    server: String,
    client: NotesClient,
    own: watch::Receiver<Vec<Candidate>>,
    tell: mpsc::Sender<Vec<Candidate>>,
}

impl AtWork {
    async fn go_on(mut self) {
        let mut pause = PAUSE;
        loop {
            let began = Instant::now();
            let Err(error) = self.talk().await;
            limited!(warn, "the mailbox server {}: {error}; going on without", self.server);
            if began.elapsed() > PAUSE_MAX {
                pause = PAUSE;
            }
            sleep(pause).await;
            pause = (2 * pause).min(PAUSE_MAX);
        }
    }

    /// Talks to the server until that is not possible any more.
    async fn talk(&mut self) -> Result<Infallible, NotesError> {
        let mut socket = Socket::connect(&self.server).await?;
        for message in self.client.begin() {
            socket.send(message).await?;
        }
        self.own.mark_changed();
        let mut looks = interval(HEARD);
        let mut heard = true;
        loop {
            tokio::select! {
                text = socket.next() => {
                    heard = true;
                    let Some(text) = text? else { continue };
                    if let Some(candidates) = self.client.on_text(&text)? {
                        limited!(info, "the mailbox server has a note of the other machine: where it is now");
                        let _ = self.tell.send(candidates).await;
                        sleep(LEAST).await;
                    }
                }
                Ok(()) = self.own.changed() => {
                    let own = self.own.borrow_and_update().clone();
                    if !own.is_empty() {
                        socket.send(self.client.note(own)?).await?;
                    }
                }
                _ = looks.tick() => {
                    if !std::mem::replace(&mut heard, false) {
                        return Err(NotesError::Lost);
                    }
                    socket.ping().await?;
                }
            }
        }
    }
}
