//! The coded files beside `BITSTREAM.md` decode to the pictures beside them, to the bit, on every back end, and every
//! encoder makes them again.
#![allow(clippy::unwrap_used, reason = "tests")]

mod clip;
mod pictures;

use kernels::{BACK_ENDS, Decoder, Encoder, Picture, PictureRef, Target};
use picture::coded::ReceivedFrame;
use picture::container::{ContainerReader, ContainerWriter};
use picture::frame::{Chroma, PixelFormat};

use pictures::golden;

/// Name, format of the source and the budget of each frame. `colour` has weights `visual`.
const FILES: [(&str, PixelFormat, usize); 2] =
    [("grey_64x64", PixelFormat::Grey8, 1500), ("colour_99x70", PixelFormat::I420, 1800)];

fn read(name: &str) -> Vec<u8> {
    std::fs::read(golden(name)).unwrap()
}

#[test]
fn golden_files_decode_to_their_pictures() {
    let old = [("grey_64x64", "grey_64x64_v2.duet".to_owned())];
    for (name, file) in FILES.map(|(name, ..)| (name, format!("{name}.duet"))).into_iter().chain(old) {
        let (file, wanted) = (read(&file), read(&format!("{name}.decoded")));
        for choice in BACK_ENDS {
            let mut container = ContainerReader::new(&file[..]).unwrap();
            let params = *container.params();
            let mut decoder = Decoder::open(&params, choice).unwrap();
            let mut picture = Picture::for_stream(params.chroma, params.size);
            let mut samples = Vec::new();
            while let Some((_, frame)) = clip::next_frame(&mut container) {
                decoder.decode(&frame, None, &mut picture).unwrap();
                samples.extend_from_slice(picture.data());
            }
            assert_eq!(decoder.damaged_blocks(), 0);
            assert!(samples == wanted, "{name} on {choice:?}");
        }
    }
}

/// With `DUET_WRITE_GOLDEN=1` this writes the files anew: after a change of the bit stream that is meant.
#[test]
fn golden_files_are_made_again() {
    for (name, format, budget) in FILES {
        let wanted = read(&format!("{name}.duet"));
        let source = read(&format!("{name}.source"));
        let params = *ContainerReader::new(&wanted[..]).unwrap().params();
        assert_eq!(params.chroma == Chroma::Grey, format == PixelFormat::Grey8);
        for choice in BACK_ENDS {
            let mut encoder = Encoder::open(&params, choice).unwrap();
            let picture = PictureRef::new(format, params.size, &source).unwrap();
            let frame = encoder.encode(picture, Target::Bytes(budget), None).unwrap();
            let mut writer = ContainerWriter::new(&params, Vec::new()).unwrap();
            writer.frame(&frame).unwrap();
            let file = writer.finish(1).unwrap();
            if std::env::var_os("DUET_WRITE_GOLDEN").is_some() {
                let mut decoder = Decoder::open(&params, choice).unwrap();
                let mut decoded = Picture::for_stream(params.chroma, params.size);
                decoder.decode(&ReceivedFrame::from(&frame), None, &mut decoded).unwrap();
                std::fs::write(golden(&format!("{name}.duet")), &file).unwrap();
                std::fs::write(golden(&format!("{name}.decoded")), decoded.data()).unwrap();
            } else {
                assert!(file == wanted, "{name} on {choice:?}");
            }
        }
    }
}
