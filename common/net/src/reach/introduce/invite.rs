//! The side that invites. It takes any key on an endpoint that carries no media, and remembers it only after a proof of
//! the ticket's secret; once, and until the ticket expires.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::config::{PublicKey, SharedConfig};
use common::path::ways::{Candidate, Kind, Role};
use common::reach::{Introduced, Message, Purpose, TICKET_LIFE_S, Ticket, TicketError};
use tokio::task::JoinSet;

use super::person::Person;
use super::post::Post;
use super::{Other, asks, endpoint, show_result, unix_s, with_observed};
use crate::clock;
use crate::failure::Failure;
use crate::gate::{Answer, Gate};
use crate::identity::Identity;
use crate::limited;
use crate::lock::lock;
use crate::quic::{CloseCode, Introducing, QuicError, Takes};
use crate::reach::dht::{Dht, Does, ItemKeys};
use crate::reach::mailbox::{ANEW, Event, Side, Words};
use crate::reach::peers::{NewName, NewPeer, PeersFile};
use crate::reach::proof::{Keys, Secret, random};
use crate::reach::search::{Found, Search};
use crate::runtime::on_the_network;

/// Handshakes under way at once.
const GUESTS_MAX: usize = 16;

/// Lifetime of words, seconds: they are said on the telephone, and short enough to be guessed at.
const WORDS_LIFE_S: u64 = 300;

const NOBODY_WITH_TICKET: &str = "nobody has come in ten minutes, and the ticket has expired: try again with a new one";
const NOBODY_WITH_WORDS: &str = "nobody has come in five minutes, and the words are dead";

/// Shows a ticket and waits for a machine that has it: the command `invite`. `wanted`: the name for the other machine.
pub fn invite(
    config: &SharedConfig,
    file: &PeersFile,
    wanted: Option<&str>,
    person: &dyn Person,
) -> Result<(), Failure> {
    let name = NewName::new(wanted)?;
    let identity = Identity::load_or_create(&Identity::path_of(config)?)?;
    let life = (TICKET_LIFE_S, NOBODY_WITH_TICKET);
    on_the_network(async {
        let post = Post::Person(person.typed());
        Inviting::run((config, person), file, name, &identity, post, life).await
    })
}

/// Shows four words and waits for a machine at which they are typed: the command `pair` without words.
pub(super) fn show_words(
    config: &SharedConfig,
    file: &PeersFile,
    wanted: Option<&str>,
    person: &dyn Person,
) -> Result<(), Failure> {
    let name = NewName::new(wanted)?;
    let identity = Identity::load_or_create(&Identity::path_of(config)?)?;
    let words = Words::new(u64::from_le_bytes(random()?));
    on_the_network(async {
        let post = Post::mailbox(config, Side::Shows, identity.public_key(), words.clone())?;
        person.say(
            "Say these four words to the other musician, who types `sender pair` or `receiver pair` and then the words:\n"
        );
        person.show(&words.to_string());
        person.say("\nThey work once, for five minutes, while this program runs.");
        let nobody = format!("{NOBODY_WITH_WORDS}: {ANEW}");
        let life = (WORDS_LIFE_S, nobody.as_str());
        Inviting::run((config, person), file, name, &identity, post, life).await
    })
}

/// The side that invites.
struct Inviting {
    secret: Secret,
    own: PublicKey,
    /// Name of this side, which the guest is told.
    name: String,
    /// Key of the guest that has proved the secret: nobody else can any more.
    guest: Mutex<Option<PublicKey>>,
}

