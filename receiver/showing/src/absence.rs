//! Decides what the window says while no picture comes: who is missing, since when, and what is being tried.

use std::time::Duration;

use common::config::{LinkMode, Peer, PublicKey};
use common::stats::{CallState, HEARD_MAX, Standing};
use common::units::Timestamp;
use common::wire::control::SourceState;
use net::link::Obstacle;

use crate::handover::LinkSnapshot;

/// Pictures that stay away for longer are missed.
const PATIENCE: Duration = Duration::from_millis(800);
/// Between frames of a slow stream nothing is missed for so many intervals.
const INTERVALS: u32 = 3;

/// Watches whether pictures come.
#[derive(Clone, Debug)]
pub struct Absence {
    peers: Vec<Peer>,
    way: Way,
    began: Timestamp,
    last: Option<Last>,
}

/// The way in which the two machines come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// This side dials.
    Dials,
    /// The other side dials.
    Listens,
    /// Both look for each other; `call`: for both directions.
    Meets { call: bool },
}

impl Way {
    /// Returns what is done while the other side is missing.
    fn trying(self) -> &'static str {
        match self {
            Self::Dials => "calling again",
            Self::Listens => "waiting for a call",
            Self::Meets { .. } => "looking again",
        }
    }
}

/// The last picture.
#[derive(Clone, Copy, Debug)]
struct Last {
    at: Timestamp,
    from: Option<PublicKey>,
    /// Serial number of its stream.
    stream: u64,
    patience: Duration,
}

impl Absence {
    /// Creates the state in which nobody is there yet. `peers` may call, or are called; see `mode`. `call`: pictures go both ways.
    pub fn new(peers: &[Peer], mode: &LinkMode, call: bool, now: Timestamp) -> Self {
        let way = match mode {
            LinkMode::Dial(_) | LinkMode::DialNobody => Way::Dials,
            LinkMode::Listen(_) => Way::Listens,
            LinkMode::Meet(_) => Way::Meets { call },
        };
        Self { peers: peers.to_vec(), way, began: now, last: None }
    }

    /// Takes a shown picture of stream number `stream`, with a frame every `interval`.
    pub fn on_picture(&mut self, stream: u64, link: &LinkSnapshot, interval: Duration, now: Timestamp) {
        let from = link.peer.or(self.last.and_then(|last| last.from));
        let patience = PATIENCE.max(interval * INTERVALS);
        self.last = Some(Last { at: now, from, stream, patience });
    }

    /// Returns what the window has to say, or nothing while pictures come. `hears`: sound comes.
    pub fn notice(&self, link: &LinkSnapshot, hears: bool, now: Timestamp) -> Option<String> {
        let said = self.missing(link, now)?;
        if !hears {
            return Some(said);
        }
        let who = self.who(link);
        Some(match link.source {
            SourceState::Withheld => format!("Sound only: {who} sends no pictures"),
            // Sound is there a moment sooner.
            SourceState::Gives if self.last.is_none() => said,
            _ => format!("Sound only. {said}"),
        })
    }

    fn missing(&self, link: &LinkSnapshot, now: Timestamp) -> Option<String> {
        let who = self.who(link);
        let has_left = self.last.is_some_and(|last| link.goodbye >= last.stream);
        let time = |since| duration(now.since(since));
        if !link.streaming && link.obstacle == Some(Obstacle::InAnotherCall) {
            return Some(sentence(format!("{who} is in a call with another machine; {}", self.way.trying())));
        }
        if let Some(fault) = fault(link.source).filter(|_| is_heard(link, now)) {
            let Fault { name, never, tried } = fault;
            return Some(match self.last.filter(|_| !has_left) {
                Some(last) => format!("{name}: no picture from {who} for {}; {tried}", time(last.at)),
                None => sentence(format!("{who} {never}, {}; {tried}", time(link.source_told))),
            });
        }
        if link.rings {
            return Some(sentence(format!("It rings at {who}, who has not taken the call yet")));
        }
        // What keeps the two apart is nearer than what is tried.
        let trying = || link.obstacle.map_or_else(|| self.way.trying().to_owned(), |obstacle| obstacle.to_string());
        let left = link.left.filter(|_| self.last.is_none_or(|_| has_left)).filter(|_| !is_heard(link, now));
        Some(match (self.last, left) {
            (Some(last), _) if !has_left && now.since(last.at) < last.patience => return None,
            (Some(last), _) if !has_left && is_heard(link, now) => {
                format!(
                    "No picture from {who} for {}; the line works, so it is the camera or computer there",
                    time(last.at)
                )
            }
            (Some(last), _) if !has_left => {
                sentence(format!("{who} has been missing for {}; {}", time(last.at), trying()))
            }
            _ if is_heard(link, now) => sentence(format!("{who} is there; waiting for the first picture")),
            (_, Some(at)) => sentence(format!("{who} left {} ago; {}", time(at), trying())),
            (Some(last), _) => sentence(format!("{who} left {} ago; {}", time(last.at), trying())),
            (None, _) => self.awaited(&who, link.obstacle, now),
        })
    }

