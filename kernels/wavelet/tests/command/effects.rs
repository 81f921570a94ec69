//! `effects`: pictures in, pictures out.

use std::fs;
use std::path::Path;

use crate::errors::fail;
use crate::support::{Folder, ppm, psnr, succeed, y4m, y4m_samples};

#[test]
fn a_clip_and_a_still_get_their_effects() {
    let folder = Folder::new("effects");
    let source = y4m(97, 131, "420mpeg2", 3);
    let (input, output) = (folder.file("a.y4m", &source), folder.path("b.y4m"));
    let frame_bytes = 97 * 131 + 2 * 49 * 66;
    let (_, before) = y4m_samples(&source, frame_bytes);
    let said = succeed(&["effects", &input, &output, "--noise", "3", "--still-noise", "2"]);
    assert_eq!(said, "3 frames of 97x131, noise 3, still_noise 2\n");
    let (header, after) = y4m_samples(&fs::read(&output).unwrap(), frame_bytes);
    assert_eq!(header, "YUV4MPEG2 W97 H131 F30000:1001 Ip A1:1 C420mpeg2 XCOLORRANGE=LIMITED");
    let difference = psnr(&before, &after);
    assert!(after.len() == before.len() && (25.0..50.0).contains(&difference), "{difference} dB");
    let (still, sharp) = (folder.file("a.ppm", &ppm(67, 45)), folder.path("b.png"));
    succeed(&["effects", &still, &sharp, "--detail", "1.5", "--even-light", "1"]);
    assert!(fs::metadata(sharp).unwrap().len() > 1000);
}

#[test]
fn what_an_effect_does_not_take_is_told() {
    let folder = Folder::new("effects-wrong");
    let (input, output) = (folder.file("a.y4m", &y4m(16, 16, "420jpeg", 1)), folder.path("b.y4m"));
    for (options, words) in [
        (&["--noise", "33"][..], "--noise takes 0 to 32 grey levels (0 is off), not 33"),
        (&["--even-light=-0.5"], "--even-light takes 0 to 1 (0 is off), not -0.5"),
        (&["--still-noise", "NaN"], "--still-noise takes 0 to 20"),
        (&["--detail", "1"], "nothing to do: ask for --detail, --noise"),
        (&[], "nothing to do"),
    ] {
        fail(&[&["effects", &input, &output], options].concat(), 2, &[words]);
        assert!(!Path::new(&output).exists());
    }
    let deep = folder.file("deep.y4m", &[b"YUV4MPEG2 W2 H2 F30:1 C420p10\nFRAME\n".as_slice(), &[0; 12]].concat());
    fail(&["effects", &deep, &output, "--noise", "3"], 2, &["deep.y4m has no effects", "8"]);
}