impl Inviting {
    async fn run(
        (config, person): (&SharedConfig, &dyn Person),
        file: &PeersFile,
        name: NewName<'_>,
        identity: &Identity,
        mut post: Post,
        (life_s, nobody): (u64, &str),
    ) -> Result<(), Failure> {
        let secret = random()?;
        let expires = unix_s() + life_s;
        let end = tokio::time::Instant::now() + Duration::from_secs(life_s);
        let (endpoint, beside, port) = endpoint(config, identity, Vec::new(), Takes::Everything)?;
        let inviting = Arc::new(Self {
            secret: Secret::new(&secret),
            own: identity.public_key(),
            name: config.name.clone(),
            guest: Mutex::new(None),
        });
        let knocks = inviting.secret.knocks(Role::Waits);
        let mut search = Search::new(beside, port, knocks, Role::Waits, &[], asks(config));
        if !config.dht.is_empty() {
            let keys = ItemKeys::of_ticket(&inviting.secret, Role::Waits);
            search.use_dht(Dht::start(keys, config.dht.clone(), Does { publishes: false, looks: true }));
        }
        let mut guests = JoinSet::new();
        let mut gate = Gate::default();
        loop {
            tokio::select! {
                found = search.next() => if found? == Found::Addresses {
                    let candidates = search.addresses();
                    let own = inviting.own;
                    let ticket = Ticket { purpose: Purpose::Invitation, key: own, proof: secret, expires, candidates };
                    post.give(&ticket, |ticket| show_invitation(ticket, config, person));
                },
                Some(incoming) = endpoint.incoming() => {
                    let (address, proved) = (incoming.address(), incoming.address_is_validated());
                    if !search.has_knocked(address) {
                        // Whoever has the ticket knocks first, and sends again what is lost: strangers get no answer.
                        incoming.ignore();
                        continue;
                    }
                    match gate.knock(address.ip(), proved, false, clock::now()) {
                        Answer::Admit(place) if guests.len() < GUESTS_MAX => {
                            let (inviting, told) = (Arc::clone(&inviting), search.addresses());
                            guests.spawn(async move {
                                let introduced = match incoming.accept_to_introduce().await {
                                    Ok(guest) => inviting.receive(guest, told).await,
                                    Err(error) => Err(error.to_string()),
                                };
                                (place, address, introduced)
                            });
                        }
                        Answer::Admit(place) => {
                            gate.ended(place, true, clock::now());
                            incoming.refuse();
                        }
                        Answer::Prove => incoming.demand_address_validation(),
                        Answer::Refuse => incoming.refuse(),
                    }
                }
                Some(Ok((place, address, introduced))) = guests.join_next() => {
                    gate.ended(place, introduced.is_ok(), clock::now());
                    match introduced {
                        Ok((guest, Other { candidates, name: told })) => {
                            let peer = NewPeer { key: guest.key(), candidates, port };
                            let stored = file.remember(&name.of(&told), &peer);
                            let (code, word) = match &stored {
                                Ok(_) => (CloseCode::Done, "introduced"),
                                Err(_) => (CloseCode::Protocol, "the other side could not write its file"),
                            };
                            guest.close(code, word).await;
                            endpoint.close().await;
                            post.end().await;
                            show_result(&stored?, file, person);
                            return Ok(());
                        }
                        Err(error) => limited!(warn, "{address} was not introduced: {error}"),
                    }
                }
                mail = post.next() => match mail {
                    // What the mailbox was for is done.
                    Err(error) if lock(&inviting.guest).is_some() => person.say(&format!("{error}; looking on")),
                    Err(error) => return Err(error),
                    Ok(Event::Met(key)) => {
                        person.say("the other side has the words; looking for it");
                        *lock(&inviting.guest) = Some(key);
                    }
                    Ok(Event::Line(line)) => match inviting.read_answer(&line) {
                        Ok(candidates) => {
                            person.say("the answer is right; now both sides knock at each other's routers");
                            search.add(&candidates);
                        }
                        Err(message) => person.say(&message),
                    },
                },
                () = tokio::time::sleep_until(end) => return Err(Failure::network(nobody)),
            }
        }
    }

    /// Exchanges introductions with a guest; then it is ready to be remembered.
    async fn receive(&self, mut guest: Introducing, told: Vec<Candidate>) -> Result<(Introducing, Other), String> {
        let outcome = self.exchange(&mut guest, told).await;
        match outcome {
            Ok(other) => Ok((guest, other)),
            Err(message) => {
                guest.close(CloseCode::Protocol, &message).await;
                Err(message)
            }
        }
    }

    async fn exchange(&self, guest: &mut Introducing, told: Vec<Candidate>) -> Result<Other, String> {
        let said = |error: QuicError| error.to_string();
        let keys = Keys { inviting: self.own, joining: guest.key() };
        let shared = guest.shared().map_err(said)?;
        let Message::Introduced(Introduced { mac, candidates, name }) = guest.hear().await.map_err(said)? else {
            return Err("it did not introduce itself".to_owned());
        };
        if guest.key() == self.own || !self.secret.proves(&mac, Role::Dials, &keys, &shared) {
            return Err("it does not know the ticket's secret".to_owned());
        }
        {
            let mut first = lock(&self.guest);
            if *first.get_or_insert(guest.key()) != guest.key() {
                return Err("the ticket has been used".to_owned());
            }
        }
        let mac = self.secret.prove(Role::Waits, &keys, &shared);
        let introduced = Introduced { mac, candidates: told, name: self.name.clone() };
        guest.say(&Message::Introduced(introduced)).await.map_err(said)?;
        match guest.hear().await.map_err(said)? {
            Message::Remembered => Ok(Other { candidates: with_observed(guest.pair(), &candidates), name }),
            Message::Introduced(_) => Err("it introduced itself twice".to_owned()),
        }
    }

    fn read_answer(&self, line: &str) -> Result<Vec<Candidate>, String> {
        let answer = Ticket::find_in(line).unwrap_or(Err(TicketError::NoTicket)).map_err(|error| error.to_string())?;
        answer.check(Purpose::Answer, unix_s()).map_err(|error| error.to_string())?;
        if self.secret.seal(&answer) != answer.proof {
            return Err("this answer is to another ticket: each `invite` makes a new one".to_owned());
        }
        Ok(answer.candidates)
    }
}

