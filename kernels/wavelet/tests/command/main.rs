//! The `wavelet` command as its users run it: files in, files out, exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod banks;
mod batch;
mod clips;
mod damage;
mod effects;
mod errors;
mod export;
mod htj2k;
mod jpeg2000;
mod measurements;
mod oracles;
mod squares;
mod subbands;
mod support;
#[cfg(feature = "opencl")]
mod tune;
