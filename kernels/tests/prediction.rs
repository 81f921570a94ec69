//! Frames that are predicted from others: both ends make the same pictures, and both back ends the same bytes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod clip;
mod pictures;

use std::sync::Arc;

use kernels::{
    BACK_ENDS, BackendChoice, ClipDecoder, ClipEncoder, DecodeError, Decoder, Effort, EncodeError, Encoder, OpenError,
    Picture, PictureError, PictureRef, State, Target,
};
use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::container::{ContainerReader, ContainerWriter};
use picture::frame::{Chroma, PixelFormat};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Padding, Profile, StreamParams};
use picture::replay::Replay;
use picture::run::{coded_size, coded_size_as};
use picture::vectors::VectorLayout;

use pictures::{Random, golden, params, picture};

const STEP: Target = Target::Step(StepIndex::new(56).unwrap());

fn stream(size: (u32, u32), chroma: Chroma, states: u8) -> StreamParams {
    params(size, chroma, CodecParams { profile: Profile::Predicted(states), ..CodecParams::default() })
}

/// Returns a picture moved to the right and down, its rows and columns going round.
fn moved(params: &StreamParams, picture: &Picture, right: usize, down: usize) -> Picture {
    let mut out = picture.clone();
    let mut rest = out.data_mut();
    for &channel in params.chroma.channels() {
        let size = params.chroma.plane_size(params.size, channel);
        let plane = rest.split_off_mut(..size.pixels()).unwrap();
        let factor = if size == params.size { 1 } else { 2 };
        plane.chunks_mut(size.width()).for_each(|row| row.rotate_right(right / factor % size.width()));
        plane.rotate_right(down / factor % size.height() * size.width());
    }
    out
}

/// Returns pictures of something that moves, of another thing from the fifth on.
fn clip(params: &StreamParams, frames: usize) -> Vec<Picture> {
    let [first, second] = [1, 7].map(|seed| picture(params.chroma.picture_format(), params.size, seed));
    (0..frames).map(|at| moved(params, if at < 5 { &first } else { &second }, 2 * at, 3 * at)).collect()
}

fn encode(params: &StreamParams, age: u8, choice: BackendChoice, target: Target) -> Vec<(CodedFrame, Picture)> {
    let mut encoder = ClipEncoder::open(params, age, Effort::Medium, choice).unwrap();
    let mut code = |picture: &Picture| {
        let frame = encoder.encode(picture.as_ref(), target).unwrap();
        (frame, encoder.state().unwrap().clone())
    };
    clip(params, 8).iter().map(&mut code).collect()
}

#[test]
fn both_ends_make_the_same_pictures_and_back_ends_the_same_bytes() {
    let chromas = [Chroma::C420, Chroma::C444, Chroma::Grey, Chroma::C420, Chroma::C420, Chroma::C444];
    let sizes = [(97, 70), (70, 47), (64, 64), (1, 40), (65, 1), (33, 17)];
    for ((size, chroma), age) in sizes.into_iter().zip(chromas).zip([1, 1, 2, 1, 3, 1]) {
        let params = stream(size, chroma, age);
        let coded = encode(&params, age, BackendChoice::Reference, STEP);
        for choice in BACK_ENDS {
            assert!(coded == encode(&params, age, choice, STEP), "{size:?} {chroma:?} on {choice:?}");
            let mut decoder = ClipDecoder::open(&params, choice).unwrap();
            let mut out = Picture::decoded_from(&params);
            for (at, (frame, state)) in coded.iter().enumerate() {
                decoder.decode(frame.reference, &ReceivedFrame::from(frame), &mut out).unwrap();
                assert!(out == *state, "{size:?} {chroma:?} frame {at} on {choice:?}");
            }
            assert_eq!((decoder.damaged_blocks(), decoder.held_frames()), (0, 0));
        }
    }
}

