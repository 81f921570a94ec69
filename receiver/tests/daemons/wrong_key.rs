//! A peer that is not allowed gets no picture across and is told the remedy.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::config::PublicKey;
use net::identity::Identity;
use quinn::ConnectionError;
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::support::{Daemon, Ended, Pair, receiver, sender, until};

const SOURCE: [&str; 6] = ["--source", "pattern:size=64x48:fps=30", "--rate", "2M", "--frames", "30"];

/// Runs a sender that must be refused; returns how it ended after checking that nothing came through.
fn refused(pair: &Pair, identity: &Path, peer: &str) -> Ended {
    refused_until(pair, identity, peer, Daemon::wait)
}

/// Checks the same with a sender that is ended by `end`.
fn refused_until(pair: &Pair, identity: &Path, peer: &str, end: impl FnOnce(Daemon) -> Ended) -> Ended {
    let sink = format!("y4m:{}", pair.folder.join("out.y4m").display());
    let mut receiving = Daemon::start("receiver", pair.receiver().args(["--sink", &sink, "--backend", "cpu"]));
    until("the receiver listens", || pair.is_listening().then_some(()));
    let mut command = sender();
    command.args(["--to", &pair.address, "--peer", peer, "--backend", "cpu"]).args(SOURCE);
    let ended = end(Daemon::start("sender", command.arg("--identity").arg(identity)));
    assert!(receiving.is_running(), "a stranger must not end the receiver");
    receiving.stop();
    let stats = pair.folder.stats("receiver.jsonl");
    assert_eq!(stats.last().unwrap()["bytes_received"], 0);
    assert_eq!(stats.last().unwrap()["frames_shown"], 0);
    assert_eq!(std::fs::metadata(pair.folder.join("out.y4m")).unwrap().len(), 0);
    ended
}

#[test]
fn a_sender_with_an_unknown_key() {
    let pair = Pair::new();
    let (_, stranger) = pair.folder.identity("stranger.pem");
    let ended = refused(&pair, &pair.folder.join("stranger.pem"), &pair.receiver_key);
    ended.check(4, &["--peer", &stranger]);
}

#[test]
fn a_sender_without_a_key() {
    let pair = Pair::new();
    refused(&pair, &pair.folder.join("absent.pem"), &pair.receiver_key).check(4, &["absent.pem", "identity"]);
}

#[test]
fn a_sender_that_expects_another_receiver() {
    let pair = Pair::new();
    let (_, other) = pair.folder.identity("other.pem");
    let ended = refused_until(&pair, &pair.folder.join("sender.pem"), &other, |mut sender| {
        sender.says(&["WARN", "shows the key", &pair.receiver_key, "--peer", "trying again"]);
        // Whoever sees the packets could show any key, so that this must not end a sender.
        assert!(sender.is_running());
        sender.terminate();
        sender.wait()
    });
    ended.check(0, &[]);
}

/// Returns a PKCS#8 file with the private key of one pair and the public key of another.
fn mixed_key(private_seed: &[u8; 32], public: &PublicKey) -> Vec<u8> {
    let head = [0x30, 0x51, 0x02, 0x01, 0x01, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    [&head[..], private_seed, &[0x81, 0x21, 0x00], public.as_bytes()].concat()
}

#[test]
fn a_key_file_with_the_right_public_and_another_private_key() {
    let pair = Pair::new();
    let public: PublicKey = pair.sender_key.parse().unwrap();
    let body = STANDARD.encode(mixed_key(&[7; 32], &public));
    let path = pair.folder.join("mixed.pem");
    std::fs::write(&path, format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    refused(&pair, &path, &pair.receiver_key).check(4, &["mixed.pem", "another private key"]);
}

/// Signs with one key and shows another: what a thief of the public key would do with changed software.
#[derive(Debug)]
struct Impostor(Arc<rustls::sign::CertifiedKey>);

impl rustls::client::ResolvesClientCert for Impostor {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }

    fn only_raw_public_keys(&self) -> bool {
        true
    }
}

/// Believes every server: the impostor does not care whom it talks to.
#[derive(Debug)]
struct Credulous;

impl rustls::client::danger::ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 only".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        vec![rustls::SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// Connects to `address` showing `shown`'s public key and signing with `signing`; sends a datagram and waits for the
/// verdict: false if the listener ends the handshake, true if it hangs up later because nobody opens the control
/// stream, nothing if it does not answer.
fn is_let_in(address: &str, shown: &Identity, signing: &Identity) -> Option<bool> {
    let spki = shown.certified_key().unwrap().cert.clone();
    let signer = Arc::clone(&signing.certified_key().unwrap().key);
    let certified = Arc::new(rustls::sign::CertifiedKey::new(spki, signer));
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Credulous))
        .with_client_cert_resolver(Arc::new(Impostor(certified)));
    tls.alpn_protocols = vec![b"duet/1".to_vec()];
    let quic = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        let config = quinn::ClientConfig::new(Arc::new(quic));
        let connecting = endpoint.connect_with(config, address.parse().unwrap(), "duet").unwrap();
        let end = match connecting.await {
            Ok(connection) => {
                let _ = connection.send_datagram(vec![0; 1000].into());
                connection.closed().await
            }
            Err(error) => error,
        };
        match end {
            ConnectionError::ApplicationClosed(_) => Some(true),
            ConnectionError::ConnectionClosed(_) => Some(false),
            _ => None,
        }
    })
}

