#![allow(clippy::unwrap_used, reason = "tests")]
use common::frame::FrameSize;
use common::params::{Boundary, Levels, Padding};
use common::pyramid::Pyramid;

use super::address::Tabled;
use super::channel::constant;
use super::choice::Schemes;
use super::convolution::Convolution;
use super::device;
use super::level::LevelKernels;
use super::queue::Queue;
use super::rowcolumn::RowColumn;
use super::transform::ChannelTransform;
use crate::reference::dwt;
use crate::reference::sample::Sample;
use crate::transform::Filter;
use crate::wavelet::Wavelet;

fn run<T: Tabled + Sample>(
    schemes: &Schemes<T>,
    queue: &Queue,
    pyramid: &Pyramid,
    plane: &[T],
    square: &[T],
) -> (Vec<T>, Vec<T>) {
    let t = ChannelTransform::<T>::new(queue, pyramid, schemes).unwrap();
    let (w, side) = (pyramid.plane().width(), pyramid.side());
    let mut events = Vec::new();
    let put = |buffer: &super::queue::Buffer<T>, pitch: usize, values: &[T], width: usize| {
        let mut s = queue.pinned::<T>(buffer.len()).unwrap();
        for (row, v) in s.values_mut().chunks_mut(pitch).zip(values.chunks(width)) {
            row[..width].copy_from_slice(v);
        }
        queue.upload(&s, buffer, buffer.len()).unwrap();
        queue.finish().unwrap();
    };
    let get = |buffer: &super::queue::Buffer<T>, pitch: usize, width: usize, height: usize| -> Vec<T> {
        let mut s = queue.pinned::<T>(buffer.len()).unwrap();
        queue.download(buffer, 0, &mut s, buffer.len()).unwrap();
        queue.finish().unwrap();
        s.values().chunks(pitch).take(height).flat_map(|r| &r[..width]).copied().collect()
    };
    let (samples, pitch) = t.samples();
    put(samples, pitch, plane, w);
    t.run_forward(queue, &mut events).unwrap();
    let coefficients = get(&t.bands, t.band_pitch, side, side);
    put(&t.bands, t.band_pitch, square, side);
    t.run_inverse(queue, &mut events).unwrap();
    (coefficients, get(samples, pitch, w, pyramid.plane().height()))
}

fn check<T: Tabled + Sample>(
    queue: &Queue,
    wavelet: Wavelet,
    size: (u32, u32),
    padding: Padding,
    sample: impl Fn(i32) -> T,
    value: impl Fn(T) -> f64,
    tolerance: f64,
) {
    for boundary in [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero] {
        let filter = Filter::Wavelet(wavelet);
        let pyramid =
            Pyramid::with_reach(FrameSize::new(size.0, size.1).unwrap(), Levels::Full, boundary, padding, None);
        let convolution = Convolution::<T>::new(queue, &filter, boundary, &pyramid).unwrap();
        let rowcolumn = RowColumn::<T>::new(queue, &filter, boundary, &pyramid).unwrap();
        let plane: Vec<T> =
            (0..(size.0 * size.1) as i32).map(|n| sample((n * n % 1009 * 37 + 11 * n) % 256 - 128)).collect();
        let steps = T::steps(wavelet);
        let square = dwt::forward(&plane, &pyramid, &steps, boundary);
        for (name, scheme) in
            [("convolution", Box::new(convolution) as Box<dyn LevelKernels<T>>), ("rowcolumn", Box::new(rowcolumn))]
        {
            let (forward, inverse) = run(&Schemes::all(scheme), queue, &pyramid, &plane, &square);
            let worst =
                |a: &[T], b: &[T]| a.iter().zip(b).map(|(&a, &b)| (value(a) - value(b)).abs()).fold(0.0, f64::max);
            let peak = square.iter().map(|&c| value(c).abs()).fold(0.0, f64::max);
            let back = dwt::inverse(&square, &pyramid, &steps, boundary);
            let errors = (worst(&forward, &square) / peak, worst(&inverse, &back) / 128.0);
            assert!(
                errors.0 <= tolerance && errors.1 <= tolerance,
                "{name} {wavelet:?} {boundary:?} {size:?} {padding:?}: {errors:?}"
            );
        }
    }
}

#[test]
fn tables() {
    let device = device::find(None).unwrap();
    let queue = Queue::new(&device).unwrap();
    let _ = constant(&queue, &[1]).unwrap();
    for padding in [Padding::Smooth, Padding::Zero] {
        for size in [(1, 1), (1, 7), (2, 2), (3, 2), (17, 31), (70, 33)] {
            for wavelet in [Wavelet::Cdf97, Wavelet::Dd137] {
                check::<f32>(&queue, wavelet, size, padding, |n| n as f32, f64::from, 2e-5);
                check::<f64>(&queue, wavelet, size, padding, f64::from, |v| v, 1e-10);
            }
            check::<i32>(&queue, Wavelet::Cdf53, size, padding, |n| n, f64::from, 0.0);
        }
    }
}
