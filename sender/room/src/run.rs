//! The room at work: one loop on the main thread, on which the window lives.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use egui::ColorImage;
use net::clock::unix_ms;
use net::failure::Failure;
use net::lock::lock;
use shell::cli::CommonFlags;
use showing::sink::{HeldWindow, SharedFace};

use crate::calls::in_call::Attendant;
use crate::calls::relay::{Wanted, relay};
use crate::clipboard::Clipboard;
use crate::face::Toolkit;
use crate::facts::{Act, Facts, InCall, Meeting};
use crate::files::chosen::{self, Configuration};
use crate::files::remembered::Remembered;
use crate::line::LineTest;
use crate::machine::{Found, Lookout};
use crate::meeting::Introduction;
use crate::pages::RoomPages;
use crate::people::{Event, Host, People, Why};
use crate::ring::Ringing;
use crate::screens::{Page, Screens};
use crate::words::Words;

/// Longest wait for the person.
const LOOK: Duration = Duration::from_millis(60);
/// Time from one look at how things stand to the next.
const RENEW_MS: u64 = 500;

/// The room.
struct Room {
    flags: CommonFlags,
    toolkit: Rc<RefCell<Toolkit<RoomPages>>>,
    held: HeldWindow,
    people: People,
    events: Receiver<Event>,
    waiting: Receiver<Wanted>,
    behind: Behind,
    ringing: Option<Ringing>,
    /// Acts of a person elsewhere than on the pages.
    elsewhere: (Sender<Act>, Receiver<Act>),
}

/// The workers behind the pages.
struct Behind {
    lookout: Lookout,
    introduction: Option<Introduction>,
    line: Option<LineTest>,
    remembered: Remembered,
    renewed_ms: u64,
    clipboard: Clipboard,
}

/// Opens the room and stays until its window is closed. `link`: one to join with.
pub fn run(flags: CommonFlags, link: Option<&str>) -> Result<(), Failure> {
    let read = Configuration::read(&flags)?;
    let is_first = read.path.is_none() && read.config.shared.peers.is_empty();
    let mut screens = Screens::new(Words::of_environment(), if is_first { Page::Start } else { Page::People });
    if let Some(link) = link {
        screens.offer(link);
    }
    screens.is_called(&read.file.network.name);
    let mut facts = Facts::default();
    facts.machine.name = read.file.network.name;
    facts.machine.camera = read.file.video.source;
    facts.machine.card = read.file.sound.card;
    facts.machine.dht = read.file.network.dht;
    facts.machine.asks_dht = !chosen::is_set(&flags, "network", "dht");
    let (to, waiting) = channel();
    let to = Arc::new(Mutex::new(to));
    let of_band = Arc::clone(&to);
    let host = Host {
        open_sinks: Arc::new(move |_, parts| Ok(vec![Box::new(relay(parts, &lock(&to))?)])),
        show_band: Arc::new(move |band| {
            let words = Words::of_environment();
            band.set_words(Arc::new(move |said| words.of_engine(said)));
            let gone = |_| Failure::device("the window has been closed");
            lock(&of_band).send(Wanted::Band(band)).map_err(gone)
        }),
        // The window looks by itself, often enough for a person.
        wake: Arc::new(|| ()),
    };
    let Some((people, events)) = People::open(flags.clone(), host, link)? else { return Ok(()) };
    let pages = RoomPages { screens, facts, is_stale: true, picture: None };
    let toolkit = Rc::new(RefCell::new(Toolkit::new(pages)));
    let held = HeldWindow::open(SharedFace(toolkit.clone())).map_err(Failure::device)?;
    held.turn(Duration::ZERO, true).map_err(Failure::device)?;
    let remembered = Remembered::read(&read.config.shared);
    remembered.tell(&held.own_place(), &held.second_place());
    let behind = Behind {
        lookout: Lookout::new(flags.clone()),
        introduction: None,
        line: None,
        remembered,
        renewed_ms: 0,
        clipboard: Clipboard::default(),
    };
    let elsewhere = channel();
    let mut room = Room { flags, toolkit, held, people, events, waiting, behind, ringing: None, elsewhere };
    if is_first {
        room.act(Act::Preview(true));
    }
    room.live()
}

