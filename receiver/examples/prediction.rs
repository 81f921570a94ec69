//! Pictures and delay with prediction and without, over the same simulated lines, and the pictures after a start and a
//! cut, as Markdown tables.
//!
//! `make prediction` runs it: 3 Mbit/s, 50 ms round trip, the demonstration's clip. Both sessions and both ends of the
//! codec are the daemons' own; the time is virtual, so that only the last two columns depend on the machine: the
//! processor's time of a frame. `FRAMES`, `RATE` (bits a second) and `SEED` in the environment change it; `LOW=1`
//! searches with low effort.
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example")]

use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use common::config::{parse_sender, resolve_sender};
use common::netsim::session::{ReceiverSession, SenderSession};
use common::netsim::{Bottleneck, Bursts, NetConditions, Network, Scenario};
use common::stream::video::prediction::states_of;
use common::stream::video::protection::Protection;
use common::stream::video::{FrameTimes, ReceiverEvent, ReceiverOptions, SenderEvent};
use common::units::{Bitrate, FrameId, Timestamp};
use common::wire::control::ControlMessage;
use common::wire::states::StatesReport;
use kernels::{BackendChoice, Effort, Picture, PictureRef, Target};
use picture::coded::ReceivedFrame;
use picture::frame::{Chroma, FrameRate, FrameSize, PixelFormat};
use picture::params::{CodecParams, Profile, StreamParams};
use sending::predict::{StreamEncoder, Told};
use sending::source::{SourceFrame, SourceInfo, SourceSpec};
use showing::predicted::{Outcome, StreamDecoder};

const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo-clip/demo_720p30.mjpeg");
const MAX_DATAGRAM: usize = 1_200;
/// One way.
const DELAY: Duration = Duration::from_millis(25);
/// Virtual time of coding and decoding.
const CODE: Duration = Duration::from_millis(12);
const DECODE: Duration = Duration::from_millis(6);
/// Frames before the table's: the rate settles.
const SETTLING: usize = 60;
/// Frames after a start or a cut whose pictures are told: at once, and after 100, 200, 300 ms and 1 s.
const AFTER: [usize; 5] = [0, 3, 6, 9, 30];

fn asked(name: &str, default: u64) -> u64 {
    #[allow(clippy::disallowed_methods, reason = "reads its settings")]
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let (frames, seed) = (asked("FRAMES", 240) as usize, asked("SEED", 1));
    let rate = Bitrate::from_bps(asked("RATE", 3_000_000));
    let spec = SourceSpec::parse(&format!("mjpeg:{}:fps=0", Path::new(CLIP).display())).unwrap();
    let mut source = sending::source::open(&spec, &resolve_sender(&parse_sender("").unwrap()).unwrap()).unwrap();
    let info = source.info();
    let clip = Rc::new(std::iter::from_fn(|| source.next(Vec::new()).unwrap()).take(frames).collect::<Vec<_>>());
    let lossy = |loss| NetConditions { loss, ..NetConditions::perfect(DELAY) };
    let bursts = Bursts { average: 0.02, mean_length: 6.0 };
    let (ms, clean) = (Duration::from_millis, lossy(0.0));
    let of_mbit = |mbit: u64| NetConditions {
        bottleneck: Some(Bottleneck { rate: Bitrate::from_bps(mbit * 1_000_000), queue: ms(100), overhead_bytes: 28 }),
        ..clean
    };
    let away =
        Scenario::table(&[(ms(0), clean), (ms(2_800), lossy(1.0)), (ms(3_000), clean)]).repeated_every(ms(3_000));
    let narrow = Scenario::table(&[(ms(0), of_mbit(50)), (ms(3_000), of_mbit(1)), (ms(5_000), of_mbit(50))]);
    let lines: [(&str, Scenario); 6] = [
        ("clean", clean.into()),
        ("1 % lost", lossy(0.01).into()),
        ("5 % lost", lossy(0.05).into()),
        ("bursts", NetConditions { bursts: Some(bursts), ..clean }.into()),
        ("away for 200 ms, every 3 s", away),
        ("50, 1, 50 Mbit/s", narrow),
    ];
    println!("{CLIP}, {frames} frames of {}, {rate}, seed {seed}\n", info.size);
    println!(
        "| line | prediction | PSNR-Y mean | worst frame | latency p50 | p95 | shown | predicted | replays | mismatches | processor, code | decode |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, line) in lines {
        for prediction in [false, true] {
            let mut call = Call::new((info, &clip), prediction, rate, &line, seed);
            (0..frames).for_each(|_| call.frame());
            call.print(name);
        }
    }
    // From the middle on the clip is upside down.
    let cut = frames / 2;
    let turned = (0..frames).map(|number| {
        let picture = &clip[number % clip.len()];
        if number < cut { copy(picture) } else { upside_down(picture, info.size) }
    });
    let clip = Rc::new(turned.collect::<Vec<_>>());
    println!(
        "\n| clean line, PSNR-Y | prediction | first | 100 ms | 200 ms | 300 ms | 1 s later | largest frame, of its share |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    for prediction in [false, true] {
        let mut call = Call::new((info, &clip), prediction, rate, &clean.into(), seed);
        (0..frames).for_each(|_| call.frame());
        call.run_until(call.now + 8 * DELAY);
        call.compare_until(frames);
        call.print_after("start", 0);
        call.print_after("cut", cut);
    }
}

