//! A window of a desktop: what keys do, when it is drawn, how it ends. The libraries that open one are behind [`Pane`].

pub(super) mod composition;
mod held;
mod outlet;
mod painter;
mod pane;
mod second;
mod unbroken;
mod watched;
mod with_minifb;
mod with_winit;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::config::{SnapshotFile, WindowBackend};
use common::units::{Bitrate, FrameId, Timestamp};
use kernels::{Converter, Picture};
use net::clock;
use picture::effects::Effects;
use picture::params::StreamParams;
use shell::settings::{LatencyLimit, SoundSide, practice_said, tone_said};
use sound::click::Metre;

use self::composition::{Composition, comfortable};
pub use self::held::HeldWindow;
pub use self::pane::TITLE;
use self::pane::{Key, Mouse, Pane};
pub use self::second::{SecondPlace, SecondWindow};
use self::with_minifb::MinifbPane;
use self::with_winit::WinitPane;
use super::awake::Awake;
use super::face::{Layer, Press, Said};
use super::keys::{Escape, Pointer};
use super::levels::Levels;
use super::self_view::{OwnPlace, SelfView};
use super::{Sink, SinkError, WindowParts, Wish, snapshot};
use crate::report::Status;
use crate::sound::Audible;

/// Time after which an unchanged picture is drawn again, in case something covered it.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Tone to tune by, hertz.
const CONCERT_HZ: f64 = 440.0;

/// A choice among the members of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// This one, from 0 on.
    Member(usize),
    /// The next one.
    Next,
    /// The one at this pixel of the sheet.
    At((usize, usize)),
}

/// The memory of a window from one call to the next.
#[derive(Default)]
struct Places {
    own: OwnPlace,
    second: SecondPlace,
}

/// A resizable window that keeps the picture's shape.
pub struct Window {
    pane: Box<dyn Pane>,
    fullscreen: bool,
    converter: Option<Converter>,
    composition: Composition,
    /// The picture for a second window, while that is open, and the memory of it.
    second: Option<Composition>,
    second_place: SecondPlace,
    is_above: bool,
    /// Size of what the window shows, and true if it differs from what it should show.
    frame_size: (usize, usize),
    is_stale: bool,
    drawn: Timestamp,
    escape: Escape,
    pointer: Pointer,
    awake: Awake,
    latency_limit: LatencyLimit,
    sound: Option<Audible>,
    ends: bool,
    /// Of a band: who was chosen by keys and clicks.
    picks: Vec<Pick>,
    /// The side whose volume keys change; none: that of the call.
    volume_of: Option<SoundSide>,
    snapshot: SnapshotFile,
    saved: (Sender<String>, Receiver<String>),
}

impl Window {
    /// Opens the window.
    pub fn open(fullscreen: bool, parts: WindowParts) -> Result<Self, SinkError> {
        let pane = open_pane(parts.backend, fullscreen)?;
        Self::on(pane, None, Places::default(), fullscreen, parts)
    }

    /// Shows pictures in a window that is open already, under its face.
    pub fn within(held: &HeldWindow, parts: WindowParts) -> Result<Self, SinkError> {
        let places = Places { own: held.own_place(), second: held.second_place() };
        Self::on(Box::new(held.clone()), Some(held.layer()), places, false, parts)
    }

    fn on(
        pane: Box<dyn Pane>,
        face: Option<Arc<Mutex<Layer>>>,
        places: Places,
        fullscreen: bool,
        parts: WindowParts,
    ) -> Result<Self, SinkError> {
        let WindowParts { status_line, snapshot, own, latency_limit, sound, .. } = parts;
        let mut opened = Self {
            composition: Composition::new(pane.size(), status_line, own, places.own).under(face),
            second: None,
            second_place: places.second,
            pane,
            fullscreen: false,
            converter: None,
            is_above: false,
            frame_size: (0, 0),
            is_stale: true,
            drawn: clock::now(),
            escape: Escape::default(),
            pointer: Pointer::default(),
            awake: Awake::default(),
            latency_limit,
            sound,
            ends: false,
            picks: Vec::new(),
            volume_of: None,
            snapshot,
            saved: channel(),
        };
        opened.composition.overlay.levels = opened.sound.as_ref().map(|_| Levels::new());
        if fullscreen {
            opened.fullscreen = true;
            opened.pane.set_fullscreen(true)?;
        }
        if opened.second_place.get().is_open {
            opened.open_second()?;
        }
        opened.draw()?;
        Ok(opened)
    }

