//! Codes and decodes a picture in colour, and a clip.

use kernels::picture::coded::ReceivedFrame;
use kernels::picture::frame::{Chroma, FrameSize, PixelFormat};
use kernels::picture::params::StreamParams;
use kernels::{BackendChoice, BytesError, Decoder, Encoder, Picture, Target, from_bytes, to_bytes};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let size = FrameSize::new(160, 90)?;
    let samples = (0..160 * 90).flat_map(|at| [(at % 160) as u8, (at / 160) as u8, 128]).collect();
    let picture = Picture::from_data(PixelFormat::Rgb8, size, samples)?;
    let bytes = to_bytes(&picture, Target::Bytes(3000))?;
    println!("picture: {} bytes, {:?}", bytes.len(), from_bytes(&bytes)?.format());

    let stream = StreamParams::new(size, Chroma::C420);
    let mut encoder = Encoder::open(&stream, BackendChoice::Auto)?;
    let mut decoder = Decoder::open(&stream, BackendChoice::Auto)?;
    let mut shown = Picture::decoded_from(&stream);
    for grey in [50, 100, 150] {
        let picture = Picture::from_data(PixelFormat::I420, size, vec![grey; 160 * 90 * 3 / 2])?;
        let frame = encoder.encode(picture.as_ref(), Target::Bytes(2000), None)?;
        decoder.decode(&ReceivedFrame::from(&frame), None, &mut shown)?;
        println!("frame: {} bytes, {grey} shown as {}", frame.data.len(), shown.data()[0]);
    }
    match to_bytes(&picture, Target::Lossless) {
        Err(BytesError::Open(error)) => println!("lossless: {error}"),
        other => println!("lossless: {} bytes", other?.len()),
    }
    Ok(())
}
