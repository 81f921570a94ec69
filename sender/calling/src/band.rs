//! A band: a call with each of several machines, of which one camera and one encoder send to all.
//!
//! Each call has its own loop, path, keys, rate and protection, on a thread of its own, and its own decoder: one that ends, fails or
//! falls out leaves the others alone.

#[cfg(feature = "window")]
use std::sync::atomic::Ordering;

use common::config::{ReceiverConfig, SenderConfig};
use common::path::uplink::Uplink;
use common::units::Bitrate;
use net::failure::Failure;
use net::link::{HangUp, LinkOptions, LiveRate, Waker};
use net::tls::Protocol;
use sending::source::SourceSpec;
use sending::{Other, SenderLink, Sending, Start, Threads};
use shell::control::{self, Setting};
use shell::record::Switch;
use shell::sd::Pulse;
use shell::settings::{LatencyLimit, OwnSide, SoundSide, TalkSide};
use shell::signals;
use shell::tap::PictureTap;
use shell::threads::{Ending, join, spawn};
use showing::sink::{self, Sink, SinkSpec, WindowParts};
use showing::{ReceiverLink, Resolved, Shows, run_over};

use crate::audience::{self, Audience};
use crate::beside;
use crate::handle::Handle;
use crate::recordings::Recordings;
use crate::sound::{self, Line, SoundEnd};
#[cfg(feature = "window")]
use crate::stage::BandView;
use crate::stage::Stage;
use crate::turn::Turn;

/// Calls with several machines that are set up and have not begun.
pub struct Band {
    members: Vec<Member>,
    threads: Threads,
    sound: Option<SoundEnd>,
    audience: Option<Audience>,
    window: Option<(WindowParts, bool)>,
    _control: Option<control::Control>,
}

/// A call with one of them.
struct Member {
    name: String,
    handle: Handle,
    waker: Waker,
    link: SenderLink,
    sound: Option<Line>,
    pulse: Pulse,
    options: LinkOptions,
    receiving: ReceiverConfig,
    sinks: Vec<SinkSpec>,
    rate: Bitrate,
    frames_max: Option<u64>,
    shown: Option<PictureTap>,
}

