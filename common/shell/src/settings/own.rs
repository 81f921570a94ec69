//! The other direction of a call, as the window shows and steers it: the picture that this machine sends, its rate and its
//! effects.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use common::stats::Audience;
use common::units::{Bitrate, Timestamp};
use kernels::Coefficients;
use net::lock::lock;
use picture::effects::{Effect, Effects, InvalidEffect};
use picture::frame::{ColourSpace, FrameSize, PixelFormat};

use crate::tap::PictureTap;

/// Width of the small picture at most, pixels.
const WIDTH_MAX: usize = 320;
/// The least rate that can be asked for, bits a second.
const RATE_LEAST: u64 = 500_000;
/// Least width of pictures that can be asked for, pixels.
const WIDTH_LEAST: usize = 64;
/// Parts of the source's width and height that a key steps through.
const SIZES: [(usize, usize); 3] = [(3, 4), (1, 2), (1, 3)];
/// One step of the rate, up or down.
const STEP: f64 = 1.25;

/// A small picture of what is sent: 0x00RRGGBB row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPicture {
    /// Width and height.
    pub size: (usize, usize),
    /// Its pixels.
    pub pixels: Vec<u32>,
}

/// Shared by the window and the sending half.
#[derive(Clone, Debug)]
pub struct OwnSide(Arc<SharedOwn>);

#[derive(Debug)]
struct SharedOwn {
    is_watched: AtomicBool,
    is_hidden: AtomicBool,
    picture: Mutex<Option<OwnPicture>>,
    rate_bps: AtomicU64,
    most_bps: u64,
    effects: Mutex<Switched>,
    size: Mutex<Sizes>,
    said: Mutex<Option<String>>,
    camera: Mutex<Option<String>>,
    is_slow: AtomicBool,
    tap: OnceLock<PictureTap>,
    audience: Mutex<Option<Audience>>,
}

/// The size of the source's pictures, once it is known, and the most that was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    of_source: Option<FrameSize>,
    most: Option<FrameSize>,
}

/// Effects that may be switched off for a while.
#[derive(Clone, Copy, Debug)]
struct Switched {
    effects: Effects,
    is_on: bool,
}

impl OwnSide {
    /// A sending half that sends at most `rate` now and may be asked for up to `most`, with `effects` at first.
    pub fn new(rate: Bitrate, most: Bitrate, effects: Effects) -> Self {
        let (rate_bps, most_bps) = (AtomicU64::new(rate.as_bps()), most.as_bps());
        let effects = Mutex::new(Switched { effects, is_on: true });
        let (is_watched, is_hidden, picture) = (AtomicBool::new(false), AtomicBool::new(false), Mutex::default());
        let (size, said, camera) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (is_slow, tap, audience) = (AtomicBool::new(false), OnceLock::new(), Mutex::default());
        Self(Arc::new(SharedOwn {
            is_watched,
            is_hidden,
            picture,
            rate_bps,
            most_bps,
            effects,
            size,
            said,
            camera,
            is_slow,
            tap,
            audience,
        }))
    }

    /// Lets the pictures that are sent go by `tap`, too; the first one stays.
    pub fn set_tap(&self, tap: PictureTap) {
        // A call has one audience.
        let _ = self.0.tap.set(tap);
    }

    /// Says whether this computer is too slow for all pictures.
    pub fn set_slow(&self, is_slow: bool) {
        self.0.is_slow.store(is_slow, Ordering::Relaxed);
    }

    /// Returns true if this computer is too slow for all pictures.
    pub fn is_slow(&self) -> bool {
        self.0.is_slow.load(Ordering::Relaxed)
    }

    /// Takes how the way to the audience is.
    pub fn set_audience(&self, audience: Audience) {
        *lock(&self.0.audience) = Some(audience);
    }

    /// Returns how the way to the audience is; none: there is no audience.
    pub fn audience(&self) -> Option<Audience> {
        *lock(&self.0.audience)
    }

    /// Hides the own picture, of which no byte is sent until it is shown again.
    pub fn set_hidden(&self, is_hidden: bool) {
        self.0.is_hidden.store(is_hidden, Ordering::Relaxed);
    }

    /// Returns true while the own picture is hidden.
    pub fn is_hidden(&self) -> bool {
        self.0.is_hidden.load(Ordering::Relaxed)
    }

    /// Sets the size of the pictures that the source gives.
    pub fn set_source_size(&self, size: FrameSize) {
        lock(&self.0.size).of_source = Some(size);
    }

