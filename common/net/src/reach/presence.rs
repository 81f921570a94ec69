//! Whoever watches whether machines that this one knows are there.
//!
//! Signs come from where they are met with: a search at the port of each pair hears knocks, which only the other
//! machine can make, and reads its notes in the DHT. Nothing is sent for this: who knocks, and how often, is the search's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use common::config::PublicKey;
pub use common::reach::Presence;
use common::reach::Signs;
use common::units::Timestamp;
use tokio::sync::{Notify, watch};

use crate::lock::lock;
use crate::{clock, wait};

/// The presence of all machines of which there ever was a sign.
pub type Presences = BTreeMap<PublicKey, Presence>;

/// Begins to watch; the task ends when nobody reads any more. Must be called on a tokio runtime.
pub fn watch() -> (Watching, watch::Receiver<Presences>) {
    let watching = Watching::default();
    let (tell, presences) = watch::channel(Presences::new());
    tokio::spawn(watching.clone().go_on(tell));
    (watching, presences)
}

/// The place at which signs are handed in. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Watching(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    signs: Mutex<BTreeMap<PublicKey, Signs>>,
    changed: Notify,
}

impl Watching {
    /// Returns the place at which signs of that machine are handed in.
    pub fn of(&self, key: PublicKey) -> SignsOf {
        SignsOf { watching: self.clone(), key }
    }

    /// Forgets a machine, as one that was removed.
    pub fn forget(&self, key: &PublicKey) {
        lock(&self.0.signs).remove(key);
        self.0.changed.notify_one();
    }

    async fn go_on(self, tell: watch::Sender<Presences>) {
        loop {
            let next = self.tell(&tell);
            tokio::select! {
                () = self.0.changed.notified() => {}
                () = wait::until(next) => {}
                () = tell.closed() => return,
            }
        }
    }

    /// Tells what has changed; returns the time to look again.
    fn tell(&self, tell: &watch::Sender<Presences>) -> Option<Timestamp> {
        let (now, unix_ms) = (clock::now(), clock::unix_ms());
        let signs = lock(&self.0.signs).clone();
        let presences: Presences = signs.iter().map(|(key, signs)| (*key, signs.presence(now, unix_ms))).collect();
        tell.send_if_modified(|told| {
            let is_other = *told != presences;
            *told = presences;
            is_other
        });
        signs.values().filter_map(|signs| signs.poll_timeout(now, unix_ms)).min()
    }
}

/// The place at which signs of one machine are handed in.
#[derive(Clone, Debug)]
pub struct SignsOf {
    watching: Watching,
    key: PublicKey,
}

impl SignsOf {
    /// A new knock of it has come, or a connection with it is there.
    pub fn heard(&self) {
        self.change(|signs| signs.on_knock(clock::now(), clock::unix_ms()));
    }

    /// It has left a note at that time, and will be there until then; both milliseconds since 1970.
    pub fn noted(&self, made_ms: u64, until_ms: u64) {
        self.change(|signs| signs.on_note(made_ms, until_ms, clock::unix_ms()));
    }

    /// It has said goodbye.
    pub fn left(&self) {
        self.change(Signs::on_goodbye);
    }

    fn change(&self, change: impl FnOnce(&mut Signs)) {
        change(lock(&self.watching.0.signs).entry(self.key).or_default());
        self.watching.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    #[test]
    fn what_is_heard_of_a_machine_is_told_and_forgotten_with_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let [a, b] = std::array::from_fn(|_| Identity::generate().unwrap().public_key());
            let (watching, mut presences) = watch();
            watching.of(a).heard();
            presences.wait_for(|told| told.get(&a) == Some(&Presence::Here)).await.unwrap();
            watching.of(b).noted(clock::unix_ms(), clock::unix_ms() + 60_000);
            presences.wait_for(|told| told.get(&b) == Some(&Presence::Likely)).await.unwrap();
            watching.of(a).left();
            let is_away = |told: &Presences| matches!(told.get(&a), Some(Presence::Away { last_ms: Some(_) }));
            presences.wait_for(is_away).await.unwrap();
            watching.forget(&b);
            presences.wait_for(|told| !told.contains_key(&b)).await.unwrap();
        });
    }
}