fn copy(picture: &SourceFrame) -> SourceFrame {
    SourceFrame { format: picture.format, data: picture.data.clone(), capture: picture.capture, info: None }
}

/// Returns the picture with its rows in the other order.
fn upside_down(picture: &SourceFrame, size: FrameSize) -> SourceFrame {
    let (width, height) = (size.width(), size.height());
    let planes: &[(usize, usize)] = match picture.format {
        PixelFormat::I420 => {
            &[(width, height), (width.div_ceil(2), height.div_ceil(2)), (width.div_ceil(2), height.div_ceil(2))]
        }
        PixelFormat::YCbCr8 => &[(3 * width, height)],
        PixelFormat::Yuyv => &[(4 * width.div_ceil(2), height)],
        other => panic!("a clip of {other:?}"),
    };
    let (mut data, mut rest) = (Vec::with_capacity(picture.data.len()), &*picture.data);
    for (row, rows) in planes {
        let (plane, others) = rest.split_at(row * rows);
        plane.rchunks(*row).for_each(|row| data.extend_from_slice(row));
        rest = others;
    }
    SourceFrame { data: data.into(), ..copy(picture) }
}

struct Call {
    params: StreamParams,
    now: Timestamp,
    sender: SenderSession,
    receiver: ReceiverSession,
    coder: StreamEncoder,
    decoder: StreamDecoder,
    media: Network,
    feedback: Network,
    control: VecDeque<(Timestamp, bool, ControlMessage)>,
    reports: VecDeque<(Timestamp, StatesReport)>,
    begin: Option<Timestamp>,
    clip: Rc<Vec<SourceFrame>>,
    frames: usize,
    /// The luma on the screen, and what each frame's picture was compared with the one shown for it, dB.
    screen: Vec<u8>,
    psnrs: Vec<f64>,
    /// Bytes of each frame over those of its share of the rate.
    shares: Vec<f64>,
    share_bytes: f64,
    latencies: Vec<Duration>,
    /// Processor time of coding and of decoding on this machine.
    took: [Duration; 2],
}

