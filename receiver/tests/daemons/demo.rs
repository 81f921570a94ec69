//! The demonstration that `make demo` runs: it streams, and its figures are right.

// Only what measures; the program around it reads its arguments and prints.
#[path = "../../examples/demo/measure.rs"]
mod measure;
#[path = "../../examples/demo/prediction.rs"]
mod prediction;
#[allow(dead_code, reason = "shared with the demonstration, which asks for more")]
#[path = "../../examples/demo/stream.rs"]
mod stream;
#[path = "../../examples/demo/table.rs"]
mod table;

use std::fs;
use std::path::PathBuf;

use image::RgbImage;

use crate::support::{Folder, Pair, sender};

const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo-clip/demo_720p30.mjpeg");
const PICTURES: usize = 6;

/// Returns the first pictures of the demonstration's clip, each a JPEG file.
fn jpegs() -> Vec<Vec<u8>> {
    let bytes = fs::read(CLIP).unwrap();
    let ends = bytes.windows(2).enumerate().filter(|(_, pair)| *pair == [0xff, 0xd9]).map(|(at, _)| at + 2);
    let mut begin = 0;
    let pictures = ends.take(PICTURES).map(|end| bytes[std::mem::replace(&mut begin, end)..end].to_vec());
    pictures.collect()
}

/// Writes them as a clip.
fn short_clip(folder: &Folder, jpegs: &[Vec<u8>]) -> PathBuf {
    let path = folder.join("short.mjpeg");
    fs::write(&path, jpegs.concat()).unwrap();
    path
}

/// Returns the luma of a picture as another library reads it, by the matrix of JPEG.
fn luma(picture: &RgbImage) -> impl Iterator<Item = u8> {
    picture.pixels().map(|rgb| {
        let [r, g, b] = rgb.0.map(f64::from);
        (0.299 * r + 0.587 * g + 0.114 * b).round() as u8
    })
}

#[test]
fn its_similarity_is_that_of_the_pictures() {
    let folder = Folder::new();
    let jpegs = jpegs();
    let clip = measure::Clip::open(&short_clip(&folder, &jpegs)).unwrap();
    let (width, height) = (clip.size().width(), clip.size().height());
    let pictures: Vec<_> = jpegs.iter().map(|jpeg| image::load_from_memory(jpeg).unwrap().into_rgb8()).collect();
    let measured = |pictures: &[&RgbImage], change: fn(u8) -> u8| {
        let mut bytes = format!("YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n").into_bytes();
        for picture in pictures {
            bytes.extend_from_slice(b"FRAME\n");
            bytes.extend(luma(picture).map(change));
            bytes.extend(std::iter::repeat_n(128, width.div_ceil(2) * height.div_ceil(2) * 2));
        }
        let file = folder.join("received.y4m");
        fs::write(&file, bytes).unwrap();
        measure::received(&clip, &file, &folder.join("last.png")).unwrap()
    };
    let in_order: Vec<_> = pictures.iter().collect();
    let same = measured(&in_order, |sample| sample);
    // The two libraries round otherwise.
    assert!(same.psnr_worst > 45.0 && same.psnr_mean >= same.psnr_worst, "{} dB", same.psnr_worst);
    assert!(same.faults("cpu", PICTURES as u64, 38.0).is_empty());
    assert_eq!(image::open(&same.png).unwrap().to_rgb8().dimensions(), pictures[0].dimensions());
    // Three steps of grey are 20 log(255 / 3) dB.
    let darker = measured(&in_order, |sample| sample.saturating_sub(3));
    assert!((darker.psnr_mean - 38.6).abs() < 0.5, "{} dB", darker.psnr_mean);
    let one_less = measured(&in_order[..PICTURES - 1], |sample| 255 - sample);
    assert_eq!(one_less.faults("cpu", PICTURES as u64, 38.0).len(), 2);
}

#[test]
fn it_streams_and_prints_a_table() {
    // Both programs are there.
    sender();
    let pair = Pair::new();
    let clip_file = short_clip(&pair.folder, &jpegs());
    let clip = measure::Clip::open(&clip_file).unwrap();
    let out = pair.folder.join("");
    let run =
        stream::Run { backend: "cpu", clip: &clip_file, size: clip.size(), frames: 3, bits_per_pixel: 1.5, out: &out };
    let streamed = run.stream(&stream::Programs::find().unwrap()).unwrap();
    let measured = measure::received(&clip, &streamed.picture_file, &out.join("last.png")).unwrap();
    assert!(measured.frames > 0);
    let table = table::render(&[table::Row { streamed, measured }]);
    for line in ["back end", "bits per pixel", "PSNR-Y mean, dB", "capture to present", "decode"] {
        assert!(table.contains(line), "{line} is missing in\n{table}");
    }
}

#[test]
fn prediction_takes_fewer_bits_at_equal_quality() {
    let folder = Folder::new();
    let said = prediction::at_equal_quality(&short_clip(&folder, &jpegs())).unwrap();
    let percent = said.rsplit_once('(').unwrap().1.trim_end_matches(" %)").parse::<f64>().unwrap();
    assert!(said.contains("bits per pixel at") && (-90.0..-5.0).contains(&percent), "{said}");
}
