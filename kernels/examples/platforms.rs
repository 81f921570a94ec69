//! The codec on every OpenCL device against the processor: prints a row for each with whether all coded bytes and all
//! pictures are equal, and fails if any is not. What lies in `OCL_ICD_VENDORS` is what there is.

use anyhow::{bail, ensure};
use kernels::{BackendChoice, Decoder, Encoder, Picture, Target};
use noise::Random;
use picture::coded::{ReceivedFrame, StepIndex};
use picture::frame::{BitDepth, Chroma, FrameSize, PixelFormat};
use picture::params::{CodecParams, StreamParams, Wavelet};

mod noise;

const SIZES: [(u32, u32); 6] = [(1, 1), (2, 3), (17, 31), (97, 70), (640, 360), (1919, 1079)];
const STEPS: [u8; 3] = [16, 48, 80];

fn main() -> anyhow::Result<()> {
    let devices = kernels::parts::opencl::devices()?;
    let mut bad = 0;
    for device in devices {
        let (mut pictures, mut bytes_differ, mut pictures_differ) = (0, 0, 0);
        let mut random = Random(1);
        for (width, height) in SIZES {
            for (chroma, wavelet) in
                [(Chroma::C420, Wavelet::Cdf97), (Chroma::C444, Wavelet::Cdf97), (Chroma::C420, Wavelet::Cdf53)]
            {
                let codec = CodecParams { wavelet, ..CodecParams::default() };
                let size = FrameSize::new(width, height)?;
                let params = StreamParams { codec, ..StreamParams::new(size, chroma) };
                let name = Some(device.name.as_str());
                let mut encoders = [
                    Encoder::open(&params, BackendChoice::Cpu)?,
                    Encoder::open(&params, (BackendChoice::Opencl, name))?,
                ];
                let mut decoders = [
                    Decoder::open(&params, BackendChoice::Cpu)?,
                    Decoder::open(&params, (BackendChoice::Opencl, name))?,
                ];
                let mut out = [Picture::decoded_from(&params), Picture::decoded_from(&params)];
                ensure!(params.codec.depth == BitDepth::Eight);
                for step in STEPS {
                    let format = if chroma == Chroma::C444 { PixelFormat::I444 } else { PixelFormat::I420 };
                    let mut source = Picture::new(format, size);
                    random.fill(&mut source);
                    let target = match (wavelet, StepIndex::new(step)) {
                        (Wavelet::Cdf97, Some(step)) => Target::Step(step),
                        _ => Target::Lossless,
                    };
                    let [a, b] = [0, 1].map(|at| encoders[at].encode(source.as_ref(), target, None));
                    let (a, b) = (a?, b?);
                    bytes_differ += usize::from(a != b);
                    // Whole, and with every third block lost.
                    let mut torn = ReceivedFrame::empty(a.header, a.block_count());
                    (0..a.block_count()).filter(|index| index % 3 != 1).for_each(|index| {
                        torn.insert(index, a.block(index));
                    });
                    for frame in [ReceivedFrame::from(&a), torn] {
                        for (decoder, out) in decoders.iter_mut().zip(&mut out) {
                            decoder.decode(&frame, None, out)?;
                        }
                        pictures += 1;
                        pictures_differ += usize::from(out[0] != out[1]);
                    }
                }
            }
        }
        let say = |differ: usize| if differ == 0 { "equal".to_owned() } else { format!("{differ} DIFFER") };
        let (bytes, seen) = (say(bytes_differ), say(pictures_differ));
        println!(
            "| {} | {} | {} | {} frames: {bytes} | {pictures}: {seen} |",
            device.platform,
            device.name,
            device.driver,
            pictures / 2
        );
        bad += bytes_differ + pictures_differ;
    }
    if bad > 0 {
        bail!("{bad} frames or pictures differ from the processor's");
    }
    Ok(())
}
