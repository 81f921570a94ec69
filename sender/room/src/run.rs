//! The room at work: one loop on the main thread, on which the window lives.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use egui::{ColorImage, TextureOptions, Ui};
use net::failure::Failure;
use net::lock::lock;
use net::quoted::Quoted;
use shell::cli::CommonFlags;
use showing::sink::{HeldWindow, Press, Said, SharedFace};

use crate::chosen::{self, Configuration};
use crate::face::{Pages, Toolkit};
use crate::facts::{Act, Facts, Meeting};
use crate::machine::{Found, Lookout};
use crate::meeting::Introduction;
use crate::people::{Event, Host, People, Why};
use crate::relay::{Waiting, relay};
use crate::screens::{Page, Screens, is_link};
use crate::words::Words;

/// Longest wait for the person.
const LOOK: Duration = Duration::from_millis(60);
/// Time from one look at how things stand to the next.
const RENEW_MS: u64 = 500;

pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// The pages with what they show.
pub(crate) struct RoomPages {
    screens: Screens,
    facts: Facts,
    is_stale: bool,
    picture: Option<ColorImage>,
}

impl Pages for RoomPages {
    fn show(&mut self, ui: &mut Ui, call: Option<&Said>, pressed: &mut Vec<Press>) {
        if let Some(picture) = self.picture.take() {
            match &mut self.facts.machine.preview {
                Some(texture) => texture.set(picture, TextureOptions::LINEAR),
                none => *none = Some(ui.ctx().load_texture("preview", picture, TextureOptions::LINEAR)),
            }
        }
        match call {
            Some(call) => self.screens.show_call(ui, call, &self.facts, pressed),
            None => self.screens.show(ui, &self.facts),
        }
    }

    fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.is_stale) | self.picture.is_some()
    }
}

/// The room.
struct Room {
    flags: CommonFlags,
    toolkit: Rc<RefCell<Toolkit<RoomPages>>>,
    held: HeldWindow,
    people: People,
    events: Receiver<Event>,
    waiting: Receiver<Waiting>,
    behind: Behind,
}

/// The workers behind the pages.
struct Behind {
    lookout: Lookout,
    introduction: Option<Introduction>,
    renewed_ms: u64,
    /// The last text of the clipboard that was looked at.
    clipboard: Option<String>,
    had_focus: bool,
}

