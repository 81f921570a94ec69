//! A mailbox server for tests, as magic-wormhole's is, or one that is not to be trusted.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// Manners of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// As it should be.
    Honest,
    /// Changes the last character of what it carries.
    Changes,
    /// Loses every message from side to side.
    Drops,
    /// Gives out messages with the newest first.
    Reorders,
    /// Wants nobody.
    Refuses,
    /// Ends each connection when a mailbox is opened.
    Leaves,
}

/// A server on the loopback that runs until the process ends.
#[derive(Debug)]
pub struct MailboxServer {
    address: SocketAddr,
}

impl MailboxServer {
    /// Starts one.
    pub fn start(manners: Manners) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(MailboxState { manners, places: HashMap::new(), mailboxes: HashMap::new() }));
        let serve = move || {
            runtime.block_on(async {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Arc::clone(&state)));
                }
            });
        };
        std::thread::Builder::new().name("mailbox".to_owned()).spawn(serve).context("a thread for the server")?;
        Ok(Self { address })
    }

    /// Returns its address as the configuration has it.
    pub fn url(&self) -> String {
        format!("ws://{}/v1", self.address)
    }
}

struct MailboxState {
    manners: Manners,
    /// Sides that came to each place, those that hold it, and the mailbox to which it leads.
    places: HashMap<String, (Vec<String>, Vec<String>, String)>,
    mailboxes: HashMap<String, Mailbox>,
}

#[derive(Default)]
struct Mailbox {
    messages: Vec<Value>,
    open: Vec<UnboundedSender<Value>>,
}

async fn serve(stream: TcpStream, state: Arc<Mutex<MailboxState>>) {
    let Ok(mut socket) = accept_async(stream).await else { return };
    let (give, mut out) = unbounded_channel::<Value>();
    let (mut side, mut mailbox) = (String::new(), String::new());
    let welcome = match state.lock().unwrap_or_else(PoisonError::into_inner).manners {
        Manners::Refuses => json!({"error": "only friends here"}),
        _ => json!({"motd": "welcome"}),
    };
    let _ = give.send(json!({"type": "welcome", "welcome": welcome}));
    loop {
        tokio::select! {
            Some(message) = out.recv() => {
                if socket.send(Message::text(message.to_string())).await.is_err() {
                    return;
                }
            }
            heard = socket.next() => {
                let Some(Ok(heard)) = heard else { return };
                let Message::Text(text) = heard else { continue };
                let Ok(message) = serde_json::from_str::<Value>(&text) else { return };
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
                match message["type"].as_str() {
                    Some("bind") => side = text("side"),
                    Some("open") => mailbox = text("mailbox"),
                    _ => {}
                }
                if !state.take(&message, &side, &mailbox, &give) {
                    return;
                }
            }
        }
    }
}

impl MailboxState {
    /// Takes a message; false if the connection ends with it.
    fn take(&mut self, message: &Value, side: &str, mailbox: &str, give: &UnboundedSender<Value>) -> bool {
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let say = |message: Value| drop(give.send(message));
        match message["type"].as_str().unwrap_or_default() {
            "claim" => {
                let made = format!("mailbox-{}-{}", text("nameplate"), self.mailboxes.len());
                let place = self.places.entry(text("nameplate"));
                let (sides, held, mailbox) = place.or_insert_with(|| (Vec::new(), Vec::new(), made));
                if !sides.iter().any(|known| known == side) {
                    sides.push(side.to_owned());
                    held.push(side.to_owned());
                }
                match sides.len() > 2 {
                    true => say(json!({"type": "error", "error": "crowded"})),
                    false => say(json!({"type": "claimed", "mailbox": mailbox})),
                }
            }
            "release" => {
                if let Some((_, held, _)) = self.places.get_mut(&text("nameplate")) {
                    held.retain(|known| known != side);
                    if held.is_empty() {
                        self.places.remove(&text("nameplate"));
                    }
                }
                say(json!({"type": "released"}));
            }
            "open" if self.manners == Manners::Leaves => return false,
            "open" => {
                let mailbox = self.mailboxes.entry(mailbox.to_owned()).or_default();
                mailbox.open.push(give.clone());
                let mut known = mailbox.messages.clone();
                if self.manners == Manners::Reorders {
                    known.reverse();
                }
                known.into_iter().for_each(say);
            }
            "add" if self.manners == Manners::Drops => {}
            "add" => {
                let mut body = text("body");
                if self.manners == Manners::Changes && !body.is_empty() {
                    let last = body.pop();
                    body.push(if last == Some('A') { 'E' } else { 'A' });
                }
                let message = json!({"type": "message", "side": side, "phase": text("phase"), "body": body});
                let mailbox = self.mailboxes.entry(mailbox.to_owned()).or_default();
                mailbox.messages.push(message.clone());
                mailbox.open.retain(|open| open.send(message.clone()).is_ok());
            }
            "close" => say(json!({"type": "closed"})),
            _ => say(json!({"type": "ack"})),
        }
        true
    }
}
