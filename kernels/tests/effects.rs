//! Effects of pictures before they are coded: the processor's filter equals the reference, and both do what they say.
#![allow(clippy::unwrap_used, reason = "tests")]

mod pictures;

use kernels::parts::reference::ReferenceEffects;
use kernels::{EffectsFilter, Picture, PictureError, PictureRef};
use picture::effects::{Effect, Effects};
use picture::frame::{BitDepth, Chroma, FrameSize, PixelFormat};

use pictures::{Random, picture};

fn effects(values: &[(Effect, f32)]) -> Effects {
    values.iter().fold(Effects::default(), |all, &(effect, value)| all.with(effect, value).unwrap())
}

fn size(width: u32, height: u32) -> FrameSize {
    FrameSize::new(width, height).unwrap()
}

fn applied(filter: &mut EffectsFilter, effects: &Effects, picture: PictureRef<'_>) -> Picture {
    let mut out = filter.room();
    filter.apply(effects, picture, &mut out).unwrap();
    out
}

/// Formats of pictures, with the streams that they may become: 4:2:0, 4:2:2 that becomes either, 4:4:4, grey and RGB.
const STREAMS: [(PixelFormat, Chroma); 8] = [
    (PixelFormat::I420, Chroma::C420),
    (PixelFormat::Nv12, Chroma::C420),
    (PixelFormat::Yuyv, Chroma::C420),
    (PixelFormat::Yuyv, Chroma::C444),
    (PixelFormat::I444, Chroma::C444),
    (PixelFormat::Rgb8, Chroma::C420),
    (PixelFormat::Rgb8, Chroma::Rgb),
    (PixelFormat::Grey8, Chroma::Grey),
];

#[test]
fn the_filter_equals_the_reference_at_any_size_and_sampling() {
    let all = [
        effects(&[(Effect::Detail, 1.7)]),
        effects(&[(Effect::Detail, 0.0), (Effect::Noise, 3.3)]),
        effects(&[(Effect::StillNoise, 20.0)]),
        effects(&[(Effect::StillNoise, 0.01), (Effect::EvenLight, 0.6)]),
        effects(&[(Effect::Detail, 4.0), (Effect::Noise, 32.0), (Effect::StillNoise, 6.0), (Effect::EvenLight, 1.0)]),
    ];
    for (width, height) in [(1, 1), (1, 9), (3, 5), (17, 33), (70, 45), (203, 150)] {
        let size = size(width, height);
        for (format, chroma) in STREAMS {
            let (mut filter, mut reference) = (EffectsFilter::new(size, chroma), ReferenceEffects::new(size, chroma));
            // One after another, each with something of the picture before: also on and off.
            for (number, effects) in all.iter().chain(&all).enumerate() {
                for seed in [number as u32 / 3, number as u32 / 2] {
                    let picture = picture(format, size, seed);
                    let fast = applied(&mut filter, effects, picture.as_ref());
                    let plain = reference.apply(effects, picture.as_ref()).unwrap();
                    assert!(fast == plain, "{size}, {format:?} as {chroma:?}, {effects}");
                }
            }
        }
    }
}

