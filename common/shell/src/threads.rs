//! Threads that end with a failure or without.

use std::thread::{Builder, JoinHandle};

use net::failure::Failure;

/// A thread, and how it ends.
pub type Ending = JoinHandle<Result<(), Failure>>;

/// Starts a thread.
pub fn spawn(name: &str, body: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Result<Ending, Failure> {
    let thread = Builder::new().name(name.to_owned()).spawn(body);
    thread.map_err(|error| Failure::device(format!("the {name} thread cannot be started: {error}")))
}

/// Waits for the end of a thread.
pub fn join(thread: Ending) -> Result<(), Failure> {
    let name = thread.thread().name().unwrap_or_default().to_owned();
    thread.join().unwrap_or_else(|_| Err(Failure::device(format!("the {name} thread broke down"))))
}
