//! One UDP socket that makes connections, and what a failed one means.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use common::config::{Controller, Meet, Peer, PublicKey, SharedConfig};
use common::path::DEAD_LINE;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    AckFrequencyConfig, AsyncUdpSocket, ConnectionError, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, Runtime,
    TransportConfig, VarInt,
};
use quinn_proto::HashedConnectionIdGenerator;
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac::HMAC_SHA256;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use super::beside::{self, Beside, Sending};
use super::congestion::{Demand, INITIAL_RTT};
use super::dscp::Classed;
use super::error::{BindError, QuicError};
use super::path_size;
use super::socket::{self, Claim};
use super::unproved::{Attempt, Numbered};
use crate::failure::Failure;
use crate::identity::{Identity, IdentityError};
use crate::live_rate::LiveRate;
use crate::tls::{self, PeerVerifier, Protocol};

/// Longest silence before a connection is given up. A dialler tries anew much earlier, and a newer connection takes
/// an older one's place, so that this can be long enough for a peer that was suspended for some seconds.
const IDLE_TIMEOUT: Duration = longest(DEAD_LINE);
/// Longest time for a handshake.
pub(super) const HANDSHAKE_TIMEOUT: Duration = longest(Duration::from_secs(2));
/// Handshakes begun that nobody has looked at; those that come beyond them are refused, the right peer's, too.
const INCOMING_MAX: usize = 1024;
/// Returns how long may be waited for something that normally takes no longer than `normal`. In this crate's own tests
/// only a hang takes too long, on however busy a machine.
pub(super) const fn longest(normal: Duration) -> Duration {
    if cfg!(test) { Duration::from_secs(90) } else { normal }
}

/// Reasons for which this side closes a connection, as the peer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseCode {
    Done = 0,
    Protocol = 1,
    Replaced = 2,
    Busy = 3,
    Declined = 4,
    DoNotDisturb = 5,
    Removed = 6,
}

/// Returns the name of a peer.
fn names(peers: &[Peer]) -> String {
    peers.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>().join(" or ")
}

/// Settings of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct EndpointOptions {
    /// This machine's key, as it is shown and as others know it.
    pub(crate) key: Arc<CertifiedKey>,
    pub(crate) own: PublicKey,
    /// Peers that may connect.
    pub(crate) peers: Vec<Peer>,
    /// Bytes asked for each socket buffer.
    pub(crate) socket_buffer_bytes: usize,
    /// True if several datagrams may go out in one system call.
    pub(crate) gso: bool,
    /// Class of the packets (DSCP).
    pub(crate) dscp: Option<u8>,
    /// The limit of the bytes in flight.
    pub(crate) controller: Controller,
    /// Video bit rate sent now; zero for a receiver. Sizes the congestion window.
    pub(crate) rate: LiveRate,
    /// Largest coded frame sent, bytes; zero for a receiver. Sizes the congestion window and the send buffer.
    pub(crate) frame_bytes: usize,
    /// Protocol that is spoken.
    pub(crate) protocol: Protocol,
    /// Claim on the port.
    pub(crate) claim: Claim,
}

impl EndpointOptions {
    /// Returns the options of this machine, `identity`, for these peers, with small socket buffers and Duet's controller.
    pub(crate) fn new(
        identity: &Identity,
        peers: Vec<Peer>,
        protocol: Protocol,
        rate: LiveRate,
        frame_bytes: usize,
    ) -> Result<Self, IdentityError> {
        Ok(Self {
            key: identity.certified_key()?,
            own: identity.public_key(),
            peers,
            socket_buffer_bytes: 1 << 18,
            gso: true,
            dscp: None,
            controller: Controller::default(),
            rate,
            frame_bytes,
            protocol,
            claim: Claim::default(),
        })
    }