    /// Shows a sheet of several pictures, 0x00RRGGBB row by row, whose left upper part of the size `large` counts most.
    pub fn show_sheet(
        &mut self,
        (size, pixels): ((usize, usize), &[u32]),
        large: (usize, usize),
    ) -> Result<(), SinkError> {
        if self.composition.size != size && !self.fullscreen {
            self.pane.resize(comfortable(size, self.pane.screen()))?;
        }
        self.composition.take_sheet(size, pixels);
        if let Some(second) = &mut self.second {
            second.take_part(large, size.0, pixels);
        }
        self.composition.overlay.is_of_band = true;
        self.draw()?;
        self.awake.on_picture(|on| self.pane.hold_saver(on), clock::now());
        Ok(())
    }

    /// Takes who was chosen of a band since the last call.
    pub fn take_picks(&mut self) -> Vec<Pick> {
        std::mem::take(&mut self.picks)
    }

    /// Says something for a moment.
    pub fn tell(&mut self, text: &str) {
        self.composition.overlay.say(text, clock::now());
        self.is_stale = true;
    }

    /// Lets the keys of volume change that of this side; none: of the call's own.
    pub fn steer_volume(&mut self, of: Option<SoundSide>) {
        self.volume_of = of;
    }

    fn draw(&mut self) -> Result<(), SinkError> {
        self.frame_size = self.pane.size();
        if let (Some(sound), Some(levels)) = (&self.sound, &mut self.composition.overlay.levels) {
            levels.take(sound.side.level(), sound.levels(), clock::now());
        }
        // Whoever has a second window looks at that one.
        if let Some(second) = &mut self.second {
            second.mirrored = self.composition.mirrored;
            self.pane.show_second(second)?;
        }
        self.pane.show(&mut self.composition)?;
        self.is_stale = false;
        self.drawn = clock::now();
        self.look()
    }

    /// Does what keys pressed since the last look mean.
    fn look(&mut self) -> Result<(), SinkError> {
        let news = self.pane.look(Duration::ZERO)?;
        self.look_at_second();
        self.is_stale |= news.is_bare || !news.keys.is_empty();
        for act in &news.mouse {
            if let Mouse::Down(at) = *act {
                self.picks.extend(self.composition.pixel_at(at).map(Pick::At));
            }
        }
        self.hold_own(&news.mouse);
        let keys = news.keys.into_iter().chain(self.renew()?);
        for key in keys {
            let now = clock::now();
            let Composition { overlay, own, .. } = &mut self.composition;
            match key {
                Key::Keys => overlay.toggle_keys(),
                Key::Line => overlay.line_shown = !overlay.line_shown,
                Key::Details => overlay.toggle_details(),
                Key::Fullscreen => {
                    self.fullscreen = !self.fullscreen;
                    self.pane.set_fullscreen(self.fullscreen)?;
                }
                Key::Second if self.second.is_some() => self.pane.close_second()?,
                Key::Second => self.open_second()?,
                Key::Above => {
                    self.is_above = !self.is_above;
                    let done = self.pane.keep_above(self.is_above)?;
                    overlay.say(above_said(done.then_some(self.is_above)), now);
                }
                Key::Mirror => self.composition.mirrored = !self.composition.mirrored,
                Key::Save => {
                    let (pixels, width) = (self.composition.pixels(), self.composition.size.0);
                    snapshot::save(pixels, width, self.snapshot, self.saved.0.clone());
                }
                Key::Own => {
                    if let Some(own) = own {
                        own.toggle();
                        if let Some(said) = own.side.camera_said() {
                            overlay.say(said, now);
                        }
                    }
                }
                Key::Effects => {
                    if let Some(own) = &own {
                        overlay.say(effects_said(own.side.switch_effects()), now);
                    }
                }
                Key::Size => {
                    if let Some(size) = own.as_ref().and_then(|own| own.side.step_size()) {
                        overlay.say(format!("Sending pictures of {size}"), now);
                    }
                }
                Key::Wait => overlay.say(waits_said(self.latency_limit.step()), now),
                Key::Faster | Key::Slower => {
                    if let Some(own) = &own {
                        let before = own.side.rate();
                        let rate = own.side.step_rate(key == Key::Faster);
                        overlay.say(rate_said(rate, rate == before), now);
                    }
                }
                Key::Mute => {
                    if let Some(sound) = &self.sound {
                        let is_muted = !sound.side.is_muted();
                        sound.side.set_muted(is_muted);
                        overlay.say(muted_said(is_muted), now);
                    }
                }
                Key::Louder | Key::Softer => {
                    if let Some(sound) = &self.sound {
                        let side = self.volume_of.as_ref().unwrap_or(&sound.side);
                        let percent = side.step_volume(key == Key::Louder);
                        overlay.say(format!("The other side is played at {percent} %"), now);
                    }
                }
                Key::Click => {
                    if let Some(sound) = &self.sound {
                        overlay.say(click_said(sound.side.switch_click(now)), now);
                    }
                }
                Key::CountIn => {
                    if let Some(sound) = &self.sound {
                        let metre = sound.side.begin_click(None, false, now);
                        overlay.say(format!("A bar is counted in for both of you: {metre}"), now);
                    }
                }
                Key::Tone => {
                    if let Some(sound) = &self.sound {
                        let hz = sound.side.tone_hz().is_none().then_some(CONCERT_HZ);
                        sound.side.set_tone_hz(hz);
                        overlay.say(tone_said(hz), now);
                    }
                }
                Key::Practice => {
                    if let Some(sound) = &self.sound {
                        let is_on = own.is_some() && !sound.side.is_practising();
                        sound.side.set_practising(is_on);
                        let said =
                            if own.is_some() { practice_said(is_on) } else { "Only in a call you hear yourself" };
                        overlay.say(said, now);
                    }
                }
                Key::Member(member) => self.picks.push(Pick::Member(member)),
                Key::NextMember => self.picks.push(Pick::Next),
                Key::Escape if self.escape.press(now) => self.ends = true,
                Key::Escape => overlay.say("Press Esc again to end", now),
            }
        }
        Ok(())
    }

