//! Tickets: one line that introduces a machine to another.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::path::ways::{Candidate, take};
use crate::public_key::PublicKey;

/// Lifetime of a ticket, seconds.
pub const TICKET_LIFE_S: u64 = 600;
/// Bytes of a ticket's secret, and of the proof in an answer.
pub const PROOF_BYTES: usize = 16;

/// Version of the bytes.
const VERSION: u8 = 2;
/// Scheme of a link, which is another writing of a ticket: `duet:` and the ticket.
const LINK: &str = "duet:";
/// Longest text that is looked at: more than any ticket has.
const TEXT_BYTES_MAX: usize = 1024;
/// Bytes of a text of others in which a ticket is looked for.
const SEARCHED_BYTES: usize = 1 << 16;

/// Purpose of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Made by `invite`, for `join` on the other machine.
    Invitation,
    /// Made by `join`, for `invite` on the other machine, where neither is reached directly.
    Answer,
}

impl Purpose {
    const ALL: [Self; 2] = [Self::Invitation, Self::Answer];

    const fn prefix(self) -> &'static str {
        match self {
            Self::Invitation => "duet-ticket-",
            Self::Answer => "duet-answer-",
        }
    }
}

/// A machine's key, its addresses, and what proves that another was given them; as text one line.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Its purpose.
    pub purpose: Purpose,
    /// The machine that made it.
    pub key: PublicKey,
    /// Of an invitation the secret, which whoever is invited proves to know; of an answer a proof of that secret, over
    /// the answer's own key.
    pub proof: [u8; PROOF_BYTES],
    /// Time at which it expires, seconds since 1970.
    pub expires: u64,
    /// Addresses of the machine.
    pub candidates: Vec<Candidate>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret stays out of logs.
        write!(f, "Ticket({:?} of {}, {:?})", self.purpose, self.key, self.candidates)
    }
}

/// A text that is no ticket, or none that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TicketError {
    /// Something else.
    #[error(
        "this is no ticket: it takes the whole line or link that begins with `duet-ticket-` or `duet:`, as `invite` prints it"
    )]
    NoTicket,
    /// A byte was lost or changed.
    #[error("the ticket is not whole: something in it was changed or left out on its way; copy the whole line again")]
    Damaged,
    /// Made by a newer program.
    #[error("the ticket was made by another version of Duet: update the older side")]
    Version,
    /// The ticket has expired.
    #[error(
        "the ticket has expired: it is good for ten minutes; ask for a new one with `invite`, or, if it is new, set \
         this machine's clock right"
    )]
    Expired,
    /// An answer where an invitation belongs.
    #[error("this is an answer: it belongs on the other machine, where `invite` waits for it")]
    IsAnAnswer,
    /// An invitation where an answer belongs.
    #[error("this is an invitation: type `join` on the machine that is invited, and paste it there")]
    IsAnInvitation,
}

impl Ticket {
    /// Returns an error if the ticket is not for `purpose` or has expired at `unix_s`, seconds since 1970.
    pub fn check(&self, purpose: Purpose, unix_s: u64) -> Result<(), TicketError> {
        match (self.purpose, purpose) {
            (Purpose::Answer, Purpose::Invitation) => Err(TicketError::IsAnAnswer),
            (Purpose::Invitation, Purpose::Answer) => Err(TicketError::IsAnInvitation),
            _ if unix_s >= self.expires => Err(TicketError::Expired),
            _ => Ok(()),
        }
    }

    /// Returns the link that is another writing of the ticket, for a message in which links can be clicked.
    pub fn link(&self) -> String {
        format!("{LINK}{self}")
    }

    /// Returns true if the text begins as a ticket or a link does.
    pub fn is_begun_by(text: &str) -> bool {
        let text = text.trim_start();
        text.starts_with("duet-") || is_link(text)
    }

    /// Returns the ticket in a text of others, such as a message or the clipboard: the first that is whole, else why the first that
    /// is begun is none. None: no ticket is begun in it. Of a long text the first 64 KiB are looked at.
    pub fn find_in(text: &str) -> Option<Result<Self, TicketError>> {
        let of = |purpose: Purpose| {
            text.match_indices(purpose.prefix()).take_while(|(at, _)| *at < SEARCHED_BYTES).map(move |(at, prefix)| {
                let rest = &text[at + prefix.len()..];
                let is_other = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
                let line = &text[at..at + prefix.len() + rest.find(is_other).unwrap_or(rest.len())];
                // Marks of emphasis, as some programs have them, are letters of tickets, too.
                line.parse().or_else(|wrong| line.trim_end_matches(['_', '-']).parse().map_err(|_| wrong))
            })
        };
        let mut first = None;
        for found in Purpose::ALL.into_iter().flat_map(of) {
            if found.is_ok() {
                return Some(found);
            }
            first.get_or_insert(found);
        }
        first
    }

