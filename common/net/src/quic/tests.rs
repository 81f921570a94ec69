use std::net::Ipv4Addr;
use std::sync::Arc;

use common::config::Peer;
use common::path::ways::{Base, KNOCK_BYTES, Pair};
use quinn::ConnectionError;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use super::*;
use crate::identity::Identity;
use crate::live_rate::LiveRate;
use crate::tls::{self, PeerVerifier, Protocol};

const LOOPBACK: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Options of the end with this identity, which takes these peers.
pub(crate) fn options(identity: &Identity, allowed: &[&Identity]) -> EndpointOptions {
    let peer = |identity: &&Identity| Peer { name: "other".to_owned(), key: identity.public_key() };
    let rate = LiveRate::new(common::units::Bitrate::from_bps(20_000_000));
    EndpointOptions::new(identity, allowed.iter().map(peer).collect(), Protocol::Call, rate, 80_000).unwrap()
}

fn call(accepted: Accepted) -> Connection {
    match accepted {
        Accepted::Call(connection) => connection,
        Accepted::LinkTest(_) => panic!("nobody asked for a link test"),
    }
}

/// Returns the outcome of a handshake at the listener and at the dialler. The dialler writes to the control stream and
/// waits for an answer, which comes only from a listener that has accepted.
async fn meet(
    listener: &EndpointOptions,
    dialler: &EndpointOptions,
) -> (Result<Connection, QuicError>, Result<Connection, QuicError>) {
    let listening = Endpoint::bind(listener, LOOPBACK.into(), true).unwrap();
    let address = listening.local_addr().unwrap();
    let dialling = Endpoint::bind(dialler, LOOPBACK.into(), false).unwrap();
    let accept = async {
        let mut connection = call(listening.incoming().await.unwrap().accept().await?);
        while !matches!(connection.next(&mut [0; 8], b"yes").await?, Input::Written(_)) {}
        Ok(connection)
    };
    let dial = async {
        let mut connection = dialling.dial(address).await?;
        let mut written = false;
        loop {
            match connection.next(&mut [0; 8], if written { b"" } else { b"may I?" }).await? {
                Input::Written(_) => written = true,
                Input::Control(_) => return Ok(connection),
                Input::Datagram(_) => panic!("no datagram was sent"),
            }
        }
    };
    tokio::join!(accept, dial)
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

pub(crate) fn identities() -> [Identity; 3] {
    std::array::from_fn(|_| Identity::generate().unwrap())
}

#[test]
fn peers_that_know_each_other_connect() {
    let [a, b, _] = identities();
    run(async {
        let (listener, dialler) = meet(&options(&a, &[&b]), &options(&b, &[&a])).await;
        let (listener, dialler) = (listener.unwrap(), dialler.unwrap());
        assert_eq!((listener.peer().key, dialler.peer().key), (b.public_key(), a.public_key()));
        assert!(dialler.max_datagram() > 1000 && dialler.has_room());
        dialler.send_datagram(vec![7; 1000]);
        let mut listener = listener;
        loop {
            if let Input::Datagram(datagram) = listener.next(&mut [0; 8], b"").await.unwrap() {
                assert_eq!(datagram.as_ref(), [7; 1000]);
                break;
            }
        }
        dialler.close(CloseCode::Done, "enough");
        loop {
            match listener.next(&mut [0; 8], b"").await {
                Ok(_) => {}
                Err(error) => break assert_eq!(error, QuicError::Closed("enough".to_owned())),
            }
        }
    });
}

#[test]
fn a_call_comes_about_from_another_port_at_either_end_and_the_first_one_stays_open() {
    let [a, b, _] = identities();
    run(async {
        let (listening, far) = Endpoint::bind_beside(&options(&a, &[&b]), LOOPBACK.into(), Takes::Everything).unwrap();
        let (dialling, near) = Endpoint::bind_beside(&options(&b, &[&a]), LOOPBACK.into(), Takes::Nothing).unwrap();
        let at = |port: u16| std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let ports = [&listening, &dialling].map(|endpoint| endpoint.local_addr().unwrap().port());
        let others = [&far, &near].map(|beside| beside.sending().open_other_port().unwrap());
        // As QUIC dials, as the dialler sees the other end, and as the listener does.
        let other_near = Pair { to: at(ports[0]), base: Base::OtherPort };
        let other_far = Pair { to: at(ports[1]), base: Base::OtherPort };
        let _ = far.sending().let_in(other_far);
        for (pair, seen) in [
            (other_near, Pair::from(at(others[1]))),
            (at(others[0]).into(), other_far),
            (at(ports[0]).into(), at(ports[1]).into()),
        ] {
            let accept = async { call(listening.incoming().await.unwrap().accept().await.unwrap()) };
            let dial = async {
                let mut dialled = dialling.dial(near.sending().let_in(pair)).await.unwrap();
                while !matches!(dialled.next(&mut [0; 8], b"may I?").await.unwrap(), Input::Written(_)) {}
                dialled
            };
            let (mut accepted, dialled) = tokio::join!(accept, dial);
            assert_eq!((dialled.pair(), accepted.pair()), (pair, seen));
            for number in 0..20 {
                dialled.send_datagram(vec![number; 1000]);
            }
            let mut heard = 0;
            while heard < 20 {
                heard += u32::from(matches!(accepted.next(&mut [0; 8], b"").await.unwrap(), Input::Datagram(_)));
            }
        }
    });
}

#[test]
fn an_unknown_dialler_is_refused() {
    let [a, b, stranger] = identities();
    run(async {
        let (listener, dialler) = meet(&options(&a, &[&b]), &options(&stranger, &[&a])).await;
        assert_eq!(listener.unwrap_err(), QuicError::KeyNotAllowed(stranger.public_key()));
        let error = dialler.unwrap_err();
        assert_eq!(error, QuicError::RefusedByPeer { own: stranger.public_key() });
        assert!(error.is_final() && error.to_string().contains(&format!("--peer {}", stranger.public_key())));
    });
}

#[test]
fn an_unknown_listener_is_refused() {
    let [a, b, stranger] = identities();
    run(async {
        let (listener, dialler) = meet(&options(&stranger, &[&b]), &options(&b, &[&a])).await;
        let error = dialler.unwrap_err();
        assert_eq!(error, QuicError::KeyNotAllowed(stranger.public_key()));
        assert!(error.is_mistake() && !error.is_final(), "nothing proves that it is the machine which was dialled");
        assert_eq!(listener.unwrap_err(), QuicError::RefusedByPeer { own: stranger.public_key() });
    });
}

#[test]
fn a_known_public_key_without_its_private_key_is_refused() {
    let [a, b, thief] = identities();
    let forged = |stolen: &Identity, allowed: &Identity| {
        let spki = CertificateDer::from(tls::spki(&stolen.public_key()));
        let signer = Arc::clone(&thief.certified_key().unwrap().key);
        EndpointOptions {
            key: Arc::new(CertifiedKey::new(vec![spki], signer)),
            own: stolen.public_key(),
            ..options(&thief, &[allowed])
        }
    };
    run(async {
        let (listener, dialler) = meet(&options(&a, &[&b]), &forged(&b, &a)).await;
        assert_eq!(listener.unwrap_err(), QuicError::SignatureInvalid);
        assert_eq!(dialler.unwrap_err(), QuicError::SignatureRefusedByPeer { own: b.public_key() });
        let (listener, dialler) = meet(&forged(&a, &b), &options(&b, &[&a])).await;
        assert_eq!(dialler.unwrap_err(), QuicError::SignatureInvalid);
        assert_eq!(listener.unwrap_err(), QuicError::SignatureRefusedByPeer { own: a.public_key() });
    });
}

/// Returns the alert with which an end that takes `b` only, as listener and as dialler, refuses whoever shows the key of
/// `shown` and signs with that of `signing`.
async fn alerts([a, b]: [&Identity; 2], shown: &Identity, signing: &Identity) -> [u64; 2] {
    let spki = CertificateDer::from(tls::spki(&shown.public_key()));
    let signer = Arc::clone(&signing.certified_key().unwrap().key);
    let stranger = |verifies: &Identity| EndpointOptions {
        key: Arc::new(CertifiedKey::new(vec![spki.clone()], signer.clone())),
        own: shown.public_key(),
        ..options(signing, &[verifies])
    };
    let alert = |error: ConnectionError| match error {
        ConnectionError::ConnectionClosed(close) => u64::from(close.error_code) - 0x100,
        error => panic!("{error}"),
    };
    let pair = async |listener: &EndpointOptions, dialler: &EndpointOptions| {
        let listening = Endpoint::bind(listener, LOOPBACK.into(), true).unwrap();
        let dialling = Endpoint::bind(dialler, LOOPBACK.into(), false).unwrap();
        let address = listening.local_addr().unwrap();
        let accept = async { listening.inner.accept().await.unwrap().await };
        let dial = async { dialling.inner.connect(address, "duet").unwrap().await };
        tokio::join!(accept, dial)
    };
    // The listener refuses a dialler that has done its part of the handshake already.
    let (_, dialled) = pair(&options(a, &[b]), &stranger(a)).await;
    let listener = alert(match dialled {
        Ok(connection) => connection.closed().await,
        Err(error) => error,
    });
    let (accepted, _) = pair(&stranger(a), &options(a, &[b])).await;
    [listener, alert(accepted.unwrap_err())]
}

#[test]
fn who_cannot_sign_for_a_key_is_not_told_whether_it_is_listed() {
    let ([a, b, stranger], [unlisted, ..]) = (identities(), identities());
    run(async {
        let decrypt_error = [51; 2];
        assert_eq!(alerts([&a, &b], &b, &stranger).await, decrypt_error, "a listed key");
        assert_eq!(alerts([&a, &b], &unlisted, &stranger).await, decrypt_error, "a key that is not listed");
        // Whoever holds a key learns that it is not listed, and is told the remedy.
        assert_eq!(alerts([&a, &b], &unlisted, &unlisted).await, [49; 2]);
    });
}

#[test]
fn a_dialler_without_a_key_is_refused() {
    let [a, b, _] = identities();
    run(async {
        let listening = Endpoint::bind(&options(&a, &[&b]), LOOPBACK.into(), true).unwrap();
        let address = listening.local_addr().unwrap();
        let mut config =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .unwrap()
                .dangerous()
                .with_custom_certificate_verifier(PeerVerifier::new([a.public_key()]))
                .with_no_client_auth();
        config.alpn_protocols = vec![Protocol::Call.name().to_vec()];
        let crypto = QuicClientConfig::try_from(config).unwrap();
        let client = quinn::Endpoint::client(LOOPBACK.into()).unwrap();
        let connecting = client.connect_with(quinn::ClientConfig::new(Arc::new(crypto)), address, "duet").unwrap();
        let accept = async { listening.incoming().await.unwrap().accept().await };
        let dial = async {
            match connecting.await {
                Ok(connection) => connection.closed().await,
                Err(error) => error,
            }
        };
        let (accepted, refusal) = tokio::join!(accept, dial);
        assert!(matches!(accepted.unwrap_err(), QuicError::Handshake(_)));
        assert!(matches!(refusal, ConnectionError::ConnectionClosed(_)), "{refusal}");
    });
}

#[test]
fn a_certificate_in_place_of_a_raw_key_is_refused() {
    let [a, b, _] = identities();
    run(async {
        let mut other = options(&b, &[&a]);
        let signer = Arc::clone(&other.key.key);
        other.key = Arc::new(CertifiedKey::new(vec![CertificateDer::from(vec![0x30, 0x03, 0x02, 0x01, 0x01])], signer));
        let (listener, dialler) = meet(&options(&a, &[&b]), &other).await;
        assert!(listener.is_err() && dialler.is_err());
    });
}

#[test]
fn where_machines_are_introduced_any_key_is_taken_and_nothing_else_is_spoken() {
    let [a, b, stranger] = identities();
    let introducing = |identity: &Identity, allowed: &[&Identity]| EndpointOptions {
        protocol: Protocol::Introduction,
        ..options(identity, allowed)
    };
    run(async {
        let listening = Endpoint::bind(&introducing(&a, &[]), LOOPBACK.into(), true).unwrap();
        let address = listening.local_addr().unwrap();
        let dialling = Endpoint::bind(&introducing(&b, &[&a]), LOOPBACK.into(), false).unwrap();
        let accept = async { listening.incoming().await.unwrap().accept_to_introduce().await };
        let dial = async {
            let mut host = dialling.dial_to_introduce(address).await?;
            host.say(&common::reach::Message::Remembered).await?;
            Ok::<_, QuicError>(host)
        };
        let (guest, host) = tokio::join!(accept, dial);
        let (mut guest, host) = (guest.unwrap(), host.unwrap());
        assert_eq!((guest.key(), host.key()), (b.public_key(), a.public_key()));
        assert_eq!(guest.shared().unwrap(), host.shared().unwrap());
        assert_eq!(guest.hear().await.unwrap(), common::reach::Message::Remembered);
        for protocol in [Protocol::Call, Protocol::BothWays, Protocol::Bounce, Protocol::LinkTest] {
            let dialling = EndpointOptions { protocol, ..options(&b, &[&a]) };
            let dialling = Endpoint::bind(&dialling, LOOPBACK.into(), false).unwrap();
            let accept = async { listening.incoming().await.unwrap().accept().await };
            let (accepted, dialled) = tokio::join!(accept, dialling.connect(address));
            assert_eq!(accepted.unwrap_err(), QuicError::NoCommonProtocol);
            assert_eq!(dialled.unwrap_err(), QuicError::NoCommonProtocol);
        }
        // Who is invited takes the key of the ticket only.
        let dialling = Endpoint::bind(&introducing(&b, &[&stranger]), LOOPBACK.into(), false).unwrap();
        let accept = async { listening.incoming().await.unwrap().accept_to_introduce().await };
        let (_, dialled) = tokio::join!(accept, dialling.dial_to_introduce(address));
        assert_eq!(dialled.unwrap_err(), QuicError::KeyNotAllowed(a.public_key()));
    });
}

#[test]
fn what_is_not_quic_goes_beside_it_and_a_call_goes_on() {
    let [a, b, _] = identities();
    run(async {
        let (listening, mut beside) =
            Endpoint::bind_beside(&options(&a, &[&b]), LOOPBACK.into(), Takes::Everything).unwrap();
        let address = listening.local_addr().unwrap();
        let (dialling, other) = Endpoint::bind_beside(&options(&b, &[&a]), LOOPBACK.into(), Takes::Nothing).unwrap();
        let from = dialling.local_addr().unwrap();
        let knock = [KNOCK; KNOCK_BYTES];
        other.writable().await;
        // STUN of a stranger, junk, a knock that is too long, and then one that is right.
        for bytes in [&[1; 20][..], &[20; 30], &[KNOCK; KNOCK_BYTES + 1], &[], &knock] {
            other.sending().send(address, bytes);
        }
        assert_eq!(beside.receive().await, Aside { from: from.into(), bytes: knock.to_vec() });
        beside.expect_from(from);
        other.sending().send(address, &[1; 20]);
        assert_eq!(beside.receive().await, Aside { from: from.into(), bytes: vec![1; 20] });
        let accept = async { call(listening.incoming().await.unwrap().accept().await.unwrap()) };
        let dial = async {
            let mut dialled = dialling.dial(address).await.unwrap();
            // Only a word on it opens the control stream.
            assert!(matches!(dialled.next(&mut [0; 8], b"hello").await, Ok(Input::Written(_))));
            dialled
        };
        let (mut accepted, dialled) = tokio::join!(accept, dial);
        for _ in 0..80 {
            other.sending().send(address, &knock);
        }
        dialled.send_datagram(vec![7; 1000]);
        loop {
            if let Input::Datagram(datagram) = accepted.next(&mut [0; 8], b"").await.unwrap() {
                break assert_eq!(datagram.as_ref(), [7; 1000]);
            }
        }
    });
}

#[test]
fn an_address_in_use_is_named() {
    let [a, b, _] = identities();
    run(async {
        let first = Endpoint::bind(&options(&a, &[&b]), LOOPBACK.into(), true).unwrap();
        let address = first.local_addr().unwrap();
        let error = Endpoint::bind(&options(&a, &[&b]), address, true).unwrap_err();
        assert_eq!(error, BindError::AddressInUse(address));
        assert!(error.to_string().contains("--listen"));
    });
}

/// Returns the sender's id in a packet with a long header.
fn id_in(packet: &[u8]) -> Vec<u8> {
    let at = 6 + usize::from(packet[5]);
    packet[at + 1..at + 1 + usize::from(packet[at])].to_vec()
}

#[test]
fn an_attempt_that_is_over_answers_nobody() {
    let [a, b, _] = identities();
    run(async {
        let silent = tokio::net::UdpSocket::bind(LOOPBACK).await.unwrap();
        let address = silent.local_addr().unwrap();
        let dialling = Endpoint::bind(&options(&b, &[&a]), LOOPBACK.into(), false).unwrap();
        let mut packet = [0; 2048];
        let (first, dialler) = tokio::select! {
            _ = dialling.dial(address) => panic!("nobody is there"),
            received = silent.recv_from(&mut packet) => {
                let (length, dialler) = received.unwrap();
                (id_in(&packet[..length]), dialler)
            }
        };
        // Packets that anybody can make who has seen the first one: Retries with a wrong tag.
        let retry = [&[0xf0, 0, 0, 0, 1, 8], &first[..], &[8], &[7; 8], &[1; 17]].concat();
        for _ in 0..100 {
            silent.send_to(&retry, dialler).await.unwrap();
        }
        // All that there is to say to them has been said when another attempt has been repeated a few times.
        let (mut of_first, mut of_next) = (0, 0);
        tokio::select! {
            _ = dialling.dial(address) => panic!("nobody is there"),
            () = async {
                while of_next < 6 {
                    let length = silent.recv(&mut packet).await.unwrap();
                    let is_first = id_in(&packet[..length]) == first;
                    (of_first, of_next) = (of_first + i32::from(is_first), of_next + i32::from(!is_first));
                }
            } => {}
        }
        // The second copy of the first packet, and one goodbye, which leaves twice.
        assert!(of_first <= 3 + 1, "{of_first} packets");
    });
}

#[test]
fn a_first_packet_from_nobody_is_answered_with_three_times_its_bytes_at_most() {
    let [a, b, _] = identities();
    run(async {
        let silent = tokio::net::UdpSocket::bind(LOOPBACK).await.unwrap();
        let dialling = Endpoint::bind(&options(&b, &[&a]), LOOPBACK.into(), false).unwrap();
        let mut packet = [0; 2048];
        let asked = tokio::select! {
            _ = dialling.dial(silent.local_addr().unwrap()) => panic!("nobody is there"),
            length = silent.recv(&mut packet) => length.unwrap(),
        };
        let listening = Endpoint::bind(&options(&a, &[&b]), LOOPBACK.into(), true).unwrap();
        let nobody = tokio::net::UdpSocket::bind(LOOPBACK).await.unwrap();
        nobody.send_to(&packet[..asked], listening.local_addr().unwrap()).await.unwrap();
        let accepting = listening.incoming().await.unwrap().accept();
        // QUIC repeats what is not answered, the longer the rarer: ten times in that time.
        let span = std::time::Duration::from_secs(5);
        assert!(tokio::time::timeout(span, accepting).await.is_err());
        let mut answered = 0;
        while let Ok(length) = nobody.try_recv(&mut packet) {
            answered += length;
        }
        assert!(answered > 0 && answered <= 3 * asked, "{asked} bytes in, {answered} out");
    });
}
