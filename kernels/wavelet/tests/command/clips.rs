//! `encode` and `decode`.

use std::fs;
use std::path::Path;

use picture::coded::{FrameHeader, ReceivedFrame, StepIndex};
use picture::container::ContainerWriter;
use picture::frame::{Chroma, FrameSize};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use crate::errors::{fail, fail_in_lines};
use crate::support::{BACKENDS, Folder, golden, ppm, psnr, samples, succeed, wavelet, y4m, y4m_samples};

#[test]
fn a_clip_keeps_to_its_rate_and_comes_back() {
    let folder = Folder::new("rate");
    let (width, height, frames) = (160, 97, 3);
    let source = y4m(width, height, "420mpeg2", frames);
    let input = folder.file("a.y4m", &source);
    let (coded, output) = (folder.path("a.duet"), folder.path("b.y4m"));
    let frame_bytes = width * height + 2 * 80 * 49;
    let (_, before) = y4m_samples(&source, frame_bytes);
    let mut last = 0.0;
    for bpp in [0.5, 1.0, 2.0] {
        succeed(&["encode", &input, &coded, "--bpp", &bpp.to_string(), "--backend", "cpu"]);
        let bytes = fs::metadata(&coded).unwrap().len() as f64;
        let budget = bpp * (width * height * frames) as f64 / 8.0;
        assert!(bytes <= budget && bytes > 0.95 * budget, "{bytes} bytes of {budget} at {bpp}");
        succeed(&["decode", &coded, &output, "--backend", "cpu"]);
        let (header, after) = y4m_samples(&fs::read(&output).unwrap(), frame_bytes);
        assert_eq!(header, "YUV4MPEG2 W160 H97 F30000:1001 Ip A1:1 C420mpeg2 XCOLORRANGE=LIMITED");
        let quality = psnr(&before, &after);
        assert!(quality > last + 1.0, "{quality} dB at {bpp} after {last}");
        last = quality;
    }
    assert!(last > 38.0, "{last} dB");
}

#[test]
fn frames_keep_to_their_bytes() {
    let folder = Folder::new("bytes");
    let input = folder.file("a.y4m", &y4m(64, 64, "mono", 4));
    let coded = folder.path("a.duet");
    succeed(&["encode", &input, &coded, "--bytes-per-frame", "700", "--backend", "cpu"]);
    let bytes = fs::metadata(&coded).unwrap().len();
    assert!((2660..=2800).contains(&bytes), "{bytes}");
}

#[test]
fn a_quality_is_reached_and_said() {
    let folder = Folder::new("quality");
    let (input, coded) = (folder.file("a.y4m", &y4m(97, 131, "420jpeg", 2)), folder.path("a.duet"));
    let said = succeed(&["encode", &input, &coded, "--quality", "40", "--backend", "cpu"]);
    assert!(said.contains("luma of every frame at least 40."), "{said}");
    for asked in ["0", "100", "nan", "-1"] {
        let quality = format!("--quality={asked}");
        fail(&["encode", &input, &coded, &quality, "--backend", "cpu"], 2, &["dB is not possible"]);
    }
}

#[test]
fn smaller_pictures_come_out_of_the_same_file() {
    let folder = Folder::new("smaller");
    let (input, coded) = (folder.file("a.y4m", &y4m(97, 131, "420jpeg", 2)), folder.path("a.duet"));
    let output = folder.path("b.y4m");
    succeed(&["encode", &input, &coded, "--backend", "cpu"]);
    succeed(&["decode", &coded, &output, "--drop-levels", "2", "--backend", "cpu"]);
    let (header, after) = y4m_samples(&fs::read(&output).unwrap(), 25 * 33 + 2 * 13 * 17);
    assert!(header.starts_with("YUV4MPEG2 W25 H33 "), "{header}");
    assert_eq!(after.len(), 2 * (25 * 33 + 2 * 13 * 17));
    fail(&["decode", &coded, &output, "--drop-levels", "8"], 2, &["8 levels cannot be dropped", "has 7"]);
}

