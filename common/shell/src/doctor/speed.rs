//! `doctor`'s line about speed: how many frames a second this machine codes or decodes, by doing it for a moment.

use std::time::Duration;

use common::config::SharedConfig;
use kernels::{BackendChoice, Decoder, Encoder, Picture, PictureRef, Target};
use net::clock;
use net::failure::Failure;
use picture::coded::{CodedFrame, ReceivedFrame};
use picture::frame::{FrameRate, FrameSize, PixelFormat};
use picture::params::StreamParams;

use crate::doctor::{Check, Status};
use crate::exit::codec_failure;

/// Time for which it is measured.
const LENGTH: Duration = Duration::from_millis(500);
/// Frames that are not counted: the first ones find nothing in its place.
const WARM_UP: u32 = 3;
/// Most frames that are counted.
const FRAMES_MAX: usize = 200;
const _: () = assert!((WARM_UP as usize) < FRAMES_MAX, "some frames are counted");
/// Share of the time between two frames that one may take, percent: the rest is for the line, the camera and the window.
const SHARE: f64 = 75.0;

/// The line's name.
const NAME: &str = "speed";

/// Pictures that are coded in turn.
const PICTURES: usize = 4;

/// Measures how fast pictures of a stream are coded, in at most `bytes` each, with the configured back end.
pub fn coding(config: &SharedConfig, params: &StreamParams, bytes: usize) -> Result<f64, Failure> {
    let encoder = Encoder::open(params, (config.backend, config.device.as_deref()));
    let mut encoder = encoder.map_err(|error| codec_failure(&error))?;
    let pictures: [_; PICTURES] = std::array::from_fn(|number| sample(params.size, number));
    let mut turns = pictures.iter().cycle();
    per_second(|| code(&mut encoder, params.size, turns.next(), bytes).map(drop))
}

/// Measures the same of decoding.
pub fn decoding(config: &SharedConfig, params: &StreamParams, bytes: usize) -> Result<f64, Failure> {
    let encoder = Encoder::open(params, BackendChoice::Cpu);
    let mut encoder = encoder.map_err(|error| codec_failure(&error))?;
    let mut frames = Vec::new();
    for number in 0..PICTURES {
        let frame = code(&mut encoder, params.size, Some(&sample(params.size, number)), bytes)?;
        frames.push(ReceivedFrame::from(&frame));
    }
    let decoder = Decoder::open(params, (config.backend, config.device.as_deref()));
    let (mut decoder, mut picture) = (decoder.map_err(|error| codec_failure(&error))?, Picture::decoded_from(params));
    let mut turns = frames.iter().cycle();
    per_second(|| match turns.next() {
        Some(frame) => decoder.decode(frame, None, &mut picture).map(drop).map_err(|error| codec_failure(&error)),
        None => Ok(()),
    })
}

fn code(
    encoder: &mut Encoder,
    size: FrameSize,
    picture: Option<&Vec<u8>>,
    bytes: usize,
) -> Result<CodedFrame, Failure> {
    let samples = picture.map(Vec::as_slice).unwrap_or_default();
    let picture = PictureRef::new(PixelFormat::I420, size, samples).map_err(Failure::usage)?;
    encoder.encode(picture, Target::Bytes(bytes), None).map_err(|error| codec_failure(&error))
}

/// Returns a picture in planes of 4:2:0 that has detail as pictures of a room have: half as strong at half the size, and edges.
fn sample(size: FrameSize, number: usize) -> Vec<u8> {
    let width = size.width();
    let mut samples = Vec::with_capacity(PixelFormat::I420.bytes(size));
    for y in 0..size.height() {
        for x in 0..width {
            let mut sum = 0;
            for octave in 1..7 {
                let (cell, place) = (1 << octave, [x + 5 * number, y + 3 * number]);
                let [left, top] = place.map(|at| at >> octave);
                let [right, down] = place.map(|at| at % cell);
                let upper = noise(left, top) * (cell - right) + noise(left + 1, top) * right;
                let lower = noise(left, top + 1) * (cell - right) + noise(left + 1, top + 1) * right;
                sum += (upper * (cell - down) + lower * down) / ((cell * cell) << (7 - octave));
            }
            let edge = if (x / 97 + y / 61) % 2 == 0 { 30 } else { 0 };
            samples.push((40 + edge + sum / 2).min(235) as u8);
        }
    }
    let half = size.halved();
    samples.extend((0..2 * half.pixels()).map(|at| 108 + (at % half.width() * 40 / half.width()) as u8));
    samples
}

