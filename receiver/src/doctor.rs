//! `devices` and `doctor`: what this machine has, and whether it is enough to receive.

use common::config::ReceiverConfig;
use common::units::Bitrate;
use net::failure::Failure;
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::{CodecParams, StreamParams};
use shell::doctor::{self, Check, Status};
use shell::{devices, sound, speed};
use showing::check::{display, files};
use showing::sink::SinkSpec;

use crate::run::no_peer;

/// Rate of the stream whose decoding is measured.
const RATE: Bitrate = Bitrate::from_bps(20_000_000);

/// The line about decoding says nothing of a call.
const CODES_TOO: &str = "a call codes as many pictures as well: `sender doctor` judges both together";

/// Lists the devices that can decode, one a line or as a JSON array; in words also sound cards.
pub(crate) fn print_devices(as_json: bool) {
    let found = kernels::devices();
    if as_json {
        println!("{}", devices::as_json(&found));
    } else {
        devices::print_cards(&devices::cards());
        devices::print(&found);
    }
}

/// Checks what receiving needs and prints one line for each; a failed check is a failure of the same kind.
pub(crate) fn examine(config: &ReceiverConfig, sinks: &[SinkSpec], as_json: bool) -> Result<(), Failure> {
    let mut checks = doctor::shared(&config.shared);
    checks.push(display(config, sinks));
    checks.push(doctor::card(&sound::spec(&config.shared)?));
    checks.extend(speed(config));
    doctor::print(&checks, as_json)
}

/// Measures whether this machine decodes the pictures of a usual call, of which the sender decides, as fast as they come.
fn speed(config: &ReceiverConfig) -> Option<Check> {
    let [usual, fast] = [30, 60].map(|rate| FrameRate::new(rate, 1));
    let (size, usual, fast) = (FrameSize::USUAL, usual?, fast?);
    let (chroma, colour, codec) = (Chroma::C420, ColourSpace::JPEG, CodecParams::default());
    let params = StreamParams { frame_rate: usual, colour, codec, ..StreamParams::new(size, chroma) };
    let measured = speed::decoding(&config.shared, &params, RATE.bytes_per_frame(usual));
    let check = |rate| speed::check("decodes", size, rate, measured.clone());
    // The faster of both that fits.
    let check = Some(check(fast)).filter(|check| check.status == Status::Ok).unwrap_or_else(|| check(usual));
    let advice = check.advice.or_else(|| Some(CODES_TOO.to_owned()));
    Some(Check { advice, ..check })
}

/// Fails if a run would end at once whatever network and devices do.
pub(crate) fn configured(config: &ReceiverConfig, sinks: &[SinkSpec]) -> Result<(), Failure> {
    if config.shared.peers.is_empty() {
        return Err(Failure::usage(no_peer()));
    }
    doctor::configured(&config.shared)?;
    sound::spec(&config.shared)?;
    files(config, sinks)
}