#[test]
fn effects_that_are_off_are_the_identity() {
    for (format, chroma) in STREAMS.into_iter().filter(|(format, chroma)| chroma.picture_format() == *format) {
        if chroma == Chroma::Rgb {
            continue;
        }
        for size in [size(1, 1), size(17, 33), size(64, 40)] {
            let mut filter = EffectsFilter::new(size, chroma);
            for seed in 0..3 {
                let picture = picture(format, size, seed);
                assert!(applied(&mut filter, &Effects::default(), picture.as_ref()) == picture, "{size} {format:?}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut filter = EffectsFilter::new(size(4, 4), Chroma::C420);
    let (mut out, off) = (filter.room(), Effects::default());
    let other = Picture::new(PixelFormat::I420, size(4, 5));
    assert!(matches!(filter.apply(&off, other.as_ref(), &mut out), Err(PictureError::Size { .. })));
    let deep = Picture::with_depth(PixelFormat::I420, BitDepth::Ten, size(4, 4));
    assert!(matches!(filter.apply(&off, deep.as_ref(), &mut out), Err(PictureError::Depth { .. })));
    let picture = Picture::new(PixelFormat::I420, size(4, 4));
    for mut wrong in [Picture::new(PixelFormat::I444, size(4, 4)), Picture::new(PixelFormat::I420, size(5, 4))] {
        assert!(filter.apply(&off, picture.as_ref(), &mut wrong).is_err());
    }
    assert!(filter.apply(&off, picture.as_ref(), &mut out).is_ok());
}

/// Returns a nearly normal number, with a deviation of 4.
fn noise(random: &mut Random) -> i32 {
    let sum: i32 = (0..12).map(|_| random.below(401) as i32).sum();
    (sum - 2400 + if sum >= 2400 { 50 } else { -50 }) / 100
}

fn grey(size: FrameSize, value: impl Fn(usize, usize) -> f64) -> Picture {
    let (width, height) = (size.width(), size.height());
    let rows = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    Picture::from_data(PixelFormat::Grey8, size, rows.map(|(x, y)| value(x, y).round() as u8).collect()).unwrap()
}

/// A wall with a lamp's light, a few waves and the sharp edge of a cupboard.
fn room(size: FrameSize) -> Picture {
    grey(size, |x, y| {
        let (x, y) = (x as f64, y as f64);
        let light = 100.0 + 40.0 * (x / 90.0).sin() + 12.0 * (y / 7.0).sin();
        if x > 120.0 { light - 45.0 } else { light }
    })
}

fn noisy(clean: &Picture, random: &mut Random) -> Picture {
    let add = |&sample: &u8| (i32::from(sample) + noise(random)).clamp(0, 255) as u8;
    Picture::from_data(clean.format(), clean.size(), clean.data().iter().map(add).collect()).unwrap()
}

/// Root of the mean square of the differences.
fn rms(a: &Picture, b: &Picture) -> f64 {
    let squares = a.data().iter().zip(b.data()).map(|(&a, &b)| f64::from(a.abs_diff(b)).powi(2));
    (squares.sum::<f64>() / a.data().len() as f64).sqrt()
}

fn mean(picture: &Picture) -> f64 {
    picture.data().iter().map(|&sample| f64::from(sample)).sum::<f64>() / picture.data().len() as f64
}

#[test]
fn noise_of_a_still_picture_falls_and_edges_stay() {
    let size = size(240, 130);
    let (clean, mut random) = (room(size), Random(1));
    let before = rms(&clean, &noisy(&clean, &mut random));
    assert!((3.6..4.6).contains(&before), "{before}");
    for (values, factor) in [
        (&[(Effect::Noise, 8.0)][..], 0.5),
        (&[(Effect::StillNoise, 4.0)], 0.4),
        (&[(Effect::StillNoise, 4.0), (Effect::Noise, 2.0)], 0.3),
    ] {
        let (effects, mut filter) = (effects(values), EffectsFilter::new(size, Chroma::Grey));
        let filtered =
            (0..40).map(|_| applied(&mut filter, &effects, noisy(&clean, &mut random).as_ref())).last().unwrap();
        let after = rms(&clean, &filtered);
        assert!(after < factor * before, "{effects}: {after:.2} of {before:.2}");
        assert!((mean(&filtered) - mean(&clean)).abs() < 0.3, "{effects}: the picture is as bright as before");
        // Across the cupboard's edge.
        let step = |picture: &Picture| {
            let row = |y: usize| f64::from(picture.data()[240 * y + 119]) - f64::from(picture.data()[240 * y + 122]);
            (0..130).map(row).sum::<f64>() / 130.0
        };
        assert!(
            (step(&filtered) - step(&clean)).abs() < 0.15 * step(&clean),
            "{effects}: {} of {}",
            step(&filtered),
            step(&clean)
        );
    }
}

#[test]
fn motion_leaves_no_trail() {
    let size = size(160, 90);
    let wall = |x: usize, y: usize| 90.0 + 20.0 * (x as f64 / 11.0).sin() * (y as f64 / 5.0).cos();
    // A hand, and one that is hardly seen; each goes 5 samples a picture.
    for (contrast, error_most, mean_most) in [(80.0, 1, 0.01), (15.0, 15, 0.15)] {
        let with_hand = |number: usize| {
            let hand = 5 * number..5 * number + 30;
            grey(size, |x, y| wall(x, y) + if hand.contains(&x) && (30..60).contains(&y) { contrast } else { 0.0 })
        };
        let (effects, mut filter) = (effects(&[(Effect::StillNoise, 4.0)]), EffectsFilter::new(size, Chroma::Grey));
        for number in 0..20 {
            let picture = with_hand(number);
            let filtered = applied(&mut filter, &effects, picture.as_ref());
            let errors: Vec<u8> = filtered.data().iter().zip(picture.data()).map(|(&a, &b)| a.abs_diff(b)).collect();
            let mean = errors.iter().map(|&error| f64::from(error)).sum::<f64>() / errors.len() as f64;
            let worst = *errors.iter().max().unwrap();
            assert!(worst <= error_most && mean < mean_most, "{contrast}, picture {number}: {worst}, {mean}");
        }
    }
    // What differs by less than noise is there within a second, too.
    let (effects, mut filter) = (effects(&[(Effect::StillNoise, 10.0)]), EffectsFilter::new(size, Chroma::Grey));
    applied(&mut filter, &effects, grey(size, wall).as_ref());
    let brighter = grey(size, |x, y| wall(x, y) + 6.0);
    let after: Vec<_> = (0..30).map(|_| applied(&mut filter, &effects, brighter.as_ref())).collect();
    assert!(rms(&after[0], &brighter) > 3.0 && after[29] == brighter);
}

/// The mean of each column, and what is left of the picture without them.
fn columns(picture: &Picture) -> (Vec<f64>, f64) {
    let (width, height) = (picture.size().width(), picture.size().height());
    let sample = |x: usize, y: usize| f64::from(picture.data()[y * width + x]);
    let means: Vec<f64> = (0..width).map(|x| (0..height).map(|y| sample(x, y)).sum::<f64>() / height as f64).collect();
    let rest =
        (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| (sample(x, y) - means[x]).powi(2));
    let rest = (rest.sum::<f64>() / (width * height) as f64).sqrt();
    (means, rest)
}

#[test]
fn even_light_takes_the_window_at_one_side_and_leaves_detail() {
    let size = size(320, 180);
    let lit = grey(size, |x, y| 60.0 + 120.0 * x as f64 / 319.0 + 10.0 * (y as f64 / 2.0).sin());
    let range = |picture: &Picture| {
        let (means, rest) = columns(picture);
        (means[280] - means[40], rest)
    };
    let (before, detail_before) = range(&lit);
    let mut filter = EffectsFilter::new(size, Chroma::Grey);
    for (value, least, most) in [(0.5, 0.4, 0.6), (1.0, 0.0, 0.1)] {
        let evened = applied(&mut filter, &effects(&[(Effect::EvenLight, value)]), lit.as_ref());
        let (after, detail) = range(&evened);
        assert!((least * before..most * before).contains(&after), "{value}: {after} of {before}");
        assert!((detail - detail_before).abs() < 0.5, "{value}: {detail} of {detail_before}");
        assert!(
            (mean(&evened) - mean(&lit)).abs() < 0.1 * before + 2.0,
            "{value}: {} of {}",
            mean(&evened),
            mean(&lit)
        );
    }
}

#[test]
fn detail_is_softened_and_sharpened_and_no_colour_is() {
    let size = size(160, 120);
    let mut picture = Picture::new(PixelFormat::I420, size);
    let (luma, chroma) = picture.data_mut().split_at_mut(160 * 120);
    let stripes = |plane: &mut [u8], width: usize| {
        plane.iter_mut().enumerate().for_each(|(at, sample)| *sample = if at % width % 4 < 2 { 110 } else { 140 });
    };
    stripes(luma, 160);
    stripes(chroma, 80);
    let contrast = |picture: &Picture| {
        let row = &picture.data()[60 * 160..][40..120];
        f64::from(*row.iter().max().unwrap()) - f64::from(*row.iter().min().unwrap())
    };
    let mut filter = EffectsFilter::new(size, Chroma::C420);
    for (value, least, most) in [(0.0, 10.0, 18.0), (0.5, 20.0, 25.0), (1.5, 40.0, 50.0), (3.0, 80.0, 100.0)] {
        let out = applied(&mut filter, &effects(&[(Effect::Detail, value)]), picture.as_ref());
        assert!((least..=most).contains(&contrast(&out)), "{value}: {}", contrast(&out));
        assert!((mean(&out) - mean(&picture)).abs() < 0.5, "{value}: {} of {}", mean(&out), mean(&picture));
        assert!(out.data()[160 * 120..] == picture.data()[160 * 120..], "{value}: colour");
    }
}
