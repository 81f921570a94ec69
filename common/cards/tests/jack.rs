//! Cards on a JACK server: the dummy driver of jackd, each test with a server of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cards::keep::{Kept, Make, News};
use cards::{Backend, Capture, CardError, CardInfo, CardSpec, Change, Halves, Playback, Wanted, open};
use jack::{Client, ClientOptions};
use sound::Cycle;
use sound::format::Channels::{self, Mono, Stereo};

/// Nothing here takes so long on any machine; who waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `body` in a process of its own, in which `JACK_DEFAULT_SERVER` names a server that nobody else has.
fn apart(test: &str, body: impl FnOnce()) {
    apart_on("jackd", &[], test, body);
}

/// The same where `server` is installed, through a program that lets it be found.
fn apart_on(server: &str, through: &[&str], test: &str, body: impl FnOnce()) {
    if std::env::var_os("DUET_TEST_APART").is_some() {
        return body();
    }
    let is_there =
        |program| Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !is_there(server) || !through.iter().all(|&program| is_there(program)) {
        let skipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/skipped");
        let note = format!("JACK: {test}; there is no {server}");
        assert!(Command::new(skipped).args(["note", &note]).status().unwrap().success());
        return;
    }
    // Servers meet in shared memory, which has room for eight and keeps those that were killed: each test has its own.
    let private = "mount -t tmpfs none /dev/shm 2>/dev/null; exec \"$@\"";
    let mut command = Command::new("unshare");
    let is_root =
        Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    command.args(if is_root { ["--mount"].as_slice() } else { &["--map-root-user", "--mount"] });
    command.args(["sh", "-c", private, "sh"]).args(through).arg(std::env::current_exe().unwrap());
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

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = self.0.id().to_string();
        let _ = Command::new("kill").arg(&id).status();
        // One that is stopped ends when it goes on.
        let _ = Command::new("kill").args(["-CONT", &id]).status();
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
fn without_a_server_nothing_is_left_in_shared_memory() {
    apart("without_a_server_nothing_is_left_in_shared_memory", || {
        let look = || {
            let opened = open(&CardSpec::Jack(None), wanted(Stereo, Stereo), &mut |_| Halves::default());
            assert_eq!(opened.map(drop), Err(CardError::NoJackServer));
            assert!(cards::list().iter().all(|card| card.backend != Backend::Jack));
            let left = std::fs::read_dir("/dev/shm").unwrap().map(|entry| entry.unwrap().file_name());
            left.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(look(), [""; 0]);
        // The socket of a server that was killed.
        let socket = format!("jack_{}_0_0", std::env::var("JACK_DEFAULT_SERVER").unwrap());
        drop(UnixListener::bind(format!("/dev/shm/{socket}")).unwrap());
        assert_eq!(look(), [socket]);
    });
}

#[test]
fn a_server_that_hangs_gets_a_sentence_and_is_found_when_it_goes_on() {
    apart("a_server_that_hangs_gets_a_sentence_and_is_found_when_it_goes_on", || {
        let server = Server::start(&["-r", "48000", "-p", "64"]);
        server.signal("-STOP");
        let open = || open(&CardSpec::Jack(None), wanted(Stereo, Stereo), &mut |_| Halves::default()).map(drop);
        assert_eq!(open(), Err(CardError::JackHangs));
        assert_eq!(open(), Err(CardError::JackHangs), "a second attempt beside the first");
        assert!(cards::list().iter().all(|card| card.backend != Backend::Jack));
        server.signal("-CONT");
        wait("it opens", || open().is_ok());
    });
}

/// Nothing is asked of the result: a call that waits for the server never comes back.
#[test]
fn a_server_that_hangs_is_waited_for_neither_by_ties_nor_at_the_end() {
    apart("a_server_that_hangs_is_waited_for_neither_by_ties_nor_at_the_end", || {
        let server = Server::start(&["-r", "48000", "-p", "64"]);
        let card = open(&CardSpec::Jack(None), wanted(Stereo, Stereo), &mut |_| Halves::default()).unwrap();
        server.signal("-STOP");
        card.tie_back();
        drop(card);
        server.signal("-CONT");
    });
}

#[test]
fn a_server_that_hangs_while_its_card_is_kept_is_told_and_found_when_it_goes_on() {
    apart("a_server_that_hangs_while_its_card_is_kept_is_told_and_found_when_it_goes_on", || {
        let server = Server::start(&["-r", "48000", "-p", "64"]);
        let (tell, news) = channel();
        let (make, seen) = fresh_halves();
        let tell = move |what| tell.send(what).unwrap();
        let _kept = Kept::start(CardSpec::Jack(None), wanted(Stereo, Stereo), make, Box::new(tell)).unwrap();
        for _ in 0..2 {
            assert!(matches!(next(&news), News::Open(_)));
            let fresh = seen.lock().unwrap().clone();
            wait("sound", || fresh.captured.load(Relaxed) > 100);
            server.signal("-STOP");
            assert_eq!(next(&news), News::Without("the sound card calls no more".to_owned()));
            assert_eq!(next(&news), News::Without(CardError::JackHangs.to_string()));
            server.signal("-CONT");
        }
        assert!(matches!(next(&news), News::Open(_)));
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

/// Returns what makes halves that each see for themselves, and those made last.
fn fresh_halves() -> (Make, Arc<Mutex<Arc<Seen>>>) {
    let seen = Arc::<Mutex<Arc<Seen>>>::default();
    let each = seen.clone();
    let make = move |info: &CardInfo| {
        let fresh = Arc::new(Seen::default());
        *each.lock().unwrap() = fresh.clone();
        halves(&fresh, info)
    };
    (Box::new(make), seen)
}

fn next(news: &Receiver<News>) -> News {
    news.recv_timeout(PATIENCE).expect("news")
}

#[test]
fn a_server_that_starts_late_or_again_is_found() {
    apart("a_server_that_starts_late_or_again_is_found", || {
        let (tell, news) = channel();
        let (make, seen) = fresh_halves();
        let tell = move |what| tell.send(what).unwrap();
        let kept = Kept::start(CardSpec::Jack(None), wanted(Stereo, Stereo), make, Box::new(tell)).unwrap();
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

/// PipeWire with nothing but a clock, in a folder of its own.
struct PipeWire(Child);

impl PipeWire {
    /// Makes the folder in which servers and programs meet.
    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(std::env::var("JACK_DEFAULT_SERVER").unwrap());
        std::fs::create_dir_all(&folder).unwrap();
        // SAFETY: no other thread of this process looks at its environment.
        unsafe { std::env::set_var("PIPEWIRE_RUNTIME_DIR", &folder) };
        folder
    }

    fn start() -> Self {
        let command = &mut Command::new("pipewire");
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for PipeWire {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

#[test]
fn pipewire_has_the_period_that_is_asked_for_also_after_it_has_started_anew() {
    let test = "pipewire_has_the_period_that_is_asked_for_also_after_it_has_started_anew";
    apart_on("pipewire", &["pw-jack"], test, || {
        let folder = PipeWire::folder();
        let (tell, news) = channel();
        let (make, seen) = fresh_halves();
        let tell = move |what| drop(tell.send(what));
        let mut server = PipeWire::start();
        let kept = Kept::start(CardSpec::Jack(None), wanted(Stereo, Stereo), make, Box::new(tell)).unwrap();
        for round in 0..2 {
            let info = loop {
                if let News::Open(info) = next(&news) {
                    break info;
                }
            };
            assert_eq!((info.backend, info.period_frames), (Backend::Jack, 64));
            let fresh = seen.lock().unwrap().clone();
            // Unless it is asked, it has 1024.
            wait("periods as short as those asked for", || fresh.frames.load(Relaxed) == 64);
            drop(server);
            if round == 0 {
                // It ends without a word to its clients.
                assert!(matches!(next(&news), News::Without(_)));
            }
            server = PipeWire::start();
        }
        drop(kept);
        drop(server);
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

/// Opens a card twice, as two programs do: both have its sound, each on ports of its own.
fn is_shared() {
    wait("the server answers", || probe().is_some());
    let mut metro = Command::new("jack_metro");
    metro.args(["--name", "metro", "--bpm", "60"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut metro = metro.spawn().unwrap();
    let probe = probe().unwrap();
    wait("the card", || probe.port_by_name("metro:60_bpm").is_some());
    let spec: CardSpec = "jack:metro".parse().unwrap();
    let seen = [(); 2].map(|()| Arc::new(Seen::default()));
    let cards = [0, 1].map(|at| open(&spec, wanted(Stereo, Stereo), &mut |info| halves(&seen[at], info)).unwrap());
    wait("periods of both", || seen.iter().all(|seen| seen.captured.load(Relaxed) > 50));
    let inputs = probe.ports(Some("^Duet.*:in_"), None, jack::PortFlags::IS_INPUT);
    assert_eq!(inputs.len(), 4, "{inputs:?}");
    let has_sound = |name: &String| probe.port_by_name(name).unwrap().connected_count() == Ok(1);
    wait("its sound on all ports", || inputs.iter().all(has_sound));
    drop(cards);
    metro.kill().unwrap();
    metro.wait().unwrap();
}

#[test]
fn two_programs_have_one_card_of_jack() {
    apart("two_programs_have_one_card_of_jack", || {
        let _server = Server::start(&["-r", "48000", "-p", "64"]);
        is_shared();
    });
}

#[test]
fn two_programs_have_one_card_of_pipewire() {
    apart_on("pipewire", &["pw-jack"], "two_programs_have_one_card_of_pipewire", || {
        let folder = PipeWire::folder();
        let server = PipeWire::start();
        is_shared();
        drop(server);
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

/// A plug-in of ALSA whose card another program has.
const TAKEN: &str = "\
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
SND_PCM_PLUGIN_DEFINE_FUNC(taken) { return -EBUSY; }
SND_PCM_PLUGIN_SYMBOL(taken)
";

/// Makes ALSA's `default` what this text says, and opens it: the sentence why that fails.
fn refusal(of: &str) -> String {
    let file = std::env::temp_dir().join(format!("duet-alsa-{}.conf", std::process::id()));
    std::fs::write(&file, format!("</usr/share/alsa/alsa.conf>\n{of}\n")).unwrap();
    // SAFETY: no other thread of this process looks at its environment.
    unsafe { std::env::set_var("ALSA_CONFIG_PATH", &file) };
    let seen = Arc::new(Seen::default());
    let refused = open(&"alsa:default".parse().unwrap(), wanted(Mono, Stereo), &mut |info| halves(&seen, info));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(Arc::strong_count(&seen), 1, "no halves are left");
    refused.err().unwrap().to_string()
}

#[test]
fn a_card_of_alsa_that_another_program_has_gets_a_sentence() {
    apart("a_card_of_alsa_that_another_program_has_gets_a_sentence", || {
        let [source, library] =
            ["c", "so"].map(|end| std::env::temp_dir().join(format!("duet-taken-{}.{end}", std::process::id())));
        std::fs::write(&source, TAKEN).unwrap();
        let compiled = Command::new("cc").args(["-DPIC", "-shared", "-fPIC", "-o"]).args([&library, &source]).status();
        assert!(compiled.unwrap().success());
        let said =
            refusal(&format!("pcm_type.taken {{ lib \"{}\" }}\npcm.!default {{ type taken }}", library.display()));
        [source, library].iter().for_each(|file| std::fs::remove_file(file).unwrap());
        assert!(said.contains("another program has the sound card `default`: close it"), "{said}");
    });
}

#[test]
fn a_card_of_alsa_without_48_khz_gets_a_sentence() {
    apart("a_card_of_alsa_without_48_khz_gets_a_sentence", || {
        let _server = Server::start(&["-r", "44100", "-p", "64"]);
        let ports = |kind| format!("{{ 0 system:{kind}_1 1 system:{kind}_2 }}");
        let (capture, playback) = (ports("capture"), ports("playback"));
        let said = refusal(&format!("pcm.!default {{ type jack capture_ports {capture} playback_ports {playback} }}"));
        assert!(said.contains("the sound card `default` runs at 44100 Hz") && said.contains("plughw"), "{said}");
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
