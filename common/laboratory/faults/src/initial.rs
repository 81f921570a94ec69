//! First packets of QUIC handshakes. Their keys come from a connection id that they show (RFC 9001, section 5.2), so
//! that anyone who sees one can read it and forge the answer.

use anyhow::{Context, Result, bail};
use common::netsim::Random;
use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{Keys, Version};

const FORM_INITIAL: u8 = 0xc0;
const VERSION_1: [u8; 4] = [0, 0, 0, 1];
const PACKET_NUMBER: [u8; 4] = [0; 4];
/// Smallest datagram of a client's first packet, bytes.
const DATAGRAM_MIN: usize = 1_200;

/// The connection ids of a client's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ids {
    /// Id by which the client calls the server.
    pub(crate) to: Vec<u8>,
    /// Id by which it wants to be called.
    pub(crate) from: Vec<u8>,
}

/// Returns the ids in a client's first packet; none: it is another packet.
pub(crate) fn ids(datagram: &[u8]) -> Option<Ids> {
    let (head, rest) = datagram.split_first_chunk::<5>()?;
    let (to, from, _) = split_ids(rest)?;
    let is_initial = head[0] & 0xf0 == FORM_INITIAL && head[1..] == VERSION_1;
    is_initial.then(|| Ids { to: to.to_vec(), from: from.to_vec() })
}

fn split_ids(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    let (to, rest) = rest.split_at_checked(length.into())?;
    let (&length, rest) = rest.split_first()?;
    let (from, rest) = rest.split_at_checked(length.into())?;
    Some((to, from, rest))
}

/// Encodes the answer of a server that speaks another version of QUIC.
pub(crate) fn version_negotiation(asked: &Ids) -> Vec<u8> {
    let mut packet = vec![0x80, 0, 0, 0, 0];
    push_ids(&mut packet, &asked.from, &asked.to);
    packet.extend([0x0a; 4]);
    packet
}

/// Encodes the answer of a server that refuses the handshake with this TLS alert.
pub(crate) fn refusal(asked: &Ids, alert: u8) -> Result<Vec<u8>> {
    // CONNECTION_CLOSE with the code 0x100 and the alert, caused by a CRYPTO frame, no reason; padding.
    let mut payload = vec![0x1c, 0x41, alert, 0x06, 0x00];
    payload.resize(64, 0);
    seal(Side::Server, &asked.to, &asked.from, &[9; 8], payload)
}

/// A client's first message, to be sent under any connection id: each is a handshake of its own.
#[derive(Debug)]
pub(crate) struct Hello {
    from: Vec<u8>,
    payload: Vec<u8>,
}

impl Hello {
    /// Reads the first packet that a client has sent.
    pub(crate) fn read(datagram: &[u8]) -> Result<Self> {
        let asked = ids(datagram).context("no first packet")?;
        let (_, _, rest) = split_ids(&datagram[5..]).context("no connection ids")?;
        // No token; a length of two bytes, as quinn writes it.
        let [0, high, low] = rest[..3] else { bail!("a token in a first packet") };
        let length = usize::from(u16::from_be_bytes([high & 0x3f, low]));
        let mut packet = datagram.get(..datagram.len() - rest.len() + 3 + length).context("a short packet")?.to_vec();
        let number_at = packet.len() - length;
        let keys = keys(Side::Server, &asked.to)?;
        let (header, body) = packet.split_at_mut(number_at);
        let (number, sample) = body.split_at_mut(4);
        keys.remote.header.decrypt_in_place(&sample[..16], &mut header[0], number)?;
        let number_length = usize::from(header[0] & 3) + 1;
        let number = number[..number_length].iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let (header, body) = packet.split_at_mut(number_at + number_length);
        let payload = keys.remote.packet.decrypt_in_place(number, header, body)?.to_vec();
        Ok(Self { from: asked.from, payload })
    }

    /// Returns the same message as the beginning of another handshake.
    pub(crate) fn anew(&self, random: &mut Random) -> Result<Vec<u8>> {
        let to = random.bits().to_le_bytes();
        let mut payload = self.payload.clone();
        payload.resize(payload.len().max(DATAGRAM_MIN), 0);
        seal(Side::Client, &to, &to, &self.from, payload)
    }
}

/// Returns the packet with this payload, from `side`, in the handshake whose client first called the server `called`.
fn seal(side: Side, called: &[u8], to: &[u8], from: &[u8], mut payload: Vec<u8>) -> Result<Vec<u8>> {
    let keys = keys(side, called)?;
    let mut packet = vec![FORM_INITIAL | (PACKET_NUMBER.len() as u8 - 1)];
    packet.extend(VERSION_1);
    push_ids(&mut packet, to, from);
    // No token.
    packet.push(0);
    let length = PACKET_NUMBER.len() + payload.len() + keys.local.packet.tag_len();
    packet.extend((0x4000 | u16::try_from(length)?).to_be_bytes());
    let number_at = packet.len();
    packet.extend(PACKET_NUMBER);
    let tag = keys.local.packet.encrypt_in_place(0, &packet, &mut payload)?;
    let header_end = packet.len();
    packet.extend(payload);
    packet.extend(tag.as_ref());
    let (header, body) = packet.split_at_mut(header_end);
    let (first, number) = header.split_at_mut(number_at);
    keys.local.header.encrypt_in_place(&body[..16], &mut first[0], number)?;
    Ok(packet)
}

fn push_ids(packet: &mut Vec<u8>, to: &[u8], from: &[u8]) {
    for id in [to, from] {
        packet.push(id.len() as u8);
        packet.extend(id);
    }
}

fn keys(side: Side, called: &[u8]) -> Result<Keys> {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite()).context("no suite for QUIC")?;
    Ok(suite.keys(called, side, Version::V1))
}