impl Room {
    fn live(&mut self) -> Result<(), Failure> {
        loop {
            self.renew();
            if let Ok(waiting) = self.waiting.try_recv() {
                self.call(waiting)?;
            }
            if !self.held.turn(LOOK, false).map_err(Failure::device)? {
                self.behind.lookout.end_preview();
                self.people.close();
                return Ok(());
            }
            for act in self.acts() {
                self.act(act);
            }
        }
    }

    /// Shows a call until it has ended.
    fn call(&mut self, waiting: Wanted) -> Result<(), Failure> {
        self.behind.lookout.end_preview();
        let (held, toolkit, people) = (self.held.clone(), Rc::clone(&self.toolkit), self.people.clone());
        self.change(|facts| {
            (facts.news, facts.call) = (None, InCall::default());
            facts.texts.clear();
        });
        let mut attendant = Attendant::default();
        let shown = waiting.show(&held, || attendant.attend(&people, &mut toolkit.borrow_mut().pages));
        let _ = self.held.leave_call();
        shown.map_err(Failure::device)?;
        let kept = self.behind.remembered.keep(&self.held.own_place(), &self.held.second_place());
        self.told(kept);
        self.held.turn(Duration::ZERO, true).map_err(Failure::device)?;
        Ok(())
    }

    fn acts(&self) -> Vec<Act> {
        let mut acts = std::mem::take(&mut self.toolkit.borrow_mut().pages.screens.acts);
        acts.extend(self.elsewhere.1.try_iter());
        acts
    }

    /// Changes what the pages show.
    fn change(&self, change: impl FnOnce(&mut Facts)) {
        let pages = &mut self.toolkit.borrow_mut().pages;
        change(&mut pages.facts);
        pages.is_stale = true;
    }

    /// Takes what has happened since.
    fn renew(&mut self) {
        for event in self.events.try_iter().collect::<Vec<_>>() {
            self.on_event(event);
        }
        for found in self.behind.lookout.found() {
            if let Found::Link(link) = found {
                self.act(Act::ReadCode(false));
                self.toolkit.borrow_mut().pages.screens.offer(&link);
                continue;
            }
            let pages = &mut self.toolkit.borrow_mut().pages;
            let (facts, words) = (&mut pages.facts, &pages.screens.words);
            match found {
                Found::Cameras(cameras) => facts.machine.cameras = Some(cameras),
                Found::Cards(cards) => facts.machine.cards = Some(cards),
                Found::Checks(checks) => facts.machine.checks = Some(checks),
                Found::Mended(mend, outcome) => {
                    facts.machine.mends = None;
                    facts.machine.mended =
                        Some(outcome.map_or_else(|failure| failure.message, |()| words.say(mend.done())));
                }
                Found::Link(_) => {}
            }
            pages.is_stale = true;
        }
        if let Some(trouble) = self.behind.lookout.trouble() {
            self.change(|facts| (facts.machine.preview, facts.machine.trouble) = (None, Some(trouble)));
        }
        let (standing, level) = self.behind.lookout.trial().map(|trial| (trial.standing(), trial.level().db())).unzip();
        let level = level.flatten().map(f32::round);
        {
            let pages = &mut self.toolkit.borrow_mut().pages;
            let machine = &mut pages.facts.machine;
            let standing = standing.unwrap_or_default();
            pages.is_stale |= (machine.level, &machine.standing) != (level, &standing);
            (machine.level, machine.standing) = (level, standing);
        }
        if let Some(picture) = self.behind.lookout.picture() {
            let pixels = picture.pixels.iter().map(|pixel| {
                let [_, red, green, blue] = pixel.to_be_bytes();
                egui::Color32::from_rgb(red, green, blue)
            });
            let size = [picture.size.0, picture.size.1];
            let pixels: Vec<_> = pixels.collect();
            if pixels.len() == size[0] * size[1] {
                self.toolkit.borrow_mut().pages.picture = Some(ColorImage::new(size, pixels));
            }
        }
        let meeting = self.behind.introduction.as_ref().map_or(Meeting::None, Introduction::state);
        if let Meeting::Invites(Some(link)) = &meeting {
            self.behind.clipboard.on_own(link);
        }
        let line = self.behind.line.as_ref().map(LineTest::course);
        if self.toolkit.borrow().pages.facts.line != line {
            self.change(|facts| facts.line = line);
        }
        let now_ms = unix_ms();
        let is_due = now_ms.saturating_sub(self.behind.renewed_ms) >= RENEW_MS;
        let is_news = self.toolkit.borrow().pages.facts.meeting != meeting;
        if is_news && matches!(meeting, Meeting::Met(_)) {
            self.people.reload();
        }
        if is_due || is_news {
            self.behind.renewed_ms = now_ms;
            self.look_at_clipboard();
            let people = self.people.list();
            let (state, answer) = (self.people.state(), self.people.answer());
            let pages = &mut self.toolkit.borrow_mut().pages;
            let facts = &mut pages.facts;
            let minute = |ms: u64| ms / 60_000;
            pages.is_stale |= facts.people != people
                || facts.meeting != meeting
                || facts.state != state
                || facts.answer != answer
                || minute(facts.now_ms) != minute(now_ms);
            (facts.people, facts.meeting, facts.state, facts.answer) = (people, meeting, state, answer);
            facts.now_ms = now_ms;
        }
    }