    /// Returns the same with peers and socket as the configuration says.
    pub(crate) fn of(
        shared: &SharedConfig,
        identity: &Identity,
        protocol: Protocol,
        rate: LiveRate,
        frame_bytes: usize,
    ) -> Result<Self, IdentityError> {
        let SharedConfig { socket_buffer_bytes, gso, dscp, .. } = *shared;
        let options = Self::new(identity, shared.peers.clone(), protocol, rate, frame_bytes)?;
        Ok(Self { socket_buffer_bytes, gso, dscp, ..options })
    }
}

/// Handshakes of others that an endpoint completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None: it dials.
    Nothing,
    /// Link tests: it dials, and its callers must prove their addresses first, since its handshake packets go twice.
    LinkTests,
    /// All of its protocol, and link tests: it listens.
    Everything,
}

/// One UDP socket and the connections on it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(super) inner: quinn::Endpoint,
    pub(super) socket: Sending,
    own: PublicKey,
    peers: Vec<Peer>,
    verifier: Arc<PeerVerifier>,
    pub(super) rate: LiveRate,
}

/// Makes a socket one of QUIC's. Must be called on a tokio runtime.
fn for_quic(socket: UdpSocket, dscp: Option<u8>) -> io::Result<Arc<dyn AsyncUdpSocket>> {
    let same = socket.try_clone()?;
    let socket = quinn::TokioRuntime.wrap_udp_socket(socket)?;
    Ok(match dscp {
        Some(dscp) => Arc::new(Classed::new(socket, same, dscp)),
        None => socket,
    })
}

impl Endpoint {
    /// Opens a socket at `address` that dials or, if `listens`, accepts. Must be called on a tokio runtime.
    pub(crate) fn bind(options: &EndpointOptions, address: SocketAddr, listens: bool) -> Result<Self, BindError> {
        let takes = if listens { Takes::Everything } else { Takes::Nothing };
        Self::bind_as(options, address, takes, true).map(|(endpoint, _)| endpoint)
    }

    /// Opens the same; also returns the part of the socket that is not QUIC's. QUIC follows no peer to another address there: for
    /// that there are the ways of a call, on which no packet of it goes before a way is proved.
    pub(crate) fn bind_beside(
        options: &EndpointOptions,
        address: SocketAddr,
        takes: Takes,
    ) -> Result<(Self, Beside), BindError> {
        Self::bind_as(options, address, takes, false)
    }

