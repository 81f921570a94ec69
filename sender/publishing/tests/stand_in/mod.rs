//! A relay in the test's own process, of the kept crate's server side, and relays that do what no relay should.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use moq_net::{Server, broadcast, origin, time};
use publishing::{Target, Watchers};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::sync::oneshot;
use web_transport_quinn::quinn;
use web_transport_quinn::quinn::crypto::rustls::QuicServerConfig;

const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
const KEY: &[u8] = include_bytes!("key.der");

/// The way in which a relay treats those who come.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// Its task.
    Relays,
    /// It takes calls of this name only, and tells nobody.
    RelaysOnly(&'static str),
    /// It greets, and sends away.
    Refuses,
    /// It closes the connection after the handshake.
    Closes,
    /// It never says a word.
    Hangs,
    /// Its task, with a transport that takes no datagrams.
    TakesNoDatagrams,
    /// It opens streams and writes noise into them.
    Raves,
}

/// A relay at work; dropping it kills it without a farewell.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    /// Ends the thread that serves.
    end: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Relay {
    pub(crate) fn start(manner: Manner, port: u16) -> Self {
        let runtime = runtime();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY.to_vec()));
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(CERTIFICATE.to_vec())], key)
            .unwrap();
        tls.alpn_protocols = moq_net::ALPNS.iter().map(|alpn| alpn.as_bytes().to_vec()).collect();
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        if matches!(manner, Manner::TakesNoDatagrams) {
            let mut transport = quinn::TransportConfig::default();
            transport.datagram_receive_buffer_size(None);
            config.transport_config(Arc::new(transport));
        }
        let inside = runtime.enter();
        // The port of one that was killed may be in use for a moment.
        let until = Instant::now() + Duration::from_secs(30);
        let endpoint = loop {
            match quinn::Endpoint::server(config.clone(), (Ipv4Addr::LOCALHOST, port).into()) {
                Ok(endpoint) => break endpoint,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let address = endpoint.local_addr().unwrap();
        let asked = Arc::default();
        let serving = serve(endpoint, manner, Arc::clone(&asked));
        drop(inside);
        let (end, ended) = oneshot::channel();
        let serve = move || {
            runtime.spawn(serving);
            // The endpoint ends with the runtime, before it can say so to anybody.
            _ = runtime.block_on(ended);
        };
        Self { address, end: Some((end, std::thread::spawn(serve))), asked }
    }

    /// Returns the address that a publisher is given.
    pub(crate) fn url(&self, name: &str) -> String {
        let hash: String = ring::digest::digest(&ring::digest::SHA256, CERTIFICATE)
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("https://{}/{name}#sha256={hash}", self.address)
    }

    /// Returns the paths that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Watches the broadcast `name` from inside this process.
    pub(crate) fn watch<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        name: &'static str,
        watch: impl FnOnce(broadcast::Consumer) -> F + Send + 'static,
    ) -> T {
        let target = Target::parse(&self.url(name), None).unwrap();
        runtime().block_on(async move {
            let watcher = Watchers::new(target).unwrap().join().await.unwrap();
            let broadcast = watcher.broadcast.clone();
            // Only a hang takes so long.
            tokio::time::timeout(Duration::from_secs(90), watch(broadcast)).await.unwrap()
        })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.end.take() {
            drop(end);
            _ = thread.join();
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn serve(endpoint: quinn::Endpoint, manner: Manner, asked: Arc<Mutex<Vec<String>>>) {
    let (origin, keeper) = origin::Producer::new(origin::Config::default());
    tokio::spawn(time::run(keeper));
    while let Some(incoming) = endpoint.accept().await {
        let (manner, origin, asked) = (manner.clone(), origin.clone(), Arc::clone(&asked));
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else { return };
            let ends = connection.clone();
            match manner {
                Manner::Relays | Manner::RelaysOnly(_) | Manner::Refuses => {
                    let raw = web_transport_quinn::Session::raw(connection);
                    let Ok(request) = Server::new().accept_request(Instant::now(), raw).await else { return };
                    asked.lock().unwrap().push(request.path().to_owned());
                    let takes = match manner {
                        Manner::RelaysOnly(name) => origin
                            .scope("", &moq_net::Patterns::from(moq_net::Pattern::subtree(name).unwrap()))
                            .unwrap(),
                        _ => origin.clone(),
                    };
                    let taken = request.with_publisher(&origin).with_subscriber(takes).ok().await;
                    let Ok((_session, driver)) = taken else { return };
                    if matches!(manner, Manner::Refuses) {
                        return ends.close(2_u8.into(), b"unauthorized");
                    }
                    time::run(driver).await;
                }
                Manner::Closes => ends.close(9_u8.into(), b"no"),
                Manner::Hangs | Manner::TakesNoDatagrams => {
                    ends.closed().await;
                }
                Manner::Raves => rave(&ends).await,
            }
        });
    }
}

async fn rave(connection: &quinn::Connection) {
    for round in 0_u32.. {
        let noise: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761 ^ round) >> 13) as u8).collect();
        if let Ok(Ok(mut stream)) = tokio::time::timeout(Duration::from_millis(20), connection.open_uni()).await {
            let _ = tokio::time::timeout(Duration::from_millis(20), stream.write_all(&noise)).await;
        }
        if let Ok(Ok((mut stream, _))) = tokio::time::timeout(Duration::from_millis(20), connection.open_bi()).await {
            let _ = tokio::time::timeout(Duration::from_millis(20), stream.write_all(&noise)).await;
        }
        if connection.close_reason().is_some() {
            return;
        }
    }
}