/// Opens the room and stays until its window is closed. `link`: one to join with.
pub fn run(flags: CommonFlags, link: Option<&str>) -> Result<(), Failure> {
    let read = Configuration::read(&flags)?;
    let is_first = read.path.is_none() && read.config.shared.peers.is_empty();
    let mut screens = Screens::new(Words::of_environment(), if is_first { Page::Start } else { Page::People });
    if let Some(link) = link {
        screens.offer(link);
    }
    let mut facts = Facts::default();
    facts.machine.camera = read.file.video.source;
    facts.machine.card = read.file.sound.card;
    facts.machine.dht = read.file.network.dht;
    let (to, waiting) = channel();
    let to = Mutex::new(to);
    let host = Host {
        open_sinks: Arc::new(move |_, parts| Ok(vec![Box::new(relay(parts, &lock(&to))?)])),
        // The window looks by itself, often enough for a person.
        wake: Arc::new(|| ()),
    };
    let Some((people, events)) = People::open(flags.clone(), host)? else { return Ok(()) };
    let pages = RoomPages { screens, facts, is_stale: true, picture: None };
    let toolkit = Rc::new(RefCell::new(Toolkit::new(pages)));
    let held = HeldWindow::open(SharedFace(toolkit.clone())).map_err(Failure::device)?;
    held.turn(Duration::ZERO, true).map_err(Failure::device)?;
    let behind = Behind {
        lookout: Lookout::new(flags.clone()),
        introduction: None,
        renewed_ms: 0,
        clipboard: None,
        had_focus: false,
    };
    let mut room = Room { flags, toolkit, held, people, events, waiting, behind };
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
    fn call(&mut self, waiting: Waiting) -> Result<(), Failure> {
        self.behind.lookout.end_preview();
        let (held, toolkit, people) = (self.held.clone(), Rc::clone(&self.toolkit), self.people.clone());
        let (mut texts_seen, mut second) = (0, 0);
        toolkit.borrow_mut().pages.facts.texts.clear();
        let shown = waiting.show(&held, || {
            let now_ms = unix_ms();
            let pages = &mut toolkit.borrow_mut().pages;
            let (facts, screens) = (&mut pages.facts, &mut pages.screens);
            let before = facts.theirs;
            if let Some(handle) = people.handle() {
                for act in std::mem::take(&mut screens.acts) {
                    match act {
                        Act::Say(text) => _ = handle.talk.say(&text),
                        Act::Hide(is_hidden) => handle.own.set_hidden(is_hidden),
                        _ => {}
                    }
                }
                let new = handle.talk.since(&mut texts_seen);
                screens.on_texts(new.iter().any(|said| !said.is_own));
                pages.is_stale |= !new.is_empty();
                facts.texts.extend(new.into_iter().map(|said| (said.is_own, Quoted(&said.text).to_string())));
                let theirs = handle.talk.theirs();
                facts.theirs = (theirs.is_recording, theirs.is_hidden);
                pages.is_stale |=
                    std::mem::replace(&mut facts.is_hidden, handle.own.is_hidden()) != handle.own.is_hidden();
            }
            // Seconds of the search are counted in the window.
            pages.is_stale |= before != facts.theirs || std::mem::replace(&mut second, now_ms / 1000) != now_ms / 1000;
            (facts.state, facts.now_ms) = (people.state(), now_ms);
        });
        let _ = self.held.set_fullscreen(false);
        shown.map_err(Failure::device)?;
        self.held.turn(Duration::ZERO, true).map_err(Failure::device)?;
        Ok(())
    }

    fn acts(&self) -> Vec<Act> {
        std::mem::take(&mut self.toolkit.borrow_mut().pages.screens.acts)
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
            self.change(|facts| match found {
                Found::Cameras(cameras) => facts.machine.cameras = Some(cameras),
                Found::Cards(cards) => facts.machine.cards = Some(cards),
                Found::Checks(checks) => facts.machine.checks = Some(checks),
            });
        }
        if let Some(trouble) = self.behind.lookout.trouble() {
            self.change(|facts| (facts.machine.preview, facts.news) = (None, Some(trouble)));
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
        if has_focus && !std::mem::replace(&mut self.behind.had_focus, true) {
            let text = toolkit.clipboard().filter(|text| is_link(text));
            if text.is_some() && text != self.behind.clipboard {
                self.behind.clipboard.clone_from(&text);
                toolkit.pages.facts.offered = text;
                toolkit.pages.is_stale = true;
            }
        }
        self.behind.had_focus = has_focus;
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Rings(who) => {
                self.change(|facts| facts.rings = Some(who));
                self.raise();
            }
            Event::Raise => self.raise(),
            Event::RingEnded(who, _) => self.change(|facts| {
                facts.rings.take_if(|rings| rings.key == who.key);
            }),
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
                self.change(|facts| facts.news = news);
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
            Act::Take(key) => {
                self.behind.lookout.end_preview();
                self.people.take(&key);
            }
            Act::Decline(key) => self.people.decline(&key),
            Act::Rename(key, name) => self.told(self.people.rename(&key, &name)),
            Act::Remove(key) => self.told(self.people.remove(&key)),
            Act::Reply(answer) => self.people.set_answer(answer),
            Act::CallName(name) => {
                let known = self.people.list().into_iter().find(|person| person.name == name);
                if let Some(person) = known {
                    self.begin_call(&person.key);
                }
            }
            Act::Invite(name) => self.behind.introduction = Some(Introduction::invite(&self.flags, &name)),
            Act::Answer(line) => self.behind.introduction.iter().for_each(|introduction| introduction.answer(&line)),
            Act::Join { link, name } => {
                self.behind.introduction = Some(Introduction::join(&self.flags, &link, &name));
            }
            Act::Leave => self.behind.introduction = None,
            Act::ForgetOffer => self.change(|facts| facts.offered = None),
            Act::ChooseCamera(spec) => {
                if self.write("video", "source", spec.as_str()) {
                    self.change(|facts| (facts.machine.camera, facts.machine.preview) = (spec, None));
                    self.behind.lookout.begin_preview();
                }
            }
            Act::ChooseCard(spec) => {
                if self.write("sound", "card", spec.as_str()) {
                    self.change(|facts| facts.machine.card = spec);
                }
            }
            Act::UseDht(is_used) => {
                if self.write("network", "dht", is_used) {
                    self.change(|facts| facts.machine.dht = is_used);
                    self.people.reload();
                }
            }
            Act::Preview(true) => {
                self.behind.lookout.search();
                self.behind.lookout.examine();
                self.behind.lookout.begin_preview();
            }
            Act::Preview(false) => {
                self.behind.lookout.end_preview();
                self.change(|facts| facts.machine.preview = None);
            }
            Act::Examine => {
                self.change(|facts| facts.machine.checks = None);
                self.behind.lookout.search();
                self.behind.lookout.examine();
            }
            Act::Read => self.change(|facts| facts.news = None),
            // Without a call there is nobody to read or see it.
            Act::Say(_) | Act::Hide(_) => {}
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
        // The call wants the camera.
        self.behind.lookout.end_preview();
        self.change(|facts| facts.news = None);
        self.people.call(key);
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
