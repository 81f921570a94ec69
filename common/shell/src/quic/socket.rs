//! UDP sockets with buffers for a frame's burst.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// A bound socket with buffers as large as the system gives, up to `bytes`.
pub(super) fn open(address: SocketAddr, bytes: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A refusal shows in the sizes read back.
    let _ = socket.set_recv_buffer_size(bytes);
    let _ = socket.set_send_buffer_size(bytes);
    socket.bind(&address.into())?;
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

/// Sizes that the system gives a socket asked for `bytes`: receive and send. For `doctor`.
pub(crate) fn buffer_sizes(bytes: usize) -> io::Result<(usize, usize)> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    let _ = socket.set_recv_buffer_size(bytes);
    let _ = socket.set_send_buffer_size(bytes);
    Ok((socket.recv_buffer_size()?, socket.send_buffer_size()?))
}
