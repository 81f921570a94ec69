//! QUIC: the only module that names quinn.
//!
//! An [`Endpoint`] makes [`Connection`]s, each with its control stream open, to peers whose keys the handshake has
//! checked. Early data is never used, so nothing is sent before the peer has proved its key.

mod beside;
mod congestion;
mod error;
mod introducing;
mod probing;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use common::config::{Controller, Peer, PublicKey};
use common::reach::Route;
use common::reassemble::DEAD_LINE;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ConnectionError, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, Runtime, TransportConfig, VarInt};
use quinn_proto::HashedConnectionIdGenerator;
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac::HMAC_SHA256;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

pub(crate) use self::beside::{Aside, Beside, Carrier, KNOCK, KNOCK_BYTES, Sending, Unwrapped};
use self::congestion::{Demand, INITIAL_RTT};
pub(crate) use self::error::QuicError;
pub(crate) use self::introducing::{Introducing, SHARED_BYTES};
pub(crate) use self::probing::Probing;
pub(crate) use self::socket::buffer_sizes;
use crate::link::LiveRate;
use crate::tls::{self, PeerVerifier, Protocol};

/// Longest silence before a connection is given up. A dialler tries anew much earlier, and a newer connection takes
/// an older one's place, so that this can be long enough for a peer that was suspended for some seconds.
const IDLE_TIMEOUT: Duration = longest(DEAD_LINE);
/// Longest time for a handshake.
const HANDSHAKE_TIMEOUT: Duration = longest(Duration::from_secs(2));
/// Longest time from the handshake's end to the control stream.
const CONTROL_TIMEOUT: Duration = longest(Duration::from_secs(2));
/// Handshakes begun that nobody has looked at; those that come beyond them are refused, the right peer's, too.
const INCOMING_MAX: usize = 1024;
/// Time for a last packet to leave.
const LEAVING: Duration = Duration::from_millis(20);

/// Returns how long may be waited for something that normally takes no longer than `normal`. In this crate's own tests
/// only a hang takes too long, on however busy a machine.
const fn longest(normal: Duration) -> Duration {
    if cfg!(test) { Duration::from_secs(90) } else { normal }
}

/// Reasons for which this side closes a connection, as the peer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseCode {
    Done = 0,
    Protocol = 1,
    Replaced = 2,
    Busy = 3,
}

const BUSY: VarInt = VarInt::from_u32(CloseCode::Busy as u32);

/// Settings of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct EndpointOptions {
    pub(crate) key: Arc<CertifiedKey>,
    pub(crate) own: PublicKey,
    pub(crate) peers: Vec<Peer>,
    pub(crate) socket_buffer_bytes: usize,
    pub(crate) gso: bool,
    pub(crate) controller: Controller,
    pub(crate) rate: LiveRate,
    pub(crate) frame_bytes: usize,
    /// Protocol that is spoken.
    pub(crate) protocol: Protocol,
}

/// One UDP socket and the connections on it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    inner: quinn::Endpoint,
    socket: Sending,
    own: PublicKey,
    peers: Vec<Peer>,
    verifier: Arc<PeerVerifier>,
}

impl Endpoint {
    /// Opens a socket at `address` that dials or, if `listens`, accepts. Must be called on a tokio runtime.
    pub(crate) fn bind(options: &EndpointOptions, address: SocketAddr, listens: bool) -> Result<Self, QuicError> {
        Self::bind_beside(options, address, listens).map(|(endpoint, _)| endpoint)
    }

