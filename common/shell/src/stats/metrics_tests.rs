use common::stats::SenderReport;

use super::*;

/// Longer than any call may take, so that a hang fails the test.
const PATIENCE: Duration = Duration::from_secs(90);

/// Serves a page on which no call ends because this machine is slow.
fn served() -> MetricsPage {
    served_within(PATIENCE)
}

fn served_within(call_max: Duration) -> MetricsPage {
    MetricsPage::serve_within(call_max, "127.0.0.1:0".parse().unwrap()).unwrap()
}

fn call(page: &MetricsPage) -> TcpStream {
    let stream = TcpStream::connect(page.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Returns the page's text until it hangs up; nothing if the connection was reset.
fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => String::from_utf8(answer).unwrap(),
        Err(error) => {
            assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "neither an answer nor an end");
            String::new()
        }
    }
}

fn ask(page: &MetricsPage, request: &str) -> String {
    let mut stream = call(page);
    stream.write_all(request.as_bytes()).unwrap();
    rest(stream)
}

#[test]
fn a_scrape_gets_what_was_published_last() {
    let page = served();
    let get = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n";
    assert!(ask(&page, get).starts_with("HTTP/1.1 200 OK\r\n"));
    for frames_sent in [3, 4] {
        page.publish(&SenderReport { frames_sent, ..SenderReport::default() });
        let answer = ask(&page, get);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        assert!(body.contains(&format!("\nduet_sender_frames_sent_total {frames_sent}\n")), "{body}");
    }
    let head = ask(&page, "HEAD /metrics HTTP/1.0\n\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn a_request_in_pieces_is_put_together() {
    let page = served();
    let mut stream = call(&page);
    stream.set_nodelay(true).unwrap();
    for piece in ["GET /met", "rics?name=x HT", "TP/1.1\r\nHost: [::1]:9464\r\n\r", "\n"] {
        stream.write_all(piece.as_bytes()).unwrap();
    }
    assert!(rest(stream).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn other_requests_are_refused_by_their_status() {
    let page = served();
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("GET /metrics/ HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405 Method Not Allowed"),
        ("GET /metrics HTTP/2\r\n\r\n", "505 HTTP Version Not Supported"),
        ("GET /metrics\r\n\r\n", "400 Bad Request"),
        ("GET  /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("\u{16}\u{3}\u{1} hello\r\n\r\n", "400 Bad Request"),
        ("\r\n\r\n", "400 Bad Request"),
    ] {
        let answer = ask(&page, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {answer}");
        assert_eq!(answer.contains("Allow: GET, HEAD"), status.starts_with("405"), "{answer}");
    }
}

#[test]
fn a_name_that_somebody_else_has_pointed_here_is_refused() {
    let page = served();
    for (host, status) in [
        ("127.0.0.1:9464", "200 OK"),
        ("192.0.2.7", "200 OK"),
        ("[2001:db8::1]:9464", "200 OK"),
        ("LocalHost:9464", "200 OK"),
        ("evil.example", "421 Misdirected Request"),
        ("evil.example:9464", "421 Misdirected Request"),
        ("localhost.evil.example", "421 Misdirected Request"),
        ("127.0.0.1.evil.example", "421 Misdirected Request"),
        ("", "421 Misdirected Request"),
        ("127.0.0.1\r\nhOST: evil.example", "421 Misdirected Request"),
    ] {
        let answer = ask(&page, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{host:?}: {answer}");
    }
}

#[test]
fn an_endless_request_is_refused() {
    let page = served();
    let request = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(REQUEST_BYTES_MAX));
    assert!(ask(&page, &request).starts_with("HTTP/1.1 431 "));
    // Far more than is read: the connection may be reset under the writer, but the next caller is served.
    let mut stream = call(&page);
    let _ = stream.write_all(&vec![b'x'; 1 << 22]);
    drop(stream);
    assert!(ask(&page, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn only_some_can_wait() {
    let page = served();
    let silent: Vec<_> = (0..CALLERS_MAX).map(|_| call(&page)).collect();
    // Taken in the order of their calls, so all places are taken when this one's turn comes.
    assert_eq!(ask(&page, "GET /metrics HTTP/1.1\r\n\r\n"), "");
    drop(silent);
    // A place is free once the thread that had it has noticed.
    let end = Instant::now() + PATIENCE;
    while !ask(&page, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n") {
        assert!(Instant::now() < end, "nobody is served any more");
    }
}

#[test]
fn who_says_nothing_is_hung_up_on() {
    assert_eq!(rest(call(&served_within(Duration::from_millis(50)))), "");
}

#[test]
fn an_address_in_use_is_named() {
    let page = served();
    let failure = MetricsPage::serve(page.address()).unwrap_err();
    assert_eq!(failure.code(), 4);
    assert!(failure.message.contains(&page.address().to_string()) && failure.message.contains("another port"));
}
