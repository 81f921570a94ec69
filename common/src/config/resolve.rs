//! A configuration as it is written to checked values.

mod network;

use std::path::PathBuf;
use std::time::Duration;

use picture::backend::BackendChoice;
use picture::effects::{Effect, Effects};
use picture::frame::{BitDepth, Chroma, FrameRate, FrameSize};
use picture::params::{Boundary, CodecParams, Levels, Padding, Profile, Wavelet, Weights};
use sound::format::{Channels, Coding};

pub use self::network::{DEFAULT_PORT, candidate_of, with_port};
use self::network::{dht, link_mode, mailbox, metrics, peer, stun, turn};
use super::choice::{checked, choice, value};
use super::error::ConfigError;
use super::resolved::{
    Controller, Password, Prediction, PublishConfig, ReceiverConfig, SenderConfig, SharedConfig, SnapshotFile,
    SoundCoding, SoundConfig, Sync, WindowBackend,
};
use super::table::{ConfigFile, Expert, LevelCount};
use crate::reach::{NAME_MAX, told_name};
use crate::stream::video::protection::Protection;
use crate::units::Bitrate;

/// Checks a sender's file with the flags laid over it.
pub fn resolve_sender(file: &ConfigFile) -> Result<SenderConfig, ConfigError> {
    let ConfigFile { video, codec, network, expert, .. } = file;
    let rate: Bitrate = checked("codec.rate", codec.rate.parse())?;
    let rate_max: Option<Bitrate> =
        network.rate_max.as_deref().map(|text| checked("network.rate_max", text.parse())).transpose()?;
    let beside = match network.beside.as_str() {
        "auto" => None,
        "0" => Some(Bitrate::from_bps(0)),
        text => Some(checked("network.beside", text.parse())?),
    };
    Ok(SenderConfig {
        shared: shared(file, true)?,
        size: video.size.as_deref().map(|text| checked("video.size", parse_size(text))).transpose()?,
        frame_rate: video.fps.map(|fps| checked("video.fps", parse_frame_rate(&fps.to_string()))).transpose()?,
        chroma: choice(
            "expert.chroma",
            &expert.chroma,
            &[("420", Chroma::C420), ("444", Chroma::C444), ("grey", Chroma::Grey)],
        )?,
        codec: params(expert)?,
        prediction: choice(
            "codec.prediction",
            &codec.prediction,
            &[("auto", Prediction::Auto), ("on", Prediction::On), ("off", Prediction::Off)],
        )?,
        rate_most: rate_max.unwrap_or(Bitrate::from_bps(rate.as_bps().saturating_mul(2))),
        rate: rate_max.map_or(rate, |max| rate.min(max)),
        beside,
        protection: choice("expert.fec", &expert.fec, &[("auto", Protection::Auto), ("off", Protection::Off)])?,
        controller: choice(
            "expert.controller",
            &expert.controller,
            &[("duet", Controller::Duet), ("cubic", Controller::Cubic)],
        )?,
        record: record(file)?,
        effects: effects(file)?,
        publish: publish(file)?,
    })
}

/// Characters of a word for the audience's page.
const WORDS_MAX: usize = 200;
/// Names on the page.
const NAMES_MAX: usize = 16;

fn publish(file: &ConfigFile) -> Result<Option<PublishConfig>, ConfigError> {
    let publish = &file.publish;
    if publish.url.is_empty() {
        return Ok(None);
    }
    let words = |key: &'static str, text: &String| match text.chars().count() <= WORDS_MAX {
        true => Ok(text.clone()),
        false => Err(value(key, format!("it takes {WORDS_MAX} characters at most"))),
    };
    if publish.names.len() > NAMES_MAX {
        return Err(value("publish.names", format!("it takes {NAMES_MAX} names at most")));
    }
    Ok(Some(PublishConfig {
        url: Password(publish.url.clone()),
        token: Password(publish.token.clone().unwrap_or_default()),
        title: words("publish.title", &publish.title)?,
        names: publish.names.iter().map(|name| words("publish.names", name)).collect::<Result<_, _>>()?,
        starts: words("publish.starts", &publish.starts)?,
        cap: checked("publish.cap", publish.cap.parse())?,
    }))
}