#[test]
fn back_ends_make_the_same_file_and_the_same_clip() {
    let folder = Folder::new("same");
    let colour = folder.file("a.ppm", &ppm(67, 45));
    let clip = folder.file("a.y4m", &y4m(97, 131, "420jpeg", 3));
    for (input, options) in [
        (&clip, &["--bpp", "1.5"][..]),
        (&clip, &["--step", "3", "--chroma", "444"]),
        (&colour, &["--bpp", "1", "--chroma", "444", "--padding", "zero"]),
        (&colour, &["--boundary", "periodic", "--levels", "2"]),
    ] {
        let results = BACKENDS.map(|backend| {
            let (coded, output) = (folder.path("a.duet"), folder.path("b.y4m"));
            succeed(&[&["encode", input, &coded, "--backend", backend], options].concat());
            succeed(&["decode", &coded, &output, "--backend", backend]);
            (fs::read(&coded).unwrap(), fs::read(&output).unwrap())
        });
        for (backend, result) in BACKENDS.iter().zip(&results) {
            assert!(result.0 == results[0].0, "{backend} codes {input} {options:?} to other bytes");
            assert!(result.1 == results[0].1, "{backend} decodes {input} {options:?} to other samples");
        }
    }
}

#[test]
fn chroma_is_the_sources_own_unless_asked_for() {
    let folder = Folder::new("chroma");
    let clips = [("a.y4m", y4m(18, 10, "444", 1)), ("b.y4m", y4m(18, 10, "mono", 1)), ("c.ppm", ppm(18, 10))];
    let expected = [("C444", "C420jpeg"), ("Cmono", "C420jpeg"), ("C420jpeg", "C420jpeg")];
    for ((name, bytes), (own, asked)) in clips.iter().zip(expected) {
        let input = folder.file(name, bytes);
        for (options, chroma) in [(&[][..], own), (&["--chroma", "420"], asked), (&["--chroma", "444"], "C444")] {
            let (coded, output) = (folder.path("a.duet"), folder.path("z.y4m"));
            succeed(&[&["encode", &input, &coded, "--backend", "cpu"], options].concat());
            succeed(&["decode", &coded, &output, "--backend", "cpu"]);
            let header = fs::read(&output).unwrap();
            let line = String::from_utf8_lossy(header.split(|&byte| byte == b'\n').next().unwrap()).into_owned();
            assert!(line.split(' ').any(|word| word == chroma), "{name} {options:?}: {line}");
        }
    }
}

#[test]
fn pictures_come_back_as_pictures() {
    let folder = Folder::new("pictures");
    let (coded, grey, png, again) =
        (folder.path("a.duet"), folder.path("b.pgm"), folder.path("b.png"), folder.path("c.pgm"));
    succeed(&["encode", &golden("camera_64x64.pgm"), &coded, "--step", "0.5", "--backend", "cpu"]);
    succeed(&["decode", &coded, &grey, "--backend", "cpu"]);
    assert!(psnr(&samples(&golden("camera_64x64.pgm"), 4096), &samples(&grey, 4096)) > 50.0);
    // PNG holds the same samples.
    succeed(&["decode", &coded, &png, "--backend", "cpu"]);
    succeed(&["forward", &png, &folder.path("a.npy"), "--backend", "cpu"]);
    succeed(&["inverse", &folder.path("a.npy"), &again, "--backend", "cpu"]);
    assert_eq!(fs::read(&again).unwrap(), fs::read(&grey).unwrap());
}

#[test]
fn the_smallest_pictures_work() {
    let folder = Folder::new("small");
    for (width, height) in [(1, 1), (2, 3), (1, 40)] {
        let input = folder.file("a.ppm", &ppm(width, height));
        for backend in BACKENDS {
            let (coded, output) = (folder.path("a.duet"), folder.path("b.ppm"));
            succeed(&["encode", &input, &coded, "--step", "1", "--chroma", "444", "--backend", backend]);
            succeed(&["decode", &coded, &output, "--backend", backend]);
            let count = 3 * width * height;
            let quality = psnr(&samples(&input, count), &samples(&output, count));
            assert!(quality > 40.0, "{width}x{height} {backend}: {quality} dB");
        }
    }
}

