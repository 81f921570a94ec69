//! A hostile peer with an allowed key, in the place of the sender or of the receiver.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use common::config::PublicKey;
use common::netsim::Random;
use common::netsim::session::SenderSession;
use common::stream::video::FrameTimes;
use common::stream::video::VIDEO;
use common::stream::video::protection::Protection;
use common::units::{Bitrate, FrameId, Timestamp};
use common::wire::control::{ByeReason, ControlMessage, ControlReader, StreamEnd, StreamId, encode};
use common::wire::{MESSAGE_BYTES_MAX, PROTOCOL_VERSION};
use kernels::{BackendChoice, Encoder, PictureRef, Target};
use net::identity::Identity;
use net::tls::{PeerVerifier, Protocol, client_config};
use picture::coded::CodedFrame;
use picture::frame::{Chroma, FrameRate, FrameSize, PixelFormat};
use picture::params::{Boundary, CodecParams, Padding, StreamParams};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::sign::CertifiedKey;
use sending::source::pattern::Pattern;

use crate::machine::priority;
use crate::testbed::{RECEIVER, SENDER};

/// Video of the flooding peer: small, so that making it does not slow down what is measured.
const SIZE: (u32, u32) = (320, 180);
const RATE: Bitrate = Bitrate::from_bps(4_000_000);
const FRAMES: u32 = 16;
/// Datagrams that are no video, a millisecond.
const FLOOD_PER_MS: u32 = 10;
/// Time after an abuse within which the connection must end.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// Behaviour of a hostile peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Sends video and, between its datagrams, 10,000 others a second that are none.
    Flood,
    /// Breaks the protocol in every way, one connection after the other.
    Abuse,
    /// Breaks the protocol likewise, in the receiver's place.
    AbuseSender,
}

impl Act {
    /// Returns the end in whose place it is.
    pub(crate) fn end(self) -> usize {
        if self == Self::AbuseSender { RECEIVER } else { SENDER }
    }
}

/// A hostile peer at work, on a thread with usual priority.
pub(crate) struct AtWork<T> {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<T>>,
}

impl<T: Send + 'static> AtWork<T> {
    /// Lets it act until it is told to stop.
    pub(crate) fn start(act: impl FnOnce(&Arc<AtomicBool>) -> Result<T> + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            priority::lower();
            act(&stopped)
        });
        Self { stop, thread }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops it and returns what it has to say.
    pub(crate) fn end(self) -> Result<T> {
        self.stop();
        self.thread.join().map_err(|_| anyhow!("the hostile peer broke down"))?
    }
}

/// Report of a hostile peer.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) note: String,
    /// Abuses that did not end the connection with a reason.
    pub(crate) unanswered: Vec<String>,
}

/// Connects to the daemon at `target`, whose key file is `peer`, with the key in the file `key`.
pub(crate) fn start(act: Act, key: &Path, peer: &Path, target: SocketAddr) -> Result<AtWork<Said>> {
    let config = client(&Identity::load(key)?, Identity::load(peer)?.public_key())?;
    Ok(AtWork::start(move |stop| {
        block_on(async {
            let any = if target.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
            let endpoint = endpoint(any, config)?;
            match act {
                Act::Flood => flood(&endpoint, target, stop).await,
                Act::Abuse => abuse(&endpoint, target, StreamEnd::Sender, stop).await,
                Act::AbuseSender => abuse(&endpoint, target, StreamEnd::Receiver, stop).await,
            }
        })
    }))
}

/// Runs `act` to its end on this thread, with the network and the clock.
pub(crate) fn block_on<T>(act: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(act)
}

/// Returns the configuration for calling the peer with the key `peer` as the holder of `own`.
pub(crate) fn client(own: &Identity, peer: PublicKey) -> Result<quinn::ClientConfig> {
    client_as(own.certified_key()?, peer, Protocol::Call)
}

/// Does the same with any key and protocol.
pub(crate) fn client_as(key: Arc<CertifiedKey>, peer: PublicKey, protocol: Protocol) -> Result<quinn::ClientConfig> {
    let tls = client_config(key, PeerVerifier::new([peer]), protocol)?;
    Ok(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)))
}