    /// Returns what there is to say of somebody who has never been there.
    fn awaited(&self, who: &str, obstacle: Option<Obstacle>, now: Timestamp) -> String {
        let time = duration(now.since(self.began));
        let said = match self.way {
            Way::Dials => format!("Calling {who} for {time}"),
            Way::Listens => format!("Waiting for a call from {who} for {time}"),
            Way::Meets { .. } => format!("Looking for {who}, {time}"),
        };
        match (obstacle, self.way) {
            (Some(obstacle), _) => format!("{said}; {obstacle}"),
            (None, Way::Meets { call: true }) => format!("{said}; {who} must run `sender call`, too"),
            (None, Way::Meets { call: false }) => format!("{said}; {who} must run `sender` with this machine's name"),
            (None, _) => said,
        }
    }

    /// Returns how the call stands at `now`, which is `unix_ms` on the wall clock.
    pub fn standing(&self, link: &LinkSnapshot, hears: bool, unix_ms: u64, now: Timestamp) -> Standing {
        let (path, path_changes) = (link.path.name(), link.path.changes());
        let state = match self.state(link, now) {
            CallState::Connected | CallState::Silent if hears => CallState::Sound,
            state => state,
        };
        Standing { unix_ms, state, connected: is_heard(link, now), path, path_changes }
    }

    fn state(&self, link: &LinkSnapshot, now: Timestamp) -> CallState {
        match self.last {
            _ if link.peer.is_none() => CallState::Waiting,
            _ if !link.streaming => CallState::Connected,
            Some(last) if now.since(last.at) < last.patience => CallState::Streaming,
            Some(_) => CallState::Silent,
            None => CallState::Connected,
        }
    }

    /// Returns the name of who is there, was there last, or is awaited.
    pub(crate) fn who(&self, link: &LinkSnapshot) -> String {
        let known = link.peer.or(self.last.and_then(|last| last.from));
        let all = self.peers.iter().filter(|peer| known.is_none_or(|key| key == peer.key));
        let names: Vec<_> = all.map(|peer| self.name(peer)).collect();
        names.join(" or ")
    }

    /// Returns the peer's name, where it has one. The start of a key is none that people use.
    fn name<'a>(&self, peer: &'a Peer) -> &'a str {
        let is_key = peer.key.start() == peer.name;
        if is_key && self.peers.len() == 1 { "the other side" } else { &peer.name }
    }
}

/// A fault of the camera there.
#[derive(Clone, Copy, Debug)]
struct Fault {
    name: &'static str,
    /// Words about one that has never given a picture.
    never: &'static str,
    /// Words about the remedy that is tried there.
    tried: &'static str,
}

/// Returns what is wrong with the camera there, as the sender says; none: nothing.
fn fault(source: SourceState) -> Option<Fault> {
    match source {
        SourceState::Gives => None,
        SourceState::Stalled => Some(Fault {
            name: "Camera stalled",
            never: "is there and the camera gives no picture yet",
            tried: "the computer there waits for it",
        }),
        SourceState::Lost => Some(Fault {
            name: "Camera lost",
            never: "is there and has no camera yet",
            tried: "the computer there tries to open it again",
        }),
        SourceState::Unusable => Some(Fault {
            name: "Camera's pictures unusable",
            never: "is there and no picture of the camera can be used yet",
            tried: "the computer there says why",
        }),
        SourceState::Withheld => Some(Fault {
            name: "No pictures",
            never: "is there and sends no pictures",
            tried: "nobody there wants it, or the computer there has no time for them",
        }),
    }
}

