//! A notification of the desktop (Desktop Notifications Specification 1.2) with two buttons.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use net::lock::lock;
use zbus::MatchRule;
use zbus::blocking::connection::Builder;
use zbus::blocking::{Connection, MessageIterator};
use zbus::message::Type;
use zbus::zvariant::Value;

use crate::facts::Act;
use crate::people::Who;
use crate::words::Words;

const NAME: &str = "org.freedesktop.Notifications";
const OBJECT: &str = "/org/freedesktop/Notifications";
/// Keys of what can be clicked. A click beside the buttons is `default`.
const TAKE: &str = "take";
const DECLINE: &str = "decline";
const RAISE: &str = "default";
/// Urgency of what must not be overlooked.
const CRITICAL: u8 = 2;
/// The reply to a method waits no longer for a desktop.
const METHOD_MAX: std::time::Duration = std::time::Duration::from_secs(5);

/// A notification, which goes when this is dropped.
pub(super) struct Notice(Arc<Mutex<Standing>>);

#[derive(Default)]
struct Standing {
    /// The bus and the notification's number there, once it is shown.
    shown: Option<(Connection, u32)>,
    is_over: bool,
}

/// Texts of a notification.
struct Texts {
    title: String,
    body: String,
    take: String,
    decline: String,
}

impl Notice {
    /// Tells the desktop that `who` calls. What is clicked goes to `acts`. Nobody waits for the desktop; where there is none, nothing is
    /// shown.
    pub(super) fn show(words: &Words, who: &Who, acts: Sender<Act>) -> Option<Self> {
        Self::show_on(Builder::session, words, who, acts)
    }

    /// As [`Self::show`], on another bus than the session's.
    fn show_on(
        bus: impl FnOnce() -> zbus::Result<Builder<'static>> + Send + 'static,
        words: &Words,
        who: &Who,
        acts: Sender<Act>,
    ) -> Option<Self> {
        let texts = Texts {
            title: words.of_name("ringing", &who.name),
            body: words.say("ringing-what"),
            take: words.say("take"),
            decline: words.say("decline"),
        };
        let standing = Arc::<Mutex<Standing>>::default();
        let (key, shared) = (who.key, Arc::clone(&standing));
        let body = move || {
            let act = |clicked: &str| match clicked {
                TAKE => drop(acts.send(Act::Take(key))),
                DECLINE => drop(acts.send(Act::Decline(key))),
                RAISE => drop(acts.send(Act::Raise)),
                _ => {}
            };
            let shown = bus().and_then(|bus| bus.method_timeout(METHOD_MAX).build());
            if let Err(error) = shown.and_then(|bus| show(bus, &texts, &shared, act)) {
                tracing::debug!("the desktop shows no notification: {error}");
            }
        };
        std::thread::Builder::new().name("notification".to_owned()).spawn(body).ok()?;
        Some(Self(standing))
    }
}

/// Shows it and passes on what is clicked until it is over.
fn show(bus: Connection, texts: &Texts, standing: &Mutex<Standing>, act: impl Fn(&str)) -> zbus::Result<()> {
    let rule = MatchRule::builder().msg_type(Type::Signal).interface(NAME)?.path(OBJECT)?.build();
    let signals = MessageIterator::for_match_rule(rule, &bus, None)?;
    let actions = [TAKE, &texts.take, DECLINE, &texts.decline, RAISE, &texts.title];
    let hints = HashMap::from([
        ("urgency", Value::from(CRITICAL)),
        ("desktop-entry", Value::from("duet")),
        ("category", Value::from("call.incoming")),
    ]);
    // It stays until it is over: a call rings as long as the other side waits.
    let arguments = ("Duet", 0_u32, "duet", texts.title.as_str(), texts.body.as_str(), &actions[..], hints, 0_i32);
    let reply = bus.call_method(Some(NAME), OBJECT, Some(NAME), "Notify", &arguments)?;
    let id: u32 = reply.body().deserialize()?;
    {
        let mut standing = lock(standing);
        if standing.is_over {
            return close(&bus, id);
        }
        standing.shown = Some((bus, id));
    }
    for signal in signals {
        let signal = signal?;
        let body = signal.body();
        match signal.header().member().map(|member| member.as_str()) {
            Some("ActionInvoked") => {
                let (of, clicked): (u32, String) = body.deserialize()?;
                if of == id {
                    act(&clicked);
                }
            }
            Some("NotificationClosed") => {
                let (of, _): (u32, u32) = body.deserialize()?;
                if of == id {
                    break;
                }
            }
            _ => {}
        }
        if lock(standing).is_over {
            break;
        }
    }
    Ok(())
}

