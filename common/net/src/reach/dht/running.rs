//! The loop, as those see it who use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::dht::{Pace, TimedNote};
use common::path::ways::Candidate;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::at_work::{AtWork, Does, Told};
use super::keys::ItemKeys;
use crate::wait;

/// Publishes this machine's addresses and looks the other's up, until it is dropped.
#[derive(Debug)]
pub(crate) struct Dht {
    told: watch::Sender<Told>,
    news: mpsc::Receiver<TimedNote>,
    answers: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Dht {
    /// Begins with the items `keys` and enters the network by `nodes`, `HOST:PORT`. Must be called on a tokio runtime.
    pub(crate) fn start(keys: ItemKeys, nodes: Vec<String>, does: Does) -> Self {
        let (told, hears) = watch::channel(Told::default());
        let (tell, news) = mpsc::channel(1);
        let answers = Arc::new(AtomicBool::new(false));
        let tells = (tell, Arc::clone(&answers));
        let task = tokio::spawn(AtWork::new(keys, nodes, does, hears, tells).go_on());
        Self { told, news, answers, task }
    }

    /// Publishes these addresses from now on.
    pub(in crate::reach) fn publish(&self, own: Vec<Candidate>) {
        self.told.send_if_modified(|told| {
            let is_other = told.own != own;
            told.own = own;
            is_other
        });
    }

    /// Sets the haste in which the other machine is looked for.
    pub(in crate::reach) fn set_pace(&self, pace: Pace) {
        self.told.send_if_modified(|told| std::mem::replace(&mut told.pace, pace) != pace);
    }

    /// A knock of the other machine has come.
    pub(in crate::reach) fn heard(&self) {
        self.told.send_modify(|told| told.knocks += 1);
    }

    /// Returns true if a node has answered.
    pub(in crate::reach) fn answers(&self) -> bool {
        self.answers.load(Ordering::Relaxed)
    }

    /// Hurries: a call has ended.
    pub(in crate::reach) fn hurry(&self) {
        self.told.send_modify(|told| told.hurries += 1);
    }

    /// Waits for a newer note of the other machine. Nothing is lost if it is dropped.
    pub(in crate::reach) async fn next(&mut self) -> TimedNote {
        wait::item(&mut self.news).await
    }
}

impl Drop for Dht {
    fn drop(&mut self) {
        self.task.abort();
    }
}
