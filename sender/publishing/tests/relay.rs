//! A publisher and relays: good, dead, hostile and of others.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod stand_in;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cards::{Backend, CardInfo, Halves, Playback};
use common::units::Bitrate;
use moq_net::broadcast;
use net::clock;
use openh264::formats::YUVSource as _;
use picture::effects::Effects;
use picture::frame::{ColourSpace, FrameSize, PixelFormat};
use publishing::{Programme, Publisher, Seen, Taps, Target, Wishes};
use shell::settings::{OwnSide, SoundSide};
use sound::Cycle;
use sound::format::Channels;
use stand_in::{Manner, Relay};

/// Only a hang takes so long.
const PATIENCE: Duration = Duration::from_secs(90);

fn own() -> OwnSide {
    let rate = Bitrate::from_bps(20_000_000);
    OwnSide::new(rate, rate, Effects::default())
}

fn publisher(url: &str, own: &OwnSide) -> (Publisher, Taps) {
    let wishes = Wishes {
        target: Target::parse(url, None).unwrap(),
        programme: Programme { title: "Duo".to_owned(), ..Programme::default() },
        cap: Bitrate::from_bps(1_700_000),
        players: 2,
        own: own.clone(),
    };
    Publisher::start(wishes, None).unwrap()
}

/// Waits for something that comes by itself.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Plays a tone that is heard by both sides.
struct Tone(u64);

impl Playback for Tone {
    fn play(&mut self, samples: &mut [f32], _: Cycle) {
        for frame in samples.chunks_exact_mut(2) {
            frame.fill((self.0 as f32 * 0.06).sin() * 0.3);
            self.0 += 1;
        }
    }
}

/// A call's pictures and sound, until it is dropped. It tells the longest time for which it was held up.
struct Call {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<Duration>>,
}

