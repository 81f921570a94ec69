//! A place at one relay (TURN, RFC 8656): asked for, kept while it is needed, given back.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::Duration;

use common::config::{Password, Turn};
use common::path::ways::Candidate;
use common::units::Timestamp;
use tokio::sync::Notify;
use turn_client_proto::api::{DelayedMessageOrChannelSend, TurnConfig};
use turn_client_proto::prelude::{DelayedTransmitBuild, TurnClientApi};
use turn_client_proto::stun::Instant;
use turn_client_proto::stun::agent::Transmit;
use turn_client_proto::stun::types::TransportType;
#[cfg(test)]
use turn_client_proto::types::AddressFamily;
use turn_client_proto::types::TurnCredentials;
use turn_client_proto::udp::{TurnClientUdp, TurnEvent, TurnPollRet, TurnRecvRet};

use super::stun::{Challenge, Refusal, Stun, challenge_of, end_of_place, error_of};
use crate::clock;
use crate::lock::lock;
use crate::quic::{Carrier, Sending, Unwrapped};

/// A request goes again after this time, then after twice as long.
const AGAIN: Duration = Duration::from_millis(250);
const AGAIN_MAX: Duration = Duration::from_secs(1);
const TRIES: u32 = 4;
/// Addresses that may send to this machine's place.
const ALLOWED_MAX: usize = 32;
/// Channels.
const CHANNELS_MAX: usize = 16;
/// The client wants an address of its own; it is never sent.
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 1);

/// One relay.
#[derive(Debug)]
pub(super) struct Relay {
    server: SocketAddr,
    user: String,
    password: Password,
    state: Mutex<State>,
    woken: Notify,
}

#[derive(Debug)]
struct State {
    client: TurnClientUdp,
    has_place: bool,
    /// Shows that the router still lets the server's packets in, and that it keeps the port: the place belongs to that.
    alive: Stun,
    seen: Option<SocketAddr>,
    refusal: Option<Refusal>,
    challenge: Option<Challenge>,
    /// Time until which the server may take to tell its challenge, so that the place of an earlier run can be ended.
    ending: Option<Timestamp>,
    /// Addresses that have been asked for, so that none is twice.
    allowed: Vec<IpAddr>,
    channels: Vec<SocketAddr>,
}

/// Next acts for a relay.
pub(super) struct Due {
    pub(super) next: Timestamp,
    pub(super) packets: Vec<Vec<u8>>,
    pub(super) news: Option<News>,
}

pub(super) enum News {
    Allocated(SocketAddr),
    Lost,
}

impl Refusal {
    /// Returns the rest of a sentence that begins with the relay's name.
    pub(super) fn sentence(&self) -> String {
        let going = if self.code == MISMATCH { "; ending that one and asking again" } else { "; going on without" };
        format!("{}{going}", self.says())
    }

    /// Returns the same without what follows from it.
    pub(super) fn says(&self) -> String {
        match self.code {
            UNAUTHORIZED | FORBIDDEN => {
                "refuses the name or the password: see `reach.turn_user` and `reach.turn_password`".to_owned()
            }
            MISMATCH => "still holds the place of an earlier run".to_owned(),
            QUOTA => "gives this name no more places: as many calls are on as its host allows".to_owned(),
            FULL => "has no place left".to_owned(),
            code => {
                // Words of a stranger: short, and nothing that moves a cursor.
                let reason: String = self.reason.chars().filter(|c| !c.is_control()).take(60).collect();
                format!("refuses with {code} ({reason})")
            }
        }
    }
}

const UNAUTHORIZED: u16 = 401;
const FORBIDDEN: u16 = 403;
const MISMATCH: u16 = 437;
const QUOTA: u16 = 486;
const FULL: u16 = 508;

impl Relay {
    pub(super) fn new(server: SocketAddr, turn: &Turn) -> Self {
        let mut config = TurnConfig::new(TurnCredentials::new(&turn.user, &turn.password.0));
        config.set_request_retransmits(AGAIN, AGAIN_MAX, TRIES, AGAIN_MAX);
        let client = TurnClientUdp::allocate(HERE, server, config);
        let state = State {
            client,
            has_place: false,
            alive: Stun::default(),
            seen: None,
            refusal: None,
            challenge: None,
            ending: None,
            allowed: Vec::new(),
            channels: Vec::new(),
        };
        let (user, password) = (turn.user.clone(), turn.password.clone());
        Self { server, user, password, state: Mutex::new(state), woken: Notify::new() }
    }

