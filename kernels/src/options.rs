//! The back end that an encoder or a decoder is opened with.

use std::sync::{Arc, OnceLock};

use crate::BackendChoice;

/// A back end and a device, and whether that device has been given up. Copies share this: a driver that did not answer
/// one of them is not asked again by the others.
#[derive(Clone, Debug)]
pub struct Options {
    choice: BackendChoice,
    device: Option<String>,
    given_up: Arc<OnceLock<String>>,
}

impl Options {
    /// Creates the options of a back end; `device` is the name, or part of the name, of an OpenCL device.
    pub fn new(choice: BackendChoice, device: Option<&str>) -> Self {
        Self { choice, device: device.map(str::to_owned), given_up: Arc::default() }
    }

    /// Returns the reason for which there is only the processor, once a device has not answered.
    pub fn given_up(&self) -> Option<&str> {
        self.given_up.get().map(String::as_str)
    }

    pub(crate) fn choice(&self) -> BackendChoice {
        self.choice
    }

    pub(crate) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Notes that a device has not answered. The first reason stays.
    pub(crate) fn give_up(&self, reason: &str) {
        let _ = self.given_up.set(reason.to_owned());
    }
}

impl From<BackendChoice> for Options {
    fn from(choice: BackendChoice) -> Self {
        Self::new(choice, None)
    }
}

impl From<(BackendChoice, Option<&str>)> for Options {
    fn from((choice, device): (BackendChoice, Option<&str>)) -> Self {
        Self::new(choice, device)
    }
}

impl From<&Self> for Options {
    fn from(options: &Self) -> Self {
        options.clone()
    }
}
