//! The relay of docker/meet as it is delivered: coturn, started as its unit and its image start it.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use common::config::{SharedConfig, parse_sender, resolve_sender};

use super::*;
use crate::reach::relay_takes_the_example;

const MEET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docker/meet");
const PASSWORD: &str = "sixteen-or-more-letters";
/// A person's patience, of which a machine that has much else to do needs some.
const PATIENCE: Duration = Duration::from_secs(30);

/// A relay on the loopback, until it is dropped.
struct Delivered {
    process: Child,
    folder: PathBuf,
    address: SocketAddr,
}

impl Delivered {
    /// Starts what `program` makes of a configuration: the delivered one with this line more. None: there is no coturn here.
    fn start(name: &str, more: &str, program: impl FnOnce(&str) -> Command) -> Option<Self> {
        if Command::new("turnserver").arg("--version").output().is_err() {
            eprintln!("NOT TESTED: there is no turnserver here: install the package coturn");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("duet-relay-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let address = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let delivered = fs::read_to_string(format!("{MEET}/turnserver.conf")).unwrap();
        let text = delivered.replace("listening-port=3478", &format!("listening-port={}\n{more}", address.port()));
        assert_ne!(text, delivered);
        let file = folder.join("turnserver.conf");
        fs::write(&file, text).unwrap();
        let process = program(file.to_str().unwrap())
            .args(["--listening-ip", "127.0.0.1", "--relay-ip", "127.0.0.1", "--relay-ip", "::1"])
            .arg("--pidfile")
            .arg(folder.join("pid"))
            .arg("--userdb")
            .arg(folder.join("users"))
            .env("TMPDIR", &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self { process, folder, address })
    }

    /// Asks for a place in that family, until the server has started and gives one, or refuses.
    fn place(&self, user: &str, password: &str, family: AddressFamily) -> Option<Guest> {
        let end = clock::now() + PATIENCE;
        while clock::now() < end {
            let mut config = TurnConfig::new(TurnCredentials::new(user, password));
            config.set_request_retransmits(AGAIN, AGAIN_MAX, TRIES, AGAIN_MAX);
            config.set_address_family(family);
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.connect(self.address).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let mut guest =
                Guest { client: TurnClientUdp::allocate(HERE, self.address, config), socket, refused: None };
            let answered = guest.until(|event| matches!(event, TurnEvent::AllocationCreated(..)));
            if answered.is_some() {
                return Some(guest);
            }
            if guest.refused.is_some_and(|code| code != UNAUTHORIZED) {
                return None;
            }
        }
        None
    }
}

impl Drop for Delivered {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Somebody with a place there.
struct Guest {
    client: TurnClientUdp,
    socket: UdpSocket,
    refused: Option<u16>,
}

impl Guest {
    /// Talks to the server until that happens; none: it ends, or nothing happens for a second or two.
    fn until(&mut self, mut is_it: impl FnMut(&TurnEvent) -> bool) -> Option<TurnEvent> {
        let end = clock::now() + Duration::from_secs(5);
        let mut buffer = [0; 1500];
        while clock::now() < end {
            let polled = self.client.poll(instant(clock::now()));
            while let Some(event) = self.client.poll_event() {
                if is_it(&event) {
                    return Some(event);
                }
            }
            while let Some(packet) = self.client.poll_transmit(instant(clock::now())) {
                let _ = self.socket.send(&packet.data);
            }
            if matches!(polled, TurnPollRet::Closed) {
                return None;
            }
            if let Ok(length) = self.socket.recv(&mut buffer) {
                let packet = &buffer[..length];
                self.refused = error_of(packet).map(|refusal| refusal.code).or(self.refused);
                let server = self.socket.peer_addr().unwrap();
                let _ =
                    self.client.recv(Transmit::new(packet, TransportType::Udp, server, HERE), instant(clock::now()));
            }
        }
        None
    }

    /// Returns true if packets may come and go between this place and that address.
    fn reaches(&mut self, ip: IpAddr) -> bool {
        self.client.create_permission(TransportType::Udp, ip, instant(clock::now())).unwrap();
        let event = self.until(|event| {
            matches!(event, TurnEvent::PermissionCreated(_, of) | TurnEvent::PermissionCreateFailed(_, of) if *of == ip)
        });
        match event {
            Some(TurnEvent::PermissionCreated(..)) => true,
            Some(_) => false,
            None => panic!("no answer for {ip}"),
        }
    }
}

fn with_relay(password: Option<&str>, file: &str) -> Command {
    let mut command = Command::new(format!("{MEET}/relay"));
    command.arg(file).env_remove("TURN_PASSWORD");
    if let Some(password) = password {
        command.env("TURN_PASSWORD", password);
    }
    command
}

#[test]
fn it_starts_with_no_password_but_one_that_somebody_has_made() {
    let conf = format!("{MEET}/turnserver.conf");
    let text = fs::read_to_string(&conf).unwrap();
    assert!(!text.lines().any(|line| line.trim().starts_with("user=")), "the configuration has a password");
    for password in [None, Some(""), Some("CHANGE-ME"), Some("notes"), Some("letters-and-more\nuser=a:b")] {
        let Output { status, stderr, .. } = with_relay(password, &conf).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert!(status.code() == Some(2) && said.starts_with("relay: ") && said.contains("TURN_PASSWORD"), "{said}");
    }
    let old = std::env::temp_dir().join(format!("duet-old-{}.conf", std::process::id()));
    fs::write(&old, "user=band:CHANGE-ME\n").unwrap();
    let Output { status, stderr, .. } = with_relay(Some(PASSWORD), old.to_str().unwrap()).output().unwrap();
    fs::remove_file(&old).unwrap();
    assert!(status.code() == Some(2) && String::from_utf8(stderr).unwrap().contains("CHANGE-ME"));
}

#[test]
fn it_reaches_public_addresses_only() {
    let Some(relay) = Delivered::start("denies", "", |file| with_relay(Some(PASSWORD), file)) else { return };
    for (family, refused, taken) in [
        (
            AddressFamily::IPV4,
            "0.0.0.1 10.9.0.2 100.64.0.1 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 \
             192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.251 239.255.255.250 240.0.0.1 \
             255.255.255.255",
            "9.9.9.9 11.0.1.2 100.128.0.1 172.32.0.1 192.0.1.1 198.20.0.1",
        ),
        (
            AddressFamily::IPV6,
            "::1 :: ::ffff:127.0.0.1 ::ffff:10.9.0.2 ::ffff:169.254.169.254 ::ffff:9.9.9.9 ::127.0.0.1 64:ff9b::7f00:1 \
             64:ff9b:1::7f00:1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1 fc00::1 fdff::1 fe80::1 fec0::1 feff::1 ff02::1 \
             2606:4700::1 0:1:: 0:100:: ::1:0:0:0 ::100:0 ::100 2002:a09:2:: 64:ff9b::a9fe:a9fe ::ffff:0:0 100:: ::ffff:c0a8:100",
            "",
        ),
    ] {
        let Some(mut guest) = relay.place("band", PASSWORD, family) else { panic!("no place in {family:?}") };
        for (addresses, is_taken) in [(refused, false), (taken, true)] {
            for address in addresses.split_whitespace() {
                assert_eq!(guest.reaches(address.parse().unwrap()), is_taken, "{address}");
            }
        }
    }
}

fn configured(relay: &Delivered, password: &str) -> SharedConfig {
    let text = format!(
        "[expert]\nstun = []\nopen_port = false\n[reach]\nturn = [\"turn:{}\"]\nturn_user = \"band\"\nturn_password = \"{password}\"\n",
        relay.address
    );
    resolve_sender(&parse_sender(&text).unwrap()).unwrap().shared
}

#[test]
fn one_that_still_has_the_example_password_is_known() {
    let bare = |file: &str| {
        let mut command = Command::new("turnserver");
        command.args(["-c", file]);
        command
    };
    let right = Delivered::start("right", "", |file| with_relay(Some(PASSWORD), file));
    let old = Delivered::start("old", "user=band:CHANGE-ME", bare);
    let (Some(right), Some(old)) = (right, old) else { return };
    assert!(right.place("band", PASSWORD, AddressFamily::IPV4).is_some());
    assert!(old.place("band", "CHANGE-ME", AddressFamily::IPV4).is_some());
    assert!(!relay_takes_the_example(&configured(&right, PASSWORD)).unwrap());
    assert!(relay_takes_the_example(&configured(&old, "CHANGE-ME")).unwrap());
    assert!(relay_takes_the_example(&configured(&old, "another")).unwrap(), "whatever this machine uses");
}