    /// Asks at the next chance whether the server still sees this machine where it was.
    pub(super) fn check(&self, now: Timestamp) {
        lock(&self.state).alive.ask_again(now);
        self.woken.notify_one();
    }

    /// Returns the address at which the server sees this machine.
    pub(super) fn seen(&self) -> Option<Candidate> {
        lock(&self.state).alive.seen().first().copied()
    }

    /// Waits until more is due than was known.
    pub(super) async fn woken(&self) {
        self.woken.notified().await;
    }

    pub(super) fn refusal(&self) -> Option<Refusal> {
        lock(&self.state).refusal.clone()
    }

    /// Returns everything that is due.
    pub(super) fn due(&self, now: Timestamp) -> Due {
        let mut state = lock(&self.state);
        let at = instant(now);
        let mut due = Due { next: now + AGAIN, packets: Vec::new(), news: None };
        loop {
            let polled = state.client.poll(at);
            while let Some(event) = state.client.poll_event() {
                match event {
                    TurnEvent::AllocationCreated(_, address) => {
                        state.has_place = true;
                        state.alive.add(self.server, now);
                        due.news = Some(News::Allocated(address));
                    }
                    TurnEvent::PermissionCreateFailed(_, ip) => {
                        tracing::debug!("the relay at {} passes nothing on to {ip}", self.server);
                    }
                    _ => {}
                }
            }
            let before = due.packets.len();
            while let Some(packet) = state.client.poll_transmit(at) {
                due.packets.push(packet.data.to_vec());
            }
            match polled {
                TurnPollRet::Closed => {
                    due.news = Some(News::Lost);
                    break;
                }
                TurnPollRet::WaitUntil(next) => {
                    due.next = timestamp(next);
                    if due.packets.len() == before || due.packets.len() > PACKETS_MAX {
                        break;
                    }
                }
                // Of relays over TCP.
                TurnPollRet::AllocateTcpSocket { .. } | TurnPollRet::TcpClose { .. } => break,
            }
        }
        if !state.has_place {
            // A client whose name or password was refused says that it has given up only when it is asked once more.
            due.next = due.next.min(now + AGAIN_MAX);
        }
        while let Some((_, question)) = state.alive.poll(now) {
            due.packets.push(question);
        }
        due.next = state.alive.poll_timeout().map_or(due.next, |next| next.min(due.next));
        let is_gone = state.has_place && state.client.relayed_addresses().next().is_none();
        if is_gone || state.has_moved() || state.alive.unanswered() > SILENT_MAX {
            due.news = Some(News::Lost);
        }
        if matches!(due.news, Some(News::Lost)) && state.is_held_by_earlier() {
            self.end_earlier(&mut state, &mut due, now);
        }
        due
    }

    /// Ends the place of an earlier run, which had no time to give it back; servers keep such a place for ten minutes. First the
    /// server is asked for its challenge, unless that is known.
    fn end_earlier(&self, state: &mut State, due: &mut Due, now: Timestamp) {
        let end = *state.ending.get_or_insert_with(|| {
            due.packets.extend(end_of_place(&self.user, &self.password.0, None));
            now + ENDING
        });
        if state.challenge.is_some() {
            due.packets.extend(end_of_place(&self.user, &self.password.0, state.challenge.as_ref()));
        } else if now < end {
            (due.news, due.next) = (None, end);
        }
    }

    /// Says that the place is not needed any more. Nobody waits for an answer.
    pub(super) fn give_back(&self, sending: &Sending) {
        let mut state = lock(&self.state);
        // Requests keep a distance from each other; the last one does not wait for it.
        let at = instant(clock::now() + Duration::from_secs(1));
        if state.client.delete(at).is_ok() {
            while let Some(packet) = state.client.poll_transmit(at) {
                sending.send(self.server, &packet.data);
            }
        }
    }
}

/// Questions without an answer after which a place is lost.
const SILENT_MAX: u32 = 8;
/// Longest wait for a challenge.
const ENDING: Duration = Duration::from_millis(500);
/// Packets that leave at once.
const PACKETS_MAX: usize = 16;

