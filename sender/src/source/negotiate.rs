//! The choice among a camera's formats, and its reasons.

use picture::frame::{FrameRate, FrameSize};

const USUAL_RATE: f64 = 30.0;
/// Number of the names, the first ones, that are of formats without compression in the colours of a stream.
const PLAIN: usize = 2;

/// A format of a camera: its name, the size and the pictures a second.
pub(super) type Format = (String, FrameSize, u32);

/// The format that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its name, size and pictures a second.
    pub format: (String, FrameSize, u32),
    /// The sentence about it: what is taken, what differs from what was asked for, and why.
    pub why: String,
}

/// Returns the number of the format that serves best: the size wanted (else the one nearest to 1280x720), the rate wanted or the
/// nearest, then the one that stands first in `names`: what needs the least work. None: no format has that size.
pub(super) fn choose(
    formats: &[Format],
    names: &[&str],
    size: Option<FrameSize>,
    rate: Option<FrameRate>,
) -> Option<(usize, Chosen)> {
    let wanted_rate = rate.map_or(USUAL_RATE, |rate| rate.as_f64());
    let usable = formats.iter().enumerate().filter_map(|(number, (name, there, fps))| {
        let order = names.iter().position(|known| known == name)?;
        let size_error = there.pixels().abs_diff(FrameSize::USUAL.pixels());
        let rate_error = (f64::from(*fps) - wanted_rate).abs();
        size.is_none_or(|wanted| wanted == *there).then_some((size_error, rate_error, order, number))
    });
    let best = usable.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)))?;
    let number = best.3;
    let chosen = formats[number].clone();
    let why = reasons(formats, names, &chosen, size, rate);
    Some((number, Chosen { format: chosen, why }))
}

/// Returns what is taken, what of it is not as it was asked for, and why.
fn reasons(
    formats: &[Format],
    names: &[&str],
    (name, size, fps): &Format,
    wanted_size: Option<FrameSize>,
    wanted_rate: Option<FrameRate>,
) -> String {
    let mut text = format!("takes {name} {size} at {fps} frames a second");
    let has = |test: &dyn Fn(&Format) -> bool| formats.iter().any(test);
    match wanted_size {
        Some(_) => {}
        None if *size == FrameSize::USUAL => {}
        None => text += &format!("; no size was asked for, and it has no {}", FrameSize::USUAL),
    }
    if let Some(rate) = wanted_rate.filter(|rate| (rate.as_f64() - f64::from(*fps)).abs() >= 0.5) {
        let at_all = has(&|(known, _, there)| names.contains(&known.as_str()) && f64::from(*there) == rate.as_f64());
        let where_ = if at_all { format!("only in other sizes than {size}") } else { "not at all".to_owned() };
        text += &format!("; {:.0} were asked for, which it has {where_}", rate.as_f64());
    }
    let plain = &names[..names.len().min(PLAIN)];
    if !plain.contains(&name.as_str()) && has(&|(known, ..)| plain.contains(&known.as_str())) {
        let here = formats.iter().filter(|(known, there, _)| plain.contains(&known.as_str()) && there == size);
        text += &match here.map(|(.., fps)| *fps).max() {
            Some(fastest) => format!("; uncompressed it gives {fastest} in this size"),
            None => "; uncompressed it does not have this size".to_owned(),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["NV12", "YUYV", "MJPEG", "RAWRGB", "GRAY"];

    fn format(name: &str, width: u32, height: u32, fps: u32) -> Format {
        (name.to_owned(), FrameSize::new(width, height).unwrap(), fps)
    }

    fn webcam() -> Vec<Format> {
        vec![
            format("YUYV", 640, 480, 30),
            format("YUYV", 1280, 720, 10),
            format("MJPEG", 1280, 720, 30),
            format("MJPEG", 1280, 720, 60),
            format("NV12", 1920, 1080, 30),
            format("H264", 1280, 720, 30),
        ]
    }

    #[track_caller]
    fn check(size: Option<(u32, u32)>, rate: Option<u32>, number: usize, why: &str) {
        let size = size.map(|(width, height)| FrameSize::new(width, height).unwrap());
        let found = choose(&webcam(), &NAMES, size, rate.and_then(|rate| FrameRate::new(rate, 1))).unwrap();
        assert_eq!((found.0, found.1.why.as_str()), (number, why));
        assert_eq!(found.1.format, webcam()[number]);
    }

    #[test]
    fn the_format_nearest_to_what_is_wanted_is_taken_and_the_reason_told() {
        let jpeg = "; uncompressed it gives 10 in this size";
        check(None, None, 2, &format!("takes MJPEG 1280x720 at 30 frames a second{jpeg}"));
        check(Some((640, 480)), None, 0, "takes YUYV 640x480 at 30 frames a second");
        let only = "; 60 were asked for, which it has only in other sizes than 640x480";
        check(Some((640, 480)), Some(60), 0, &format!("takes YUYV 640x480 at 30 frames a second{only}"));
        let not = "; 25 were asked for, which it has not at all";
        check(Some((1920, 1080)), Some(25), 4, &format!("takes NV12 1920x1080 at 30 frames a second{not}"));
        assert_eq!(choose(&webcam(), &NAMES, FrameSize::new(641, 480).ok(), None), None);
        let (_, small) = choose(&webcam()[..1], &NAMES, None, None).unwrap();
        assert!(small.why.ends_with("; no size was asked for, and it has no 1280x720"), "{}", small.why);
    }
}
