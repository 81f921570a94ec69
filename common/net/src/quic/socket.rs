//! UDP sockets with buffers for a frame's burst.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// Claim of a socket on its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nobody else may have it.
    #[default]
    Whole,
    /// Whoever claims all of it gets what comes from then on.
    Yielding,
}

/// Opens a socket with buffers as large as the system gives, up to `bytes`; see [`bind`].
pub(super) fn open(address: SocketAddr, bytes: usize, claim: Claim) -> io::Result<UdpSocket> {
    let socket = bind_with(address, bytes, claim)?;
    let given = [("receive", "rmem", socket.recv_buffer_size()?), ("send", "wmem", socket.send_buffer_size()?)];
    for (name, limit, size) in given {
        if size < bytes {
            tracing::warn!(
                "the {name} buffer of the socket has {size} bytes instead of {bytes}: \
                 bursts may be lost; as root, run `sysctl -w net.core.{limit}_max={bytes}`"
            );
        }
    }
    Ok(socket.into())
}

/// Opens a further socket like one whose buffers have been spoken of.
pub(super) fn open_like(address: SocketAddr, bytes: usize) -> io::Result<UdpSocket> {
    bind_with(address, bytes, Claim::Whole).map(Into::into)
}

fn bind_with(address: SocketAddr, bytes: usize, claim: Claim) -> io::Result<Socket> {
    let socket = bind_as(address, claim)?;
    // A refusal shows in the sizes read back.
    let _ = socket.set_recv_buffer_size(bytes);
    let _ = socket.set_send_buffer_size(bytes);
    Ok(socket)
}

/// Binds a socket. At `[::]` it hears IPv4, too, and nothing else on a machine without IPv6.
pub(super) fn bind(address: SocketAddr) -> io::Result<Socket> {
    bind_as(address, Claim::Whole)
}

fn bind_as(address: SocketAddr, claim: Claim) -> io::Result<Socket> {
    match bind_at(address, claim) {
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != io::ErrorKind::AddrInUse => {
            bind_at(SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())), claim)
        }
        result => result,
    }
}

fn bind_at(address: SocketAddr, claim: Claim) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(claim == Claim::Yielding)?;
    match socket.bind(&address.into()) {
        // The one that has it may yield: of two that share, the system gives all to the one that came last.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && claim == Claim::Whole => {
            socket.set_reuse_address(true)?;
            socket.bind(&address.into())?;
            socket.set_reuse_address(false)?;
        }
        bound => bound?,
    }
    Ok(socket)
}

/// Sizes that the system gives a socket asked for `bytes`: receive and send. For `doctor`.
pub fn buffer_sizes(bytes: usize) -> io::Result<(usize, usize)> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    let _ = socket.set_recv_buffer_size(bytes);
    let _ = socket.set_send_buffer_size(bytes);
    Ok((socket.recv_buffer_size()?, socket.send_buffer_size()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_at_every_address_hears_both_families() {
        let socket = open("[::]:0".parse().unwrap(), 1 << 16, Claim::Whole).unwrap();
        let port = socket.local_addr().unwrap().port();
        let hear = |from: &str, to: &str| {
            let caller = UdpSocket::bind(from).unwrap();
            caller.send_to(b"hello", format!("{to}:{port}")).unwrap();
            let mut buffer = [0; 8];
            assert_eq!(socket.recv_from(&mut buffer).unwrap().0, 5, "{to}");
        };
        hear("127.0.0.1:0", "127.0.0.1");
        // A machine without IPv6 has heard what there is.
        if UdpSocket::bind("[::1]:0").is_ok() {
            hear("[::1]:0", "[::1]");
        }
    }

    #[test]
    fn a_port_that_is_only_kept_warm_is_given_to_whoever_claims_it_and_to_nobody_after_that() {
        for any in ["127.0.0.1:0", "[::]:0"] {
            let warm = open(any.parse().unwrap(), 1 << 16, Claim::Yielding).unwrap();
            let address = warm.local_addr().unwrap();
            let claimed = open(address, 1 << 16, Claim::Whole).unwrap();
            for claim in [Claim::Whole, Claim::Yielding] {
                let refused = open(address, 1 << 16, claim).unwrap_err();
                assert_eq!(refused.kind(), io::ErrorKind::AddrInUse, "{claim:?}");
            }
            let caller = UdpSocket::bind("127.0.0.1:0").unwrap();
            caller.send_to(b"hello", ("127.0.0.1", address.port())).unwrap();
            let mut buffer = [0; 8];
            assert_eq!(claimed.recv_from(&mut buffer).unwrap().0, 5, "{any}");
            drop(claimed);
            caller.send_to(b"again!", ("127.0.0.1", address.port())).unwrap();
            assert_eq!(warm.recv_from(&mut buffer).unwrap().0, 6, "{any}");
        }
    }
}