fn show_invitation(ticket: &Ticket, config: &SharedConfig, person: &dyn Person) {
    let has_outer = ticket.candidates.iter().any(|candidate| candidate.kind >= Kind::Mapped);
    if !has_outer && !config.stun.is_empty() {
        person.say("no STUN server answers: outside this house the ticket works only if nothing is in between");
    }
    person.say("Send this line to the other musician, who types `receiver join` or `sender join` and pastes it:\n");
    person.show_ticket(&ticket.to_string());
    person.say(
        "\nIt works once, for ten minutes, while this program runs. If the other side prints an answer, type it here and \
         press Enter."
    );
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use common::config::Peer;

    use super::*;
    use crate::quic::Endpoint;
    use crate::reach::introduce::join::introduce_myself;
    use crate::reach::introduce::options;

    /// Returns the outcomes of guests that come one after the other, each with a secret.
    fn guests(
        secrets: &[(&Identity, [u8; 16])],
        host: &Identity,
    ) -> Vec<(Result<PublicKey, String>, Result<(), QuicError>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let inviting = Inviting {
                secret: Secret::new(&[1; 16]),
                own: host.public_key(),
                name: "Robert".to_owned(),
                guest: Mutex::new(None),
            };
            let here = (Ipv4Addr::LOCALHOST, 0).into();
            let listening = Endpoint::bind(&options(true, host, Vec::new()).unwrap(), here, true).unwrap();
            let address = listening.local_addr().unwrap();
            let mut outcomes = Vec::new();
            for (guest, secret) in secrets {
                let peer = Peer { name: "host".to_owned(), key: host.public_key() };
                let dialling = Endpoint::bind(&options(true, guest, vec![peer]).unwrap(), here, false).unwrap();
                let accept = async {
                    let guest = listening.incoming().await.unwrap().accept_to_introduce().await.unwrap();
                    let (guest, other) = inviting.receive(guest, Vec::new()).await?;
                    assert_eq!(other.name, "Clara");
                    Ok(guest.key())
                };
                let dial = async {
                    let dialled = dialling.dial_to_introduce(address).await?;
                    let secret = Secret::new(secret);
                    let told = Other { candidates: Vec::new(), name: "Clara".to_owned() };
                    let (mut known, other) = introduce_myself(dialled, &secret, host.public_key(), guest, told).await?;
                    assert_eq!((other.candidates.len(), other.name.as_str()), (1, "Robert"), "where it was found");
                    known.say(&Message::Remembered).await?;
                    // Alive until the host has heard it.
                    let _ = known.is_done().await;
                    Ok(())
                };
                outcomes.push(tokio::join!(accept, dial));
            }
            outcomes
        })
    }

    #[test]
    fn a_ticket_is_good_for_one_machine_that_knows_its_secret() {
        let [host, one, other] = std::array::from_fn(|_| Identity::generate().unwrap());
        let secret = [1; 16];
        let outcomes = guests(&[(&other, [2; 16]), (&one, secret), (&other, secret), (&one, secret)], &host);
        let introduced: Vec<_> = outcomes.iter().map(|(introduced, _)| introduced.clone()).collect();
        let key = one.public_key();
        let refused = |why: &str| Err(why.to_owned());
        // One that lost the last word of its introduction may try again.
        assert_eq!(
            introduced,
            [refused("it does not know the ticket's secret"), Ok(key), refused("the ticket has been used"), Ok(key)]
        );
        assert_eq!(outcomes[0].1, Err(QuicError::Closed("it does not know the ticket's secret".to_owned())));
        assert_eq!(outcomes[2].1, Err(QuicError::Closed("the ticket has been used".to_owned())));
    }

    #[test]
    fn an_answer_belongs_to_its_ticket() {
        let [host, guest] = std::array::from_fn(|_| Identity::generate().unwrap());
        let inviting = Inviting {
            secret: Secret::new(&[1; 16]),
            own: host.public_key(),
            name: "Robert".to_owned(),
            guest: Mutex::new(None),
        };
        let candidates = vec![Candidate::new(Kind::ServerReflexive, "203.0.113.5:20000".parse().unwrap()).unwrap()];
        let key = guest.public_key();
        let mut answer = Ticket {
            purpose: Purpose::Answer,
            key,
            proof: [0; 16],
            expires: unix_s() + 100,
            candidates: candidates.clone(),
        };
        assert!(inviting.read_answer(&answer.to_string()).unwrap_err().contains("another ticket"));
        answer.proof = Secret::new(&[1; 16]).seal(&answer);
        assert_eq!(inviting.read_answer(&answer.to_string()), Ok(candidates));
        answer.expires = unix_s();
        answer.proof = Secret::new(&[1; 16]).seal(&answer);
        assert!(inviting.read_answer(&answer.to_string()).unwrap_err().contains("expired"));
    }
}