#[test]
fn the_matrix_of_a_clip_follows_its_lines_or_its_word() {
    let folder = Folder::new("matrix");
    let (coded, clip, picture) = (folder.path("a.duet"), folder.path("b.y4m"), folder.path("b.ppm"));
    // Red by BT.601 and by BT.709; each is another colour by the other.
    let (red_601, red_709) = ([81, 90, 240], [63, 102, 240]);
    for (height, word, ycbcr) in
        [(8, "", red_601), (8, " XDUETMATRIX=BT709", red_709), (720, "", red_709), (720, " XDUETMATRIX=BT601", red_601)]
    {
        let mut bytes = format!("YUV4MPEG2 W2 H{height} F25:1 C444{word}\nFRAME\n").into_bytes();
        bytes.extend(ycbcr.iter().flat_map(|&sample| vec![sample; 2 * height]));
        succeed(&["encode", &folder.file("a.y4m", &bytes), &coded, "--step", "0.5", "--backend", "cpu"]);
        succeed(&["decode", &coded, &picture, "--backend", "cpu"]);
        let rgb = samples(&picture, 6 * height);
        let is_red = |rgb: &[u8]| rgb[0] >= 252 && rgb[1] <= 3 && rgb[2] <= 3;
        assert!(rgb.chunks_exact(3).all(is_red), "{height} lines{word}: {:?}", &rgb[..3]);
        succeed(&["decode", &coded, &clip, "--backend", "cpu"]);
        let line = format!("YUV4MPEG2 W2 H{height} F25:1 Ip A0:0 C444 XCOLORRANGE=LIMITED{word}\n");
        assert!(fs::read(&clip).unwrap().starts_with(line.as_bytes()), "{line}");
    }
}

#[test]
fn lossless_files_keep_every_sample() {
    let folder = Folder::new("exact");
    let (coded, input) = (folder.path("a.duet"), folder.file("a.ppm", &ppm(67, 45)));
    for backend in BACKENDS {
        let output = folder.path("b.ppm");
        succeed(&["encode", &input, &coded, "--lossless", "--backend", backend]);
        succeed(&["decode", &coded, &output, "--backend", backend]);
        assert!(samples(&output, 3 * 67 * 45) == samples(&input, 3 * 67 * 45), "{backend}");
    }
    let clip = y4m(97, 131, "420jpeg", 3);
    let (input, output) = (folder.file("a.y4m", &clip), folder.path("b.y4m"));
    succeed(&["encode", &input, &coded, "--lossless", "--backend", "cpu"]);
    succeed(&["decode", &coded, &output, "--backend", "cpu"]);
    let frame_bytes = 97 * 131 + 2 * 49 * 66;
    assert_eq!(y4m_samples(&fs::read(&output).unwrap(), frame_bytes).1, y4m_samples(&clip, frame_bytes).1);
}

#[test]
fn the_profile_pcwt_keeps_every_sample_or_leaves_bits_out() {
    let folder = Folder::new("pcwt");
    let colour = folder.file("a.ppm", &ppm(67, 45));
    let clip = folder.file("a.y4m", &y4m(97, 31, "420jpeg", 2));
    for backend in BACKENDS {
        let (coded, ppm, y4m) = (folder.path("a.duet"), folder.path("b.ppm"), folder.path("b.y4m"));
        succeed(&["encode", &colour, &coded, "--profile", "pcwt", "--lossless", "--backend", backend]);
        succeed(&["decode", &coded, &ppm, "--backend", backend]);
        assert!(samples(&ppm, 3 * 67 * 45) == samples(&colour, 3 * 67 * 45), "{backend}");
        let whole = fs::metadata(&coded).unwrap().len();
        succeed(&["encode", &colour, &coded, "--profile", "pcwt", "--qmin", "3", "--backend", backend]);
        succeed(&["decode", &coded, &ppm, "--backend", backend]);
        let quality = psnr(&samples(&ppm, 3 * 67 * 45), &samples(&colour, 3 * 67 * 45));
        assert!((20.0..60.0).contains(&quality), "{quality} dB on {backend}");
        assert!(fs::metadata(&coded).unwrap().len() < whole);
        succeed(&["encode", &clip, &coded, "--profile", "pcwt", "--backend", backend]);
        succeed(&["decode", &coded, &y4m, "--backend", backend]);
        let frame_bytes = 97 * 31 + 2 * 49 * 16;
        let [before, after] = [&clip, &y4m].map(|path| y4m_samples(&fs::read(path).unwrap(), frame_bytes).1);
        assert!(before == after, "{backend}");
    }
}

/// Returns a Y4M of two frames whose samples of 10 bits take all values.
fn deep_y4m(width: usize, height: usize, sampling: &str, samples: usize) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C{sampling} XYSCSS=X\n").into_bytes();
    for frame in 0..2 {
        bytes.extend(b"FRAME\n");
        bytes.extend((0..samples).flat_map(|at| ((at * 37 + at * at / 50 + frame) as u16 % 1024).to_le_bytes()));
    }
    bytes
}

