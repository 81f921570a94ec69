//! Effects on pictures, between the source and the encoder.

use std::sync::mpsc::Sender;
use std::time::Duration;

use kernels::{EffectsFilter, EncodeError, Picture, PictureRef};
use net::clock;
use net::failure::Failure;
use net::limited;
use picture::effects::Effects;
use picture::frame::{Chroma, FrameSize};
use shell::exit::codec_failure;
use shell::settings::OwnSide;

use crate::source::SourceFrame;

/// The effects of a stream, which may change from picture to picture.
pub(crate) struct LiveEffects {
    own: OwnSide,
    size: FrameSize,
    chroma: Chroma,
    /// Made when effects are asked for.
    filter: Option<EffectsFilter>,
    /// Memory for the next picture.
    room: Option<Picture>,
    last: Effects,
}

impl LiveEffects {
    /// Those that `own` asks for, on pictures of `size` in a stream of `chroma`.
    pub(crate) fn new(own: OwnSide, size: FrameSize, chroma: Chroma) -> Self {
        Self { own, size, chroma, filter: None, room: None, last: Effects::default() }
    }

    /// Returns the picture with the effects of now and the time that they took; none if there are none. The memory of what
    /// has become another picture goes to `used`.
    pub(crate) fn apply(
        &mut self,
        picture: SourceFrame,
        used: &Sender<Vec<u8>>,
    ) -> Result<(SourceFrame, Option<Duration>), Failure> {
        let effects = self.own.effects();
        if std::mem::replace(&mut self.last, effects) != effects {
            limited!(info, "effects: {effects}");
        }
        if effects.is_off() {
            self.filter.iter_mut().for_each(EffectsFilter::forget);
            return Ok((picture, None));
        }
        let began = clock::now();
        let filter = self.filter.get_or_insert_with(|| EffectsFilter::new(self.size, self.chroma));
        let mut out = self.room.take().unwrap_or_else(|| filter.room());
        let apply = |picture| filter.apply(&effects, picture, &mut out);
        let applied = PictureRef::new(picture.format, self.size, &picture.data).and_then(apply);
        applied.map_err(|error| codec_failure(&EncodeError::from(error)))?;
        let (format, capture, info) = (out.format(), picture.capture, picture.info);
        picture.data.give_back(used);
        let picture = SourceFrame { format, data: out.into_data().into(), capture, info };
        Ok((picture, Some(clock::now().since(began))))
    }

    /// Takes the memory of a picture with effects, after it has been coded.
    pub(crate) fn give_back(&mut self, data: Vec<u8>) {
        let format = self.filter.as_ref().map(|filter| filter.room_format());
        self.room = format.and_then(|format| Picture::from_data(format, self.size, data).ok());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use common::units::{Bitrate, Timestamp};
    use picture::effects::Effect;
    use picture::frame::PixelFormat;

    use super::*;

    #[test]
    fn effects_come_and_go_and_memory_goes_round() {
        let (rate, size) = (Bitrate::from_bps(1_000_000), FrameSize::new(6, 4).unwrap());
        let own = OwnSide::new(rate, rate, Effects::default());
        let mut effects = LiveEffects::new(own.clone(), size, Chroma::C420);
        let (used, unused) = channel();
        let data: Vec<u8> = [0, 120, 200, 130].repeat(12);
        let picture = SourceFrame {
            format: PixelFormat::Yuyv,
            data: data.clone().into(),
            capture: Timestamp::from_us(7),
            info: None,
        };
        assert_eq!(effects.apply(picture.clone(), &used).unwrap(), (picture.clone(), None));
        assert!(unused.try_recv().is_err());

        own.set_effect(Effect::Detail, 0.0).unwrap();
        let (soft, took) = effects.apply(picture.clone(), &used).unwrap();
        assert!(took.is_some() && soft.format == PixelFormat::I420 && soft.capture == picture.capture);
        assert!(soft.data[..24].iter().all(|&sample| (60..140).contains(&sample)), "{soft:?}");
        assert_eq!(unused.try_recv().unwrap(), data);
        let place = soft.data.as_ptr();
        effects.give_back(soft.data.into_memory().unwrap());
        let (again, _) = effects.apply(picture.clone(), &used).unwrap();
        assert_eq!(again.data.as_ptr(), place, "the memory of before");

        own.switch_effects();
        assert_eq!(effects.apply(picture.clone(), &used).unwrap(), (picture, None));
        let short = SourceFrame {
            format: PixelFormat::I420,
            data: vec![0; 7].into(),
            capture: Timestamp::default(),
            info: None,
        };
        own.switch_effects();
        assert!(effects.apply(short, &used).is_err());
    }
}
