//! The sound of a call, as the window shows and steers it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::stats::SoundSentCounts;
use common::units::Timestamp;
use net::clock;
use net::lock::lock;
use sound::click::{Metre, Tempo};
use sound::level::Level;
use sound::observed::VOLUME_MAX;
use sound::tone::HZ;

use crate::control::Setting;

/// Most volume of the other side, per cent.
const VOLUME_PERCENT_MAX: u32 = (100.0 * VOLUME_MAX) as u32;
/// Time from the wish for a click to its first beat, us: the other side must know of it by then.
const LEAD_US: u64 = 1_000_000;

/// Shared by the window and both halves; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SoundSide(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    is_muted: Arc<AtomicBool>,
    level: AtomicU8,
    volume_percent: AtomicU32,
    /// Another one is heard alone.
    is_aside: AtomicBool,
    is_practising: AtomicBool,
    /// Tone that both hear, thousandths of a hertz; 0: none.
    tone_mhz: Arc<AtomicU32>,
    /// An echo is heard: by this microphone of this loudspeaker, and by the other side's of its own.
    echoes: [AtomicBool; 2],
    /// Delay of the other side's sound in this ear; 0: none is heard.
    ear_us: AtomicU32,
    click: Mutex<Word>,
    metre: Mutex<Metre>,
    card: Mutex<Option<String>>,
    sent: Mutex<SoundSentCounts>,
    is_sent: AtomicBool,
    received: AtomicU64,
    lacking: Mutex<Option<Duration>>,
    /// True if it is of a band's further member.
    is_further: bool,
    /// Those of a band's further members, who are told the same of the click.
    further: Mutex<Vec<SoundSide>>,
}

/// The newest word about the click, whoever has said it; none: no click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// This machine, by its clock.
    Own(Option<Tempo>),
    /// The other one, by its own.
    Theirs(Option<Tempo>),
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            is_muted: Arc::default(),
            level: AtomicU8::new(Level::SILENCE.0),
            volume_percent: AtomicU32::new(100),
            is_aside: AtomicBool::new(false),
            is_practising: AtomicBool::new(false),
            tone_mhz: Arc::default(),
            echoes: Default::default(),
            ear_us: AtomicU32::new(0),
            click: Mutex::new(Word::Own(None)),
            metre: Mutex::default(),
            card: Mutex::default(),
            sent: Mutex::default(),
            is_sent: AtomicBool::new(false),
            received: AtomicU64::default(),
            lacking: Mutex::default(),
            is_further: false,
            further: Mutex::default(),
        }
    }
}

impl SoundSide {
    /// Returns the side of a band's further member: its volume and its figures are its own, the microphone and the tone are this one's,
    /// and it is told of this one's click.
    pub fn further(&self) -> Self {
        let (is_muted, tone_mhz) = (Arc::clone(&self.0.is_muted), Arc::clone(&self.0.tone_mhz));
        let side = Self(Arc::new(Shared { is_muted, tone_mhz, is_further: true, ..Shared::default() }));
        lock(&self.0.further).push(side.clone());
        side
    }

    /// Returns true if what this machine plays of itself, a tone and its own click, is not to be played here, but where the first member is.
    pub fn is_further(&self) -> bool {
        self.0.is_further
    }

    /// Says a word about the click, to all who are to know.
    fn say_click(&self, tempo: Option<Tempo>) {
        *lock(&self.0.click) = Word::Own(tempo);
        lock(&self.0.further).iter().for_each(|side| side.say_click(tempo));
    }

    /// Returns true while the own microphone is muted.
    pub fn is_muted(&self) -> bool {
        self.0.is_muted.load(Ordering::Relaxed)
    }

    /// Mutes the own microphone, or opens it.
    pub fn set_muted(&self, is_muted: bool) {
        self.0.is_muted.store(is_muted, Ordering::Relaxed);
    }

