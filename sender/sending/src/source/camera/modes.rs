//! The modes that a camera names, and the choice among them with its reasons.

use picture::frame::{FrameRate, FrameSize};

use super::device::{Code, Device, Fraction, Intervals, Sizes};
use super::layout::SampleOrder;
use super::problem::{CameraError, name};

/// Rate to come near to where none is asked for, frames a second: of two pictures the later one is newer, and beyond this hardly any
/// screen shows more.
const RATE_GOOD: f64 = 60.0;
/// Share of the time between two pictures that decoding may take, so that the coder has the rest.
const DECODING_MAX: f64 = 0.5;

/// Pictures that a camera offers: a format, sizes and rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    code: Code,
    sizes: Sizes,
    /// The lowest and the highest rate; none: the driver does not say.
    rates: Option<(FrameRate, FrameRate)>,
}

/// A format, a size and a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) code: Code,
    pub(super) size: FrameSize,
    pub(super) rate: FrameRate,
}

/// The mode that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub(super) mode: Mode,
    /// The sentence about it: what is taken, what differs from what was asked for, and why.
    pub why: String,
}

impl Chosen {
    /// Returns the name of its format.
    pub fn format(&self) -> String {
        name(self.mode.code)
    }

    /// Returns the size of its pictures.
    pub fn size(&self) -> FrameSize {
        self.mode.size
    }

    /// Returns true if it is one of the pictures that `offer` holds.
    pub fn is_of(&self, offer: &Offer) -> bool {
        let Mode { code, size, rate } = self.mode;
        code == offer.code && offer.size_near(size) == Some(size) && offer.rate_near(rate) == rate
    }

    /// Returns how many there are a second.
    pub fn rate(&self) -> FrameRate {
        self.mode.rate
    }
}

impl Offer {
    /// Returns the name of the format.
    pub fn format(&self) -> String {
        name(self.code)
    }

    /// Returns true if pictures of the format can be used.
    pub fn is_known(&self) -> bool {
        SampleOrder::of(self.code).is_some()
    }

    /// Returns the size that is nearest to `wanted`; none: no such picture is possible.
    pub fn size_near(&self, wanted: FrameSize) -> Option<FrameSize> {
        size_near(self.sizes, wanted)
    }

    /// Returns the rate that is nearest to `wanted`.
    pub fn rate_near(&self, wanted: FrameRate) -> FrameRate {
        let wanted = rate_of((wanted.denominator(), wanted.numerator())).unwrap_or(wanted);
        let Some((least, most)) = self.rates else { return wanted };
        let is_below = |a: FrameRate, b: FrameRate| a.as_f64() < b.as_f64();
        match wanted {
            _ if is_below(wanted, least) => least,
            _ if is_below(most, wanted) => most,
            _ => wanted,
        }
    }

    pub(super) fn code(&self) -> Code {
        self.code
    }

    pub(super) fn rate_most(&self) -> FrameRate {
        self.rates.map_or(FrameRate::USUAL, |(_, most)| most)
    }
}

impl std::fmt::Display for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sizes = sizes_text(self.sizes);
        let rates = match self.rates {
            None => "at a rate that it does not tell".to_owned(),
            Some((least, most)) if least == most => format!("at {} frames a second", rate_text(most)),
            Some((least, most)) => format!("at {} to {} frames a second", rate_text(least), rate_text(most)),
        };
        write!(f, "{:6} {sizes} {rates}", self.format())
    }
}