    fn clear(&mut self, size: (usize, usize)) {
        let second = self.second.as_mut();
        [&mut self.composition].into_iter().chain(second).for_each(|shown| shown.clear(size));
        self.is_stale = true;
    }

    fn open_second(&mut self) -> Result<(), SinkError> {
        if self.pane.open_second(&self.second_place.get())? {
            self.second = Some(self.composition.beside());
            self.is_stale = true;
        } else {
            self.composition.overlay.say("Here is no second window to be had", clock::now());
        }
        Ok(())
    }

    /// Remembers how the second window stands, which a person may have closed.
    fn look_at_second(&mut self) {
        if self.second.is_none() {
            return;
        }
        match self.pane.second() {
            Some(now) => self.second_place.set(now),
            None => {
                self.second_place.set(SecondWindow { is_open: false, ..self.second_place.get() });
                (self.second, self.is_stale) = (None, true);
            }
        }
    }

    /// Lets the pointer take the own picture to another corner.
    fn hold_own(&mut self, mouse: &[Mouse]) {
        let size = self.pane.size();
        let Some(own) = &mut self.composition.own else { return };
        for act in mouse {
            match *act {
                Mouse::Down(at) => own.grab(at, size),
                Mouse::Up => self.is_stale |= own.release(size),
            }
        }
        self.is_stale |= self.pane.pointer().is_some_and(|at| own.drag(at, size));
    }

    /// Makes the pages of a face anew; returns what its buttons mean.
    fn renew(&mut self) -> Result<Vec<Key>, SinkError> {
        let Composition { overlay, own, face: Some(_), .. } = &self.composition else { return Ok(Vec::new()) };
        let said = Said {
            is_muted: self.sound.as_ref().map(|sound| sound.side.is_muted()),
            own_shown: own.as_ref().is_some_and(SelfView::is_shown),
            is_fullscreen: self.fullscreen,
            has_second: self.second.is_some(),
            ..overlay.said()
        };
        let (is_new, pressed) = self.pane.renew(Some(&said))?;
        self.is_stale |= is_new;
        self.ends |= pressed.contains(&Press::HangUp);
        Ok(pressed.into_iter().filter_map(Key::of_press).collect())
    }

    fn look_at_pointer(&mut self, now: Timestamp) {
        if let Some(visible) = self.pointer.look(self.pane.pointer(), now) {
            self.pane.show_pointer(visible);
        }
    }
}

impl Sink for Window {
    fn start(&mut self, params: &StreamParams) -> Result<(), SinkError> {
        let size = (params.size.width(), params.size.height());
        if self.composition.size != size || self.converter.is_none() {
            if !self.fullscreen {
                self.pane.resize(comfortable(size, self.pane.screen()))?;
            }
            self.clear(size);
        }
        self.converter = Some(Converter::new(params.colour));
        Ok(())
    }

    fn show(&mut self, _id: FrameId, picture: &Picture) -> Result<(), SinkError> {
        if let Some(converter) = self.converter {
            self.composition.take(picture, converter);
            if let Some(second) = &mut self.second {
                second.take(picture, converter);
            }
            self.is_stale = true;
            self.draw()?;
            self.awake.on_picture(|on| self.pane.hold_saver(on), clock::now());
        }
        Ok(())
    }

    fn status(&mut self, status: &Status) {
        let Composition { overlay, own, .. } = &mut self.composition;
        let said = own.as_ref().and_then(|own| own.side.said());
        let alerts =
            [own.as_ref().and_then(|own| own.side.camera_said()), self.sound.as_ref().and_then(Audible::alert)];
        let alert = alerts.into_iter().flatten().reduce(|first, second| format!("{first}\n{second}"));
        self.is_stale |= overlay.set_alert(alert);
        match said {
            Some(said) => {
                let line = format!("{said}\n{}", status.line);
                overlay.set_status(&Status { line, ..status.clone() }, clock::now());
            }
            None => overlay.set_status(status, clock::now()),
        }
    }