    /// Asks for pictures that fit into `most`, none: as large as the source's. Returns the size that they will have; none, and
    /// nothing is changed, if it is larger than the source's or too small to be seen.
    pub fn set_size(&self, most: Option<FrameSize>) -> Option<FrameSize> {
        let mut sizes = lock(&self.0.size);
        let of_source = sizes.of_source?;
        let fits = most.is_none_or(|most| {
            let smaller = most.width() <= of_source.width() || most.height() <= of_source.height();
            smaller && most.width() >= WIDTH_LEAST
        });
        let size = fits.then(|| most.map_or(Some(of_source), |most| within(of_source, most))).flatten()?;
        sizes.most = most;
        Some(size)
    }

    /// Asks for the next smaller of a few sizes, or after the smallest for the source's own; returns it.
    pub fn step_size(&self) -> Option<FrameSize> {
        let (source, now) = (self.source_size()?, self.size());
        let width = now.map_or(source.width(), FrameSize::width);
        let smaller = SIZES.iter().map(|(part, of)| [source.width(), source.height()].map(|side| side * part / of));
        let next = smaller.filter(|[next, _]| *next < width).find_map(|[width, height]| {
            let most = FrameSize::new(u32::try_from(width).ok()?, u32::try_from(height).ok()?).ok()?;
            self.set_size(Some(most))
        });
        next.or_else(|| self.set_size(None))
    }

    /// Returns the size that pictures shall have; none: the source's.
    pub fn size(&self) -> Option<FrameSize> {
        let sizes = *lock(&self.0.size);
        within(sizes.of_source?, sizes.most?)
    }

    /// Returns the size of the source's pictures, once it is known.
    pub fn source_size(&self) -> Option<FrameSize> {
        lock(&self.0.size).of_source
    }

    /// Returns the effects that pictures have now.
    pub fn effects(&self) -> Effects {
        let switched = *lock(&self.0.effects);
        if switched.is_on { switched.effects } else { Effects::default() }
    }

    /// Returns the effects that have been asked for, and true unless they are switched off.
    pub fn effects_asked(&self) -> (Effects, bool) {
        let switched = *lock(&self.0.effects);
        (switched.effects, switched.is_on)
    }

    /// Asks for an effect, and switches effects on; returns all of them. An error changes nothing.
    pub fn set_effect(&self, effect: Effect, value: f32) -> Result<Effects, InvalidEffect> {
        let mut switched = lock(&self.0.effects);
        let effects = switched.effects.with(effect, value)?;
        *switched = Switched { effects, is_on: true };
        Ok(effects)
    }

    /// Switches effects off or on again; returns what holds then, none if no effect has been asked for.
    pub fn switch_effects(&self) -> Option<Effects> {
        let mut switched = lock(&self.0.effects);
        if switched.effects.is_off() {
            return None;
        }
        switched.is_on = !switched.is_on;
        Some(if switched.is_on { switched.effects } else { Effects::default() })
    }

    /// Begins or ends to show what is sent.
    pub fn watch(&self, on: bool) {
        self.0.is_watched.store(on, Ordering::Relaxed);
        *self.picture() = None;
    }

    /// Makes a small picture of one that is about to be coded, if it is watched, and lets it go by the tap. `capture`: its time.
    pub fn on_picture(
        &self,
        format: PixelFormat,
        size: FrameSize,
        colour: ColourSpace,
        data: &[u8],
        capture: Timestamp,
    ) {
        if let Some(tap) = self.0.tap.get() {
            tap.offer(format, size, colour, data, capture);
        }
        if self.0.is_watched.load(Ordering::Relaxed) {
            let small = shrunk(format, size, colour, data);
            *self.picture() = small;
        }
    }

    /// Takes the newest small picture, if there is one since the last call.
    pub fn take(&self) -> Option<OwnPicture> {
        self.picture().take()
    }

    /// Sets what the window shall say of the sending half, until it is taken back.
    pub fn say(&self, words: Option<String>) {
        *lock(&self.0.said) = words;
    }

    /// Returns what there is to say of the sending half.
    pub fn said(&self) -> Option<String> {
        if self.is_hidden() {
            return Some("Your picture is hidden: nobody sees you".to_owned());
        }
        lock(&self.0.said).clone()
    }

    /// Sets what the window shall say of this machine's camera, which gives no pictures, until it is taken back.
    pub fn say_of_camera(&self, words: Option<String>) {
        *lock(&self.0.camera) = words;
    }

