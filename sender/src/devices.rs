//! `devices` and `doctor`: what this machine has, and whether it is enough to send.

use std::time::Duration;

use common::config::{LinkMode, Prediction, SenderConfig};
use kernels::apart::{self, Patience};
use net::failure::Failure;
use picture::frame::{ColourSpace, FrameRate, FrameSize};
use picture::params::StreamParams;
use serde_json::json;
use shell::doctor::{self, Check, Status};
use shell::{devices, sound, speed};
use showing::Resolved as Receiving;

use sending::source::{self, Chosen, Examined, SourceSpec, asked, cameras};

/// Lists cameras with their formats, sound cards with theirs, and the devices that can encode.
///
/// Of each camera it says which format a run would take that leaves the choice to the program: `--source camera:index=N`.
pub(crate) fn print_devices(config: &SenderConfig, as_json: bool) {
    let (cameras, found) = (cameras(config.size, config.frame_rate), kernels::devices());
    let cards = devices::cards();
    if as_json {
        let cameras: Vec<_> = cameras
            .iter()
            .map(|camera| {
                let wanted = config.size.unwrap_or(FrameSize::USUAL);
                // Of sizes and rates in steps the one that is nearest to what is asked for.
                let formats = camera.offers.iter().filter_map(|offer| {
                    let rate = offer.rate_near(config.frame_rate.unwrap_or(FrameRate::USUAL));
                    Some(mode(&offer.format(), offer.size_near(wanted)?, rate))
                });
                let formats: Vec<_> = formats.collect();
                let chosen = camera.chosen.as_ref();
                let why = chosen.map(|chosen| &chosen.why);
                let chosen = chosen.map(|chosen| mode(&chosen.format(), chosen.size(), chosen.rate()));
                let (index, name, problem) = (camera.index, &camera.name, &camera.problem);
                json!({ "index": index, "name": name, "formats": formats, "chosen": chosen, "why": why, "problem": problem })
            })
            .collect();
        println!(
            "{}",
            json!({ "cameras": cameras, "devices": devices::as_json(&found), "cards": devices::cards_as_json(&cards) })
        );
        return;
    }
    if cameras.is_empty() {
        println!("no cameras");
    }
    for camera in cameras {
        println!("camera {}: {}", camera.index, camera.name);
        for offer in &camera.offers {
            let is_chosen = camera.chosen.as_ref().is_some_and(|chosen| chosen.is_of(offer));
            let mark = match offer.is_known() {
                false => "  (cannot be used)",
                true if is_chosen => "  <- is taken unless another is asked for",
                true => "",
            };
            println!("  {offer}{mark}");
        }
        if let Some(Chosen { why, .. }) = camera.chosen {
            println!("  {why}");
        }
        if let Some(problem) = camera.problem {
            println!("  {problem}");
        }
    }
    devices::print_cards(&cards);
    devices::print(&found);
}

/// Returns a mode of a camera.
fn mode(format: &str, size: FrameSize, rate: FrameRate) -> serde_json::Value {
    let fps = match rate.denominator() {
        1 => json!(rate.numerator()),
        _ => json!(rate.as_f64()),
    };
    let interval = format!("{}/{}", rate.denominator(), rate.numerator());
    json!({ "format": format, "width": size.width(), "height": size.height(), "fps": fps, "interval": interval })
}

/// Checks what sending needs, and a call, whose pictures go where `receiving` says; prints each outcome and what to do about it. A
/// failed check decides the exit code.
pub(crate) fn examine(
    config: &SenderConfig,
    spec: &SourceSpec,
    receiving: Option<&Receiving>,
    as_json: bool,
) -> Result<(), Failure> {
    let mut checks = doctor::shared(&config.shared);
    checks.push(match spec {
        SourceSpec::File { .. } => Check::of("source", file(config, spec)),
        _ => camera(config, spec),
    });
    if let Some(receiving) = receiving {
        let check = showing::check::display(&receiving.config, &receiving.sinks);
        checks.push(match check.status {
            // Sending alone needs none.
            Status::Fail if !config.shared.share_port => {
                let advice =
                    "`sender call` shows the other side: start it on the desktop; sending alone needs no display";
                Check::new(check.name, Status::Warn, check.detail, Some(advice.to_owned()))
            }
            _ => check,
        });
    }
    if let Some(target) = calling::check_audience(config)? {
        let detail = format!("{target} is to have the call for an audience; {}", calling::learns(&target.host));
        checks.push(Check::new("audience", Status::Ok, detail, None));
    }
    checks.push(doctor::card(&sound::spec(&config.shared)?));
    checks.push(speed(config, spec)?);
    doctor::print(&checks, as_json)
}