#[test]
fn samples_of_ten_bits_come_back() {
    let folder = Folder::new("deep");
    let coded = folder.path("a.duet");
    for options in [&["--lossless"][..], &["--profile", "pcwt"]] {
        for backend in BACKENDS {
            for (sampling, samples) in [("420p10", 67 * 45 + 2 * 34 * 23), ("444p10", 3 * 67 * 45), ("mono10", 67 * 45)]
            {
                let clip = deep_y4m(67, 45, sampling, samples);
                let (input, output) = (folder.file("a.y4m", &clip), folder.path("b.y4m"));
                succeed(&[&["encode", &input, &coded, "--backend", backend], options].concat());
                succeed(&["decode", &coded, &output, "--backend", backend]);
                let [before, after] = [clip, fs::read(&output).unwrap()].map(|clip| y4m_samples(&clip, 2 * samples));
                assert!(after.0.contains(&format!(" C{sampling} ")), "{}", after.0);
                assert!(before.1 == after.1, "{sampling} {options:?} {backend}");
            }
            for (name, magic, channels) in [("c.ppm", "P6", 3), ("c.pgm", "P5", 1)] {
                let mut picture = format!("{magic}\n67 45\n1023\n").into_bytes();
                picture
                    .extend((0..67 * 45 * channels).flat_map(|at: usize| ((at * at / 7 % 1024) as u16).to_be_bytes()));
                let (input, output) = (folder.file(name, &picture), folder.path(&format!("d{name}")));
                succeed(&[&["encode", &input, &coded, "--backend", backend], options].concat());
                succeed(&["decode", &coded, &output, "--backend", backend]);
                assert!(fs::read(&output).unwrap() == picture, "{name} {options:?} {backend}");
            }
        }
    }
}