    /// Returns what there is to say of this machine's camera.
    pub fn camera_said(&self) -> Option<String> {
        lock(&self.0.camera).clone()
    }

    /// Asks for a higher or lower rate; returns what is asked for now.
    pub fn step_rate(&self, up: bool) -> Bitrate {
        let now = self.0.rate_bps.load(Ordering::Relaxed) as f64;
        let wanted = if up { now * STEP } else { now / STEP };
        // Nobody wants 9765 kbit/s.
        let wanted = (wanted / 1e5).round() as u64 * 100_000;
        let [least, most] = self.rates();
        let wanted = Bitrate::from_bps(wanted).clamp(least, most);
        self.set_rate(wanted).unwrap_or(wanted)
    }

    /// Asks for a rate; none, changing nothing, if it is beyond the least or the most.
    pub fn set_rate(&self, rate: Bitrate) -> Option<Bitrate> {
        let [least, most] = self.rates().map(Bitrate::as_bps);
        let fits = (least..=most).contains(&rate.as_bps());
        fits.then(|| {
            self.0.rate_bps.store(rate.as_bps(), Ordering::Relaxed);
            rate
        })
    }

    /// Returns the least and the most that can be asked for.
    pub fn rates(&self) -> [Bitrate; 2] {
        [RATE_LEAST.min(self.0.most_bps), self.0.most_bps].map(Bitrate::from_bps)
    }

    /// Returns the highest rate to send at.
    pub fn rate(&self) -> Bitrate {
        Bitrate::from_bps(self.0.rate_bps.load(Ordering::Relaxed))
    }

    fn picture(&self) -> std::sync::MutexGuard<'_, Option<OwnPicture>> {
        lock(&self.0.picture)
    }
}

/// Returns the largest size of the shape of `of_source` that fits into `most`, with even sides where those of the source are.
fn within(of_source: FrameSize, most: FrameSize) -> Option<FrameSize> {
    let (width, height) = (of_source.width(), of_source.height());
    let is_wide = width * most.height() >= height * most.width();
    let fitted = match is_wide {
        true => (most.width(), height * most.width() / width),
        false => (width * most.height() / height, most.height()),
    };
    let even = |side: usize, of: usize| if of.is_multiple_of(2) { side & !1 } else { side };
    let side = |side: usize, of: usize| u32::try_from(even(side, of).max(2)).ok();
    FrameSize::new(side(fitted.0, width)?, side(fitted.1, height)?).ok()
}

/// The picture at a fraction of its size, of a few samples for each pixel; none if it is too short.
fn shrunk(format: PixelFormat, size: FrameSize, colour: ColourSpace, data: &[u8]) -> Option<OwnPicture> {
    if data.len() < format.bytes(size) {
        return None;
    }
    let (width, height) = (size.width(), size.height());
    let step = width.div_ceil(WIDTH_MAX).max(1);
    let small = (width.div_ceil(step), height.div_ceil(step));
    let coefficients = Coefficients::new(colour);
    let mut pixels = Vec::with_capacity(small.0 * small.1);
    for y in 0..small.1 {
        for x in 0..small.0 {
            let mut sums = [0u32; 3];
            // Four samples of the square that the pixel stands for.
            for (right, down) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let at = |place: usize, more: usize, end: usize| (place * step + more * step / 2).min(end - 1);
                let pixel = sample(format, size, &coefficients, data, (at(x, right, width), at(y, down, height)));
                for (sum, shift) in sums.iter_mut().zip([16, 8, 0]) {
                    *sum += (pixel >> shift) & 0xff;
                }
            }
            let [red, green, blue] = sums.map(|sum| sum / 4);
            pixels.push((red << 16) | (green << 8) | blue);
        }
    }
    Some(OwnPicture { size: small, pixels })
}

