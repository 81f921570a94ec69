//! A line for each picture shown, from which every gap and every latency can be told afterwards.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use common::units::{FrameId, Timestamp};
use net::clock;
use net::failure::Failure;
use serde_json::json;
use shell::stats::StatsFile;

use crate::handover::Passed;
use crate::report::to_own;

/// An open log, or none. Times are microseconds on this process's monotonic clock; the first line tells what they are
/// on the wall clock: `{"unix_us": wall clock's time, "at_us": own time}`.
#[derive(Debug)]
pub struct PictureLog {
    file: StatsFile,
    is_on: bool,
}

impl PictureLog {
    /// Creates the file at `path`, emptying an old one; without a path, lines go nowhere.
    pub fn create(path: Option<&Path>) -> Result<Self, Failure> {
        let mut file = StatsFile::create(path)?;
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        file.write(&json!({ "unix_us": unix.as_micros() as u64, "at_us": clock::now().as_us() }));
        Ok(Self { file, is_on: path.is_some() })
    }

    /// Writes that picture `id` was on the display at `presented`.
    pub fn write(&mut self, id: FrameId, passed: &Passed, presented: Timestamp) {
        if self.is_on {
            let captured = passed.clock_offset_us.map(|offset| to_own(passed.capture, offset));
            self.file.write(&json!({
                "frame": id.0,
                "shown_us": presented.as_us(),
                "latency_us": captured.map(|captured| presented.since(captured).as_micros() as u64),
                "sender_us": passed.sent.since(passed.capture).as_micros() as u64,
                "decode_us": passed.decoded.since(passed.released).as_micros() as u64,
                "missing_blocks": passed.missing.blocks,
                "missing_coarse": passed.missing.coarse,
            }));
        }
    }
}