#[test]
fn every_effort_and_format_gives_what_decodes() {
    for (effort, format) in [(Effort::Low, PixelFormat::Yuyv), (Effort::High, PixelFormat::Rgb8)] {
        let mut params = stream((98, 70), Chroma::C420, 1);
        params.codec.padding = Padding::Zero;
        let mut encoders = BACK_ENDS.map(|choice| ClipEncoder::open(&params, 1, effort, choice).unwrap());
        let mut decoder = ClipDecoder::open(&params, BackendChoice::Reference).unwrap();
        let mut out = Picture::decoded_from(&params);
        for seed in [1, 1, 2] {
            let picture = picture(format, params.size, seed);
            let frames = encoders.each_mut().map(|encoder| encoder.encode(picture.as_ref(), STEP).unwrap());
            let frame = &frames[0];
            decoder.decode(frame.reference, &ReceivedFrame::from(frame), &mut out).unwrap();
            for (encoder, coded) in encoders.iter().zip(&frames) {
                let is_same = coded == frame && out == *encoder.state().unwrap();
                assert!(is_same, "{format:?} on {}", encoder.backend().kind);
            }
        }
    }
}

/// A sender whose time changes.
#[test]
fn another_effort_for_each_frame_gives_what_decodes() {
    use Effort::{Last, Low, Near, Still};
    let params = stream((200, 120), Chroma::C420, 1);
    let mut encoders = BACK_ENDS.map(|choice| Encoder::open(&params, choice).unwrap());
    let mut decoder = ClipDecoder::open(&params, BackendChoice::Reference).unwrap();
    let (mut out, mut states) = (Picture::decoded_from(&params), [None, None, None]);
    let (mut vectors, mut pictures) = (Vec::new(), clip(&params, 5));
    // The upper three quarters rest, so that it is worth predicting frames of which nothing moves.
    let (first, others) = pictures.split_first_mut().unwrap();
    for picture in others {
        let planes = params.chroma.channels().iter().scan(0, |start, &channel| {
            let pixels = params.chroma.plane_size(params.size, channel).pixels();
            Some(std::mem::replace(start, *start + pixels)..*start - pixels / 4)
        });
        planes.for_each(|rows| picture.data_mut()[rows.clone()].copy_from_slice(&first.data()[rows]));
    }
    for (picture, effort) in pictures.iter().zip([Still, Low, Last, Still, Near]) {
        let mut frames = Vec::new();
        for (encoder, state) in encoders.iter_mut().zip(&mut states) {
            encoder.set_search(effort, None);
            frames.push(encoder.encode(picture.as_ref(), STEP, state.as_ref().map(|state| (1, state))).unwrap());
            *state = encoder.state().unwrap();
        }
        let frame = &frames[0];
        decoder.decode(frame.reference, &ReceivedFrame::from(frame), &mut out).unwrap();
        for (state, coded) in states.iter().zip(&frames) {
            assert!(coded == frame && state.as_ref().unwrap().picture() == &out, "{effort:?}");
        }
        let slices = 0..VectorLayout::new(params.size).slices();
        let bytes = slices.map(|slice| frame.block(slice).len()).sum::<usize>();
        vectors.push((frame.reference, bytes));
    }
    // What moves is found, goes on, rests, and is found again near where it was last.
    assert!(vectors[1..].iter().all(|&(reference, _)| reference == 1), "{vectors:?}");
    let [still, others] = [vectors[3].1, [1, 2, 4].map(|at| vectors[at].1).into_iter().min().unwrap()];
    assert!(still < others, "{vectors:?}");
}

#[test]
fn motion_saves_bytes_and_a_cut_costs_none() {
    let params = stream((200, 120), Chroma::C420, 1);
    let coded = encode(&params, 1, BackendChoice::Cpu, STEP);
    let alone = StreamParams { codec: CodecParams::default(), ..params };
    let mut encoder = Encoder::open(&alone, BackendChoice::Cpu).unwrap();
    let bytes: Vec<_> = clip(&params, 8)
        .iter()
        .map(|picture| coded_size_as(&encoder.encode(picture.as_ref(), STEP, None).unwrap(), true))
        .collect();
    let references: Vec<_> = coded.iter().map(|(frame, _)| frame.reference).collect();
    assert_eq!(references, [0, 1, 1, 1, 1, 0, 1, 1], "the first frame and the cut stand alone");
    for (at, ((frame, _), alone)) in coded.iter().zip(bytes).enumerate() {
        let predicted = coded_size(frame);
        let most = if frame.reference == 0 { alone } else { alone * 61 / 100 };
        assert!(predicted <= most, "frame {at}: {predicted} bytes, alone {alone}");
    }
}

