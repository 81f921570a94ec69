//! ALSA: a stream of each direction, with a thread each, of one card. The one place of `cpal` and `alsa`.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use alsa::pcm::{Access, Format, HwParams, PCM};
use alsa::{Direction, ValueOr};
use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{
    BufferSize, Device, DeviceId, ErrorKind, FromSample, Host, HostId, I24, SampleFormat, SizedSample, Stream,
    StreamConfig, SupportedBufferSize, SupportedStreamConfigRange,
};
use sound::RATE_HZ;
use sound::format::Channels;

use crate::error::CardError;
use crate::halves::{Halves, Wanted};
use crate::info::{Backend, CardInfo, Shared};
use crate::listed::{Listed, Offer};
use crate::period::{Capturing, Playing, monotonic_us};
use crate::priority::{self, Role};
use crate::smoothed::{Lost, Smoothed};

/// Forms of samples that we take, the best first.
const FORMATS: [SampleFormat; 4] = [SampleFormat::F32, SampleFormat::I32, SampleFormat::I24, SampleFormat::I16];

/// cpal has so many periods between callback and card.
const BUFFERED: u32 = 2;

/// Running streams.
#[derive(Default)]
pub(crate) struct Streams {
    /// Frames of the longest period that the card has.
    pub(crate) longest_frames: u32,
    _capture: Option<Stream>,
    _playback: Option<Stream>,
}

/// Form in which a direction of a card is opened.
#[derive(Clone, Copy, Debug)]
struct Form {
    channels: u16,
    format: SampleFormat,
    sizes: Sizes,
}

impl Form {
    /// Returns how cpal opens it, with periods of this size.
    fn config(self, buffer_size: BufferSize) -> StreamConfig {
        StreamConfig { channels: self.channels, sample_rate: RATE_HZ, buffer_size }
    }

    fn of_alsa(self) -> Format {
        match self.format {
            SampleFormat::F32 => Format::float(),
            SampleFormat::I32 => Format::s32(),
            SampleFormat::I24 => Format::s24(),
            _ => Format::s16(),
        }
    }
}

/// Periods of a direction of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    /// Frames of a period.
    frames: u32,
    /// Frames of the longest that it has.
    longest: u32,
}

/// A direction that is open and does not run yet.
struct Ready<Half> {
    stream: Stream,
    /// Takes the half to the callback.
    half: SyncSender<Half>,
}

impl<Half> Ready<Half> {
    /// Lets it run with this half.
    fn start(self, half: Half) -> Result<Stream, cpal::Error> {
        // There is room for the one.
        let _ = self.half.try_send(half);
        self.stream.play()?;
        Ok(self.stream)
    }
}

/// Opens the card `name` and starts it.
pub(crate) fn open(
    name: &str,
    wanted: Wanted,
    make: &mut dyn FnMut(&CardInfo) -> Halves,
) -> Result<(CardInfo, Arc<Shared>, Streams), CardError> {
    // ALSA's library writes on standard error of the thread that it fails on.
    let _quiet = alsa::Output::local_error_handler();
    let device = device(name)?;
    let of = |error: cpal::Error| refused(name, &error);
    let capture = match wanted.capture {
        Some(channels) => {
            let ranges: Vec<_> = device.supported_input_configs().map_err(of)?.collect();
            Some(form(name, "input", &ranges, channels, wanted.frames)?)
        }
        None => None,
    };
    let playback = match wanted.playback {
        Some(channels) => {
            let ranges: Vec<_> = device.supported_output_configs().map_err(of)?.collect();
            Some(form(name, "output", &ranges, channels, wanted.frames)?)
        }
        None => None,
    };
    let shared = Arc::new(Shared::default());
    let input = capture.map(|form| {
        let open = match form.format {
            SampleFormat::F32 => input::<f32>,
            SampleFormat::I32 => input::<i32>,
            SampleFormat::I24 => input::<I24>,
            _ => input::<i16>,
        };
        fitted(form.sizes, || range(name, Direction::Capture, form), |size| open(&device, form.config(size), &shared))
    });
    let output = playback.map(|form| {
        let open = match form.format {
            SampleFormat::F32 => output::<f32>,
            SampleFormat::I32 => output::<i32>,
            SampleFormat::I24 => output::<I24>,
            _ => output::<i16>,
        };
        fitted(form.sizes, || range(name, Direction::Playback, form), |size| open(&device, form.config(size), &shared))
    });
    // Both are open before the halves are made, which are told of their periods, and before one runs, so that they begin together.
    let (input, output) = (input.transpose().map_err(of)?, output.transpose().map_err(of)?);
    let sizes = [input.as_ref().map(|(_, sizes)| *sizes), output.as_ref().map(|(_, sizes)| *sizes)];
    let info = described(name, wanted, sizes);
    let halves = make(&info);
    let capturing = halves.capture.zip(wanted.capture).map(|(half, channels)| Capturing::new(half, channels));
    let playing = halves.playback.zip(wanted.playback).map(|(half, channels)| Playing::new(half, channels));
    let playback = output.zip(playing).map(|((ready, _), half)| ready.start(half)).transpose().map_err(of)?;
    let capture = input.zip(capturing).map(|((ready, _), half)| ready.start(half)).transpose().map_err(of)?;
    let longest_frames = sizes[1].or(sizes[0]).map_or(0, |sizes| sizes.longest);
    Ok((info, shared, Streams { longest_frames, _capture: capture, _playback: playback }))
}

