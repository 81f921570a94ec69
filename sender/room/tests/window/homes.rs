//! Two homes in network namespaces, each behind a router that translates addresses and lets nobody in who has not been written to; outside,
//! servers that tell an address and BitTorrent's DHT. It needs root.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::sched::{CloneFlags, setns};

/// Addresses of servers that tell an address.
const SERVERS: [&str; 2] = ["11.0.99.9:3478", "11.0.99.10:3478"];
/// Nodes of the DHT, each in a network of its own.
const NODES: u8 = 8;
/// Bytes of a STUN message before its attributes, and the number at their fifth (RFC 8489).
const STUN_HEAD: usize = 20;
const COOKIE: u32 = 0x2112_a442;

/// The namespaces of one test.
pub(crate) struct World {
    id: String,
    /// Ends what runs outside.
    _end: Sender<()>,
}

fn run(words: &[&str], input: &str) -> bool {
    let mut command = Command::new(words[0]);
    let started =
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn();
    let Ok(mut child) = started else { return false };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    child.wait().is_ok_and(|status| status.success())
}

impl World {
    /// Returns two homes, or none where this machine does not make namespaces.
    pub(crate) fn new() -> Option<Self> {
        let id = format!("room{}-", std::process::id());
        let (end, ends) = channel();
        let world = Self { id, _end: end };
        if !run(&["ip", "netns", "add", &world.space("net")], "") {
            return None;
        }
        world.begin("net");
        for (side, number) in [("a", 1), ("b", 2)] {
            let [home, router] = ["h", "r"].map(|kind| format!("{kind}{side}"));
            for space in [&home, &router] {
                assert!(run(&["ip", "netns", "add", &world.space(space)], ""));
                world.begin(space);
            }
            let [inside, lan] = [format!("192.168.{number}.2"), format!("192.168.{number}.1")];
            world.cable((&home, "eth0", &inside), (&router, "lan0", &lan));
            let [outside, gate] = [format!("11.0.{number}.2"), format!("11.0.{number}.1")];
            world.cable((&router, "wan0", &outside), ("net", &format!("to{side}"), &gate));
            let rules = "table inet duet {
                chain leaving { type nat hook postrouting priority srcnat; meta nfproto ipv4 oifname wan0 masquerade; }
                chain itself { type filter hook input priority 0; policy drop; iifname { lo, lan0 } accept; }
                chain through { type filter hook forward priority 0; policy drop; iifname lan0 accept;
                    ct state established,related accept; }
            }";
            assert!(run(&["ip", "netns", "exec", &world.space(&router), "nft", "-f", "-"], rules));
        }
        world.outside(ends);
        Some(world)
    }

    fn space(&self, name: &str) -> String {
        format!("{}{name}", self.id)
    }

    fn ip(&self, space: &str, words: &[&str]) {
        let space = self.space(space);
        assert!(run(&[&["ip", "-n", &space], words].concat(), ""), "{words:?}");
    }

    /// Lets a namespace pass packets on.
    fn begin(&self, space: &str) {
        self.ip(space, &["link", "set", "lo", "up"]);
        assert!(run(&["ip", "netns", "exec", &self.space(space), "sysctl", "-qw", "net.ipv4.ip_forward=1"], ""));
    }

    /// Joins two namespaces by cards with these addresses; the second is the way outside of the first.
    fn cable(&self, inner: (&str, &str, &str), outer: (&str, &str, &str)) {
        let [a, b] = [inner.0, outer.0].map(|space| self.space(space));
        let words = ["ip", "link", "add", inner.1, "netns", &a, "type", "veth", "peer", "name", outer.1, "netns", &b];
        assert!(run(&words, ""));
        for (space, card, address) in [inner, outer] {
            self.ip(space, &["addr", "add", &format!("{address}/24"), "dev", card]);
            self.ip(space, &["link", "set", card, "up"]);
        }
        self.ip(inner.0, &["route", "add", "default", "via", outer.2]);
    }

    /// Starts what is outside.
    fn outside(&self, ends: Receiver<()>) {
        let nodes: Vec<_> = (1..=NODES).map(|n| Ipv4Addr::new(11, 7, n, 1)).collect();
        let addresses =
            nodes.iter().map(Ipv4Addr::to_string).chain(SERVERS.map(|server| server[..server.len() - 5].to_owned()));
        for address in addresses {
            self.ip("net", &["addr", "add", &format!("{address}/32"), "dev", "lo"]);
        }
        let space = File::open(format!("/run/netns/{}", self.space("net"))).unwrap();
        let (ready, is_ready) = channel();
        std::thread::spawn(move || {
            // This thread's alone, and of those that it starts.
            setns(space, CloneFlags::CLONE_NEWNET).unwrap();
            for server in SERVERS {
                let socket = UdpSocket::bind(server).unwrap();
                std::thread::spawn(move || tell_addresses(&socket));
            }
            let _nodes = nodes::scatter(&nodes).unwrap();
            ready.send(()).unwrap();
            let _ = ends.recv();
        });
        is_ready.recv_timeout(Duration::from_secs(120)).expect("the nodes of the DHT do not start");
    }

    /// Returns the words before a command that is to run in that home, `a` or `b`.
    pub(crate) fn within(&self, side: &str) -> [String; 4] {
        ["ip", "netns", "exec", &self.space(&format!("h{side}"))].map(str::to_owned)
    }

    /// Returns what a machine in it has to know, as lines of the section `[expert]`.
    pub(crate) fn knowledge() -> String {
        let entrances: Vec<_> = (1..=4).map(|n| format!("\"11.7.{n}.1:{}\"", nodes::PORT)).collect();
        let servers = SERVERS.map(|server| format!("\"{server}\""));
        format!("stun = [{}]\ndht_nodes = [{}]\n", servers.join(", "), entrances.join(", "))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for space in ["ha", "hb", "ra", "rb", "net"] {
            run(&["ip", "netns", "del", &self.space(space)], "");
        }
    }
}

/// Tells whoever asks by which address it is seen (STUN, RFC 8489).
fn tell_addresses(socket: &UdpSocket) {
    let mut question = [0; 1500];
    while let Ok((length, from)) = socket.recv_from(&mut question) {
        let SocketAddr::V4(seen) = from else { continue };
        if length < STUN_HEAD || question[..2] != [0, 1] || question[4..8] != COOKIE.to_be_bytes() {
            continue;
        }
        // A success with one attribute of twelve bytes: the address, by exclusive or with the cookie.
        let mut answer = vec![1, 1, 0, 12];
        answer.extend(&question[4..STUN_HEAD]);
        answer.extend([0, 0x20, 0, 8, 0, 1]);
        answer.extend((seen.port() ^ (COOKIE >> 16) as u16).to_be_bytes());
        answer.extend((u32::from(*seen.ip()) ^ COOKIE).to_be_bytes());
        let _ = socket.send_to(&answer, from);
    }
}
