//! Two clients at a server that is honest, and at servers that are not.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;
use crate::identity::Identity;

/// A mailbox server as magic-wormhole's is, without time and connections.
#[derive(Default)]
struct Server {
    /// Sides that have claimed each place, and those of them that have not released it.
    places: HashMap<String, (Vec<String>, Vec<String>, String)>,
    mailboxes: HashMap<String, Mailbox>,
    made: usize,
}

#[derive(Default)]
struct Mailbox {
    sides: Vec<String>,
    messages: Vec<Value>,
}

impl Server {
    /// Takes a message of `side`; returns what it answers.
    fn answer(&mut self, side: &str, message: &Value) -> Vec<Value> {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        match message["type"].as_str().unwrap() {
            "bind" => vec![json!({"type": "welcome", "welcome": {}})],
            "claim" => {
                self.made += 1;
                let place = self.places.entry(text("nameplate"));
                let (sides, held, mailbox) =
                    place.or_insert_with(|| (Vec::new(), Vec::new(), format!("mailbox-{}", self.made)));
                if !sides.iter().any(|known| known == side) {
                    sides.push(side.to_owned());
                    held.push(side.to_owned());
                }
                match sides.len() > 2 {
                    true => vec![json!({"type": "error", "error": "crowded"})],
                    false => vec![json!({"type": "claimed", "mailbox": mailbox})],
                }
            }
            "release" => {
                if let Some((_, held, _)) = self.places.get_mut(&text("nameplate")) {
                    held.retain(|known| known != side);
                    if held.is_empty() {
                        self.places.remove(&text("nameplate"));
                    }
                }
                vec![json!({"type": "released"})]
            }
            "open" => {
                let mailbox = self.mailboxes.entry(text("mailbox")).or_default();
                mailbox.sides.push(side.to_owned());
                mailbox.messages.clone()
            }
            "add" => {
                let mailbox =
                    self.mailboxes.values_mut().find(|mailbox| mailbox.sides.iter().any(|known| known == side));
                let (phase, body) = (text("phase"), text("body"));
                mailbox.unwrap().messages.push(json!({"type": "message", "side": side, "phase": phase, "body": body}));
                Vec::new()
            }
            "close" => vec![json!({"type": "closed"})],
            other => panic!("{other}"),
        }
    }

    /// Returns the messages that `side` has in its mailbox.
    fn all(&self, side: &str) -> Vec<Value> {
        let mailbox = self.mailboxes.values().find(|mailbox| mailbox.sides.iter().any(|known| known == side));
        mailbox.map(|mailbox| mailbox.messages.clone()).unwrap_or_default()
    }
}

/// Carries messages until nobody has more; `change` is what the server makes of those that it gives out. Returns the
/// events of each client, and the error at which it ended.
fn carry(
    server: &mut Server,
    clients: &mut [&mut Pairing],
    mut change: impl FnMut(&mut Vec<Value>),
) -> Vec<(Vec<Event>, Option<PairError>)> {
    let mut ends: Vec<(Vec<Event>, Option<PairError>)> = clients.iter().map(|_| (Vec::new(), None)).collect();
    let mut given: HashMap<String, usize> = HashMap::new();
    for client in clients.iter_mut() {
        client.on_connected().unwrap();
    }
    loop {
        let mut is_quiet = true;
        for (client, (events, error)) in clients.iter_mut().zip(&mut ends) {
            let mut answers = Vec::new();
            for message in client.take_out() {
                is_quiet = false;
                answers.extend(server.answer(&client.name, &serde_json::from_str(&message).unwrap()));
            }
            answers.retain(|answer| answer["type"] != "message");
            let all = server.all(&client.name);
            let from = given.entry(client.name.clone()).or_default();
            answers.extend_from_slice(&all[*from..]);
            *from = all.len();
            change(&mut answers);
            for answer in answers.into_iter().filter(|_| error.is_none()).collect::<Vec<_>>() {
                is_quiet = false;
                *error = error.take().or(client.on_text(&answer.to_string()).err());
            }
            while let Some(event) = client.poll_news() {
                events.push(event);
            }
        }
        if is_quiet {
            return ends;
        }
    }
}

fn honest(_: &mut Vec<Value>) {}

fn words(text: &str) -> Words {
    text.parse().unwrap()
}