/// Opens a socket that calls.
pub(crate) fn endpoint(from: Ipv4Addr, config: quinn::ClientConfig) -> Result<quinn::Endpoint> {
    let mut endpoint = quinn::Endpoint::client((from, 0).into())?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

/// Appends a message that the end `own` of the video says.
pub(crate) fn encode_as(own: StreamEnd, message: &ControlMessage, out: &mut Vec<u8>) {
    encode(message, (!message.is_of_path()).then_some(StreamId { number: VIDEO, end: own }), out);
}

/// Returns the Hello of the end `own`.
pub(crate) fn hello(version: u16, own: StreamEnd) -> ControlMessage {
    ControlMessage::Hello { version, sends: own == StreamEnd::Sender }
}

/// A connection and its control stream.
pub(crate) struct HostileLine {
    pub(crate) connection: quinn::Connection,
    pub(crate) send: quinn::SendStream,
    receive: quinn::RecvStream,
    reader: ControlReader,
    /// End that it speaks for.
    own: StreamEnd,
}

impl HostileLine {
    pub(crate) async fn open(endpoint: &quinn::Endpoint, target: SocketAddr, own: StreamEnd) -> Result<Self> {
        let connection = endpoint.connect(target, "duet")?.await?;
        let (send, receive) = connection.open_bi().await?;
        Ok(Self { connection, send, receive, reader: ControlReader::default(), own })
    }

    /// Returns the next call of a daemon that dials.
    pub(crate) async fn accept(endpoint: &quinn::Endpoint, own: StreamEnd) -> Result<Self> {
        let connection = endpoint.accept().await.context("the socket is closed")?.await?;
        let (send, receive) = connection.accept_bi().await?;
        Ok(Self { connection, send, receive, reader: ControlReader::default(), own })
    }

    pub(crate) async fn say(&mut self, message: &ControlMessage) -> Result<()> {
        let mut bytes = Vec::new();
        encode_as(self.own, message, &mut bytes);
        Ok(self.send.write_all(&bytes).await?)
    }

    /// Says Hello.
    pub(crate) async fn greet(&mut self) -> Result<()> {
        self.say(&hello(PROTOCOL_VERSION, self.own)).await
    }

    pub(crate) async fn hear(&mut self) -> Result<ControlMessage> {
        let mut buffer = vec![0; 4_096];
        loop {
            if let Some((_, message)) = self.reader.next()? {
                return Ok(message);
            }
            let count = self.receive.read(&mut buffer).await?.context("the control stream has ended")?;
            self.reader.push(&buffer[..count]);
        }
    }

    /// Returns the reason with which the peer ends the connection.
    pub(crate) async fn verdict(&self) -> Option<String> {
        match tokio::time::timeout(ANSWER_MAX, self.connection.closed()).await {
            Ok(quinn::ConnectionError::ApplicationClosed(close)) => {
                Some(String::from_utf8_lossy(&close.reason).into_owned())
            }
            Ok(other) => Some(other.to_string()),
            Err(_) => None,
        }
    }
}

fn params(size: FrameSize) -> Result<StreamParams> {
    let frame_rate = FrameRate::new(60, 1).context("60 frames a second")?;
    Ok(StreamParams { frame_rate, ..StreamParams::new(size, Chroma::C420) })
}

/// Returns some frames of the test pattern.
fn frames(params: &StreamParams, bytes: usize) -> Result<Vec<CodedFrame>> {
    let pattern = Pattern::new(params.size, params.frame_rate);
    let mut encoder = Encoder::open(params, BackendChoice::Cpu)?;
    let mut data = Vec::new();
    let coded = (0..FRAMES).map(|number| {
        pattern.draw(number, number, &mut data);
        Ok(encoder.encode(PictureRef::new(PixelFormat::I420, params.size, &data)?, Target::Bytes(bytes), None)?)
    });
    coded.collect()
}

/// Sends video and 10,000 other datagrams a second: random bytes, doubles, other frames' numbers, the largest.
async fn flood(endpoint: &quinn::Endpoint, target: SocketAddr, stop: &AtomicBool) -> Result<Said> {
    let params = params(FrameSize::new(SIZE.0, SIZE.1)?)?;
    let frames = frames(&params, RATE.bytes_per_frame(params.frame_rate) / 2)?;
    let mut line = HostileLine::open(endpoint, target, StreamEnd::Sender).await?;
    let began = Instant::now();
    let now = || Timestamp::from_us(1_000_000 + began.elapsed().as_micros() as u64);
    let max = line.connection.max_datagram_size().context("the receiver takes no datagrams")?;
    let mut session = SenderSession::new(params, RATE, Protection::Auto);
    session.on_connected(now(), max);
    let mut random = Random::new(5);
    let (mut sent, mut due, mut last) = (0u64, now(), vec![0u8; 64]);
    let mut next_frame = now();
    let mut pending = frames.iter().cycle();
    let connection = line.connection.clone();
    while !stop.load(Ordering::Relaxed) {
        while let Some(message) = session.poll_control() {
            line.say(&message).await?;
        }
        tokio::select! {
            biased;
            message = line.hear() => session.on_control(message?, now())?,
            datagram = connection.read_datagram() => { session.on_datagram(&datagram?, now()); }
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
        session.handle_timeout(now());
        while session.poll_event().is_some() {}
        if session.is_streaming() && next_frame <= now() {
            next_frame = next_frame + params.frame_rate.interval();
            if let Some(frame) = pending.next() {
                session.on_frame(session.next_frame(), frame, FrameTimes { capture: now(), coded: now() }, now());
            }
        }
        while let Some(datagram) = session.poll_datagram(now()) {
            last.clone_from(&datagram);
            connection.send_datagram(datagram.into())?;
        }
        while session.is_streaming() && due <= now() {
            due = due + Duration::from_millis(1);
            for _ in 0..FLOOD_PER_MS {
                connection.send_datagram(nuisance(&mut random, &last, max).into())?;
                sent += 1;
            }
        }
    }
    let per_second = sent as f64 / began.elapsed().as_secs_f64();
    line.connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(Said { note: format!("{per_second:.0} other datagrams a second"), unanswered: vec![] })
}

/// Returns a datagram that is no part of the video; `last` is one that was.
fn nuisance(random: &mut Random, last: &[u8], max: usize) -> Vec<u8> {
    let mut datagram = last.to_vec();
    match random.below(4) {
        // A double.
        0 => {}
        // Another frame, near or far ahead. Its number is at 18.
        1 => datagram[18..22].copy_from_slice(&(random.bits() as u32).to_le_bytes()),
        2 => datagram = (0..random.below(200)).map(|_| random.bits() as u8).collect(),
        _ => datagram.resize(max, 7),
    }
    datagram
}

/// Returns the messages of the end `own` that break the protocol.
pub(crate) fn abuses(own: StreamEnd) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let said = |messages: &[ControlMessage]| {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| encode_as(own, message, &mut bytes));
        bytes
    };
    let right = hello(PROTOCOL_VERSION, own);
    let largest = params(FrameSize::new(FrameSize::MAX_SIDE, FrameSize::MAX_SIDE)?)?;
    let welcome = |params| ControlMessage::Welcome { params, start_frame: FrameId(0) };
    let giant = welcome(largest);
    // Few pixels in a square as large as there is.
    let narrow = |width, height| -> Result<ControlMessage> {
        let codec = CodecParams { padding: Padding::Zero, boundary: Boundary::Periodic, ..CodecParams::default() };
        Ok(welcome(StreamParams { chroma: Chroma::C444, codec, ..params(FrameSize::new(width, height)?)? }))
    };
    let small = welcome(params(FrameSize::new(SIZE.0, SIZE.1)?)?);
    let pings: Vec<_> = std::iter::once(right.clone())
        .chain((0..10_000).map(|id| ControlMessage::Ping { id, sent: Timestamp::default() }))
        .collect();
    let part = |reason| said(&[right.clone(), ControlMessage::Bye { reason }]);
    let bye = ControlMessage::Bye { reason: ByeReason::Stopping };
    let too_long = (MESSAGE_BYTES_MAX as u32 + 1).to_le_bytes().to_vec();
    let (other, first, not_own) = match own {
        StreamEnd::Sender => (StreamEnd::Receiver, giant.clone(), ControlMessage::Ready),
        StreamEnd::Receiver => (StreamEnd::Sender, ControlMessage::Ready, giant.clone()),
    };
    Ok(vec![
        ("another version", said(&[hello(PROTOCOL_VERSION + 1, own)])),
        ("the same role", said(&[hello(PROTOCOL_VERSION, other)])),
        ("what only the other end says", said(&[right.clone(), not_own])),
        ("two Hellos", said(&[right.clone(), right.clone()])),
        ("a message before Hello", said(&[first])),
        ("a giant picture", said(&[right.clone(), giant])),
        ("a giant row", said(&[right.clone(), narrow(FrameSize::MAX_SIDE, 1)?])),
        ("a giant column", said(&[right.clone(), narrow(1, FrameSize::MAX_SIDE)?])),
        ("a giant band", said(&[right.clone(), narrow(FrameSize::MAX_SIDE / 2, 1_000)?])),
        ("two Welcomes", said(&[right.clone(), small.clone(), small])),
        ("a flood of pings", said(&pings)),
        ("a reproach", part(ByeReason::Protocol("it is your fault".to_owned()))),
        ("a replacement", part(ByeReason::ReplacedByNewer)),
        ("a message that is too long", too_long),
        ("bytes that are no message", [&4u32.to_le_bytes()[..], &[0xff; 4]].concat()),
        ("goodbye at once", said(&[right, bye])),
    ])
}

