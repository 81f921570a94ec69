//! Watches a broadcast many times in one process and prints a line of JSON: bytes a second, delays, pauses.
//! `cargo run --release -p duet-publishing --example watch -- URL CERTIFICATE.der WATCHERS SECONDS [TRACK..]`.
#![allow(clippy::unwrap_used, reason = "a trial")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use moq_net::{Client, broadcast, cache, origin, time};
use rustls::pki_types::CertificateDer;
use web_transport_quinn::quinn;
use web_transport_quinn::quinn::crypto::rustls::QuicClientConfig;

/// Counts of all watchers.
#[derive(Default)]
struct Had {
    bytes: u64,
    delays_ms: Vec<f64>,
    firsts_ms: Vec<f64>,
    pauses_ms: Vec<f64>,
}

fn unix_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3
}

fn config(certificate: &str) -> quinn::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate).unwrap())).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = moq_net::ALPNS.iter().map(|alpn| alpn.as_bytes().to_vec()).collect();
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let mut transport = quinn::TransportConfig::default();
    transport.max_concurrent_uni_streams(10_000_u32.into());
    config.transport_config(Arc::new(transport));
    config
}

/// Returns the time that a frame of a track carries, us.
fn time_of(frame: &[u8]) -> u64 {
    let len = 1 << (frame[0] >> 6);
    frame[1..len].iter().fold(u64::from(frame[0] & 0x3f), |time, byte| time << 8 | u64::from(*byte))
}

async fn follow(broadcast: broadcast::Consumer, track: String, zero_ms: f64, joined: Instant, had: Arc<Mutex<Had>>) {
    let Ok(track) = broadcast.track(&track) else { return };
    let Ok(subscriber) = track.subscribe(None).await else { return };
    let mut subscriber = subscriber.ordered();
    let mut last: Option<Instant> = None;
    while let Ok(Some(mut group)) = subscriber.next_group().await {
        while let Ok(Some(frame)) = group.read_frame().await {
            let now = Instant::now();
            let mut had = had.lock().unwrap();
            had.bytes += frame.payload.len() as u64;
            match last.replace(now) {
                None => had.firsts_ms.push(joined.elapsed().as_secs_f64() * 1e3),
                Some(last) => {
                    had.pauses_ms.push((now - last).as_secs_f64() * 1e3);
                    had.delays_ms.push(unix_ms() - zero_ms - time_of(&frame.payload) as f64 / 1e3);
                }
            }
        }
    }
}

async fn watch(
    endpoint: quinn::Endpoint,
    (address, host): (SocketAddr, String),
    (path, name): (String, String),
    tracks: Vec<String>,
    had: Arc<Mutex<Had>>,
) {
    let joined = Instant::now();
    let mut config = origin::Config::default();
    let pool = cache::Config::default().with_capacity(4 << 20).with_expiry(Duration::from_secs(1));
    config.pool = cache::Pool::new(pool);
    let (origin, keeper) = origin::Producer::new(config);
    tokio::spawn(time::run(keeper));
    let connection = endpoint.connect(address, &host).unwrap().await.unwrap();
    let client = Client::new().with_subscriber(origin.clone()).with_path(path);
    let raw = web_transport_quinn::Session::raw(connection);
    let (_session, driver) = client.connect(Instant::now(), raw).await.unwrap();
    tokio::spawn(time::run(driver));
    let broadcast = origin.consume().routed_broadcast(name.as_str()).await.unwrap();
    let mut catalogue = broadcast.track("catalog.json").unwrap().subscribe(None).await.unwrap().ordered();
    let text = catalogue.next_group().await.unwrap().unwrap().read_frame().await.unwrap().unwrap().payload;
    let catalogue: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let zero_ms = catalogue["duet"]["zero_unix_ms"].as_f64().unwrap();
    let followed: Vec<_> = tracks
        .into_iter()
        .map(|track| tokio::spawn(follow(broadcast.clone(), track, zero_ms, joined, Arc::clone(&had))))
        .collect();
    for one in followed {
        let _ = one.await;
    }
}

fn share(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, certificate, watchers, seconds, tracks @ ..] = args.as_slice() else {
        eprintln!("watch URL CERTIFICATE.der WATCHERS SECONDS [TRACK..]");
        std::process::exit(2);
    };
    let rest = url.strip_prefix("https://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let (name, query) = path.split_once('?').unwrap_or((path, ""));
    let path = if query.is_empty() { "/".to_owned() } else { format!("/?{query}") };
    let host = authority.split(':').next().unwrap().to_owned();
    let mut addresses = tokio::net::lookup_host(authority.replace("localhost", "127.0.0.1")).await.unwrap();
    let address = addresses.next().unwrap();
    let (watchers, seconds): (usize, u64) = (watchers.parse().unwrap(), seconds.parse().unwrap());
    let tracks = match tracks {
        [] => ["main", "base", "sound"].map(str::to_owned).to_vec(),
        tracks => tracks.to_vec(),
    };
    let had = Arc::new(Mutex::new(Had::default()));
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(config(certificate));
    for _ in 0..watchers {
        let place = ((address, host.clone()), (path.clone(), name.to_owned()));
        tokio::spawn(watch(endpoint.clone(), place.0, place.1, tracks.clone(), Arc::clone(&had)));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    {
        // What is told is of the steady state.
        let mut had = had.lock().unwrap();
        (had.bytes, had.delays_ms, had.pauses_ms) = (0, Vec::new(), Vec::new());
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let mut had = std::mem::take(&mut *had.lock().unwrap());
    for values in [&mut had.delays_ms, &mut had.firsts_ms, &mut had.pauses_ms] {
        values.sort_by(f64::total_cmp);
    }
    let delays_ms = [50, 95, 99].map(|percent| share(&had.delays_ms, percent));
    let firsts_ms = [50, 95].map(|percent| share(&had.firsts_ms, percent));
    let told = serde_json::json!({
        "watchers": watchers,
        "tracks": tracks,
        "frames": had.delays_ms.len(),
        "kbps_each": had.bytes as f64 * 8.0 / 1e3 / seconds as f64 / watchers as f64,
        "delay_ms": delays_ms,
        "first_ms": firsts_ms,
        "pause_ms": [share(&had.pauses_ms, 99), share(&had.pauses_ms, 100)],
    });
    println!("{told}");
}
