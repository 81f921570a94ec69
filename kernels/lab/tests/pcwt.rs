//! The profile `pcwt`: every back end makes the same bytes and the same samples, lossless ones come back exactly, and no bytes
//! do worse than an error.
#![allow(clippy::unwrap_used, reason = "tests")]

use kernels::{BACK_ENDS, BackendChoice, OpenError, Picture, PictureError, Target};
use lab::pcwt::{CodeError, PcwtError, QMIN_MAX, open_pcwt_decoder, open_pcwt_encoder};
use picture::container::{ContainerReader, ContainerWriter, Content, Entry, FileFrame};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{CodecParams, Levels, Profile, StreamParams, Wavelet};

use pictures::{golden, picture, transforms};

#[path = "../../tests/pictures/mod.rs"]
mod pictures;

const SIZES: [(u32, u32); 6] = [(1, 1), (1, 7), (2, 2), (17, 31), (127, 255), (640, 360)];
const FORMATS: [(PixelFormat, Chroma); 4] = [
    (PixelFormat::Rgb8, Chroma::Rgb),
    (PixelFormat::I420, Chroma::C420),
    (PixelFormat::I444, Chroma::C444),
    (PixelFormat::Grey8, Chroma::Grey),
];

fn codec() -> CodecParams {
    CodecParams { profile: Profile::Pcwt, wavelet: Wavelet::Cdf53, ..CodecParams::default() }
}

fn stream((width, height): (u32, u32), chroma: Chroma, codec: CodecParams) -> StreamParams {
    StreamParams { codec, ..StreamParams::new(FrameSize::new(width, height).unwrap(), chroma) }
}

fn encode(params: &StreamParams, choice: BackendChoice, picture: &Picture, qmin: u8) -> Vec<u8> {
    open_pcwt_encoder(params, choice, None).unwrap().encode(picture.as_ref(), qmin).unwrap()
}

fn decode(params: &StreamParams, choice: BackendChoice, bytes: &[u8]) -> Result<Picture, CodeError> {
    let mut out = Picture::for_stream(params.chroma, params.size);
    open_pcwt_decoder(params, choice, None).unwrap().decode(bytes, &mut out)?;
    Ok(out)
}

/// Checks that all back ends agree; returns the bytes and the decoded picture.
fn check(params: &StreamParams, picture: &Picture, qmin: u8) -> (Vec<u8>, Picture) {
    let [wanted, others @ ..] = BACK_ENDS.map(|choice| encode(params, choice, picture, qmin));
    let name = format!("{} {:?} {:?} qmin {qmin}", params.size, params.chroma, params.codec);
    assert!(others.iter().all(|bytes| *bytes == wanted), "{name}: bytes");
    let [decoded, others @ ..] = BACK_ENDS.map(|choice| decode(params, choice, &wanted).unwrap());
    assert!(others.iter().all(|other| *other == decoded), "{name}: samples");
    (wanted, decoded)
}