/// With low effort the time of joining is worth it only where few bits are left of a frame.
#[test]
fn blocks_are_joined_where_that_is_worth_its_time() {
    let params = stream((400, 240), Chroma::C420, 1);
    let pictures = clip(&params, 2);
    // 0.04 and 0.1 bit per pixel.
    let joined = [(Effort::Low, 480), (Effort::Low, 1_200), (Effort::Medium, 1_200)].map(|(effort, bytes)| {
        let mut encoder = Encoder::open(&params, BackendChoice::Cpu).unwrap();
        encoder.encode(pictures[0].as_ref(), STEP, None).unwrap();
        let state = encoder.state().unwrap().unwrap();
        encoder.set_search(effort, None);
        let frame = encoder.encode(pictures[1].as_ref(), Target::Bytes(bytes), Some((1, &state))).unwrap();
        assert!(frame.reference == 1 && coded_size(&frame) <= bytes);
        // A group ends with what no block alone ends with.
        let slices = VectorLayout::new(params.size).slices();
        (slices..frame.block_count()).any(|block| frame.block(block).last() == Some(&0))
    });
    assert_eq!(joined, [true, false, true]);
}

#[test]
fn frames_keep_to_their_budget() {
    let params = stream((200, 120), Chroma::C420, 1);
    for bytes in [60, 200, 1500, 20_000] {
        let coded = encode(&params, 1, BackendChoice::Cpu, Target::Bytes(bytes));
        for (frame, _) in &coded {
            assert!(coded_size(frame) < bytes, "and a byte for the reference");
        }
        for choice in BACK_ENDS {
            assert!(coded == encode(&params, 1, choice, Target::Bytes(bytes)), "{bytes} on {choice:?}");
        }
    }
    let mut encoder = ClipEncoder::open(&params, 1, Effort::Medium, BackendChoice::Cpu).unwrap();
    let picture = clip(&params, 1).remove(0);
    for target in [Target::Bytes(9), Target::Lossless] {
        assert!(encoder.encode(picture.as_ref(), target).is_err());
    }
}

#[test]
fn missing_parts_mean_the_same_on_every_back_end() {
    let params = stream((200, 120), Chroma::C420, 2);
    let coded = encode(&params, 1, BackendChoice::Cpu, STEP);
    let slices = VectorLayout::new(params.size).slices();
    let mut decoders = BACK_ENDS.map(|choice| ClipDecoder::open(&params, choice).unwrap());
    let mut outs = BACK_ENDS.map(|_| Picture::decoded_from(&params));
    for (at, (frame, _)) in coded.iter().enumerate() {
        let mut received = ReceivedFrame::empty(frame.header, frame.block_count());
        for index in 0..frame.block_count() {
            let damaged = [frame.block(index), b"more"].concat();
            match (index + at) % 5 {
                0 => false,
                1 => received.insert(index, &damaged),
                _ => received.insert(index, frame.block(index)),
            };
        }
        for (decoder, out) in decoders.iter_mut().zip(&mut outs) {
            decoder.decode(frame.reference, &received, out).unwrap();
        }
        for (decoder, out) in decoders.iter().zip(&outs) {
            assert!(*out == outs[0], "frame {at} on {}", decoder.backend().kind);
            assert_eq!(decoder.damaged_blocks(), decoders[0].damaged_blocks());
        }
    }
    assert!(decoders[0].damaged_blocks() > 0);
    // Nothing of a frame: the one before again.
    let header = coded[1].0.header;
    let count = coded[1].0.block_count();
    for (decoder, out) in decoders.iter_mut().zip(&mut outs) {
        let before = out.clone();
        decoder.decode(1, &ReceivedFrame::empty(header, count), out).unwrap();
        assert!(*out == before);
        let error = decoder.decode(1, &ReceivedFrame::empty(header, count - slices), out).unwrap_err();
        assert_eq!(error, DecodeError::BlockCount { wanted: count, given: count - slices });
    }
}