/// Returns the description of a card whose capture and playback have these periods.
fn described(name: &str, wanted: Wanted, [capture, playback]: [Option<Sizes>; 2]) -> CardInfo {
    CardInfo {
        backend: Backend::Alsa,
        name: format!("alsa:{name}"),
        rate_hz: RATE_HZ,
        period_frames: playback.or(capture).map_or(wanted.frames, |sizes| sizes.frames),
        capture: wanted.capture,
        playback: wanted.playback,
        input_latency_frames: capture.map_or(0, |sizes| sizes.frames),
        output_latency_frames: playback.map_or(0, |sizes| sizes.frames.saturating_mul(BUFFERED)),
    }
}

/// Opens a direction by `open`, which returns the frames of its period, too: with the period asked for. A card that refuses that one is
/// opened with the nearest that it has, of the least and most that `has` returns, and one that refuses this, too, with its own.
fn fitted<T>(
    asked: Sizes,
    has: impl FnOnce() -> Option<(u32, u32)>,
    mut open: impl FnMut(BufferSize) -> Result<(T, u32), cpal::Error>,
) -> Result<(T, Sizes), cpal::Error> {
    let nearest =
        iter::once_with(has).flatten().map(|(least, most)| (asked.frames.clamp(least, most.max(least)), most));
    for (frames, longest) in iter::once((asked.frames, asked.longest)).chain(nearest) {
        match open(BufferSize::Fixed(frames)) {
            Ok((opened, frames)) => return Ok((opened, Sizes { frames, longest: longest.max(frames) })),
            Err(error) if error.kind() == ErrorKind::UnsupportedConfig => {}
            Err(error) => return Err(error),
        }
    }
    // Others are not known of it.
    let (opened, frames) = open(BufferSize::Default)?;
    Ok((opened, Sizes { frames, longest: frames }))
}

/// Returns the least and most frames of a period that a direction has in this form; before rate and samples are chosen, a card names
/// those of all. None: it does not tell.
fn range(name: &str, direction: Direction, form: Form) -> Option<(u32, u32)> {
    let pcm = PCM::new(name, direction, true).ok()?;
    let params = HwParams::any(&pcm).ok()?;
    params.set_access(Access::RWInterleaved).ok()?;
    params.set_format(form.of_alsa()).ok()?;
    params.set_rate(RATE_HZ, ValueOr::Nearest).ok()?;
    params.set_channels(form.channels.into()).ok()?;
    let frames = |frames| u32::try_from(frames).ok().filter(|frames| *frames > 0);
    let (least, most) = (params.get_period_size_min().ok()?, params.get_period_size_max().ok()?);
    let most = most.min(params.get_buffer_size_max().ok()? / i64::from(BUFFERED));
    frames(most).map(|most| (frames(least).unwrap_or(1), most))
}

/// Returns the default and the hardware that ALSA names.
pub(crate) fn list() -> Vec<Listed> {
    let _quiet = alsa::Output::local_error_handler();
    let Ok(host) = host() else { return Vec::new() };
    let devices: Vec<_> = host.devices().into_iter().flatten().collect();
    let of = |device: &Device| device.id().map(|id| id.id().to_owned()).unwrap_or_default();
    // Each has further names, by numbers and with conversions.
    let is_listed = |name: &str| {
        name == "default" || name.starts_with("hw:CARD=") && !name[8..].starts_with(|c: char| c.is_ascii_digit())
    };
    devices.iter().map(|device| (of(device), device)).filter(|(name, _)| is_listed(name)).map(listed).collect()
}

