//! The audience of a call, where there is to be one: what goes by its pictures and its sound.

use common::config::{PublishConfig, SenderConfig};
use net::clock;
use net::failure::Failure;
use net::link::LiveRate;
use picture::frame::BitDepth;
use publishing::{Programme, Publisher, SoundTap, Taps, Target, Wishes};
use shell::settings::OwnSide;
use shell::tap::PictureTap;
use showing::present::{Seen, SeenHook};

/// The audience of a call.
pub struct Audience {
    publisher: Publisher,
    sound: Option<SoundTap>,
    shown: std::vec::IntoIter<PictureTap>,
}

/// Returns what the relay of an audience learns, in a sentence.
pub fn learns(host: &str) -> String {
    format!(
        "the relay at {host} ends the encryption: whoever runs it can see and hear what the audience does, and learns the address of each \
         of them and yours"
    )
}

/// Fails if the configuration names an audience's place that is none, or a token for another.
pub fn check(config: &SenderConfig) -> Result<Option<Target>, Failure> {
    let Some(PublishConfig { url, token, .. }) = &config.publish else { return Ok(None) };
    let target = Target::parse(&url.0, Some(&token.0)).map_err(Failure::usage)?;
    target.check(clock::unix_ms() / 1000).map_err(Failure::usage)?;
    Ok(Some(target))
}

/// Returns what gives each picture that is shown to `tap`.
pub(crate) fn seen(tap: PictureTap) -> SeenHook {
    Box::new(move |seen: &Seen<'_>| {
        let picture = seen.picture;
        if picture.depth() == BitDepth::Eight {
            let colour = seen.stream.params.colour;
            tap.offer(picture.format(), picture.size(), colour, picture.data(), seen.presented);
        }
    })
}

impl Audience {
    /// Begins to publish, if the configuration says so: a picture of so many `players`, the own one first. `rate`: what the call's pictures
    /// take of the line.
    pub fn start(
        config: &SenderConfig,
        players: usize,
        own: &OwnSide,
        rate: &LiveRate,
    ) -> Result<Option<Self>, Failure> {
        let (Some(target), Some(publish)) = (check(config)?, &config.publish) else { return Ok(None) };
        tracing::warn!("{}", learns(&target.host));
        let PublishConfig { title, names, starts, cap, .. } = publish.clone();
        let programme = Programme { title, names, starts };
        let wishes = Wishes { target, programme, cap, players, own: own.clone() };
        let (publisher, Taps { pictures, sound }) = Publisher::start(wishes, Some(rate.clone()))?;
        let mut pictures = pictures.into_iter();
        if let Some(tap) = pictures.next() {
            own.set_tap(tap);
        }
        Ok(Some(Self { publisher, sound: Some(sound), shown: pictures }))
    }

    /// Returns the place at which the sound goes by; once.
    pub fn sound(&mut self) -> Option<SoundTap> {
        self.sound.take()
    }

    /// Returns the place at which the pictures of another player go by, of one after the other.
    pub(crate) fn shown(&mut self) -> Option<PictureTap> {
        self.shown.next()
    }

    /// Tells the audience that it is over.
    pub fn end(self) -> Result<(), Failure> {
        self.publisher.end()
    }
}
