//! Asking servers outside under which address they see this machine (STUN, RFC 8489).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use common::path::ways::{Candidate, Kind};
use common::units::Timestamp;
use stun_types::attribute::{AttributeType, ErrorCode, Nonce, RawAttribute, Realm, Username, XorMappedAddress};
use stun_types::message::{
    BINDING, IntegrityAlgorithm, LongTermKeyCredentials, Message, MessageClass, MessageWrite, MessageWriteExt,
    MessageWriteVec, Method, TransactionId,
};

/// Pauses between the first questions to a server.
const AGAIN: Duration = Duration::from_millis(250);
/// Questions in that pace.
const TRIES: u32 = 5;
/// Then this often: routers forget what nothing uses, after 30 s at the soonest.
const REFRESH: Duration = Duration::from_secs(10);

/// A server's refusal: its number (RFC 8489, section 14.8) and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) reason: String,
}

/// Returns why a server has refused something, if that is what the message says.
pub(super) fn error_of(message: &[u8]) -> Option<Refusal> {
    let message = Message::from_bytes(message).ok().filter(|message| message.has_class(MessageClass::Error))?;
    let error = message.attribute::<ErrorCode>().ok()?;
    Some(Refusal { code: error.code(), reason: error.reason().to_owned() })
}

/// Words of a server that its clients must use to prove that they know the password (RFC 8489, section 9.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    realm: String,
    nonce: String,
}

/// Returns a server's challenge, if the message has one.
pub(super) fn challenge_of(message: &[u8]) -> Option<Challenge> {
    let message = Message::from_bytes(message).ok().filter(|message| message.has_class(MessageClass::Error))?;
    let realm = message.attribute::<Realm>().ok()?.realm().to_owned();
    let nonce = message.attribute::<Nonce>().ok()?.nonce().to_owned();
    Some(Challenge { realm, nonce })
}

/// Request to a relay to keep a place for longer, or for no time, and how long that is (RFC 8656, sections 17 and 18.2).
const REFRESH_PLACE: Method = Method::new(4);
const LIFETIME: AttributeType = AttributeType::new(0x000d);

/// Returns the request to a relay to end the place that belongs to the socket from which this leaves, whoever has asked for it.
/// Without the server's challenge it refuses that, and tells the challenge.
pub(super) fn end_of_place(user: &str, password: &str, challenge: Option<&Challenge>) -> Option<Vec<u8>> {
    let mut request = Message::builder_request(REFRESH_PLACE, MessageWriteVec::new());
    request.add_attribute(&RawAttribute::new(LIFETIME, &[0; 4])).ok()?;
    if let Some(Challenge { realm, nonce }) = challenge {
        request.add_attribute(&Username::new(user).ok()?).ok()?;
        request.add_attribute(&Realm::new(realm).ok()?).ok()?;
        request.add_attribute(&Nonce::new(nonce).ok()?).ok()?;
        let key = LongTermKeyCredentials::new(user.to_owned(), password.to_owned(), realm.clone());
        request.add_message_integrity(&key.into(), IntegrityAlgorithm::Sha1).ok()?;
    }
    Some(request.finish())
}

/// Returns the address that a server tells in its answer to the question of this transaction; nothing if the message is
/// none, or if the address reaches nobody.
pub fn stun_answer(message: &[u8], question: u128) -> Option<SocketAddr> {
    let message = Message::from_bytes(message).ok()?;
    let question = TransactionId::from(question);
    let is_answer =
        message.has_class(MessageClass::Success) && message.has_method(BINDING) && message.transaction_id() == question;
    let address = message.attribute::<XorMappedAddress>().ok().filter(|_| is_answer)?.addr(question);
    Candidate::new(Kind::ServerReflexive, address).map(|candidate| candidate.address)
}

/// The servers that are asked, and their answers.
#[derive(Debug, Default)]
pub(super) struct Stun {
    servers: HashMap<SocketAddr, Server>,
}

#[derive(Debug)]
struct Server {
    /// Of the last question.
    id: TransactionId,
    next: Timestamp,
    tries: u32,
    /// Questions since the last answer.
    unanswered: u32,
    /// True if what it has answered may not be so any more.
    is_doubted: bool,
    seen: Option<SocketAddr>,
}