fn listed((name, device): (String, &Device)) -> Listed {
    let ranges = |direction, ranges: Result<Vec<SupportedStreamConfigRange>, cpal::Error>| match ranges {
        Ok(ranges) => {
            // As a call opens it, which finds fewer than those of all forms.
            let form = form(&name, "", &ranges, Channels::Stereo, 0).ok();
            let frames = form.and_then(|form| range(&name, direction, form));
            (offer(&ranges).map(|offer| Offer { frames: frames.or(offer.frames), ..offer }), None)
        }
        // It has no such direction.
        Err(error) if error.kind() == ErrorKind::UnsupportedOperation => (None, None),
        Err(error) => (None, Some(refused(&name, &error).to_string())),
    };
    let (capture, no_capture) = ranges(Direction::Capture, device.supported_input_configs().map(Iterator::collect));
    let (playback, no_playback) = ranges(Direction::Playback, device.supported_output_configs().map(Iterator::collect));
    let has_none = capture.is_none() && playback.is_none();
    let missing = || has_none.then(|| "it neither captures nor plays".to_owned());
    Listed {
        backend: Backend::Alsa,
        description: device.description().map(|about| about.name().to_owned()).unwrap_or_default(),
        problem: no_playback.or(no_capture).filter(|_| has_none).or_else(missing),
        name: format!("alsa:{name}"),
        capture,
        playback,
    }
}

fn offer(ranges: &[SupportedStreamConfigRange]) -> Option<Offer> {
    let known = || ranges.iter().filter(|range| FORMATS.contains(&range.sample_format()));
    let frames = known().filter_map(|range| match *range.buffer_size() {
        SupportedBufferSize::Range { min, max } => Some((min, max)),
        SupportedBufferSize::Unknown => None,
    });
    Some(Offer {
        channels: known().map(SupportedStreamConfigRange::channels).max()?,
        rates_hz: (
            known().map(SupportedStreamConfigRange::min_sample_rate).min()?,
            known().map(SupportedStreamConfigRange::max_sample_rate).max()?,
        ),
        frames: frames.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))),
    })
}

fn host() -> Result<Host, CardError> {
    cpal::host_from_id(HostId::Alsa).map_err(|error| refused("default", &error))
}

fn device(name: &str) -> Result<Device, CardError> {
    let host = host()?;
    let device = match name {
        "default" => host.default_output_device(),
        _ => host.device_by_id(&DeviceId::new(HostId::Alsa, name)),
    };
    device.ok_or_else(|| {
        let names: Vec<_> = host.devices().into_iter().flatten().filter_map(|device| device.id().ok()).collect();
        let names: Vec<_> = names.iter().map(DeviceId::id).collect();
        let there = if names.is_empty() { "is none".to_owned() } else { format!("are {}", names.join(", ")) };
        CardError::NoAlsaCard { name: name.to_owned(), there }
    })
}

fn refused(name: &str, error: &cpal::Error) -> CardError {
    let name = name.to_owned();
    match error.kind() {
        ErrorKind::DeviceBusy => CardError::Busy(name),
        ErrorKind::PermissionDenied => CardError::Forbidden(name),
        ErrorKind::DeviceNotAvailable => CardError::NoAlsaCard { name, there: "is none of that name now".to_owned() },
        _ => CardError::Alsa { name, why: error.to_string() },
    }
}

