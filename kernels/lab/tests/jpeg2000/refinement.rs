//! The passes that refine a block of Part 15, which no program here writes: a file made by hand, and what OpenJPH 0.9 and OpenJPEG
//! 2.5.0 both make of it.

use lab::jpeg2000::{SAMPLES_MAX, decode};

use super::CPU;

/// A grey picture of 13 x 11 without levels: one block, three passes, of which the last two have bytes at random.
const FILE: &str = "\
    ff4fff51002940000000000d0000000b00000000000000000000000d0000000b00000000000000000001070101ff500008000200000001ff\
    52000c00020001000004044001ff5c00042048ff90000a0000000000860001ff93c073d903c0d9630004676129ba2791c1d51b4daa73bc0a\
    b0a72aa22fe5209e3f3689a053de599713f488fad16f6ed26d29745b05b12913bb77660a933211cb000827b66011803bff4cb889e608b7fe\
    5a7151e7bba7a69ca5e9c197a69e99e00bc90c2c929a54c75a02196e72485f697b6f234b5b7b2b3769ffd9\
    ";
const SAMPLES: &str = "\
    8180818081807f8080b9b64cb5654f8f92a3a6bb46a59644a77eb0807f80817f807f8080638da54a64b7a7ad4b4e5384834b596154778081\
    7f81817f807f81649c8da6a09e70b9a68baa6b456559779d6d80807f81807f80807f8d7e5bbc6fbd489e88557f4799aa67494e8c7f7f8081\
    7f8080808071a272896e61a15745819693568d4b8b8f75818180807f7f807f\
    ";

fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.trim().chars().collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

#[test]
fn all_three_passes_of_a_block_are_read() {
    let decoded = decode(&bytes(FILE), 0, SAMPLES_MAX, CPU).unwrap();
    assert_eq!(decoded.missing, None);
    let samples: Vec<u8> = decoded.image.components[0].samples.iter().map(|&sample| sample as u8).collect();
    assert_eq!(samples, bytes(SAMPLES));
}