    /// Takes the level of what the own microphone gives.
    pub fn set_level(&self, level: Level) {
        self.0.level.store(level.0, Ordering::Relaxed);
    }

    /// Returns the level of what the own microphone gives.
    pub fn level(&self) -> Level {
        Level(self.0.level.load(Ordering::Relaxed))
    }

    /// Lets the other side not be heard, because another one is heard alone, or again.
    pub fn set_aside(&self, is_aside: bool) {
        self.0.is_aside.store(is_aside, Ordering::Relaxed);
    }

    /// Returns the gain of the other side's sound.
    pub fn volume(&self) -> f32 {
        if self.0.is_aside.load(Ordering::Relaxed) {
            return 0.0;
        }
        self.0.volume_percent.load(Ordering::Relaxed) as f32 / 100.0
    }

    /// Asks for a volume of the other side, per cent; returns it, none if it is too much.
    pub fn set_volume_percent(&self, percent: u32) -> Option<u32> {
        (percent <= VOLUME_PERCENT_MAX).then(|| {
            self.0.volume_percent.store(percent, Ordering::Relaxed);
            percent
        })
    }

    /// Asks for ten per cent more or less; returns what holds then.
    pub fn step_volume(&self, up: bool) -> u32 {
        let now = self.0.volume_percent.load(Ordering::Relaxed);
        let wanted = if up { (now + 10).min(VOLUME_PERCENT_MAX) } else { now.saturating_sub(10) };
        self.0.volume_percent.store(wanted, Ordering::Relaxed);
        wanted
    }

    /// Returns true while practice delay is wished for.
    pub fn is_practising(&self) -> bool {
        self.0.is_practising.load(Ordering::Relaxed)
    }

    /// Wishes for practice delay, or no longer.
    pub fn set_practising(&self, is_practising: bool) {
        self.0.is_practising.store(is_practising, Ordering::Relaxed);
    }

    /// Returns the tone that this side plays for both, hertz; none: no tone.
    pub fn tone_hz(&self) -> Option<f64> {
        let mhz = self.0.tone_mhz.load(Ordering::Relaxed);
        (mhz > 0).then_some(f64::from(mhz) / 1e3)
    }

    /// Asks for a tone, hertz, or for none; returns it, none if it cannot be heard.
    pub fn set_tone_hz(&self, hz: Option<f64>) -> Option<Option<f64>> {
        hz.is_none_or(|hz| HZ.contains(&hz)).then(|| {
            self.0.tone_mhz.store(hz.map_or(0, |hz| (1e3 * hz).round() as u32), Ordering::Relaxed);
            hz
        })
    }

    /// Takes whether this microphone hears the other side, and whether the other side's hears this one.
    pub fn set_echoes(&self, here: bool, there: bool) {
        self.0.echoes.iter().zip([here, there]).for_each(|(echo, is_heard)| echo.store(is_heard, Ordering::Relaxed));
    }