    /// Opens a socket. `follows`: whether QUIC follows a caller whose packets come from another address, with at most three times
    /// their bytes until it has proved that it is there (RFC 9000, section 9.3).
    fn bind_as(
        options: &EndpointOptions,
        address: SocketAddr,
        takes: Takes,
        follows: bool,
    ) -> Result<(Self, Beside), BindError> {
        let listens = takes == Takes::Everything;
        let failed = |error: io::Error| of_socket(address, &error);
        let setup = |error: &dyn std::fmt::Display| BindError::Other(error.to_string());
        let socket = socket::open(address, options.socket_buffer_bytes, options.claim).map_err(failed)?;
        let stable = StableKeys::new(options, socket.local_addr().map_err(failed)?, listens)?;
        let verifier = match (options.protocol, listens) {
            (Protocol::Introduction, true) => PeerVerifier::of_any_key(),
            _ => PeerVerifier::new(options.peers.iter().map(|peer| peer.key)),
        };
        let transport = Arc::new(transport(options));
        let spoken = match takes {
            Takes::Nothing => None,
            Takes::LinkTests => Some(Protocol::LinkTest),
            Takes::Everything => Some(options.protocol),
        };
        let server = if let Some(protocol) = spoken {
            let config =
                tls::server_config(Arc::clone(&options.key), Arc::clone(&verifier), protocol).map_err(|e| setup(&e))?;
            let crypto = QuicServerConfig::try_from(config).map_err(|e| setup(&e))?;
            let mut server = quinn::ServerConfig::with_crypto(Arc::new(crypto));
            server.transport_config(Arc::clone(&transport)).migration(follows);
            server.max_incoming(INCOMING_MAX).incoming_buffer_size(64 << 10).incoming_buffer_size_total(1 << 20);
            Some(server)
        } else {
            None
        };
        let mut endpoint_config = EndpointConfig::new(Arc::new(stable.reset));
        endpoint_config
            .cid_generator(move || Box::new(Numbered(HashedConnectionIdGenerator::from_key(stable.connection_ids))));
        // Else some packets look like those that the socket tells apart.
        endpoint_config.grease_quic_bit(false);
        let runtime = Arc::new(quinn::TokioRuntime);
        let (dscp, bytes) = (options.dscp, options.socket_buffer_bytes);
        let socket = for_quic(socket, dscp).map_err(failed)?;
        let mut any = address;
        any.set_port(0);
        let open_another = Box::new(move || for_quic(socket::open_like(any, bytes)?, dscp));
        let (socket, beside) = beside::split(socket, !listens, Some(open_another));
        let mut inner =
            quinn::Endpoint::new_with_abstract_socket(endpoint_config, server, socket, runtime).map_err(failed)?;
        let config = tls::client_config(Arc::clone(&options.key), Arc::clone(&verifier), options.protocol)
            .map_err(|e| setup(&e))?;
        let mut client = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).map_err(|e| setup(&e))?));
        client.transport_config(transport);
        inner.set_default_client_config(client);
        let (socket, peers, rate) = (beside.sending().clone(), options.peers.clone(), options.rate.clone());
        Ok((Self { inner, socket, own: options.own, peers, verifier, rate }, beside))
    }

    /// Returns the socket's address.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// Connects to whoever proves at `address` to hold an allowed key. No error is final.
    pub(super) async fn connect(&self, address: SocketAddr) -> Result<quinn::Connection, QuicError> {
        let unreachable = |error: quinn::ConnectError| QuicError::Unreachable {
            address: address.to_string(),
            message: error.to_string(),
        };
        let (connecting, attempt) = Attempt::begin(self.socket.unproved(), || self.inner.connect(address, "duet"));
        let mut connecting = std::pin::pin!(connecting.map_err(unreachable)?);
        // Dropped before QUIC's part of it.
        let attempt = attempt;
        let Ok(connected) = tokio::time::timeout(HANDSHAKE_TIMEOUT, &mut connecting).await else {
            attempt.fall_silent();
            return Err(path_size::silence(self.socket.pair_of(address).to));
        };
        let inner = connected.map_err(|error| self.explain_unproved(error))?;
        attempt.succeed();
        // A forged packet can still come between the peer's last one and this side's answer, with which QUIC throws the
        // first keys away, and then the end is there already.
        match inner.close_reason() {
            Some(error) => Err(self.explain_unproved(error)),
            None => Ok(inner),
        }
    }

    /// Connections that still take memory.
    #[cfg(test)]
    pub(crate) fn open_connections(&self) -> usize {
        self.inner.open_connections()
    }

    /// Says goodbye on every connection and waits a moment for the packets to leave.
    pub(crate) async fn close(&self) {
        self.inner.close(VarInt::from_u32(CloseCode::Done as u32), b"done");
        let _ = tokio::time::timeout(Duration::from_millis(200), self.inner.wait_idle()).await;
    }

    /// Returns the peer at the other end.
    pub(super) fn peer_of(&self, inner: &quinn::Connection) -> Result<Peer, QuicError> {
        let key = key_of(inner);
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

    pub(super) fn explain(&self, error: ConnectionError) -> QuicError {
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
            ConnectionError::ApplicationClosed(close) => {
                let is = |code: CloseCode| close.error_code == VarInt::from_u32(code as u32);
                match () {
                    () if is(CloseCode::Busy) => QuicError::InAnotherCall(names(&self.peers)),
                    () if is(CloseCode::Declined) => QuicError::Declined(names(&self.peers)),
                    () if is(CloseCode::DoNotDisturb) => QuicError::DoNotDisturb(names(&self.peers)),
                    () if is(CloseCode::Removed) => QuicError::Removed(names(&self.peers)),
                    () => QuicError::Closed(String::from_utf8_lossy(&close.reason).into_owned()),
                }
            }
            ConnectionError::Reset => QuicError::Reset,
            ConnectionError::TimedOut => QuicError::TimedOut,
            ConnectionError::LocallyClosed => QuicError::ClosedHere,
            ConnectionError::VersionMismatch => QuicError::NoCommonProtocol,
            ConnectionError::CidsExhausted => QuicError::Other(error.to_string()),
        }
    }
}