fn effects(file: &ConfigFile) -> Result<Effects, ConfigError> {
    let mut effects = Effects::default();
    for (effect, asked) in [
        (Effect::Detail, file.effects.detail),
        (Effect::Noise, file.effects.noise),
        (Effect::StillNoise, file.effects.still_noise),
        (Effect::EvenLight, file.effects.even_light),
    ] {
        let wrong = |_| value(effect.key(), format!("it takes {}, not {asked}", effect.takes()));
        effects = effects.with(effect, asked).map_err(wrong)?;
    }
    Ok(effects)
}

/// Longest wait for missing parts of a frame, milliseconds.
pub const LATENCY_MS_MAX: u64 = 1000;

/// Checks a receiver's file with the flags laid over it.
pub fn resolve_receiver(file: &ConfigFile) -> Result<ReceiverConfig, ConfigError> {
    if let Some(ms) = file.display.latency_max_ms.filter(|&ms| ms > LATENCY_MS_MAX) {
        return Err(value("display.latency_max_ms", format!("{ms} ms is too long: at most {LATENCY_MS_MAX}")));
    }
    Ok(ReceiverConfig {
        shared: shared(file, false)?,
        window: choice(
            "expert.window",
            &file.expert.window,
            &[("auto", WindowBackend::Auto), ("winit", WindowBackend::Winit), ("minifb", WindowBackend::Minifb)],
        )?,
        status_line: file.display.status_line,
        snapshot: choice(
            "display.snapshot",
            &file.display.snapshot,
            &[("png", SnapshotFile::Png), ("jph", SnapshotFile::Jph)],
        )?,
        latency_max: file.display.latency_max_ms.map(Duration::from_millis),
        size_max: checked("expert.size_max", parse_size(&file.expert.size_max))?,
        pictures_file: path(&file.expert.pictures),
        record: record(file)?,
    })
}

fn shared(file: &ConfigFile, dials_by_default: bool) -> Result<SharedConfig, ConfigError> {
    let ConfigFile { network, expert, .. } = file;
    let bytes = expert.socket_buffer;
    if !(1 << 16..=1 << 26).contains(&bytes) {
        return Err(value("expert.socket_buffer", format!("{bytes} bytes: it takes 65536 to 67108864")));
    }
    let dscp = expert.dscp.map(|class| u8::try_from(class).ok().filter(|class| *class < 64).ok_or(class));
    let dscp = dscp.transpose().map_err(|class| value("expert.dscp", format!("{class}: it takes 0 to 63")))?;
    Ok(SharedConfig {
        name: owner(&network.name)?,
        backend: choice(
            "expert.backend",
            &expert.backend,
            &[
                ("auto", BackendChoice::Auto),
                ("opencl", BackendChoice::Opencl),
                ("cpu", BackendChoice::Cpu),
                ("reference", BackendChoice::Reference),
            ],
        )?,
        device: Some(expert.device.clone()).filter(|name| !name.is_empty()),
        tuned: choice("expert.tune", &expert.tune, &[("auto", true), ("off", false)])?,
        mode: link_mode(file, dials_by_default)?,
        socket_buffer_bytes: bytes as usize,
        gso: expert.gso,
        dscp,
        share_port: network.share_port,
        stun: stun(file)?,
        open_port: expert.open_port,
        turn: turn(file)?,
        mailbox: mailbox(file)?,
        dht: dht(file)?,
        identity_file: path(&expert.identity),
        file: None,
        peers: file.peers.iter().map(peer).collect::<Result<_, _>>()?,
        stats_file: path(&file.stats.file),
        metrics: expert.metrics.as_deref().filter(|address| !address.is_empty()).map(metrics).transpose()?,
        sound: sound(file)?,
    })
}

fn owner(name: &str) -> Result<String, ConfigError> {
    let told = told_name(name);
    if told == name.trim() {
        return Ok(told);
    }
    let message = format!(
        "`{}` is no name: it takes letters, digits, spaces, `-`, `_` and `.`, {NAME_MAX} at most",
        name.escape_debug()
    );
    Err(value("network.name", message))
}