/// Returns 0 to 255, as good as by chance, for a point.
fn noise(x: usize, y: usize) -> usize {
    let mixed = (x as u32).wrapping_mul(0x9e37_79b1) ^ (y as u32).wrapping_mul(0x85eb_ca77);
    ((mixed ^ (mixed >> 15)).wrapping_mul(0xc2b2_ae3d) >> 24) as usize
}

/// Does `frame` again and again for a moment; returns the frames a second that half of them would allow.
///
/// Errors: the first of `frame`.
pub fn per_second(mut frame: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    for _ in 0..WARM_UP {
        frame()?;
    }
    let (began, mut took) = (clock::now(), Vec::new());
    while took.is_empty() || (clock::now().since(began) < LENGTH && took.len() < FRAMES_MAX) {
        let before = clock::now();
        frame()?;
        took.push(clock::now().since(before));
    }
    Ok(1.0 / middle(took).as_secs_f64().max(1e-6))
}

/// Returns the median.
fn middle(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took.get(took.len() / 2).copied().unwrap_or_default()
}

/// Returns the line: this computer `does` (codes, decodes) pictures of `size` at `measured` frames a second, of `rate`.
pub fn check(does: &str, size: FrameSize, rate: FrameRate, measured: Result<f64, Failure>) -> Check {
    match measured {
        Ok(per_second) => {
            let found = format!("this computer {does} {} at {per_second:.0} frames a second", short(size));
            verdict(&found, size, rate, per_second)
        }
        Err(failure) => Check::of(NAME, Err(failure)),
    }
}

/// Returns the line of a call, in which the same processor or device codes (`does`) and decodes each picture.
pub fn check_of_call(
    does: &str,
    size: FrameSize,
    rate: FrameRate,
    [coded, decoded]: [Result<f64, Failure>; 2],
) -> Check {
    match coded.and_then(|coded| Ok((coded, decoded?))) {
        Ok((coded, decoded)) => {
            let both = 1.0 / (1.0 / coded + 1.0 / decoded);
            let found = format!(
                "this computer {does} {} at {coded:.0} frames a second and decodes it at {decoded:.0}, both in a call at {both:.0}",
                short(size)
            );
            verdict(&found, size, rate, both)
        }
        Err(failure) => Check::of(NAME, Err(failure)),
    }
}

/// Returns the line that begins with `found` and says whether `rate` fits where `per_second` frames are possible.
fn verdict(found: &str, size: FrameSize, rate: FrameRate, per_second: f64) -> Check {
    let (shown, wanted, name) = (short(size), rate.as_f64(), NAME);
    let is_plain = shown.ends_with('p');
    let stream = if is_plain { format!("{shown}{wanted:.0}") } else { format!("{shown} at {wanted:.0}") };
    if 100.0 * wanted <= SHARE * per_second {
        return Check::new(name, Status::Ok, format!("{found}: {stream} fits"), None);
    }
    let detail = match wanted <= per_second {
        true => format!("{found}: {stream} fits barely, when nothing else runs"),
        false => format!("{found}: {stream} does not fit"),
    };
    let fits = per_second * SHARE / 100.0;
    let advice = format!(
        "about {fits:.0} frames a second fit: ask for fewer, such as --source camera:fps=15, or for a smaller size"
    );
    Check::new(name, Status::Warn, detail, Some(advice))
}

/// Returns a size as people say it.
fn short(size: FrameSize) -> String {
    if 9 * size.width() == 16 * size.height() { format!("{}p", size.height()) } else { size.to_string() }
}

