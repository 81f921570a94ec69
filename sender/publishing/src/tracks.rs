//! The tracks of a broadcast, in groups that are decoded from their beginning: what is dropped is a whole end of a group.

use std::time::Duration;

use moq_net::{broadcast, group, origin, track};

use crate::backlog::Backlog;
use crate::catalogue::{BASE, CATALOGUE, MAIN, SOUND, frame};

/// Length of a group of pictures.
pub(crate) const GROUP: Duration = Duration::from_secs(1);
/// Packets of sound in a group.
const SOUND_GROUP: usize = 10;
/// Time for which the relay may ask for a group again.
const KEPT: Duration = Duration::from_secs(2);

/// A track of media.
pub(crate) struct Track {
    track: track::Producer,
    group: Option<group::Producer>,
    frames: usize,
    began_us: u64,
}

/// The outcome of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is on its way.
    Yes,
    /// It was left out, with what follows in its group.
    Dropped,
}

impl Track {
    fn new(broadcast: &broadcast::Producer, name: &str, priority: u8) -> Result<Self, moq_net::Error> {
        let info =
            track::Info::default().with_timescale(moq_net::Timescale::MICRO).with_max_age(KEPT).with_priority(priority);
        let track = broadcast.create_track(name, info)?;
        Ok(Self { track, group: None, frames: 0, began_us: 0 })
    }

    /// Returns true if somebody watches.
    pub(crate) fn is_used(&self) -> bool {
        self.track.is_used()
    }

    /// Returns true if the next picture has to begin a group.
    pub(crate) fn needs_key(&self, at_us: u64) -> bool {
        self.group.is_none() || at_us.saturating_sub(self.began_us) >= GROUP.as_micros() as u64
    }

    /// Writes a frame. `begins`: it begins a group. Where too much waits, a group is not begun, or ends before its time.
    pub(crate) fn write(
        &mut self,
        at_us: u64,
        payload: &[u8],
        begins: bool,
        backlog: &mut Backlog,
    ) -> Result<Written, moq_net::Error> {
        if begins {
            self.end()?;
            if backlog.is_high() {
                return Ok(Written::Dropped);
            }
            self.group = Some(self.track.append_group()?);
            (self.frames, self.began_us) = (0, at_us);
        }
        if backlog.is_full() {
            self.end()?;
        }
        let Some(group) = &mut self.group else { return Ok(Written::Dropped) };
        let bytes = frame(at_us, payload);
        backlog.on_written(bytes.len());
        let time = moq_net::Timestamp::from_micros(at_us).map_err(|_| moq_net::Error::TimestampMismatch)?;
        group.write_frame(time, bytes)?;
        self.frames += 1;
        Ok(Written::Yes)
    }

    /// Writes a packet of sound.
    pub(crate) fn write_sound(
        &mut self,
        at_us: u64,
        payload: &[u8],
        backlog: &mut Backlog,
    ) -> Result<Written, moq_net::Error> {
        let begins = self.group.is_none() || self.frames >= SOUND_GROUP;
        self.write(at_us, payload, begins, backlog)
    }

    /// Ends the group.
    pub(crate) fn end(&mut self) -> Result<(), moq_net::Error> {
        self.group.take().map_or(Ok(()), |group| group.finish())
    }
}

/// All tracks.
pub(crate) struct Tracks {
    broadcast: broadcast::Producer,
    catalogue: track::Producer,
    pub(crate) sound: Track,
    pub(crate) base: Track,
    pub(crate) main: Track,
}

impl Tracks {
    /// Creates and announces the broadcast `name`. The base picture goes before the other: every line is to bear it.
    pub(crate) fn announce(origin: &origin::Producer, name: &str) -> Result<Self, moq_net::Error> {
        let broadcast = origin.create_broadcast(name)?;
        let info = track::Info::default().with_priority(100);
        let tracks = Self {
            catalogue: broadcast.create_track(CATALOGUE, info)?,
            sound: Track::new(&broadcast, SOUND, 80)?,
            base: Track::new(&broadcast, BASE, 70)?,
            main: Track::new(&broadcast, MAIN, 60)?,
            broadcast,
        };
        tracks.broadcast.announce(origin::Route::default())?;
        Ok(tracks)
    }

    /// Tells those who watch what there is.
    pub(crate) fn describe(&mut self, json: String) -> Result<(), moq_net::Error> {
        self.catalogue.write_frame(moq_net::Timestamp::now(), json)
    }

    /// Ends the broadcast.
    pub(crate) fn finish(mut self) -> Result<(), moq_net::Error> {
        for track in [&mut self.sound, &mut self.base, &mut self.main] {
            track.end()?;
            track.track.finish()?;
        }
        self.catalogue.finish()?;
        self.broadcast.close();
        Ok(())
    }
}
