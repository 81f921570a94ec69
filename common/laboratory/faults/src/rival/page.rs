//! The page's listener: gives the page to the browser and takes what it posts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::daemons::Daemon;

/// The page itself.
const PAGE: &str = include_str!("page.html");
/// Path at which the page reports what it cannot do.
const TROUBLE: &str = "/trouble";

/// Largest head and body of a request, bytes.
const HEAD_MAX: u64 = 16 << 10;
const BODY_MAX: usize = 64 << 20;
/// Longest that a browser may take over a request: some connections are opened and never used.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks at the browser.
const LOOK: Duration = Duration::from_millis(20);

/// Something posted, which waits for its answer.
pub(super) struct Post {
    pub(super) path: String,
    pub(super) body: Vec<u8>,
    stream: TcpStream,
}

impl Post {
    /// Answers it.
    pub(super) fn answer(self, json: &str) -> Result<()> {
        answer(self.stream, "200 OK", "application/json", json).context("the browser takes no answer")
    }
}

/// The listener. Its threads end with the process: nobody waits for a browser that says no more.
pub(super) struct Listener {
    address: SocketAddr,
    posts: Receiver<Post>,
}

impl Listener {
    /// Listens at a free port of this machine.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (sender, posts) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                // What is no request concerns nobody.
                std::thread::spawn(move || serve(stream, &sender));
            }
        });
        Ok(Self { address, posts })
    }

    /// Returns the address of the page.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the page's next post, within `patience`. An error if the page is in trouble or the browser has ended.
    pub(super) fn next(&self, browser: &mut Daemon, patience: Duration) -> Result<Post> {
        let deadline = Instant::now() + patience;
        loop {
            match self.posts.recv_timeout(LOOK) {
                Ok(post) if post.path == TROUBLE => bail!("the page says: {}", String::from_utf8_lossy(&post.body)),
                Ok(post) => return Ok(post),
                Err(RecvTimeoutError::Disconnected) => bail!("the page's listener has ended"),
                Err(RecvTimeoutError::Timeout) => browser.check()?,
            }
            if Instant::now() >= deadline {
                bail!("the page says nothing");
            }
        }
    }

    /// Returns the next post, which must be to `path`.
    pub(super) fn expect(&self, path: &str, browser: &mut Daemon, patience: Duration) -> Result<Post> {
        let post = self.next(browser, patience).with_context(|| format!("waited for {path}"))?;
        if post.path != path {
            bail!("the page sent {} where {path} was due", post.path);
        }
        Ok(post)
    }
}

fn serve(stream: TcpStream, posts: &Sender<Post>) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    match read(&mut BufReader::new(&stream)) {
        Ok((method, path, body)) if method == "POST" => posts.send(Post { path, body, stream })?,
        Ok((_, path, _)) if path == "/" || path.starts_with("/?") => {
            answer(stream, "200 OK", "text/html; charset=utf-8", PAGE)?
        }
        Ok(_) => answer(stream, "404 Not Found", "text/plain", "there is only one page here")?,
        Err(error) => answer(stream, "400 Bad Request", "text/plain", &error.to_string())?,
    }
    Ok(())
}

/// Reads method, path and body of a request (RFC 9112), whose body has a known length.
fn read(stream: &mut impl BufRead) -> Result<(String, String, Vec<u8>)> {
    let mut head = stream.by_ref().take(HEAD_MAX);
    let mut line = || -> Result<String> {
        let mut text = String::new();
        head.read_line(&mut text)?;
        Ok(text.strip_suffix('\n').context("the request's head has no end")?.trim_end_matches('\r').to_owned())
    };
    let first = line()?;
    let (method, path) = match first.split(' ').collect::<Vec<_>>()[..] {
        [method, path, version] if version.starts_with("HTTP/1.") => (method.to_owned(), path.to_owned()),
        _ => bail!("`{first}` is no request"),
    };
    let mut length = 0;
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { bail!("`{line}` is no header") };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().context("Content-Length is no number")?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            bail!("a body in pieces is not taken");
        }
    }
    if length > BODY_MAX {
        bail!("a body of {length} bytes is too long: at most {BODY_MAX}");
    }
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        bail!("the body ends after {} of {length} bytes", body.len());
    }
    Ok((method, path, body))
}

fn answer(mut stream: TcpStream, status: &str, kind: &str, text: &str) -> Result<()> {
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let mut text: &[u8] = b"POST /log HTTP/1.1\r\nHost: x\r\ncontent-length: 4\r\n\r\n{}\r\nmore";
        assert_eq!(read(&mut text).unwrap(), ("POST".to_owned(), "/log".to_owned(), b"{}\r\n".to_vec()));
        let mut text: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
        assert_eq!(read(&mut text).unwrap(), ("GET".to_owned(), "/".to_owned(), vec![]));
    }

    #[test]
    fn what_is_no_request_is_an_error() {
        let endless = [b"GET / HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 2 * HEAD_MAX as usize]].concat();
        let requests: [&[u8]; 10] = [
            b"",
            b"GET / HTTP/1.1",
            b"GET /\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{}",
            b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            &endless,
        ];
        for mut request in requests {
            assert!(read(&mut request).is_err(), "{}", String::from_utf8_lossy(&request[..request.len().min(60)]));
        }
    }
}