/// Returns two clients with keys of their own.
fn both(shown: &Words, typed: &Words) -> (Pairing, Pairing) {
    let key = || Identity::generate().unwrap().public_key();
    let shows = Pairing::new(Side::Shows, key(), shown.clone(), [1; 8]);
    (shows, Pairing::new(Side::Types, key(), typed.clone(), [2; 8]))
}

const RIGHT: &str = "zoo abandon zebra ability";
const WRONG: &str = "zoo abandon zebra able";

#[test]
fn two_with_the_same_words_meet_and_exchange_lines() {
    let (mut shows, mut types) = both(&words(RIGHT), &words(RIGHT));
    let (own, other) = (shows.own, types.own);
    shows.give("a ticket".to_owned()).unwrap();
    types.give("an answer".to_owned()).unwrap();
    let mut server = Server::default();
    let ends = carry(&mut server, &mut [&mut shows, &mut types], honest);
    assert_eq!(ends[0], (vec![Event::Met(other), Event::Line("an answer".to_owned())], None));
    assert_eq!(ends[1], (vec![Event::Met(own), Event::Line("a ticket".to_owned())], None));
    assert!(server.places.is_empty(), "the words' place is free again");
    // Nothing that the server saw is a line.
    let seen = format!("{:?}", server.mailboxes.values().map(|mailbox| &mailbox.messages).collect::<Vec<_>>());
    assert!(!seen.contains("a ticket") && !seen.contains(&text(b"a ticket")), "{seen}");
}

#[test]
fn a_connection_that_breaks_costs_nothing() {
    let (mut shows, mut types) = both(&words(RIGHT), &words(RIGHT));
    let mut server = Server::default();
    shows.give("a ticket".to_owned()).unwrap();
    carry(&mut server, &mut [&mut shows], honest);
    // The server has kept what was said, and is told again.
    let ends = carry(&mut server, &mut [&mut shows, &mut types], honest);
    assert_eq!(ends[0].0.len(), 1);
    assert_eq!(ends[1].0.len(), 2);
    let ends = carry(&mut server, &mut [&mut shows, &mut types], honest);
    assert_eq!(ends, [(vec![], None), (vec![], None)], "nothing is told twice");
}

#[test]
fn three_wrong_guesses_and_the_words_are_dead() {
    let mut server = Server::default();
    let (mut shows, _) = both(&words(RIGHT), &words(RIGHT));
    shows.give("a ticket".to_owned()).unwrap();
    for guess in 1..=GUESSES {
        let (_, mut types) = both(&words(RIGHT), &words(WRONG));
        types.name = format!("guest {guess}");
        let ends = carry(&mut server, &mut [&mut shows, &mut types], honest);
        assert_eq!(ends[1], (vec![], Some(PairError::Wrong)), "guess {guess}");
        match guess == GUESSES {
            true => assert_eq!(ends[0], (vec![], Some(PairError::Guessed))),
            false => {
                assert_eq!(ends[0], (vec![], None));
                assert!(shows.must_begin_again());
            }
        }
        for message in [shows.farewell(), types.farewell()].concat() {
            server.answer("", &serde_json::from_str(&message).unwrap());
        }
        shows.begin_as([10 + guess as u8; 8]);
    }
}

#[test]
fn a_thousand_guesses_learn_nothing_and_after_three_not_even_the_right_words_do() {
    let mut server = Server::default();
    let (mut shows, _) = both(&words(RIGHT), &words(RIGHT));
    shows.give("a ticket".to_owned()).unwrap();
    let mut is_dead = false;
    for guess in 0..=1_000_u32 {
        let [second, third] = [guess / 32, guess % 32].map(|at| ["able", "about", "above", "absent"][at as usize % 4]);
        let typed = if guess == 1_000 { RIGHT.to_owned() } else { format!("zoo {second} {third} zoo") };
        let (_, mut types) = both(&words(RIGHT), &words(&typed));
        types.name = format!("guest {guess}");
        types.give("an answer".to_owned()).unwrap();
        let ends = match is_dead {
            // The program that showed them has ended.
            true => carry(&mut server, &mut [&mut types], honest),
            false => carry(&mut server, &mut [&mut types, &mut shows], honest),
        };
        assert!(ends[0].0.is_empty() && (is_dead || ends[0].1 == Some(PairError::Wrong)), "guess {guess}: {ends:?}");
        for message in types.farewell() {
            server.answer(&types.name, &serde_json::from_str(&message).unwrap());
        }
        if !is_dead {
            for message in shows.farewell() {
                server.answer(&shows.name, &serde_json::from_str(&message).unwrap());
            }
            is_dead = ends[1].1 == Some(PairError::Guessed);
            assert_eq!(is_dead, guess + 1 == GUESSES, "{ends:?}");
            shows.begin_as([10 + guess as u8; 8]);
        }
    }
}

