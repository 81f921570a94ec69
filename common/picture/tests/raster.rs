//! Places of samples, from one end to the other: bytes, `.duet` files.
#![allow(clippy::unwrap_used, reason = "tests")]

use picture::container::{ContainerReader, ContainerWriter, FileError, file_bytes};
use picture::frame::{Chroma, FrameSize, PixelAspect, Raster, Siting};
use picture::params::{ParamsError, Profile, StreamParams};
use picture::y4m::Y4mHeader;

fn rasters() -> Vec<Raster> {
    let aspects = [PixelAspect::SQUARE, PixelAspect::UNKNOWN, PixelAspect::new(10, 11).unwrap()];
    let sitings = [Siting::Centre, Siting::Left, Siting::Lines];
    sitings.iter().flat_map(|&siting| aspects.map(|aspect| Raster { siting, aspect })).collect()
}

#[test]
fn bytes_keep_them() {
    for raster in rasters() {
        assert_eq!(Raster::from_bytes(&raster.to_bytes()), Ok(raster));
    }
    let golden = Raster { siting: Siting::Left, aspect: PixelAspect::new(10, 0x0b0c_0d0e).unwrap() };
    assert_eq!(golden.to_bytes(), [1, 10, 0, 0, 0, 0x0e, 0x0d, 0x0c, 0x0b]);
    assert_eq!(Raster::from_bytes(&[3, 1, 0, 0, 0, 1, 0, 0, 0]), Err(ParamsError::Siting));
    assert_eq!(Raster::from_bytes(&[0, 1, 0, 0, 0, 0, 0, 0, 0]), Err(ParamsError::Aspect));
}

#[test]
fn files_keep_them() {
    for (profile, square, other) in [(Profile::Quad, 4, 8), (Profile::Predicted(4), 7, 11)] {
        for raster in rasters() {
            let mut params = StreamParams::new(FrameSize::new(40, 30).unwrap(), Chroma::C420);
            (params.raster, params.codec.profile) = (raster, profile);
            let bytes = ContainerWriter::new(&params, Vec::new()).unwrap().finish(3).unwrap();
            assert_eq!(bytes.len(), file_bytes(&params));
            let version = if raster.aspect == PixelAspect::SQUARE { square } else { other };
            assert_eq!(bytes[4..6], [version, 0], "{raster:?}");
            let mut reader = ContainerReader::new(bytes.as_slice()).unwrap();
            assert_eq!((*reader.params(), reader.next_entry().unwrap(), reader.pictures()), (params, None, 3));
            assert_eq!(Y4mHeader::from(&params).raster, raster);
            // Each byte of the head is checked.
            for at in 6..bytes.len() - 13 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 4;
                let error = ContainerReader::new(bytes.as_slice()).unwrap_err();
                assert_eq!(error.downcast::<FileError>().unwrap(), FileError::Head, "byte {at}");
            }
        }
    }
}
