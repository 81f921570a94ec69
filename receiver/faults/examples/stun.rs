//! A STUN server for `receiver/faults/reach`: tells whoever asks at one of the addresses `IP:PORT` given where it is
//! seen.

use std::net::UdpSocket;
use std::thread;

use anyhow::{Result, anyhow, bail};
use stun_types::attribute::XorMappedAddress;
use stun_types::message::{BINDING, Message, MessageClass, MessageWriteVec};
use stun_types::prelude::*;

fn main() -> Result<()> {
    let servers: Vec<_> = std::env::args().skip(1).map(|address| thread::spawn(move || serve(&address))).collect();
    for server in servers {
        server.join().map_err(|_| anyhow!("a server has failed"))??;
    }
    bail!("usage: stun IP:PORT..")
}

fn serve(address: &str) -> Result<()> {
    let socket = UdpSocket::bind(address)?;
    let mut buffer = [0; 1500];
    loop {
        let (length, from) = socket.recv_from(&mut buffer)?;
        let Ok(question) = Message::from_bytes(&buffer[..length]) else { continue };
        if !question.has_method(BINDING) || !question.has_class(MessageClass::Request) {
            continue;
        }
        let mut answer = Message::builder_success(&question, MessageWriteVec::new());
        answer.add_attribute(&XorMappedAddress::new(from, question.transaction_id()))?;
        socket.send_to(&answer.finish(), from)?;
    }
}
