//! The search on the device against its plain form and the processor's.

use std::sync::Arc;

use device::Device;
use device::settings::Tuning;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::StreamParams;

use super::encoder::OpenClPredictedEncoder;
use crate::Effort;
use crate::Picture;
use crate::coder::{Costs, Overlapped, Search};
use crate::cpu::motion::planes::{Bordered, Luma};
use crate::motion::field::Field;
use crate::motion::predictor::{DeviceEncoder, planes};
use crate::motion::search::Wanted;
use crate::opencl::find;

fn devices() -> [Arc<Device>; 2] {
    let device = find(None).unwrap();
    [1, 32].map(|search_group_size| Arc::new(device.with_tuning(Tuning { search_group_size, ..Tuning::CPU })))
}

/// Returns a picture of waves of which parts move apart, with noise; other pictures the further `number` is.
fn picture(format: PixelFormat, size: FrameSize, number: usize) -> Picture {
    let mut picture = Picture::new(format, size);
    let (width, number) = (size.width(), number as f64);
    for (at, sample) in picture.data_mut().iter_mut().enumerate() {
        let (x, y) = ((at % width) as f64, (at / width) as f64);
        // Half of it moves one way, half another; a patch brightens.
        let [x, y] = if x + y < 90.0 { [x + 1.75 * number, y] } else { [x - 2.5 * number, y + 3.25 * number] };
        let noise = (at as u32 ^ (number as u32) << 20).wrapping_mul(2_654_435_761) >> 29;
        let light = if at % 97 < 20 { 9.0 * number } else { 0.0 };
        let waves = 110.0 + 45.0 * (x / 6.0).sin() + 35.0 * (y / 5.0).cos() + 20.0 * ((x + 2.0 * y) / 13.0).sin();
        *sample = (waves + light) as u8 + noise as u8;
    }
    picture
}

/// Fields of several frames, of which each begins with the vectors of the one before.
fn fields_are_those_of_the_processor(device: &Arc<Device>, (chroma, size): (Chroma, FrameSize)) -> [usize; 3] {
    let params = StreamParams::new(size, chroma);
    let mut encoder = OpenClPredictedEncoder::new(device, &params, 2, "").unwrap();
    let (format, costs) = (chroma.picture_format(), Costs::new());
    let (mut luma, mut source, mut overlapped) = (Luma::new(size), Bordered::new(size), Overlapped::new(size));
    let (mut last, mut seen) = (None::<Field>, [0; 3]);
    for (number, (effort, lambda)) in
        [(Effort::High, 60), (Effort::Medium, 300), (Effort::Low, 20), (Effort::High, 1_500)].into_iter().enumerate()
    {
        let [before, now] = [number, number + 1].map(|number| picture(format, size, number));
        luma.take(planes(chroma, size, before.data())[0]);
        source.take(size, planes(chroma, size, now.data())[0]);
        // Low effort is the processor's own: a device tries to join all motions of a block.
        let search = Search {
            chroma,
            size,
            reference: &luma,
            reference_plane: planes(chroma, size, before.data())[0],
            source: &source,
            planes: &planes(chroma, size, now.data()),
            costs: &costs,
            lambda,
            effort: effort.max(Effort::Medium),
            is_late: &|| false,
        };
        encoder.bring(now.as_ref()).unwrap();
        for rounds in [0, effort.rounds()] {
            let (looks_everywhere, passes) = (effort.looks_everywhere(last.is_some()), effort.rounds() + 1);
            let wanted = Wanted { last: last.as_ref(), costs: costs.table(), lambda, looks_everywhere, passes, rounds };
            let found = encoder.look(&wanted, (number as u64, &before)).unwrap();
            let mut field = search.search_apart(&wanted);
            search.refine(&mut field, &mut overlapped, rounds);
            assert!(found == field, "{size} {chroma:?} {effort:?} {rounds}, {:?}", device.tuning.search_group_size);
            let [columns, rows] = field.units();
            let units = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y)));
            for (x, y) in units {
                let cell = field.cell(2 * x, 2 * y);
                let is = [field.is_whole(x / 2, y / 2), field.is_quartered(x, y), cell.is_flat()];
                seen.iter_mut().zip(is).for_each(|(seen, is)| *seen += usize::from(is));
            }
            last = Some(field);
        }
    }
    seen
}

#[test]
fn fields_are_those_of_the_processor_at_ugly_sizes() {
    let mut seen = [0; 3];
    let cases = [
        ((200, 130), Chroma::C420),
        ((97, 70), Chroma::C444),
        ((1, 40), Chroma::C420),
        ((65, 1), Chroma::Grey),
        ((33, 95), Chroma::Grey),
        ((300, 49), Chroma::C420),
    ];
    for device in devices() {
        for ((width, height), chroma) in cases {
            let found = fields_are_those_of_the_processor(&device, (chroma, FrameSize::new(width, height).unwrap()));
            seen.iter_mut().zip(found).for_each(|(seen, found)| *seen += found);
        }
    }
    assert!(seen.iter().all(|&seen| seen > 20), "blocks that are whole, units quartered and flat ones: {seen:?}");
}
