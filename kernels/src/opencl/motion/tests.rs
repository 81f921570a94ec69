//! Prediction on the device against the reference, with the settings of all kinds of device. On any device: results do not
//! depend on settings.

use std::sync::Arc;

use device::Device;
use device::queue::Queue;
use device::settings::Tuning;
use picture::frame::{Chroma, FrameSize};

use super::channel::ChannelPrediction;
use super::dering::ChannelDering;
use super::params::{Cell, cell_count, write_cells};
use crate::Picture;
use crate::coder::any_field;
use crate::coder::tests::{picture, quiet_picture};
use crate::motion::dering::tests::any_dering;
use crate::motion::field::{Field, Motion};
use crate::motion::predictor::plane_size;
use crate::opencl::find;
use crate::reference::compensate::compensate;
use crate::reference::dering::dering;

/// Items of a row of residuals beyond the plane's own.
const GAP: usize = 3;

fn devices() -> [Arc<Device>; 2] {
    let device = find(None).unwrap();
    [1, 32].map(|group_size| Arc::new(device.with_tuning(Tuning { group_size, ..Tuning::CPU })))
}

/// Returns residuals of every size and sign, with halves, which are rounded up, and those near them.
fn residuals(count: usize) -> Vec<f32> {
    let value = |at: usize| match at % 5 {
        0 => 0.0,
        1 => (at * 7 % 41) as f32 - 20.5,
        2 => (at * 13 % 700) as f32 / 3.0 - 110.0,
        3 => 0.499_999_97,
        _ => (at * 31 % 9) as f32 * 1e5 - 4e5,
    };
    (0..count).map(value).collect()
}

/// Returns the planes that the device makes of a state, vectors and residuals, if any.
fn on_device(
    device: &Arc<Device>,
    (chroma, state): (Chroma, &Picture),
    field: &Field,
    residuals: Option<&[f32]>,
) -> Vec<u8> {
    let (mut found, mut rest) = (Vec::new(), state.data());
    for channel in 0..chroma.channels().len() {
        let (size, _) = plane_size(chroma, state.size(), channel);
        let queue = Queue::with(device, true).unwrap();
        let mut cells = vec![Cell::default(); cell_count(field.units())];
        write_cells(field, &mut cells);
        let cells = queue.constant(&cells).unwrap();
        let residual = residuals.map(|residuals| {
            let rows = residuals[found.len()..].chunks(size.width()).take(size.height());
            let residual: Vec<_> = rows.flat_map(|row| [row, &[f32::NAN; GAP]].concat()).collect();
            queue.constant(&residual).unwrap()
        });
        let from = queue.constant(rest.split_off(..size.pixels()).unwrap()).unwrap();
        let to = queue.constant(&vec![77; size.pixels()]).unwrap();
        let plane = (chroma, state.size(), channel);
        let residual = residual.as_ref().map(|residual| (residual, size.width() + GAP));
        let prediction = ChannelPrediction::new(&queue, plane, field.units(), &cells, residual, &to).unwrap();
        prediction.refer(&queue, &from).unwrap();
        prediction.run(&queue, &to).unwrap();
        let mut there = queue.pinned(size.pixels()).unwrap();
        queue.download(&to, &mut there, size.pixels()).unwrap();
        queue.finish().unwrap();
        found.extend_from_slice(there.values());
    }
    found
}

#[test]
fn predictions_are_those_of_the_reference_at_ugly_sizes() {
    let chromas = [Chroma::C420, Chroma::C444, Chroma::Grey, Chroma::C420];
    let sizes = [(1, 1), (1, 40), (65, 1), (47, 33), (9, 8), (16, 32), (100, 7), (130, 71)];
    let devices = devices();
    for (at, (width, height)) in sizes.into_iter().enumerate() {
        let (chroma, size) = (chromas[at % 4], FrameSize::new(width, height).unwrap());
        let state = picture(chroma, size);
        let residuals = residuals(state.data().len());
        for wild in 0..4 {
            let field = any_field(size, wild, 11 + u64::from(wild), chroma.channels().len());
            let prediction = compensate(&state, chroma, &field);
            let sum = |(&p, r): (&u8, f32)| (r + f32::from(p) + 0.5).floor().clamp(0.0, 255.0) as u8;
            let whole: Vec<_> = prediction.iter().zip(residuals.iter().copied()).map(sum).collect();
            for device in &devices {
                let alone = on_device(device, (chroma, &state), &field, None);
                assert!(alone == prediction, "{size} {chroma:?} {wild}");
                let found = on_device(device, (chroma, &state), &field, Some(&residuals));
                assert!(found == whole, "{size} {chroma:?} {wild}, with residuals");
            }
        }
    }
}

#[test]
fn any_vector_is_that_of_the_reference() {
    let (chroma, size) = (Chroma::C420, FrameSize::new(45, 38).unwrap());
    let [device, _] = devices();
    let state = picture(chroma, size);
    for (x, y) in [(1, -2), (-3, 3), (-2047, 2047), (2047, -2047), (-221, 223), (175, 148), (-17, -15), (2, 1)] {
        let mut field = Field::new(size);
        field.fill(0, 0, 8, Motion::vector(x, y));
        assert!(on_device(&device, (chroma, &state), &field, None) == compensate(&state, chroma, &field), "{x} {y}");
    }
}

#[test]
fn filtered_states_are_those_of_the_reference_at_ugly_sizes() {
    let sizes = [(1, 1), (2, 3), (17, 31), (1, 40), (65, 1), (33, 31), (130, 97)];
    let (devices, chromas) = (devices(), [Chroma::C420, Chroma::C444, Chroma::Grey]);
    for (at, (width, height)) in sizes.into_iter().enumerate() {
        let (chroma, size) = (chromas[at % 3], FrameSize::new(width, height).unwrap());
        let unfiltered = quiet_picture(chroma, size);
        for (device, seed) in devices.iter().flat_map(|device| (1..4).map(move |seed| (device, seed))) {
            let squares = any_dering(size, seed);
            let mut wanted = unfiltered.clone();
            dering(&mut wanted, chroma, &squares);
            let (mut found, mut rest) = (Vec::new(), unfiltered.data());
            for channel in 0..chroma.channels().len() {
                let plane = plane_size(chroma, size, channel).0.pixels();
                let queue = Queue::with(device, true).unwrap();
                let from = queue.constant(rest.split_off(..plane).unwrap()).unwrap();
                let to = queue.constant(&vec![77; plane]).unwrap();
                let mut filter = ChannelDering::new(&queue, (chroma, size, channel), &to).unwrap();
                filter.run(&queue, &squares, &from, &to).unwrap();
                let mut there = queue.pinned(plane).unwrap();
                queue.download(&to, &mut there, plane).unwrap();
                queue.finish().unwrap();
                found.extend_from_slice(there.values());
            }
            assert!(found == wanted.data(), "{size} {chroma:?} {seed}");
        }
    }
}
