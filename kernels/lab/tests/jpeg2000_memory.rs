//! The memory that a file of JPEG 2000 can ask for by its headers. Alone in its program, whose memory it measures.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use kernels::BackendChoice;
use lab::jpeg2000::{SAMPLES_MAX, decode};

/// Returns the most memory that this program has had, bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    [&[0xff, marker], &(content.len() as u16 + 2).to_be_bytes()[..], content].concat()
}

#[test]
fn tiles_without_a_header_of_their_own_share_the_main_one() {
    // 65,535 tiles of one sample, and a main header with as much in it as there may be.
    let numbers = [65_535_u32, 1, 0, 0, 1, 1, 0, 0].map(u32::to_be_bytes).concat();
    let siz = segment(0x51, &[&[0, 0], &numbers[..], &[0, 1, 7, 1, 1]].concat());
    let cod = segment(0x52, &[&[1, 0, 0, 1, 0, 32, 4, 4, 0, 1], &[0xff; 33][..]].concat());
    let qcd = segment(0x5c, &[&[2 << 5][..], &[8 << 3; 97]].concat());
    let part = |index: u16| {
        let sot = segment(0x90, &[&index.to_be_bytes()[..], &[0, 0, 0, 14, 0, 1]].concat());
        [sot, vec![0xff, 0x93]].concat()
    };
    let mut file = [vec![0xff, 0x4f], siz, cod, qcd].concat();
    file.extend((0..65_535).flat_map(part));
    let before = peak();
    let error = decode(&file, 0, SAMPLES_MAX, (BackendChoice::Cpu, None)).unwrap_err().to_string();
    assert!(error.contains("begins at"), "{error}");
    let more = peak() - before;
    assert!(more < 16 << 20, "{more} bytes for a file of {}", file.len());
}