impl Band {
    /// Opens the source and the encoder. `config` has the connection to the first member and all that is sent, `receiving` what becomes
    /// of its pictures; `others` the same of the others, of whose configurations the connection counts.
    pub fn open(
        config: &SenderConfig,
        spec: &SourceSpec,
        receiving: &Resolved,
        others: &[(SenderConfig, Resolved)],
        frames_max: Option<u64>,
    ) -> Result<Self, Failure> {
        if receiving.sinks.iter().any(|sink| matches!(sink, SinkSpec::V4l2(_))) {
            return Err(Failure::usage(
                "a virtual camera takes the pictures of one machine, and a band has several: leave --sink v4l2 out",
            ));
        }
        let all: Vec<_> = std::iter::once((config, receiving)).chain(others.iter().map(|(of, it)| (of, it))).collect();
        let wakers: Vec<_> = all.iter().map(|_| Waker::default()).collect();
        let own = OwnSide::new(config.rate, config.rate_most, config.effects);
        let rate = LiveRate::new(config.rate);
        let mut audience = Audience::start(config, all.len() + 1, &own, &rate)?;
        let tap = audience.as_mut().and_then(Audience::sound);
        let (lines, sound) = match sound::start(&config.shared, &wakers, true, true, tap)? {
            Some((lines, end)) => (lines.into_iter().map(Some).collect(), Some(end)),
            None => (wakers.iter().map(|_| None).collect::<Vec<_>>(), None),
        };
        let side = |line: &Option<Line>| line.as_ref().map(|line| line.audible.side.clone());
        let receivers = others.iter().zip(wakers.iter().zip(&lines).skip(1)).map(|((of_other, _), (waker, line))| {
            Other { waker, shared: &of_other.shared, rate: LiveRate::new(config.rate), sound: side(line) }
        });
        let first_side = lines.first().and_then(side);
        let mut settings = own.settings();
        settings.extend(first_side.iter().flat_map(SoundSide::settings));
        let of_first = Start { sound: first_side, rate, ..Start::new(config, &wakers[0], &own) };
        let start = Start { frames_max, others: receivers.collect(), ..of_first };
        let mut sending = Sending::from_spec(config, spec, start)?;
        let options = |link: &SenderLink, of: &SenderConfig| sending.options_of(link, of, Protocol::BothWays);
        let links = std::iter::once(&sending.link).chain(&sending.other_links);
        let options: Vec<_> = links.zip(&all).map(|(link, (of, _))| options(link, of)).collect::<Result<_, _>>()?;
        let latency_limit = LatencyLimit::new(receiving.config.latency_max);
        settings.push(latency_limit.setting());
        let links = std::iter::once(sending.link).chain(sending.other_links.drain(..));
        let with_sound = links.zip(lines).zip(options);
        let members = with_sound.zip(wakers).zip(&all).map(|((((link, sound), options), waker), (of, it))| {
            let talk = TalkSide::new(waker.clone());
            let handle = Handle {
                own: own.clone(),
                latency_limit: latency_limit.clone(),
                sound: sound.as_ref().map(|line| line.audible.clone()),
                recordings: Recordings { received: Switch::default(), sent: link.recording(), talk: talk.clone() },
                talk,
                hang_up: HangUp::new(waker.clone()),
                view: Default::default(),
            };
            let name = of.shared.peers.first().map(|peer| peer.name.clone()).unwrap_or_default();
            let rate = Uplink::even(config.rate, all.len());
            let shown = audience.as_mut().and_then(Audience::shown);
            let (receiving, sinks, pulse) = (it.config.clone(), sinks_of(&it.sinks, &name), sending.pulse.clone());
            Member { name, handle, waker, link, sound, pulse, options, receiving, sinks, rate, frames_max, shown }
        });
        let members: Vec<_> = members.collect();
        for Member { handle, receiving, .. } in &members {
            handle.talk.set_recording(config.record.is_some() || receiving.record.is_some());
        }
        settings.extend(to_all(members.iter().map(|member| member.handle.talk.setting()).collect()));
        let control = control::serve("sender", &config.shared, settings);
        let is_fullscreen = receiving.sinks.iter().find_map(|sink| match sink {
            SinkSpec::Window { fullscreen } => Some(*fullscreen),
            _ => None,
        });
        let parts = WindowParts {
            backend: receiving.config.window,
            status_line: false,
            snapshot: receiving.config.snapshot,
            own: Some(own),
            latency_limit,
            sound: members.first().and_then(|member| member.handle.sound.clone()),
        };
        let window = is_fullscreen.map(|is_fullscreen| (parts, is_fullscreen));
        Ok(Self { members, threads: sending.threads, sound, audience, window, _control: control })
    }

