//! A long run of predicted frames over a line that loses packets: a sender, and receivers with different back ends.
//!
//! Each receiver's picture must be the same, and the one that the sender has computed of it from reports that come late.
//! Every 5000 frames a bit of the first receiver's picture is wrong on purpose. Time is that of the frames alone, so the run is
//! the same on every machine.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use common::stream::video::packetise::packetise;
use common::stream::video::prediction::Held;
use common::units::{FrameId, Timestamp};
use common::wire::media::Content;
use kernels::{Backend, BackendChoice, Decoder, Effort, Picture, PictureRef, State, Target};
use picture::coded::{BlockState, CodedFrame, ReceivedFrame};
use picture::frame::{Chroma, FrameRate};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Profile, StreamParams};
use picture::pyramid::BlockLayout;
use picture::y4m::{Y4mHeader, Y4mReader};
use sending::predict::{StreamEncoder, Told};

/// States that both ends keep, half a second at 30 frames a second.
const STATES: u8 = 15;
const FRAMES_PER_SECOND: u32 = 30;
const DATAGRAM_BYTES: usize = 1_200;
const BACKENDS: [&str; 3] = ["cpu", "opencl", "reference"];
/// Frames from one bit that is wrong on purpose to the next.
const BREAKS_EVERY: u64 = 5_000;

/// Codes frames from what their receivers hold, with losses, and compares all states.
#[derive(Debug, Parser)]
struct Arguments {
    /// A clip to play there and back: 4:2:0, 8 bits
    clip: PathBuf,
    /// Frames
    #[arg(long, default_value_t = 72_000)]
    frames: u64,
    /// Bytes of a frame
    #[arg(long, default_value_t = 6_000)]
    bytes: usize,
    /// Percent of packets lost
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=100))]
    loss: u64,
    /// Frames from one to the report of it
    #[arg(long, default_value_t = 3)]
    delay: u64,
    /// Decides the fate of every packet
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Back end of the sender
    #[arg(long, default_value = "cpu", value_parser = BACKENDS)]
    sender: String,
    /// Back ends of the receivers
    #[arg(long, value_delimiter = ',', default_value = "cpu,opencl", value_parser = BACKENDS)]
    receivers: Vec<String>,
}

struct Receiver {
    decoder: Decoder,
    held: Held<State>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(!arguments.receivers.is_empty(), "there is no receiver");
    let (params, clip) = read(&arguments.clip)?;
    let choice = |name: &str| match name {
        "opencl" => BackendChoice::Opencl,
        "reference" => BackendChoice::Reference,
        _ => BackendChoice::Cpu,
    };
    let open = |name: &String| {
        let choice = choice(name);
        let decoder = Decoder::open(&params, choice)?;
        println!("receiver: {name} ({})", decoder.backend().device);
        Ok(Receiver { decoder, held: Held::new(STATES) })
    };
    let receivers = arguments.receivers.iter().map(open).collect::<Result<Vec<_>>>()?;
    let mut sender = StreamEncoder::open(&params, choice(&arguments.sender))?;
    println!("sender: {} ({})", sender.backend().kind, sender.backend().device);
    sender.set_effort(Effort::Low);
    let (random, coarse_blocks) = (arguments.seed, BlockLayout::new(&params).coarse_blocks());
    Run { arguments: &arguments, params, clip, receivers, sender, random, coarse_blocks }.run()
}

struct Run<'a> {
    arguments: &'a Arguments,
    params: StreamParams,
    clip: Vec<Vec<u8>>,
    receivers: Vec<Receiver>,
    sender: StreamEncoder,
    random: u64,
    coarse_blocks: usize,
}