impl State {
    /// Returns true if the server gives no place because of one that an earlier run had.
    fn is_held_by_earlier(&self) -> bool {
        !self.has_place && self.refusal.as_ref().is_some_and(|refusal| refusal.code == MISMATCH)
    }

    /// Returns true if the server sees this machine at another address than before: its place belongs to the old one.
    fn has_moved(&mut self) -> bool {
        let seen = self.alive.seen().first().map(|candidate| candidate.address);
        let moved = seen.is_some() && self.seen.is_some_and(|before| Some(before) != seen);
        self.seen = self.seen.or(seen);
        moved
    }

    /// Returns true if packets of `ip` may come and go; else asks for it.
    fn is_allowed(&mut self, ip: IpAddr, at: Instant) -> bool {
        if self.client.have_permission(TransportType::Udp, ip) {
            return true;
        }
        if self.has_place && self.allowed.len() < ALLOWED_MAX && !self.allowed.contains(&ip) {
            self.allowed.push(ip);
            let _ = self.client.create_permission(TransportType::Udp, ip, at);
        }
        false
    }
}

impl Carrier for Relay {
    fn server(&self) -> SocketAddr {
        self.server
    }

    fn wrap(&self, to: SocketAddr, datagram: &[u8], lasting: bool, out: &mut Vec<u8>) -> bool {
        let mut state = lock(&self.state);
        let at = instant(clock::now());
        if !state.is_allowed(to.ip(), at) {
            self.woken.notify_one();
            return false;
        }
        // A channel's header is 4 bytes, a message's 36 and more.
        if lasting && state.channels.len() < CHANNELS_MAX && !state.channels.contains(&to) {
            state.channels.push(to);
            if state.client.bind_channel(TransportType::Udp, to, at).is_ok() {
                self.woken.notify_one();
            }
        }
        let Ok(Some(packet)) = state.client.send_to(TransportType::Udp, to, datagram, at) else { return false };
        let packet: DelayedMessageOrChannelSend<&[u8]> = packet.data;
        let begin = out.len();
        out.resize(begin + packet.len(), 0);
        packet.write_into(&mut out[begin..]);
        true
    }

    fn unwrap(&self, packet: &[u8]) -> Unwrapped {
        let mut state = lock(&self.state);
        if !state.has_place
            && let Some(refusal) = error_of(packet)
        {
            state.challenge = challenge_of(packet).or(state.challenge.take());
            if state.ending.is_none() {
                state.refusal = Some(refusal);
            }
            self.woken.notify_one();
        }
        state.alive.on_message(self.server, packet);
        let packet = Transmit::new(packet, TransportType::Udp, self.server, HERE);
        let unwrapped = match state.client.recv(packet, instant(clock::now())) {
            TurnRecvRet::PeerData(data) => return Unwrapped::From(data.peer, data.data().to_vec()),
            TurnRecvRet::Handled | TurnRecvRet::PeerIcmp { .. } => Unwrapped::Handled,
            TurnRecvRet::Ignored(_) => Unwrapped::Other,
        };
        self.woken.notify_one();
        unwrapped
    }
}

fn instant(time: Timestamp) -> Instant {
    Instant::from_nanos(i64::try_from(time.as_us().saturating_mul(1_000)).unwrap_or(i64::MAX))
}

fn timestamp(instant: Instant) -> Timestamp {
    Timestamp::from_us(instant.as_nanos().max(0) as u64 / 1_000)
}

#[cfg(test)]
#[path = "delivered_tests.rs"]
mod delivered_tests;

#[cfg(test)]
mod tests {
    use common::config::Password;
    use proptest::prelude::*;

    use super::*;

    fn relay() -> Relay {
        let turn = Turn { user: "band".to_owned(), password: Password("notes".to_owned()), ..Turn::default() };
        Relay::new("198.51.100.9:3478".parse().unwrap(), &turn)
    }

    #[test]
    fn nothing_goes_through_a_relay_without_a_place() {
        let relay = relay();
        let due = relay.due(Timestamp::from_us(1));
        assert_eq!(due.packets.len(), 1, "the first request");
        assert!(due.news.is_none());
        let mut out = Vec::new();
        assert!(!relay.wrap("203.0.113.5:1".parse().unwrap(), &[64; 100], true, &mut out));
        assert!(out.is_empty());
        // A channel that nobody has asked for.
        assert_eq!(relay.unwrap(&[0x40, 0, 0, 4, 64, 0, 0, 0]), Unwrapped::Other);
    }

