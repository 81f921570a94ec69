//! A pairing at work: the [`Client`] on a WebSocket, which is made again when it breaks.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::mailbox::{Client, Event, PairError};
use crate::failure::Failure;
use crate::reach::proof::random;
use crate::reach::socket::{NoSocket, Socket, SocketLost};
use crate::wait;

/// Pause between two tries to reach a server.
const PAUSE: Duration = Duration::from_secs(1);
/// Time without a server after which it is given up.
const GONE: Duration = Duration::from_secs(30);
/// Longest wait of the side that types for the other, which has spoken before.
const NOBODY: Duration = Duration::from_secs(15);
/// Lines on their way in either direction.
const LINES: usize = 8;

/// Carries lines to the other side and back, until it is dropped.
pub(crate) struct Courier {
    give: mpsc::Sender<String>,
    news: mpsc::Receiver<Result<Event, PairError>>,
    task: tokio::task::JoinHandle<()>,
}

impl Courier {
    /// Starts to meet the other side at `server`; `is_expected` if that must have spoken already. Must be called on a
    /// tokio runtime.
    pub(crate) fn start(server: String, client: Client, is_expected: bool) -> Self {
        let ((give, lines), (tell, news)) = (mpsc::channel(LINES), mpsc::channel(LINES));
        let mut at_work = AtWork { server, client, lines, tell, heard_until: None };
        let task = tokio::spawn(async move {
            at_work.heard_until = is_expected.then(|| Instant::now() + NOBODY);
            if let Err(Stop::Failed(error)) = at_work.run().await {
                let _ = at_work.tell.send(Err(error)).await;
            }
        });
        Self { give, news, task }
    }

    /// Sends a line, once the other side is there.
    pub(crate) fn give(&self, line: String) {
        // Of more than a few there is no use.
        let _ = self.give.try_send(line);
    }

    /// Waits for news. Nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self) -> Result<Event, Failure> {
        wait::item(&mut self.news).await.map_err(Failure::network)
    }

    /// Leaves the mailbox.
    pub(crate) async fn end(self) {
        drop(self.give);
        // What keeps it longer is the server's business.
        let _ = timeout(2 * PAUSE, self.task).await;
    }
}

/// Reasons to stop.
enum Stop {
    /// Nobody wants more.
    Unwanted,
    Failed(PairError),
}

impl From<PairError> for Stop {
    fn from(error: PairError) -> Self {
        Self::Failed(error)
    }
}

struct AtWork {
    server: String,
    client: Client,
    lines: mpsc::Receiver<String>,
    tell: mpsc::Sender<Result<Event, PairError>>,
    /// Time by which the other side must have been heard.
    heard_until: Option<Instant>,
}

impl AtWork {
    async fn run(&mut self) -> Result<(), Stop> {
        let mut socket = self.connect().await?;
        loop {
            match self.talk(&mut socket).await {
                Ok(Event::Again) => {
                    self.part(&mut socket).await;
                    let name = random().map_err(|error| PairError::Refused(error.to_string()))?;
                    self.client.begin_again(name);
                }
                Ok(Event::Met(_) | Event::Line(_)) | Err(Talk::Lost) => {}
                Err(Talk::Stop(stop)) => {
                    self.part(&mut socket).await;
                    return Err(stop);
                }
            }
            socket = self.connect_again().await?;
        }
    }

    async fn connect(&mut self) -> Result<Socket, PairError> {
        let socket = Socket::connect(&self.server).await.map_err(|error| match error {
            NoSocket::NoMailbox(said) => PairError::NoMailbox(said),
            NoSocket::Unreachable(reason) => PairError::Unreachable { server: self.server.clone(), reason },
        })?;
        self.client.on_connected();
        Ok(socket)
    }

    async fn connect_again(&mut self) -> Result<Socket, PairError> {
        let until = Instant::now() + GONE;
        loop {
            sleep(PAUSE).await;
            match self.connect().await {
                Ok(socket) => return Ok(socket),
                Err(error) => tracing::debug!("{error}"),
            }
            if Instant::now() >= until {
                return Err(PairError::Gone(self.server.clone()));
            }
        }
    }

    /// Talks until there has to be another connection.
    async fn talk(&mut self, socket: &mut Socket) -> Result<Event, Talk> {
        loop {
            for message in self.client.take_out() {
                socket.send(message).await?;
            }
            let heard_until = self.heard_until.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
            tokio::select! {
                heard = timeout_at(heard_until, socket.next()) => match heard {
                    Err(_) if self.heard_until.is_some() => return Err(Talk::Stop(PairError::Nobody.into())),
                    Ok(heard) => {
                        if let Some(text) = heard? {
                            self.client.on_text(&text).map_err(Stop::from)?;
                        }
                    }
                    Err(_) => {}
                },
                line = self.lines.recv() => match line {
                    Some(line) => self.client.give(line),
                    None => return Err(Talk::Stop(Stop::Unwanted)),
                },
            }
            while let Some(event) = self.client.poll_event() {
                if event == Event::Again {
                    return Ok(event);
                }
                self.heard_until = None;
                self.tell.send(Ok(event)).await.map_err(|_| Stop::Unwanted)?;
            }
        }
    }

    /// Says what is still to be said, and leaves the mailbox.
    async fn part(&mut self, socket: &mut Socket) {
        let parting = async {
            for message in self.client.farewell() {
                socket.send(message).await?;
            }
            socket.close().await
        };
        // Whoever is gone needs no farewell.
        let _ = timeout(PAUSE, parting).await;
    }
}

/// Ends of a talk besides wrong words.
enum Talk {
    Lost,
    Stop(Stop),
}

impl From<SocketLost> for Talk {
    fn from(_: SocketLost) -> Self {
        Self::Lost
    }
}

impl From<Stop> for Talk {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}
