//! A second window for the other side's picture, as a person has left it.

use std::sync::{Arc, Mutex};

use net::lock::lock;

/// A second window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondWindow {
    /// True if it is open in calls.
    pub is_open: bool,
    /// True if it covers its screen.
    pub is_fullscreen: bool,
    /// The name of its screen, once one is known.
    pub screen: Option<String>,
}

/// The memory of a second window; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct SecondPlace(Arc<Mutex<SecondWindow>>);

impl SecondPlace {
    /// Returns the window as it was left.
    pub fn get(&self) -> SecondWindow {
        lock(&self.0).clone()
    }

    /// Sets it; a window that is open already goes on as it is.
    pub fn set(&self, left: SecondWindow) {
        *lock(&self.0) = left;
    }
}
