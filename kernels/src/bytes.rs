//! A picture as the bytes of a `.duet` file, and back: for those who want no stream.

use std::io;

use picture::coded::CodedFrame;
use picture::container::{ContainerReader, ContainerWriter, Content, Entry};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{CodecParams, StreamParams, Wavelet};

use crate::{BackendChoice, DecodeError, Decoder, EncodeError, Encoder, OpenError, Picture, PictureRef, Target};

/// Errors of [`to_bytes`] and [`from_bytes`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BytesError {
    /// No coder for such pictures.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The picture cannot be coded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The frame cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The bytes are no file, or of another version.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The file is damaged before its first picture.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// The file ends before its first picture.
    #[error("there is no picture in the file")]
    Empty,
}

/// Returns a picture as a `.duet` file of one frame, coded by the back end that suits this machine best.
///
/// Colour is kept at half size (4:2:0), as `wavelet encode` does with stills; with [`Target::Lossless`] every sample is
/// kept as it is. The file has some 100 bytes besides the frame that `target` speaks of.
pub fn to_bytes(picture: &Picture, target: Target) -> Result<Vec<u8>, BytesError> {
    let stream = stream_of(picture.as_ref(), target);
    let frame = Encoder::open(&stream, BackendChoice::Auto)?.encode(picture.as_ref(), target, None)?;
    Ok(written(&stream, &frame)?)
}

/// Returns the first picture of a `.duet` file, in planes.
pub fn from_bytes(bytes: &[u8]) -> Result<Picture, BytesError> {
    let mut file = ContainerReader::new(bytes)?;
    let mut decoder = Decoder::open(file.params(), BackendChoice::Auto)?;
    let mut picture = Picture::decoded_from(file.params());
    match file.next_entry()? {
        Some(Entry::Frame(frame)) => match frame.content {
            Content::Blocks { damaged: damaged @ 1.., .. } => {
                Err(BytesError::Damaged(format!("{damaged} blocks of the first picture cannot be read")))
            }
            Content::Blocks { frame, .. } => {
                decoder.decode(&frame, None, &mut picture)?;
                Ok(picture)
            }
            // Only of a profile that has been refused.
            Content::Bytes(_) => Err(BytesError::Empty),
        },
        Some(Entry::Damage(damage)) => Err(BytesError::Damaged(damage.to_string())),
        None => Err(BytesError::Empty),
    }
}

/// Returns the stream of which the picture is a frame.
fn stream_of(picture: PictureRef<'_>, target: Target) -> StreamParams {
    let is_lossless = target == Target::Lossless;
    let chroma = match picture.format() {
        PixelFormat::Grey8 => Chroma::Grey,
        PixelFormat::Rgb8 if is_lossless => Chroma::Rgb,
        PixelFormat::YCbCr8 | PixelFormat::Yuyv | PixelFormat::I444 if is_lossless => Chroma::C444,
        _ => Chroma::C420,
    };
    let stream = StreamParams::new(picture.size(), chroma);
    let wavelet = if is_lossless { Wavelet::Cdf53 } else { Wavelet::Cdf97 };
    StreamParams { codec: CodecParams { wavelet, depth: picture.depth(), ..stream.codec }, ..stream }
}

fn written(stream: &StreamParams, frame: &CodedFrame) -> io::Result<Vec<u8>> {
    let mut file = ContainerWriter::new(stream, Vec::new())?;
    file.frame(frame)?;
    file.finish(1)
}

#[cfg(test)]
mod tests {
    use picture::frame::FrameSize;

    use super::*;

    fn picture(format: PixelFormat) -> Picture {
        let size = FrameSize::new(37, 22).unwrap();
        let samples = (0..format.bytes(size)).map(|at| (at * 3 % 200) as u8).collect();
        Picture::from_data(format, size, samples).unwrap()
    }

    #[test]
    fn pictures_of_all_formats_come_back() {
        for format in PixelFormat::ALL {
            let picture = picture(format);
            let bytes = to_bytes(&picture, Target::Bytes(900)).unwrap();
            assert!(bytes.len() < 1000, "{format:?}: {}", bytes.len());
            let decoded = from_bytes(&bytes).unwrap();
            assert_eq!(decoded.size(), picture.size());
            let grey = [PixelFormat::Grey8, PixelFormat::I420][usize::from(format != PixelFormat::Grey8)];
            assert_eq!(decoded.format(), grey, "{format:?}");
        }
    }

    #[test]
    fn what_is_no_file_or_a_damaged_one_is_told() {
        let bytes = to_bytes(&picture(PixelFormat::I420), Target::Bytes(900)).unwrap();
        let said = |bytes: &[u8]| from_bytes(bytes).unwrap_err().to_string();
        assert!(said(b"JFIF").contains("not a .duet file"), "{}", said(b"JFIF"));
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        assert!(said(&damaged).contains("damaged"), "{}", said(&damaged));
        assert!(said(&bytes[..60]).contains("damaged"), "{}", said(&bytes[..60]));
    }
}