/// Returns true if the other side has been heard of a moment ago.
fn is_heard(link: &LinkSnapshot, now: Timestamp) -> bool {
    link.peer.is_some() && now.since(link.heard) < HEARD_MAX
}

/// Formats a time in units that people use.
fn duration(time: Duration) -> String {
    match (time + Duration::from_millis(500)).as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns `text` with a capital letter; names stay as they are.
fn sentence(text: String) -> String {
    match text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLARA: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    const ROBERT: &str = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
    const INTERVAL: Duration = Duration::from_millis(33);

    fn peer(name: &str, key: &str) -> Peer {
        Peer { name: name.to_owned(), key: key.parse().unwrap() }
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000 * ms)
    }

    fn listens() -> LinkMode {
        LinkMode::Listen("0.0.0.0:4820".parse().unwrap())
    }

    fn dials() -> LinkMode {
        LinkMode::Dial("robert.example:4820".to_owned())
    }

    /// Returns the link on which Clara is connected and streams, last heard at `heard` ms.
    fn streaming(heard: u64) -> LinkSnapshot {
        let peer = Some(CLARA.parse().unwrap());
        LinkSnapshot { peer, streaming: true, heard: at(heard), ..LinkSnapshot::default() }
    }

    #[track_caller]
    fn check(absence: &Absence, link: &LinkSnapshot, ms: u64, wanted: Option<&str>) {
        assert_eq!(absence.notice(link, false, at(ms)).as_deref(), wanted, "at {ms} ms");
    }

    #[test]
    fn before_the_first_picture_it_says_who_is_awaited() {
        let nobody = LinkSnapshot::default();
        let absence = Absence::new(&[peer("Clara", CLARA)], &listens(), false, at(500));
        check(&absence, &nobody, 600, Some("Waiting for a call from Clara for 0 s"));
        check(&absence, &nobody, 62_600, Some("Waiting for a call from Clara for 1 min 2 s"));
        check(&absence, &streaming(900), 1_000, Some("Clara is there; waiting for the first picture"));
        for (source, wanted) in [
            (SourceState::Lost, "Clara is there and has no camera yet, 4 s; the computer there tries to open it again"),
            (
                SourceState::Stalled,
                "Clara is there and the camera gives no picture yet, 4 s; the computer there waits for it",
            ),
            (
                SourceState::Unusable,
                "Clara is there and no picture of the camera can be used yet, 4 s; the computer there says why",
            ),
        ] {
            let link = LinkSnapshot { source, source_told: at(900), ..streaming(4_900) };
            check(&absence, &link, 4_910, Some(wanted));
        }
        let absence = Absence::new(&[peer("Clara", CLARA), peer("Robert", ROBERT)], &dials(), false, at(0));
        check(&absence, &nobody, 7_300_000, Some("Calling Clara or Robert for 2 h 1 min"));
        assert_eq!(absence.state(&nobody, at(0)), CallState::Waiting);
        assert_eq!(absence.state(&streaming(0), at(0)), CallState::Connected);
    }

    #[test]
    fn within_a_second_of_the_last_picture_it_says_who_is_missing_and_what_is_tried() {
        for (mode, trying) in [(listens(), "waiting for a call"), (dials(), "calling again")] {
            let mut absence = Absence::new(&[peer("Clara", CLARA)], &mode, false, at(0));
            absence.on_picture(1, &streaming(1_000), INTERVAL, at(1_000));
            check(&absence, &streaming(1_010), 1_799, None);
            assert_eq!(absence.state(&streaming(1_010), at(1_799)), CallState::Streaming);
            // The connection has not noticed yet, and then it has.
            let gone = LinkSnapshot { heard: at(1_010), ..LinkSnapshot::default() };
            for (link, state) in [(streaming(1_010), CallState::Silent), (gone, CallState::Waiting)] {
                check(&absence, &link, 1_810, Some(&format!("Clara has been missing for 1 s; {trying}")));
                check(&absence, &link, 4_100, Some(&format!("Clara has been missing for 3 s; {trying}")));
                assert_eq!(absence.state(&link, at(4_100)), state);
            }
            // The picture is back.
            absence.on_picture(1, &streaming(5_000), INTERVAL, at(5_000));
            check(&absence, &streaming(5_000), 5_001, None);
        }
    }

    #[test]
    fn a_camera_that_stands_still_is_told_from_a_dead_line() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &listens(), false, at(0));
        absence.on_picture(1, &streaming(1_000), INTERVAL, at(1_000));
        let wanted = "No picture from Clara for 4 s; the line works, so it is the camera or computer there";
        check(&absence, &streaming(5_000), 5_100, Some(wanted));
        assert_eq!(absence.state(&streaming(5_000), at(5_100)), CallState::Silent);
    }

    #[test]
    fn what_the_sender_says_of_its_camera_is_shown_at_once() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &listens(), false, at(0));
        absence.on_picture(1, &streaming(1_000), INTERVAL, at(1_000));
        for (source, wanted) in [
            (SourceState::Stalled, "Camera stalled: no picture from Clara for 0 s; the computer there waits for it"),
            (
                SourceState::Lost,
                "Camera lost: no picture from Clara for 0 s; the computer there tries to open it again",
            ),
        ] {
            let link = LinkSnapshot { source, source_told: at(1_350), ..streaming(1_350) };
            check(&absence, &link, 1_360, Some(wanted));
            check(&absence, &LinkSnapshot { heard: at(5_000), ..link }, 5_010, Some(&wanted.replace("0 s", "4 s")));
            // Who is not heard of any more is missing, whatever was said before.
            check(&absence, &link, 5_010, Some("Clara has been missing for 4 s; waiting for a call"));
        }
        let gone = LinkSnapshot { heard: at(1_350), ..LinkSnapshot::default() };
        check(&absence, &gone, 4_000, Some("Clara has been missing for 3 s; waiting for a call"));
        check(&absence, &streaming(1_400), 1_410, None);
    }

    #[test]
    fn while_sound_comes_it_says_so_and_the_statistics_do() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &listens(), false, at(0));
        let of = |source| LinkSnapshot { source, source_told: at(900), ..streaming(4_900) };
        let said = |absence: &Absence, source| absence.notice(&of(source), true, at(4_910)).unwrap();
        let none = "Sound only: Clara sends no pictures";
        let first = "Clara is there; waiting for the first picture";
        assert_eq!([SourceState::Withheld, SourceState::Gives].map(|of| said(&absence, of)), [none, first]);
        let state = |absence: &Absence, hears| absence.standing(&of(SourceState::Lost), hears, 7, at(4_910)).state;
        assert_eq!([false, true].map(|hears| state(&absence, hears)), [CallState::Connected, CallState::Sound]);
        absence.on_picture(1, &streaming(1_000), INTERVAL, at(1_000));
        let lost = "Sound only. Camera lost: no picture from Clara for 4 s; the computer there tries to open it again";
        assert_eq!([SourceState::Withheld, SourceState::Lost].map(|of| said(&absence, of)), [none, lost]);
        assert_eq!([false, true].map(|hears| state(&absence, hears)), [CallState::Silent, CallState::Sound]);
        absence.on_picture(1, &streaming(4_900), INTERVAL, at(4_900));
        let withheld = LinkSnapshot { source: SourceState::Gives, ..streaming(4_900) };
        assert_eq!(absence.notice(&withheld, true, at(4_910)), None);
        assert_eq!(state(&absence, true), CallState::Streaming);
    }

    #[test]
    fn who_has_said_goodbye_has_left() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &dials(), false, at(0));
        absence.on_picture(1, &streaming(1_000), INTERVAL, at(1_000));
        let left = LinkSnapshot { goodbye: 1, ..LinkSnapshot::default() };
        check(&absence, &left, 1_100, Some("Clara left 0 s ago; calling again"));
        let back = LinkSnapshot { goodbye: 1, ..streaming(9_000) };
        check(&absence, &back, 9_100, Some("Clara is there; waiting for the first picture"));
        absence.on_picture(2, &back, INTERVAL, at(9_200));
        check(&absence, &back, 9_201, None);
        let gone = LinkSnapshot { goodbye: 1, ..LinkSnapshot::default() };
        check(&absence, &gone, 12_300, Some("Clara has been missing for 3 s; calling again"));
    }

    #[test]
    fn who_leaves_before_a_first_picture_has_left() {
        let absence = Absence::new(&[peer("Clara", CLARA)], &listens(), false, at(0));
        let left = LinkSnapshot { goodbye: 1, left: Some(at(10_000)), ..LinkSnapshot::default() };
        check(&absence, &left, 13_000, Some("Clara left 3 s ago; waiting for a call"));
        let back = LinkSnapshot { left: left.left, ..streaming(20_000) };
        check(&absence, &back, 20_100, Some("Clara is there; waiting for the first picture"));
    }

    #[test]
    fn in_a_call_by_name_it_says_who_is_looked_for_and_what_keeps_the_two_apart() {
        let meets = {
            let text = format!("[network]\nmode = \"meet\"\n[[peer]]\nname = \"clara\"\npublic_key = \"{CLARA}\"");
            let file = common::config::parse_receiver(&text).unwrap();
            common::config::resolve_receiver(&file).unwrap().shared.mode
        };
        let mut absence = Absence::new(&[peer("clara", CLARA)], &meets, true, at(0));
        let nobody = LinkSnapshot::default();
        check(&absence, &nobody, 13_000, Some("Looking for clara, 13 s; clara must run `sender call`, too"));
        for (obstacle, wanted) in [
            (Obstacle::NoNetwork, "Looking for clara, 13 s; this computer has no network"),
            (Obstacle::LargePackets, "Looking for clara, 13 s; packets of 1200 bytes do not get through"),
            (Obstacle::InAnotherCall, "clara is in a call with another machine; looking again"),
        ] {
            check(&absence, &LinkSnapshot { obstacle: Some(obstacle), ..nobody }, 13_000, Some(wanted));
        }
        for obstacle in [Obstacle::NotFound, Obstacle::OtherProgram] {
            let said = absence.notice(&LinkSnapshot { obstacle: Some(obstacle), ..nobody }, false, at(13_000));
            assert!(said.is_some_and(|said| said.starts_with("Looking for clara, 13 s; ")));
        }
        // Whoever turns this machine away is connected for a moment.
        let turned_away =
            LinkSnapshot { obstacle: Some(Obstacle::InAnotherCall), streaming: false, ..streaming(13_000) };
        check(&absence, &turned_away, 13_010, Some("clara is in a call with another machine; looking again"));
        absence.on_picture(1, &streaming(14_000), INTERVAL, at(14_000));
        check(&absence, &nobody, 17_000, Some("clara has been missing for 3 s; looking again"));
        let apart = LinkSnapshot { obstacle: Some(Obstacle::NoNetwork), ..nobody };
        check(&absence, &apart, 17_000, Some("clara has been missing for 3 s; this computer has no network"));
    }

    #[test]
    fn a_slow_stream_is_given_its_time() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &listens(), false, at(0));
        absence.on_picture(1, &streaming(1_000), Duration::from_secs(1), at(1_000));
        check(&absence, &streaming(1_000), 3_900, None);
        assert!(absence.notice(&streaming(1_000), false, at(4_000)).is_some());
    }

    #[test]
    fn a_peer_without_a_name_is_the_other_side() {
        let nameless = peer(&CLARA[..8], CLARA);
        let mut absence = Absence::new(std::slice::from_ref(&nameless), &listens(), false, at(0));
        check(&absence, &LinkSnapshot::default(), 0, Some("Waiting for a call from the other side for 0 s"));
        absence.on_picture(1, &streaming(0), INTERVAL, at(0));
        check(
            &absence,
            &LinkSnapshot::default(),
            1_000,
            Some("The other side has been missing for 1 s; waiting for a call"),
        );
        // Of several, only the key tells which.
        let absence = Absence::new(&[nameless, peer("Robert", ROBERT)], &listens(), false, at(0));
        check(&absence, &LinkSnapshot::default(), 0, Some("Waiting for a call from 11qYAYKx or Robert for 0 s"));
    }
}