impl Run<'_> {
    fn run(mut self) -> Result<()> {
        let began = Instant::now();
        let (mut reports, mut broken, mut healing) = (VecDeque::new(), None, Vec::new());
        let (mut lossy, mut lacking) = (0_u64, 0_u64);
        for number in 0..self.arguments.frames {
            let now = Timestamp::from_us(number * 1_000_000 / u64::from(FRAMES_PER_SECOND));
            while let Some((_, report)) = reports.pop_front_if(|(due, _)| *due <= number) {
                self.sender.on_told(Told::Report(report, now));
            }
            while self.sender.prepare(now)? {}
            let data = &self.clip[there_and_back(number, self.clip.len())];
            let picture = PictureRef::new(self.params.chroma.picture_format(), self.params.size, data)?;
            let (id, frame) = self.sender.code(picture, Target::Bytes(self.arguments.bytes), now)?;
            let received = self.lose(&frame);
            lossy += u64::from(received.missing() > 0);
            let breaks = number > 0 && number % BREAKS_EVERY == 0;
            let pictures = self.receive(id, &frame, &received, breaks)?;
            lacking += u64::from(pictures.is_none());
            if breaks && pictures.is_some() {
                broken = Some(number);
            }
            if let Some([first, others @ ..]) = pictures.as_deref() {
                // A frame of its own ends what the wrong bit has done.
                let are_equal = others.iter().all(|hash| hash == first);
                match broken {
                    Some(since) if frame.reference == 0 && number > since => {
                        healing.push(number - since);
                        broken = None;
                        ensure!(are_equal, "frame {number}: the receivers' pictures differ: {pictures:x?}");
                    }
                    Some(_) => {}
                    None => ensure!(are_equal, "frame {number}: the receivers' pictures differ: {pictures:x?}"),
                }
            }
            if let Some(report) = self.receivers[0].held.report() {
                reports.push_back((number + self.arguments.delay, report));
            }
        }
        let counters = self.sender.counters();
        println!(
            "{} frames in {:.0} s: {lossy} with losses, {lacking} without their reference\n{counters:?}",
            self.arguments.frames,
            began.elapsed().as_secs_f64()
        );
        println!("{} bits broken on purpose; frames until a frame without a reference: {healing:?}", healing.len());
        for (receiver, name) in self.receivers.iter().zip(&self.arguments.receivers) {
            let is_device = receiver.decoder.backend().kind == Backend::Opencl;
            ensure!(is_device == (name == "opencl"), "the device of `{name}` was lost on the way");
        }
        let is_device = self.sender.backend().is_device();
        ensure!(is_device == (self.arguments.sender == "opencl"), "the sender's device was lost on the way");
        if counters.mismatches != healing.len() as u64 {
            bail!("{} states were not as the sender computed them, {} were broken", counters.mismatches, healing.len());
        }
        Ok(())
    }

    /// Returns what arrives of a frame.
    fn lose(&mut self, frame: &CodedFrame) -> ReceivedFrame {
        let mut received = ReceivedFrame::from(frame);
        for packet in packetise(frame, 0, DATAGRAM_BYTES) {
            // Knuth's generator; its upper bits are the random ones.
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (self.random >> 33) % 100 < self.arguments.loss {
                received.forget(blocks(packet.content));
            }
        }
        received
    }

    /// Decodes what has arrived at all receivers; the hashes of their pictures, or none if they lack the reference. `breaks`: the
    /// first receiver's picture has a wrong bit.
    fn receive(
        &mut self,
        id: FrameId,
        frame: &CodedFrame,
        received: &ReceivedFrame,
        breaks: bool,
    ) -> Result<Option<Vec<u32>>> {
        let mut hashes = Vec::new();
        for (at, receiver) in self.receivers.iter_mut().enumerate() {
            let mut received = received.clone();
            let gaps = Gaps::of(&mut received);
            let reference = receiver.held.reference(id, frame.reference);
            if frame.reference > 0 && reference.is_none() {
                receiver.held.on_lacking(id);
                continue;
            }
            // Its missing coarse blocks would be those of a frame that the sender does not know.
            if frame.reference == 0 && (0..self.coarse_blocks).any(|at| received.block(at) == BlockState::Missing) {
                receiver.held.on_not_used(id);
                continue;
            }
            let mut out = Picture::for_stream(self.params.chroma, self.params.size);
            let mut state = receiver.decoder.decode(&received, reference, &mut out)?;
            if breaks && at == 0 {
                out.data_mut()[0] ^= 1;
                state = Some(State::new(out.clone()));
            }
            hashes.push(out.hash());
            receiver.held.on_used(id, gaps, state, Some(out.hash()));
        }
        match hashes.len() {
            0 => Ok(None),
            count if count == self.receivers.len() => Ok(Some(hashes)),
            _ => bail!("one receiver has the reference of frame {id:?}, another has not"),
        }
    }
}

/// Returns the blocks that a packet holds, or holds parts of.
fn blocks(content: Content) -> Range<usize> {
    match content {
        Content::Blocks { first, count, .. } => first as usize..first as usize + usize::from(count),
        Content::Fragment { block, .. } => block as usize..block as usize + 1,
        Content::Parity { .. } => 0..0,
    }
}

/// Returns the picture of a clip of `count` that comes at this number.
fn there_and_back(number: u64, count: usize) -> usize {
    let last = count as u64 - 1;
    let at = number % (2 * last).max(1);
    at.min(2 * last - at.min(2 * last)) as usize
}

fn read(path: &Path) -> Result<(StreamParams, Vec<Vec<u8>>)> {
    let name = || path.display().to_string();
    let mut reader = Y4mReader::new(BufReader::new(File::open(path).with_context(name)?)).with_context(name)?;
    let header = *reader.header();
    ensure!(header.chroma == Chroma::C420, "{}: only 4:2:0 is taken", name());
    let (mut clip, mut data) = (Vec::new(), Vec::new());
    while reader.read(&mut data).with_context(name)? {
        clip.push(data.clone());
    }
    ensure!(!clip.is_empty(), "{}: there is no picture in it", name());
    let codec = CodecParams { profile: Profile::Predicted(STATES), ..CodecParams::default() };
    let frame_rate = FrameRate::new(FRAMES_PER_SECOND, 1).context("frame rate")?;
    let Y4mHeader { size, chroma, colour, raster, .. } = header;
    let params = StreamParams { size, frame_rate, chroma, colour, raster, codec };
    Ok((params, clip))
}