impl Call {
    fn new(
        (info, clip): (SourceInfo, &Rc<Vec<SourceFrame>>),
        prediction: bool,
        rate: Bitrate,
        line: &Scenario,
        seed: u64,
    ) -> Self {
        let frame_rate = FrameRate::USUAL;
        let profile = if prediction { Profile::Predicted(states_of(frame_rate)) } else { Profile::Quad };
        let codec = CodecParams { profile, ..CodecParams::default() };
        let params =
            StreamParams { frame_rate, colour: info.colour, codec, ..StreamParams::new(info.size, Chroma::C420) };
        let now = Timestamp::from_us(1_000_000);
        let mut coder = StreamEncoder::open(&params, BackendChoice::Cpu).unwrap();
        coder.set_effort(if asked("LOW", 0) > 0 { Effort::Low } else { Effort::default() });
        let decoder = StreamDecoder::open(&params, &BackendChoice::Cpu.into()).unwrap();
        let network = |seed: u64| Network::new(line.clone().with_seed(seed), now);
        let mut call = Self {
            params,
            now,
            sender: SenderSession::new(params, rate, Protection::Auto),
            receiver: ReceiverSession::new(ReceiverOptions::default()),
            coder,
            decoder,
            media: network(seed),
            feedback: network(seed + 1_000),
            control: VecDeque::new(),
            reports: VecDeque::new(),
            begin: None,
            clip: Rc::clone(clip),
            frames: 0,
            screen: vec![0; params.size.pixels()],
            psnrs: vec![],
            shares: vec![],
            share_bytes: rate.as_bps() as f64 / 8.0 / frame_rate.as_f64(),
            latencies: vec![],
            took: [Duration::ZERO; 2],
        };
        call.sender.on_connected(now, MAX_DATAGRAM);
        call.receiver.on_connected(now);
        call.run_until(now + 8 * DELAY);
        call
    }

    /// Captures, codes and sends a picture; ends when the next one is due.
    fn frame(&mut self) {
        let (capture, number, clip) = (self.now, self.frames, Rc::clone(&self.clip));
        let picture = &clip[number % clip.len()];
        let begin = *self.begin.get_or_insert(capture);
        let target = Target::Bytes(self.sender.budget_bytes());
        let began = processor_time();
        let reference = PictureRef::new(picture.format, self.params.size, &picture.data).unwrap();
        let (id, frame) = self.coder.code(reference, target, capture).unwrap();
        self.took[0] += processor_time().saturating_sub(began);
        self.frames += 1;
        self.shares.push(frame.data.len() as f64 / self.share_bytes);
        self.run_until(capture + CODE);
        self.sender.on_frame(id, &frame, FrameTimes { capture, coded: self.now }, self.now);
        self.run_until(begin + self.params.frame_rate.interval() * (number as u32 + 1));
    }

    fn run_until(&mut self, end: Timestamp) {
        self.exchange();
        loop {
            let next = [
                self.sender.poll_timeout(),
                self.receiver.poll_timeout(),
                self.media.next_arrival(),
                self.feedback.next_arrival(),
                self.control.front().map(|front| front.0),
                self.reports.front().map(|front| front.0),
            ];
            let Some(next) = next.into_iter().flatten().min().filter(|&next| next <= end) else { break };
            self.now = next.max(self.now);
            self.exchange();
        }
        self.now = end;
    }

    fn exchange(&mut self) {
        let now = self.now;
        while let Some(datagram) = self.media.pop(now) {
            self.receiver.on_datagram(&datagram, now);
        }
        while let Some((_, to_sender, message)) = self.control.pop_front_if(|front| front.0 <= now) {
            if to_sender {
                self.sender.on_control(message, now).unwrap();
            } else {
                self.receiver.on_control(message, now).unwrap();
            }
        }
        self.receiver.handle_timeout(now);
        while let Some((_, report)) = self.reports.pop_front_if(|front| front.0 <= now) {
            self.receiver.report_states(&report);
        }
        while let Some(event) = self.receiver.poll_event() {
            match event {
                ReceiverEvent::Start(_) => self.receiver.ready(now),
                ReceiverEvent::Frame(arrived) => {
                    let frame = arrived.assembled;
                    self.decode(frame.id, frame.reference, frame.frame, frame.capture);
                }
                _ => {}
            }
        }
        while let Some(datagram) = self.receiver.poll_datagram(now) {
            self.feedback.push(datagram, now);
        }
        while let Some(datagram) = self.feedback.pop(now) {
            self.sender.on_datagram(&datagram, now);
        }
        self.sender.handle_timeout(now);
        while let Some(event) = self.sender.poll_event() {
            if let SenderEvent::States(report) = event {
                self.coder.on_told(Told::Report(report, now));
            }
        }
        while let Some(datagram) = self.sender.poll_datagram(now) {
            self.media.push(datagram, now);
        }
        while let Some(message) = self.sender.poll_control() {
            self.control.push_back((now + DELAY, false, message));
        }
        while let Some(message) = self.receiver.poll_control() {
            self.control.push_back((now + DELAY, true, message));
        }
    }