    /// Sends and receives until all calls have ended, the window is closed or a signal comes. A call that fails leaves the others alone.
    /// Call it on the main thread, on which a window must live.
    pub fn run(self) -> Result<(), Failure> {
        let (names, handles) = (self.names(), self.handles());
        let Self { members, threads, sound, audience, window, _control } = self;
        let stage = window.map(|parts| Stage::open(parts, &names, &handles)).transpose();
        let (stage, opened) = match stage {
            Ok(stage) => (stage, Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let (mut started, mut ended) = (Vec::new(), opened);
        if ended.is_ok() {
            let tiles = (0..members.len()).map(|place| stage.as_ref().map(|stage| stage.tile(place)));
            started = begin(members, tiles);
            if let Some(stage) = stage {
                let is_over = || started.iter().flatten().all(Ending::is_finished);
                ended = stage.run(is_over);
                handles.iter().for_each(Handle::hang_up);
            }
        }
        ended = joined(started, ended);
        signals::end_within(signals::END_MAX);
        let ended = threads.end(ended).and(sound.map_or(Ok(()), SoundEnd::end));
        ended.and(audience.map_or(Ok(()), Audience::end))
    }
}

#[cfg(feature = "window")]
impl Band {
    /// As [`Self::run`] on this thread, in a window that is open already: `show` hands the view to the thread of that.
    pub fn run_with(self, show: impl FnOnce(BandView) -> Result<(), Failure>) -> Result<(), Failure> {
        let (names, handles) = (self.names(), self.handles());
        let Self { members, threads, sound, audience, window, _control } = self;
        let Some((parts, _)) = window else {
            return Err(Failure::usage("a band that is seen needs the sink `window`"));
        };
        let view = BandView::new(parts, &names, &handles);
        let tiles: Vec<_> = (0..members.len()).map(|place| Some(view.tile(place))).collect();
        let is_over = view.end();
        let mut ended = show(view);
        if ended.is_ok() {
            ended = joined(begin(members, tiles.into_iter()), ended);
        }
        is_over.store(true, Ordering::Relaxed);
        let ended = threads.end(ended).and(sound.map_or(Ok(()), SoundEnd::end));
        ended.and(audience.map_or(Ok(()), Audience::end))
    }
}

impl Band {
    /// Returns what a window shows and steers of each call, in the order of the members.
    pub fn handles(&self) -> Vec<Handle> {
        self.members.iter().map(|member| member.handle.clone()).collect()
    }

    fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }

    /// Ends it before it has begun.
    pub fn give_up(self) -> Result<(), Failure> {
        let ended = self.threads.end(Ok(())).and(self.sound.map_or(Ok(()), SoundEnd::end));
        ended.and(self.audience.map_or(Ok(()), Audience::end))
    }
}

/// Begins the call with each, whose pictures go to its tile, if there is one.
fn begin(
    members: Vec<Member>,
    tiles: impl Iterator<Item = Option<Box<dyn Sink + Send>>>,
) -> Vec<Result<Ending, Failure>> {
    let start = |(member, tile): (Member, _)| {
        let name = member.name.clone();
        let told = move |failure: &Failure| {
            tracing::warn!("the call with {name} has ended: {failure}; the others go on");
        };
        spawn("member", move || member.run(tile).inspect_err(told))
    };
    members.into_iter().zip(tiles).map(start).collect()
}

/// Waits until all calls have ended.
fn joined(started: Vec<Result<Ending, Failure>>, ended: Result<(), Failure>) -> Result<(), Failure> {
    started.into_iter().fold(ended, |ended, thread| {
        let of_member = thread.and_then(join);
        ended.and(of_member)
    })
}

impl Member {
    /// Turns the call, on this thread and others of its own, until it has ended.
    fn run(self, tile: Option<Box<dyn Sink + Send>>) -> Result<(), Failure> {
        let Self { handle, waker, link, mut sound, pulse, options, receiving, sinks, rate, frames_max, shown, .. } =
            self;
        let turn = Turn { handle, waker, link, options, rate };
        let network = turn.network(pulse, shown.map(audience::seen), false);
        let turn = move |receiver_link: ReceiverLink| {
            let linked = turn.run(sound.as_mut(), receiver_link);
            sound.iter_mut().for_each(Line::end_recording);
            linked
        };
        let shows = match tile {
            None => Shows::Specs(&sinks),
            Some(tile) => Shows::Own(Box::new(|parts| {
                let tile: Box<dyn Sink> = tile;
                let others = sinks.iter().map(|spec| sink::open(spec, &parts, false));
                std::iter::once(Ok(tile)).chain(others).collect()
            })),
        };
        run_over(network, &receiving, shows, frames_max, turn).map(drop)
    }
}

/// Returns one setting in place of those that are the same for each member.
fn to_all(settings: Vec<Setting>) -> Option<Setting> {
    let (key, takes) = settings.first().map(|first| (first.key, first.takes.clone()))?;
    let set = move |value: &str| settings.iter().map(|setting| (setting.set)(value)).fold(None, Option::or);
    Some(Setting { key, takes, set: Box::new(set) })
}

/// Returns the sinks of a member's own: files have its name, and the window is that of all.
fn sinks_of(sinks: &[SinkSpec], name: &str) -> Vec<SinkSpec> {
    let own = |sink: &SinkSpec| match sink {
        SinkSpec::Window { .. } => None,
        SinkSpec::Y4m(path) => Some(SinkSpec::Y4m(beside::of_name(path, name))),
        other => Some(other.clone()),
    };
    sinks.iter().filter_map(own).collect()
}
