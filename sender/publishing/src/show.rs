//! The show that a host sees and hears, picture by picture: composed, coded and given to the relay as far as the call leaves room for it.

use std::sync::Arc;
use std::time::Duration;

use common::stats::{Audience, AudienceCounts};
use common::units::Timestamp;
use moq_net::origin;
use net::clock;
use net::failure::Failure;
use net::link::LiveRate;
use shell::settings::OwnSide;
use shell::tap::{PictureTap, TappedPicture};

use crate::allowance::{Allowance, Call, Part};
use crate::backlog::Backlog;
use crate::canvas::{Canvas, Layout, Raw};
use crate::catalogue::{Catalogue, Rendition};
use crate::h264::{H264Coder, H264Error};
use crate::relay::{RelayState, Seen};
use crate::sound::{Mixer, OpusCoder};
use crate::tracks::{Track, Tracks, Written};
use crate::wishes::{BASE_BPS, MAIN_BPS, SOUND_BPS, Wishes};

/// Pictures a second.
const FPS: u32 = 30;
/// Of the small one: every second.
const BASE_FPS: u32 = FPS / 2;
/// Time between two pictures.
const INTERVAL: Duration = Duration::from_micros(1_000_000 / FPS as u64);
/// The share of that after which the next may be composed, so that a camera of 30 a second is not halved by its jitter.
const EARLY: Duration = Duration::from_micros(750_000 / FPS as u64);
/// Age of a picture after which its place is black.
const STALE: Duration = Duration::from_secs(1);
/// Time without pictures of the player who sets the pace, after which another does.
const PACE: Duration = Duration::from_millis(100);
/// Distance of a picture's time from now up to which it can be true.
const OFF: Duration = Duration::from_millis(500);
/// Time between two looks at what is told: the catalogue and the counts.
const TOLD: Duration = Duration::from_millis(250);

