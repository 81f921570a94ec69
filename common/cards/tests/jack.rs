//! Cards on a JACK server: the dummy driver of jackd, each test with a server of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cards::keep::{Kept, News};
use cards::{Backend, Capture, CardError, CardInfo, CardSpec, Change, Halves, Playback, Wanted, open};
use jack::{Client, ClientOptions};
use sound::Cycle;
use sound::format::Channels::{self, Mono, Stereo};

/// Nothing here takes so long on any machine; who waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `body` in a process of its own, in which `JACK_DEFAULT_SERVER` names a server that nobody else has.
fn apart(test: &str, body: impl FnOnce()) {
    if std::env::var_os("DUET_TEST_APART").is_some() {
        return body();
    }
    let has_jackd = Command::new("jackd").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_jackd {
        let skipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/skipped");
        let note = format!("JACK: {test}; there is no jackd");
        assert!(Command::new(skipped).args(["note", &note]).status().unwrap().success());
        return;
    }
    // Servers meet in shared memory, which has room for eight and keeps those that were killed: each test has its own.
    let private = "mount -t tmpfs none /dev/shm 2>/dev/null; exec \"$@\"";
    let mut command = Command::new("unshare");
    let is_root =
        Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    command.args(if is_root { ["--mount"].as_slice() } else { &["--map-root-user", "--mount"] });
    command.args(["sh", "-c", private, "sh"]).arg(std::env::current_exe().unwrap());
    let server = format!("duet-{}-{test}", std::process::id());
    command.args([test, "--exact", "--nocapture", "--quiet"]);
    command.env("JACK_DEFAULT_SERVER", &server[..server.len().min(40)]).env("DUET_TEST_APART", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // What libjack has to say is not for the terminal.
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "standard error");
}

/// A server with the dummy driver.
struct Server(Child);

impl Server {
    fn start(driver: &[&str]) -> Self {
        let name = std::env::var("JACK_DEFAULT_SERVER").unwrap();
        let mut command = Command::new("jackd");
        command.args(["--no-mlock", "--name", &name, "--timeout", "5000", "-d", "dummy"]).args(driver);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self(child);
        wait("the server answers", || probe().is_some());
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn probe() -> Option<Client> {
    jack::jack_sys::library().unwrap();
    jack::set_logger(jack::LoggerType::None);
    Client::new("probe", ClientOptions::NO_START_SERVER).ok().map(|(client, _)| client)
}

#[track_caller]
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "in vain: {what}");
        sleep(Duration::from_millis(5));
    }
}

fn wanted(capture: Channels, playback: Channels) -> Wanted {
    Wanted { frames: 64, capture: Some(capture), playback: Some(playback) }
}

/// Things that two halves have seen.
#[derive(Default)]
struct Seen {
    /// Periods captured, and the frames of the last one.
    captured: AtomicU64,
    frames: AtomicU32,
    /// Samples that were heard, and those of them that were under way for one period.
    heard: AtomicU64,
    of_a_period: AtomicU64,
    /// Frames that the last one was under way.
    delay: AtomicU64,
    /// Largest distance of a period's time from `CLOCK_MONOTONIC`, us.
    off_us: AtomicU64,
}

/// Plays the number of each frame (of 2^20), exactly; and hears how old it is.
struct Count(Arc<Seen>, usize);

const WRAP: u64 = 1 << 20;

impl Playback for Count {
    fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
        for (frame, samples) in (cycle.frame..).zip(samples.chunks_exact_mut(self.1)) {
            samples.fill((1 + frame % WRAP) as f32 / (2 * WRAP) as f32);
        }
    }
}

impl Capture for Count {
    fn capture(&mut self, samples: &[f32], cycle: Cycle) {
        let period = samples.len() / self.1;
        for (frame, samples) in (cycle.frame..).zip(samples.chunks_exact(self.1)) {
            let played = (samples[self.1 - 1] * (2 * WRAP) as f32) as u64;
            if let Some(played) = played.checked_sub(1) {
                let delay = (frame % WRAP + WRAP - played) % WRAP;
                self.0.delay.store(delay, Relaxed);
                if delay == period as u64 {
                    self.0.of_a_period.fetch_add(1, Relaxed);
                }
                self.0.heard.fetch_add(1, Relaxed);
            }
        }
        self.0.frames.store(period as u32, Relaxed);
        self.0.captured.fetch_add(1, Relaxed);
        self.0.off_us.fetch_max(cycle.us.abs_diff(monotonic_us()), Relaxed);
    }
}

