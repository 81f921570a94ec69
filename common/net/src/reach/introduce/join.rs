//! The side that joins: it has a ticket, and looks for the machine that made it.

use std::time::Duration;

use common::config::{Peer, PublicKey, SharedConfig};
use common::path::ways::Role;
use common::reach::{Introduced, Message, Purpose, TICKET_LIFE_S, Ticket, TicketError};
use tokio::task::JoinSet;

use super::given::ticket_and_name;
use super::person::Person;
use super::post::Post;
use super::{Other, asks, endpoint, show_result, unix_s, with_observed};
use crate::failure::Failure;
use crate::identity::Identity;
use crate::limited;
use crate::quic::{CloseCode, Introducing, QuicError, Takes};
use crate::reach::dht::{Dht, Does, ItemKeys};
use crate::reach::mailbox::{Event, Side, Words};
use crate::reach::peers::{NewName, NewPeer, PeersFile};
use crate::reach::proof::{Keys, Secret};
use crate::reach::search::{Found, Search};
use crate::runtime::on_the_network;

/// Time for which `join` tries before it prints an answer.
const ALONE: Duration = Duration::from_secs(3);
/// The same where the DHT answers: whom that reaches needs no answer.
const ALONE_WITH_DHT: Duration = Duration::from_secs(20);
const WHICH_TICKET: &str = "Paste the line that `invite` has printed on the other machine, and press Enter:";
const NOT_REACHED: &str = "the other machine could not be reached before the ticket expired: did `invite` run there all the \
                           time, for nobody else, and did the answer get there? If so, one of the two routers must forward \
                           a UDP port, see config/README.md";

/// Time without a sign of the other machine after which `join` says what that may mean.
const SILENT: Duration = Duration::from_secs(15);
const NOBODY_ANSWERS: &str = "nobody answers for this ticket. If `invite` has ended on the other machine, as it does with the first \
                              that joins, or when its window is closed, the ticket is void: ask for a new one. If it runs and waits, \
                              the answer is still to be typed there. Looking on";

/// Finds the machine that made a ticket: the command `join`. `given`: the name for that machine, and before it perhaps the
/// ticket, which is else asked for.
pub fn join(config: &SharedConfig, file: &PeersFile, given: &[String], person: &dyn Person) -> Result<(), Failure> {
    let (ticket, wanted) = ticket_and_name(given);
    let name = NewName::new(wanted)?;
    let ticket = ticket.map_or_else(|| person.ask(WHICH_TICKET), |ticket| Ok(ticket.to_owned()))?;
    if ticket.is_empty() {
        return Err(Failure::usage("no ticket came: paste the line that `invite` has printed on the other machine"));
    }
    let ticket = Ticket::find_in(&ticket).unwrap_or(Err(TicketError::NoTicket)).map_err(Failure::usage)?;
    ticket.check(Purpose::Invitation, unix_s()).map_err(Failure::usage)?;
    let identity = Identity::load_or_create(&Identity::path_of(config)?)?;
    if ticket.key == identity.public_key() {
        return Err(Failure::usage("this machine made the ticket: type `join` on the other one"));
    }
    on_the_network(async {
        let post = Post::Person(person.typed());
        join_by((config, person), file, &ticket, name, &identity, post).await
    })
}

/// Finds the machine that shows these words: the command `pair` with words.
pub(super) fn type_words(
    config: &SharedConfig,
    file: &PeersFile,
    words: &Words,
    wanted: Option<&str>,
    person: &dyn Person,
) -> Result<(), Failure> {
    let name = NewName::new(wanted)?;
    let identity = Identity::load_or_create(&Identity::path_of(config)?)?;
    on_the_network(async {
        let mut post = Post::mailbox(config, Side::Types, identity.public_key(), words.clone())?;
        let mut met = None;
        let ticket: Ticket = loop {
            match post.next().await? {
                Event::Met(key) => met = Some(key),
                Event::Line(line) => break line.parse().map_err(Failure::network)?,
            }
        };
        ticket.check(Purpose::Invitation, unix_s()).map_err(Failure::network)?;
        if met != Some(ticket.key) {
            return Err(Failure::network("the ticket that came is another machine's than the one that has the words"));
        }
        join_by((config, person), file, &ticket, name, &identity, post).await
    })
}

