//! The more blocks of a frame are lost, the worse its picture, and equally so on every back end.
#![allow(clippy::unwrap_used, reason = "tests")]

mod pictures;

use kernels::{BackendChoice, Decoder, Encoder, Picture, Target};
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::CodecParams;
use picture::psnr::psnr_db;

use pictures::{Random, all_zero, arrived, params, picture};

const SIZE: (u32, u32) = (200, 120);
const BACK_ENDS: [BackendChoice; 2] = [BackendChoice::Cpu, BackendChoice::Opencl];

/// Most that a picture may gain by the loss of one block, decibels: samples are rounded and cut to 0 to 255, and the
/// filters are not quite orthogonal.
const GAIN_MAX: f64 = 0.005;

struct Decoders {
    frame: CodedFrame,
    /// A frame in which every block says that it is zero, so that no coarse block of the frame before is left.
    nothing: ReceivedFrame,
    decoders: Vec<Decoder>,
    pictures: Vec<Picture>,
    source: Picture,
}

impl Decoders {
    fn open(seed: u32, step: u8) -> Self {
        let params = params(SIZE, Chroma::C420, CodecParams::default());
        let source = picture(PixelFormat::I420, FrameSize::new(SIZE.0, SIZE.1).unwrap(), seed);
        let mut encoder = Encoder::open(&params, BackendChoice::Cpu).unwrap();
        let frame = encoder.encode(source.as_ref(), Target::Step(StepIndex::new(step).unwrap()), None).unwrap();
        let nothing = all_zero(&frame);
        let decoders = BACK_ENDS.map(|choice| Decoder::open(&params, choice).unwrap()).into();
        let pictures = vec![Picture::for_stream(Chroma::C420, params.size); BACK_ENDS.len()];
        Self { frame, nothing, decoders, pictures, source }
    }

    /// Returns the PSNR of the frame without the `lost` blocks, which all back ends decode to the same picture.
    fn psnr_without(&mut self, lost: &[usize]) -> f64 {
        let received = arrived(&self.frame, |index| !lost.contains(&index));
        for (decoder, picture) in self.decoders.iter_mut().zip(&mut self.pictures) {
            decoder.decode(&self.nothing, None, picture).unwrap();
            decoder.decode(&received, None, picture).unwrap();
        }
        assert!(self.pictures[0] == self.pictures[1], "the back ends differ without {lost:?}");
        psnr_db(self.source.data(), self.pictures[0].data())
    }

    /// Loses the blocks in this order.
    fn lose(&mut self, order: &[usize]) {
        let (whole, mut last, mut most) = (self.psnr_without(&[]), f64::INFINITY, 0.0_f64);
        for count in 0..=order.len() {
            let psnr = self.psnr_without(&order[..count]);
            most = most.max(psnr - last);
            assert!(psnr <= last + GAIN_MAX, "{last:.3} dB became {psnr:.3} dB when {count} blocks were lost");
            last = psnr;
        }
        println!("{whole:.2} dB whole, {last:.2} dB without {} blocks; largest gain {most:.5} dB", order.len());
        assert!(last < 20.0 && whole > 30.0, "{whole} {last}");
    }
}

#[test]
fn the_picture_gets_worse_with_every_loss_by_rank() {
    for (seed, step) in [(0, 40), (1, 56)] {
        let mut decoders = Decoders::open(seed, step);
        let order: Vec<_> = (0..decoders.frame.block_count()).rev().collect();
        decoders.lose(&order);
    }
}

#[test]
fn the_picture_gets_worse_with_every_loss_in_any_order() {
    let mut decoders = Decoders::open(0, 48);
    let mut random = Random(1);
    for _ in 0..8 {
        let mut order: Vec<_> = (0..decoders.frame.block_count()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
        decoders.lose(&order);
    }
}