    /// Opens the same; also returns the part of the socket that is not QUIC's.
    pub(crate) fn bind_beside(
        options: &EndpointOptions,
        address: SocketAddr,
        listens: bool,
    ) -> Result<(Self, Beside), QuicError> {
        let failed = |error: io::Error| of_socket(address, &error);
        let setup = |error: &dyn std::fmt::Display| QuicError::Other(error.to_string());
        let socket = socket::open(address, options.socket_buffer_bytes).map_err(failed)?;
        let stable = StableKeys::new(options, socket.local_addr().map_err(failed)?, listens)?;
        let verifier = match (options.protocol, listens) {
            (Protocol::Introduction, true) => PeerVerifier::of_any_key(),
            _ => PeerVerifier::new(options.peers.iter().map(|peer| peer.key)),
        };
        let transport = Arc::new(transport(options));
        let server = if listens {
            let config = tls::server_config(Arc::clone(&options.key), Arc::clone(&verifier), options.protocol)
                .map_err(|e| setup(&e))?;
            let crypto = QuicServerConfig::try_from(config).map_err(|e| setup(&e))?;
            let mut server = quinn::ServerConfig::with_crypto(Arc::new(crypto));
            server.transport_config(Arc::clone(&transport));
            server.max_incoming(INCOMING_MAX).incoming_buffer_size(64 << 10).incoming_buffer_size_total(1 << 20);
            Some(server)
        } else {
            None
        };
        let mut endpoint_config = EndpointConfig::new(Arc::new(stable.reset));
        endpoint_config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(stable.connection_ids)));
        // Else some packets look like those that the socket tells apart.
        endpoint_config.grease_quic_bit(false);
        let runtime = Arc::new(quinn::TokioRuntime);
        let (socket, beside) = beside::split(runtime.wrap_udp_socket(socket).map_err(failed)?, !listens);
        let mut inner =
            quinn::Endpoint::new_with_abstract_socket(endpoint_config, server, socket, runtime).map_err(failed)?;
        let config = tls::client_config(Arc::clone(&options.key), Arc::clone(&verifier), options.protocol)
            .map_err(|e| setup(&e))?;
        let mut client = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).map_err(|e| setup(&e))?));
        client.transport_config(transport);
        inner.set_default_client_config(client);
        let sending = beside.sending().clone();
        Ok((Self { inner, socket: sending, own: options.own, peers: options.peers.clone(), verifier }, beside))
    }

    /// Returns the socket's address.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// Connects to `address` and opens the control stream. The peer may still refuse this side's key afterwards.
    pub(crate) async fn dial(&self, address: SocketAddr) -> Result<Connection, QuicError> {
        let inner = self.connect(address).await?;
        let (send, receive) = inner.open_bi().await.map_err(|error| self.explain(error))?;
        self.connection(inner, send, receive)
    }

    /// Connects to whoever proves at `address` to hold an allowed key. No error is final.
    async fn connect(&self, address: SocketAddr) -> Result<quinn::Connection, QuicError> {
        let unreachable = |error: quinn::ConnectError| QuicError::Unreachable {
            address: address.to_string(),
            message: error.to_string(),
        };
        let connecting = self.inner.connect(address, "duet").map_err(unreachable)?;
        let connected = tokio::time::timeout(HANDSHAKE_TIMEOUT, connecting).await.map_err(|_| QuicError::TimedOut)?;
        let inner = connected.map_err(|error| self.explain_unproved(error))?;
        // A forged packet can still come between the peer's last one and this side's answer, with which QUIC throws the
        // first keys away, and then the end is there already.
        match inner.close_reason() {
            Some(error) => Err(self.explain_unproved(error)),
            None => Ok(inner),
        }
    }

    /// Returns the next handshake that someone begins; `None` once the endpoint is closed.
    pub(crate) async fn incoming(&self) -> Option<Incoming> {
        self.inner.accept().await.map(|inner| Incoming { inner, endpoint: self.clone() })
    }

    /// Connections that still take memory.
    #[cfg(test)]
    pub(crate) fn open_connections(&self) -> usize {
        self.inner.open_connections()
    }

    fn route_of(&self, address: SocketAddr) -> Route {
        self.socket.route_of(address)
    }

    /// Says goodbye on every connection and waits a moment for the packets to leave.
    pub(crate) async fn close(&self) {
        self.inner.close(VarInt::from_u32(CloseCode::Done as u32), b"done");
        let _ = tokio::time::timeout(Duration::from_millis(200), self.inner.wait_idle()).await;
    }

    fn connection(
        &self,
        inner: quinn::Connection,
        send: quinn::SendStream,
        receive: quinn::RecvStream,
    ) -> Result<Connection, QuicError> {
        let peer = self.peer_of(&inner)?;
        Ok(Connection { inner, peer, send, receive, explain: self.clone() })
    }

    /// Returns the peer at the other end.
    fn peer_of(&self, inner: &quinn::Connection) -> Result<Peer, QuicError> {
        let identity = inner.peer_identity().and_then(|any| any.downcast::<Vec<CertificateDer<'static>>>().ok());
        let key = identity.and_then(|chain| tls::key_of_spki(chain.first()?));
        // The handshake has checked it; asked again so that no mistake there can let a stranger in. An endpoint that
        // introduces has no peers and gives out no such connection.
        self.peers.iter().find(|peer| Some(peer.key) == key).cloned().ok_or_else(|| {
            inner.close(VarInt::from_u32(CloseCode::Protocol as u32), b"key not allowed");
            key.map_or(QuicError::SignatureInvalid, QuicError::KeyNotAllowed)
        })
    }

    /// Returns the error of a handshake in which the other side has not proved its key.
    fn explain_unproved(&self, error: ConnectionError) -> QuicError {
        match &error {
            ConnectionError::ConnectionClosed(close) => match alert(close.error_code.into()) {
                Some(ALERT_NO_APPLICATION_PROTOCOL) | None => self.explain(error),
                Some(alert) => QuicError::RefusedByAnybody(alert),
            },
            _ => self.explain(error),
        }
    }

    fn explain(&self, error: ConnectionError) -> QuicError {
        match error {
            ConnectionError::TransportError(error) => match alert(error.code.into()) {
                Some(ALERT_DECRYPT_ERROR) => QuicError::SignatureInvalid,
                Some(ALERT_NO_APPLICATION_PROTOCOL) => QuicError::NoCommonProtocol,
                Some(_) => match self.verifier.take_refused() {
                    Some(key) => QuicError::KeyNotAllowed(key),
                    None => QuicError::Handshake(error.reason),
                },
                None => QuicError::Other(error.to_string()),
            },
            ConnectionError::ConnectionClosed(close) => match alert(close.error_code.into()) {
                Some(ALERT_DECRYPT_ERROR) => QuicError::SignatureRefusedByPeer { own: self.own },
                Some(ALERT_NO_APPLICATION_PROTOCOL) => QuicError::NoCommonProtocol,
                Some(_) => QuicError::RefusedByPeer { own: self.own },
                None => QuicError::Closed(close.to_string()),
            },
            ConnectionError::ApplicationClosed(close) if close.error_code == BUSY => QuicError::InAnotherCall,
            ConnectionError::ApplicationClosed(close) => {
                QuicError::Closed(String::from_utf8_lossy(&close.reason).into_owned())
            }
            ConnectionError::Reset => QuicError::Reset,
            ConnectionError::TimedOut => QuicError::TimedOut,
            ConnectionError::LocallyClosed => QuicError::ClosedHere,
            ConnectionError::VersionMismatch => QuicError::NoCommonProtocol,
            ConnectionError::CidsExhausted => QuicError::Other(error.to_string()),
        }
    }
}