/// Returns a rate for people: 30, 29.97.
pub fn rate_text(rate: FrameRate) -> String {
    let text = format!("{:.2}", rate.as_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns what the driver names; rates of any size are those of the one that is nearest to `wanted`.
pub(super) fn offers(device: &Device, wanted: FrameSize) -> Result<Vec<Offer>, CameraError> {
    let mut codes: Vec<Code> = Vec::new();
    for code in device.formats().map_err(|error| CameraError::of("name its formats", error))? {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let mut found = Vec::new();
    for code in codes {
        let sizes = match device.sizes(code) {
            Ok(sizes) => sizes,
            Err(error) => match CameraError::of("name its sizes", error) {
                gone @ CameraError::Gone => return Err(gone),
                // Drivers need not list sizes: they take one and say what it has become.
                _ => {
                    vec![Sizes::Steps { least: (1, 1), most: (FrameSize::MAX_SIDE, FrameSize::MAX_SIDE), step: (1, 1) }]
                }
            },
        };
        for sizes in sizes {
            let Some(size) = size_near(sizes, wanted) else { continue };
            let intervals = device.intervals(code, (size.width() as u32, size.height() as u32)).unwrap_or_default();
            let rates = intervals.into_iter().filter_map(rates);
            let with_rate: Vec<_> = rates.map(|rates| Offer { code, sizes, rates: Some(rates) }).collect();
            if with_rate.is_empty() {
                found.push(Offer { code, sizes, rates: None });
            }
            found.extend(with_rate);
        }
    }
    Ok(found)
}

/// Returns the formats of offers.
pub(super) fn codes(offers: &[Offer]) -> Vec<Code> {
    let mut codes: Vec<_> = offers.iter().map(Offer::code).collect();
    codes.dedup();
    codes
}

/// Returns the sizes of offers that can be used, for people, the smallest first.
pub(super) fn sizes(offers: &[Offer]) -> String {
    let mut sizes: Vec<_> = offers.iter().filter(|offer| offer.is_known()).map(|offer| offer.sizes).collect();
    sizes.sort_by_key(|sizes| match *sizes {
        Sizes::One((width, height)) | Sizes::Steps { most: (width, height), .. } => {
            u64::from(width) * u64::from(height)
        }
    });
    sizes.dedup();
    let sizes: Vec<_> = sizes.into_iter().map(sizes_text).collect();
    sizes.join(", ")
}

fn sizes_text(sizes: Sizes) -> String {
    let size = |(width, height): (u32, u32)| format!("{width}x{height}");
    match sizes {
        Sizes::One(one) => size(one),
        Sizes::Steps { least, most, step } => {
            format!("{} to {} in steps of {}", size(least), size(most), size(step))
        }
    }
}

/// Returns the rates of intervals, the lowest first; none: no such rate is possible.
fn rates(intervals: Intervals) -> Option<(FrameRate, FrameRate)> {
    match intervals {
        Intervals::One(one) => rate_of(one).map(|rate| (rate, rate)),
        Intervals::Steps { least, most } => {
            // Some drivers name no time at all as the least.
            let highest = rate_of(least).or(FrameRate::new(1000, 1))?;
            let lowest = rate_of(most).unwrap_or(highest);
            Some(if lowest.as_f64() <= highest.as_f64() { (lowest, highest) } else { (highest, lowest) })
        }
    }
}

/// Returns the rate of an interval, in lowest terms.
pub(super) fn rate_of((numerator, denominator): Fraction) -> Option<FrameRate> {
    let (mut by, mut rest) = (numerator, denominator);
    while rest > 0 {
        (by, rest) = (rest, by % rest);
    }
    FrameRate::new(denominator.checked_div(by)?, numerator / by)
}

fn size_near(sizes: Sizes, wanted: FrameSize) -> Option<FrameSize> {
    let (width, height) = match sizes {
        Sizes::One(one) => one,
        Sizes::Steps { least, most, step } => {
            let side = |wanted: usize, least: u32, most: u32, step: u32| {
                let (most, step) = (most.min(FrameSize::MAX_SIDE), step.max(1));
                let over = u32::try_from(wanted).ok()?.min(most).saturating_sub(least);
                // Up, unless that is too much.
                let up = least.checked_add(over.checked_next_multiple_of(step)?)?;
                Some(if up <= most { up } else { least + over / step * step })
            };
            (side(wanted.width(), least.0, most.0, step.0)?, side(wanted.height(), least.1, most.1, step.1)?)
        }
    };
    FrameSize::new(width, height).ok()
}

/// Returns the mode that serves best: the size wanted (else the one nearest to 1280x720); one with colours, whose pictures this computer decodes in
/// time; the rate wanted or the nearest, without one the highest up to 60; then what takes the least work. None: no offer has that
/// size.
pub(super) fn choose(offers: &[Offer], size: Option<FrameSize>, rate: Option<FrameRate>) -> Option<Chosen> {
    let usable = offers.iter().filter_map(|offer| {
        let cost = SampleOrder::of(offer.code)?.cost_ns();
        let there = offer.size_near(size.unwrap_or(FrameSize::USUAL))?;
        let good = FrameRate::new(RATE_GOOD as u32, 1)?;
        let wanted = rate.unwrap_or(if offer.rates.is_some() { good } else { FrameRate::USUAL });
        let mode = Mode { code: offer.code, size: there, rate: offer.rate_near(wanted) };
        let is_slow = cost * there.pixels() as f64 > DECODING_MAX * mode.rate.interval().as_nanos() as f64;
        let size_error = there.pixels().abs_diff(FrameSize::USUAL.pixels());
        let rate_error = (mode.rate.as_f64() - rate.map_or(RATE_GOOD, FrameRate::as_f64)).abs();
        let is_grey = SampleOrder::of(offer.code) == Some(SampleOrder::Grey);
        size.is_none_or(|wanted| wanted == there).then_some(((size_error, is_grey, is_slow), rate_error, cost, mode))
    });
    let (.., mode) = usable.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)))?;
    Some(Chosen { mode, why: reasons(offers, mode, size, rate) })
}

