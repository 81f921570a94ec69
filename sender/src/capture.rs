//! The capture thread: opens the source, waits until pictures are wanted, and takes them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

use common::config::SenderConfig;
use shell::exit::Failure;
use shell::slot::Slot;

use crate::gate::Gate;
use crate::source::{self, SourceFrame, SourceInfo, SourceSpec};

/// What the capture thread works with.
pub(crate) struct Capture {
    pub(crate) spec: SourceSpec,
    pub(crate) config: SenderConfig,
    pub(crate) gate: Arc<Gate>,
    pub(crate) pictures: Slot<SourceFrame>,
    /// Memory of pictures that have been coded.
    pub(crate) used: Receiver<Vec<u8>>,
}

impl Capture {
    /// Opens the source, reports what it is like (or why not) on `opened`, and runs to its end. The slot is closed
    /// in every case.
    pub(crate) fn run(self, opened: &Sender<Result<SourceInfo, Failure>>) -> Result<(), Failure> {
        let result = self.pump(opened);
        self.pictures.close();
        result
    }

    fn pump(&self, opened: &Sender<Result<SourceInfo, Failure>>) -> Result<(), Failure> {
        let mut source = match source::open(&self.spec, &self.config) {
            Ok(source) => source,
            Err(failure) => {
                // The main thread ends with it.
                let _ = opened.send(Err(failure));
                return Ok(());
            }
        };
        let is_live = source.info().is_live;
        if opened.send(Ok(source.info())).is_err() {
            return Ok(());
        }
        if !self.gate.wait() {
            return Ok(());
        }
        loop {
            // A file stands still while nobody watches; a camera goes on, so that its newest picture is at hand.
            if !is_live && !self.gate.wait() {
                return Ok(());
            }
            let next = source.next(self.used.try_recv().unwrap_or_default());
            // Also at the end, before which the last pictures may have been skipped.
            self.gate.skipped.store(source.skipped(), Ordering::Relaxed);
            let Some(picture) = next? else { return Ok(()) };
            self.gate.captured.fetch_add(1, Ordering::Relaxed);
            if is_live {
                self.pictures.replace(picture);
            } else if self.pictures.put_wait(picture).is_err() {
                return Ok(());
            }
            if self.pictures.is_closed() {
                return Ok(());
            }
        }
    }
}