/// TLS alerts (RFC 8446, section 6) that have a sentence of their own.
const ALERT_DECRYPT_ERROR: u8 = 51;
const ALERT_NO_APPLICATION_PROTOCOL: u8 = 120;

/// Returns the TLS alert in a QUIC error code (RFC 9001, section 4.8).
fn alert(code: u64) -> Option<u8> {
    code.checked_sub(0x100).and_then(|alert| alert.try_into().ok())
}

/// Fails, with what a run would say, if a listener cannot have `address`. For `doctor`.
pub(crate) fn is_free(address: SocketAddr) -> Result<(), QuicError> {
    socket::bind(address).map(drop).map_err(|error| of_socket(address, &error))
}

/// Returns the error of a socket at `address` that cannot be opened.
fn of_socket(address: SocketAddr, error: &io::Error) -> QuicError {
    match error.kind() {
        io::ErrorKind::AddrInUse => QuicError::AddressInUse(address),
        _ => QuicError::Socket { address, message: error.to_string() },
    }
}

/// Returns the address as people write it: a socket for both families has IPv4 addresses mapped into IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// A handshake that someone has begun.
#[derive(Debug)]
pub(crate) struct Incoming {
    inner: quinn::Incoming,
    endpoint: Endpoint,
}

impl Incoming {
    /// Returns the address of the caller.
    pub(crate) fn address(&self) -> SocketAddr {
        self.endpoint.route_of(self.inner.remote_address()).to
    }

    /// Returns true if the other side has proved that it receives at its address.
    pub(crate) fn address_is_validated(&self) -> bool {
        self.inner.remote_address_validated()
    }

    /// Asks for that proof, at no cost to this side.
    pub(crate) fn demand_address_validation(self) {
        // An error means that it has proved it already and is then refused.
        let _ = self.inner.retry();
    }

    /// Gives it no answer.
    pub(crate) fn ignore(self) {
        self.inner.ignore();
    }

    /// Turns it away.
    pub(crate) fn refuse(self) {
        self.inner.refuse();
    }