    /// Returns what there is to say of echoes.
    pub fn echo_said(&self) -> Option<&'static str> {
        let [here, there] = [0, 1].map(|echo| self.0.echoes[echo].load(Ordering::Relaxed));
        if here {
            return Some("Your microphone hears your loudspeaker: put headphones on, or the other side hears itself");
        }
        there.then_some("You come back from the other side's loudspeaker: headphones there end it")
    }

    /// Takes the delay of the other side's sound in this ear, us; none: it is not heard.
    pub fn set_ear_us(&self, ear_us: Option<u32>) {
        self.0.ear_us.store(ear_us.unwrap_or(0), Ordering::Relaxed);
    }

    /// Returns the delay with which the own sound is played here, us; none: it is not. What nobody else hears is not played either.
    pub fn own_delay_us(&self) -> Option<u32> {
        let ear_us = self.0.ear_us.load(Ordering::Relaxed);
        (self.is_practising() && !self.is_muted() && ear_us > 0).then_some(ear_us)
    }

    /// Returns the click that counts, and true if it is by the other machine's clock.
    pub fn click(&self) -> Option<(Tempo, bool)> {
        match *lock(&self.0.click) {
            Word::Own(_) if self.0.is_further => None,
            Word::Own(tempo) => tempo.map(|tempo| (tempo, false)),
            Word::Theirs(tempo) => tempo.map(|tempo| (tempo, true)),
        }
    }

    /// Returns this machine's word about the click; none: the other's counts.
    pub fn own_click(&self) -> Option<Option<Tempo>> {
        match *lock(&self.0.click) {
            Word::Own(tempo) => Some(tempo),
            Word::Theirs(_) => None,
        }
    }

    /// Begins a click of this metre for both after a bar of count-in, or of the metre that was heard last; `goes_on`: it is heard after
    /// the count-in, too.
    pub fn begin_click(&self, metre: Option<Metre>, goes_on: bool, now: Timestamp) -> Metre {
        let metre = metre.unwrap_or(*lock(&self.0.metre));
        let start_us = now.as_us() + LEAD_US + metre.bar_us();
        self.say_click(Some(Tempo { metre, count_in_bars: 1, goes_on, start_us }));
        *lock(&self.0.metre) = metre;
        metre
    }

    /// Ends the click for both, whoever has begun it.
    pub fn end_click(&self) {
        self.say_click(None);
    }

    /// Ends the click of both or begins one that goes on; returns its metre, none: there is none.
    pub fn switch_click(&self, now: Timestamp) -> Option<Metre> {
        let goes_on = self.click().is_some_and(|(tempo, _)| tempo.goes_on);
        if goes_on {
            self.end_click();
            return None;
        }
        Some(self.begin_click(None, true, now))
    }

    /// Takes the other machine's word, whose clock is `offset_us` before this one's. Where both have begun one, what begins later counts
    /// on both.
    pub fn on_click_there(&self, tempo: Option<Tempo>, offset_us: Option<i64>) {
        let mut word = lock(&self.0.click);
        if let (Word::Own(Some(own)), Some(theirs), Some(offset_us)) = (*word, tempo, offset_us)
            && rank(&own, 0) > rank(&theirs, offset_us)
        {
            return;
        }
        *word = Word::Theirs(tempo);
        tempo.iter().for_each(|tempo| *lock(&self.0.metre) = tempo.metre);
    }

    /// Forgets the other machine's word: it is gone.
    pub fn forget_click_there(&self) {
        let mut word = lock(&self.0.click);
        if matches!(*word, Word::Theirs(_)) {
            *word = Word::Own(None);
        }
    }

    /// Sets what is to be said of the card; none: it works, or none is wanted.
    pub fn say_of_card(&self, words: Option<String>) {
        *lock(&self.0.card) = words;
    }

    /// Returns what is to be said of the card.
    pub fn card_said(&self) -> Option<String> {
        lock(&self.0.card).clone()
    }

    /// Takes what is counted of the sound that is sent, and whether somebody takes it now.
    pub fn set_sent(&self, counts: SoundSentCounts, is_sent: bool) {
        *lock(&self.0.sent) = counts;
        self.0.is_sent.store(is_sent, Ordering::Relaxed);
    }

    /// Returns true while somebody takes the sound that is sent.
    pub fn is_sent(&self) -> bool {
        self.0.is_sent.load(Ordering::Relaxed)
    }

    /// Returns what is counted of the sound that is sent.
    pub fn sent(&self) -> SoundSentCounts {
        *lock(&self.0.sent)
    }

    /// Takes the number of packets that have come.
    pub fn set_received(&self, packets: u64) {
        self.0.received.store(packets, Ordering::Relaxed);
    }

    /// Returns the number of packets that have come.
    pub fn received(&self) -> u64 {
        self.0.received.load(Ordering::Relaxed)
    }

    /// Takes how much sound a recording lacks that may still come; none: nothing is recorded.
    pub fn set_lacking(&self, lacking: Option<Duration>) {
        *lock(&self.0.lacking) = lacking;
    }

    /// Returns how much sound a recording lacks that may still come; none: nothing is recorded.
    pub fn lacking(&self) -> Option<Duration> {
        *lock(&self.0.lacking)
    }

    /// Returns the settings that change it.
    pub fn settings(&self) -> Vec<Setting> {
        let [muted, volume, click, count_in, practice, tone] = [(); 6].map(|()| self.clone());
        let set_muted = move |value: &str| {
            let is_muted = on_or_off(value)?;
            muted.set_muted(is_muted);
            Some(if is_muted { "the microphone is muted" } else { "the microphone is open" }.to_owned())
        };
        let set_volume = move |value: &str| {
            let percent = volume.set_volume_percent(value.parse().ok()?)?;
            Some(format!("the other side is played at {percent} %"))
        };
        let set_click = move |value: &str| {
            if value == "off" {
                click.end_click();
                return Some("no click".to_owned());
            }
            let metre = click.begin_click(Some(value.parse().ok()?), true, clock::now());
            Some(format!("both hear {metre}, from a bar of count-in on"))
        };
        let set_count_in = move |value: &str| {
            let metre = count_in.begin_click(Some(value.parse().ok()?), false, clock::now());
            Some(format!("a bar is counted in for both: {metre}"))
        };
        let set_tone = move |value: &str| {
            let hz = if value == "off" { None } else { Some(value.parse().ok()?) };
            Some(tone_said(tone.set_tone_hz(hz)?))
        };
        let set_practice = move |value: &str| {
            let is_on = on_or_off(value)?;
            practice.set_practising(is_on);
            Some(practice_said(is_on).to_owned())
        };
        vec![
            Setting { key: "sound.mute", takes: "on or off".to_owned(), set: Box::new(set_muted) },
            Setting {
                key: "sound.volume",
                takes: format!("0 to {VOLUME_PERCENT_MAX} per cent"),
                set: Box::new(set_volume),
            },
            Setting { key: "sound.click", takes: format!("{METRES}, or off"), set: Box::new(set_click) },
            Setting { key: "sound.count_in", takes: METRES.to_owned(), set: Box::new(set_count_in) },
            Setting { key: "sound.tone", takes: "20 to 20000 hertz, or off".to_owned(), set: Box::new(set_tone) },
            Setting { key: "sound.practice", takes: "on or off".to_owned(), set: Box::new(set_practice) },
        ]
    }
}