#[test]
fn what_was_said_in_one_pairing_is_worth_nothing_in_another() {
    let (mut shows, mut types) = both(&words(RIGHT), &words(RIGHT));
    let keys = [shows.own, types.own];
    shows.give("a ticket".to_owned()).unwrap();
    types.give("an answer".to_owned()).unwrap();
    let mut server = Server::default();
    let ends = carry(&mut server, &mut [&mut shows, &mut types], honest);
    assert!(ends.iter().all(|(events, _)| events.len() == 2));
    // A server says it again to the same machines with the same words.
    for (side, own, name) in [(Side::Shows, keys[0], &types.name), (Side::Types, keys[1], &shows.name)] {
        let mut again = Pairing::new(side, own, words(RIGHT), [7; 8]);
        again.on_connected().unwrap();
        again.give("a secret line".to_owned()).unwrap();
        again.on_text(&json!({"type": "claimed", "mailbox": "again"}).to_string()).unwrap();
        let said = server.all(name).into_iter().filter(|message| message["side"] == **name);
        let outcome: Result<Vec<()>, PairError> = said.map(|message| again.on_text(&message.to_string())).collect();
        match side {
            Side::Shows => assert!(again.must_begin_again(), "a wrong guess"),
            Side::Types => assert_eq!(outcome, Err(PairError::Wrong)),
        }
        assert_eq!(again.poll_news(), None);
        assert!(again.take_out().iter().all(|message| !message.contains("line-")), "nothing is told");
    }
}

#[test]
fn after_a_wrong_guess_the_right_words_still_work() {
    let mut server = Server::default();
    let (mut shows, mut wrong) = both(&words(RIGHT), &words(WRONG));
    shows.give("a ticket".to_owned()).unwrap();
    carry(&mut server, &mut [&mut shows, &mut wrong], honest);
    shows.begin_as([9; 8]);
    let (_, mut types) = both(&words(RIGHT), &words(RIGHT));
    types.name = "right".to_owned();
    let ends = carry(&mut server, &mut [&mut shows, &mut types], honest);
    assert_eq!(ends[1].0, [Event::Met(shows.own), Event::Line("a ticket".to_owned())]);
}

#[test]
fn a_third_one_is_told_that_it_is_crowded() {
    let mut server = Server::default();
    let (mut shows, mut types) = both(&words(RIGHT), &words(RIGHT));
    let mut third = Pairing::new(Side::Types, types.own, words(RIGHT), [3; 8]);
    // One that holds the place.
    for message in [&mut shows, &mut types].map(|client| {
        client.on_connected().unwrap();
        client.take_out()
    }) {
        for message in message.into_iter().filter(|message| message.contains("claim")) {
            server.answer(if server.places.is_empty() { "a" } else { "b" }, &serde_json::from_str(&message).unwrap());
        }
    }
    assert_eq!(carry(&mut server, &mut [&mut third], honest)[0].1, Some(PairError::Crowded));
}

/// Returns true if either side believes something that the other did not say.
fn is_deceived(ends: &[(Vec<Event>, Option<PairError>)], keys: [PublicKey; 2]) -> bool {
    let allowed = [
        [Event::Met(keys[1]), Event::Line("an answer".to_owned())],
        [Event::Met(keys[0]), Event::Line("a ticket".to_owned())],
    ];
    ends.iter().zip(allowed).any(|((events, _), allowed)| events.iter().any(|event| !allowed.contains(event)))
}