    /// Completes the handshake and, for a call, waits for the control stream.
    pub(crate) async fn accept(self) -> Result<Accepted, QuicError> {
        let endpoint = self.endpoint;
        let connecting = self.inner.accept().map_err(|error| endpoint.explain(error))?;
        let connected = tokio::time::timeout(HANDSHAKE_TIMEOUT, connecting).await;
        let inner = connected.map_err(|_| QuicError::TimedOut)?.map_err(|error| endpoint.explain(error))?;
        if protocol_of(&inner) == Some(Protocol::LinkTest) {
            return endpoint.probing(inner).map(Accepted::LinkTest);
        }
        let stream = tokio::time::timeout(CONTROL_TIMEOUT, inner.accept_bi()).await;
        let (send, receive) = stream.map_err(|_| QuicError::TimedOut)?.map_err(|error| endpoint.explain(error))?;
        endpoint.connection(inner, send, receive).map(Accepted::Call)
    }
}

/// A new connection, by its protocol.
#[derive(Debug)]
pub(crate) enum Accepted {
    Call(Connection),
    LinkTest(Probing),
}

/// Returns the protocol on which both sides have agreed.
fn protocol_of(connection: &quinn::Connection) -> Option<Protocol> {
    let data = connection.handshake_data()?.downcast::<quinn::crypto::rustls::HandshakeData>().ok()?;
    Protocol::of_name(&data.protocol?)
}

/// A connection to a peer that has proved its key, with its control stream.
#[derive(Debug)]
pub(crate) struct Connection {
    inner: quinn::Connection,
    peer: Peer,
    send: quinn::SendStream,
    receive: quinn::RecvStream,
    explain: Endpoint,
}

/// Something that came.
#[derive(Debug)]
pub(crate) enum Input {
    Datagram(Bytes),
    /// This many bytes of the control stream lie in the buffer given.
    Control(usize),
    /// This many bytes of the control stream were handed over.
    Written(usize),
}

impl Connection {
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.route().to
    }

    /// Returns the way on which the peer is now.
    pub(crate) fn route(&self) -> Route {
        self.explain.route_of(self.inner.remote_address())
    }

    pub(crate) fn rtt(&self) -> Duration {
        self.inner.rtt()
    }

    /// Returns the largest datagram that fits a packet on this path now, bytes; 0 if the peer takes none.
    pub(crate) fn max_datagram(&self) -> usize {
        self.inner.max_datagram_size().unwrap_or(0)
    }

    /// Times that the path ceased to carry packets as large as before.
    pub(crate) fn black_holes(&self) -> u64 {
        self.inner.stats().path.black_holes_detected
    }

    /// Returns true if the send buffer takes another datagram without dropping an older one.
    pub(crate) fn has_room(&self) -> bool {
        self.inner.datagram_send_buffer_space() > self.max_datagram()
    }

    /// Sends a datagram; one that has become too large for the path is dropped.
    pub(crate) fn send_datagram(&self, datagram: Vec<u8>) {
        if let Err(error) = self.inner.send_datagram(datagram.into()) {
            tracing::debug!(%error, "a datagram was not sent");
        }
    }

    /// Returns a datagram that is already here.
    pub(crate) async fn try_datagram(&self) -> Option<Bytes> {
        tokio::select! {
            biased;
            datagram = self.inner.read_datagram() => datagram.ok(),
            () = std::future::ready(()) => None,
        }
    }

    /// Waits for input and for room to write `pending` to the control stream. Nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self, buffer: &mut [u8], pending: &[u8]) -> Result<Input, QuicError> {
        let error = tokio::select! {
            biased;
            read = self.receive.read(buffer) => match read {
                Ok(Some(count)) => return Ok(Input::Control(count)),
                // The control stream has ended: the peer will close.
                Ok(None) => self.inner.closed().await,
                Err(_) => self.inner.closed().await,
            },
            written = self.send.write(pending), if !pending.is_empty() => match written {
                Ok(count) => return Ok(Input::Written(count)),
                Err(_) => self.inner.closed().await,
            },
            datagram = self.inner.read_datagram() => match datagram {
                Ok(datagram) => return Ok(Input::Datagram(datagram)),
                Err(error) => error,
            },
        };
        Err(self.explain.explain(error))
    }

    /// Sends what is left of the control stream, waits until the peer has it, at most `limit`, and closes.
    pub(crate) async fn finish(mut self, pending: &[u8], limit: Duration, code: CloseCode, reason: &str) {
        let deliver = async {
            if self.send.write_all(pending).await.is_ok() && self.send.finish().is_ok() {
                let _ = self.send.stopped().await;
            }
        };
        let _ = tokio::time::timeout(limit, deliver).await;
        self.close(code, reason);
        // The packet that says so must leave before the process does, or the peer waits in vain.
        tokio::time::sleep(LEAVING).await;
    }

    /// Closes at once.
    pub(crate) fn close(&self, code: CloseCode, reason: &str) {
        self.inner.close(VarInt::from_u32(code as u32), reason.as_bytes());
    }

    /// Returns a handle that tells when the connection has ended.
    pub(crate) fn end(&self) -> End {
        End(self.inner.clone())
    }
}