impl Call {
    fn begin(taps: Taps) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let card = CardInfo {
                backend: Backend::Alsa,
                name: String::new(),
                rate_hz: 48_000,
                period_frames: 480,
                capture: None,
                playback: Some(Channels::Stereo),
                input_latency_frames: 0,
                output_latency_frames: 0,
            };
            let halves = Halves { capture: None, playback: Some(Box::new(Tone(0))) };
            let mut halves = taps.sound.tapped(halves, &card, &SoundSide::default());
            let size = FrameSize::new(320, 180).unwrap();
            let mut data = vec![128; PixelFormat::I420.bytes(size)];
            let mut longest = Duration::ZERO;
            let mut samples = [0.0; 960];
            for number in 0_usize.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let us = clock::to_monotonic(clock::now());
                halves.playback.as_mut().unwrap().play(&mut samples, Cycle { frame: 480 * number as u64, us });
                if number % 3 == 0 {
                    data[..320 * 180].fill((60 + number % 100) as u8);
                    for tap in &taps.pictures {
                        let began = Instant::now();
                        tap.offer(PixelFormat::I420, size, ColourSpace::BT709_LIMITED, &data, clock::now());
                        longest = longest.max(began.elapsed());
                    }
                }
                thread::sleep(Duration::from_millis(10));
            }
            longest
        });
        Self { is_over, thread: Some(thread) }
    }

    fn end(mut self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Returns the frames of a track's next groups, each with its time in microseconds.
async fn frames(broadcast: &broadcast::Consumer, track: &str, count: usize) -> Vec<(u64, Vec<u8>)> {
    let mut subscriber = broadcast.track(track).unwrap().subscribe(None).await.unwrap().ordered();
    let mut frames = Vec::new();
    while frames.len() < count {
        let mut group = subscriber.next_group().await.unwrap().unwrap();
        while frames.len() < count
            // One that is older than the newest may end early.
            && let Ok(Some(frame)) = group.read_frame().await
        {
            frames.push(split(&frame.payload));
        }
    }
    frames
}

fn split(frame: &[u8]) -> (u64, Vec<u8>) {
    let len = 1 << (frame[0] >> 6);
    let time = frame[1..len].iter().fold(u64::from(frame[0] & 0x3f), |time, byte| time << 8 | u64::from(*byte));
    (time, frame[len..].to_vec())
}

#[test]
fn a_picture_that_is_hidden_is_not_published() {
    let relay = Relay::start(Manner::Relays, 0);
    let own = own();
    own.set_hidden(true);
    let (publisher, taps) = publisher(&relay.url("duet/anna"), &own);
    let call = Call::begin(taps);
    let coded = relay.watch("duet/anna", |broadcast| async move { frames(&broadcast, "base", 20).await });
    let mut decoder = openh264::decoder::Decoder::new().unwrap();
    let mut halves = Vec::new();
    for (_, bytes) in &coded {
        let Some(picture) = decoder.decode(bytes).unwrap() else { continue };
        let (luma, stride) = (picture.y(), picture.strides().0);
        // The host's picture is the left one.
        halves.push([0, 320].map(|left| luma[90 * stride + left..][..320].iter().copied().max().unwrap()));
    }
    assert!(halves.len() > 10 && halves.iter().all(|[own, _]| *own < 40), "{halves:?}");
    assert!(halves.iter().any(|[_, other]| *other > 50), "{halves:?}");
    call.end();
    publisher.end().unwrap();
}

#[test]
fn what_the_host_sees_and_hears_is_watched_through_a_relay() {
    let relay = Relay::start(Manner::Relays, 0);
    let own = own();
    let (publisher, taps) = publisher(&relay.url("duet/anna"), &own);
    let call = Call::begin(taps);
    let (catalogue, main, base, sound) = relay.watch("duet/anna", |broadcast| async move {
        let (catalogue, main, base, sound) = tokio::join!(
            async {
                let mut catalogue = broadcast.track("catalog.json").unwrap().subscribe(None).await.unwrap().ordered();
                let mut group = catalogue.next_group().await.unwrap().unwrap();
                group.read_frame().await.unwrap().unwrap().payload
            },
            frames(&broadcast, "main", 40),
            frames(&broadcast, "base", 12),
            frames(&broadcast, "sound", 30),
        );
        (String::from_utf8(catalogue.to_vec()).unwrap(), main, base, sound)
    });
    let catalogue: serde_json::Value = serde_json::from_str(&catalogue).unwrap();
    assert_eq!(catalogue["duet"]["title"], "Duo");
    assert_eq!(catalogue["video"]["renditions"]["main"]["codedWidth"], 1280, "{catalogue}");
    for (frames, size) in [(&main, (1280, 360)), (&base, (640, 180))] {
        let mut decoder = openh264::decoder::Decoder::new().unwrap();
        let sizes: Vec<_> =
            frames.iter().filter_map(|(_, bytes)| decoder.decode(bytes).unwrap().map(|it| it.dimensions())).collect();
        assert!(sizes.len() + 2 >= frames.len() && sizes.iter().all(|it| *it == size), "{sizes:?}");
        assert!(frames.windows(2).all(|two| two[0].0 < two[1].0), "times rise");
    }
    let mut decoder = opus::Decoder::new(48_000, opus::Channels::Stereo).unwrap();
    let mut room = [0.0; 1920];
    let loud: f32 = sound
        .iter()
        .map(|(_, packet)| {
            assert_eq!(decoder.decode_float(packet, &mut room, false).unwrap(), 960);
            room.iter().map(|sample| sample * sample).sum::<f32>() / 1920.0
        })
        .sum::<f32>()
        / sound.len() as f32;
    assert!((0.03..0.06).contains(&loud), "the tone's power: {loud}");
    assert!(sound.windows(2).all(|two| two[1].0 - two[0].0 >= 19_000), "20 ms each");
    // One clock.
    let apart = main[0].0.abs_diff(sound[0].0);
    assert!(apart < 3_000_000, "{apart} us");
    wait("the relay shows it", || publisher.state().seen() == Seen::Yes);
    assert!(own.audience().is_some_and(|audience| audience.is_connected && audience.counts.audience_pictures > 30));
    call.end();
    publisher.end().unwrap();
}

#[test]
fn a_relay_that_dies_is_dialled_until_another_is_there() {
    let first = Relay::start(Manner::Relays, 0);
    let (address, url) = (first.address, first.url("duet/anna"));
    let own = own();
    let (publisher, taps) = publisher(&url, &own);
    let call = Call::begin(taps);
    wait("the first session", || publisher.state().is_connected());
    drop(first);
    wait("its end is seen", || !publisher.state().is_connected());
    // The port may be in use for a moment longer.
    let second = Relay::start(Manner::Relays, address.port());
    let times = second.watch("duet/anna", |broadcast| async move { frames(&broadcast, "main", 5).await });
    assert_eq!(times.len(), 5);
    wait("the second session is counted", || publisher.state().sessions() >= 2);
    call.end();
    publisher.end().unwrap();
}

#[test]
fn a_hostile_relay_is_seen_in_the_counts_and_nowhere_else() {
    for manner in [Manner::Refuses, Manner::Closes, Manner::Hangs, Manner::TakesNoDatagrams, Manner::Raves] {
        let relay = Relay::start(manner.clone(), 0);
        let own = own();
        let (publisher, taps) = publisher(&relay.url("duet/anna"), &own);
        let call = Call::begin(taps);
        wait("it is tried", || publisher.state().failures() + publisher.state().sessions() >= 1);
        wait("it is counted", || {
            own.audience()
                .is_some_and(|audience| audience.counts.audience_failures + audience.counts.audience_sessions > 0)
        });
        assert!(call.end() < PATIENCE / 10, "{manner:?} has held the call up");
        publisher.end().unwrap();
    }
}

#[test]
fn whoever_may_not_watch_is_told_and_does_not_wait() {
    let relay = Relay::start(Manner::Refuses, 0);
    let target = Target::parse(&relay.url("duet/anna"), None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let joined = runtime.block_on(async {
        let watchers = publishing::Watchers::new(target).unwrap();
        tokio::time::timeout(PATIENCE, watchers.join()).await.unwrap().map(drop)
    });
    assert!(joined.is_err());
}

#[test]
fn a_token_for_another_name_is_found_out() {
    let relay = Relay::start(Manner::RelaysOnly("duet/bert"), 0);
    let own = own();
    let (publisher, taps) = publisher(&relay.url("duet/anna").to_string().replace("anna#", "anna?jwt=a.b.c#"), &own);
    let call = Call::begin(taps);
    wait("it is seen that nobody sees it", || publisher.state().seen() == Seen::No);
    wait("and told", || own.audience().is_some_and(|audience| audience.is_unseen));
    assert!(relay.asked().iter().all(|path| path == "/?jwt=a.b.c"), "{:?}", relay.asked());
    call.end();
    publisher.end().unwrap();
}
