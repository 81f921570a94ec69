//! A sender that lies, above all about parity.

use common::netsim::Random;

/// Header bytes worth lying about: kind, step, group, index, frame, fine blocks, capture, counts and lengths.
const FIELDS: [usize; 18] = [0, 15, 16, 16, 17, 17, 18, 19, 22, 6, 25, 25, 26, 26, 27, 28, 29, 30];

/// Makes a lie of one datagram in three, and sometimes another datagram of it.
pub(crate) fn lie(random: &mut Random, datagram: &mut Vec<u8>) -> Option<Vec<u8>> {
    if !random.chance(0.3) {
        return None;
    }
    let honest = datagram.clone();
    for _ in 0..=random.below(2) {
        let at = FIELDS[random.below(FIELDS.len() as u64) as usize].min(datagram.len() - 1);
        let value = datagram[at];
        datagram[at] = match random.below(6) {
            0 => 0,
            1 => 255,
            2 => value.wrapping_add(1),
            3 => value.wrapping_sub(1),
            4 => 0x12,
            _ => random.bits() as u8,
        };
    }
    match random.below(6) {
        0 => datagram.truncate(25 + random.below(datagram.len() as u64) as usize),
        1 => datagram.resize(datagram.len() + 2 * random.below(3_000) as usize, 7),
        _ => {}
    }
    random.chance(0.5).then_some(honest)
}