#[test]
fn a_server_that_changes_reorders_drops_or_repeats_deceives_nobody() {
    let mut random = 1_u64;
    let mut below = move |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end
    };
    let (mut whole, mut failed) = (0, 0);
    for _ in 0..300 {
        let (mut shows, mut types) = both(&words(RIGHT), &words(RIGHT));
        let keys = [shows.own, types.own];
        shows.give("a ticket".to_owned()).unwrap();
        types.give("an answer".to_owned()).unwrap();
        let kind = below(4);
        let ends = carry(&mut Server::default(), &mut [&mut shows, &mut types], |answers| {
            for at in 0..answers.len() {
                match kind {
                    0 if answers[at]["type"] == "message" => {
                        let body = answers[at]["body"].as_str().unwrap().to_owned();
                        let mut bytes = body.into_bytes();
                        if !bytes.is_empty() && below(3) == 0 {
                            let at = below(bytes.len());
                            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                        }
                        answers[at]["body"] = json!(String::from_utf8(bytes).unwrap());
                    }
                    1 => {
                        let with = below(answers.len());
                        answers.swap(at, with);
                    }
                    2 if below(4) == 0 => answers[at] = json!({"type": "ack"}),
                    3 => {
                        let again = answers[at].clone();
                        answers.push(again);
                    }
                    _ => {}
                }
            }
        });
        assert!(!is_deceived(&ends, keys), "{ends:?}");
        match ends.iter().all(|(events, _)| events.len() == 2) {
            true => whole += 1,
            false => failed += 1,
        }
    }
    assert!(whole > 50 && failed > 50, "{whole} {failed}");
}

#[test]
fn a_server_in_between_that_does_not_know_the_words_deceives_nobody() {
    // It speaks with either side as the other one, with words of its own.
    let (mut shows, mut types) = both(&words(RIGHT), &words(RIGHT));
    shows.give("a ticket".to_owned()).unwrap();
    types.give("an answer".to_owned()).unwrap();
    let (mut false_shows, mut false_types) = both(&words(WRONG), &words(WRONG));
    false_shows.give("a false ticket".to_owned()).unwrap();
    let ends = carry(&mut Server::default(), &mut [&mut shows, &mut false_types], honest);
    assert_eq!(ends[0], (vec![], None));
    assert!(shows.must_begin_again());
    let ends = carry(&mut Server::default(), &mut [&mut false_shows, &mut types], honest);
    assert!(ends[1].0.is_empty(), "{ends:?}");
}

#[test]
fn what_is_no_mailbox_server_is_named() {
    let refused = |text: &str| both(&words(RIGHT), &words(RIGHT)).0.on_text(text).unwrap_err().to_string();
    assert!(refused("<html>").contains("no mailbox server"));
    assert!(refused(r#"{"type": "welcome", "welcome": {"error": "go\naway"}}"#).contains(r#""go\naway""#));
    assert!(
        refused(r#"{"type": "welcome", "welcome": {"permission-required": {"hashcash": {}}}}"#).contains("permission")
    );
    assert!(refused(r#"{"type": "error", "error": "reclaimed"}"#).contains("reclaimed"));
    for harmless in [r#"{"type": "ack"}"#, r#"{"type": "message"}"#, r#"{"type": "claimed"}"#] {
        assert_eq!(both(&words(RIGHT), &words(RIGHT)).0.on_text(harmless), Ok(()));
    }
}

proptest::proptest! {
    /// A client neither ends the program for anything that a server says, nor believes it.
    #[test]
    fn hostile_messages_are_outcomes(
        messages in proptest::collection::vec(
            ("[a-z]{3,8}|claimed|message", "pake|refused|line-[0-9]{1,10}|.{0,8}", "[A-Za-z0-9_-]{0,140}|.{0,20}"), 0..40),
        shows in proptest::bool::ANY,
    ) {
        let (mut shown, mut typed) = both(&words(RIGHT), &words(RIGHT));
        let client = if shows { &mut shown } else { &mut typed };
        client.on_connected().unwrap();
        client.give("a secret line".to_owned()).unwrap();
        for (kind, phase, body) in messages {
            let message = json!({"type": kind, "side": "other", "phase": phase, "body": body, "mailbox": phase});
            let _ = client.on_text(&message.to_string());
            proptest::prop_assert!(!matches!(client.poll_news(), Some(Event::Met(_) | Event::Line(_))));
            client.take_out();
        }
        proptest::prop_assert!(client.round.said.len() < 50 && client.round.early.len() < 50);
    }
}
