//! A recording that begins and ends while a call goes on.

use std::path::Path;
use std::sync::{Arc, Mutex};

use net::failure::Failure;
use net::lock::lock;

use super::{Recording, Tap};

/// A recording that begins and ends while a call goes on; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Switch(Arc<Mutex<Switched>>);

#[derive(Debug, Default)]
struct Switched {
    running: Option<Recording>,
    /// Those that have been ended, until their files are complete.
    ending: Vec<Recording>,
}

impl Switch {
    /// Begins a recording as [`Recording::start`] does; one that runs is ended.
    pub fn begin(&self, path: &Path, what: &'static str) -> Result<(), Failure> {
        let begun = Recording::start(path, what)?;
        self.end();
        lock(&self.0).running = Some(begun);
        Ok(())
    }

    /// Ends it and waits for nothing: what was given to it is written, and its files are complete as soon as nobody has a way into it
    /// any more.
    pub fn end(&self) {
        let mut switched = lock(&self.0);
        switched.ending.retain(|ending| !ending.has_ended());
        if let Some(mut running) = switched.running.take() {
            running.let_go();
            switched.ending.push(running);
        }
    }

    /// Returns the way into the recording that runs. Whoever keeps it looks often whether it is still this one.
    pub fn tap(&self) -> Option<Tap> {
        lock(&self.0).running.as_ref()?.tap()
    }

    /// Returns why the recording has ended by itself, once.
    pub fn take_trouble(&self) -> Option<String> {
        let mut switched = lock(&self.0);
        let trouble = switched.running.as_ref()?.trouble()?;
        switched.running = None;
        Some(trouble)
    }

    /// Ends it and waits for all files.
    pub fn finish(&self) {
        let Switched { running, ending } = std::mem::take(&mut *lock(&self.0));
        drop((running, ending));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_ends_when_nobody_has_a_way_into_it_and_another_begins() {
        let folder = std::env::temp_dir().join(format!("duet-switch-{}/", std::process::id()));
        let switch = Switch::default();
        assert!(switch.tap().is_none() && switch.take_trouble().is_none());
        switch.begin(&folder, "sent").unwrap();
        let first = switch.tap().unwrap();
        assert!(switch.clone().tap().unwrap().is_of_same(&first));
        switch.end();
        assert!(switch.tap().is_none());
        assert!(!lock(&switch.0).ending[0].has_ended(), "what is on its way still gets in");
        switch.begin(&folder, "sent").unwrap();
        assert!(!switch.tap().unwrap().is_of_same(&first));
        drop(first);
        switch.finish();
        assert!(switch.tap().is_none() && lock(&switch.0).ending.is_empty());
        assert!(!folder.exists(), "nothing was given to them");
    }
}