/// Breaks the protocol in every way, one connection after the other, and lets a few connections hang.
async fn abuse(endpoint: &quinn::Endpoint, target: SocketAddr, own: StreamEnd, stop: &AtomicBool) -> Result<Said> {
    let (mut unanswered, mut rounds, mut idle) = (Vec::new(), 0, Vec::new());
    'all: loop {
        for (what, bytes) in abuses(own)? {
            if stop.load(Ordering::Relaxed) {
                break 'all;
            }
            let mut line = HostileLine::open(endpoint, target, own)
                .await
                .with_context(|| format!("after {rounds} connections"))?;
            rounds += 1;
            line.send.write_all(&bytes).await?;
            if line.verdict().await.is_none() && !unanswered.iter().any(|known| known == what) {
                unanswered.push(what.to_owned());
            }
        }
        // As many streams as are allowed, written to and never read from; the connection is left as it is.
        let mut line = HostileLine::open(endpoint, target, own).await?;
        rounds += 1;
        let more = async {
            let mut streams = Vec::new();
            while let Ok((mut send, receive)) = line.connection.open_bi().await {
                let _ = send.write_all(&[0; 1 << 10]).await;
                streams.push((send, receive));
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(100), more).await;
        line.greet().await?;
        idle.truncate(3);
        idle.push(line);
    }
    drop(idle);
    endpoint.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(Said { note: format!("{rounds} hostile connections"), unanswered })
}
