//! A socket whose packets carry a class (DSCP, RFC 2474), by which routers and Wi-Fi may send them before others.
//!
//! quinn's socket writes the byte in which the class stands with each packet, for ECN, so that a setting of the socket would
//! not last. Here that byte goes out with both.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// quinn's socket, but for what leaves.
pub(super) struct Classed {
    inner: Arc<dyn AsyncUdpSocket>,
    /// The same socket.
    socket: UdpSocket,
    dscp: u8,
}

impl Classed {
    /// Sends what leaves `inner` with that class, 0 to 63; `socket` is the same one.
    pub(super) fn new(inner: Arc<dyn AsyncUdpSocket>, socket: UdpSocket, dscp: u8) -> Self {
        Self { inner, socket, dscp }
    }

    fn send(&self, transmit: &Transmit<'_>) -> nix::Result<()> {
        let Transmit { destination, ecn, contents, segment_size, src_ip } = *transmit;
        let class = self.dscp << 2 | ecn.map_or(0, |ecn| ecn as u8);
        let (class_v6, segment) = (i32::from(class), segment_size.and_then(|size| u16::try_from(size).ok()));
        let (source_v4, source_v6);
        let mut messages = Vec::with_capacity(3);
        // Also where an IPv4 address is written as one of IPv6, as sockets for both have it.
        messages.push(match destination.ip().to_canonical() {
            IpAddr::V4(_) => ControlMessage::Ipv4Tos(&class),
            IpAddr::V6(_) => ControlMessage::Ipv6TClass(&class_v6),
        });
        if let Some(segment) = segment.as_ref().filter(|segment| usize::from(**segment) < contents.len()) {
            messages.push(ControlMessage::UdpGsoSegments(segment));
        }
        match src_ip {
            Some(IpAddr::V4(ip)) => {
                let s_addr = u32::from_ne_bytes(ip.octets());
                source_v4 =
                    in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: in_addr { s_addr }, ipi_addr: in_addr { s_addr: 0 } };
                messages.push(ControlMessage::Ipv4PacketInfo(&source_v4));
            }
            Some(IpAddr::V6(ip)) => {
                source_v6 = in6_pktinfo { ipi6_ifindex: 0, ipi6_addr: in6_addr { s6_addr: ip.octets() } };
                messages.push(ControlMessage::Ipv6PacketInfo(&source_v6));
            }
            None => {}
        }
        let to = SockaddrStorage::from(destination);
        sendmsg(self.socket.as_raw_fd(), &[IoSlice::new(contents)], &messages, MsgFlags::empty(), Some(&to)).map(drop)
    }
}

impl fmt::Debug for Classed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Classed({:?}, {})", self.socket, self.dscp)
    }
}

impl AsyncUdpSocket for Classed {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match self.send(transmit) {
            Ok(()) => Ok(()),
            // quinn's socket waits where there is no room, and learns what the system cannot do. Its packet has no class.
            Err(_) => self.inner.try_send(transmit),
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nix::sys::socket::{ControlMessageOwned, recvmsg, setsockopt, sockopt};
    use quinn::Runtime;
    use quinn::udp::EcnCodepoint;

    use super::*;
    use crate::quic::socket;

    /// Returns the next datagram, and the byte with class and ECN that it came with.
    fn receive(socket: &UdpSocket) -> (Vec<u8>, u8) {
        let (mut bytes, mut space) = ([0; 100], nix::cmsg_space!([i32; 4]));
        let mut buffer = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::empty();
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut buffer, Some(&mut space), flags).unwrap();
        let class = message.cmsgs().unwrap().find_map(|message| match message {
            ControlMessageOwned::Ipv4Tos(class) => Some(class),
            ControlMessageOwned::Ipv6TClass(class) => Some(class as u8),
            _ => None,
        });
        let length = message.bytes;
        (bytes[..length].to_vec(), class.unwrap())
    }

    #[test]
    fn each_of_several_packets_carries_its_class_and_ecn_over_both_families() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        for (from, at, to) in [
            ("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1"),
            ("[::]:0", "127.0.0.1:0", "[::ffff:127.0.0.1]"),
            ("[::]:0", "[::1]:0", "[::1]"),
        ] {
            // A machine without IPv6 has heard what there is.
            let Ok(receiving) = UdpSocket::bind(at) else { continue };
            receiving.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            match receiving.local_addr().unwrap() {
                SocketAddr::V4(_) => setsockopt(&receiving, sockopt::IpRecvTos, &true).unwrap(),
                SocketAddr::V6(_) => setsockopt(&receiving, sockopt::Ipv6RecvTClass, &true).unwrap(),
            }
            let sending = socket::open(from.parse().unwrap(), 1 << 16, socket::Claim::Whole).unwrap();
            let same = sending.try_clone().unwrap();
            let classed = Classed::new(quinn::TokioRuntime.wrap_udp_socket(sending).unwrap(), same, 34);
            let destination: SocketAddr = format!("{to}:{}", receiving.local_addr().unwrap().port()).parse().unwrap();
            for (src_ip, ecn, class) in
                [(None, None, 34 << 2), (Some(destination.ip().to_canonical()), Some(EcnCodepoint::Ect0), 34 << 2 | 2)]
            {
                let transmit = Transmit { destination, ecn, contents: b"aabbc", segment_size: Some(2), src_ip };
                classed.try_send(&transmit).unwrap();
                let came = [(); 3].map(|()| receive(&receiving));
                assert_eq!(came, [b"aa".as_slice(), b"bb", b"c"].map(|bytes| (bytes.to_vec(), class)), "{to}");
                let transmit = Transmit { contents: b"one", segment_size: None, ..transmit };
                classed.try_send(&transmit).unwrap();
                assert_eq!(receive(&receiving), (b"one".to_vec(), class), "{to}");
            }
        }
    }
}
