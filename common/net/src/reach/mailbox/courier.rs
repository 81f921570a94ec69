//! A mailbox at work: what a [`Key`] reads and writes, on a WebSocket that is made again when it breaks.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};

use super::protocol::MailboxError;
use super::socket::Socket;
use crate::wait;

/// Pause between two tries to reach a server, at least.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// Time within which a server that is there says something, since it is asked to.
const HEARD: Duration = Duration::from_secs(30);
/// Messages on their way in either direction.
const MESSAGES: usize = 8;

/// A key to a mailbox: what two machines share opens the messages of one side for the other. It knows no connection: messages are
/// text in and out.
pub(in crate::reach) trait Key: Send + 'static {
    /// Something to leave for the other side.
    type Given: Send;
    /// Something that it has left.
    type News: Send;
    /// Reasons for which there is nothing.
    type Error: From<MailboxError> + Send;
    /// Shortest time from one of its news to the next.
    const LEAST: Duration;

    /// A connection has been made: what was said on another is said again.
    fn on_connected(&mut self) -> Result<(), Self::Error>;

    /// Returns the messages that are to be sent now.
    fn take_out(&mut self) -> Vec<String>;

    /// Leaves something for the other side.
    fn give(&mut self, given: Self::Given) -> Result<(), Self::Error>;

    /// Takes a message of the server.
    fn on_text(&mut self, text: &str) -> Result<(), Self::Error>;

    /// Returns the next news.
    fn poll_news(&mut self) -> Option<Self::News>;

    /// Returns true if all must begin anew on another connection.
    fn must_begin_again(&self) -> bool {
        false
    }

    /// Begins anew.
    fn begin_again(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Returns the messages that leave the mailbox for good.
    fn farewell(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the pause before another connection after one that has lasted so long; or the error that ends all. `down`: time
    /// without any.
    fn on_error(
        &mut self,
        error: Self::Error,
        server: &str,
        lasted: Duration,
        down: Duration,
    ) -> Result<Duration, Self::Error>;
}

/// Carries messages to the other side and back, until it is dropped.
pub(in crate::reach) struct Courier<K: Key> {
    give: mpsc::Sender<K::Given>,
    news: mpsc::Receiver<Result<K::News, K::Error>>,
    task: tokio::task::JoinHandle<()>,
}

impl<K: Key> Courier<K> {
    /// Starts at `server`, `ws://HOST:PORT/PATH`. `patience`: the time within which the other side must be heard, and the error if
    /// it is not. Must be called on a tokio runtime.
    pub(super) fn start(server: String, key: K, patience: Option<(Duration, K::Error)>) -> Self {
        let ((give, given), (tell, news)) = (mpsc::channel(MESSAGES), mpsc::channel(MESSAGES));
        let patience = patience.map(|(time, error)| (Instant::now() + time, error));
        let mut at_work = AtWork { server, key, given, tell, patience };
        let task = tokio::spawn(async move {
            if let Err(error) = at_work.run().await {
                let _ = at_work.tell.send(Err(error)).await;
            }
        });
        Self { give, news, task }
    }

    /// Leaves something for the other side; false if too much waits.
    pub(in crate::reach) fn give(&self, given: K::Given) -> bool {
        self.give.try_send(given).is_ok()
    }

    /// Waits for news. Nothing is lost if it is dropped.
    pub(in crate::reach) async fn next(&mut self) -> Result<K::News, K::Error> {
        wait::item(&mut self.news).await
    }

    /// Leaves the mailbox.
    pub(in crate::reach) async fn end(self) {
        drop(self.give);
        // What keeps it longer is the server's business.
        let _ = timeout(2 * PAUSE, self.task).await;
    }

    /// Stops at once.
    pub(in crate::reach) fn stop(&self) {
        self.task.abort();
    }
}

/// Ends of a connection.
enum End<E> {
    Lost,
    Failed(E),
    /// All begins anew on another.
    Again,
    /// Nobody wants more.
    Unwanted,
}

struct AtWork<K: Key> {
    server: String,
    key: K,
    given: mpsc::Receiver<K::Given>,
    tell: mpsc::Sender<Result<K::News, K::Error>>,
    /// Time by which the other side must have been heard.
    patience: Option<(Instant, K::Error)>,
}

impl<K: Key> AtWork<K> {
    async fn run(&mut self) -> Result<(), K::Error> {
        let mut down_since = Instant::now();
        loop {
            let mut lasted = Duration::ZERO;
            let error = match Socket::connect(&self.server).await {
                Ok(mut socket) => {
                    let began = Instant::now();
                    let Err(end) = self.talk(&mut socket).await;
                    (lasted, down_since) = (began.elapsed(), Instant::now());
                    if !matches!(end, End::Lost) {
                        self.part(&mut socket).await;
                    }
                    match end {
                        End::Lost => Some(MailboxError::Lost.into()),
                        End::Failed(error) => Some(error),
                        End::Again => None,
                        End::Unwanted => return Ok(()),
                    }
                }
                Err(error) => Some(error.into()),
            };
            let pause = match error {
                Some(error) => self.key.on_error(error, &self.server, lasted, down_since.elapsed())?,
                None => self.key.begin_again().map(|()| PAUSE)?,
            };
            sleep(pause).await;
        }
    }

    /// Talks until there has to be another connection.
    async fn talk(&mut self, socket: &mut Socket) -> Result<Infallible, End<K::Error>> {
        let lost = |_| End::Lost;
        // What was given meanwhile counts as said before.
        while let Ok(given) = self.given.try_recv() {
            self.key.give(given).map_err(End::Failed)?;
        }
        self.key.on_connected().map_err(End::Failed)?;
        let (mut looks, mut heard) = (interval(HEARD), true);
        loop {
            for message in self.key.take_out() {
                socket.send(message).await.map_err(lost)?;
            }
            let until = self.patience.as_ref().map(|(until, _)| *until);
            tokio::select! {
                text = socket.next() => {
                    heard = true;
                    if let Some(text) = text.map_err(lost)? {
                        self.key.on_text(&text).map_err(End::Failed)?;
                    }
                }
                given = self.given.recv() => self.key.give(given.ok_or(End::Unwanted)?).map_err(End::Failed)?,
                _ = looks.tick() => {
                    if !std::mem::replace(&mut heard, false) {
                        return Err(End::Lost);
                    }
                    socket.ping().await.map_err(lost)?;
                }
                () = wait::of(until.map(sleep_until)) => {
                    return Err(self.patience.take().map_or(End::Unwanted, |(_, error)| End::Failed(error)));
                }
            }
            while let Some(news) = self.key.poll_news() {
                self.patience = None;
                self.tell.send(Ok(news)).await.map_err(|_| End::Unwanted)?;
                sleep(K::LEAST).await;
            }
            if self.key.must_begin_again() {
                return Err(End::Again);
            }
        }
    }

    /// Says what is still to be said, and leaves the mailbox.
    async fn part(&mut self, socket: &mut Socket) {
        let parting = async {
            for message in self.key.farewell() {
                socket.send(message).await?;
            }
            socket.close().await
        };
        // Whoever is gone needs no farewell.
        let _ = timeout(PAUSE, parting).await;
    }
}
