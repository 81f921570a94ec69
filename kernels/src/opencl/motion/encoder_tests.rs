//! The encoder of predicted frames against the processor's, given the same vectors, with the device's own settings and others.

use std::sync::Arc;

use device::Device;
use device::settings::Tuning;
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{CodecParams, Levels, Padding, StreamParams};
use picture::pyramid::BlockLayout;

use super::encoder::OpenClPredictedEncoder;
use crate::coder::any_field;
use crate::coder::proven::distances;
use crate::coder::tests::picture as slopes;
use crate::cpu::colour;
use crate::cpu::motion::compensate::CpuPredictor;
use crate::cpu::motion::dering::CpuDering;
use crate::cpu::motion::planes::Bordered;
use crate::cpu::{CpuDecoder, CpuEncoder};
use crate::motion::dering::tests::any_dering;
use crate::motion::dering::{Dering, Gains};
use crate::motion::field::Field;
use crate::motion::predictor::{DeviceDecoder, DeviceEncoder, Predictor, ResidualDecoder, ResidualEncoder, planes};
use crate::opencl::find;
use crate::{Picture, PictureRef, Target};

/// States that a stream keeps.
const STATES: u8 = 2;

fn devices() -> [Arc<Device>; 2] {
    let device = find(None).unwrap();
    // Tiles stay the device's own: they must fit into its local memory.
    let own = device.tuning.clone();
    let other = Tuning { group_size: 32, block_group_size: 32, blocks_per_group: 2, ..own.clone() };
    [own, other].map(|tuning| Arc::new(device.with_tuning(tuning)))
}

fn params(width: u32, height: u32, chroma: Chroma) -> StreamParams {
    StreamParams::new(FrameSize::new(width, height).unwrap(), chroma)
}

/// Returns a picture with slopes that move from frame to frame, and a little noise.
fn picture(format: PixelFormat, size: FrameSize, number: usize) -> Picture {
    let mut picture = Picture::new(format, size);
    for (at, sample) in picture.data_mut().iter_mut().enumerate() {
        let noise = ((at as u32 ^ (number as u32) << 20).wrapping_mul(2_654_435_761) >> 28) as usize;
        *sample = ((at + 3 * number) / 5 % 200 + noise) as u8;
    }
    picture
}

/// The processor's prediction of a picture from vectors and a state.
struct Processor {
    params: StreamParams,
    predictor: CpuPredictor,
    encoder: CpuEncoder,
    decoder: CpuDecoder,
    filter: CpuDering,
}

impl Processor {
    fn new(params: &StreamParams) -> Self {
        let decoder = CpuDecoder::new(params, BlockLayout::new(params), String::new());
        let predictor = CpuPredictor::new(params.chroma, params.size);
        Self {
            params: *params,
            predictor,
            encoder: CpuEncoder::new(params, String::new()),
            decoder,
            filter: CpuDering::new(params.chroma, params.size),
        }
    }

    fn predict(&mut self, field: &Field, state: &Picture) -> Picture {
        let mut prediction = Picture::for_stream(self.params.chroma, self.params.size);
        self.predictor.refer(state);
        self.predictor.compensate(field, &mut prediction);
        prediction
    }

    fn state(&mut self, frame: &ReceivedFrame, prediction: &Picture) -> Picture {
        let mut state = prediction.clone();
        self.decoder.add_residual(frame, &mut state).unwrap();
        state
    }

    fn filtered(&mut self, dering: &Dering, state: &Picture) -> Picture {
        let mut filtered = state.clone();
        self.filter.take(state);
        self.filter.filter(dering, &mut filtered);
        filtered
    }

    /// Returns the gains of the picture filtered last.
    fn gains(&self, luma: &[u8]) -> Vec<Gains> {
        let mut source = Bordered::new(self.params.size);
        source.take(self.params.size, luma);
        self.filter.gains(&source)
    }
}

/// Returns the frame without every seventh block, and with bytes that are none in another.
fn harmed(frame: &CodedFrame, seed: usize) -> ReceivedFrame {
    let mut received = ReceivedFrame::empty(frame.header, frame.block_count());
    for index in 0..frame.block_count() {
        match (index + seed) % 7 {
            0 => false,
            1 => received.insert(index, &[frame.block(index), &[1]].concat()),
            _ => received.insert(index, frame.block(index)),
        };
    }
    received
}