fn monotonic_us() -> u64 {
    // SAFETY: the structure is this function's own.
    let mut time = unsafe { std::mem::zeroed::<libc::timespec>() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

fn halves(seen: &Arc<Seen>, info: &CardInfo) -> Halves {
    let count = |channels: Option<Channels>| Count(seen.clone(), channels.map_or(0, Channels::count));
    Halves {
        capture: info.capture.map(|_| Box::new(count(info.capture)) as Box<dyn Capture>),
        playback: info.playback.map(|_| Box::new(count(info.playback)) as Box<dyn Playback>),
    }
}

#[test]
fn one_period_lies_between_capture_and_playback() {
    apart("one_period_lies_between_capture_and_playback", || {
        for (frames, period) in [("64", 64), ("128", 128), ("1024", 1024)] {
            let _server = Server::start(&["-r", "48000", "-p", frames]);
            let seen = Arc::new(Seen::default());
            let mut card = open(&CardSpec::Auto, wanted(Stereo, Stereo), &mut |info| halves(&seen, info)).unwrap();
            let info = card.info().clone();
            assert_eq!((info.backend, info.name.as_str()), (Backend::Jack, "jack:system"));
            assert_eq!((info.rate_hz, info.period_frames), (48_000, period));
            assert!(card.tie_back());
            wait("its own sound is heard", || seen.heard.load(Relaxed) > 48_000);
            assert_eq!(card.poll(0), None);
            let (heard, of_a_period) = (seen.heard.load(Relaxed), seen.of_a_period.load(Relaxed));
            // A machine that stalls makes the server repeat a period now and then.
            assert!(of_a_period > heard / 2, "{period}: {of_a_period} of {heard}");
            // A period's time is the driver's: no more than a stall away from now, on the clock of everything else.
            assert!(seen.off_us.load(Relaxed) < 200_000, "{}", seen.off_us.load(Relaxed));
        }
    });
}

#[test]
fn channels_of_a_card_are_mapped() {
    apart("channels_of_a_card_are_mapped", || {
        for (card_channels, capture, playback, ties) in [
            (
                "1",
                Stereo,
                Stereo,
                ["in_1=capture_1", "in_2=capture_1", "out_1=playback_1", "out_2=playback_1"].as_slice(),
            ),
            ("2", Mono, Mono, &["in_1=capture_1", "out_1=playback_1", "out_1=playback_2"]),
            ("2", Stereo, Stereo, &["in_1=capture_1", "in_2=capture_2", "out_1=playback_1", "out_2=playback_2"]),
            ("8", Stereo, Mono, &["in_1=capture_1", "in_2=capture_2", "out_1=playback_1", "out_1=playback_2"]),
        ] {
            let _server = Server::start(&["-r", "48000", "-p", "256", "-C", card_channels, "-P", card_channels]);
            let seen = Arc::new(Seen::default());
            let spec = "jack:system".parse().unwrap();
            let card = open(&spec, wanted(capture, playback), &mut |info| halves(&seen, info)).unwrap();
            wait("periods", || seen.captured.load(Relaxed) > 10);
            let probe = probe().unwrap();
            let mut found = Vec::new();
            for port in probe.ports(Some("^Duet:"), None, jack::PortFlags::empty()) {
                for other in probe.port_by_name(&port).unwrap().get_connections() {
                    found.push(format!("{port}={other}").replace("Duet:", "").replace("system:", ""));
                }
            }
            found.sort();
            assert_eq!(found, ties, "{card_channels} {capture:?} {playback:?}");
            drop(card);
        }
    });
}

#[test]
fn a_rate_or_a_name_or_no_server_gets_a_sentence() {
    apart("a_rate_or_a_name_or_no_server_gets_a_sentence", || {
        let refusal = |card: &str| {
            let mut make = |_: &CardInfo| Halves::default();
            match open(&card.parse().unwrap(), wanted(Stereo, Stereo), &mut make) {
                Ok(card) => panic!("it opened {:?}", card.info()),
                Err(error) => error,
            }
        };
        assert_eq!(refusal("jack"), CardError::NoJackServer);
        assert_eq!(refusal("none"), CardError::NotWanted);
        {
            let _server = Server::start(&["-r", "44100", "-p", "64"]);
            let sentence = refusal("jack").to_string();
            assert!(sentence.contains("44100 Hz") && sentence.contains("-r 48000"), "{sentence}");
        }
        let _server = Server::start(&["-r", "48000", "-p", "64"]);
        let sentence = refusal("jack:Scarlett (2i2)").to_string();
        assert!(sentence.contains("no client `Scarlett (2i2)`") && sentence.contains("are system"), "{sentence}");
    });
}

#[test]
fn a_period_changes_while_it_runs() {
    apart("a_period_changes_while_it_runs", || {
        let _server = Server::start(&["-r", "48000", "-p", "64"]);
        let seen = Arc::new(Seen::default());
        let mut card = open(&CardSpec::Auto, wanted(Stereo, Mono), &mut |info| halves(&seen, info)).unwrap();
        wait("periods", || seen.captured.load(Relaxed) > 10);
        assert_eq!((card.poll(0), seen.frames.load(Relaxed)), (None, 64));
        probe().unwrap().set_buffer_size(512).unwrap();
        wait("longer periods", || seen.frames.load(Relaxed) == 512);
        assert_eq!(card.poll(0), Some(Change::Period(512)));
        assert_eq!(card.poll(0), None);
    });
}

fn next(news: &Receiver<News>) -> News {
    news.recv_timeout(PATIENCE).expect("news")
}

#[test]
fn a_server_that_starts_late_or_again_is_found() {
    apart("a_server_that_starts_late_or_again_is_found", || {
        let (tell, news) = channel();
        let seen = Arc::new(Mutex::new(Arc::new(Seen::default())));
        let each = seen.clone();
        let make = move |info: &CardInfo| {
            let fresh = Arc::new(Seen::default());
            *each.lock().unwrap() = fresh.clone();
            halves(&fresh, info)
        };
        let tell = move |what| tell.send(what).unwrap();
        let kept = Kept::start(CardSpec::Jack(None), wanted(Stereo, Stereo), Box::new(make), Box::new(tell)).unwrap();
        assert_eq!(next(&news), News::Without(CardError::NoJackServer.to_string()));
        for period in ["64", "128"] {
            let server = Server::start(&["-r", "48000", "-p", period]);
            let begin = Instant::now();
            let News::Open(info) = next(&news) else { panic!("it is not open") };
            println!("open {} ms after the server answers", begin.elapsed().as_millis());
            assert_eq!(info.period_frames.to_string(), period);
            let fresh = seen.lock().unwrap().clone();
            wait("sound again", || fresh.captured.load(Relaxed) > 100);
            drop(server);
            assert_eq!(next(&news), News::Without("the JACK server has ended".to_owned()));
            assert_eq!(next(&news), News::Without(CardError::NoJackServer.to_string()));
        }
        drop(kept);
        assert!(news.recv_timeout(PATIENCE).is_err(), "the card's thread has ended");
    });
}

/// ALSA's streams, by ALSA's own way to JACK, tied with each other there.
#[test]
fn alsa_has_two_streams_that_are_timed() {
    apart("alsa_has_two_streams_that_are_timed", || {
        let server = Server::start(&["-r", "48000", "-p", "64"]);
        let file = std::env::temp_dir().join(std::env::var("JACK_DEFAULT_SERVER").unwrap());
        let ports = |kind| format!("{{ 0 system:{kind}_1 1 system:{kind}_2 }}");
        let (capture, playback) = (ports("capture"), ports("playback"));
        let text = format!(
            "</usr/share/alsa/alsa.conf>\npcm.!default {{ type jack capture_ports {capture} playback_ports {playback} }}\n"
        );
        std::fs::write(&file, text).unwrap();
        // SAFETY: no other thread of this process looks at its environment.
        unsafe { std::env::set_var("ALSA_CONFIG_PATH", &file) };
        let seen = Arc::new(Seen::default());
        let spec = "alsa:default".parse().unwrap();
        let opened = open(&spec, wanted(Mono, Stereo), &mut |info| halves(&seen, info));
        std::fs::remove_file(&file).unwrap();
        let mut card = opened.unwrap();
        println!("{:?}", card.info());
        wait("periods", || seen.captured.load(Relaxed) > 100);
        let probe = probe().unwrap();
        let all = probe.ports(None, None, jack::PortFlags::empty());
        let port = |end: &str| all.iter().find(|port| port.ends_with(end)).unwrap();
        probe.connect_ports_by_name(port("out_000"), port("in_000")).unwrap();
        wait("its own sound is heard", || seen.heard.load(Relaxed) > 48_000);
        assert_eq!(card.poll(0), None);
        // Both streams count from one zero, so that the frames under way are those of their buffers, give or take a few periods.
        let delay = seen.delay.load(Relaxed);
        println!("{delay} frames, {} late periods", card.xruns());
        assert!((delay + 1000) % WRAP < 10_000, "{delay}");
        drop(probe);
        drop(server);
        let begin = Instant::now();
        wait("the end of the card", || matches!(card.poll(begin.elapsed().as_micros() as u64), Some(Change::Gone(_))));
    });
}