#[test]
fn samples_of_ten_bits_are_refused_where_they_cannot_be() {
    let folder = Folder::new("deep-refused");
    let coded = folder.path("a.duet");
    let clip = folder.file("a.y4m", &deep_y4m(8, 8, "mono10", 64));
    fail(&["encode", &clip, &coded], 2, &["10 bits are coded without loss only"]);
    fail(&["encode", &clip, &coded, "--quality", "40"], 2, &["10 bits are coded without loss only"]);
    fail(&["forward", &clip, &folder.path("a.npy")], 2, &["samples of 8 bits are wanted here, these have 10"]);
    succeed(&["encode", &clip, &coded, "--lossless", "--backend", "cpu"]);
    let still = folder.file("a.pgm", &[&b"P5\n2 1\n1023\n"[..], &[0, 1, 3, 255]].concat());
    succeed(&["encode", &still, &coded, "--lossless", "--backend", "cpu"]);
    for output in ["b.png", "b.ppm"] {
        fail(&["decode", &coded, &folder.path(output)], 2, &["10 bits cannot be written here", ".pgm or .y4m"]);
    }
    let large = folder.file("b.pgm", &[&b"P5\n2 1\n1023\n"[..], &[0, 1, 4, 1]].concat());
    fail(&["encode", &large, &coded, "--lossless"], 2, &["a sample is 1025: with 10 bits it can be at most 1023"]);
    let twelve = folder.file("c.pgm", b"P5\n1 1\n4095\nab");
    let sixteen = folder.file("d.pgm", b"P5\n1 1\n65535\nab");
    for input in [twelve, sixteen] {
        let output = wavelet(&["encode", &input, &coded, "--backend", "cpu"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains("more than 8 bits, of which 8 are used"), "{said}");
        fail(&["forward", &input, &folder.path("a.npy")], 2, &["samples of more than 8 bits"]);
        for options in [["--lossless", "--no-tune"], ["--profile", "pcwt"]] {
            fail(&[&["encode", &input, &coded][..], &options].concat(), 2, &["samples of more than 8 bits"]);
        }
    }
    for (text, says) in
        [("P5\n2 1\n1023\nabc", "ends in the middle"), ("P2\n1 1\n1023\n7\n", "binary"), ("P6\n0 1\n1023\n", "0x1")]
    {
        fail(&["encode", &folder.file("e.ppm", text.as_bytes()), &coded, "--lossless"], 2, &[says]);
    }
}

#[test]
fn predicted_clips_come_back_and_are_smaller() {
    let folder = Folder::new("predicted");
    let (width, height, frames) = (97, 70, 5);
    let still = y4m(width, height, "420jpeg", 1);
    let head = still.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let source = [&still[..head], &still[head..].repeat(frames)].concat();
    let input = folder.file("a.y4m", &source);
    let (coded, output) = (folder.path("a.duet"), folder.path("b.y4m"));
    let mut clips = Vec::new();
    let mut sizes = Vec::new();
    for (age, backend) in BACKENDS.map(|backend| ("1", backend)).into_iter().chain([("2", "auto")]) {
        let options = ["--prediction", "on", "--reference-age", age, "--backend", backend];
        let said = succeed(&[&["encode", &input, &coded], &options[..]].concat());
        assert!(said.contains(&format!(", {age} without a reference")), "{said}");
        sizes.push(fs::read(&coded).unwrap());
        succeed(&["decode", &coded, &output, "--backend", backend]);
        clips.push(fs::read(&output).unwrap());
    }
    let (older, others) = sizes.split_last().unwrap();
    assert!(others.iter().all(|file| *file == sizes[0]), "back ends differ");
    assert!(clips[..BACKENDS.len()].iter().all(|clip| *clip == clips[0]), "back ends differ");
    assert!(older.len() > sizes[0].len());
    succeed(&["encode", &input, &coded, "--backend", "cpu"]);
    let alone = fs::metadata(&coded).unwrap().len() as usize;
    assert!(sizes[0].len() < alone / 3, "{} bytes, {alone} without prediction", sizes[0].len());
    let frame_bytes = width * height + 2 * 49 * 35;
    let (_, before) = y4m_samples(&source, frame_bytes);
    let (_, after) = y4m_samples(&clips[0], frame_bytes);
    assert!(psnr(&before, &after) > 30.0);
    let bytes = ["--bytes-per-frame", "400", "--prediction", "on", "--backend", "cpu"];
    succeed(&[&["encode", &input, &coded], &bytes[..]].concat());
    assert!(fs::metadata(&coded).unwrap().len() <= 2000);
}

#[test]
fn what_a_receiver_shows_over_a_line_that_loses_datagrams_is_what_the_file_decodes_to() {
    let folder = Folder::new("lossy");
    // Pictures that differ, so that a frame has vectors and blocks to lose.
    let clip = y4m(150, 130, "420jpeg", 14);
    let input = folder.file("a.y4m", &clip);
    let (coded, shown, output) = (folder.path("a.duet"), folder.path("shown.y4m"), folder.path("b.y4m"));
    let line = ["--prediction", "on", "--loss", "30", "--feedback-delay", "2", "--seed", "5", "--shown", &shown];
    let mut files = Vec::new();
    for backend in BACKENDS {
        let said = succeed(&[&["encode", &input, &coded, "--step", "2", "--backend", backend], &line[..]].concat());
        assert!(said.contains("14 frames") && said.contains("datagrams lost") && said.contains(" 0 wrong"), "{said}");
        assert!(!said.contains(" 0 frames with gaps") && !said.contains(" 0 replayed"), "{said}");
        succeed(&["decode", &coded, &output, "--backend", backend]);
        assert!(fs::read(&output).unwrap() == fs::read(&shown).unwrap(), "{backend}");
        files.push(fs::read(&coded).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]), "back ends differ");
    // Another seed loses others; without loss everything comes.
    succeed(&[&["encode", &input, &coded, "--step", "2", "--backend", "cpu", "--seed", "6"], &line[..6]].concat());
    assert!(fs::read(&coded).unwrap() != files[0]);
    let said = succeed(&["encode", &input, &coded, "--backend", "cpu", "--prediction", "on", "--loss", "0"]);
    assert!(said.contains("; 0 of ") && said.contains(" 0 frames with gaps, 0 not decoded, 0 replayed"), "{said}");
}