/// Many frames, of any vectors, with losses and states that the device has, has made of what a receiver lacked, or has not.
fn frames_are_those_of_the_processor(device: &Arc<Device>, params: &StreamParams, formats: &[PixelFormat]) {
    let mut processor = Processor::new(params);
    let mut encoder = OpenClPredictedEncoder::new(device, params, STATES, "").unwrap();
    let channels = params.chroma.channels().len();
    let mut states = vec![(0, slopes(params.chroma, params.size))];
    for number in 1..=12 {
        let case = format!("{} {:?} frame {number}, {:?}", params.size, params.chroma, device.tuning);
        let picture = picture(formats[number % formats.len()], params.size, number);
        let field = any_field(params.size, number as u32 % 4, number as u64, channels);
        let (from, state) = &states[states.len() - 1 - usize::from(number % 5 == 4)];
        let prediction = processor.predict(&field, state);
        encoder.bring(picture.as_ref()).unwrap();
        encoder.predict(&field, (*from, state)).unwrap();
        let step = |index| Target::Step(StepIndex::new(index).unwrap());
        let fine = encoder.code(step(16)).unwrap();
        assert!(fine == processor.encoder.encode_residual(picture.as_ref(), &prediction, step(16)).unwrap(), "{case}");
        // A budget that leaves some, and one that the next frame's search finds far away.
        let target = if number % 4 == 0 { step(60) } else { Target::Bytes(fine.data.len() / (1 + number % 3) + 40) };
        let coded = encoder.code(target).unwrap();
        assert!(coded == processor.encoder.encode_residual(picture.as_ref(), &prediction, target).unwrap(), "{case}");
        let own = colour::bytes(picture.as_ref(), params.chroma);
        let wanted = distances(&own, prediction.data(), params.size.width(), params.size.pixels());
        assert_eq!(DeviceEncoder::distances(&encoder), wanted, "{case}");
        let (mut found, at) = (Picture::for_stream(params.chroma, params.size), 10 * number as u64);
        let dering = any_dering(params.size, number as u64);
        let unfiltered = processor.state(&ReceivedFrame::from(&coded), &prediction);
        let state_of_all = processor.filtered(&dering, &unfiltered);
        let gains = processor.gains(planes(params.chroma, params.size, &own)[0]);
        assert!(encoder.state(at, &dering, &mut found).unwrap() == gains, "the gains, {case}");
        assert!(found == state_of_all, "the state, {case}");
        if number % 3 == 0 {
            // What the receiver has is the next frame's reference.
            let received = harmed(&coded, number);
            encoder.start(&received, 0).unwrap();
            encoder.finish((&field, &dering), (*from, state), at + 1, &mut found).unwrap();
            let replayed = processor.state(&received, &prediction);
            let replayed = processor.filtered(&dering, &replayed);
            assert!(found == replayed, "the state with gaps, {case}");
            states.push((at + 1, replayed));
        } else {
            states.push((at, state_of_all));
        }
    }
}

#[test]
fn frames_are_those_of_the_processor_at_ugly_sizes() {
    use PixelFormat::{Grey8, I420, I444, Nv12, Rgb8, YCbCr8, Yuyv};
    let cases = [
        ((97, 70), Chroma::C420, &[I420, Rgb8, Yuyv][..]),
        ((70, 47), Chroma::C444, &[I444, YCbCr8, Nv12][..]),
        ((1, 40), Chroma::C420, &[I420, Grey8][..]),
        ((65, 1), Chroma::Grey, &[Grey8, Rgb8][..]),
        ((1, 1), Chroma::C444, &[I444][..]),
        ((203, 117), Chroma::C420, &[Nv12, I420][..]),
    ];
    for device in devices() {
        for ((width, height), chroma, formats) in cases {
            frames_are_those_of_the_processor(&device, &params(width, height, chroma), formats);
        }
    }
}

#[test]
fn frames_are_those_of_the_processor_with_other_transforms() {
    let [_, device] = devices();
    let codec = CodecParams { levels: Levels::AtMost(2), padding: Padding::Zero, ..CodecParams::default() };
    let params = StreamParams { codec, ..params(98, 70, Chroma::C420) };
    frames_are_those_of_the_processor(&device, &params, &[PixelFormat::I420]);
}

#[test]
fn a_frame_that_is_given_up_leaves_no_trace() {
    let [_, device] = devices();
    let params = params(97, 70, Chroma::C420);
    let mut encoder = OpenClPredictedEncoder::new(&device, &params, STATES, "").unwrap();
    let mut processor = Processor::new(&params);
    let state = slopes(params.chroma, params.size);
    let pictures = [1, 2].map(|number| picture(PixelFormat::I420, params.size, number));
    let field = any_field(params.size, 2, 3, 3);
    encoder.bring(pictures[0].as_ref()).unwrap();
    encoder.predict(&field, (1, &state)).unwrap();
    assert!(encoder.code(Target::Bytes(3)).is_err());
    assert!(encoder.code(Target::Lossless).is_err());
    encoder.bring(pictures[1].as_ref()).unwrap();
    encoder.predict(&field, (1, &state)).unwrap();
    let target = Target::Bytes(2_000);
    let coded = encoder.code(target).unwrap();
    let prediction = processor.predict(&field, &state);
    assert!(coded == processor.encoder.encode_residual(pictures[1].as_ref(), &prediction, target).unwrap());
}

#[test]
fn a_picture_of_another_size_is_refused() {
    let [device, _] = devices();
    let params = params(97, 70, Chroma::C420);
    let mut encoder = OpenClPredictedEncoder::new(&device, &params, STATES, "").unwrap();
    let data = vec![0; PixelFormat::I420.bytes(params.size.halved())];
    assert!(encoder.bring(PictureRef::new(PixelFormat::I420, params.size.halved(), &data).unwrap()).is_err());
}
