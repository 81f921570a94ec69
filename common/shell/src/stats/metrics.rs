//! The metrics page: the last statistics over plain HTTP/1.1, for Prometheus and the like.
//!
//! A thread waits for callers and gives each a thread of its own, a few at once, each bounded in bytes and time. The
//! daemon never waits for them: publishing replaces a text.
//!
//! A web page in a browser here may let its own name point at this machine (DNS rebinding) and have the browser ask for
//! the page. The request then contains that name: the page answers to addresses and to `localhost` only.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::metrics::{Metrics, Page};

use net::failure::Failure;
use net::lock::lock;

/// Callers served at once; one more is turned away.
const CALLERS_MAX: usize = 8;
/// Longest request that is read, bytes; a scraper's takes a few hundred.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Longest time for one caller, from its call to the end of the answer.
const CALL_MAX: Duration = Duration::from_secs(2);
/// Pause after a call could not be taken, which happens when the process has no file handle left.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A metrics page that is being served until the process ends.
#[derive(Clone, Debug)]
pub struct MetricsPage {
    text: Arc<Mutex<Arc<str>>>,
    address: SocketAddr,
}

impl MetricsPage {
    /// Begins to serve at `address`; the page is empty until the first [`Self::publish`].
    pub fn serve(address: SocketAddr) -> Result<Self, Failure> {
        Self::serve_within(CALL_MAX, address)
    }

    /// Serves as [`Self::serve`] does, with `call_max` for each caller.
    fn serve_within(call_max: Duration, address: SocketAddr) -> Result<Self, Failure> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => Failure::network(format!(
                "the metrics page cannot have {address}: another program listens there; choose another port in \
                 [expert] metrics, or one for the receiver alone in [receiver.expert]"
            )),
            _ => Failure::network(format!("the metrics page cannot have {address}: {error}")),
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if !address.ip().is_loopback() {
            tracing::warn!(
                "the metrics page at {address} can be read by every machine that reaches it; \
                 127.0.0.1:{} keeps it to this one",
                address.port()
            );
        }
        let text: Arc<Mutex<Arc<str>>> = Arc::new(Mutex::new(Arc::from("")));
        let served = Arc::clone(&text);
        let thread =
            thread::Builder::new().name("metrics".to_owned()).spawn(move || accept(&listener, &served, call_max));
        thread.map_err(failed)?;
        tracing::info!("metrics at http://{address}/metrics");
        Ok(Self { text, address })
    }

    /// Returns the address at which it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets what callers get from now on.
    pub fn publish(&self, metrics: &impl Metrics) {
        *lock(&self.text) = Page::of(metrics).into();
    }
}

fn accept(listener: &TcpListener, text: &Arc<Mutex<Arc<str>>>, call_max: Duration) {
    let callers = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(ACCEPT_RETRY);
            continue;
        };
        if callers.load(Ordering::Relaxed) >= CALLERS_MAX {
            // Without a thread for it, it gets no answer: dropping the stream hangs up.
            continue;
        }
        let caller = Caller::new(&callers);
        let text = Arc::clone(&lock(text));
        let serve = move || {
            let _caller = caller;
            // A caller that goes away or is too slow gets no answer, and nobody else notices.
            let _ = Call { stream, end: Instant::now() + call_max }.answer(&text);
        };
        // Without a thread there is nobody to answer: the stream is dropped with the closure.
        let _ = thread::Builder::new().name("metrics caller".to_owned()).spawn(serve);
    }
}

/// Counts a caller for as long as it lives.
struct Caller(Arc<AtomicUsize>);