#[test]
fn what_does_not_go_with_prediction_is_said() {
    let folder = Folder::new("unpredicted");
    let (input, coded, output) =
        (folder.file("a.y4m", &y4m(40, 40, "420jpeg", 2)), folder.path("a.duet"), folder.path("b.y4m"));
    let refused = |options: &[&str], words: &[&str]| {
        fail(&[&["encode", &input, &coded], options].concat(), 2, words);
    };
    refused(&["--prediction", "on", "--lossless"], &["--lossless", "--prediction on"]);
    refused(&["--prediction", "on", "--quality", "40"], &["--quality", "--step"]);
    refused(&["--prediction", "on", "--profile", "pcwt"], &["--profile pcwt"]);
    refused(&["--prediction", "on", "--reference-age", "0"], &["--reference-age 0", "1 to 32"]);
    refused(&["--prediction", "on", "--reference-age", "33"], &["--reference-age 33", "1 to 32"]);
    refused(&["--reference-age", "2"], &["--reference-age", "--prediction on"]);
    refused(&["--effort", "low"], &["--effort", "--prediction on"]);
    refused(&["--loss", "5"], &["--loss", "--prediction on"]);
    refused(&["--prediction", "on", "--seed", "2"], &["--seed", "--loss"]);
    refused(&["--prediction", "on", "--loss", "101"], &["--loss 101", "0 to 100"]);
    refused(&["--prediction", "on", "--loss", "5", "--feedback-delay", "0"], &["--feedback-delay 0"]);
    refused(&["--prediction", "on", "--loss", "5", "--reference-age", "2"], &["--reference-age", "--loss"]);
    refused(&["--prediction", "on", "--loss", "5", "--shown", "b.png"], &["b.png", ".y4m"]);
    succeed(&["encode", &input, &coded, "--prediction", "on", "--backend", "cpu"]);
    fail(&["decode", &coded, &output, "--drop-levels", "1", "--backend", "cpu"], 2, &["--drop-levels"]);
    // Without the first frame, the second one refers to nothing.
    let file = fs::read(&coded).unwrap();
    let first = u32::from_le_bytes(file[36..40].try_into().unwrap()) as usize;
    let cut = folder.file("cut.duet", &[&file[..36], &file[36 + 13 + first..]].concat());
    let words = &["frame 1 refers to one that is not there", "cut.duet is damaged in 1 place"];
    fail_in_lines(&["decode", &cut, &output, "--backend", "cpu"], 1, words);
    let (_, pictures) = y4m_samples(&fs::read(&output).unwrap(), 2400);
    assert!(pictures == [128; 4800]);
}

/// Writes a file of grey pictures of 16x16, 30 a second, that has frames for the pictures `numbers` only, and ends at `pictures`.
fn with_pauses(folder: &Folder, numbers: &[u32], pictures: u32) -> String {
    let params = StreamParams::new(FrameSize::new(16, 16).unwrap(), Chroma::Grey);
    let mut writer = ContainerWriter::new(&params, Vec::new()).unwrap();
    let header = FrameHeader { step: StepIndex::MAX, fine_blocks: 0 };
    let nothing = ReceivedFrame::empty(header, BlockLayout::new(&params).blocks().len());
    for &number in numbers {
        writer.received(number, 0, &nothing).unwrap();
    }
    folder.file("pauses.duet", &writer.finish(pictures).unwrap())
}

#[test]
fn long_pauses_are_filled_if_somebody_asks_for_it() {
    let folder = Folder::new("pauses");
    let output = folder.path("pauses.y4m");
    let decode = |coded: &str| ["decode", coded, &output, "--backend", "cpu"].map(str::to_owned);
    // A minute, and one picture more for each that is there.
    let short = with_pauses(&folder, &[0, 1_801], 1_803);
    let many: Vec<_> = (0..100).map(|n| 1_700 * n).collect();
    succeed(&decode(&short).each_ref().map(String::as_str));
    assert_eq!(fs::read(&output).unwrap().len() / (16 * 16 + 6), 1_803);
    for (numbers, pictures) in [(&[0, 1_805][..], 1_806), (&[0], 1_900), (&many, 168_301), (&[0, 107_000], 107_001)] {
        fs::remove_file(&output).unwrap_or_default();
        let coded = with_pauses(&folder, numbers, pictures);
        let told = [&format!("of its {pictures} pictures have no frame") as &str, "GB in all", "--fill-pauses"];
        fail(&decode(&coded).each_ref().map(String::as_str), 2, &told);
        assert!(!Path::new(&output).exists(), "nothing is written");
    }
    let coded = with_pauses(&folder, &[0, 1_805], 1_806);
    succeed(&["decode", &coded, &output, "--backend", "cpu", "--fill-pauses"]);
    assert_eq!(fs::read(&output).unwrap().len() / (16 * 16 + 6), 1_806);
}
