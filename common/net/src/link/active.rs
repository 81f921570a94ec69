//! A connection to a peer, between the network and the streams of a call.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use common::config::PublicKey;
use common::path::ways::Kind;
use common::units::Timestamp;
use common::wire::control::{self, ByeReason, ControlMessage, ControlReader};

use super::LinkState;
use super::path::Ways;
use super::streams::Streams;
use crate::clock;
use crate::limited;
use crate::quic::{CloseCode, Connection, Input, QuicError};

/// Time that a goodbye may take.
const GOODBYE: Duration = Duration::from_millis(500);
/// Datagrams handed over between two looks at everything else.
const DATAGRAMS_AT_ONCE: usize = 64;
/// Bytes for the control stream that wait at most, besides those in QUIC's own window: minutes of answers to a peer that
/// does not read them.
const PENDING_MAX: usize = 64 << 10;
/// Bytes of the control stream that are read at once.
const READ_BYTES: usize = 4096;

/// A connection to a peer, and what lies between it and a call.
pub(super) struct Active {
    pub(super) connection: Connection,
    /// Place of its call.
    pub(super) call: usize,
    /// Bytes of the control stream that were read.
    buffer: Vec<u8>,
    reader: ControlReader,
    pending: Vec<u8>,
    pub(super) heard: bool,
    ways: Ways,
    /// Number of times that packets have changed their way.
    moves: u64,
    /// Bytes that a datagram can hold, as the call knows.
    pub(super) max_datagram: usize,
    /// True if the send buffer is full.
    pub(super) is_blocked: bool,
}

impl Active {
    pub(super) fn new(connection: Connection, call: usize, ways: Ways) -> Self {
        let (moves, max_datagram) = (connection.moves(), connection.max_datagram());
        let reader = ControlReader::default();
        let buffer = vec![0; READ_BYTES];
        let (pending, heard, is_blocked) = (Vec::new(), false, false);
        Self { connection, call, buffer, reader, pending, heard, ways, moves, max_datagram, is_blocked }
    }

    /// Waits for input of this peer.
    pub(super) async fn next(&mut self, key: PublicKey) -> (PublicKey, Result<Input, QuicError>) {
        (key, self.connection.next(&mut self.buffer, &self.pending).await)
    }

    /// Returns true if packets take another way than when it was called last.
    pub(super) fn has_moved(&mut self) -> bool {
        let moves = self.connection.moves();
        std::mem::replace(&mut self.moves, moves) != moves
    }

    /// Returns where the peer has proved to be, unless that is a place at a relay, which lasts as long as the program there.
    pub(super) fn address_to_remember(&self) -> Option<SocketAddr> {
        let pair = self.connection.proved_pair()?;
        (self.ways.kind_of(pair) != Kind::Relayed).then_some(pair.to)
    }

    /// Tells the call if a datagram can hold more or less than it knows.
    pub(super) fn tell_max_datagram(&mut self, call: &mut Streams<'_>) {
        let bytes = self.connection.max_datagram();
        if std::mem::replace(&mut self.max_datagram, bytes) != bytes {
            call.on_max_datagram(bytes);
        }
    }

    pub(super) fn state(&self) -> LinkState {
        let connection = &self.connection;
        LinkState {
            rtt: connection.rtt(),
            black_holes: connection.black_holes(),
            path: self.ways.kind_of(connection.pair()),
        }
    }

    /// Lets the call take what it is to send, and sends it, until there is no more or no room.
    pub(super) fn exchange(&mut self, call: &mut Streams<'_>) {
        if self.connection.has_room() {
            call.feed(clock::now());
        }
        self.drain(call);
        while !self.is_blocked && call.feed(clock::now()) {
            self.drain(call);
        }
    }

    /// Sends what the call has to send.
    pub(super) fn drain(&mut self, call: &mut Streams<'_>) {
        while let Some((about, message)) = call.poll_control() {
            control::encode(&message, about, &mut self.pending);
        }
        self.is_blocked = loop {
            if !self.connection.has_room() {
                break true;
            }
            match call.poll_datagram(clock::now()) {
                Some(datagram) => self.connection.send_datagram(datagram),
                None => break false,
            }
        };
    }

    /// Hands input to the call. An error is what the peer did wrong.
    pub(super) async fn handle(&mut self, input: Input, call: &mut Streams<'_>, now: Timestamp) -> Result<(), String> {
        match input {
            Input::Written(count) => {
                self.pending.drain(..count);
            }
            Input::Control(_) if self.pending.len() > PENDING_MAX => {
                return Err("the peer does not read what it is told".to_owned());
            }
            Input::Control(count) => {
                self.reader.push(&self.buffer[..count]);
                while let Some((about, message)) = self.reader.next().map_err(|error| error.to_string())? {
                    if !std::mem::replace(&mut self.heard, true) {
                        let (name, address) = (&self.connection.peer().name, self.connection.address());
                        let kind = self.ways.kind_of(self.connection.pair());
                        limited!(info, "connected to {name} at {address}, {}", kind.name());
                    }
                    call.on_control(about, message, now).map_err(|violation| violation.to_string())?;
                }
            }
            Input::Datagram(first) => {
                let mut next: Option<Bytes> = Some(first);
                for _ in 0..DATAGRAMS_AT_ONCE {
                    let Some(datagram) = next else { break };
                    call.on_datagram(&datagram, clock::now());
                    next = self.connection.try_datagram().await;
                }
                if let Some(datagram) = next {
                    call.on_datagram(&datagram, clock::now());
                }
            }
        }
        Ok(())
    }

    pub(super) async fn finish(self, code: CloseCode, reason: &str) {
        self.connection.finish(&self.pending, GOODBYE, code, reason).await;
    }

    pub(super) async fn replaced(mut self) {
        control::encode(&ControlMessage::Bye { reason: ByeReason::ReplacedByNewer }, None, &mut self.pending);
        self.finish(CloseCode::Replaced, "replaced by a newer connection").await;
    }
}