/// Returns the key that the other end has proved.
pub(super) fn key_of(inner: &quinn::Connection) -> Option<PublicKey> {
    let chain = inner.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    tls::key_of_spki(chain.first()?)
}

/// TLS alerts (RFC 8446, section 6) that have a sentence of their own.
const ALERT_DECRYPT_ERROR: u8 = 51;
const ALERT_NO_APPLICATION_PROTOCOL: u8 = 120;

/// Returns the TLS alert in a QUIC error code (RFC 9001, section 4.8).
fn alert(code: u64) -> Option<u8> {
    code.checked_sub(0x100).and_then(|alert| alert.try_into().ok())
}

/// Fails, with what a run would say, if a listener cannot have `address`.
pub fn can_listen(address: SocketAddr) -> Result<(), Failure> {
    socket::bind(address).map(drop).map_err(|error| of_socket(address, &error).into())
}

/// Fails, with what a run would say, if the port at which a peer is met is taken.
pub fn can_meet(meet: &Meet) -> Result<(), Failure> {
    let taken = |_| BindError::MeetingPlaceInUse(meet.port, meet.peer.name.clone());
    Ok(socket::bind((Ipv6Addr::UNSPECIFIED, meet.port).into()).map(drop).map_err(taken)?)
}

/// Returns the error of a socket at `address` that cannot be opened.
fn of_socket(address: SocketAddr, error: &io::Error) -> BindError {
    match error.kind() {
        io::ErrorKind::AddrInUse => BindError::AddressInUse(address),
        _ => BindError::Socket { address, message: error.to_string() },
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
    fn new(options: &EndpointOptions, address: SocketAddr, listens: bool) -> Result<Self, BindError> {
        let signer = options.key.key.choose_scheme(&[rustls::SignatureScheme::ED25519]);
        // Ed25519 signs the same text the same way, and nobody else can.
        let secret = signer.and_then(|signer| signer.sign(b"duet/1 stateless reset").ok());
        let secret = secret.ok_or_else(|| BindError::Other("the identity cannot sign".to_owned()))?;
        let salt = format!("{address} {} {:?}", if listens { "listens" } else { "dials" }, options.protocol);
        let secret = Salt::new(HKDF_SHA256, salt.as_bytes()).extract(&secret);
        let (mut reset, mut connection_ids) = ([0; 32], [0; 8]);
        let no_key = |_| BindError::Other("no key can be derived from the identity".to_owned());
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

/// Packets that the other side may leave without an acknowledgement, for as long as its greatest delay (25 ms) allows. Of the path the
/// feedback reports tell; an acknowledgement of every other datagram of sound would be a fifth of its bits, in packets of their own.
const UNACKNOWLEDGED: u32 = 20;

fn acknowledgements() -> AckFrequencyConfig {
    let mut config = AckFrequencyConfig::default();
    config.ack_eliciting_threshold(VarInt::from_u32(UNACKNOWLEDGED));
    config
}

fn transport(options: &EndpointOptions) -> TransportConfig {
    // Leaves room in packets of 1500 bytes over IPv6 for a relay's header of four bytes and the mark of another way.
    let mut mtu = MtuDiscoveryConfig::default();
    mtu.upper_bound(1447);
    let mut config = TransportConfig::default();
    config
        .initial_rtt(INITIAL_RTT)
        .ack_frequency_config(Some(acknowledgements()))
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