    /// Looks for a link in the clipboard each time that the window gets the focus.
    fn look_at_clipboard(&mut self) {
        let mut toolkit = self.toolkit.borrow_mut();
        let has_focus = toolkit.has_focus();
        if let Some(link) = self.behind.clipboard.look(has_focus, || toolkit.clipboard()) {
            toolkit.pages.facts.offered = Some(link);
            toolkit.pages.is_stale = true;
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Rings(who) => {
                let ringing = {
                    let words = &self.toolkit.borrow().pages.screens.words;
                    Ringing::begin(&self.flags, words, who.clone(), &self.elsewhere.0)
                };
                self.ringing = Some(ringing);
                self.change(|facts| facts.rings = Some(who));
                self.raise();
            }
            Event::Raise => self.raise(),
            Event::Linked(link) => {
                self.toolkit.borrow_mut().pages.screens.offer(&link);
                self.change(|_| ());
            }
            Event::RingEnded(who, _) => {
                self.ringing.take_if(|ringing| ringing.is_of(&who));
                self.change(|facts| {
                    facts.rings.take_if(|rings| rings.key == who.key);
                });
            }
            Event::ToldBusy(who) => self.tell("told-busy", &who.name),
            Event::ToldNotToDisturb(who) => self.tell("told-not-disturb", &who.name),
            Event::Ended(who, why) => {
                let name = who.name;
                let news = {
                    let words = &self.toolkit.borrow().pages.screens.words;
                    match why {
                        Why::Kept(what) => {
                            let reason = words.why(&what);
                            Some(words.with("call-kept", &[("name", name.into()), ("reason", reason.into())]))
                        }
                        Why::Here => None,
                        _ => Some(words.of_name("call-ended", &name)),
                    }
                };
                // Where a recording is counts longer than the call.
                self.change(|facts| {
                    let told = [news, facts.news.take()].into_iter().flatten().collect::<Vec<_>>().join(" ");
                    facts.news = (!told.is_empty()).then_some(told);
                });
            }
            Event::Trouble(words) => self.change(|facts| facts.news = Some(words)),
            _ => self.change(|_| ()),
        }
    }

