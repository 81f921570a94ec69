//! TLS 1.3 with raw public keys (RFC 7250) on both sides.
//!
//! A peer is whoever proves to hold the private key of an allowed public key. The allow-list is compared inside the
//! handshake, on both sides, and only after the signature has been verified: a stranger that shows somebody else's key gets
//! the same answer after the same work whether that key is listed or not. There are no names, dates or authorities, and no
//! way to switch the checks off. Where machines are introduced ([`Protocol::Introduction`]), who invites has no list: that
//! endpoint speaks no other protocol, and what is said on the connection decides.

use std::sync::{Arc, Mutex};

use common::config::PublicKey;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, ServerConfig,
    SignatureScheme,
};

use crate::lock::lock;

/// The purpose of a connection. Its name is that of the application protocol (ALPN), on which both sides must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Video in one direction.
    Call,
    /// Video in both directions.
    BothWays,
    /// Video that the other side sends back.
    Bounce,
    /// Datagrams that measure the link.
    LinkTest,
    /// Two machines that get to know each other; no media.
    Introduction,
}

impl Protocol {
    const ALL: [Self; 5] = [Self::Call, Self::BothWays, Self::Bounce, Self::LinkTest, Self::Introduction];

    /// Returns its name in the handshake.
    pub const fn name(self) -> &'static [u8] {
        match self {
            Self::Call => b"duet/1",
            Self::BothWays => b"duet-both-ways/1",
            Self::Bounce => b"duet-bounce/1",
            Self::LinkTest => b"duet-link-test/2",
            Self::Introduction => b"duet-introduction/2",
        }
    }

    /// Returns the protocol of that name.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }
}

/// Header of the SubjectPublicKeyInfo of an Ed25519 key (RFC 8410, section 4); the 32 bytes follow.
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Returns the SubjectPublicKeyInfo of `key`, DER.
pub fn spki(key: &PublicKey) -> Vec<u8> {
    [SPKI_PREFIX.as_slice(), key.as_bytes()].concat()
}

/// Returns the key whose SubjectPublicKeyInfo is `der`; `None` if it is not exactly that of an Ed25519 key, or not of
/// one to which a private key belongs.
pub fn key_of_spki(der: &[u8]) -> Option<PublicKey> {
    PublicKey::from_bytes(der.strip_prefix(&SPKI_PREFIX)?.try_into().ok()?)
}

/// Settings for the side that dials: shows `own`, accepts only `verifier`'s keys, speaks `protocol`.
pub fn client_config(
    own: Arc<CertifiedKey>,
    verifier: Arc<PeerVerifier>,
    protocol: Protocol,
) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(rustls::client::AlwaysResolvesClientRawPublicKeys::new(own)));
    config.alpn_protocols = vec![protocol.name().to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    config.enable_sni = false;
    Ok(config)
}

/// Settings for the side that listens: shows `own`, demands one of `verifier`'s keys, speaks
/// `protocol` and answers link tests, but where machines are introduced nothing else.
pub fn server_config(
    own: Arc<CertifiedKey>,
    verifier: Arc<PeerVerifier>,
    protocol: Protocol,
) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(rustls::server::AlwaysResolvesServerRawPublicKeys::new(own)));
    let spoken = match protocol {
        Protocol::Introduction | Protocol::LinkTest => &[protocol][..],
        Protocol::Call | Protocol::BothWays | Protocol::Bounce => &[protocol, Protocol::LinkTest],
    };
    config.alpn_protocols = spoken.iter().map(|protocol| protocol.name().to_vec()).collect();
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Accepts exactly the keys of its allow-list.
#[derive(Debug)]
pub struct PeerVerifier {
    /// None: any key that is proved, where machines are introduced.
    allowed: Option<Vec<PublicKey>>,
    algorithms: WebPkiSupportedAlgorithms,
    refused: Mutex<Option<PublicKey>>,
}

impl PeerVerifier {
    /// Creates a verifier of these keys and no other.
    pub fn new(allowed: impl IntoIterator<Item = PublicKey>) -> Arc<Self> {
        Self::of(Some(allowed.into_iter().collect()))
    }

    /// Creates a verifier of whatever key is proved, for connections that introduce a machine and carry nothing else.
    pub(crate) fn of_any_key() -> Arc<Self> {
        Self::of(None)
    }

    fn of(allowed: Option<Vec<PublicKey>>) -> Arc<Self> {
        let algorithms = provider().signature_verification_algorithms;
        Arc::new(Self { allowed, algorithms, refused: Mutex::new(None) })
    }

    /// Returns the last key that was proved and refused, once; for messages.
    pub fn take_refused(&self) -> Option<PublicKey> {
        lock(&self.refused).take()
    }

    /// Takes any well-formed key: whether it is listed is looked up once its holder has proved it.
    fn check_form(end_entity: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) -> Result<(), Error> {
        match key_of_spki(end_entity).filter(|_| intermediates.is_empty()) {
            Some(_) => Ok(()),
            None => Err(CertificateError::BadEncoding.into()),
        }
    }

    /// Verifies the signature, and only then whether the key is listed.
    fn check_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let spki = SubjectPublicKeyInfoDer::from(key.as_ref());
        let valid = verify_tls13_signature_with_raw_key(message, &spki, signature, &self.algorithms)?;
        let key = key_of_spki(key).ok_or(CertificateError::BadEncoding)?;
        if self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&key)) {
            return Ok(valid);
        }
        *lock(&self.refused) = Some(key);
        Err(CertificateError::ApplicationVerificationFailure.into())
    }
}

fn no_tls12() -> Error {
    Error::PeerIncompatible(PeerIncompatible::Tls13RequiredForQuic)
}

/// The half of both traits that is about signatures: of TLS 1.3, by raw Ed25519 keys.
macro_rules! raw_key_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(no_tls12())
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.check_signature(message, key, signature)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for PeerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Self::check_form(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    raw_key_signatures!();
}

impl ClientCertVerifier for PeerVerifier {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        true
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Self::check_form(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    raw_key_signatures!();
}