/// Tells when a connection has ended and whether it lives.
pub(crate) struct End(quinn::Connection);

impl End {
    pub(crate) async fn wait(&self) {
        self.0.closed().await;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.close_reason().is_some()
    }

    /// Returns true if the peer has ended it in so many words.
    pub(crate) fn was_closed(&self) -> bool {
        let reason = self.0.close_reason();
        matches!(reason, Some(ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_)))
    }

    /// Packets that have come so far.
    pub(crate) fn packets(&self) -> u64 {
        self.0.stats().udp_rx.datagrams
    }
}

/// The keys of an endpoint that are the same after a restart, so that a peer learns of it with the next packet that it
/// sends: the new process knows the old one's connection ids and answers with the reset that the old one has announced.
struct StableKeys {
    reset: ring::hmac::Key,
    connection_ids: u64,
}

impl StableKeys {
    /// Derives them from the identity. No two endpoints share them: one would give away the resets of the other (RFC
    /// 9000, section 21.11).
    fn new(options: &EndpointOptions, address: SocketAddr, listens: bool) -> Result<Self, QuicError> {
        let signer = options.key.key.choose_scheme(&[rustls::SignatureScheme::ED25519]);
        // Ed25519 signs the same text the same way, and nobody else can.
        let secret = signer.and_then(|signer| signer.sign(b"duet/1 stateless reset").ok());
        let secret = secret.ok_or_else(|| QuicError::Other("the identity cannot sign".to_owned()))?;
        let salt = format!("{address} {} {:?}", if listens { "listens" } else { "dials" }, options.protocol);
        let secret = Salt::new(HKDF_SHA256, salt.as_bytes()).extract(&secret);
        let (mut reset, mut connection_ids) = ([0; 32], [0; 8]);
        let no_key = |_| QuicError::Other("no key can be derived from the identity".to_owned());
        secret.expand(&[b"reset"], KeyBytes(32)).and_then(|key| key.fill(&mut reset)).map_err(no_key)?;
        let ids = secret.expand(&[b"connection ids"], KeyBytes(8)).and_then(|key| key.fill(&mut connection_ids));
        ids.map_err(no_key)?;
        Ok(Self {
            reset: ring::hmac::Key::new(HMAC_SHA256, &reset),
            connection_ids: u64::from_le_bytes(connection_ids),
        })
    }
}

/// Number of bytes to derive.
struct KeyBytes(usize);

impl ring::hkdf::KeyType for KeyBytes {
    fn len(&self) -> usize {
        self.0
    }
}

fn transport(options: &EndpointOptions) -> TransportConfig {
    // Leaves room for a relay's header of four bytes in packets of 1500 bytes over IPv4.
    let mut mtu = MtuDiscoveryConfig::default();
    mtu.upper_bound(1452);
    let mut config = TransportConfig::default();
    config
        .initial_rtt(INITIAL_RTT)
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(IDLE_TIMEOUT.as_millis() as u32))))
        .keep_alive_interval(Some(Duration::from_millis(500)))
        .mtu_discovery_config(Some(mtu))
        .datagram_send_buffer_size((options.frame_bytes + options.frame_bytes / 2).max(64 << 10))
        .datagram_receive_buffer_size(Some(4 << 20))
        .send_window(256 << 10)
        .stream_receive_window(VarInt::from_u32(256 << 10))
        .receive_window(VarInt::from_u32(1 << 20))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .send_fairness(false)
        .allow_spin(false)
        .enable_segmentation_offload(options.gso);
    match options.controller {
        Controller::Duet => config.congestion_controller_factory(Arc::new(Demand {
            rate: options.rate.clone(),
            frame_bytes: options.frame_bytes as u64,
        })),
        Controller::Cubic => config.congestion_controller_factory(Arc::new(quinn::congestion::CubicConfig::default())),
    };
    config
}

#[cfg(test)]
mod tests;
