//! An introduction at work, on a thread of its own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use net::failure::Failure;
use net::lock::lock;
use net::reach::{PeersFile, Person, invite, join, known_peers};
use shell::cli::CommonFlags;
use shell::threads::spawn;
use tokio::sync::mpsc;

use crate::facts::Meeting;
use crate::files::chosen::Configuration;

/// An introduction that has begun; when it is dropped it goes on, unseen, until its ticket expires.
pub(crate) struct Introduction {
    state: Arc<Mutex<Meeting>>,
    answers: mpsc::Sender<String>,
}

/// The person at this window, to whom it speaks.
struct Guide {
    state: Arc<Mutex<Meeting>>,
    answers: Mutex<Option<mpsc::Receiver<String>>>,
}

impl Person for Guide {
    fn say(&self, sentence: &str) {
        tracing::debug!("{sentence}");
    }

    fn show(&self, line: &str) {
        match &mut *lock(&self.state) {
            Meeting::Invites(link) => *link = Some(line.to_owned()),
            Meeting::Joins { answer } => *answer = Some(line.to_owned()),
            Meeting::None | Meeting::Met(_) | Meeting::Failed(_) => {}
        }
    }

    fn show_ticket(&self, ticket: &str) {
        let is_link = ticket.starts_with("duet:");
        self.show(&if is_link { ticket.to_owned() } else { format!("duet:{ticket}") });
    }

    fn ask(&self, question: &str) -> Result<String, Failure> {
        Err(Failure::usage(question))
    }

    fn typed(&self) -> mpsc::Receiver<String> {
        lock(&self.answers).take().unwrap_or_else(|| mpsc::channel(1).1)
    }
}

impl Introduction {
    /// Makes a link. Whoever comes is called as he says.
    pub(crate) fn invite(flags: &CommonFlags) -> Self {
        Self::begin(flags, Meeting::Invites(None), |read, file, guide| invite(&read.config.shared, file, None, guide))
    }

    /// Looks for the machine that made `link`.
    pub(crate) fn join(flags: &CommonFlags, link: &str) -> Self {
        let link = link.to_owned();
        Self::begin(flags, Meeting::Joins { answer: None }, move |read, file, guide| {
            join(&read.config.shared, file, &[link], guide)
        })
    }

    fn begin(
        flags: &CommonFlags,
        state: Meeting,
        meet: impl FnOnce(&Configuration, &PeersFile, &dyn Person) -> Result<(), Failure> + Send + 'static,
    ) -> Self {
        let state = Arc::new(Mutex::new(state));
        let (answers, typed) = mpsc::channel(4);
        let guide = Guide { state: Arc::clone(&state), answers: Mutex::new(Some(typed)) };
        let (flags, outcome) = (flags.clone(), Arc::clone(&state));
        let meets = move || {
            let read = Configuration::read(&flags)?;
            let shared = &read.config.shared;
            let file = PeersFile::of(shared.file.as_deref().filter(|_| flags.config.is_some()), shared)?;
            let before = names(&read);
            meet(&read, &file, &guide)?;
            // Whoever is known already is so by the old name.
            Ok(names(&Configuration::read(&flags)?).difference(&before).next().cloned())
        };
        let _ = spawn("introduction", move || {
            let met: Result<Option<String>, Failure> = meets();
            *lock(&outcome) = match met {
                Ok(name) => Meeting::Met(name),
                Err(failure) => Meeting::Failed(failure.message),
            };
            Ok(())
        });
        Self { state, answers }
    }

    /// Returns how it stands.
    pub(crate) fn state(&self) -> Meeting {
        lock(&self.state).clone()
    }

    /// Takes the other side's answer to the link.
    pub(crate) fn answer(&self, line: &str) {
        // Of more than a few there is no use.
        let _ = self.answers.try_send(line.to_owned());
    }
}

fn names(read: &Configuration) -> BTreeSet<String> {
    let peers = known_peers(&read.file.expert.identity).unwrap_or_default();
    peers.into_iter().filter_map(|peer| peer.name).collect()
}