#[test]
fn a_reference_that_is_not_there_holds_the_picture() {
    let params = stream((97, 70), Chroma::C420, 2);
    let coded = encode(&params, 1, BackendChoice::Cpu, STEP);
    for choice in BACK_ENDS {
        let mut decoder = ClipDecoder::open(&params, choice).unwrap();
        let mut out = Picture::decoded_from(&params);
        let frame = |at: usize| ReceivedFrame::from(&coded[at].0);
        decoder.decode(1, &frame(1), &mut out).unwrap();
        assert!(out.data().iter().all(|&sample| sample == 128), "nothing ever came: grey");
        decoder.decode(0, &frame(0), &mut out).unwrap();
        assert!(out == coded[0].1);
        for reference in [3, 255] {
            decoder.decode(reference, &frame(1), &mut out).unwrap();
            assert!(out == coded[0].1, "held");
        }
        assert_eq!(decoder.held_frames(), 3);
        decoder.decode(1, &frame(1), &mut out).unwrap();
        assert!(out == coded[1].1, "a held picture is a state, too");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let params = stream((97, 70), Chroma::C420, 2);
    let open = |params, age, choice| ClipEncoder::open(&params, age, Effort::Medium, choice).err().unwrap();
    assert_eq!(open(params, 3, BackendChoice::Cpu), OpenError::ReferenceAge { asked: 3, states: 2 });
    assert_eq!(open(params, 0, BackendChoice::Cpu), OpenError::ReferenceAge { asked: 0, states: 2 });
    let nowhere = ClipEncoder::open(&params, 1, Effort::Medium, (BackendChoice::Opencl, Some("no such device"))).err();
    assert!(matches!(nowhere, Some(OpenError::NotFound(_) | OpenError::BuiltWithoutOpenCl)), "{nowhere:?}");
    let quad = StreamParams { codec: CodecParams::default(), ..params };
    let none = stream((97, 70), Chroma::C420, 0);
    assert!(matches!(Encoder::open(&none, BackendChoice::Cpu).err(), Some(OpenError::WrongProfile { .. })));
    let small = Picture::for_stream(Chroma::C420, quad.size.halved());
    let mut encoder = ClipEncoder::open(&params, 1, Effort::Medium, BackendChoice::Cpu).unwrap();
    let error = PictureError::Size { wanted: params.size, given: quad.size.halved() };
    assert_eq!(encoder.encode(small.as_ref(), STEP), Err(EncodeError::Picture(error)));
}

/// With `DUET_WRITE_GOLDEN=1` this writes the files anew: after a change of the bit stream that is meant.
#[test]
fn the_golden_file_is_made_again_and_decodes_to_its_pictures() {
    let params = stream((99, 70), Chroma::C420, 1);
    let source = std::fs::read(golden("colour_99x70.source")).unwrap();
    let source = PictureRef::new(PixelFormat::I420, params.size, &source).unwrap();
    let source = Picture::from_data(PixelFormat::I420, params.size, source.data().to_vec()).unwrap();
    for choice in BACK_ENDS {
        let mut encoder = ClipEncoder::open(&params, 1, Effort::Medium, choice).unwrap();
        let (mut decoded, mut vectors) = (Vec::new(), 0);
        let mut writer = ContainerWriter::new(&params, Vec::new()).unwrap();
        for at in 0..3 {
            let mut picture = moved(&params, &source, 2 * at, 6 * at);
            // A part that is in no frame before, and one that moves otherwise.
            picture.data_mut()[99 * 20..99 * 34].chunks_mut(99).for_each(|row| row[10..26].fill(60 * at as u8));
            picture.data_mut()[99 * 50..].chunks_mut(99).take(20).for_each(|row| row.rotate_right(5 * at));
            let frame = encoder.encode(picture.as_ref(), Target::Bytes(1400)).unwrap();
            vectors += if frame.reference > 0 { frame.block(0).len() } else { 0 };
            writer.frame(&frame).unwrap();
            decoded.extend_from_slice(encoder.state().unwrap().data());
        }
        assert!(vectors > 20, "there are vectors in it");
        let file = writer.finish(0).unwrap();
        if std::env::var_os("DUET_WRITE_GOLDEN").is_some() {
            std::fs::write(golden("predicted_99x70.duet"), &file).unwrap();
            std::fs::write(golden("predicted_99x70.decoded"), &decoded).unwrap();
        }
        let read = |name: &str| std::fs::read(golden(name)).unwrap();
        assert!(file == read("predicted_99x70.duet") && decoded == read("predicted_99x70.decoded"), "{choice:?}");
        // The others are of encoders that chose otherwise, the first two without groups.
        let old = ["predicted_99x70_v2", "predicted_99x70_v4", "predicted_99x70_v5"];
        let old = old.map(|name| (read(&format!("{name}.duet")), read(&format!("{name}.decoded"))));
        for (file, pictures) in [(file, decoded)].into_iter().chain(old) {
            for choice in BACK_ENDS {
                let mut container = ContainerReader::new(&file[..]).unwrap();
                let mut decoder = ClipDecoder::open(container.params(), choice).unwrap();
                let mut out = Picture::decoded_from(&params);
                for wanted in pictures.chunks(out.data().len()) {
                    let (reference, frame) = clip::next_frame(&mut container).unwrap();
                    decoder.decode(reference, &frame, &mut out).unwrap();
                    assert!(out.data() == wanted, "{choice:?}");
                }
                assert_eq!(decoder.damaged_blocks(), 0);
            }
        }
    }
}

#[test]
fn any_header_and_reference_is_decoded_or_refused() {
    let params = stream((70, 47), Chroma::C420, 4);
    let mut decoders = BACK_ENDS.map(|choice| ClipDecoder::open(&params, choice).unwrap());
    let mut outs = BACK_ENDS.map(|_| Picture::decoded_from(&params));
    let coded = encode(&params, 1, BackendChoice::Cpu, STEP);
    let mut numbers = Random(1);
    let mut random = |end| numbers.below(end);
    for round in 0..300 {
        let frame = &coded[random(coded.len())].0;
        let step = StepIndex::new(random(209) as u8).unwrap();
        let header = FrameHeader { step, fine_blocks: random(1 << 24) as u32 };
        let mut received = ReceivedFrame::empty(header, frame.block_count());
        for index in 0..frame.block_count() {
            let mut bytes = frame.block(index).to_vec();
            match random(4) {
                0 => bytes = (0..random(200)).map(|_| random(256) as u8).collect(),
                1 if !bytes.is_empty() => {
                    let at = random(bytes.len());
                    bytes[at] ^= 1 << random(8);
                }
                _ => {}
            }
            received.insert(index, &bytes);
        }
        let reference = random(6) as u8;
        let both = decoders.iter_mut().zip(&mut outs);
        let results: Vec<_> = both.map(|(decoder, out)| decoder.decode(reference, &received, out)).collect();
        for ((decoder, out), result) in decoders.iter().zip(&outs).zip(&results) {
            assert_eq!(*result, results[0], "round {round}");
            assert!(*out == outs[0], "round {round} on {}", decoder.backend().kind);
            assert_eq!(decoder.damaged_blocks(), decoders[0].damaged_blocks());
            assert_eq!(decoder.held_frames(), decoders[0].held_frames());
        }
    }
}

/// A line that loses parts, references of any age, the frame before most often, and states that a device has forgotten.
#[test]
fn states_of_many_frames_are_the_same_on_every_back_end() {
    let params = stream((97, 70), Chroma::C420, 3);
    let coded = encode(&params, 1, BackendChoice::Cpu, STEP);
    let mut decoders = BACK_ENDS.map(|choice| Decoder::open(&params, choice).unwrap());
    let mut states: Vec<Vec<State>> = Vec::new();
    let mut out = Picture::decoded_from(&params);
    let mut numbers = Random(3);
    let mut random = |end| numbers.below(end);
    for round in 0..100 {
        let frame = &coded[round % coded.len()].0;
        let mut received = ReceivedFrame::empty(frame.header, frame.block_count());
        for index in 0..frame.block_count() {
            if frame.reference == 0 || random(20) > 0 {
                received.insert(index, frame.block(index));
            }
        }
        let age = if random(3) > 0 { 1 } else { 1 + random(6) };
        let from = (frame.reference > 0).then(|| states.len().saturating_sub(age));
        let mut of_round = Vec::new();
        for (at, decoder) in decoders.iter_mut().enumerate() {
            let state = decoder.decode(&received, from.map(|from| &states[from][at]), &mut out).unwrap().unwrap();
            assert!(*state.picture() == out);
            of_round.push(state);
        }
        for (decoder, state) in decoders.iter().zip(&of_round) {
            assert_eq!(state.picture().hash(), of_round[0].picture().hash(), "{round} on {}", decoder.backend().kind);
        }
        states.push(of_round);
    }
    for (decoder, choice) in decoders.iter().zip(BACK_ENDS) {
        assert_eq!(decoder.backend().kind.name(), format!("{choice:?}").to_lowercase());
    }
}

/// Senders that code from what a receiver has, gaps included: they decode frames again without what it lacks, and code from that.
#[test]
fn frames_after_replays_are_the_same_on_every_back_end() {
    let params = stream((97, 70), Chroma::C420, 4);
    let mut encoders = BACK_ENDS.map(|choice| Encoder::open(&params, choice).unwrap());
    let mut receivers = BACK_ENDS.map(|choice| Decoder::open(&params, choice).unwrap());
    let pictures = clip(&params, 10);
    // Of each frame what every sender and every receiver has of it.
    let mut states: Vec<Vec<(State, State)>> = Vec::new();
    let (mut out, mut replays) = (Picture::decoded_from(&params), 0);
    for round in 0..30 {
        let picture = &pictures[round % pictures.len()];
        let age = if round % 4 == 3 { 2 } else { 1 };
        let from = states.len().checked_sub(age);
        let target = if round % 2 == 0 { Target::Bytes(1_500) } else { STEP };
        let (mut frames, mut of_round) = (Vec::new(), Vec::new());
        for (at, (encoder, receiver)) in encoders.iter_mut().zip(&mut receivers).enumerate() {
            let reference = from.map(|from| &states[from][at]);
            let from = reference.map(|(sender, _)| (age as u8, sender));
            let frame = Arc::new(encoder.encode(picture.as_ref(), target, from).unwrap());
            // At once, or as any other frame when something else has been done in between.
            if round % 5 == 4 {
                encoder.replay(&frame, &Gaps::default(), reference.map(|(sender, _)| sender)).unwrap();
            }
            let mut state = encoder.state().unwrap().unwrap();
            assert!(encoder.state().unwrap().is_none(), "it is computed once");
            let mut received = ReceivedFrame::from(&*frame);
            if round % 3 == 2 && frame.reference > 0 {
                received.forget(round % 7..round % 7 + 9);
                let gaps = Gaps::of(&mut received);
                let reference = reference.map(|(sender, _)| sender);
                state = encoder.replay(&frame, &gaps, reference).unwrap();
                replays += 1;
            }
            let reference = reference.filter(|_| frame.reference > 0).map(|(_, receiver)| receiver);
            let there = receiver.decode(&received, reference, &mut out).unwrap().unwrap();
            assert!(*state.picture() == *there.picture(), "round {round} on {}", encoder.backend().kind);
            of_round.push((state, there));
            frames.push(frame);
        }
        assert!(frames.iter().all(|frame| *frame == frames[0]), "round {round}");
        assert!(of_round.iter().all(|(state, _)| state.picture() == of_round[0].0.picture()), "round {round}");
        states.push(of_round);
    }
    assert!(replays >= 5 * BACK_ENDS.len(), "{replays} replays");
    for (encoder, choice) in encoders.iter().zip(BACK_ENDS) {
        assert_eq!(encoder.backend().kind.name(), format!("{choice:?}").to_lowercase());
    }
}