fn sound(file: &ConfigFile) -> Result<SoundConfig, ConfigError> {
    let sound = &file.sound;
    let always = SoundCoding::Always;
    let wrong = |key, given: u64, takes: &str| value(key, format!("it takes {takes}, not {given}"));
    Ok(SoundConfig {
        card: sound.card.clone(),
        period: match sound.period {
            period @ (64 | 128 | 256) => period as u16,
            other => return Err(wrong("sound.period", other, "64, 128 or 256 samples")),
        },
        channels: match sound.channels {
            1 => Channels::Mono,
            2 => Channels::Stereo,
            other => return Err(wrong("sound.channels", other, "1 or 2")),
        },
        coding: choice(
            "sound.coding",
            &sound.coding,
            &[
                ("auto", SoundCoding::Auto),
                ("pcm16", always(Coding::Pcm16)),
                ("pcm24", always(Coding::Pcm24)),
                ("opus", always(Coding::Opus)),
            ],
        )?,
        sync: choice("sound.sync", &sound.sync, &[("free", Sync::Free), ("picture", Sync::Picture)])?,
        practice_delay: file.expert.practice_delay,
    })
}

/// Returns where frames are kept, if they are.
fn record(file: &ConfigFile) -> Result<Option<PathBuf>, ConfigError> {
    if file.record.path == "-" {
        let message = "`-` is no file: it takes a file, such as call.duet, or a folder; pictures for other programs go to \
                       the sink y4m:-";
        return Err(value("record.path", message));
    }
    Ok(path(&file.record.path))
}

/// Returns a path; none if it is empty.
fn path(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| PathBuf::from(text))
}

fn params(expert: &Expert) -> Result<CodecParams, ConfigError> {
    let levels = match &expert.levels {
        LevelCount::Word(word) if word == "full" => Levels::Full,
        LevelCount::Count(count @ 1..=14) => Levels::AtMost(*count as u8),
        _ => return Err(value("expert.levels", "it takes \"full\" or a number of levels, 1 to 14")),
    };
    Ok(CodecParams {
        profile: Profile::Quad,
        wavelet: Wavelet::Cdf97,
        depth: BitDepth::Eight,
        levels,
        boundary: choice(
            "expert.boundary",
            &expert.boundary,
            &[("symmetric", Boundary::Symmetric), ("periodic", Boundary::Periodic), ("zero", Boundary::Zero)],
        )?,
        padding: choice("expert.padding", &expert.padding, &[("smooth", Padding::Smooth), ("zero", Padding::Zero)])?,
        weights: choice("expert.weights", &expert.weights, &[("psnr", Weights::Psnr), ("visual", Weights::Visual)])?,
    })
}

/// Reads `WxH`, such as `1280x720`; the error says what is wrong.
pub fn parse_size(text: &str) -> Result<FrameSize, String> {
    let (width, height) = text.split_once('x').unwrap_or((text, ""));
    let (Ok(width), Ok(height)) = (width.parse(), height.parse()) else {
        return Err(format!("`{text}` is not a size: write WIDTHxHEIGHT, such as 1280x720"));
    };
    FrameSize::new(width, height).map_err(|error| error.to_string())
}

/// Reads frames a second, such as `30`, `29.97` or `30000/1001`; the error says what is wrong.
pub fn parse_frame_rate(text: &str) -> Result<FrameRate, String> {
    let rate = match text.split_once('/') {
        Some((numerator, denominator)) => match (numerator.parse(), denominator.parse()) {
            (Ok(numerator), Ok(denominator)) => FrameRate::new(numerator, denominator),
            _ => None,
        },
        None => match text.parse::<f64>() {
            Ok(fps) if (0.001..=1000.0).contains(&fps) => decimal_rate(fps),
            _ => None,
        },
    };
    rate.ok_or_else(|| format!("`{text}` is not a frame rate: write frames a second, above 0 and at most 1000"))
}

/// Returns a rate in lowest terms; 23.976, 29.97, 59.94 and the like are thousands of 1001, as cameras have them.
fn decimal_rate(fps: f64) -> Option<FrameRate> {
    let television = [15, 24, 30, 48, 60, 120].into_iter().find(|whole| {
        let exact = f64::from(*whole) * 1000.0 / 1001.0;
        (fps - exact).abs() < 0.005
    });
    let thousandths = (fps * 1000.0).round() as u32;
    let by = (1..=1000).rev().find(|by| 1000_u32.is_multiple_of(*by) && thousandths.is_multiple_of(*by)).unwrap_or(1);
    television.map_or_else(|| FrameRate::new(thousandths / by, 1000 / by), |whole| FrameRate::new(whole * 1000, 1001))
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