    /// Brings the window before others. One that is gone is told of where it is drawn.
    fn raise(&self) {
        let _ = self.held.raise();
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Call(key) => self.begin_call(&key),
            Act::CallTogether(keys) => {
                self.make_room();
                self.people.call_together(&keys);
            }
            Act::TestLine(key) => self.behind.line = Some(LineTest::begin(&self.flags, key)),
            Act::ForgetLine => self.behind.line = None,
            Act::Take(key) => {
                self.behind.lookout.end_preview();
                // The call wants the card.
                self.ringing = None;
                self.people.take(&key);
            }
            Act::Decline(key) => {
                self.ringing = None;
                self.people.decline(&key);
            }
            Act::Raise => self.raise(),
            Act::Rename(key, name) => self.told(self.people.rename(&key, &name)),
            Act::Remove(key) => self.told(self.people.remove(&key)),
            Act::Reply(answer) => self.people.set_answer(answer),
            Act::CallName(name) => {
                let known = self.people.list().into_iter().find(|person| person.name == name);
                if let Some(person) = known {
                    self.begin_call(&person.key);
                }
            }
            Act::BeCalled(name) => {
                if self.write("network", "name", name.as_str()) {
                    self.change(|facts| facts.machine.name = name);
                }
            }
            Act::Invite => self.behind.introduction = Some(Introduction::invite(&self.flags)),
            Act::Answer(line) => self.behind.introduction.iter().for_each(|introduction| introduction.answer(&line)),
            Act::Join(link) => self.behind.introduction = Some(Introduction::join(&self.flags, &link)),
            Act::Leave => self.behind.introduction = None,
            Act::ForgetOffer => self.change(|facts| facts.offered = None),
            Act::ChooseCamera(spec) => {
                if self.write("video", "source", spec.as_str()) {
                    self.change(|facts| {
                        let machine = &mut facts.machine;
                        (machine.camera, machine.preview, machine.trouble) = (spec, None, None);
                    });
                    self.behind.lookout.begin_preview(false);
                }
            }
            Act::ChooseCard(spec) => {
                if self.write("sound", "card", spec.as_str()) {
                    self.behind.lookout.begin_trial();
                    self.change(|facts| (facts.machine.card, facts.machine.sounds) = (spec, false));
                }
            }
            Act::Sound(sounds) => {
                self.behind.lookout.trial().iter().for_each(|trial| trial.sound(sounds));
                self.change(|facts| facts.machine.sounds = sounds);
            }
            Act::UseDht(is_used) => {
                if self.write("network", "dht", is_used) {
                    self.change(|facts| (facts.machine.dht, facts.machine.asks_dht) = (is_used, false));
                    self.people.reload();
                }
            }
            Act::Preview(true) => {
                self.change(|facts| facts.machine.trouble = None);
                self.behind.lookout.search();
                self.behind.lookout.examine();
                self.behind.lookout.begin_preview(false);
                self.behind.lookout.begin_trial();
            }
            Act::Preview(false) | Act::ReadCode(false) => {
                self.behind.lookout.end_preview();
                self.change(|facts| {
                    let machine = &mut facts.machine;
                    (machine.preview, machine.reads, machine.sounds) = (None, false, false);
                });
            }
            Act::ReadCode(true) => {
                self.behind.lookout.search();
                self.behind.lookout.begin_preview(true);
                self.change(|facts| (facts.machine.reads, facts.machine.trouble) = (true, None));
            }
            Act::Examine => {
                self.change(|facts| (facts.machine.checks, facts.machine.mended) = (None, None));
                self.behind.lookout.search();
                self.behind.lookout.examine();
            }
            Act::Mend(mend) => {
                self.change(|facts| facts.machine.mends = Some(mend));
                self.behind.lookout.mend(mend);
            }
            Act::Read => self.change(|facts| facts.news = None),
            // Without a call there is nobody to read or see it.
            Act::Say(_) | Act::Hide(_) | Act::Record(_) | Act::Balance(_) | Act::Effect(..) | Act::SwitchEffects => {}
        }
    }

    fn tell(&self, key: &str, name: &str) {
        let news = self.toolkit.borrow().pages.screens.words.of_name(key, name);
        self.change(|facts| facts.news = Some(news));
    }

    /// Says why something that was to be done was not.
    fn told(&self, done: Result<(), Failure>) {
        if let Err(failure) = done {
            self.change(|facts| facts.news = Some(failure.message));
        }
    }

    fn begin_call(&mut self, key: &common::config::PublicKey) {
        self.make_room();
        self.people.call(key);
    }

    /// Lets go of camera and card, which a call wants.
    fn make_room(&mut self) {
        self.ringing = None;
        self.behind.lookout.end_preview();
        self.change(|facts| facts.news = None);
    }

    /// Writes what was chosen; says why that failed.
    fn write(&self, section: &str, key: &str, chosen: impl Into<toml_edit::Value>) -> bool {
        let Err(failure) = chosen::write(&self.flags, section, key, chosen) else { return true };
        let words = {
            let screens = &self.toolkit.borrow().pages.screens;
            screens.words.with("no-write", &[("reason", failure.message.into())])
        };
        self.change(|facts| facts.news = Some(words));
        false
    }
}
