//! A connection to a relay: QUIC without HTTP, TLS 1.3, the relay's certificate checked against the system's roots or a hash.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::task::JoinSet;
use web_transport_quinn::quinn;
use web_transport_quinn::quinn::crypto::rustls::QuicClientConfig;

use crate::target::Target;

/// Silence after which a relay is gone.
const IDLE: Duration = Duration::from_secs(1);
/// Time between signs of life.
const KEEP_ALIVE: Duration = Duration::from_millis(300);
/// Longest time for a handshake; others are begun beside it.
const DIAL: Duration = Duration::from_secs(3);
/// Time between two attempts: at first, and after many.
const AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// Attempts after which a relay counts as one that stays away.
const PATIENT: u32 = 50;
/// Attempts that are under way at most.
const BESIDE: usize = 8;
/// Bytes that a relay may send before they are read, and that wait for it.
const WINDOW: u32 = 256 * 1024;

/// An attempt has failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum DialError {
    #[error("its name cannot be found: {0}")]
    Name(String),
    #[error("{0}")]
    Connection(#[from] quinn::ConnectionError),
    #[error("{0}")]
    Connect(#[from] quinn::ConnectError),
    #[error("no answer")]
    Silence,
    #[error("this machine cannot dial: {0}")]
    Own(String),
}

/// Everything that dialling needs.
pub(crate) struct Dialler {
    target: Target,
    config: quinn::ClientConfig,
    /// Of both families, as far as this machine has them.
    endpoints: [Option<quinn::Endpoint>; 2],
}

impl Dialler {
    /// Creates it, on a tokio runtime. `streams`: those that a relay may have open at once.
    pub(crate) fn new(target: Target, streams: u32) -> Result<Self, DialError> {
        let own = |error: &dyn std::fmt::Display| DialError::Own(error.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| own(&error))?;
        let mut tls = match target.pin {
            Some(hash) => {
                let pinned = Pinned { hash, provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned)).with_no_client_auth()
            }
            None => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                builder.with_root_certificates(roots).with_no_client_auth()
            }
        };
        tls.alpn_protocols = moq_net::ALPNS.iter().map(|alpn| alpn.as_bytes().to_vec()).collect();
        let tls = QuicClientConfig::try_from(tls).map_err(|error| own(&error))?;
        let mut config = quinn::ClientConfig::new(Arc::new(tls));
        config.transport_config(Arc::new(transport(streams)));
        let of = |any: SocketAddr| quinn::Endpoint::client(any).ok();
        let endpoints = [of((Ipv6Addr::UNSPECIFIED, 0).into()), of((Ipv4Addr::UNSPECIFIED, 0).into())];
        if endpoints.iter().all(Option::is_none) {
            return Err(own(&io::Error::last_os_error()));
        }
        Ok(Self { target, config, endpoints })
    }

    /// Returns the place that is dialled.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Dials until somebody answers; `failed` is told of each attempt that has failed.
    pub(crate) async fn dial(&self, mut failed: impl FnMut(&DialError)) -> quinn::Connection {
        let mut attempts = JoinSet::new();
        let mut count = 0;
        loop {
            if attempts.len() < BESIDE {
                match self.addresses().await {
                    Ok(addresses) => addresses.into_iter().for_each(|address| match self.attempt(address) {
                        Some(Ok(connecting)) => drop(attempts.spawn(async move {
                            let connected = tokio::time::timeout(DIAL, connecting).await;
                            connected.map_err(|_| DialError::Silence)?.map_err(DialError::from)
                        })),
                        Some(Err(error)) => failed(&error.into()),
                        None => {}
                    }),
                    Err(error) => failed(&error),
                }
                count += 1;
            }
            let again = tokio::time::sleep(AGAIN[usize::from(count > PATIENT)]);
            tokio::pin!(again);
            loop {
                tokio::select! {
                    () = &mut again => break,
                    Some(ended) = attempts.join_next() => match ended {
                        Ok(Ok(connection)) => return connection,
                        Ok(Err(error)) => failed(&error),
                        // A task that has broken down has dialled nobody.
                        Err(_) => {}
                    },
                }
            }
        }
    }

    /// Connects once more to a machine that has answered.
    pub(crate) async fn again(&self, connection: &quinn::Connection) -> Result<quinn::Connection, DialError> {
        let attempt = self.attempt(connection.remote_address()).ok_or(DialError::Silence)??;
        Ok(tokio::time::timeout(DIAL, attempt).await.map_err(|_| DialError::Silence)??)
    }

    fn attempt(&self, address: SocketAddr) -> Option<Result<quinn::Connecting, quinn::ConnectError>> {
        let endpoint = self.endpoints[usize::from(address.is_ipv4())].as_ref()?;
        Some(endpoint.connect_with(self.config.clone(), address, &self.target.host))
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, DialError> {
        let found = tokio::net::lookup_host((self.target.host.as_str(), self.target.port));
        let found = tokio::time::timeout(DIAL, found).await.map_err(|_| DialError::Silence)?;
        // One of each family is enough.
        let mut addresses: Vec<_> = found.map_err(|error| DialError::Name(error.to_string()))?.collect();
        addresses.sort_by_key(SocketAddr::is_ipv4);
        addresses.dedup_by_key(|address| address.is_ipv4());
        Ok(addresses)
    }
}

fn transport(streams: u32) -> quinn::TransportConfig {
    let mut transport = quinn::TransportConfig::default();
    transport
        .max_idle_timeout(IDLE.try_into().ok())
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_concurrent_uni_streams(streams.into())
        .max_concurrent_bidi_streams(64_u8.into())
        .stream_receive_window((WINDOW / 4).into())
        .receive_window(WINDOW.into())
        .send_window(u64::from(WINDOW) * 4)
        .datagram_receive_buffer_size(Some(WINDOW as usize / 4));
    transport
}

/// Takes one certificate and no other, whoever has signed it.
#[derive(Debug)]
struct Pinned {
    hash: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let hash = ring::digest::digest(&ring::digest::SHA256, certificate);
        match hash.as_ref() == self.hash {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
