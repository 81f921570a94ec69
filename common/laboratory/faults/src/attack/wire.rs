//! An attacker on the path between a dialler and a listener, who sees every packet and can answer in the listener's
//! name.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use net::lock::lock;

use super::initial::{Ids, ids};

/// Time between two looks whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// Treatment of the dialler's packets.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    /// Let them through, and the answers.
    Pass,
    /// Take them, and answer each that begins a handshake with this.
    Forge(fn(&Ids) -> Result<Vec<u8>>),
    /// Let another machine answer.
    Divert(SocketAddr),
}

/// A place on the path. It ends with this value.
pub(super) struct Wire {
    /// Address to dial.
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    over: AtomicBool,
    state: Mutex<WireState>,
}

struct WireState {
    deed: Deed,
    client: Option<SocketAddr>,
    /// Handshakes begun, by the ids of their first packets.
    begun: HashSet<Vec<u8>>,
    /// Demands to prove an address that the listener has sent.
    retries: usize,
}

impl Wire {
    /// Opens a way to `listener`.
    pub(super) fn to(listener: SocketAddr, deed: Deed) -> Result<Self> {
        let (front, back) = (socket()?, socket()?);
        let address = front.local_addr()?;
        let state = Mutex::new(WireState { deed, client: None, begun: HashSet::new(), retries: 0 });
        let shared = Arc::new(Shared { over: AtomicBool::new(false), state });
        let (there, here) = (Arc::clone(&shared), Arc::clone(&shared));
        let (front_there, back_there) = (front.try_clone()?, back.try_clone()?);
        std::thread::spawn(move || there.carry_there(&front_there, &back_there, listener));
        std::thread::spawn(move || here.carry_back(&front, &back, listener));
        Ok(Self { address, shared })
    }

    /// Changes the treatment from now on.
    pub(super) fn set(&self, deed: Deed) {
        self.shared.lock().deed = deed;
    }

    /// Returns the number of handshakes that the dialler has begun.
    pub(super) fn begun(&self) -> usize {
        self.shared.lock().begun.len()
    }

    /// Returns how many times the listener has demanded that the dialler prove its address.
    pub(super) fn retries(&self) -> usize {
        self.shared.lock().retries
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, WireState> {
        lock(&self.state)
    }

    fn carry_there(&self, front: &UdpSocket, back: &UdpSocket, listener: SocketAddr) {
        let mut buffer = [0; 2_048];
        while !self.over.load(Ordering::Relaxed) {
            let Ok((count, from)) = front.recv_from(&mut buffer) else { continue };
            let asked = ids(&buffer[..count]);
            let deed = {
                let mut state = self.lock();
                state.client = Some(from);
                state.begun.extend(asked.iter().map(|asked| asked.from.clone()));
                state.deed
            };
            // An error is the port of somebody who has gone.
            let _ = match (deed, asked) {
                (Deed::Pass, _) => back.send_to(&buffer[..count], listener),
                (Deed::Divert(other), _) => back.send_to(&buffer[..count], other),
                (Deed::Forge(forge), Some(asked)) => match forge(&asked) {
                    Ok(answer) => front.send_to(&answer, from),
                    Err(_) => continue,
                },
                (Deed::Forge(_), None) => continue,
            };
        }
    }

    fn carry_back(&self, front: &UdpSocket, back: &UdpSocket, listener: SocketAddr) {
        let mut buffer = [0; 2_048];
        while !self.over.load(Ordering::Relaxed) {
            let Ok((count, from)) = back.recv_from(&mut buffer) else { continue };
            let mut state = self.lock();
            // A Retry packet of RFC 9000, section 17.2.5.
            state.retries += usize::from(buffer[0] & 0xf0 == 0xf0);
            let passes = match state.deed {
                Deed::Pass => from == listener,
                Deed::Divert(other) => from == other,
                Deed::Forge(_) => false,
            };
            if let Some(client) = state.client.filter(|_| passes) {
                let _ = front.send_to(&buffer[..count], client);
            }
        }
    }
}

fn socket() -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(LOOK))?;
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
    Ok(socket)
}
