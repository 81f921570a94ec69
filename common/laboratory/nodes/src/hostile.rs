//! Hostile nodes. They read requests by their fixed form, as Duet's client sends them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::net::UdpSocket;

/// Bytes of the values that Duet stores.
const VALUE_BYTES: usize = 198;

/// A hostile node's answer to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduct {
    /// Values of its own, of every length.
    Lies,
    /// For ever the first value that it was given: old, and rightly signed and sealed.
    Replays,
    /// Nodes that are not there, and fifty datagrams for one.
    Floods,
    /// Lists within lists.
    Nests,
}

impl Conduct {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lies, Self::Replays, Self::Floods, Self::Nests];
}

/// Starts a node; returns its address. `asked` counts requests.
pub(super) async fn start(conduct: Conduct, seed: u64, asked: Arc<AtomicU64>) -> io::Result<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    let address = socket.local_addr()?.to_string();
    let mut node = Node { conduct, count: seed, first: BTreeMap::new() };
    tokio::spawn(async move {
        let mut request = [0; 2048];
        loop {
            let Ok((length, from)) = socket.recv_from(&mut request).await else { continue };
            asked.fetch_add(1, Ordering::Relaxed);
            let Some(answer) = node.answer(&request[..length]) else { continue };
            for _ in 0..if conduct == Conduct::Floods { 50 } else { 1 } {
                let _ = socket.send_to(&answer, from).await;
            }
        }
    });
    Ok(address)
}

struct Node {
    conduct: Conduct,
    count: u64,
    /// The first value of each item.
    first: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Node {
    fn answer(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        self.count += 1;
        let number = behind(request, b"1:t4:", 4)?;
        if let Some(key) = behind(request, b"1:k32:", 32) {
            let value = behind(request, b"1:v198:", VALUE_BYTES)?;
            let target = digest(&SHA1_FOR_LEGACY_USE_ONLY, key).as_ref().to_vec();
            self.first.entry(target).or_insert(value.to_vec());
        }
        let target = behind(request, b"6:target20:", 20)?;
        // As near as it can be.
        let mut id = target.to_vec();
        *id.last_mut()? ^= self.count as u8;
        let mut out = [b"d1:rd2:id20:", id.as_slice()].concat();
        if self.conduct == Conduct::Floods {
            out.extend(b"5:nodes520:");
            for n in 0..20_u16 {
                out.extend(&id);
                out.extend([127, 0, 0, 1]);
                out.extend((2000 + n + (self.count as u16 % 1000) * 20).to_be_bytes());
            }
        }
        out.extend(b"5:token4:tokn");
        match self.conduct {
            Conduct::Lies => {
                let length = [VALUE_BYTES, 0, 1, VALUE_BYTES - 1, VALUE_BYTES + 1, 990][self.count as usize % 6];
                out.extend(format!("1:v{length}:").bytes());
                out.extend((0..length).map(|n| (n as u64 * self.count) as u8));
            }
            Conduct::Replays => {
                if let Some(value) = self.first.get(target) {
                    out.extend(b"1:v198:");
                    out.extend(value);
                }
            }
            Conduct::Floods => {}
            Conduct::Nests => out.extend(b"1:vl".iter().chain(&[b'l'; 1900])),
        }
        out.extend(b"e1:t4:");
        out.extend(number);
        out.extend(b"1:y1:re");
        Some(out)
    }
}

/// Returns the bytes behind a mark.
fn behind<'a>(request: &'a [u8], mark: &[u8], count: usize) -> Option<&'a [u8]> {
    let at = request.windows(mark.len()).position(|bytes| bytes == mark)? + mark.len();
    request.get(at..at + count)
}