#[test]
fn pictures_come_back_from_every_back_end() {
    for size in SIZES {
        for (format, chroma) in FORMATS {
            let params = stream(size, chroma, codec());
            let picture = picture(format, params.size, 7);
            let (bytes, decoded) = check(&params, &picture, 0);
            assert!(decoded == picture, "{size:?} {format:?}");
            let frame = bytes.len();
            assert!(size != (640, 360) || frame < picture.data().len(), "{frame} bytes");
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn both_ways_to_join_elements_make_the_same_bytes() {
    use lab::pcwt::{Joining, open_joining_encoder};

    for size in SIZES {
        let params = stream(size, Chroma::Rgb, codec());
        let picture = picture(PixelFormat::Rgb8, params.size, 11);
        let wanted = encode(&params, BackendChoice::Reference, &picture, 0);
        for joining in [Joining::Serial, Joining::Atomic] {
            let mut encoder = open_joining_encoder(&params, None, joining).unwrap();
            assert!(encoder.encode(picture.as_ref(), 0).unwrap() == wanted, "{size:?} {joining:?}");
        }
    }
}

#[test]
fn all_transforms_of_pictures_come_back() {
    for codec in transforms(codec(), &[Levels::Full, Levels::AtMost(2)]) {
        let params = stream((70, 51), Chroma::Rgb, codec);
        let picture = picture(PixelFormat::Rgb8, params.size, 3);
        assert!(check(&params, &picture, 0).1 == picture, "{codec:?}");
    }
}

#[test]
fn leaving_out_bit_planes_saves_bytes_and_costs_quality() {
    let params = stream((127, 255), Chroma::Grey, codec());
    let picture = picture(PixelFormat::Grey8, params.size, 5);
    let mut before = (usize::MAX, 0_u64);
    for qmin in 0..=QMIN_MAX {
        let (bytes, decoded) = check(&params, &picture, qmin);
        let squared = |(a, b): (&u8, &u8)| u64::from(a.abs_diff(*b)).pow(2);
        let error = picture.data().iter().zip(decoded.data()).map(squared).sum();
        assert!(bytes.len() <= before.0 && error >= before.1, "qmin {qmin}: {} bytes, error {error}", bytes.len());
        before = (bytes.len(), error);
    }
    assert_eq!(before.0, 2 + 2 * groups(&params));
}

/// Groups of an empty frame.
fn groups(params: &StreamParams) -> usize {
    let empty = Picture::for_stream(params.chroma, params.size);
    let channels = params.chroma.channels().len();
    (encode(params, BackendChoice::Reference, &empty, QMIN_MAX).len() - 1 - channels) / 2
}

#[test]
fn damaged_frames_are_the_same_errors_everywhere() {
    let params = stream((97, 70), Chroma::C420, codec());
    let picture = picture(PixelFormat::I420, params.size, 9);
    let whole = encode(&params, BackendChoice::Reference, &picture, 0);
    let mut frames = vec![Vec::new(), whole[..3].to_vec(), whole[..whole.len() - 1].to_vec(), vec![0xff; whole.len()]];
    for (at, byte) in [(0, QMIN_MAX + 1), (1, 21), (2, 0), (3, 20), (1, whole[1] - 1)] {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        frames.push(bytes);
    }
    // A changed bit in every part of the groups.
    let data = 4 + 2 * groups(&params);
    for at in (data..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        frames.push(bytes);
    }
    let mut damaged = 0;
    for bytes in &frames {
        let [wanted, others @ ..] = BACK_ENDS.map(|choice| decode(&params, choice, bytes));
        assert!(others.iter().all(|other| *other == wanted), "{:?}, {:?}", wanted.err(), others.map(Result::err));
        damaged += usize::from(matches!(wanted, Err(CodeError::Pcwt(PcwtError::Group { .. }))));
    }
    // Most bits of a group are magnitudes, of which any is possible.
    assert!(damaged > 3, "{damaged} of {}", frames.len());
}

#[test]
fn what_cannot_be_is_refused() {
    let params = stream((8, 8), Chroma::Grey, codec());
    let picture = picture(PixelFormat::Grey8, params.size, 1);
    for choice in BACK_ENDS {
        let mut encoder = open_pcwt_encoder(&params, choice, None).unwrap();
        let refused = encoder.encode(picture.as_ref(), QMIN_MAX + 1);
        assert_eq!(refused, Err(PcwtError::Qmin { found: QMIN_MAX + 1 }.into()));
        let other = Picture::new(PixelFormat::Grey8, FrameSize::new(9, 8).unwrap());
        assert!(matches!(encoder.encode(other.as_ref(), 0), Err(CodeError::Picture(PictureError::Size { .. }))));
        let colour = Picture::new(PixelFormat::Rgb8, params.size);
        assert!(matches!(encoder.encode(colour.as_ref(), 0), Err(CodeError::Picture(PictureError::NotExact { .. }))));
        let lossy = CodecParams { wavelet: Wavelet::Cdf97, ..codec() };
        let wrong = open_pcwt_encoder(&stream((8, 8), Chroma::Grey, lossy), choice, None);
        assert!(matches!(wrong.err(), Some(lab::OpenError::Codec(OpenError::WrongProfile { .. }))));
        let mut quad =
            kernels::Encoder::open(&StreamParams { codec: CodecParams::default(), ..params }, choice).unwrap();
        assert!(quad.encode(picture.as_ref(), Target::Bytes(500), None).is_ok());
        assert!(matches!(kernels::Encoder::open(&params, choice).err(), Some(OpenError::WrongProfile { .. })));
    }
}

/// With `DUET_WRITE_GOLDEN=1` this writes the file anew: after a change of the bit stream that is meant.
#[test]
fn the_golden_file_is_made_again_and_decodes_to_its_source() {
    let source = std::fs::read(golden("colour_99x70.source")).unwrap();
    let params = stream((99, 70), Chroma::C420, codec());
    let pictures = source.chunks_exact(PixelFormat::I420.bytes(params.size));
    let pictures: Vec<_> =
        pictures.map(|data| Picture::from_data(PixelFormat::I420, params.size, data.to_vec()).unwrap()).collect();
    assert!(!pictures.is_empty());
    for choice in BACK_ENDS {
        let mut writer = ContainerWriter::new(&params, Vec::new()).unwrap();
        for (picture, qmin) in pictures.iter().flat_map(|picture| [(picture, 0), (picture, 3)]) {
            writer.bytes(&encode(&params, choice, picture, qmin)).unwrap();
        }
        let file = writer.finish(0).unwrap();
        if std::env::var_os("DUET_WRITE_GOLDEN").is_some() {
            std::fs::write(golden("pcwt_99x70.duet"), &file).unwrap();
        }
        assert!(file == std::fs::read(golden("pcwt_99x70.duet")).unwrap(), "{choice:?}");
        for file in [file, std::fs::read(golden("pcwt_99x70_v2.duet")).unwrap()] {
            let mut container = ContainerReader::new(&file[..]).unwrap();
            assert_eq!(*container.params(), params);
            let mut next = || match container.next_entry().unwrap() {
                Some(Entry::Frame(FileFrame { content: Content::Bytes(bytes), .. })) => bytes,
                other => unreachable!("{other:?}"),
            };
            for picture in &pictures {
                assert!(decode(&params, choice, &next()).unwrap() == *picture);
                decode(&params, choice, &next()).unwrap();
            }
        }
    }
}
