//! Both daemons as processes: what reaches the other end, who is refused, what is said when something is wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod bad_input;
mod bad_line;
mod band;
mod both_ways;
mod cable;
mod call;
mod control;
mod demo;
mod display;
mod house;
mod introduction;
mod latency;
mod linktest;
mod loopback;
mod mailbox;
mod metrics;
mod namespaces;
mod notes;
mod pair;
mod record;
mod recorded_sound;
mod restart;
mod screens;
mod secrets;
mod sound;
mod sources;
mod support;
mod window;
mod wrong_key;
