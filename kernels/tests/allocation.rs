//! Memory that a running stream allocates: a few lists a frame, and the coded frame itself. All that has the size of a
//! picture is allocated when an encoder or a decoder is opened, or with its first frames.
#![allow(clippy::unwrap_used, reason = "tests")]

mod pictures;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernels::{BackendChoice, Decoder, EffectsFilter, Effort, Encoder, Picture, State, Target};
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::effects::{Effect, Effects};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{CodecParams, Profile};

use pictures::{params, picture};

/// The system's allocator, which counts.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is left to the system's allocator, with the caller's own arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns what `work` returns, the number of its allocations and their bytes.
fn counted<R>(work: impl FnOnce() -> R) -> (R, [usize; 2]) {
    let counts = || [&CALLS, &BYTES].map(|count| count.load(Ordering::Relaxed));
    let before = counts();
    let result = work();
    let after = counts();
    (result, [after[0] - before[0], after[1] - before[1]])
}

/// Frames before those that count, and these.
const FIRST: u32 = 20;
const COUNTED: u32 = 100;

/// Allocations that a frame may take on average, and bytes for each of its blocks, the coded frame's own apart.
const CALLS_MOST: usize = 100;
const BYTES_A_BLOCK_MOST: usize = 150;

fn check(backend: BackendChoice) {
    let params = params((640, 480), Chroma::C420, CodecParams::default());
    let mut encoder = Encoder::open(&params, backend).unwrap();
    let mut decoder = Decoder::open(&params, backend).unwrap();
    let mut out = Picture::decoded_from(&params);
    let pictures: Vec<_> = (0..4).map(|seed| picture(PixelFormat::I420, params.size, seed)).collect();
    let (mut encoding, mut decoding, mut coded) = ([0; 2], [0; 2], 0);
    let mut blocks = 0;
    for number in 0..FIRST + COUNTED {
        // Budgets change, as rates do.
        let target = Target::Bytes(10_000 + 500 * (number as usize % 7));
        let source = pictures[number as usize % pictures.len()].as_ref();
        let (frame, encode) = counted(|| encoder.encode(source, target, None).unwrap());
        let received = ReceivedFrame::from(&frame);
        let (_, decode) = counted(|| decoder.decode(&received, None, &mut out).unwrap());
        if number >= FIRST {
            for at in 0..2 {
                encoding[at] += encode[at];
                decoding[at] += decode[at];
            }
            let CodedFrame { ends, data, .. } = frame;
            coded += data.capacity() + 4 * ends.capacity();
            blocks = ends.len();
        }
    }
    let frames = COUNTED as usize;
    let [encode, decode] = [encoding, decoding].map(|[calls, bytes]| [calls / frames, bytes / frames]);
    let coded = coded / frames;
    println!(
        "{backend:?}: {blocks} blocks, coded {coded} bytes; calls and bytes, encode {encode:?}, decode {decode:?}"
    );
    assert!(
        encode[0] <= CALLS_MOST && encode[1] <= coded + BYTES_A_BLOCK_MOST * blocks,
        "{backend:?}: encode {encode:?}"
    );
    assert!(decode[0] <= CALLS_MOST && decode[1] <= BYTES_A_BLOCK_MOST * blocks, "{backend:?}: decode {decode:?}");
}

/// Frames that refer to the one before, at both ends, which keep the last states.
fn check_prediction(backend: BackendChoice) {
    const STATES: u8 = 3;
    let codec = CodecParams { profile: Profile::Predicted(STATES), ..CodecParams::default() };
    let params = params((640, 480), Chroma::C420, codec);
    let mut encoder = Encoder::open(&params, backend).unwrap();
    encoder.set_search(Effort::Low, None);
    let mut decoder = Decoder::open(&params, backend).unwrap();
    let (mut sent, mut held) = (VecDeque::<State>::new(), VecDeque::<State>::new());
    let (mut source, mut out) = (picture(PixelFormat::I420, params.size, 1), Picture::decoded_from(&params));
    let (mut predicted, mut bytes) = (0, [0; 2]);
    for number in 0..FIRST + COUNTED {
        source.data_mut()[640 * (number as usize % 400)..][..40 * 640].fill(number as u8);
        let from = sent.back().cloned();
        let target = Target::Step(StepIndex::new(64).unwrap());
        let ((frame, state), [_, encode]) = counted(|| {
            let frame = encoder.encode(source.as_ref(), target, from.as_ref().map(|state| (1, state))).unwrap();
            (frame, encoder.state().unwrap().unwrap())
        });
        drop(from);
        let received = ReceivedFrame::from(&frame);
        let from = held.back().cloned().filter(|_| frame.reference > 0);
        let (other, [_, decode]) = counted(|| decoder.decode(&received, from.as_ref(), &mut out).unwrap().unwrap());
        assert!(other.picture() == state.picture());
        for (states, state) in [(&mut sent, state), (&mut held, other)] {
            if states.len() == STATES.into() {
                states.pop_front();
            }
            states.push_back(state);
        }
        if number >= FIRST {
            predicted += u32::from(frame.reference > 0);
            bytes[0] += encode.saturating_sub(2 * frame.data.capacity());
            bytes[1] += decode;
        }
    }
    assert!(predicted > COUNTED / 2, "{predicted}");
    let bytes = bytes.map(|bytes| bytes / COUNTED as usize);
    println!("prediction, {backend:?}: bytes, encode {} besides the frame, decode {}", bytes[0], bytes[1]);
    // Lists of vectors, of blocks and of groups; one picture more would be half as much again as its pixels.
    assert!(bytes.iter().all(|&bytes| bytes <= params.size.pixels() * 2), "{backend:?}: {bytes:?}");
}

fn check_effects() {
    let params = params((640, 480), Chroma::C420, CodecParams::default());
    let mut filter = EffectsFilter::new(params.size, params.chroma);
    let mut out = filter.room();
    let most = |all: Effects, effect: Effect| all.with(effect, effect.most()).unwrap();
    let effects = Effect::ALL.into_iter().fold(Effects::default(), most);
    // One of a camera, which becomes planes first.
    let picture = picture(PixelFormat::Yuyv, params.size, 1);
    let mut apply = || filter.apply(&effects, picture.as_ref(), &mut out).unwrap();
    (0..FIRST).for_each(|_| apply());
    let ((), [calls, bytes]) = counted(|| (0..COUNTED).for_each(|_| apply()));
    let [calls, bytes] = [calls, bytes].map(|count| count / COUNTED as usize);
    println!("effects: calls {calls}, bytes {bytes}");
    assert!(calls <= CALLS_MOST && bytes <= params.size.pixels() / 4, "effects: {calls} calls, {bytes} bytes");
}

// One test: the counts are of the whole process.
#[test]
fn a_running_stream_allocates_no_picture() {
    check(BackendChoice::Cpu);
    check_prediction(BackendChoice::Cpu);
    check_effects();
    #[cfg(feature = "opencl")]
    check(BackendChoice::Opencl);
    #[cfg(feature = "opencl")]
    check_prediction(BackendChoice::Opencl);
}