impl Stun {
    /// Asks that server, from now on.
    pub(super) fn add(&mut self, server: SocketAddr, now: Timestamp) {
        let fresh =
            Server { id: TransactionId::generate(), next: now, tries: 0, unanswered: 0, is_doubted: false, seen: None };
        self.servers.entry(server).or_insert(fresh);
    }

    /// Returns the servers that are asked.
    pub(super) fn servers(&self) -> impl Iterator<Item = SocketAddr> {
        self.servers.keys().copied()
    }

    /// Returns the next question that is due.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<(SocketAddr, Vec<u8>)> {
        let (address, server) = self.servers.iter_mut().find(|(_, server)| server.next <= now)?;
        let request = Message::builder_request(BINDING, MessageWriteVec::new()).finish();
        server.id = Message::from_bytes(&request).ok()?.transaction_id();
        server.tries += 1;
        server.unanswered += 1;
        server.next = now
            + match server.seen.is_none() || server.unanswered > 1 || server.is_doubted {
                true if server.tries < TRIES => AGAIN,
                _ => REFRESH,
            };
        Some((*address, request))
    }

    /// Asks all servers anew: something may have changed.
    pub(super) fn ask_again(&mut self, now: Timestamp) {
        for server in self.servers.values_mut() {
            (server.next, server.tries) = (now, 0);
        }
    }

    /// Asks all servers anew until they answer: this machine may be at another address now.
    pub(super) fn doubt(&mut self, now: Timestamp) {
        self.ask_again(now);
        self.servers.values_mut().for_each(|server| server.is_doubted = true);
    }

    /// Returns the most questions to one server since its last answer.
    pub(super) fn unanswered(&self) -> u32 {
        self.servers.values().map(|server| server.unanswered).max().unwrap_or(0)
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.servers.values().map(|server| server.next).min()
    }

    /// Takes a message from a server. Whatever is no answer to the last question is ignored.
    pub(super) fn on_message(&mut self, from: SocketAddr, bytes: &[u8]) {
        let Some(server) = self.servers.get_mut(&from) else { return };
        if let Some(address) = stun_answer(bytes, server.id.into()) {
            server.seen = Some(address);
            (server.unanswered, server.is_doubted) = (0, false);
        }
    }

    /// Returns the addresses under which this machine is seen: each once.
    pub(super) fn seen(&self) -> Vec<Candidate> {
        let mut seen: Vec<SocketAddr> = self.servers.values().filter_map(|server| server.seen).collect();
        seen.sort();
        seen.dedup();
        seen.into_iter().filter_map(|address| Candidate::new(Kind::ServerReflexive, address)).collect()
    }

    /// Returns the addresses at which the servers that have answered see this machine.
    pub(super) fn answers(&self) -> Vec<SocketAddr> {
        self.servers.values().filter_map(|server| server.seen).collect()
    }

    /// Returns true once every server has answered.
    pub(super) fn is_complete(&self) -> bool {
        self.servers.values().all(|server| server.seen.is_some())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use stun_types::prelude::*;

    use super::*;

    /// Returns a server's answer to a question: that address.
    pub(in crate::reach) fn answer(request: &[u8], address: &str) -> Vec<u8> {
        let request = Message::from_bytes(request).unwrap();
        let mut answer = Message::builder_success(&request, MessageWriteVec::new());
        let address = XorMappedAddress::new(address.parse().unwrap(), request.transaction_id());
        answer.add_attribute(&address).unwrap();
        answer.finish()
    }

    #[test]
    fn an_answer_to_the_last_question_counts_and_nothing_else_does() {
        let (server, other): (SocketAddr, SocketAddr) =
            ("198.51.100.1:3478".parse().unwrap(), "198.51.100.2:3478".parse().unwrap());
        let mut stun = Stun::default();
        let now = Timestamp::from_us(1);
        stun.add(server, now);
        let (to, request) = stun.poll(now).unwrap();
        assert_eq!((to, stun.poll(now)), (server, None));
        assert_eq!(stun.poll_timeout(), Some(now + AGAIN));
        let right = answer(&request, "203.0.113.5:20000");
        let stale = Message::builder_request(BINDING, MessageWriteVec::new()).finish();
        for (from, wrong) in [
            (other, right.clone()),
            (server, answer(&stale, "203.0.113.5:20000")),
            (server, request.clone()),
            (server, right[..right.len() - 1].to_vec()),
            (server, answer(&request, "0.0.0.0:20000")),
            (server, answer(&request, "224.0.0.1:20000")),
            (server, vec![0; 20]),
            (server, vec![]),
        ] {
            stun.on_message(from, &wrong);
            assert!(stun.seen().is_empty() && !stun.is_complete());
        }
        stun.on_message(server, &right);
        assert_eq!(stun.seen(), [Candidate::new(Kind::ServerReflexive, "203.0.113.5:20000".parse().unwrap()).unwrap()]);
        assert!(stun.is_complete());
        // Asked anew, so that the router does not forget.
        assert!(stun.poll(now + AGAIN).is_some());
        assert_eq!(stun.poll_timeout(), Some(now + AGAIN + REFRESH));
    }

    #[test]
    fn a_machine_that_may_be_elsewhere_asks_at_once_and_until_it_is_answered() {
        let server: SocketAddr = "198.51.100.1:3478".parse().unwrap();
        let mut stun = Stun::default();
        let mut now = Timestamp::from_us(1);
        stun.add(server, now);
        let (_, request) = stun.poll(now).unwrap();
        stun.on_message(server, &answer(&request, "203.0.113.5:20000"));
        now = now + Duration::from_secs(1);
        assert!(stun.poll(now).is_some() && stun.poll_timeout() > Some(now + Duration::from_secs(5)));
        stun.doubt(now);
        let (_, request) = stun.poll(now).unwrap();
        // The first is lost.
        assert_eq!(stun.poll_timeout(), Some(now + AGAIN));
        now = now + AGAIN;
        let (_, again) = stun.poll(now).unwrap();
        stun.on_message(server, &answer(&request, "203.0.113.6:20000"));
        stun.on_message(server, &answer(&again, "203.0.113.7:20000"));
        let seen = Candidate::new(Kind::ServerReflexive, "203.0.113.7:20000".parse().unwrap()).unwrap();
        assert_eq!(stun.seen(), [seen]);
        // Where nobody answers any more it is as before.
        stun.doubt(now);
        for _ in 0..TRIES {
            assert!(stun.poll(now).is_some());
            now = stun.poll_timeout().unwrap();
        }
        assert!(now.since(Timestamp::from_us(1)) > REFRESH);
    }

    #[test]
    fn the_end_of_a_place_is_asked_for_with_the_password() {
        let challenge = Challenge { realm: "duet".to_owned(), nonce: "a0b1".to_owned() };
        let bytes = end_of_place("band", "notes", Some(&challenge)).unwrap();
        let request = Message::from_bytes(&bytes).unwrap();
        assert!(request.has_class(MessageClass::Request) && request.method().value() == 4);
        assert_eq!(*request.raw_attribute(LIFETIME).unwrap().value, [0; 4]);
        assert_eq!(request.attribute::<Username>().unwrap().username(), "band");
        for (password, is_right) in [("notes", true), ("note", false)] {
            let key = LongTermKeyCredentials::new("band".to_owned(), password.to_owned(), "duet".to_owned());
            assert_eq!(request.validate_integrity(&key.into()).is_ok(), is_right);
        }
        assert_eq!(challenge_of(&bytes), None, "a request is no refusal");
    }

    #[test]
    fn a_silent_server_is_asked_less_often_after_a_while() {
        let mut stun = Stun::default();
        stun.add("198.51.100.1:3478".parse().unwrap(), Timestamp::default());
        let asked = |from: u64, to: u64, stun: &mut Stun| {
            (from..to).filter(|ms| stun.poll(Timestamp::from_us(1_000 * ms)).is_some()).count()
        };
        assert_eq!(asked(0, 1_500, &mut stun), TRIES as usize);
        assert_eq!(asked(1_500, 101_500, &mut stun), 10);
    }
}