/// Measures whether this machine codes the pictures that it is to send as fast as they come; for a call, also while it decodes as
/// many that are alike.
fn speed(config: &SenderConfig, spec: &SourceSpec) -> Result<Check, Failure> {
    let (size, frame_rate) = match (spec, planned(config, spec)) {
        (SourceSpec::File { path, .. }, _) if path.as_os_str() != "-" => match source::open(spec, config) {
            Ok(source) => (source.info().size, source.info().frame_rate),
            // Another line says why.
            Err(_) => asked(spec, config),
        },
        (_, Some(planned)) => planned,
        (_, None) => asked(spec, config),
    };
    let (chroma, colour, codec) = (config.chroma, ColourSpace::JPEG, config.codec);
    let params = StreamParams { frame_rate, colour, codec, ..StreamParams::new(size, chroma) };
    let does = if config.prediction != Prediction::Off { "codes without prediction" } else { "codes" };
    let bytes = config.rate.bytes_per_frame(frame_rate);
    let coded = speed::coding(&config.shared, &params, bytes);
    // Where an address is configured, the sender may run alone.
    let is_alone = !config.shared.share_port && matches!(config.shared.mode, LinkMode::Dial(_) | LinkMode::Listen(_));
    if is_alone {
        return Ok(speed::check(does, size, frame_rate, coded));
    }
    let decoded = speed::decoding(&config.shared, &params, bytes);
    Ok(speed::check_of_call(does, size, frame_rate, [coded, decoded]))
}

/// Fails if a run would end at once whatever network and devices do.
pub(crate) fn configured(config: &SenderConfig, spec: &SourceSpec) -> Result<(), Failure> {
    if config.shared.peers.is_empty() {
        return Err(Failure::usage(sending::no_peer()));
    }
    doctor::configured(&config.shared)?;
    sound::spec(&config.shared)?;
    config.record.as_deref().map_or(Ok(()), doctor::recordable)?;
    file(config, spec).map(drop)
}

/// Reads the beginning of the file that `spec` names, if it names one. Standard input is left for a run.
fn file(config: &SenderConfig, spec: &SourceSpec) -> Result<String, Failure> {
    let SourceSpec::File { path, .. } = spec else { return Ok(String::new()) };
    if path.as_os_str() == "-" {
        return Ok("standard input".to_owned());
    }
    let info = source::open(spec, config)?.info();
    let rate = source::rate_text(info.frame_rate);
    Ok(format!("{}: {} at {rate} frames a second", path.display(), info.size))
}

/// Longest wait for the pictures of a camera that is examined.
const EXAMINED_WITHIN: Duration = Duration::from_secs(8);

/// Takes pictures of the camera and decodes them: what it lists says little.
fn camera(config: &SenderConfig, spec: &SourceSpec) -> Check {
    let &SourceSpec::Camera { index, size, rate } = spec else {
        let detail =
            if *spec == SourceSpec::None { "no pictures are sent: sound only" } else { "no camera is asked for" };
        return Check::new("source", Status::Ok, detail, None);
    };
    let (size, rate) = (size.or(config.size), rate.or(config.frame_rate));
    let fail = |detail: String, advice: &str| Check::new("source", Status::Fail, detail, Some(advice.to_owned()));
    // A driver may hold the thread.
    let examined = apart::once("camera", Patience::OPEN, move || source::examine(index, size, rate, EXAMINED_WITHIN));
    let Examined { why, good, unusable } = match examined {
        Ok(Ok(examined)) => examined,
        Ok(Err(failure)) => {
            let advice = "connect a camera or free it, or use another source such as --source pattern";
            return fail(failure.message, advice);
        }
        Err(lost) => {
            return fail(
                format!("camera {index}: {lost}"),
                "unplug it and plug it in again; its driver does not answer",
            );
        }
    };
    let name = cameras(None, None).into_iter().find(|camera| camera.index == index).map(|camera| camera.name);
    let name = name.unwrap_or_default();
    let came = good + unusable.len() as u32;
    match unusable.last() {
        None if good > 0 => {
            let detail = format!("camera {index}: {name} {why}; {good} of {came} pictures can be used");
            Check::new("source", Status::Ok, detail, None)
        }
        None => {
            let detail = format!("camera {index}: {name} gives no picture ({why})");
            fail(detail, "take its cover off and plug it in again; end other programs that use it")
        }
        Some(last) => {
            let count = unusable.len();
            let detail = format!(
                "camera {index}: {name} {why}; {count} of {came} pictures cannot be used; the last one: {last}"
            );
            let advice =
                "try another cable or another mode, such as --source camera:size=640x480; `sender devices` lists them";
            let status = if good > 0 { Status::Warn } else { Status::Fail };
            Check::new("source", status, detail, Some(advice.to_owned()))
        }
    }
}

/// Returns size and rate of the pictures that a camera will give; none without it.
fn planned(config: &SenderConfig, spec: &SourceSpec) -> Option<(FrameSize, FrameRate)> {
    let SourceSpec::Camera { index, size, rate } = *spec else { return None };
    let found = cameras(size.or(config.size), rate.or(config.frame_rate));
    let chosen = found.into_iter().find(|camera| camera.index == index)?.chosen?;
    Some((chosen.size(), chosen.rate()))
}
