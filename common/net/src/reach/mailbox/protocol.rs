//! The protocol of a mailbox server, which is magic-wormhole's (magic-wormhole-protocols, "Server protocol"): JSON objects over a
//! WebSocket. A place (`nameplate`) leads to a mailbox for two sides, or both know the name of the mailbox. The server keeps its
//! messages and repeats them. It may lie, drop and reorder: nothing that it says is believed but what a key proves.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::quoted::Quoted;

/// Reasons for which a server is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::reach) enum MailboxError {
    /// It speaks of something else.
    #[error("what answers there is no mailbox server: it said {0}")]
    NoMailbox(String),
    /// It is not there.
    #[error("{0}")]
    Unreachable(String),
    /// It wants nothing to do with us.
    #[error("it refuses: {0}")]
    Refused(String),
    /// Two others are there already.
    #[error("it refuses: somebody else is in this mailbox")]
    Crowded,
    /// The connection has ended.
    #[error("the connection has ended")]
    Lost,
}

/// A message of the server, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The mailbox to which a place leads.
    Claimed(String),
    /// Somebody's message, by its side.
    Message {
        side: String,
        phase: String,
        body: String,
    },
    Other,
}

#[derive(Deserialize)]
struct Heard {
    #[serde(rename = "type")]
    kind: String,
    mailbox: Option<String>,
    side: Option<String>,
    phase: Option<String>,
    body: Option<String>,
    error: Option<String>,
    welcome: Option<Welcome>,
}

#[derive(Deserialize)]
struct Welcome {
    error: Option<String>,
    #[serde(rename = "permission-required")]
    permission: Option<Value>,
}

/// Returns what a message of the server says.
pub(super) fn said(text: &str) -> Result<Said, MailboxError> {
    let heard: Heard = serde_json::from_str(text).map_err(|_| MailboxError::NoMailbox(Quoted(text).to_string()))?;
    let refused = |error: &str| Err(MailboxError::Refused(Quoted(error).to_string()));
    match (heard.kind.as_str(), heard.welcome) {
        ("welcome", Some(Welcome { error: Some(error), .. })) => refused(&error),
        ("welcome", Some(Welcome { permission: Some(Value::Object(ways)), .. })) if !ways.contains_key("none") => {
            Err(MailboxError::Refused("it wants a permission that Duet cannot ask for".to_owned()))
        }
        ("error", _) if heard.error.as_deref() == Some("crowded") => Err(MailboxError::Crowded),
        ("error", _) => refused(&heard.error.unwrap_or_default()),
        ("claimed", _) => Ok(heard.mailbox.map_or(Said::Other, Said::Claimed)),
        ("message", _) => match (heard.side, heard.phase, heard.body) {
            (Some(side), Some(phase), Some(body)) => Ok(Said::Message { side, phase, body }),
            _ => Ok(Said::Other),
        },
        _ => Ok(Said::Other),
    }
}

/// Begins a connection of these programs, under the name of one side.
pub(super) fn bind(app: &str, side: &str) -> String {
    json!({"type": "bind", "appid": app, "side": side}).to_string()
}

/// Asks for the mailbox to which a place leads, and for the place itself.
pub(super) fn claim(place: &str) -> String {
    json!({"type": "claim", "nameplate": place}).to_string()
}

/// Gives the place back.
pub(super) fn release(place: &str) -> String {
    json!({"type": "release", "nameplate": place}).to_string()
}

/// Opens a mailbox: the server gives out its messages, also those to come.
pub(super) fn open(mailbox: &str) -> String {
    json!({"type": "open", "mailbox": mailbox}).to_string()
}

/// Leaves a message.
pub(super) fn add(phase: &str, body: &str) -> String {
    json!({"type": "add", "phase": phase, "body": body}).to_string()
}

/// Leaves the mailbox for good.
pub(super) fn close(mailbox: &str) -> String {
    json!({"type": "close", "mailbox": mailbox, "mood": "happy"}).to_string()
}
