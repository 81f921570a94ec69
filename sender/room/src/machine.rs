//! Cameras, sound cards and what this computer lacks, looked at on threads of their own, and the chosen camera's picture.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use common::units::Bitrate;
use net::failure::Failure;
use net::lock::lock;
use picture::effects::Effects;
use sending::source::health::Health;
use sending::source::{SourceSpec, cameras, open, rate_text};
use shell::cli::CommonFlags;
use shell::settings::{OwnPicture, OwnSide};
use shell::threads::spawn;

use crate::code;
use crate::computer::mend::Mend;
use crate::computer::trial::Trial;
use crate::examination::findings;
use crate::facts::{Choice, Finding};
use crate::files::chosen::Configuration;

/// Pictures of the camera from one that is searched for a code to the next: a search takes as long as several pictures do.
const READ_EACH: u32 = 6;

/// Something found.
pub(crate) enum Found {
    Cameras(Vec<Choice>),
    Cards(Vec<Choice>),
    Checks(Vec<Finding>),
    /// The thing that was to be mended, and what became of that.
    Mended(Mend, Result<(), Failure>),
    /// A link in a code that was held before the camera.
    Link(String),
}

/// Those who look.
pub(crate) struct Lookout {
    flags: CommonFlags,
    give: Sender<Found>,
    found: Receiver<Found>,
    preview: Option<Preview>,
    trial: Option<Trial>,
}

struct Preview {
    own: OwnSide,
    /// Ends it.
    health: Arc<Health>,
    trouble: Arc<Mutex<Option<String>>>,
    thread: JoinHandle<()>,
}

impl Lookout {
    pub(crate) fn new(flags: CommonFlags) -> Self {
        let (give, found) = channel();
        Self { flags, give, found, preview: None, trial: None }
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
        let give = self.give.clone();
        let _ = spawn("doctor", move || {
            // The window may have gone.
            let _ = give.send(Found::Checks(findings()));
            Ok(())
        });
    }

    /// Mends something, and examines the computer again.
    pub(crate) fn mend(&self, mend: Mend) {
        let give = self.give.clone();
        let _ = spawn("mending", move || {
            // The window may have gone.
            let _ = give.send(Found::Mended(mend, mend.run()));
            let _ = give.send(Found::Checks(findings()));
            Ok(())
        });
    }

    /// Returns what has been found since.
    pub(crate) fn found(&self) -> Vec<Found> {
        self.found.try_iter().collect()
    }

    /// Shows the configured camera, anew. `reads`: whether codes that are held before it are read.
    pub(crate) fn begin_preview(&mut self, reads: bool) {
        self.end_camera();
        let rate = Bitrate::from_bps(1_000_000);
        let own = OwnSide::new(rate, rate, Effects::default());
        own.watch(true);
        let (health, trouble) = (Arc::<Health>::default(), Arc::new(Mutex::new(None)));
        let (side, stop, said, flags) = (own.clone(), Arc::clone(&health), Arc::clone(&trouble), self.flags.clone());
        let give = reads.then(|| self.give.clone());
        let show = move || {
            if let Err(failure) = show_source(&flags, &side, &stop, give.as_ref()) {
                *lock(&said) = Some(failure.message);
            }
        };
        if let Ok(thread) = std::thread::Builder::new().name("preview".to_owned()).spawn(show) {
            self.preview = Some(Preview { own, health, trouble, thread });
        }
    }

    /// Opens the configured sound card, anew.
    pub(crate) fn begin_trial(&mut self) {
        self.trial = None;
        self.trial = Configuration::read(&self.flags).ok().and_then(|read| Trial::begin(&read.config.shared));
    }

    /// Returns the sound card on trial.
    pub(crate) fn trial(&self) -> Option<&Trial> {
        self.trial.as_ref()
    }

    /// Lets go of camera and sound card, and waits until that is done.
    pub(crate) fn end_preview(&mut self) {
        self.trial = None;
        self.end_camera();
    }

    fn end_camera(&mut self) {
        if let Some(preview) = self.preview.take() {
            preview.health.end();
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

/// Shows the configured source until `health` ends it; links in codes that are seen go to `links`.
fn show_source(
    flags: &CommonFlags,
    own: &OwnSide,
    health: &Arc<Health>,
    links: Option<&Sender<Found>>,
) -> Result<(), Failure> {
    let Configuration { file, config, .. } = Configuration::read(flags)?;
    let spec = SourceSpec::parse(&file.video.source)?;
    let mut source = open(&spec, &config)?;
    source.share(Arc::clone(health));
    let info = source.info();
    let (mut memory, mut count) = (Vec::new(), 0_u32);
    while !health.ends_within(Duration::ZERO) {
        let Some(frame) = source.next(memory)? else { return Ok(()) };
        let info = frame.info.unwrap_or(info);
        own.on_picture(frame.format, info.size, info.colour, &frame.data, frame.capture);
        count = count.wrapping_add(1);
        if let Some(links) = links.filter(|_| count.is_multiple_of(READ_EACH))
            && let Some(link) = code::link_in(frame.format, info.size, &frame.data)
        {
            // The window may have gone.
            let _ = links.send(Found::Link(link));
            return Ok(());
        }
        memory = frame.data.into_memory().unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    /// The window waits for it when somebody leaves the settings.
    #[test]
    fn a_source_without_pictures_is_let_go_of_at_once() {
        let path = std::env::temp_dir().join(format!("duet-lookout-{}.toml", std::process::id()));
        std::fs::write(&path, "[video]\nsource = \"none\"\n").unwrap();
        let mut lookout = Lookout::new(CommonFlags { config: Some(path.clone()), ..CommonFlags::default() });
        lookout.begin_preview(false);
        lookout.end_preview();
        assert!(lookout.picture().is_none());
        std::fs::remove_file(path).unwrap();
    }
}
