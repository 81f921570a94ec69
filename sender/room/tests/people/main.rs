//! People who call each other: several in one process, each with a key, a folder and ports of its own, over the loopback.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "tests")]

mod calls;
mod recordings;
mod support;