/// Returns the order of clicks that are begun at once, of which the last counts: alike on both sides, whose clocks differ by `offset_us`.
fn rank(tempo: &Tempo, offset_us: i64) -> (u64, u32, u8, bool) {
    let begin_us = tempo.begin_us().saturating_add_signed(offset_us.saturating_neg());
    (begin_us, tempo.metre.mbpm(), tempo.metre.beats(), tempo.goes_on)
}

const METRES: &str = "20 to 400 beats a minute, with /BEATS of a bar or without: 90/3";

fn on_or_off(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Returns the sentence about a tone; none: there is none.
pub fn tone_said(hz: Option<f64>) -> String {
    let exact = "exact by this card's clock; 100 ppm of a clock are 0.2 cent";
    hz.map_or_else(|| "no tone".to_owned(), |hz| format!("both hear {hz} Hz, {exact}"))
}

/// Returns the sentence about practice delay that was switched.
pub fn practice_said(is_on: bool) -> &'static str {
    match is_on {
        true => {
            "Practice delay: you hear yourself as late as the other side. Headphones on, and no monitoring by the card"
        }
        false => "No practice delay: you hear yourself from your instrument or your card",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clock of the second machine less that of the first, us.
    const OFFSET_US: i64 = 40_000_000;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(100_000_000 + 1000 * ms)
    }

    /// Returns what the first machine hears, by its clock, and the second by that of the first.
    fn heard(sides: &[SoundSide; 2]) -> [Option<Tempo>; 2] {
        let by_first = |(machine, side): (usize, &SoundSide)| {
            let (tempo, is_theirs) = side.click()?;
            let is_of_second = (machine == 1) != is_theirs;
            let start_us = tempo.start_us.saturating_add_signed(if is_of_second { -OFFSET_US } else { 0 });
            Some(Tempo { start_us, ..tempo })
        };
        [0, 1].map(|machine| by_first((machine, &sides[machine])))
    }

    /// Carries each side's word to the other.
    fn talk(sides: &[SoundSide; 2]) {
        let words = [0, 1].map(|machine| sides[machine].own_click());
        for (machine, offset_us) in [(0, OFFSET_US), (1, -OFFSET_US)] {
            let word = words[1 - machine];
            word.iter().for_each(|tempo| sides[machine].on_click_there(*tempo, Some(offset_us)));
        }
    }

    fn there(time: Timestamp) -> Timestamp {
        Timestamp::from_us(time.as_us().saturating_add_signed(OFFSET_US))
    }

    #[test]
    fn either_side_begins_and_ends_the_click_that_both_hear() {
        let sides = [SoundSide::default(), SoundSide::default()];
        let begun = sides[0].begin_click("90/3".parse().ok(), true, at(0));
        sides[1].on_click_there(sides[0].own_click().flatten(), Some(-OFFSET_US));
        let Some(tempo) = heard(&sides)[0] else { panic!("no click") };
        assert_eq!((heard(&sides)[1], tempo.metre), (Some(tempo), begun));
        assert_eq!(tempo.begin_us(), at(1_000).as_us(), "a bar before the start, and both know of it by then");
        assert_eq!(tempo.start_us, at(3_000).as_us());
        // The other side ends it, and begins another one like it.
        assert_eq!(sides[1].switch_click(there(at(9_000))), None);
        sides[0].on_click_there(sides[1].own_click().flatten(), Some(OFFSET_US));
        assert_eq!(heard(&sides), [None; 2]);
        assert_eq!(sides[1].switch_click(there(at(10_000))), Some(begun));
        sides[0].on_click_there(sides[1].own_click().flatten(), Some(OFFSET_US));
        let [first, second] = heard(&sides);
        assert!(first == second && first.is_some_and(|tempo| tempo.start_us == at(13_000).as_us()), "{first:?}");
        // Who is gone clicks no more.
        sides[0].forget_click_there();
        assert_eq!(heard(&sides)[0], None);
    }

    #[test]
    fn where_both_begin_one_at_once_both_hear_the_same() {
        for (first_ms, second_ms) in [(0, 30), (30, 0), (0, 0)] {
            let sides = [SoundSide::default(), SoundSide::default()];
            sides[0].begin_click("60".parse().ok(), true, at(first_ms));
            sides[1].begin_click("400/1".parse().ok(), false, there(at(second_ms)));
            let words = [0, 1].map(|machine| sides[machine].own_click().flatten());
            sides[0].on_click_there(words[1], Some(OFFSET_US));
            sides[1].on_click_there(words[0], Some(-OFFSET_US));
            talk(&sides);
            let [first, second] = heard(&sides);
            assert!(first.is_some() && first == second, "{first_ms}, {second_ms}: {first:?}, {second:?}");
        }
    }

    #[test]
    fn the_own_sound_is_as_late_as_the_others_and_not_while_nobody_hears_it() {
        let side = SoundSide::default();
        side.set_ear_us(Some(43_000));
        assert_eq!(side.own_delay_us(), None);
        side.set_practising(true);
        assert_eq!(side.own_delay_us(), Some(43_000));
        side.set_muted(true);
        assert_eq!(side.own_delay_us(), None);
        side.set_muted(false);
        side.set_ear_us(None);
        assert_eq!(side.own_delay_us(), None);
    }
}