#[cfg(test)]
mod tests {
    use common::config::{parse_receiver, resolve_receiver};
    use picture::frame::{Chroma, ColourSpace};

    use super::*;

    fn line(width: u32, height: u32, rate: u32, per_second: f64) -> (Status, String, bool) {
        let (size, rate) = (FrameSize::new(width, height).unwrap(), FrameRate::new(rate, 1).unwrap());
        let check = check("codes", size, rate, Ok(per_second));
        (check.status, check.detail, check.advice.is_some())
    }

    #[test]
    fn what_fits_is_said_in_a_sentence() {
        let said = |text: &str| format!("this computer codes {text}");
        let (fits, barely) = (
            "720p at 143 frames a second: 720p60 fits",
            "720p at 70 frames a second: 720p60 fits barely, when nothing else runs",
        );
        assert_eq!(line(1280, 720, 60, 143.2), (Status::Ok, said(fits), false));
        assert_eq!(line(1280, 720, 60, 80.0).0, Status::Ok);
        assert_eq!(line(1280, 720, 60, 70.0), (Status::Warn, said(barely), true));
        let (status, detail, has_advice) = line(640, 480, 30, 12.0);
        assert_eq!((status, has_advice), (Status::Warn, true));
        assert_eq!(detail, said("640x480 at 12 frames a second: 640x480 at 30 does not fit"));
    }

    #[test]
    fn a_call_is_judged_by_both_directions_together() {
        let (size, rate) = (FrameSize::new(1280, 720).unwrap(), FrameRate::new(30, 1).unwrap());
        let of = |coded: f64, decoded: f64| check_of_call("codes", size, rate, [Ok(coded), Ok(decoded)]);
        let slow = of(44.0, 75.0);
        let said = "this computer codes 720p at 44 frames a second and decodes it at 75, both in a call at 28: 720p30 does not fit";
        assert_eq!((slow.status, slow.detail.as_str()), (Status::Warn, said));
        assert!(slow.advice.unwrap().starts_with("about 21 frames a second fit"));
        assert_eq!(of(120.0, 80.0).status, Status::Ok);
        let no_device = || Err(Failure::device("no device"));
        assert_eq!(check_of_call("codes", size, rate, [Ok(44.0), no_device()]).status, Status::Fail);
        assert_eq!(check_of_call("codes", size, rate, [no_device(), Ok(44.0)]).status, Status::Fail);
    }

    #[test]
    fn both_directions_are_measured_in_pictures_with_detail() {
        let config = resolve_receiver(&parse_receiver("[expert]\nbackend = \"cpu\"\n").unwrap()).unwrap().shared;
        let params = StreamParams {
            colour: ColourSpace::JPEG,
            ..StreamParams::new(FrameSize::new(161, 90).unwrap(), Chroma::C420)
        };
        assert!(coding(&config, &params, 2_000).unwrap() > 0.0);
        assert!(decoding(&config, &params, 2_000).unwrap() > 0.0);
        let [first, second] = [0, 1].map(|number| sample(params.size, number));
        assert_eq!(first.len(), PixelFormat::I420.bytes(params.size));
        let strongest = first[..161 * 90].iter().max().zip(first[..161 * 90].iter().min());
        assert!(first != second && strongest.is_some_and(|(most, least)| most - least > 60));
    }

    #[test]
    fn half_of_the_frames_decide_and_a_failure_is_a_failed_check() {
        let ms = Duration::from_millis;
        assert_eq!(middle(vec![ms(9), ms(500), ms(8), ms(7), ms(10)]), ms(9));
        let (size, rate) = (FrameSize::new(16, 16).unwrap(), FrameRate::USUAL);
        let failed = check("codes", size, rate, per_second(|| Err(Failure::device("no device"))));
        assert_eq!((failed.status, failed.detail.as_str()), (Status::Fail, "no device"));
        let mut frames = 0;
        let count = per_second(|| {
            frames += 1;
            Ok(())
        });
        assert!(count.unwrap() > 0.0 && frames > WARM_UP);
    }
}
