//! The people as a window asks for them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use calling::Handle;
use common::config::{PublicKey, SharedConfig};
use common::reach::Ticket;
use net::failure::Failure;
use net::lock::lock;
use shell::cli::CommonFlags;
use shell::control::{self, Control, Setting};

use super::engine::{Engine, Shown};
use super::event::{Event, State};
use super::history::History;
use super::host::Host;
use super::known;
use super::order::Order;
use super::person::{Answer, Person};

/// Name of the program at its control socket.
const PROGRAM: &str = "duet";
/// The wish of a second start, and its value without a link.
const RAISE: &str = "show";
const NOW: &str = "now";

/// The people that this machine knows. Clones are the same.
#[derive(Clone)]
pub struct People(Arc<Inner>);

struct Inner {
    shared: SharedConfig,
    shown: Arc<Mutex<Shown>>,
    orders: Sender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
    _control: Option<Control>,
}

impl People {
    /// Reads who is known, as `flags` and the files say that the daemons read, and begins to listen for all of them. A second program
    /// of the same user finds the first, asks it to show itself, with the `link` that it was started with, and gets none.
    pub fn open(
        flags: CommonFlags,
        host: Host,
        link: Option<&str>,
    ) -> Result<Option<(Self, Receiver<Event>)>, Failure> {
        let link = link.and_then(Ticket::find_in).and_then(Result::ok);
        let wish = format!("{RAISE}={}", link.map_or_else(|| NOW.to_owned(), |ticket| ticket.link()));
        let known = known::known(&flags)?;
        let shared = known.shared.clone();
        if control::ask_running(PROGRAM, &shared, &wish) {
            return Ok(None);
        }
        let (events, heard) = channel();
        let raise = {
            let (events, host) = (Mutex::new(events.clone()), host.clone());
            Box::new(move |value: &str| {
                let link = match value {
                    NOW => None,
                    link => Some(Ticket::find_in(link)?.ok()?.link()),
                };
                let events = lock(&events);
                for event in link.map(Event::Linked).into_iter().chain([Event::Raise]) {
                    let _ = events.send(event);
                }
                (host.wake)();
                Some("it shows itself".to_owned())
            })
        };
        let settings = vec![Setting { key: RAISE, takes: "now, or a link".to_owned(), set: raise }];
        let control = control::serve(PROGRAM, &shared, settings);
        // Of two that start at once one has the socket.
        if control.is_none() && control::ask_running(PROGRAM, &shared, &wish) {
            return Ok(None);
        }
        let (history, trouble) = History::read(&shared);
        trouble.into_iter().for_each(|failure| drop(events.send(Event::Trouble(failure.message))));
        let (orders, queue) = channel();
        let shown: Arc<Mutex<Shown>> = Arc::default();
        let engine = Engine {
            flags,
            host,
            known,
            history,
            shown: Arc::clone(&shown),
            orders: orders.clone(),
            events,
            home: None,
            presences: Default::default(),
            ringing: Default::default(),
            answer: Answer::default(),
            call: None,
            removed: Default::default(),
        };
        engine.show();
        let thread = std::thread::Builder::new().name("people".to_owned()).spawn(move || engine.run(&queue));
        let thread = thread.map_err(|error| Failure::device(format!("a thread cannot be started: {error}")))?;
        let thread = Mutex::new(Some(thread));
        Ok(Some((Self(Arc::new(Inner { shared, shown, orders, thread, _control: control })), heard)))
    }

    /// Returns all people, by name.
    pub fn list(&self) -> Vec<Person> {
        lock(&self.0.shown).people.clone()
    }

    /// Returns how this side stands.
    pub fn state(&self) -> State {
        lock(&self.0.shown).state.clone()
    }

    /// Returns what a window shows and steers of the call of now; of one with several that with the first.
    pub fn handle(&self) -> Option<Handle> {
        lock(&self.0.shown).handles.first().cloned()
    }

    /// Returns the same of each with whom a call is on.
    pub fn handles(&self) -> Vec<Handle> {
        lock(&self.0.shown).handles.clone()
    }

    /// Reads the files again: somebody was introduced, or a setting was changed. It holds from the next call.
    pub fn reload(&self) {
        self.order(Order::Reload);
    }

    /// Calls that person; takes the call, if that person's rings. Does nothing in a call.
    pub fn call(&self, key: &PublicKey) {
        self.order(Order::Call(vec![*key]));
    }

    /// Calls all of them at once, three at most; whoever of them rings is taken. Each of them must call all the others.
    pub fn call_together(&self, keys: &[PublicKey]) {
        self.order(Order::Call(keys.to_vec()));
    }

    /// Takes the call that rings.
    pub fn take(&self, key: &PublicKey) {
        self.order(Order::Take(*key));
    }

    /// Declines the call that rings.
    pub fn decline(&self, key: &PublicKey) {
        self.order(Order::Decline(*key));
    }

    /// Ends the call, or gives it up.
    pub fn hang_up(&self) {
        self.order(Order::HangUp);
    }

    /// Sets the answer to whoever calls; it holds as long as this program runs.
    pub fn set_answer(&self, answer: Answer) {
        self.order(Order::Answer(answer));
    }

    /// Returns the answer to whoever calls.
    pub fn answer(&self) -> Answer {
        lock(&self.0.shown).answer
    }

    /// Gives a person another name. An error says what is wrong with it, and nothing is changed.
    pub fn rename(&self, key: &PublicKey, name: &str) -> Result<(), Failure> {
        known::change(&self.0.shared, |file| file.rename(key, name))?;
        self.reload();
        Ok(())
    }

    /// Removes a person: key and addresses go from the file, a call with that machine ends, and it is a stranger from now on. An error
    /// says why it is still in a file; in the program it is removed all the same, until that starts anew.
    pub fn remove(&self, key: &PublicKey) -> Result<(), Failure> {
        let written = known::change(&self.0.shared, |file| file.remove(key));
        self.order(Order::Removed(*key, written.is_err()));
        written
    }

    /// Ends the call, if there is one, and listens no more. Waits for that.
    pub fn close(&self) {
        self.order(Order::Close);
        if let Some(thread) = lock(&self.0.thread).take() {
            let _ = thread.join();
        }
    }

    fn order(&self, order: Order) {
        // After the end there is nobody to do anything.
        let _ = self.0.orders.send(order);
    }
}