/// One pixel as 0x00RRGGBB.
fn sample(format: PixelFormat, size: FrameSize, of: &Coefficients, data: &[u8], (x, y): (usize, usize)) -> u32 {
    let (width, area) = (size.width(), size.pixels());
    let at = y * width + x;
    let half = size.halved();
    let halved = y / 2 * half.width() + x / 2;
    match format {
        PixelFormat::Rgb8 => {
            u32::from(data[3 * at]) << 16 | u32::from(data[3 * at + 1]) << 8 | u32::from(data[3 * at + 2])
        }
        PixelFormat::YCbCr8 => of.pixel(data[3 * at], data[3 * at + 1], data[3 * at + 2]),
        PixelFormat::Yuyv => {
            let pair = 4 * (y * width.div_ceil(2) + x / 2);
            of.pixel(data[pair + 2 * (x % 2)], data[pair + 1], data[pair + 3])
        }
        PixelFormat::Nv12 => of.pixel(data[at], data[area + 2 * halved], data[area + 2 * halved + 1]),
        PixelFormat::I420 => of.pixel(data[at], data[area + halved], data[area + half.pixels() + halved]),
        PixelFormat::I444 => of.pixel(data[at], data[area + at], data[2 * area + at]),
        PixelFormat::Grey8 => of.pixel(data[at], 128, 128),
    }
}

#[cfg(test)]
mod tests {
    use net::clock;

    use super::*;

    fn side() -> OwnSide {
        OwnSide::new(Bitrate::from_bps(10_000_000), Bitrate::from_bps(20_000_000), Effects::default())
    }

    #[test]
    fn effects_are_switched_off_and_on_and_on_by_a_new_one() {
        let own = side();
        assert_eq!((own.switch_effects(), own.effects()), (None, Effects::default()));
        let noise = own.set_effect(Effect::Noise, 3.0).unwrap();
        assert_eq!((own.effects(), noise.get(Effect::Noise)), (noise, 3.0));
        assert_eq!((own.switch_effects(), own.effects()), (Some(Effects::default()), Effects::default()));
        assert_eq!((own.switch_effects(), own.effects()), (Some(noise), noise));
        own.switch_effects();
        assert!(own.set_effect(Effect::Noise, 99.0).is_err() && own.effects().is_off());
        let both = own.set_effect(Effect::Detail, 0.5).unwrap();
        assert_eq!((own.effects(), both.to_string()), (both, "detail 0.5, noise 3".to_owned()));
    }

    #[test]
    fn a_small_picture_has_the_colours_of_the_large_one_in_every_format() {
        let size = FrameSize::new(643, 35).unwrap();
        let half = size.halved().pixels();
        let (area, [luma, cb, cr]) = (size.pixels(), [150, 90, 160]);
        let planes = |chroma: usize| [vec![luma; area], vec![cb; chroma], vec![cr; chroma]].concat();
        let wanted = Coefficients::new(ColourSpace::JPEG).pixel(luma, cb, cr);
        for (format, data) in [
            (PixelFormat::YCbCr8, [luma, cb, cr].repeat(area)),
            (PixelFormat::Yuyv, [luma, cb, luma, cr].repeat(322 * 35)),
            (PixelFormat::Nv12, [vec![luma; area], [cb, cr].repeat(half)].concat()),
            (PixelFormat::I420, planes(half)),
            (PixelFormat::I444, planes(area)),
        ] {
            let small = shrunk(format, size, ColourSpace::JPEG, &data).unwrap();
            assert_eq!(small.size, (215, 12), "{format:?}");
            assert!(small.pixels.len() == 215 * 12 && small.pixels.iter().all(|&pixel| pixel == wanted), "{format:?}");
            assert_eq!(shrunk(format, size, ColourSpace::JPEG, &data[..area]), None, "too short");
        }
        let red = shrunk(PixelFormat::Rgb8, size, ColourSpace::JPEG, &[200, 10, 20].repeat(area)).unwrap();
        assert!(red.pixels.iter().all(|&pixel| pixel == 0x00c8_0a14));
        let grey = shrunk(PixelFormat::Grey8, size, ColourSpace::JPEG, &vec![7; area]).unwrap();
        assert!(grey.pixels.iter().all(|&pixel| pixel == 0x0007_0707));
    }