/// Returns what is taken, what of it is not as it was asked for, and why.
fn reasons(offers: &[Offer], mode: Mode, size: Option<FrameSize>, rate: Option<FrameRate>) -> String {
    let mut text = format!("takes {} {} at {} frames a second", name(mode.code), mode.size, rate_text(mode.rate));
    if size.is_none() && mode.size != FrameSize::USUAL {
        text += &format!("; no size was asked for, and it has no {}", FrameSize::USUAL);
    }
    let here = |offer: &&Offer| offer.size_near(mode.size) == Some(mode.size);
    if let Some(rate) = rate.filter(|rate| (rate.as_f64() - mode.rate.as_f64()).abs() >= 0.005) {
        let has = |offer: &Offer| {
            let there = offer.rate_near(rate).as_f64();
            offer.is_known() && offer.rates.is_some() && (there - rate.as_f64()).abs() < 0.005
        };
        let where_ = if offers.iter().any(|offer| has(offer) && here(&offer)) {
            "only in a format that this computer decodes too slowly".to_owned()
        } else if offers.iter().any(has) {
            format!("only in other sizes than {}", mode.size)
        } else {
            "not at all".to_owned()
        };
        text += &format!("; {} were asked for, which it has {where_}", rate_text(rate));
    }
    let is_jpeg = |code: Code| SampleOrder::of(code) == Some(SampleOrder::Jpeg);
    let cost_ms =
        |code: Code| SampleOrder::of(code).map_or(0.0, |layout| layout.cost_ns() * mode.size.pixels() as f64 / 1e6);
    let plain = || offers.iter().filter(|offer| offer.is_known() && !is_jpeg(offer.code));
    if is_jpeg(mode.code) {
        let fastest = plain().filter(here).map(Offer::rate_most).max_by(|a, b| a.as_f64().total_cmp(&b.as_f64()));
        match fastest {
            Some(fastest) => text += &format!("; uncompressed it gives {} in this size", rate_text(fastest)),
            None if plain().next().is_some() => text += "; uncompressed it does not have this size",
            None => {}
        }
    } else if let Some(jpeg) = offers.iter().filter(here).find(|offer| is_jpeg(offer.code)) {
        let [taken, more] = [mode.code, jpeg.code].map(cost_ms);
        text += &format!("; each picture is ready in {taken:.1} ms, as {} in {more:.1} ms", jpeg.format());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(code: &Code, size: (u32, u32), interval: Fraction) -> Offer {
        let rate = rate_of(interval).unwrap();
        Offer { code: *code, sizes: Sizes::One(size), rates: Some((rate, rate)) }
    }

    fn webcam() -> Vec<Offer> {
        vec![
            offer(b"YUYV", (640, 480), (1, 30)),
            offer(b"YUYV", (1280, 720), (1, 10)),
            offer(b"MJPG", (1280, 720), (1, 30)),
            offer(b"MJPG", (1280, 720), (1, 60)),
            offer(b"NV12", (1920, 1080), (1, 30)),
            offer(b"H264", (1280, 720), (1, 30)),
        ]
    }

    #[track_caller]
    fn check(offers: &[Offer], size: Option<(u32, u32)>, rate: Option<Fraction>, mode: (&Code, Fraction), why: &str) {
        let size = size.map(|(width, height)| FrameSize::new(width, height).unwrap());
        let rate = rate.map(|(number, of)| FrameRate::new(number, of).unwrap());
        let found = choose(offers, size, rate).unwrap();
        assert_eq!(found.why, why);
        assert_eq!((found.mode.code, found.mode.rate), (*mode.0, FrameRate::new(mode.1.0, mode.1.1).unwrap()));
    }

    #[test]
    fn the_mode_nearest_to_what_is_wanted_is_taken_and_the_reason_told() {
        let all = webcam();
        let jpeg = "; uncompressed it gives 10 in this size";
        check(&all, None, None, (b"MJPG", (60, 1)), &format!("takes MJPG 1280x720 at 60 frames a second{jpeg}"));
        let thirty = format!("takes MJPG 1280x720 at 30 frames a second{jpeg}");
        check(&all, None, Some((30, 1)), (b"MJPG", (30, 1)), &thirty);
        check(&all, Some((640, 480)), None, (b"YUYV", (30, 1)), "takes YUYV 640x480 at 30 frames a second");
        check(
            &all,
            Some((640, 480)),
            Some((30_000, 1000)),
            (b"YUYV", (30, 1)),
            "takes YUYV 640x480 at 30 frames a second",
        );
        let only = "; 60 were asked for, which it has only in other sizes than 640x480";
        let text = format!("takes YUYV 640x480 at 30 frames a second{only}");
        check(&all, Some((640, 480)), Some((60, 1)), (b"YUYV", (30, 1)), &text);
        let not = "; 25 were asked for, which it has not at all";
        let text = format!("takes NV12 1920x1080 at 30 frames a second{not}");
        check(&all, Some((1920, 1080)), Some((25, 1)), (b"NV12", (30, 1)), &text);
        assert_eq!(choose(&all, FrameSize::new(641, 480).ok(), None), None);
        let small = choose(&all[..1], None, None).unwrap();
        assert!(small.why.ends_with("; no size was asked for, and it has no 1280x720"), "{}", small.why);
    }

    #[test]
    fn rates_are_fractions() {
        let ntsc = [offer(b"YUYV", (1280, 720), (1001, 30_000)), offer(b"YUYV", (1280, 720), (2, 15))];
        let text = "takes YUYV 1280x720 at 29.97 frames a second";
        check(&ntsc, None, None, (b"YUYV", (30_000, 1001)), text);
        check(&ntsc, None, Some((30_000, 1001)), (b"YUYV", (30_000, 1001)), text);
        check(
            &ntsc,
            None,
            Some((8, 1)),
            (b"YUYV", (15, 2)),
            "takes YUYV 1280x720 at 7.5 frames a second; 8 were asked for, which it has not at all",
        );
        assert_eq!(
            [(333_333, 10_000_000), (0, 30), (30, 0), (0, 0), (2, 60)].map(rate_of),
            [FrameRate::new(10_000_000, 333_333), None, None, None, FrameRate::new(30, 1)]
        );
    }

    #[test]
    fn steps_hold_what_lies_between() {
        let sizes = Sizes::Steps { least: (32, 32), most: (2592, 1944), step: (2, 2) };
        let rates = rates(Intervals::Steps { least: (1, 90), most: (1, 1) });
        let all = [Offer { code: *b"YUYV", sizes, rates }];
        check(&all, None, Some((50, 1)), (b"YUYV", (50, 1)), "takes YUYV 1280x720 at 50 frames a second");
        check(&all, Some((1280, 720)), None, (b"YUYV", (60, 1)), "takes YUYV 1280x720 at 60 frames a second");
        assert_eq!(choose(&all, FrameSize::new(641, 480).ok(), None), None);
        let text = "YUYV   32x32 to 2592x1944 in steps of 2x2 at 1 to 90 frames a second";
        assert_eq!(all[0].to_string(), text);
        let huge = Sizes::Steps { least: (u32::MAX, 7), most: (u32::MAX, u32::MAX), step: (0, u32::MAX) };
        assert_eq!(size_near(huge, FrameSize::USUAL), None);
        let coarse = Sizes::Steps { least: (16, 16), most: (1300, 730), step: (16, 500) };
        assert_eq!(size_near(coarse, FrameSize::USUAL), FrameSize::new(1280, 516).ok());
    }

    #[test]
    fn of_two_modes_the_one_that_takes_less_work_is_taken() {
        let both = [offer(b"MJPG", (1280, 720), (1, 30)), offer(b"YUYV", (1280, 720), (1, 30))];
        let found = choose(&both, None, None).unwrap();
        assert_eq!(found.mode.code, *b"YUYV");
        assert!(found.why.contains("; each picture is ready in "), "{}", found.why);
        let grey = [offer(b"GREY", (1280, 720), (1, 60)), offer(b"MJPG", (1280, 720), (1, 30))];
        assert_eq!(choose(&grey, None, None).unwrap().mode.code, *b"MJPG", "with colours");
        // Pictures that cannot be decoded in time are no pictures.
        let fast = [offer(b"MJPG", (3840, 2160), (1, 120)), offer(b"MJPG", (3840, 2160), (1, 15))];
        assert_eq!(choose(&fast, None, None).unwrap().mode.rate, FrameRate::new(15, 1).unwrap());
    }
}