#[test]
fn a_signature_by_another_private_key() {
    let pair = Pair::new();
    let allowed = Identity::load(&pair.folder.join("sender.pem")).unwrap();
    let thief = Identity::generate().unwrap();
    let mut receiving = Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
    // The right key gets in: the refusals below are not for another reason.
    let is_let_in = |shown, signing| until("a verdict", || is_let_in(&pair.address, shown, signing));
    assert!(is_let_in(&allowed, &allowed));
    assert!(!is_let_in(&allowed, &thief), "the signature is not checked");
    assert!(!is_let_in(&thief, &thief), "the key is not checked");
    assert!(receiving.is_running());
    receiving.stop();
    assert_eq!(pair.folder.stats("receiver.jsonl").last().unwrap()["frames_shown"], 0);
}

#[test]
fn a_stranger_at_a_sender_that_listens() {
    let pair = Pair::new();
    let allowed = Identity::load(&pair.folder.join("receiver.pem")).unwrap();
    let stranger = Identity::generate().unwrap();
    let mut command = pair.sender_that(["--listen", &pair.address]);
    let mut sending = Daemon::start("sender", command.args(["--backend", "cpu"]).args(&SOURCE[..4]));
    until("the sender listens", || pair.is_listening().then_some(()));
    let is_let_in = |shown, signing| until("a verdict", || is_let_in(&pair.address, shown, signing));
    assert!(!is_let_in(&stranger, &stranger), "the key is not checked");
    assert!(!is_let_in(&allowed, &stranger), "the signature is not checked");
    // The refusals are for no other reason; nothing is sent before the receiver has said Hello.
    assert!(is_let_in(&allowed, &allowed));
    assert!(sending.is_running());
    sending.says(&["was not accepted"]);
    assert!(!sending.said().contains("connected to"), "{}", sending.said());
    sending.stop();
    let last = pair.folder.stats("sender.jsonl").pop().unwrap();
    for count in ["frames_sent", "bytes_sent"] {
        assert_eq!(last[count], 0, "{count}: {last}");
    }
}

#[test]
fn a_machine_that_is_taken_out_of_the_file_is_a_stranger_and_the_others_stay() {
    let pair = Pair::new();
    let (_, other) = pair.folder.identity("other.pem");
    let config = pair.folder.join("receiver.toml");
    for (listed, are_let_in) in [(vec![&pair.sender_key, &other], [true, true]), (vec![&other], [false, true])] {
        let peers: String = listed.iter().map(|key| format!("[[peer]]\npublic_key = \"{key}\"\n")).collect();
        std::fs::write(&config, peers).unwrap();
        let mut command = receiver();
        command.arg("--config").arg(&config).arg("--identity").arg(pair.folder.join("receiver.pem"));
        command.args(["--listen", &pair.address, "--sink", "headless", "--backend", "cpu"]);
        let mut receiving = Daemon::start("receiver", &mut command);
        until("the receiver listens", || pair.is_listening().then_some(()));
        for (file, is_let_in) in ["sender.pem", "other.pem"].into_iter().zip(are_let_in) {
            let mut command = sender();
            command.args(["--to", &pair.address, "--peer", &pair.receiver_key, "--backend", "cpu"]).args(SOURCE);
            let ended = Daemon::start("sender", command.arg("--identity").arg(pair.folder.join(file))).wait();
            match is_let_in {
                true => ended.check(0, &[]),
                false => ended.check(4, &["refused this machine's key"]),
            }
        }
        assert!(receiving.is_running());
        receiving.stop();
    }
}

/// The mixed file of the test above is well-formed: with the matching public key it loads.
#[test]
fn the_mixed_key_file_is_wrong_only_in_its_public_part() {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let public = PublicKey::from_bytes(pair.public_key().as_ref().try_into().unwrap()).unwrap();
    assert!(Ed25519KeyPair::from_pkcs8(&mixed_key(&[7; 32], &public)).is_ok());
}
