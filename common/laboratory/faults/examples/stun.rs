//! Two kinds of STUN servers for `common/laboratory/faults/reach`: at the addresses `IP:PORT` given they tell whoever asks where it is
//! seen; at those behind the word `lies` they answer with nonsense, and that it is seen where nobody is.

use std::net::{SocketAddr, UdpSocket};
use std::thread;

use anyhow::{Result, anyhow, bail};
use stun_types::attribute::XorMappedAddress;
use stun_types::message::{BINDING, Message, MessageClass, MessageWriteVec};
use stun_types::prelude::*;

/// An address at which nobody is.
const NOBODY: &str = "203.0.113.77:7";

fn main() -> Result<()> {
    let addresses: Vec<_> = std::env::args().skip(1).collect();
    let (honest, lying) = match addresses.iter().position(|word| word == "lies") {
        Some(at) => (&addresses[..at], &addresses[at + 1..]),
        None => (&addresses[..], &[][..]),
    };
    let start = |addresses: &[String], answers: Answers| -> Vec<_> {
        addresses.iter().cloned().map(|address| thread::spawn(move || serve(&address, answers))).collect()
    };
    for server in start(honest, truth).into_iter().chain(start(lying, lies)) {
        server.join().map_err(|_| anyhow!("a server has failed"))??;
    }
    bail!("usage: stun IP:PORT.. [lies IP:PORT..]")
}

/// Makes the answers to a message.
type Answers = fn(&Message<'_>, SocketAddr) -> Result<Vec<Vec<u8>>>;

fn serve(address: &str, answers: Answers) -> Result<()> {
    let socket = UdpSocket::bind(address)?;
    let mut buffer = [0; 1500];
    loop {
        let (length, from) = socket.recv_from(&mut buffer)?;
        let Ok(question) = Message::from_bytes(&buffer[..length]) else { continue };
        if !question.has_method(BINDING) || !question.has_class(MessageClass::Request) {
            continue;
        }
        for answer in answers(&question, from)? {
            socket.send_to(&answer, from)?;
        }
    }
}

fn truth(question: &Message<'_>, from: SocketAddr) -> Result<Vec<Vec<u8>>> {
    Ok(vec![seen_at(question, from)?])
}

/// Noise, half an answer, one to a question that nobody has asked, and one that names nobody's address.
fn lies(question: &Message<'_>, from: SocketAddr) -> Result<Vec<Vec<u8>>> {
    let honest = seen_at(question, from)?;
    let nobody = seen_at(question, NOBODY.parse()?)?;
    let mut stale = honest.clone();
    // The transaction's bytes.
    stale[8..20].fill(7);
    Ok(vec![vec![0xff; 1200], vec![1], honest[..honest.len() / 2].to_vec(), stale, nobody])
}

fn seen_at(question: &Message<'_>, address: SocketAddr) -> Result<Vec<u8>> {
    let mut answer = Message::builder_success(question, MessageWriteVec::new());
    answer.add_attribute(&XorMappedAddress::new(address, question.transaction_id()))?;
    Ok(answer.finish())
}