    #[test]
    fn a_relay_that_never_answers_is_given_up() {
        let relay = relay();
        let mut requests = 0;
        let end = (0..60_000).step_by(20).find(|ms| {
            let due = relay.due(Timestamp::from_us(1_000 * ms));
            requests += due.packets.len();
            matches!(due.news, Some(News::Lost))
        });
        assert!(end.is_some_and(|ms| ms < 10_000), "{end:?}");
        assert!((2..10).contains(&requests), "{requests}");
        assert_eq!(relay.refusal(), None);
    }

    #[test]
    fn the_place_of_an_earlier_run_is_ended() {
        let refusal = |request: &[u8], code: u16, more: &[u8]| {
            let error = [0, 9, 0, 4, 0, 0, (code / 100) as u8, (code % 100) as u8];
            let length = (error.len() + more.len()) as u16;
            [&[1, 0x13], &length.to_be_bytes(), &request[4..20], &error, more].concat()
        };
        // Realm and nonce.
        let challenge = b"\x00\x14\x00\x04duet\x00\x15\x00\x04a0b1";
        let ends = |due: &Due| -> Vec<usize> {
            due.packets.iter().filter(|packet| packet.starts_with(&[0, 4])).map(Vec::len).collect()
        };
        for (code, is_held) in [(437, true), (486, false)] {
            for is_told in [true, false] {
                let relay = relay();
                let request = relay.due(Timestamp::from_us(1)).packets.remove(0);
                relay.unwrap(&refusal(&request, code, b""));
                let mut all = (1..60_000).step_by(20).map(|ms| relay.due(Timestamp::from_us(1_000 * ms)));
                let (mut asked, mut lost) = (Vec::new(), false);
                while !lost && asked.is_empty() {
                    let due = all.next().unwrap();
                    (asked, lost) = (ends(&due), matches!(due.news, Some(News::Lost)));
                }
                assert_eq!((asked.len(), lost), if is_held { (1, false) } else { (0, true) }, "{code}");
                if is_held {
                    if is_told {
                        relay.unwrap(&refusal(&request, 401, challenge));
                    }
                    let last = all.find(|due| matches!(due.news, Some(News::Lost))).unwrap();
                    let proven = ends(&last);
                    assert!(proven.len() == usize::from(is_told) && proven.iter().all(|length| *length > asked[0]));
                    assert_eq!(relay.refusal().unwrap().code, MISMATCH);
                }
            }
        }
    }

    #[test]
    fn every_refusal_has_a_sentence() {
        for (code, words) in
            [(401, "turn_password"), (437, "earlier run"), (486, "places"), (508, "no place"), (300, "300")]
        {
            let refusal = Refusal { code, reason: "go \x1b[2Jaway".to_owned() };
            let sentence = refusal.sentence();
            assert!(sentence.contains(words) && !sentence.contains('\x1b'), "{sentence}");
        }
    }

    proptest! {
        #[test]
        fn hostile_packets_of_a_server_are_nobodys(
            mut packet in proptest::collection::vec(any::<u8>(), 0..200),
            head in 0..5_usize,
            flips in proptest::collection::vec((any::<u8>(), any::<u8>()), 0..4),
        ) {
            let relay = relay();
            let request = relay.due(Timestamp::from_us(1)).packets.remove(0);
            // As an answer to the request, or with the head of one, or anything.
            if head > 0 {
                let mut answer = request[..20].to_vec();
                answer[0] = 1;
                answer[1] = if head > 1 { 0x13 } else { 0x03 };
                packet.truncate(packet.len() / 4 * 4);
                answer[2..4].copy_from_slice(&(packet.len() as u16).to_be_bytes());
                answer.extend(&packet);
                packet = answer;
            }
            for (at, flip) in flips {
                let at = usize::from(at) % packet.len().max(1);
                if let Some(byte) = packet.get_mut(at) {
                    *byte ^= flip;
                }
            }
            prop_assert!(!matches!(relay.unwrap(&packet), Unwrapped::From(..)));
            for ms in 0..50 {
                let due = relay.due(Timestamp::from_us(1_000 * ms));
                prop_assert!(due.packets.len() <= PACKETS_MAX + 1);
                prop_assert!(!matches!(due.news, Some(News::Allocated(_))));
            }
        }
    }
}
