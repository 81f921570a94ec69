//! Cameras, sound cards and what this computer lacks, looked at on threads of their own, and the chosen camera's picture.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use common::units::Bitrate;
use net::lock::lock;
use picture::effects::Effects;
use sending::source::{SourceSpec, cameras, open, rate_text};
use shell::cli::CommonFlags;
use shell::settings::{OwnPicture, OwnSide};
use shell::threads::spawn;

use crate::chosen::Configuration;
use crate::facts::{Choice, Finding};

/// Something found.
pub(crate) enum Found {
    Cameras(Vec<Choice>),
    Cards(Vec<Choice>),
    Checks(Vec<Finding>),
}

/// Those who look.
pub(crate) struct Lookout {
    flags: CommonFlags,
    give: Sender<Found>,
    found: Receiver<Found>,
    preview: Option<Preview>,
}

struct Preview {
    own: OwnSide,
    ends: Arc<AtomicBool>,
    trouble: Arc<Mutex<Option<String>>>,
    thread: JoinHandle<()>,
}

impl Lookout {
    pub(crate) fn new(flags: CommonFlags) -> Self {
        let (give, found) = channel();
        Self { flags, give, found, preview: None }
    }

    /// Looks for cameras and sound cards; what is found comes with [`Self::found`].
    pub(crate) fn search(&self) {
        let (flags, give) = (self.flags.clone(), self.give.clone());
        let look = move || {
            let Ok(Configuration { config, .. }) = Configuration::read(&flags) else { return };
            let seen = cameras(config.size, config.frame_rate).into_iter().map(|camera| {
                let about = match (&camera.problem, &camera.chosen) {
                    (Some(problem), _) => (problem.clone(), true),
                    (None, Some(chosen)) => {
                        let mode = format!("{}, {} / s", chosen.size(), rate_text(chosen.rate()));
                        (format!("{mode}: {}", chosen.why), false)
                    }
                    (None, None) => (String::new(), false),
                };
                Choice { spec: format!("camera:index={}", camera.index), name: camera.name, about }
            });
            let _ = give.send(Found::Cameras(seen.collect()));
            let cards = shell::devices::cards().into_iter().map(|card| {
                let about = card.problem.map_or_else(|| (card.description, false), |problem| (problem, true));
                Choice { spec: card.name.clone(), name: card.name, about }
            });
            let _ = give.send(Found::Cards(cards.collect()));
        };
        let _ = spawn("devices", move || {
            look();
            Ok(())
        });
    }

    /// Looks at what the computer lacks, which takes some seconds.
    pub(crate) fn examine(&self) {
        let (flags, give) = (self.flags.clone(), self.give.clone());
        let _ = spawn("doctor", move || {
            let checks = match Configuration::read(&flags) {
                Ok(read) => shell::doctor::shared(&read.config.shared),
                Err(failure) => vec![shell::doctor::Check::of("configuration", Err(failure))],
            };
            // Whom one knows, and by which key, is another page's.
            let checks = checks.into_iter().filter(|check| !["identity", "peers", "address"].contains(&check.name));
            let findings =
                checks.map(|check| Finding { status: check.status, detail: check.detail, advice: check.advice });
            let _ = give.send(Found::Checks(findings.collect()));
            Ok(())
        });
    }

    /// Returns what has been found since.
    pub(crate) fn found(&self) -> Vec<Found> {
        self.found.try_iter().collect()
    }

    /// Shows the configured camera, anew.
    pub(crate) fn begin_preview(&mut self) {
        self.end_preview();
        let rate = Bitrate::from_bps(1_000_000);
        let own = OwnSide::new(rate, rate, Effects::default());
        own.watch(true);
        let (ends, trouble) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (side, stop, said, flags) = (own.clone(), Arc::clone(&ends), Arc::clone(&trouble), self.flags.clone());
        let show = move || {
            if let Err(failure) = show_source(&flags, &side, &stop) {
                *lock(&said) = Some(failure.message);
            }
        };
        if let Ok(thread) = std::thread::Builder::new().name("preview".to_owned()).spawn(show) {
            self.preview = Some(Preview { own, ends, trouble, thread });
        }
    }

    /// Lets go of the camera, and waits until that is done.
    pub(crate) fn end_preview(&mut self) {
        if let Some(preview) = self.preview.take() {
            preview.ends.store(true, Ordering::Relaxed);
            let _ = preview.thread.join();
        }
    }

    /// Returns the newest picture of the camera, if there is one.
    pub(crate) fn picture(&self) -> Option<OwnPicture> {
        self.preview.as_ref()?.own.take()
    }

    /// Returns why the camera shows nothing, once.
    pub(crate) fn trouble(&self) -> Option<String> {
        lock(&self.preview.as_ref()?.trouble).take()
    }
}

fn show_source(flags: &CommonFlags, own: &OwnSide, ends: &AtomicBool) -> Result<(), net::failure::Failure> {
    let Configuration { file, config, .. } = Configuration::read(flags)?;
    let spec = SourceSpec::parse(&file.video.source)?;
    let mut source = open(&spec, &config)?;
    let info = source.info();
    let mut memory = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let Some(frame) = source.next(memory)? else { return Ok(()) };
        let info = frame.info.unwrap_or(info);
        own.on_picture(frame.format, info.size, info.colour, &frame.data);
        memory = frame.data.into_memory().unwrap_or_default();
    }
    Ok(())
}
