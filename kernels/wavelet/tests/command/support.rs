//! A folder per test, the command, and small pictures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Every back end of this build; one with OpenCL fails the tests on a machine without an OpenCL device.
#[cfg(feature = "opencl")]
pub(crate) const BACKENDS: [&str; 3] = ["reference", "cpu", "opencl"];
/// Every back end of this build.
#[cfg(not(feature = "opencl"))]
pub(crate) const BACKENDS: [&str; 2] = ["reference", "cpu"];

/// Every boundary.
pub(crate) const BOUNDARIES: [&str; 3] = ["symmetric", "periodic", "zero"];

/// A folder that disappears with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wavelet-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns the path of the file `name` in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes the file `name` and returns its path.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the command.
pub(crate) fn wavelet(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavelet")).args(arguments).output().unwrap()
}

/// Runs the command, which must succeed, and returns its standard output.
#[track_caller]
pub(crate) fn succeed(arguments: &[&str]) -> String {
    let output = wavelet(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "wavelet {} failed: {stderr}", arguments.join(" "));
    assert_eq!(stderr, "");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the path of a file in `golden/`.
pub(crate) fn golden(name: &str) -> String {
    format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns shape, as NumPy writes it, and values of a float32 array.
pub(crate) fn read_npy(path: &str) -> (String, Vec<f32>) {
    let (shape, values) = read_npy_of("<f4", path);
    (shape, values.into_iter().map(|value| value as f32).collect())
}

/// Returns shape, as NumPy writes it, and values of an array whose element NumPy calls `<f4`, `<f8` or `<i4`.
pub(crate) fn read_npy_of(element: &str, path: &str) -> (String, Vec<f64>) {
    let bytes = fs::read(path).unwrap();
    let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..data]).unwrap();
    assert!(header.contains(&format!("'descr': '{element}'")) && header.contains("'fortran_order': False"), "{header}");
    let shape = header.split_once("'shape': (").unwrap().1.split_once(')').unwrap().0.to_owned();
    let data = &bytes[data..];
    let values = match element {
        "<f4" => data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
        "<i4" => data.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
        _ => data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
    };
    (shape, values)
}

/// Returns a binary PGM with texture.
pub(crate) fn pgm(width: usize, height: usize) -> Vec<u8> {
    let mut bytes = format!("P5\n{width} {height}\n255\n").into_bytes();
    bytes.extend((0..width * height).map(|at| (at * at * 37 + at * 11 + at / width * 5) as u8));
    bytes
}

/// Returns a binary PPM of a smooth coloured picture with some texture.
pub(crate) fn ppm(width: usize, height: usize) -> Vec<u8> {
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let texture = if (x / 4 + y / 4) % 2 == 0 { 20 } else { 0 };
        bytes.extend([x * 180 / width + texture, y * 180 / height + texture, 60 + texture].map(|v| v as u8));
    }
    bytes
}

/// Returns a Y4M of `frames` frames, each a shifted gradient with texture; `chroma` such as `420jpeg`, `444` or `mono`.
pub(crate) fn y4m(width: usize, height: usize, chroma: &str, frames: usize) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} F30000:1001 Ip A1:1 C{chroma}\n").into_bytes();
    let planes = match chroma {
        "mono" => vec![(width, height)],
        "444" => vec![(width, height); 3],
        _ => vec![(width, height), (width.div_ceil(2), height.div_ceil(2)), (width.div_ceil(2), height.div_ceil(2))],
    };
    for frame in 0..frames {
        bytes.extend(b"FRAME\n");
        for (plane, &(width, height)) in planes.iter().enumerate() {
            for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                let texture = if plane == 0 { (x * x + 3 * y * y + 7 * x * y) % 23 } else { 0 };
                bytes.push((60 + plane * 20 + (x + frame) * 70 / width + y * 70 / height + texture) as u8);
            }
        }
    }
    bytes
}

/// Returns the samples of all frames of a Y4M with frames of `frame_bytes`, and its header line.
pub(crate) fn y4m_samples(bytes: &[u8], frame_bytes: usize) -> (String, Vec<u8>) {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let header = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let frames = bytes[end + 1..].chunks_exact(6 + frame_bytes);
    assert!(frames.remainder().is_empty());
    (header, frames.flat_map(|frame| frame.strip_prefix(b"FRAME\n").unwrap()).copied().collect())
}

/// Returns the `count` samples at the end of a binary PPM or PGM.
pub(crate) fn samples(path: &str, count: usize) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    let magic: &[u8] = if path.ends_with(".pgm") { b"P5" } else { b"P6" };
    assert!(bytes.starts_with(magic), "{path} is not what its name says");
    bytes[bytes.len() - count..].to_vec()
}

/// Returns the peak signal-to-noise ratio, dB.
pub(crate) fn psnr(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    let squares: u64 = a.iter().zip(b).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    10.0 * (255.0 * 255.0 * a.len() as f64 / squares as f64).log10()
}