    fn cover(&mut self) {
        self.clear(self.composition.size);
    }

    fn say(&mut self, text: &str) {
        self.composition.overlay.say(text, clock::now());
        self.is_stale = true;
    }

    fn notice(&mut self, notice: Option<&str>) {
        self.is_stale |= self.composition.overlay.set_notice(notice);
        if let Some(second) = &mut self.second {
            second.overlay.set_notice(notice);
        }
    }

    fn poll(&mut self) -> Result<Wish, SinkError> {
        let now = clock::now();
        let Composition { overlay, own, .. } = &mut self.composition;
        self.is_stale |= overlay.expire(now) | own.as_mut().is_some_and(SelfView::renew);
        while let Ok(said) = self.saved.1.try_recv() {
            overlay.say(said, now);
            self.is_stale = true;
        }
        if self.is_stale || self.frame_size != self.pane.size() || now.since(self.drawn) >= REDRAW_INTERVAL {
            self.draw()?;
        } else {
            self.look()?;
        }
        self.look_at_pointer(now);
        self.awake.look(|on| self.pane.hold_saver(on), now);
        Ok(if self.pane.is_open() && !self.ends { Wish::Continue } else { Wish::Close })
    }
}

/// Opens a pane with the library that is wished for, or with one that can.
fn open_pane(backend: WindowBackend, fullscreen: bool) -> Result<Box<dyn Pane>, SinkError> {
    let by_minifb = || MinifbPane::open(fullscreen).map(|pane| Box::new(pane) as Box<dyn Pane>);
    match backend {
        WindowBackend::Minifb => by_minifb(),
        WindowBackend::Winit => Ok(Box::new(WinitPane::open(None)?)),
        WindowBackend::Auto => match WinitPane::open(None) {
            Ok(pane) => Ok(Box::new(pane)),
            Err(refused) => match by_minifb() {
                Ok(pane) => {
                    tracing::warn!("minifb opens the window instead of winit: {refused}");
                    Ok(pane)
                }
                // What the first could not is nearer to what is wrong.
                Err(_) => Err(refused),
            },
        },
    }
}

/// Returns the sentence about a window that is above others or not; none: that cannot be asked for.
fn above_said(is_above: Option<bool>) -> &'static str {
    match is_above {
        Some(true) => "Above other windows",
        Some(false) => "No longer above other windows",
        None => "Wayland leaves it to the desktop which window is above others",
    }
}

/// Returns the sentence about the microphone.
fn muted_said(is_muted: bool) -> &'static str {
    if is_muted { "Your microphone is off: nobody hears you" } else { "Your microphone is on" }
}

/// Returns the sentence about the click of this metre; none: there is none.
fn click_said(metre: Option<Metre>) -> String {
    metre.map_or_else(|| "No click".to_owned(), |metre| format!("Both of you hear {metre}, after one bar"))
}

/// Returns the sentence about the highest rate to send at, which may be at its end already.
fn rate_said(rate: Bitrate, is_end: bool) -> String {
    let rate = rate.as_bps() as f64 / 1e6;
    match is_end {
        true => format!("{rate:.1} Mbit/s: this call goes no further (rate_max in [network] sets the highest)"),
        false => format!("Sending {rate:.1} Mbit/s at most"),
    }
}

/// Returns the sentence about the wait for missing parts; none: the usual one.
fn waits_said(limit: Option<Duration>) -> String {
    match limit {
        Some(limit) => format!("Missing parts are waited for {} ms at most", limit.as_millis()),
        None => "Missing parts are waited for as usual".to_owned(),
    }
}

/// Returns the sentence about effects that have been switched; none: there are none.
fn effects_said(effects: Option<Effects>) -> String {
    match effects {
        None => "No effects are set: sender set effects.still_noise=3, for example".to_owned(),
        Some(effects) => format!("Effects on your picture: {effects}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_rates_is_told_as_such() {
        let [four, eight] = [4_000_000, 8_000_000].map(Bitrate::from_bps);
        let own = shell::settings::OwnSide::new(four, eight, Effects::default());
        let mut said = Vec::new();
        for _ in 0..6 {
            let before = own.rate();
            let rate = own.step_rate(true);
            said.push(rate_said(rate, rate == before));
        }
        assert_eq!((said[0].as_str(), said[3].as_str()), ("Sending 5.0 Mbit/s at most", "Sending 8.0 Mbit/s at most"));
        assert_eq!(said[4], "8.0 Mbit/s: this call goes no further (rate_max in [network] sets the highest)");
        assert_eq!(said[5], said[4]);
    }
}