fn close(bus: &Connection, id: u32) -> zbus::Result<()> {
    bus.call_method(Some(NAME), OBJECT, Some(NAME), "CloseNotification", &(id,)).map(drop)
}

impl Drop for Notice {
    fn drop(&mut self) {
        let shown = {
            let mut standing = lock(&self.0);
            standing.is_over = true;
            standing.shown.take()
        };
        // A desktop that does not answer must not hold the window up.
        let end = move || {
            if let Some((bus, id)) = shown {
                let _ = close(&bus, id);
                // Whoever listens to it ends, also where the desktop does not tell that it is closed.
                let _ = bus.close();
            }
        };
        let _ = std::thread::Builder::new().name("notification".to_owned()).spawn(end);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    /// Longest wait: this machine may have much else to do.
    const PATIENCE: Duration = Duration::from_secs(60);
    const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    struct Bus(Child, String);

    impl Bus {
        fn start() -> Self {
            let mut daemon = Command::new("dbus-daemon")
                .args(["--session", "--nofork", "--print-address"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("dbus-daemon (Debian: dbus-daemon) is needed for this test");
            let mut address = String::new();
            BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
            Self(daemon, address.trim().to_owned())
        }

        fn join(&self) -> zbus::Result<Builder<'static>> {
            Builder::address(self.1.as_str())
        }
    }

    impl Drop for Bus {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A desktop that shows notifications.
    struct Desktop(Sender<(String, Vec<String>)>, Sender<u32>);

    #[zbus::interface(name = "org.freedesktop.Notifications")]
    impl Desktop {
        #[expect(clippy::too_many_arguments, reason = "the interface's")]
        fn notify(
            &self,
            _program: String,
            _replaces: u32,
            _icon: String,
            title: String,
            _body: String,
            actions: Vec<String>,
            _hints: HashMap<String, zbus::zvariant::OwnedValue>,
            _timeout: i32,
        ) -> u32 {
            self.0.send((title, actions)).unwrap();
            7
        }

        fn close_notification(&self, id: u32) {
            self.1.send(id).unwrap();
        }
    }

    fn clara() -> Who {
        Who { key: KEY.parse().unwrap(), name: "Clara".to_owned() }
    }

    fn come<T>(from: &Receiver<T>) -> T {
        from.recv_timeout(PATIENCE).unwrap()
    }

    #[test]
    fn a_call_is_notified_and_taken_or_declined_there_and_the_notification_goes_with_it() {
        let bus = Bus::start();
        let ((shows, shown), (closes, closed), (acts, acted)) = (channel(), channel(), channel());
        let desktop = bus.join().unwrap().serve_at(OBJECT, Desktop(shows, closes)).unwrap().name(NAME).unwrap();
        let desktop = desktop.build().unwrap();
        let address = bus.1.clone();
        let at = move || Builder::address(address.as_str());
        let notice = Notice::show_on(at, &Words::of("de"), &clara(), acts).unwrap();
        let (title, actions) = come(&shown);
        assert_eq!(title, "Clara ruft an");
        assert_eq!(actions[..4], ["take", "Annehmen", "decline", "Ablehnen"]);
        let click = |id: u32, key: &str| {
            desktop.emit_signal(None::<&str>, OBJECT, NAME, "ActionInvoked", &(id, key)).unwrap();
        };
        // Another program's, and one that nobody knows.
        click(6, TAKE);
        click(7, "other");
        [TAKE, DECLINE, RAISE].into_iter().for_each(|key| click(7, key));
        let key = clara().key;
        assert_eq!([(); 3].map(|()| come(&acted)), [Act::Take(key), Act::Decline(key), Act::Raise]);
        drop(notice);
        assert_eq!(come(&closed), 7);
        // Nobody listens any more.
        assert!(
            acted.recv_timeout(PATIENCE).is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Disconnected)
        );
    }

    #[test]
    fn without_a_bus_or_a_desktop_nothing_is_shown_and_nobody_waits() {
        let (acts, acted) = channel();
        let nowhere = || Builder::address("unix:path=/nonexistent/bus");
        let notice = Notice::show_on(nowhere, &Words::of("en"), &clara(), acts.clone());
        drop(notice);
        let bus = Bus::start();
        let address = bus.1.clone();
        drop(Notice::show_on(move || Builder::address(address.as_str()), &Words::of("en"), &clara(), acts));
        assert!(
            acted.recv_timeout(PATIENCE).is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Disconnected)
        );
    }
}