    fn decode(&mut self, id: FrameId, reference: u8, frame: ReceivedFrame, capture: Timestamp) {
        let picture = Picture::for_stream(self.params.chroma, self.params.size);
        let began = processor_time();
        let shown = match self.decoder.decode(id, reference, frame, picture).unwrap() {
            Outcome::Picture(picture, _) => Some(picture),
            Outcome::Stays(_) => None,
        };
        self.took[1] += processor_time().saturating_sub(began);
        if let Some(report) = self.decoder.report() {
            self.reports.push_back((self.now + DECODE, report));
        }
        if let Some(picture) = shown {
            let number = id.0 as usize;
            self.compare_until(number);
            self.screen.copy_from_slice(&picture.data()[..self.params.size.pixels()]);
            self.compare_until(number + 1);
            self.latencies.push((self.now + DECODE).since(capture));
        }
    }

    /// Compares what is on the screen with all pictures before `number` that have not been.
    fn compare_until(&mut self, number: usize) {
        while self.psnrs.len() < number {
            let picture = &self.clip[self.psnrs.len() % self.clip.len()];
            self.psnrs.push(psnr(picture, &self.screen));
        }
    }

    fn print(&mut self, line: &str) {
        self.run_until(self.now + 8 * DELAY);
        self.compare_until(self.frames);
        let psnrs = &self.psnrs[SETTLING.min(self.psnrs.len() - 1)..];
        self.latencies.sort_unstable();
        let latencies = &self.latencies;
        let latency = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        let counters = self.coder.counters();
        let each = |took: Duration| took.as_secs_f64() * 1e3 / self.frames as f64;
        println!(
            "| {line} | {} | {:.1} dB | {:.1} dB | {:.0} ms | {:.0} ms | {:.1} % | {:.0} % | {} | {} | {:.1} ms | {:.1} ms |",
            if counters.frames > 0 { "on" } else { "off" },
            psnrs.iter().sum::<f64>() / psnrs.len() as f64,
            psnrs.iter().copied().fold(f64::MAX, f64::min),
            latency(0.5),
            latency(0.95),
            100.0 * latencies.len() as f64 / self.frames as f64,
            100.0 * counters.predicted as f64 / counters.frames.max(1) as f64,
            counters.replays,
            counters.mismatches,
            each(self.took[0]),
            each(self.took[1]),
        );
    }

    /// Prints how good the pictures are after `first`, in which all is new.
    fn print_after(&self, what: &str, first: usize) {
        let prediction = self.coder.counters().frames > 0;
        let psnrs = AFTER.map(|after| format!("{:.1} dB", self.psnrs[(first + after).min(self.frames - 1)]));
        let last = (first + AFTER[AFTER.len() - 1]).min(self.frames);
        let largest = self.shares[first..last].iter().copied().fold(0.0, f64::max);
        let prediction = if prediction { "on" } else { "off" };
        println!("| {what} | {prediction} | {} | {largest:.2} |", psnrs.join(" | "));
    }
}

/// Returns the processor time of all threads of this program, which tells more than a clock on a busy machine.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    Duration::from_nanos(texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum())
}

/// Returns the peak signal to noise ratio of the luma shown, dB.
fn psnr(source: &SourceFrame, luma: &[u8]) -> f64 {
    let step = match source.format {
        PixelFormat::I420 => 1,
        PixelFormat::Yuyv => 2,
        PixelFormat::YCbCr8 => 3,
        other => panic!("a clip of {other:?}"),
    };
    let squares: u64 =
        luma.iter().zip(source.data.iter().step_by(step)).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
    10.0 * (255.0 * 255.0 * luma.len() as f64 / squares.max(1) as f64).log10()
}