/// It cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShowError {
    #[error("{0}")]
    H264(#[from] H264Error),
    #[error("sound cannot be coded with Opus: {0}")]
    Opus(#[from] opus::Error),
    #[error("the broadcast has ended: {0}")]
    Tracks(#[from] moq_net::Error),
}

/// A player's place.
struct Place {
    tap: PictureTap,
    used: Option<TappedPicture>,
    /// Time at which the newest picture came; none: it is black.
    newest: Option<Timestamp>,
    /// Time at which it was to be seen.
    seen: Timestamp,
}

/// One size of the picture.
struct Coding {
    coder: H264Coder,
    coded: u64,
}

/// All of it.
pub(crate) struct Show {
    places: Vec<Place>,
    own: OwnSide,
    canvas: Canvas,
    small: Canvas,
    main: Coding,
    base: Coding,
    mixer: Mixer,
    opus: OpusCoder,
    tracks: Option<Tracks>,
    catalogue: Catalogue,
    allowance: Allowance,
    backlog: Backlog,
    state: Arc<RelayState>,
    rate: Option<LiveRate>,
    /// Time at which the last picture was composed, and the time that it has.
    composed: Option<Timestamp>,
    stamped: Timestamp,
    count: u64,
    told: Option<Timestamp>,
    is_listening: bool,
    is_described: bool,
    counts: AudienceCounts,
}

impl Show {
    pub(crate) fn new(
        wishes: &Wishes,
        origin: &origin::Producer,
        taps: Vec<PictureTap>,
        mixer: Mixer,
        state: Arc<RelayState>,
        rate: Option<LiveRate>,
    ) -> Result<Self, Failure> {
        let canvas = Canvas::new(Layout::of(wishes.players));
        let small = canvas.small();
        let coding = |bps: u64, fps: u32| -> Result<Coding, Failure> {
            let coder = H264Coder::new(bps as u32, fps).map_err(Failure::device)?;
            Ok(Coding { coder, coded: 0 })
        };
        let catalogue = Catalogue {
            programme: wishes.programme.clone(),
            base: Rendition { size: small.size(), fps: BASE_FPS, bps: BASE_BPS },
            main: Rendition { size: canvas.size(), fps: FPS, bps: MAIN_BPS },
            sound_bps: SOUND_BPS,
            part: Part::Nothing,
            zero_unix_ms: clock::unix_ms().saturating_sub(clock::now().as_us() / 1000),
            is_over: false,
        };
        Ok(Self {
            places: taps
                .into_iter()
                .map(|tap| Place { tap, used: None, newest: None, seen: Timestamp::from_us(0) })
                .collect(),
            own: wishes.own.clone(),
            main: coding(MAIN_BPS, FPS)?,
            base: coding(BASE_BPS, BASE_FPS)?,
            canvas,
            small,
            mixer,
            opus: OpusCoder::new(SOUND_BPS).map_err(Failure::device)?,
            tracks: Some(Tracks::announce(origin, &wishes.target.name).map_err(Failure::network)?),
            catalogue,
            allowance: Allowance::new(BASE_BPS, MAIN_BPS, wishes.cap.as_bps()),
            backlog: Backlog::new(MAIN_BPS + BASE_BPS + u64::from(SOUND_BPS)),
            state,
            rate,
            composed: None,
            stamped: Timestamp::from_us(0),
            count: 0,
            told: None,
            is_listening: false,
            is_described: false,
            counts: AudienceCounts::default(),
        })
    }

    /// Does what there is to do now.
    pub(crate) fn turn(&mut self, now: Timestamp) -> Result<(), ShowError> {
        let Some(mut tracks) = self.tracks.take() else { return Ok(()) };
        let turned = self.turned(&mut tracks, now);
        self.tracks = Some(tracks);
        turned
    }

    fn turned(&mut self, tracks: &mut Tracks, now: Timestamp) -> Result<(), ShowError> {
        self.backlog.on_sent(self.state.sent(), now);
        let call = self.rate.as_ref().map(|rate| Call {
            rate: rate.get(),
            wanted: self.own.rate(),
            is_slow: self.own.is_slow(),
        });
        let part = self.allowance.look(call, now);
        if self.told.is_none_or(|told| now.since(told) >= TOLD) || part < self.catalogue.part {
            self.told = Some(now);
            self.tell(tracks, part)?;
        }
        self.hear(tracks, part)?;
        let is_watched = part >= Part::Base && (tracks.main.is_used() || tracks.base.is_used());
        if std::mem::replace(&mut self.is_listening, is_watched) != is_watched {
            self.places.iter().for_each(|place| place.tap.listen(is_watched));
        }
        if is_watched && let Some(seen) = self.see(now) {
            self.stamped = stamp(seen, now, self.stamped);
            self.compose(tracks, part, now)?;
        }
        Ok(())
    }

    fn tell(&mut self, tracks: &mut Tracks, part: Part) -> Result<(), ShowError> {
        if std::mem::replace(&mut self.catalogue.part, part) != part || !self.is_described {
            self.is_described = true;
            tracks.describe(self.catalogue.to_json())?;
        }
        for (track, needs) in [(&mut tracks.main, Part::Main), (&mut tracks.base, Part::Base)] {
            if part < needs {
                // The line is free with the frame that is on its way.
                track.end()?;
            }
        }
        self.counts = AudienceCounts {
            audience_sessions: self.state.sessions(),
            audience_failures: self.state.failures(),
            audience_pictures: self.main.coded,
            audience_pictures_small: self.base.coded,
            ..self.counts
        };
        self.own.set_audience(Audience {
            counts: self.counts,
            part: part as u64,
            is_connected: self.state.is_connected(),
            is_unseen: self.state.seen() == Seen::No,
            is_watched: tracks.main.is_used() || tracks.base.is_used() || tracks.sound.is_used(),
        });
        Ok(())
    }

    /// Codes the sound that has come.
    fn hear(&mut self, tracks: &mut Tracks, part: Part) -> Result<(), ShowError> {
        while let Some(block) = self.mixer.next() {
            if part < Part::Sound || !tracks.sound.is_used() {
                continue;
            }
            let (at, packet) = self.opus.code(&block)?;
            match tracks.sound.write_sound(at.as_us(), &packet, &mut self.backlog)? {
                Written::Yes => self.counts.audience_sounds += 1,
                Written::Dropped => self.counts.audience_dropped += 1,
            }
        }
        Ok(())
    }

    /// Draws the pictures that have come; returns the time of the next of all, if there is to be one: that of the picture which sets the
    /// pace, as sound has the time at which it was in the air.
    fn see(&mut self, now: Timestamp) -> Option<Timestamp> {
        let mut fresh = vec![false; self.places.len()];
        for (number, place) in self.places.iter_mut().enumerate() {
            let is_hidden = number == 0 && self.own.is_hidden();
            if let Some(picture) = place.tap.take(place.used.take()) {
                if !is_hidden {
                    let TappedPicture { format, size, colour, data, .. } = &picture;
                    self.canvas.draw(number, Raw { format: *format, size: *size, colour: *colour, data });
                    (place.newest, place.seen) = (Some(now), picture.at);
                    fresh[number] = true;
                }
                place.used = Some(picture);
            }
            if place.newest.is_some_and(|newest| is_hidden || now.since(newest) >= STALE) {
                self.canvas.clear(number);
                place.newest = None;
                fresh[number] = true;
            }
        }
        let is_early = self.composed.is_some_and(|composed| now.since(composed) < EARLY);
        // The first of those who give pictures sets the pace; where nobody does, there is a picture now and then.
        let leads = self.places.iter().position(|place| place.newest.is_some_and(|newest| now.since(newest) < PACE));
        let is_old = self.composed.is_none_or(|composed| now.since(composed) >= 3 * INTERVAL);
        let leads = leads.filter(|&leads| fresh[leads]).map(|leads| self.places[leads].seen);
        leads.or(is_old.then_some(now)).filter(|_| !is_early)
    }

    /// Codes the picture of all.
    fn compose(&mut self, tracks: &mut Tracks, part: Part, now: Timestamp) -> Result<(), ShowError> {
        self.composed = Some(now);
        self.count += 1;
        let dropped = &mut self.counts.audience_dropped;
        if part >= Part::Main && tracks.main.is_used() {
            write(&mut self.main, &self.canvas, &mut tracks.main, &mut self.backlog, self.stamped, dropped)?;
        } else {
            tracks.main.end()?;
        }
        if !tracks.base.is_used() {
            tracks.base.end()?;
        } else if self.count.is_multiple_of(2) {
            self.canvas.shrink(&mut self.small);
            write(&mut self.base, &self.small, &mut tracks.base, &mut self.backlog, self.stamped, dropped)?;
        }
        let took = clock::now().since(now);
        self.allowance.on_coded(took, INTERVAL, now);
        Ok(())
    }

    /// Says that it is over.
    pub(crate) fn end(mut self) {
        self.places.iter().for_each(|place| place.tap.listen(false));
        let Some(mut tracks) = self.tracks.take() else { return };
        (self.catalogue.is_over, self.catalogue.part) = (true, Part::Nothing);
        let ended = tracks.describe(self.catalogue.to_json()).and_then(|()| tracks.finish());
        if let Err(error) = ended {
            tracing::debug!("the audience's broadcast had ended before: {error}");
        }
    }
}

/// Returns the time that a picture of all has, which was to be seen at `seen` and is composed `now`, after one of time `last`.
fn stamp(seen: Timestamp, now: Timestamp, last: Timestamp) -> Timestamp {
    // A source whose clock is wrong sets none.
    let is_near = seen.since(now).max(now.since(seen)) <= OFF;
    let at = if is_near { seen } else { now };
    at.max(last + Duration::from_millis(1))
}

/// Codes a picture and gives it to its track, unless too much waits.
fn write(
    coding: &mut Coding,
    canvas: &Canvas,
    track: &mut Track,
    backlog: &mut Backlog,
    at: Timestamp,
    dropped: &mut u64,
) -> Result<(), ShowError> {
    let key = track.needs_key(at.as_us());
    if key && backlog.is_high() {
        // It need not be coded first.
        track.end()?;
        *dropped += 1;
        return Ok(());
    }
    let Some(coded) = coding.coder.code(canvas, key, at.as_us() / 1000)? else {
        *dropped += 1;
        return Ok(());
    };
    coding.coded += 1;
    if track.write(at.as_us(), &coded.bytes, coded.is_key, backlog)? == Written::Dropped {
        *dropped += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_time_at_which_it_was_seen_and_times_rise() {
        let at = |ms: u64| Timestamp::from_us(1000 * ms);
        for (seen, now, last, stamped) in [
            (2_000, 2_030, 1_970, 2_000),
            (2_040, 2_030, 1_970, 2_040),
            // Of two sources that take turns, the other's is older.
            (2_000, 2_030, 2_010, 2_011),
            (0, 2_030, 1_970, 2_030),
            (900_000, 2_030, 1_970, 2_030),
        ] {
            assert_eq!(stamp(at(seen), at(now), at(last)), at(stamped), "{seen} {now} {last}");
        }
    }
}
