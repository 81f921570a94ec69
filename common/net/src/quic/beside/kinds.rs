//! Kinds of datagrams at one socket.

use common::path::ways::{ANSWER_BYTES, KNOCK_BYTES, QUESTION_BYTES};

use super::super::steered::MARK;

/// First byte of a knock: in a range that RFC 7983 leaves to nobody.
pub(crate) const KNOCK: u8 = 0x0d;
/// First byte of a probe, a question or an answer of a call's other end: likewise.
pub(crate) const PROBE: u8 = 0x0f;
/// Bytes of the longest probe, which is as long as the longest packet.
const PROBE_BYTES_MAX: usize = 1500;

const _: () = assert!(QUESTION_BYTES <= PROBE_BYTES_MAX);
// Of those that nobody has; the next, 0x10, may be a channel of TURN (RFC 7983, section 7).
const _: () = assert!(3 < KNOCK && KNOCK < MARK && MARK < PROBE && PROBE < 16);

/// Longest STUN message that is looked at.
const STUN_BYTES_MAX: usize = 548;
/// Packets before the end of a handshake have a long header (RFC 9000, section 17.2), and this bit.
pub(super) const LONG_HEADER: u8 = 0x80;

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Quic,
    /// QUIC's, on another way than QUIC knows.
    Marked,
    Aside,
    Junk,
}

/// Tells what a datagram is; `expected`: whether a STUN server's answer may come from its source.
pub(super) fn sort(datagram: &[u8], expected: impl FnOnce() -> bool) -> Sort {
    match datagram.first() {
        Some(0..=3) if datagram.len() <= STUN_BYTES_MAX && expected() => Sort::Aside,
        Some(&KNOCK) if datagram.len() == KNOCK_BYTES => Sort::Aside,
        Some(&PROBE) if (ANSWER_BYTES..=PROBE_BYTES_MAX).contains(&datagram.len()) => Sort::Aside,
        // No handshake changes its way.
        Some(&MARK) if datagram.get(1).is_some_and(|first| (64..LONG_HEADER).contains(first)) => Sort::Marked,
        Some(64..) => Sort::Quic,
        _ => Sort::Junk,
    }
}