    #[test]
    fn each_pixel_of_a_small_picture_is_what_was_at_its_place() {
        let size = FrameSize::new(640, 36).unwrap();
        let (width, area) = (size.width(), size.pixels());
        // Squares of two by two, each of its own luma and chroma.
        let square = |x: usize, y: usize| [7 * x + 31 * y, 60 + 5 * x + 3 * y, 200 + 3 * x + 7 * y].map(|n| n as u8);
        let pixels = |number: usize| (0..area).map(move |at| square(at % width / 2, at / width / 2)[number]);
        let halves = |number: usize| (0..area / 4).map(move |at| square(at % (width / 2), at / (width / 2))[number]);
        let of_pixel = |at: usize| square(at % width / 2, at / width / 2);
        let lumas: Vec<u8> = pixels(0).collect();
        let coefficients = Coefficients::new(ColourSpace::JPEG);
        let wanted = |at: usize| {
            let [luma, cb, cr] = square(at % (width / 2), at / (width / 2));
            coefficients.pixel(luma, cb, cr)
        };
        for (format, data) in [
            (PixelFormat::YCbCr8, (0..area).flat_map(of_pixel).collect()),
            (
                PixelFormat::Yuyv,
                (0..area / 2)
                    .flat_map(|at| {
                        let [luma, cb, cr] = of_pixel(2 * at);
                        [luma, cb, luma, cr]
                    })
                    .collect(),
            ),
            (
                PixelFormat::Nv12,
                [lumas.clone(), halves(1).zip(halves(2)).flat_map(|(cb, cr)| [cb, cr]).collect()].concat(),
            ),
            (PixelFormat::I420, [lumas.clone(), halves(1).collect(), halves(2).collect()].concat()),
            (PixelFormat::I444, [lumas.clone(), pixels(1).collect(), pixels(2).collect()].concat()),
        ] {
            let small = shrunk(format, size, ColourSpace::JPEG, &data).unwrap();
            assert_eq!(small.size, (320, 18), "{format:?}");
            assert!(small.pixels.iter().copied().eq((0..area / 4).map(wanted)), "{format:?}");
        }
        let small = shrunk(PixelFormat::Grey8, size, ColourSpace::JPEG, &lumas).unwrap();
        assert!(small.pixels.iter().map(|pixel| *pixel as u8).eq(halves(0)));
    }

    #[test]
    fn pictures_are_made_while_they_are_watched_and_taken_once() {
        let own = side();
        let show =
            || own.on_picture(PixelFormat::Grey8, FrameSize::new(1, 1).unwrap(), ColourSpace::JPEG, &[9], clock::now());
        show();
        assert_eq!(own.take(), None);
        own.watch(true);
        show();
        assert_eq!(own.take().unwrap().pixels, [0x0009_0909]);
        assert_eq!(own.take(), None);
        show();
        own.watch(false);
        assert_eq!(own.take(), None);
    }

    #[test]
    fn the_rate_goes_by_steps_between_its_ends() {
        let own = side();
        let steps = |up: bool| std::array::from_fn::<u64, 4, _>(|_| own.step_rate(up).as_bps());
        assert_eq!(steps(true), [12_500_000, 15_600_000, 19_500_000, 20_000_000]);
        assert_eq!(own.step_rate(false).as_bps(), 16_000_000);
        assert_eq!(own.set_rate(Bitrate::from_bps(21_000_000)), None);
        assert_eq!((own.rate().as_bps(), own.set_rate(Bitrate::from_bps(0))), (16_000_000, None));
        assert!(own.set_rate(Bitrate::from_bps(8_000_000)).is_some() && own.rate().as_bps() == 8_000_000);
        for _ in 0..100 {
            own.step_rate(false);
        }
        assert_eq!(own.rate().as_bps(), RATE_LEAST);
    }

    #[test]
    fn a_size_that_is_asked_for_keeps_the_pictures_shape_and_is_no_larger_than_the_sources() {
        let rate = Bitrate::from_bps(1_000_000);
        let own = OwnSide::new(rate, rate, Effects::default());
        let size = |width, height| FrameSize::new(width, height).unwrap();
        assert_eq!((own.set_size(None), own.size()), (None, None), "no source yet");
        own.set_source_size(size(1280, 720));
        assert_eq!(own.size(), None, "the source's own");
        for (asked, made) in [((640, 360), (640, 360)), ((640, 480), (640, 360)), ((999, 333), (592, 332))] {
            let made = Some(size(made.0, made.1));
            assert_eq!((own.set_size(Some(size(asked.0, asked.1))), own.size()), (made, made));
        }
        for wrong in [(1281, 721), (63, 36)] {
            assert_eq!(own.set_size(Some(size(wrong.0, wrong.1))), None);
        }
        assert_eq!(own.size(), Some(size(592, 332)), "as it was");
        assert_eq!((own.set_size(None), own.size()), (Some(size(1280, 720)), None));
        let steps = [(); 5].map(|()| own.step_size().unwrap());
        let steps = steps.map(|size| (size.width(), size.height()));
        assert_eq!(steps, [(960, 540), (640, 360), (426, 238), (1280, 720), (960, 540)]);
    }
}
