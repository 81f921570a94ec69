//! Another port of this machine, which is tried where the first one leads nowhere.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use common::path::ways::{Base, Candidate, Pair, merge};
use common::units::Timestamp;

use super::mapping::Mapping;
use super::stun::Stun;
use crate::limited;
use crate::quic::Sending;

/// The port of now, if one was opened, and what is left of those before.
#[derive(Debug, Default)]
pub(super) struct OtherPort {
    now: Option<Opened>,
    /// Routers may take seconds to close a port, and a call does not wait for them.
    closing: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Opened {
    stun: Stun,
    mapping: Option<Mapping>,
}

impl OtherPort {
    /// Time after which a socket that was opened can send: the system must first have said so.
    pub(super) const OPENS: Duration = Duration::from_millis(10);

    /// Opens another port in the place of the one before, asks the servers there how they see it, and the router to let it in;
    /// false if the system gives none.
    pub(super) fn open(
        &mut self,
        sending: &Sending,
        servers: impl Iterator<Item = SocketAddr>,
        asks_router: bool,
        now: Timestamp,
    ) -> bool {
        let port = match sending.open_other_port() {
            Ok(port) => port,
            Err(error) => {
                limited!(warn, "no other UDP port can be opened: {error}");
                return false;
            }
        };
        limited!(info, "the other machine is not reached directly yet: trying from UDP port {port} as well");
        let mut stun = Stun::default();
        servers.for_each(|server| stun.add(server, now + Self::OPENS));
        let opened = Opened { stun, mapping: asks_router.then(|| Mapping::start(port)) };
        if let Some(mapping) = self.now.replace(opened).and_then(|before| before.mapping) {
            self.closing.retain(|closing| !closing.is_finished());
            self.closing.push(std::thread::spawn(move || drop(mapping)));
        }
        true
    }

    /// Sends the questions to STUN servers that are due.
    pub(super) fn ask(&mut self, sending: &Sending, now: Timestamp) {
        let Some(opened) = &mut self.now else { return };
        while let Some((server, request)) = opened.stun.poll(now) {
            sending.send(Pair { to: server, base: Base::OtherPort }, &request);
        }
    }

    /// Returns the time to call [`OtherPort::ask`] again.
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.now.as_ref().and_then(|opened| opened.stun.poll_timeout())
    }

    /// Takes a message from a STUN server.
    pub(super) fn on_message(&mut self, from: SocketAddr, bytes: &[u8]) {
        if let Some(opened) = &mut self.now {
            opened.stun.on_message(from, bytes);
        }
    }

    /// Returns the port's addresses outside.
    pub(super) fn addresses(&self) -> Vec<Candidate> {
        let Some(Opened { stun, mapping }) = &self.now else { return Vec::new() };
        let mapped = mapping.as_ref().map(Mapping::candidates).unwrap_or_default();
        merge(&[&mapped, &stun.seen()])
    }
}

impl Drop for OtherPort {
    fn drop(&mut self) {
        self.now = None;
        for closing in self.closing.drain(..) {
            // One that has panicked has closed nothing, and nobody else can.
            let _ = closing.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use common::path::ways::Kind;
    use tokio::net::UdpSocket;
    use tokio::time::timeout;

    use super::*;
    use crate::identity::Identity;
    use crate::quic::{Endpoint, Takes};
    use crate::reach::introduce::options;
    use crate::reach::stun::tests::answer;

    const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    #[tokio::test]
    async fn another_port_asks_for_its_own_address_and_a_further_one_takes_its_place() {
        let options = options(false, &Identity::generate().unwrap(), Vec::new()).unwrap();
        let (endpoint, mut beside) = Endpoint::bind_beside(&options, HERE.into(), Takes::Nothing).unwrap();
        let server = UdpSocket::bind(HERE).await.unwrap();
        let at = server.local_addr().unwrap();
        beside.expect_from(at);
        let mut other = OtherPort::default();
        let mut now = Timestamp::from_us(1_000_000);
        other.ask(beside.sending(), now);
        assert!(other.poll_timeout().is_none() && other.addresses().is_empty());
        let mut ports = vec![endpoint.local_addr().unwrap().port()];
        for outside in ["203.0.113.5:7", "203.0.113.5:8"] {
            assert!(other.open(beside.sending(), [at].into_iter(), false, now));
            assert!(other.addresses().is_empty(), "nothing of the one before");
            assert_eq!(other.poll_timeout(), Some(now + OtherPort::OPENS));
            while other.addresses().is_empty() {
                now = other.poll_timeout().unwrap();
                other.ask(beside.sending(), now);
                let mut request = [0; 100];
                // The first question is lost where the system is slow to open the port.
                let Ok(asked) = timeout(10 * OtherPort::OPENS, server.recv_from(&mut request)).await else { continue };
                let (length, from) = asked.unwrap();
                ports.push(from.port());
                server.send_to(&answer(&request[..length], outside), from).await.unwrap();
                let aside = beside.receive().await;
                assert_eq!(aside.from, Pair { to: at, base: Base::OtherPort });
                other.on_message(aside.from.to, &aside.bytes);
            }
            assert_eq!(other.addresses(), [Candidate::new(Kind::ServerReflexive, outside.parse().unwrap()).unwrap()]);
        }
        ports.sort();
        ports.dedup();
        assert_eq!(ports.len(), 3, "each port is another: {ports:?}");
    }
}