/// Returns the form in which a direction is opened: at our rate, with the best samples, and channels that are nearest to those wanted:
/// rather too many, of which the first are used.
fn form(
    name: &str,
    direction: &'static str,
    ranges: &[SupportedStreamConfigRange],
    channels: Channels,
    frames: u32,
) -> Result<Form, CardError> {
    let known = || ranges.iter().filter(|range| FORMATS.contains(&range.sample_format()));
    let Some(some) = known().next() else {
        return Err(CardError::Format { name: name.to_owned(), direction });
    };
    let at_rate = known().filter(|range| (range.min_sample_rate()..=range.max_sample_rate()).contains(&RATE_HZ));
    let wanted = channels.count() as u16;
    let best = at_rate.min_by_key(|range| {
        let surplus = i32::from(range.channels()) - i32::from(wanted);
        let missing = if surplus < 0 { 1000 - surplus } else { surplus };
        (missing, FORMATS.iter().position(|format| *format == range.sample_format()))
    });
    let Some(best) = best else {
        return Err(CardError::Rate {
            what: format!("the {direction} of the sound card `{name}`"),
            rate_hz: if some.max_sample_rate() < RATE_HZ { some.max_sample_rate() } else { some.min_sample_rate() },
            remedy: "use alsa:plughw:..., which converts it, or another card",
        });
    };
    let sizes = match *best.buffer_size() {
        SupportedBufferSize::Range { min, max } => Sizes { frames: frames.clamp(min, max.max(min)), longest: max },
        SupportedBufferSize::Unknown => Sizes { frames, longest: u32::MAX },
    };
    Ok(Form { channels: best.channels(), format: best.sample_format(), sizes })
}

/// Gives a stream's callback its time, and its owner the driver's news.
struct Timed {
    smoothed: Smoothed,
    lost: Arc<AtomicBool>,
    is_raised: bool,
    /// Place in `Shared::not_raised`.
    place: usize,
}

impl Timed {
    fn new(shared: &Arc<Shared>, place: usize) -> (Self, impl FnMut(cpal::Error) + Send + 'static) {
        let lost = Arc::new(AtomicBool::new(false));
        let (noted, shared) = (lost.clone(), shared.clone());
        let on_error = move |error: cpal::Error| match error.kind() {
            ErrorKind::Xrun => {
                shared.xruns.fetch_add(1, Ordering::Relaxed);
                noted.store(true, Ordering::Release);
            }
            ErrorKind::DeviceNotAvailable | ErrorKind::HostUnavailable | ErrorKind::StreamInvalidated => {
                shared.gone.store(true, Ordering::Release);
            }
            // Whatever else it is: if it matters, the stream falls silent, and that is seen.
            _ => {}
        };
        (Self { smoothed: Smoothed::default(), lost, is_raised: false, place }, on_error)
    }

    fn cycle(&mut self, frames: usize, shared: &Shared) -> sound::Cycle {
        if !self.is_raised {
            self.is_raised = true;
            let thread = priority::own_thread();
            // Where the kernel refuses, the owner asks further: that takes its time.
            if !priority::by_kernel(thread, Role::Card) {
                shared.not_raised[self.place].store(thread, Ordering::Release);
            }
        }
        let lost = if self.lost.swap(false, Ordering::AcqRel) { Lost::Some } else { Lost::Nothing };
        self.smoothed.next(monotonic_us(), frames, lost)
    }
}

fn input<T>(device: &Device, config: StreamConfig, shared: &Arc<Shared>) -> Result<(Ready<Capturing>, u32), cpal::Error>
where
    T: SizedSample,
    f32: FromSample<T>,
{
    let (mut timed, on_error) = Timed::new(shared, 0);
    let (card, shared) = (usize::from(config.channels), shared.clone());
    let (half, given) = sync_channel(1);
    let mut taken: Option<Capturing> = None;
    let on_period = move |samples: &[T], _: &cpal::InputCallbackInfo| {
        let Some(half) = half_of(&mut taken, &given) else { return };
        let frames = samples.len() / card;
        let cycle = timed.cycle(frames, &shared);
        // A single microphone is heard on both channels.
        half.serve(frames, cycle, |frame, channel| f32::from_sample_(samples[frame * card + channel.min(card - 1)]));
        note(&shared.captured, &shared.served[0], frames);
    };
    let stream = device.build_input_stream(config, on_period, on_error, None)?;
    let frames = stream.buffer_size()?;
    Ok((Ready { stream, half }, frames))
}