    /// Returns what the ticket tells besides its proof, as bytes.
    pub fn told(&self) -> Vec<u8> {
        let mut bytes = self.key.as_bytes().to_vec();
        bytes.extend(self.expires.to_be_bytes());
        Candidate::encode_all(&self.candidates, &mut bytes);
        bytes
    }

    fn checksum(purpose: Purpose, body: &[u8]) -> [u8; 4] {
        let mut sum = crc32fast::Hasher::new();
        sum.update(purpose.prefix().as_bytes());
        sum.update(body);
        sum.finalize().to_be_bytes()
    }

    /// Returns the ticket of these bytes, without version and checksum.
    fn of_body(purpose: Purpose, mut body: &[u8]) -> Option<Self> {
        let bytes = &mut body;
        let key = PublicKey::from_bytes(take(bytes)?)?;
        let proof = take(bytes)?;
        let expires = u64::from_be_bytes(take(bytes)?);
        let candidates = Candidate::decode_all(bytes)?;
        bytes.is_empty().then_some(Self { purpose, key, proof, expires, candidates })
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend(self.key.as_bytes());
        bytes.extend(self.proof);
        bytes.extend(self.expires.to_be_bytes());
        Candidate::encode_all(&self.candidates, &mut bytes);
        bytes.extend(Self::checksum(self.purpose, &bytes));
        write!(f, "{}{}", self.purpose.prefix(), URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Returns true if the text begins with the scheme of links, which is written as one likes (RFC 3986, section 3.1).
fn is_link(text: &str) -> bool {
    text.get(..LINK.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(LINK))
}

/// Returns the ticket's text in a link, as programs that pass links on may have changed it.
fn in_link(text: &str) -> &str {
    let text = if is_link(text) { &text[LINK.len()..] } else { return text };
    text.strip_prefix("//").unwrap_or(text).trim_end_matches('/')
}

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = in_link(text.trim());
        let of = |purpose: &Purpose| Some((*purpose, text.strip_prefix(purpose.prefix())?));
        let (purpose, text) = Purpose::ALL.iter().find_map(of).ok_or(TicketError::NoTicket)?;
        if text.len() > TEXT_BYTES_MAX {
            return Err(TicketError::Damaged);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TicketError::Damaged)?;
        let (bytes, sum) = bytes.split_last_chunk::<4>().ok_or(TicketError::Damaged)?;
        if Self::checksum(purpose, bytes) != *sum {
            return Err(TicketError::Damaged);
        }
        match bytes.split_first() {
            Some((&VERSION, body)) => Self::of_body(purpose, body).ok_or(TicketError::Damaged),
            Some(_) => Err(TicketError::Version),
            None => Err(TicketError::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::path::ways::Kind;

    fn ticket(purpose: Purpose) -> Ticket {
        let address = |kind, text: &str| Candidate::new(kind, text.parse().unwrap()).unwrap();
        Ticket {
            purpose,
            key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse().unwrap(),
            proof: *b"sixteen secrets.",
            expires: 2_000_000_000,
            candidates: vec![
                address(Kind::HostIpv6, "[2001:db8::1]:20000"),
                address(Kind::Host, "192.168.1.7:20000"),
                address(Kind::ServerReflexive, "203.0.113.5:20000"),
            ],
        }
    }

    #[test]
    fn a_ticket_survives_its_text() {
        for purpose in Purpose::ALL {
            let ticket = ticket(purpose);
            let text = ticket.to_string();
            assert!(text.len() < 200 && !text.contains(char::is_whitespace), "{text}");
            assert_eq!(text.parse(), Ok(ticket.clone()));
            assert_eq!(format!("  {text}\r\n").parse(), Ok(ticket));
        }
    }

    #[test]
    fn a_link_is_another_writing_of_a_ticket() {
        let ticket = ticket(Purpose::Invitation);
        let link = ticket.link();
        assert_eq!(link, format!("duet:{ticket}"));
        for same in [
            link.clone(),
            format!(" {link}\n"),
            format!("DUET:{ticket}"),
            format!("duet://{ticket}"),
            format!("Duet://{ticket}/"),
        ] {
            assert_eq!(same.parse(), Ok(ticket.clone()), "{same}");
            assert!(Ticket::is_begun_by(&same));
        }
        assert!(
            Ticket::is_begun_by(&ticket.to_string()) && !Ticket::is_begun_by("duet") && !Ticket::is_begun_by("clara")
        );
        for wrong in [
            "duet:",
            "duet://",
            "duet:duet:",
            "duet:\0",
            "duet:é",
            "duet:x",
            "duét:",
            "duet:%64uet-ticket-A",
            "http://x/duet:",
        ] {
            assert_eq!(wrong.parse::<Ticket>(), Err(TicketError::NoTicket), "{wrong}");
        }
        for damaged in [
            format!("{link}?x=1"),
            format!("{link}%20"),
            link.replace("ticket-", "ticket-\u{202e}"),
            format!("{link}/x"),
        ] {
            assert_eq!(damaged.parse::<Ticket>(), Err(TicketError::Damaged), "{damaged}");
        }
        assert_eq!(format!("{link}{}", "A".repeat(2000)).parse::<Ticket>(), Err(TicketError::Damaged));
    }

    #[test]
    fn a_ticket_is_found_in_what_somebody_writes() {
        let ticket = ticket(Purpose::Invitation);
        let (line, link) = (ticket.to_string(), ticket.link());
        for text in [
            line.clone(),
            format!("here is my link: {link} see you"),
            format!("({link})"),
            format!("<{link}>, 8 pm"),
            format!("<a href=\"duet://{line}/\">click</a>"),
            format!("_{link}_ *{line}*"),
            format!("\u{202b}\u{200f}שלום {link}\u{202c}\u{200f}!"),
            format!("duet-ticket- is how it begins; duet-ticket-AAAA was old: {link}."),
            format!("{} {link}", "é".repeat(10_000)),
        ] {
            assert_eq!(Ticket::find_in(&text), Some(Ok(ticket.clone())), "{text}");
        }
        for none in ["", "duet:", "call me at duet:clara", "duet ticket-A", &"x".repeat(10_000)] {
            assert_eq!(Ticket::find_in(none), None, "{none}");
        }
        // A letter that turns what follows about, within; one that was cut; another writing of letters.
        for damaged in [link.replace("ticket-", "ticket-\u{202e}"), link[..100].to_owned(), link.replace('A', "А")] {
            assert_eq!(Ticket::find_in(&damaged), Some(Err(TicketError::Damaged)), "{damaged}");
        }
        let long = format!("duet:duet-ticket-{}", "A".repeat(10_000));
        assert_eq!(Ticket::find_in(&long), Some(Err(TicketError::Damaged)));
        assert_eq!(Ticket::find_in(&format!("{}{link}", " ".repeat(SEARCHED_BYTES))), None);
    }

    #[test]
    fn every_change_of_one_character_is_noticed() {
        let text = ticket(Purpose::Invitation).to_string();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed.parse::<Ticket>().is_err(), "{changed}");
            assert!(text[..at].parse::<Ticket>().is_err(), "cut at {at}");
        }
        let other = text.replacen("ticket", "answer", 1);
        assert_eq!(other.parse::<Ticket>(), Err(TicketError::Damaged));
    }

    #[test]
    fn a_ticket_is_for_one_purpose_and_for_a_time() {
        let (invitation, answer) = (ticket(Purpose::Invitation), ticket(Purpose::Answer));
        assert_eq!(invitation.check(Purpose::Invitation, 1_999_999_999), Ok(()));
        assert_eq!(invitation.check(Purpose::Invitation, 2_000_000_000), Err(TicketError::Expired));
        assert_eq!(answer.check(Purpose::Invitation, 0), Err(TicketError::IsAnAnswer));
        assert_eq!(invitation.check(Purpose::Answer, 0), Err(TicketError::IsAnInvitation));
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = vec![VERSION + 1, 7, 7];
        bytes.extend(Ticket::checksum(Purpose::Invitation, &bytes));
        let text = format!("duet-ticket-{}", URL_SAFE_NO_PAD.encode(bytes));
        assert_eq!(text.parse::<Ticket>(), Err(TicketError::Version));
    }

    proptest! {
        #[test]
        fn hostile_texts_are_refused(text in ".{0,300}") {
            prop_assert!(text.parse::<Ticket>().is_err() && Ticket::find_in(&text).is_none_or(|found| found.is_err()));
            for front in ["duet-ticket-", "duet:", "duet:duet-ticket-"] {
                let link = [front, &text].concat();
                prop_assert!(link.parse::<Ticket>().is_err());
                prop_assert!(Ticket::find_in(&link).is_none_or(|found| found.is_err()));
            }
        }

        /// Bytes with a right checksum, which anybody can make.
        #[test]
        fn hostile_bytes_give_a_sound_ticket_or_none(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), sound in any::<bool>()) {
            if sound && bytes.len() > 33 {
                bytes[0] = VERSION;
                bytes[1..33].copy_from_slice(ticket(Purpose::Answer).key.as_bytes());
            }
            bytes.extend(Ticket::checksum(Purpose::Answer, &bytes));
            let text = format!("duet-answer-{}", URL_SAFE_NO_PAD.encode(bytes));
            if let Ok(ticket) = text.parse::<Ticket>() {
                prop_assert!(ticket.candidates.len() <= crate::path::ways::ADDRESSES_MAX);
                prop_assert!(ticket.candidates.iter().all(|candidate| crate::path::ways::usable(candidate.address)));
                prop_assert_eq!(ticket.to_string(), text);
            }
        }
    }
}
