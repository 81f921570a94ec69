//! Samples of 10 bits: every one comes back in both profiles, every back end makes the same bytes, and whatever quantises
//! refuses them.
#![allow(clippy::unwrap_used, reason = "tests")]

use kernels::{
    BACK_ENDS, BackendChoice, Decoder, EncodeError, Encoder, OpenError, Picture, PictureError, PictureRef, Target,
};
use lab::pcwt::{CodeError, open_pcwt_decoder, open_pcwt_encoder};
use picture::coded::{ReceivedFrame, StepIndex};
use picture::container::{ContainerReader, ContainerWriter};
use picture::frame::{BitDepth, Chroma, PixelFormat};
use picture::params::{CodecParams, Profile, StreamParams, Wavelet};

use pictures::{deep_picture, golden, params, picture};

#[path = "../../tests/pictures/mod.rs"]
mod pictures;

const PROFILES: [Profile; 2] = [Profile::Quad, Profile::Pcwt];
const SIZES: [(u32, u32); 4] = [(1, 1), (1, 7), (17, 31), (99, 70)];
const KINDS: [(PixelFormat, Chroma); 4] = [
    (PixelFormat::Rgb8, Chroma::Rgb),
    (PixelFormat::I420, Chroma::C420),
    (PixelFormat::I444, Chroma::C444),
    (PixelFormat::Grey8, Chroma::Grey),
];

fn stream(size: (u32, u32), chroma: Chroma, profile: Profile) -> StreamParams {
    let codec = CodecParams { profile, wavelet: Wavelet::Cdf53, depth: BitDepth::Ten, ..CodecParams::default() };
    params(size, chroma, codec)
}

/// Returns the file of a picture, and what its decoder makes of it.
fn there_and_back(
    params: &StreamParams,
    picture: PictureRef<'_>,
    choice: BackendChoice,
) -> Result<(Vec<u8>, Picture), CodeError> {
    let mut out = Picture::decoded_from(params);
    let mut writer = ContainerWriter::new(params, Vec::new()).unwrap();
    if params.codec.profile == Profile::Pcwt {
        let frame = open_pcwt_encoder(params, choice, None).unwrap().encode(picture, 0)?;
        writer.bytes(&frame).unwrap();
        open_pcwt_decoder(params, choice, None).unwrap().decode(&frame, &mut out).unwrap();
    } else {
        let frame = Encoder::open(params, choice).unwrap().encode(picture, Target::Lossless, None);
        let frame = frame.map_err(|error| match error {
            EncodeError::Picture(error) => error,
            other => unreachable!("{other}"),
        })?;
        writer.frame(&frame).unwrap();
        Decoder::open(params, choice).unwrap().decode(&ReceivedFrame::from(&frame), None, &mut out).unwrap();
    }
    Ok((writer.finish(1).unwrap(), out))
}

/// Returns the largest differences that samples can have, one beside the other.
fn extremes(params: &StreamParams) -> Picture {
    let mut picture = Picture::decoded_from(params);
    let mut bits = 1_u32;
    for sample in picture.data_mut().as_chunks_mut::<2>().0 {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *sample = if bits >> 31 == 0 { 0 } else { 1023_u16 }.to_le_bytes();
    }
    picture
}

