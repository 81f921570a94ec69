//! The size of packets that a way carries, as the system knows it: from its own networks, and from routers that have said so.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use nix::sys::socket::{getsockopt, sockopt};

use super::error::{PACKET_BYTES, QuicError};

/// Returns what the silence at `address` means: packets that are too large for the way there, or nothing that is known.
pub(super) fn silence(address: SocketAddr) -> QuicError {
    match carries(address) {
        Some(bytes) if bytes < PACKET_BYTES => QuicError::LargePackets(Some(bytes)),
        _ => QuicError::TimedOut,
    }
}

/// Returns the bytes that a packet to `address` may have; none: the system does not say, or it is enough on every such way (IPv6).
fn carries(address: SocketAddr) -> Option<u16> {
    let SocketAddr::V4(to) = address else { return None };
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Nothing is sent.
    socket.connect(to).ok()?;
    u16::try_from(getsockopt(&socket, sockopt::IpMtu).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_packets_have_room_silence_is_no_answer() {
        for address in ["127.0.0.1:9", "[::1]:9"] {
            assert_eq!(silence(address.parse().unwrap()), QuicError::TimedOut, "{address}");
        }
    }
}