async fn join_by(
    (config, person): (&SharedConfig, &dyn Person),
    file: &PeersFile,
    ticket: &Ticket,
    name: NewName<'_>,
    identity: &Identity,
    post: Post,
) -> Result<(), Failure> {
    let end =
        tokio::time::Instant::now() + Duration::from_secs(ticket.expires.saturating_sub(unix_s()).min(TICKET_LIFE_S));
    let secret = Secret::new(&ticket.proof);
    let host = Peer { name: name.before().to_owned(), key: ticket.key };
    let (endpoint, beside, port) = endpoint(config, identity, vec![host], Takes::Nothing)?;
    let knocks = secret.knocks(Role::Dials);
    let mut search = Search::new(beside, port, knocks, Role::Dials, &ticket.candidates, asks(config));
    if !config.dht.is_empty() {
        let keys = ItemKeys::of_ticket(&secret, Role::Dials);
        search.use_dht(Dht::start(keys, config.dht.clone(), Does { publishes: true, looks: false }));
    }
    let begun = tokio::time::Instant::now();
    let mut answer_at = begun + ALONE;
    let mut silent_at = begun + SILENT;
    let (mut gathered, mut answered, mut said) = (false, false, false);
    let mut dials = JoinSet::new();
    person.say("looking for the other machine");
    loop {
        tokio::select! {
            found = search.next() => match found? {
                Found::Addresses => gathered = true,
                Found::Path(address) => {
                    let endpoint = endpoint.clone();
                    dials.spawn(async move { (address, endpoint.dial_to_introduce(address).await) });
                }
            },
            Some(Ok((address, dialled))) = dials.join_next() => match dialled {
                Ok(host) => {
                    let way = search.kind_of(address).name();
                    match introduce_myself(host, &secret, ticket.key, identity, Other { candidates: search.addresses(), name: config.name.clone() }).await {
                        Ok((host, Other { candidates, name: told })) => {
                            person.say(&format!("found it {way}"));
                            let stored = file.remember(&name.of(&told), &NewPeer { key: ticket.key, candidates, port });
                            let result = match stored {
                                Ok(stored) => part(host).await.map(|()| stored),
                                Err(failure) => {
                                    host.close(CloseCode::Protocol, "the guest could not write its file").await;
                                    Err(failure)
                                }
                            };
                            endpoint.close().await;
                            post.end().await;
                            show_result(&result?, file, person);
                            return Ok(());
                        }
                        Err(error @ QuicError::Closed(_)) => {
                            return Err(Failure::network(format!("the other machine did not accept the ticket: {error}")));
                        }
                        Err(error) => {
                            limited!(warn, "{address}: {error}");
                            search.dial_failed(address);
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!("{address}: {error}");
                    search.dial_failed(address);
                }
            },
            () = tokio::time::sleep_until(answer_at), if gathered && !answered => {
                if answer_at < begun + ALONE_WITH_DHT && search.dht_answers() {
                    answer_at = begun + ALONE_WITH_DHT;
                    silent_at = silent_at.max(answer_at);
                    continue;
                }
                answered = true;
                let own = identity.public_key();
                let candidates = search.addresses();
                let expires = ticket.expires;
                let mut answer = Ticket { purpose: Purpose::Answer, key: own, proof: [0; 16], expires, candidates };
                answer.proof = secret.seal(&answer);
                post.give(&answer, |answer| show_answer(answer, person));
            }
            () = tokio::time::sleep_until(silent_at), if !said => {
                said = true;
                if !search.has_heard() {
                    person.say(NOBODY_ANSWERS);
                }
            }
            () = tokio::time::sleep_until(end) => return Err(Failure::network(NOT_REACHED)),
        }
    }
}

/// Exchanges introductions, as a guest, before it remembers its host.
pub(super) async fn introduce_myself(
    mut host: Introducing,
    secret: &Secret,
    inviting: PublicKey,
    identity: &Identity,
    told: Other,
) -> Result<(Introducing, Other), QuicError> {
    let keys = Keys { inviting, joining: identity.public_key() };
    let shared = host.shared()?;
    let mac = secret.prove(Role::Dials, &keys, &shared);
    host.say(&Message::Introduced(Introduced { mac, candidates: told.candidates, name: told.name })).await?;
    let Message::Introduced(Introduced { mac, candidates, name }) = host.hear().await? else {
        return Err(QuicError::Other("the other machine did not introduce itself".to_owned()));
    };
    if host.key() != inviting || !secret.proves(&mac, Role::Waits, &keys, &shared) {
        return Err(QuicError::Other("the machine there does not know the ticket's secret".to_owned()));
    }
    let candidates = with_observed(host.pair(), &candidates);
    Ok((host, Other { candidates, name }))
}

/// Tells the host that it is remembered, and waits until it has remembered this machine.
async fn part(mut host: Introducing) -> Result<(), Failure> {
    if host.say(&Message::Remembered).await.is_ok() && host.is_done().await {
        return Ok(());
    }
    Err(Failure::network(
        "the other machine is remembered here, but may not have remembered this one: if it still waits, type `join` again, \
         or else `invite` and `join` anew",
    ))
}

fn show_answer(answer: &Ticket, person: &dyn Person) {
    person.say(
        "nobody has answered for this ticket yet. If `invite` still waits on the other machine, the routers are in between: send \
         this line back; it belongs where the ticket was made, while both programs run. If `invite` has ended there, the ticket \
         is void.\n"
    );
    person.show(&answer.to_string());
}