fn output<T>(device: &Device, config: StreamConfig, shared: &Arc<Shared>) -> Result<(Ready<Playing>, u32), cpal::Error>
where
    T: SizedSample + FromSample<f32>,
{
    let (mut timed, on_error) = Timed::new(shared, 1);
    let (card, shared) = (usize::from(config.channels), shared.clone());
    let (half, given) = sync_channel(1);
    let mut taken: Option<Playing> = None;
    let on_period = move |samples: &mut [T], _: &cpal::OutputCallbackInfo| {
        let Some(half) = half_of(&mut taken, &given) else { return };
        let frames = samples.len() / card;
        let cycle = timed.cycle(frames, &shared);
        half.serve(frames, cycle, |frame, from| {
            let to = &mut samples[frame * card..][..card];
            to.fill(T::EQUILIBRIUM);
            mapped(from, card, |channel, sample| to[channel] = T::from_sample_(sample.clamp(-1.0, 1.0)));
        });
        note(&shared.played, &shared.served[1], frames);
    };
    let stream = device.build_output_stream(config, on_period, on_error, None)?;
    let frames = stream.buffer_size()?;
    Ok((Ready { stream, half }, frames))
}

/// Returns a callback's half. It is given before the stream runs; a stream that ends without having run may call once, and has none.
fn half_of<'a, Half>(taken: &'a mut Option<Half>, given: &Receiver<Half>) -> Option<&'a mut Half> {
    if taken.is_none() {
        *taken = given.try_recv().ok();
    }
    taken.as_mut()
}

/// Puts the samples of a frame on a card's channels: one on the first two, two on one channel at half the loudness.
fn mapped(from: &[f32], card: usize, mut put: impl FnMut(usize, f32)) {
    match (from, card) {
        (&[one], _) => (0..card.min(2)).for_each(|channel| put(channel, one)),
        (&[left, right], 1) => put(0, (left + right) / 2.0),
        _ => from.iter().enumerate().for_each(|(channel, &sample)| put(channel, sample)),
    }
}