#[test]
fn every_sample_comes_back_from_the_same_bytes() {
    for size in SIZES {
        for (format, chroma) in KINDS {
            for profile in PROFILES {
                let params = stream(size, chroma, profile);
                for picture in [deep_picture(format, params.size, 5), extremes(&params)] {
                    let results = BACK_ENDS.map(|choice| there_and_back(&params, picture.as_ref(), choice).unwrap());
                    for (choice, (file, out)) in BACK_ENDS.iter().zip(&results) {
                        assert!(
                            *file == results[0].0,
                            "{choice:?} codes {profile:?} {format:?} {size:?} to other bytes"
                        );
                        assert!(*out == picture, "{choice:?} changes {profile:?} {format:?} {size:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn smaller_pictures_keep_their_brightness() {
    let params = stream((99, 70), Chroma::Grey, Profile::Quad);
    let picture = deep_picture(PixelFormat::Grey8, params.size, 2);
    let mean = |picture: &Picture| {
        let samples = picture.data().as_chunks::<2>().0;
        samples.iter().map(|&sample| f64::from(u16::from_le_bytes(sample))).sum::<f64>() / samples.len() as f64
    };
    let frame = Encoder::open(&params, BackendChoice::Cpu).unwrap().encode(picture.as_ref(), Target::Lossless, None);
    for choice in BACK_ENDS {
        let mut out = Picture::decoded_from(&StreamParams { size: params.size.halved_times(2), ..params });
        let mut decoder = Decoder::open_smaller(&params, 2, choice).unwrap();
        decoder.decode(&ReceivedFrame::from(frame.as_ref().unwrap()), None, &mut out).unwrap();
        assert!((mean(&out) - mean(&picture)).abs() < 8.0, "{} of {}", mean(&out), mean(&picture));
    }
}

#[test]
fn what_cannot_be_coded_is_refused() {
    let deep = stream((8, 8), Chroma::Grey, Profile::Quad);
    let codec = CodecParams { wavelet: Wavelet::Cdf97, ..deep.codec };
    let lossy = StreamParams { codec, ..deep };
    let plain = StreamParams { codec: CodecParams::default(), ..deep };
    let (shallow, picture) =
        (picture(PixelFormat::Grey8, deep.size, 1), deep_picture(PixelFormat::Grey8, deep.size, 1));
    let wrong_depth = |wanted, given| PictureError::Depth { wanted, given };
    for choice in BACK_ENDS {
        let refused = Some(OpenError::DepthNotLossy { depth: BitDepth::Ten });
        assert_eq!(Encoder::open(&lossy, choice).err(), refused);
        assert_eq!(Decoder::open(&lossy, choice).err(), refused);
        let mut encoder = Encoder::open(&plain, choice).unwrap();
        let step = Target::Step(StepIndex::ONE);
        assert_eq!(
            encoder.encode(picture.as_ref(), step, None),
            Err(wrong_depth(BitDepth::Eight, BitDepth::Ten).into())
        );
        let frame = encoder.encode(shallow.as_ref(), step, None).unwrap();
        let into_deep =
            Decoder::open(&plain, choice).unwrap().decode(&(&frame).into(), None, &mut Picture::decoded_from(&deep));
        assert_eq!(into_deep, Err(wrong_depth(BitDepth::Eight, BitDepth::Ten).into()));
        for profile in PROFILES {
            let params = stream((8, 8), Chroma::Grey, profile);
            let given = |picture: PictureRef<'_>| there_and_back(&params, picture, choice).map(|_| ());
            assert_eq!(given(shallow.as_ref()), Err(wrong_depth(BitDepth::Ten, BitDepth::Eight).into()));
            let mut large = picture.clone();
            large.data_mut()[21] = 4;
            assert!(
                matches!(
                    given(large.as_ref()),
                    Err(CodeError::Picture(PictureError::SampleTooLarge { found: 1024.., .. }))
                ),
                "{profile:?}"
            );
            let colour = Picture::with_depth(PixelFormat::I420, BitDepth::Ten, params.size);
            assert!(matches!(given(colour.as_ref()), Err(CodeError::Picture(PictureError::NotExact { .. }))));
        }
    }
}

/// With `DUET_WRITE_GOLDEN=1` this writes the files anew: after a change of the bit stream that is meant.
#[test]
fn golden_files_are_made_again_and_decode_to_their_source() {
    let source = std::fs::read(golden("deep_99x70.source")).unwrap();
    for (name, profile) in [("deep_99x70.duet", Profile::Quad), ("deep_pcwt_99x70.duet", Profile::Pcwt)] {
        let params = stream((99, 70), Chroma::C420, profile);
        let picture = PictureRef::with_depth(PixelFormat::I420, BitDepth::Ten, params.size, &source).unwrap();
        for choice in BACK_ENDS {
            let (file, out) = there_and_back(&params, picture, choice).unwrap();
            if std::env::var_os("DUET_WRITE_GOLDEN").is_some() {
                std::fs::write(golden(name), &file).unwrap();
            }
            assert!(file == std::fs::read(golden(name)).unwrap(), "{name} on {choice:?}");
            assert!(out.data() == source, "{name} on {choice:?}");
            assert_eq!(*ContainerReader::new(&file[..]).unwrap().params(), params);
        }
    }
}

#[test]
fn a_damaged_head_is_refused_or_means_another_stream() {
    let file = std::fs::read(golden("deep_99x70.duet")).unwrap();
    for byte in 0..=255_u8 {
        let mut damaged = file.clone();
        // The wavelet, which names the depth.
        damaged[6 + 20] = byte;
        let check = crc32fast::hash(&damaged[..32]);
        damaged[32..36].copy_from_slice(&check.to_le_bytes());
        let read = ContainerReader::new(&damaged[..]).map(|container| {
            let codec = container.params().codec;
            (codec.wavelet, codec.depth)
        });
        let wanted = match byte {
            0 => Some((Wavelet::Cdf97, BitDepth::Eight)),
            1 => Some((Wavelet::Cdf53, BitDepth::Eight)),
            2 => Some((Wavelet::Cdf53, BitDepth::Ten)),
            _ => None,
        };
        assert_eq!(read.as_ref().ok(), wanted.as_ref(), "{byte}");
        let said = read.err().map_or(String::new(), |error| error.to_string());
        assert!(wanted.is_some() || said.contains("unknown wavelet"), "{said}");
    }
}
