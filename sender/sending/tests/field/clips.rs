//! Y4M clips as other programs write them.

use picture::frame::{PixelAspect, PixelFormat, Raster, Siting};

use super::play;

/// Samples of a picture of 4x2: six bytes a pair of lines of 4:2:0.
const I420: [u8; 12] = *b"abcdefghuvwx";

#[test]
fn headers_of_ffmpeg_and_mjpegtools_are_read() {
    let raster = |siting, aspect: (u32, u32)| Raster { siting, aspect: PixelAspect::new(aspect.0, aspect.1).unwrap() };
    let frame = [b"FRAME\n".as_slice(), &I420].concat();
    for (name, header, tail, expected) in [
        ("siting-left", "YUV4MPEG2 W4 H2 F15:1 Ip A1:1 C420mpeg2", "", raster(Siting::Left, (1, 1))),
        ("pixels-not-square", "YUV4MPEG2 W4 H2 F15:1 Ip A10:11 C420jpeg", "", raster(Siting::Centre, (10, 11))),
        ("header-with-tabs", "YUV4MPEG2\tW4\tH2\tF15:1\tC420jpeg", "", raster(Siting::Centre, (0, 0))),
        ("newline-at-the-end", "YUV4MPEG2 W4 H2 F15:1 Ip C420jpeg", "\n", raster(Siting::Centre, (0, 0))),
        ("sampling-in-a-comment", "YUV4MPEG2 W4 H2 F15:1 A59:54 XYSCSS=420PALDV", "", raster(Siting::Lines, (59, 54))),
    ] {
        let bytes = [header.as_bytes(), b"\n", &frame, &frame, tail.as_bytes()].concat();
        let (info, pictures, _) = play("y4m", name, &bytes).unwrap_or_else(|message| panic!("{name}: {message}"));
        assert_eq!((info.raster, info.frame_rate.as_f64()), (expected, 15.0), "{name}");
        assert_eq!(pictures, [(PixelFormat::I420, I420.to_vec()), (PixelFormat::I420, I420.to_vec())], "{name}");
    }
}

#[test]
fn older_words_for_the_sampling_are_obeyed() {
    let full = *b"abcdefghABCDEFGHopqrstuv";
    let bytes = [b"YUV4MPEG2 W4 H2 F30000:1001 Ip A0:0 XYSCSS=444\nFRAME\n".as_slice(), &full].concat();
    let (info, pictures, _) = play("y4m", "sampling-in-a-comment-444", &bytes).unwrap();
    assert_eq!((info.frame_rate.numerator(), info.frame_rate.denominator()), (30_000, 1001));
    assert_eq!(pictures, [(PixelFormat::I444, full.to_vec())]);
}

#[test]
fn a_carriage_return_is_named() {
    let bytes = [b"YUV4MPEG2 W4 H2 F15:1 C420jpeg\r\nFRAME\r\n".as_slice(), &I420].concat();
    let message = play("y4m", "lines-end-with-crlf", &bytes).err().unwrap();
    assert!(message.contains("carriage return"), "{message}");
}
