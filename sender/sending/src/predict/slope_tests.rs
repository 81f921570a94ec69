//! Quality over the share of a processor that a sender has, in virtual time: real frames, of which each takes what its effort takes
//! of a picture of 1280x720.

use std::f64::consts::TAU;
use std::time::Duration;

use common::stream::video::prediction::Held;
use kernels::{BackendChoice, Decoder, Effort, PictureRef, State, Target};
use picture::frame::{FrameSize, PixelFormat};

use super::tests::{arrive, params};
use super::*;
use crate::thin::Thinning;

const SIZE: [usize; 2] = [96, 80];
/// Bytes of a frame, 0.15 bit per pixel, and of one that may be coded alone, 0.2.
const BYTES: usize = 144;
const BYTES_ALONE: usize = 192;
/// The processor time of a frame coded alone, ms.
const COST_ALONE: f64 = 6.0;
/// Pictures until all is settled, and those that are measured.
const SETTLING: u32 = 300;
const MEASURED: u32 = 183;

/// Returns the processor time of a frame with its state, ms (`motion` of `kernels/examples`).
fn cost(effort: Effort) -> f64 {
    match effort {
        Effort::Still => 11.7,
        Effort::Last => 14.0,
        Effort::Near => 18.0,
        Effort::Low => 23.5,
        _ => 30.5,
    }
}

/// A wall, and before it something that moves in a circle, both with a texture.
fn picture(number: u32, data: &mut Vec<u8>) {
    let [width, height] = SIZE;
    let angle = f64::from(number) / 61.0 * TAU;
    let (right, down) = (48.0 + 9.0 * angle.cos(), 40.0 + 7.0 * angle.sin());
    let texture = |x: f64, y: f64| 30.0 * (x / 1.7).sin() * (y / 2.3).cos() + 25.0 * ((x + 2.0 * y) / 5.1).sin();
    data.clear();
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x as f64, y as f64))) {
        let (dx, dy) = (x - right, y - down);
        let is_before = dx * dx + dy * dy < 24.0 * 24.0;
        data.push(if is_before { 140.0 + texture(dx, dy) } else { 110.0 + 0.7 * texture(y, 1.3 * x) } as u8);
    }
    data.resize(width * height * 3 / 2, 128);
}

/// Quality of a sender.
#[derive(Clone, Copy, Debug)]
struct Quality {
    /// PSNR-Y of the pictures that are coded, dB.
    psnr: f64,
    /// Part of all pictures that is coded.
    coded: f64,
    /// Frames coded alone among these.
    alone: u32,
}

/// Runs a sender that has so many ms of a processor for each picture of its source.
fn run(share_ms: f64, bytes: usize) -> Quality {
    let params = params();
    assert_eq!(params.size, FrameSize::new(SIZE[0] as u32, SIZE[1] as u32).unwrap());
    let interval = params.frame_rate.interval();
    let mut sender = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap().only_where_worth_it();
    // By virtual time alone.
    sender.search_time = Some(Duration::MAX);
    let mut decoder = Decoder::open(&params, BackendChoice::Cpu).unwrap();
    let (mut held, mut thinning) = (Held::<State>::new(15), Thinning::new(interval, false));
    let (mut data, mut free) = (Vec::new(), Timestamp::default());
    let (mut psnrs, mut count, mut alone) = (Vec::new(), 0_u32, 0);
    for number in 0..SETTLING + MEASURED {
        let now = Timestamp::from_us(1_000_000) + interval * number;
        // What waits until the next picture comes is replaced by it.
        if free > now + interval || !thinning.takes(now) {
            continue;
        }
        let now = now.max(free);
        picture(number, &mut data);
        let source = PictureRef::new(PixelFormat::I420, params.size, &data).unwrap();
        while sender.prepare(now).unwrap() {}
        let (id, frame) = sender.code(source, Target::Bytes(bytes), now).unwrap();
        let cost = if sender.predicts() { cost(sender.pace.effort()) } else { COST_ALONE };
        let took = interval.mul_f64(cost / share_ms);
        free = now + took;
        sender.on_took(took, thinning.one_in() == 1, free);
        thinning.on_took(took, free, sender.has_less());
        let (report, shown) = arrive((id, &frame), &mut decoder, &mut held);
        sender.on_told(Told::Report(report, now));
        count += 1;
        if number >= SETTLING {
            alone += u32::from(frame.reference == 0);
            let luma = SIZE[0] * SIZE[1];
            let squares = data[..luma].iter().zip(shown.data()).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2));
            psnrs.push(10.0 * (255.0 * 255.0 * luma as f64 / squares.sum::<u64>().max(1) as f64).log10());
        }
    }
    assert!(count > 10, "{share_ms} ms: {count} frames");
    let coded = psnrs.len() as f64;
    Quality { psnr: psnrs.iter().sum::<f64>() / coded, coded: coded / f64::from(MEASURED), alone }
}

/// There is no share at which quality falls off a cliff.
#[test]
fn quality_goes_down_a_slope_with_the_processors_share() {
    let shares: Vec<_> = (2..30).chain((30..=60).step_by(5)).map(f64::from).collect();
    let of_half = |half: usize| shares.iter().skip(half).step_by(2).map(|&share| run(share, BYTES)).collect::<Vec<_>>();
    let [even, odd] = std::thread::scope(|scope| {
        [0, 1]
            .map(|half| {
                scope.spawn({
                    let of_half = &of_half;
                    move || of_half(half)
                })
            })
            .map(|half| half.join().unwrap())
    });
    let all: Vec<_> = (0..shares.len()).map(|at| [&even, &odd][at % 2][at / 2]).collect();
    for (share, Quality { psnr, coded, alone }) in shares.iter().zip(&all) {
        println!("{share} ms: {psnr:.2} dB, {:.0} % of the pictures", 100.0 * coded);
        assert_eq!(*alone, 0, "{share} ms");
    }
    for (pair, share) in all.windows(2).zip(&shares) {
        let step = pair[1].psnr - pair[0].psnr;
        assert!(step.abs() <= 1.0, "{step:.2} dB from {share} ms to the next: {pair:?}");
        assert!(pair[1].coded >= pair[0].coded - 0.05, "{share} ms: {pair:?}");
    }
    let [first, last] = [all[0], all[all.len() - 1]];
    assert!(last.psnr > first.psnr + 2.0 && last.coded > 0.99, "{first:?}, {last:?}");
}

/// With the bits for it: no picture is left out while there is time to code it alone.
#[test]
fn all_pictures_are_coded_alone_before_half_of_them_are_predicted() {
    for share in [4.0, 7.0, 8.0, 10.0, 12.0, 20.0, 30.0] {
        let Quality { psnr, coded, alone } = run(share, BYTES_ALONE);
        println!("{share} ms: {psnr:.2} dB, {:.0} % of the pictures, {alone} frames alone", 100.0 * coded);
        let fits = share > COST_ALONE / 0.9;
        assert_eq!(coded > 0.98, fits, "{share} ms: {coded}");
        assert_eq!(alone > 50, share < 14.0, "{share} ms: {alone} frames alone");
    }
}