impl Caller {
    fn new(callers: &Arc<AtomicUsize>) -> Self {
        callers.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(callers))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One request and its answer, on a connection of its own.
struct Call {
    stream: TcpStream,
    end: Instant,
}

impl Call {
    fn answer(mut self, text: &str) -> io::Result<()> {
        let request = self.request()?;
        let (status, body) = match request {
            Request::Page { .. } => (OK, text),
            Request::Refused(status) => (status, status),
        };
        let kind = if status == OK { "text/plain; version=0.0.4; charset=utf-8" } else { "text/plain" };
        let allow = if status == NOT_ALLOWED { "Allow: GET, HEAD\r\n" } else { "" };
        let length = body.len();
        let mut answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
        );
        if !matches!(request, Request::Page { head_only: true }) {
            answer.push_str(body);
        }
        let mut rest = answer.as_bytes();
        while !rest.is_empty() {
            self.stream.set_write_timeout(Some(self.left()?))?;
            let written = self.stream.write(rest)?;
            rest = &rest[written..];
        }
        self.stream.shutdown(Shutdown::Write)?;
        // What was sent beyond the request is read and forgotten: closing over unread bytes would reset the
        // connection, and the caller might lose the answer.
        let mut left_over = REQUEST_BYTES_MAX;
        while left_over > 0 {
            match self.read(&mut [0; 1024])? {
                0 => break,
                count => left_over = left_over.saturating_sub(count),
            }
        }
        Ok(())
    }

    fn request(&mut self) -> io::Result<Request> {
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        loop {
            let count = self.read(&mut buffer)?;
            request.extend_from_slice(&buffer[..count]);
            if let Some(end) = find(&request, b"\r\n\r\n").or_else(|| find(&request, b"\n\n")) {
                return Ok(Request::parse(&request[..end]));
            }
            if count == 0 {
                return Ok(Request::Refused(BAD_REQUEST));
            }
            if request.len() > REQUEST_BYTES_MAX {
                return Ok(Request::Refused("431 Request Header Fields Too Large"));
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }

    /// Returns the time that this caller still has.
    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

const OK: &str = "200 OK";
const BAD_REQUEST: &str = "400 Bad Request";
const NOT_ALLOWED: &str = "405 Method Not Allowed";
const NOT_THIS_HOST: &str = "421 Misdirected Request";

/// A caller's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Page {
        head_only: bool,
    },
    /// The caller gets this status instead.
    Refused(&'static str),
}

impl Request {
    /// Reads the request line (RFC 9112, section 3) and the host that the caller has asked; other fields change
    /// nothing.
    fn parse(request: &[u8]) -> Self {
        let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let words = std::str::from_utf8(line).map(|line| line.split(' ').collect::<Vec<_>>());
        let Ok([method, target, version]) = words.as_deref() else { return Self::Refused(BAD_REQUEST) };
        if !version.starts_with("HTTP/") || method.is_empty() {
            return Self::Refused(BAD_REQUEST);
        }
        if !version.starts_with("HTTP/1.") {
            return Self::Refused("505 HTTP Version Not Supported");
        }
        if !hosts(request).all(is_own) {
            return Self::Refused(NOT_THIS_HOST);
        }
        match (target.split('?').next(), *method) {
            (Some("/metrics"), "GET" | "HEAD") => Self::Page { head_only: *method == "HEAD" },
            (Some("/metrics"), _) => Self::Refused(NOT_ALLOWED),
            _ => Self::Refused("404 Not Found"),
        }
    }
}

/// Returns the values of all `Host` fields; what is no text is no host of ours.
fn hosts(request: &[u8]) -> impl Iterator<Item = &str> {
    request.split(|&byte| byte == b'\n').skip(1).filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = line.split_at(colon);
        name.eq_ignore_ascii_case(b"host").then(|| std::str::from_utf8(&value[1..]).map_or("?", str::trim))
    })
}

/// Returns true if `host`, with or without a port, is an address or this machine's own name for itself.
fn is_own(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

/// Returns the status that a request with this head is answered with.
pub fn status_of(head: &[u8]) -> &'static str {
    match Request::parse(head) {
        Request::Page { .. } => OK,
        Request::Refused(status) => status,
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
