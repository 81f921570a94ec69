//! Decides what the window says while no picture comes: who is missing, since when, and what is being tried.

use std::time::Duration;

use common::config::{LinkMode, Peer, PublicKey};
use common::stats::{CallState, HEARD_MAX, Standing};
use common::units::Timestamp;
use common::wire::control::SourceState;

use crate::handover::LinkSnapshot;

/// Pictures that stay away for longer are missed.
const PATIENCE: Duration = Duration::from_millis(800);
/// Between frames of a slow stream nothing is missed for so many intervals.
const INTERVALS: u32 = 3;

/// Watches whether pictures come.
#[derive(Clone, Debug)]
pub struct Absence {
    peers: Vec<Peer>,
    dials: bool,
    began: Timestamp,
    last: Option<Last>,
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
    /// Creates the state in which nobody is there yet. `peers` may call, or are called; see `mode`.
    pub fn new(peers: &[Peer], mode: &LinkMode, now: Timestamp) -> Self {
        Self { peers: peers.to_vec(), dials: mode.dials(), began: now, last: None }
    }

    /// Takes a shown picture of stream number `stream`, with a frame every `interval`.
    pub fn on_picture(&mut self, stream: u64, link: &LinkSnapshot, interval: Duration, now: Timestamp) {
        let from = link.peer.or(self.last.and_then(|last| last.from));
        let patience = PATIENCE.max(interval * INTERVALS);
        self.last = Some(Last { at: now, from, stream, patience });
    }

    /// Returns what the window has to say, or nothing while pictures come.
    pub fn notice(&self, link: &LinkSnapshot, now: Timestamp) -> Option<String> {
        let who = self.who(link);
        let has_left = self.last.is_some_and(|last| link.goodbye >= last.stream);
        let time = |since| duration(now.since(since));
        if let Some([fault, tried]) = fault(link.source).filter(|_| is_heard(link, now)) {
            return Some(match self.last.filter(|_| !has_left) {
                Some(last) => format!("{fault}: no picture from {who} for {}; {tried}", time(last.at)),
                None => format!("{fault} for {}: {who} is there; {tried}", time(link.source_told)),
            });
        }
        Some(match self.last {
            Some(last) if !has_left && now.since(last.at) < last.patience => return None,
            Some(last) if !has_left && is_heard(link, now) => {
                format!(
                    "No picture from {who} for {}; the line works, so it is the camera or computer there",
                    time(last.at)
                )
            }
            Some(last) if !has_left => {
                let trying = if self.dials { "calling again" } else { "waiting for a call" };
                sentence(format!("{who} has been missing for {}; {trying}", time(last.at)))
            }
            _ if is_heard(link, now) => sentence(format!("{who} is there; waiting for the first picture")),
            Some(last) => {
                let trying = if self.dials { "calling again" } else { "waiting for a call" };
                sentence(format!("{who} left {} ago; {trying}", time(last.at)))
            }
            None if self.dials => format!("Calling {who} for {}", time(self.began)),
            None => format!("Waiting for a call from {who} for {}", time(self.began)),
        })
    }

    /// Returns how the call stands at `now`, which is `unix_ms` on the wall clock.
    pub fn standing(&self, link: &LinkSnapshot, unix_ms: u64, now: Timestamp) -> Standing {
        let (path, path_changes) = (link.path.name(), link.path.changes());
        Standing { unix_ms, state: self.state(link, now), connected: is_heard(link, now), path, path_changes }
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
    fn who(&self, link: &LinkSnapshot) -> String {
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

/// Returns what is wrong with the camera there, as the sender says, and what is done about it there; none: nothing.
fn fault(source: SourceState) -> Option<[&'static str; 2]> {
    match source {
        SourceState::Gives => None,
        SourceState::Stalled => Some(["Camera stalled", "the computer there waits for it"]),
        SourceState::Lost => Some(["Camera lost", "the computer there tries to open it again"]),
        SourceState::Unusable => Some(["Camera's pictures unusable", "the computer there says why"]),
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
        assert_eq!(absence.notice(link, at(ms)).as_deref(), wanted, "at {ms} ms");
    }

    #[test]
    fn before_the_first_picture_it_says_who_is_awaited() {
        let nobody = LinkSnapshot::default();
        let absence = Absence::new(&[peer("Clara", CLARA)], &listens(), at(500));
        check(&absence, &nobody, 600, Some("Waiting for a call from Clara for 0 s"));
        check(&absence, &nobody, 62_600, Some("Waiting for a call from Clara for 1 min 2 s"));
        check(&absence, &streaming(900), 1_000, Some("Clara is there; waiting for the first picture"));
        for (source, wanted) in [
            (SourceState::Lost, "Camera lost for 4 s: Clara is there; the computer there tries to open it again"),
            (SourceState::Stalled, "Camera stalled for 4 s: Clara is there; the computer there waits for it"),
            (SourceState::Unusable, "Camera's pictures unusable for 4 s: Clara is there; the computer there says why"),
        ] {
            let link = LinkSnapshot { source, source_told: at(900), ..streaming(4_900) };
            check(&absence, &link, 4_910, Some(wanted));
        }
        let absence = Absence::new(&[peer("Clara", CLARA), peer("Robert", ROBERT)], &dials(), at(0));
        check(&absence, &nobody, 7_300_000, Some("Calling Clara or Robert for 2 h 1 min"));
        assert_eq!(absence.state(&nobody, at(0)), CallState::Waiting);
        assert_eq!(absence.state(&streaming(0), at(0)), CallState::Connected);
    }

    #[test]
    fn within_a_second_of_the_last_picture_it_says_who_is_missing_and_what_is_tried() {
        for (mode, trying) in [(listens(), "waiting for a call"), (dials(), "calling again")] {
            let mut absence = Absence::new(&[peer("Clara", CLARA)], &mode, at(0));
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
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &listens(), at(0));
        absence.on_picture(1, &streaming(1_000), INTERVAL, at(1_000));
        let wanted = "No picture from Clara for 4 s; the line works, so it is the camera or computer there";
        check(&absence, &streaming(5_000), 5_100, Some(wanted));
        assert_eq!(absence.state(&streaming(5_000), at(5_100)), CallState::Silent);
    }

    #[test]
    fn what_the_sender_says_of_its_camera_is_shown_at_once() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &listens(), at(0));
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
    fn who_has_said_goodbye_has_left() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &dials(), at(0));
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
    fn a_slow_stream_is_given_its_time() {
        let mut absence = Absence::new(&[peer("Clara", CLARA)], &listens(), at(0));
        absence.on_picture(1, &streaming(1_000), Duration::from_secs(1), at(1_000));
        check(&absence, &streaming(1_000), 3_900, None);
        assert!(absence.notice(&streaming(1_000), at(4_000)).is_some());
    }

    #[test]
    fn a_peer_without_a_name_is_the_other_side() {
        let nameless = peer(&CLARA[..8], CLARA);
        let mut absence = Absence::new(std::slice::from_ref(&nameless), &listens(), at(0));
        check(&absence, &LinkSnapshot::default(), 0, Some("Waiting for a call from the other side for 0 s"));
        absence.on_picture(1, &streaming(0), INTERVAL, at(0));
        check(
            &absence,
            &LinkSnapshot::default(),
            1_000,
            Some("The other side has been missing for 1 s; waiting for a call"),
        );
        // Of several, only the key tells which.
        let absence = Absence::new(&[nameless, peer("Robert", ROBERT)], &listens(), at(0));
        check(&absence, &LinkSnapshot::default(), 0, Some("Waiting for a call from 11qYAYKx or Robert for 0 s"));
    }
}
