//! The little of D-Bus (its specification, version 0.43) that asks the desktop to leave the screen on.

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Longest wait for the bus.
const PATIENCE: Duration = Duration::from_secs(2);
/// Length at most of a line of the bus while it is greeted.
const LINE_MAX: usize = 256;
/// Arguments that are two strings, as the signature says it.
const TWO_STRINGS: &str = "ss";

/// A request that the desktop leave the screen on. It ends with its value.
#[derive(Debug)]
pub(super) struct Inhibited {
    _until: Sender<()>,
}

impl Inhibited {
    /// Asks in the name of `program`, because of `reason`. Nobody waits for the desktop, and one that does not answer is left alone.
    pub(super) fn ask(program: &'static str, reason: &'static str) -> Option<Self> {
        let (until, end) = channel::<()>();
        let thread = std::thread::Builder::new().name("session bus".to_owned());
        let started = thread.spawn(move || match inhibit(session(), program, reason) {
            Ok(bus) => {
                // The desktop takes the end of the connection for the end of the request.
                let _ = end.recv();
                drop(bus);
            }
            Err(error) => tracing::debug!("the desktop cannot be asked to leave the screen on: {error}"),
        });
        started.is_ok().then_some(Self { _until: until })
    }
}

/// Returns the address of the session's bus, in D-Bus's own form.
fn session() -> Option<String> {
    let said = std::env::var("DBUS_SESSION_BUS_ADDRESS").ok();
    said.or_else(|| Some(format!("unix:path={}/bus", std::env::var("XDG_RUNTIME_DIR").ok()?)))
}

/// Greets the bus at `address` and asks. The returned connection carries the request.
fn inhibit(address: Option<String>, program: &str, reason: &str) -> std::io::Result<UnixStream> {
    let address = address.ok_or_else(|| other("this session has no bus"))?;
    let mut bus = connect(&address)?;
    bus.set_read_timeout(Some(PATIENCE))?;
    bus.set_write_timeout(Some(PATIENCE))?;
    // The bus compares the user with the one that the socket tells.
    let user: String = Path::new("/proc/self").metadata()?.uid().to_string().bytes().map(hex).collect();
    bus.write_all(format!("\0AUTH EXTERNAL {user}\r\n").as_bytes())?;
    let answer = line(&mut bus)?;
    if !answer.starts_with(b"OK ") {
        return Err(other("the session's bus does not let this user in"));
    }
    bus.write_all(b"BEGIN\r\n")?;
    let own = "org.freedesktop.DBus";
    bus.write_all(&call(1, own, "/org/freedesktop/DBus", own, "Hello", &[]))?;
    let saver = "org.freedesktop.ScreenSaver";
    bus.write_all(&call(2, saver, "/org/freedesktop/ScreenSaver", saver, "Inhibit", &[program, reason]))?;
    Ok(bus)
}

fn connect(addresses: &str) -> std::io::Result<UnixStream> {
    for address in addresses.split(';') {
        let Some(pairs) = address.strip_prefix("unix:") else { continue };
        for pair in pairs.split(',') {
            match pair.split_once('=') {
                Some(("path", path)) => return UnixStream::connect(path),
                Some(("abstract", name)) => return UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?),
                _ => {}
            }
        }
    }
    Err(other("the session's bus is at no place that this program can reach"))
}

fn other(why: &str) -> std::io::Error {
    std::io::Error::other(why)
}

fn hex(byte: u8) -> String {
    format!("{byte:02x}")
}

/// Reads a line of the greeting.
fn line(bus: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LINE_MAX && !line.ends_with(b"\r\n") {
        bus.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(line)
}

/// Returns the message of a method call number `serial`, with no argument or two strings.
fn call(serial: u32, to: &str, object: &str, interface: &str, method: &str, arguments: &[&str]) -> Vec<u8> {
    let mut body = Message::default();
    arguments.iter().for_each(|argument| body.string(argument));
    let mut fields = Message::default();
    for (code, kind, value) in [(1, "o", object), (2, "s", interface), (3, "s", method), (6, "s", to)] {
        fields.field(code, kind);
        fields.string(value);
    }
    if !arguments.is_empty() {
        fields.field(8, "g");
        fields.signature(TWO_STRINGS);
    }
    // Little endian, a call, no flags, version 1.
    let mut message = Message(vec![b'l', 1, 0, 1]);
    message.number(body.0.len() as u32);
    message.number(serial);
    // The fields begin at a multiple of 8, so that they are aligned here as they were there.
    message.number(fields.0.len() as u32);
    message.0.extend(&fields.0);
    message.align(8);
    message.0.extend(&body.0);
    message.0
}

/// Bytes in D-Bus's layout.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    fn number(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    fn string(&mut self, text: &str) {
        self.number(text.len() as u32);
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    fn signature(&mut self, text: &str) {
        self.0.push(text.len() as u8);
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    /// Begins a header field: a structure of its code and a value of the kind.
    fn field(&mut self, code: u8, kind: &str) {
        self.align(8);
        self.0.push(code);
        self.signature(kind);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn calls_are_laid_out_as_the_specification_says() {
        let hello = call(1, "o.f.D", "/o", "i", "Hello", &[]);
        let wanted: &[u8] = b"l\x01\0\x01\0\0\0\0\x01\0\0\0\x3e\0\0\0\
            \x01\x01o\0\x02\0\0\0/o\0\0\0\0\0\0\
            \x02\x01s\0\x01\0\0\0i\0\0\0\0\0\0\0\
            \x03\x01s\0\x05\0\0\0Hello\0\0\0\
            \x06\x01s\0\x05\0\0\0o.f.D\0\0\0";
        // The padding after the last field is not counted in their length.
        assert_eq!(hello, wanted);
        let body = call(2, "t", "/", "i", "m", &["ab", "c"]);
        assert!(body.ends_with(b"\x02\0\0\0ab\0\0\x01\0\0\0c\0"));
        assert_eq!(u32::from_le_bytes(body[4..8].try_into().unwrap()), 14);
    }

    #[test]
    fn the_request_stands_as_long_as_its_connection() {
        let folder = std::env::temp_dir().join(format!("duet-bus-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("bus");
        let listener = UnixListener::bind(&path).unwrap();
        let address = format!("tcp:host=localhost;unix:guid=0,path={}", path.display());
        let asks = std::thread::spawn(move || inhibit(Some(address), "duet", "a call"));
        let (mut bus, _) = listener.accept().unwrap();
        assert!(line(&mut bus).unwrap().starts_with(b"\0AUTH EXTERNAL 3"));
        bus.write_all(b"OK 0123456789abcdef\r\n").unwrap();
        assert_eq!(line(&mut bus).unwrap(), b"BEGIN\r\n");
        let asking = asks.join().unwrap().unwrap();
        drop(asking);
        let mut said = Vec::new();
        bus.read_to_end(&mut said).unwrap();
        let has = |word: &[u8]| said.windows(word.len()).any(|window| window == word);
        assert!(has(b"Hello\0") && has(b"org.freedesktop.ScreenSaver\0") && has(b"Inhibit\0") && has(b"a call\0"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_bus_that_refuses_or_is_not_there_is_an_error() {
        for address in [None, Some("tcp:host=localhost"), Some("unix:path=/there/is/none"), Some("unix:")] {
            assert!(inhibit(address.map(str::to_owned), "duet", "a call").is_err(), "{address:?}");
        }
    }
}
