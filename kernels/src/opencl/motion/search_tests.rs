//! The search on the device against its plain form and the processor's.

use std::sync::Arc;
use std::time::Duration;

use device::Device;
use device::settings::Tuning;
use picture::coded::StepIndex;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Profile, StreamParams};

use super::encoder::OpenClPredictedEncoder;
use crate::Picture;
use crate::coder::{
    Costs, Overlapped, PredictedEncoder, Search, encoder_on_the_processor, open_encoder_with, open_state_decoder,
};
use crate::cpu::motion::planes::{Bordered, Luma};
use crate::motion::field::Field;
use crate::motion::predictor::{DeviceDecoder, DeviceEncoder, planes};
use crate::motion::search::Wanted;
use crate::opencl::find;
use crate::{BackendChoice, Effort, Target};

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
        let light = if at % 97 < 20 { 9.0 * (number % 5.0) } else { 0.0 };
        let waves = 110.0 + 45.0 * (x / 6.0).sin() + 35.0 * (y / 5.0).cos() + 20.0 * ((x + 2.0 * y) / 13.0).sin();
        *sample = ((waves + light) as u8).saturating_add(noise as u8);
    }
    picture
}

/// Pictures of each case, of which two follow each other.
const FRAMES: usize = 16;

/// Fields of several frames, of which each begins with the vectors of the one before.
fn fields_are_those_of_the_processor(device: &Arc<Device>, (chroma, size): (Chroma, FrameSize)) -> [usize; 3] {
    let params = StreamParams::new(size, chroma);
    let mut encoder = OpenClPredictedEncoder::new(device, &params, 2, "").unwrap();
    let format = chroma.picture_format();
    let (mut luma, mut source, mut overlapped) = (Luma::new(size), Bordered::new(size), Overlapped::new(size));
    let (mut last, mut seen) = (None::<Field>, [0; 3]);
    for number in 0..FRAMES {
        let effort = [Effort::High, Effort::Medium, Effort::Low][number % 3];
        // From where nearly nothing is joined to where bits decide most.
        let lambda = 20 << (number % 8);
        // In other contexts, and of parts of other sizes, bits cost other numbers.
        let costs = Costs::any(number as u16);
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

/// The device looks itself only where time counts; otherwise frames are the processor's, and all states are those of a decoder.
#[test]
fn a_device_looks_only_where_time_counts() {
    let codec = CodecParams { profile: Profile::Predicted(1), ..CodecParams::default() };
    let params = StreamParams { codec, ..StreamParams::new(FrameSize::new(130, 98).unwrap(), Chroma::C420) };
    let open_device = |params: &StreamParams, states, _: Option<&str>, reason: String| {
        let [device, _] = devices();
        let encoder = OpenClPredictedEncoder::new(&device, params, states, &reason)?;
        Ok(Box::new(encoder) as Box<dyn DeviceDecoder>)
    };
    let frames = |encoder: &mut PredictedEncoder, limit| {
        let mut decoder = open_state_decoder(&params, BackendChoice::Cpu, None).unwrap();
        let mut state = None;
        encoder.set_search(Effort::Medium, limit);
        let mut code = |number| {
            let picture = picture(PixelFormat::I420, params.size, number);
            let target = Target::Step(StepIndex::new(48).unwrap());
            let frame = encoder.encode(picture.as_ref(), target, state.as_ref().map(|state| (1, state))).unwrap();
            let own = encoder.finish().unwrap().unwrap();
            let there = decoder.replay(&frame, &Gaps::default(), state.as_ref()).unwrap();
            assert!(there.picture() == own.picture(), "{limit:?}, frame {number}");
            state = Some(own);
            frame
        };
        [0, 1, 2, 3].map(&mut code)
    };
    let open = || open_encoder_with(&params, BackendChoice::Opencl, None, open_device).unwrap();
    let wanted = frames(&mut encoder_on_the_processor(&params, String::new()), None);
    assert_eq!(wanted.each_ref().map(|frame| frame.reference), [0, 1, 1, 1]);
    assert!(frames(&mut open(), None) == wanted, "the processor's");
    let found = frames(&mut open(), Some(Duration::from_secs(3_600)));
    assert_eq!(found.each_ref().map(|frame| frame.reference), [0, 1, 1, 1]);
    assert!(found != wanted, "the device's");
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