fn note(periods: &AtomicU64, served: &AtomicU64, frames: usize) {
    periods.fetch_add(1, Ordering::Relaxed);
    served.fetch_add(frames as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(channels: u16, rates: (u32, u32), frames: (u32, u32), format: SampleFormat) -> SupportedStreamConfigRange {
        let frames = SupportedBufferSize::Range { min: frames.0, max: frames.1 };
        SupportedStreamConfigRange::new(channels, rates.0, rates.1, frames, format)
    }

    #[test]
    fn the_form_is_the_nearest_that_the_card_has() {
        use SampleFormat::{F32, I16, I32, U8};
        let all = [(1, I16), (2, I16), (2, I32), (2, F32), (8, I16)]
            .map(|(channels, format)| range(channels, (44_100, 96_000), (32, 4096), format));
        let found = |ranges: &[_], channels, frames| {
            form("hw:0", "input", ranges, channels, frames).map(|form| (form.channels, form.format, form.sizes.frames))
        };
        assert_eq!(found(&all, Channels::Stereo, 64), Ok((2, F32, 64)));
        assert_eq!(found(&all, Channels::Mono, 16), Ok((1, I16, 32)));
        assert_eq!(found(&all[..1], Channels::Stereo, 8192), Ok((1, I16, 4096)));
        assert_eq!(found(&all[4..], Channels::Mono, 64), Ok((8, I16, 64)));
        let bad = |ranges: &[_]| found(ranges, Channels::Mono, 64).unwrap_err().to_string();
        let slow = bad(&[range(2, (8000, 44_100), (32, 64), I16)]);
        assert!(
            slow.contains("the input of the sound card `hw:0` runs at 44100 Hz") && slow.contains("plughw"),
            "{slow}"
        );
        let fast = bad(&[range(2, (96_000, 192_000), (32, 64), I16)]);
        assert!(fast.contains("at 96000 Hz"), "{fast}");
        for ranges in [&[][..], &[range(2, (48_000, 48_000), (32, 64), U8)]] {
            assert!(bad(ranges).contains("no input with samples of 16, 24 or 32 bits"));
        }
    }

    /// A card that names periods of 16 to 4096 frames before it is opened, and has those of `has` then, in steps of `step`; returns what
    /// was tried and what came of it.
    fn tried(
        asked: u32,
        has: Option<(u32, u32)>,
        step: u32,
        told: bool,
    ) -> (Vec<BufferSize>, Result<Sizes, ErrorKind>) {
        let mut all = Vec::new();
        let open = |size| {
            all.push(size);
            match (has, size) {
                (Some((least, most)), BufferSize::Fixed(frames)) if (least..=most).contains(&frames) => {
                    Ok(((), frames / step * step))
                }
                (Some((least, _)), BufferSize::Default) => Ok(((), least)),
                _ => Err(ErrorKind::UnsupportedConfig.into()),
            }
        };
        let opened = fitted(Sizes { frames: asked, longest: 4096 }, || has.filter(|_| told), open);
        (all, opened.map(|((), sizes)| sizes).map_err(|error| error.kind()))
    }

    /// ALSA's `default` over dmix names any period, and has one, as soon as rate and samples are chosen.
    #[test]
    fn a_card_that_refuses_a_period_is_opened_with_the_nearest_that_it_has() {
        use BufferSize::{Default, Fixed};
        let sizes = |frames, longest| Ok(Sizes { frames, longest });
        assert_eq!(tried(256, Some((441, 441)), 1, true), (vec![Fixed(256), Fixed(441)], sizes(441, 441)));
        assert_eq!(tried(2048, Some((441, 1024)), 1, true), (vec![Fixed(2048), Fixed(1024)], sizes(1024, 1024)));
        assert_eq!(tried(256, Some((441, 441)), 1, false), (vec![Fixed(256), Default], sizes(441, 441)));
        assert_eq!(tried(256, Some((64, 1024)), 1, true), (vec![Fixed(256)], sizes(256, 4096)), "no refusal");
        assert_eq!(tried(250, Some((64, 1024)), 64, true), (vec![Fixed(250)], sizes(192, 4096)), "what it has is told");
        assert_eq!(tried(256, None, 1, true), (vec![Fixed(256), Default], Err(ErrorKind::UnsupportedConfig)));
    }

    #[test]
    fn a_card_that_is_refused_for_another_reason_is_not_tried_again() {
        let mut times = 0;
        let busy = |_| {
            times += 1;
            Err::<((), u32), _>(ErrorKind::DeviceBusy.into())
        };
        let opened = fitted(Sizes { frames: 256, longest: 4096 }, || Some((441, 441)), busy);
        assert_eq!((opened.map_err(|error| error.kind()), times), (Err(ErrorKind::DeviceBusy), 1));
    }

    /// Latencies are those of the periods that each direction has, not of those that were asked for.
    #[test]
    fn a_card_is_described_with_the_periods_that_it_has() {
        let wanted = Wanted { frames: 256, capture: Some(Channels::Mono), playback: Some(Channels::Stereo) };
        let sizes = |frames| Some(Sizes { frames, longest: frames });
        let told = |sizes| {
            let info = described("default", wanted, sizes);
            (info.period_frames, info.input_latency_frames, info.output_latency_frames)
        };
        assert_eq!(told([sizes(480), sizes(441)]), (441, 480, 882));
        assert_eq!(told([sizes(480), None]), (480, 480, 0));
        assert_eq!(told([None, sizes(u32::MAX)]), (u32::MAX, 0, u32::MAX), "no driver's number is too large");
    }

    /// Streams that end without having run call once.
    #[test]
    fn a_callback_takes_its_half_when_it_has_been_given() {
        let (half, given) = sync_channel(1);
        let mut taken = None;
        assert_eq!(half_of(&mut taken, &given), None);
        half.try_send(7).unwrap();
        drop(half);
        assert_eq!([(); 2].map(|()| half_of(&mut taken, &given).copied()), [Some(7); 2]);
    }

    #[test]
    fn channels_are_mapped_to_those_of_the_card() {
        let put = |from: &[f32], card| {
            let mut to = vec![0.0; card];
            mapped(from, card, |channel, sample| to[channel] = sample);
            to
        };
        assert_eq!(put(&[0.5], 1), [0.5]);
        assert_eq!(put(&[0.5], 2), [0.5, 0.5]);
        assert_eq!(put(&[0.5], 4), [0.5, 0.5, 0.0, 0.0]);
        assert_eq!(put(&[0.5, 0.25], 1), [0.375]);
        assert_eq!(put(&[0.5, 0.25], 3), [0.5, 0.25, 0.0]);
    }

    /// Samples that are captured and played unchanged have the same bits at the other end.
    #[test]
    fn samples_of_cards_pass_through_exactly() {
        for sample in i16::MIN..=i16::MAX {
            assert_eq!(i16::from_sample_(f32::from_sample_(sample)), sample);
        }
        for sample in (-(1 << 23)..1 << 23).step_by(97) {
            let sample = I24::new(sample).unwrap();
            assert_eq!(I24::from_sample_(f32::from_sample_(sample)), sample);
        }
    }
}
