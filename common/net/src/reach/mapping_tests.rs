use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::*;

/// The port that is to be opened.
const PORT: u16 = 20_000;
const OUTSIDE: &str = "11.0.1.2";
/// For what comes on a busy machine, too.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENT: TimeoutConfig = TimeoutConfig { initial_timeout: PATIENCE, ..QUESTION };

#[test]
fn the_router_of_the_default_route_is_asked() {
    let table = "Iface\tDestination\tGateway \tFlags\neth0\t0001A8C0\t00000000\t0001\neth0\t00000000\t0101A8C0\t0003\n";
    assert_eq!(router_in(table), Some(Ipv4Addr::new(192, 168, 1, 1)));
    for none in
        ["", "Iface\n", "Iface\neth0\t00000000\t00000000\t0001\n", "Iface\neth0\n", "Iface\neth0 00000000 xyz\n"]
    {
        assert_eq!(router_in(none), None, "{none}");
    }
}

fn opened(at: &str, seconds: u32) -> Result<(Opened, Duration), String> {
    Ok((Opened { at: at.parse().unwrap(), by: "test" }, Duration::from_secs(seconds.into())))
}

#[test]
fn what_cannot_be_is_no_answer_and_asking_keeps_its_pace() {
    for (at, seconds, is_told, again) in [
        ("11.0.1.2:20000", 600, true, RENEW),
        ("11.0.1.2:20000", 240, true, Duration::from_secs(120)),
        ("11.0.1.2:20000", 1, true, AGAIN),
        ("11.0.1.2:20000", u32::MAX, true, RENEW),
        ("[2001:db8::1]:20000", 600, true, RENEW),
        ("11.0.1.2:20000", 0, false, RENEW),
        ("11.0.1.2:0", 600, false, RENEW),
        ("192.168.1.7:20000", 600, false, RENEW),
        ("100.64.3.9:20000", 600, false, RENEW),
        ("127.0.0.1:20000", 600, false, RENEW),
        ("169.254.1.1:20000", 600, false, RENEW),
        ("0.0.0.0:20000", 600, false, RENEW),
        ("255.255.255.255:20000", 600, false, RENEW),
        ("239.1.2.3:20000", 600, false, RENEW),
        ("[fe80::1]:20000", 600, false, RENEW),
        ("[fd00::1]:20000", 600, false, RENEW),
        ("[::ffff:10.0.0.1]:20000", 600, false, RENEW),
    ] {
        let (answer, pause) = judge(opened(at, seconds));
        assert_eq!((answer != Answer::No, pause), (is_told, again), "{at} {seconds}");
    }
    assert_eq!(judge(Err("no".to_owned())), (Answer::No, AGAIN));
}

/// A router that opens an address, or never answers, and notes what it is asked.
struct Router(Option<&'static str>, Arc<Mutex<Vec<&'static str>>>);

impl Opener for Router {
    async fn find(&mut self) -> Result<(), String> {
        Ok(())
    }

    async fn open(&mut self) -> Result<(Opened, Duration), String> {
        self.1.lock().unwrap().push("open");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let Some(at) = self.0 else { panic!("gone") };
        opened(at, 600)
    }

    const LAST_ANSWER: Duration = PATIENCE;

    async fn close(&mut self) {
        self.1.lock().unwrap().push("close");
    }
}

#[test]
fn a_port_is_closed_at_the_end_and_nobody_waits_for_a_router_that_is_gone() {
    for (answers, told) in [(Some("11.0.1.2:20000"), 1), (Some("192.168.1.7:20000"), 0), (None, 0)] {
        for is_answered in [true, false] {
            let noted = Arc::new(Mutex::new(Vec::new()));
            let mapping = Mapping { asked: vec![ask("test", Router(answers, Arc::clone(&noted))).unwrap()] };
            until_asked(&noted, 1);
            while is_answered && !mapping.is_complete() {
                std::thread::yield_now();
            }
            assert!(!is_answered || mapping.candidates().len() == told, "{answers:?}");
            drop(mapping);
            let closed: &[&str] = if answers.is_some() { &["open", "close"] } else { &["open"] };
            assert_eq!(*noted.lock().unwrap(), closed, "{answers:?} {is_answered}");
        }
    }
}

#[test]
fn a_port_that_a_slow_router_still_opens_at_the_end_is_closed() {
    let (upnp, noted) = upnp(Manner::Slow);
    let mapping = Mapping { asked: vec![ask("test", upnp).unwrap()] };
    until_asked(&noted, 1);
    drop(mapping);
    assert_eq!(noted.lock().unwrap().last().unwrap(), "DeletePortMapping 20000");
}

#[test]
fn nobody_waits_for_a_router_that_is_still_searched_for() {
    // Nobody answers there.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let search = move || {
        let mut options = search();
        (options.timeout, options.single_search_timeout) = (Some(ASKING), Some(ASKING));
        (options.broadcast_address, options.bind_addr) = (at, "127.0.0.1:0".parse().unwrap());
        options
    };
    let mapping = Mapping { asked: vec![ask("test", Upnp { port: PORT, search, router: None, held: None }).unwrap()] };
    silent.recv_from(&mut [0; 1500]).unwrap();
    let began = clock::now();
    drop(mapping);
    // What it waited for otherwise.
    assert!(clock::now().since(began) < ASKING);
}

#[test]
fn a_question_that_a_router_has_not_answered_is_taken_back_by_both_protocols() {
    let (pcp, noted) = pcp_router([127, 5, 0, 6], |_| Vec::new());
    let mapping = Mapping { asked: vec![ask("test", pcp).unwrap()] };
    until_asked(&noted, 1);
    drop(mapping);
    until_asked(&noted, 3);
    let noted = noted.lock().unwrap();
    let lifetime = |at: usize, version: usize| {
        let question = noted[1..].iter().find(|question| usize::from(question[0]) == version).unwrap();
        u32::from_be_bytes(question[at..at + 4].try_into().unwrap())
    };
    assert_eq!((lifetime(4, 2), lifetime(8, 0)), (0, 0));
    assert!(
        noted[1..].iter().all(|question| question[0] != 2 || question[24..36] == noted[0][24..36]),
        "the same nonce"
    );
}

/// Behaviour of a UPnP router.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// As it should, with that address outside.
    Opens(&'static str),
    /// It knows ports for ever only.
    ForEver,
    /// Port 20000 is another machine's.
    InUse,
    /// It describes itself with bytes without an end.
    Endless,
    /// It describes itself with a million elements inside each other.
    Deep,
    /// It accepts connections and says nothing.
    Mute,
    /// It says that its description is at another machine.
    Elsewhere,
    /// It takes half a second for each action.
    Slow,
    /// It answers each action with that.
    Says(&'static str),
}

const DESCRIPTION: &str = "<?xml version=\"1.0\"?><root><device><serviceList><service>\
    <serviceType>urn:schemas-upnp-org:service:WANIPConnection:1</serviceType><SCPDURL>/scpd.xml</SCPDURL>\
    <controlURL>/control</controlURL></service></serviceList></device></root>";
const ACTIONS: [(&str, &[&str]); 3] = [
    (
        "AddPortMapping",
        &[
            "NewRemoteHost",
            "NewExternalPort",
            "NewProtocol",
            "NewInternalPort",
            "NewInternalClient",
            "NewEnabled",
            "NewPortMappingDescription",
            "NewLeaseDuration",
        ],
    ),
    ("DeletePortMapping", &["NewRemoteHost", "NewExternalPort", "NewProtocol"]),
    ("GetExternalIPAddress", &[]),
];

fn scpd() -> String {
    let action = |(name, arguments): &(&str, &[&str])| {
        let arguments: String = arguments
            .iter()
            .map(|name| format!("<argument><name>{name}</name><direction>in</direction></argument>"))
            .collect();
        format!("<action><name>{name}</name><argumentList>{arguments}</argumentList></action>")
    };
    let actions: String = ACTIONS.iter().map(action).collect();
    format!("<scpd><actionList>{actions}</actionList></scpd>")
}

fn value<'a>(body: &'a str, name: &str) -> &'a str {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    body.split_once(&open).and_then(|(_, rest)| rest.split_once(&close)).map_or("", |(value, _)| value)
}

fn soap(manner: Manner, action: &str, body: &str) -> String {
    let said = |inner: String| format!("<s:Envelope xmlns:s=\"s\"><s:Body>{inner}</s:Body></s:Envelope>");
    let error = |code: u16| {
        let error =
            format!("<UPnPError><errorCode>{code}</errorCode><errorDescription>no</errorDescription></UPnPError>");
        said(format!("<s:Fault><detail>{error}</detail></s:Fault>"))
    };
    match (manner, action) {
        (Manner::Says(text), _) => text.to_owned(),
        (Manner::ForEver, "AddPortMapping") if value(body, "NewLeaseDuration") != "0" => error(725),
        (Manner::InUse, "AddPortMapping") if value(body, "NewExternalPort") == "20000" => error(718),
        (manner, "GetExternalIPAddress") => {
            let ip = if let Manner::Opens(ip) = manner { ip } else { OUTSIDE };
            said(format!(
                "<u:{action}Response xmlns:u=\"u\"><NewExternalIPAddress>{ip}</NewExternalIPAddress></u:{action}Response>"
            ))
        }
        _ => said(format!("<u:{action}Response xmlns:u=\"u\"></u:{action}Response>")),
    }
}

/// Starts a router with UPnP on the loopback; returns where it is searched for, and the notes of what it is asked.
fn upnp_router(manner: Manner) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let search = UdpSocket::bind("127.0.0.1:0").unwrap();
    let pages = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = search.local_addr().unwrap();
    let port = pages.local_addr().unwrap().port();
    let host = if manner == Manner::Elsewhere { "127.0.0.9" } else { "127.0.0.1" };
    std::thread::spawn(move || {
        let mut question = [0; 1500];
        while let Ok((_, from)) = search.recv_from(&mut question) {
            let answer = format!("HTTP/1.1 200 OK\r\nLOCATION: http://{host}:{port}/root.xml\r\n\r\n");
            search.send_to(answer.as_bytes(), from).unwrap();
        }
    });
    let notes = Arc::clone(&noted);
    std::thread::spawn(move || {
        for stream in pages.incoming() {
            let notes = Arc::clone(&notes);
            std::thread::spawn(move || answer_page(manner, stream.unwrap(), &notes));
        }
    });
    (at, noted)
}

fn answer_page(manner: Manner, mut stream: std::net::TcpStream, notes: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        lines.push(line);
    }
    let header = |name: &str| {
        let found =
            lines.iter().find_map(|line| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)));
        found.map_or("", |(_, value)| value.trim())
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    let page = lines.first()?.split(' ').nth(1)?.to_owned();
    let answer = match (page.as_str(), manner) {
        (_, Manner::Mute) => {
            std::thread::sleep(PATIENCE);
            return None;
        }
        ("/root.xml", Manner::Endless) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n<root>").ok()?;
            loop {
                stream.write_all(&[b'x'; 4096]).ok()?;
            }
        }
        ("/root.xml", Manner::Deep) => "<a>".repeat(300_000),
        ("/root.xml", _) => DESCRIPTION.to_owned(),
        ("/scpd.xml", _) => scpd(),
        _ => {
            let action = header("soapaction").trim_matches('"').rsplit('#').next()?.to_owned();
            let port = value(&body, "NewExternalPort").to_owned();
            let note = format!("{action} {port} {}", value(&body, "NewLeaseDuration"));
            notes.lock().unwrap().push(note.trim().to_owned());
            if manner == Manner::Slow {
                std::thread::sleep(Duration::from_millis(500));
            }
            soap(manner, &action, &body)
        }
    };
    let length = answer.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{answer}").ok()
}

fn upnp(manner: Manner) -> (Upnp<impl Fn() -> SearchOptions>, Arc<Mutex<Vec<String>>>) {
    let (at, noted) = upnp_router(manner);
    let search = move || {
        let mut options = search();
        if matches!(manner, Manner::Opens(_) | Manner::ForEver | Manner::InUse | Manner::Slow) {
            (options.timeout, options.single_search_timeout) = (Some(PATIENCE), Some(PATIENCE));
        }
        options.broadcast_address = at;
        options.bind_addr = "127.0.0.1:0".parse().unwrap();
        options.allowed_gateway_ips = vec!["127.0.0.1".parse().unwrap()];
        options
    };
    (Upnp { port: PORT, search, router: None, held: None }, noted)
}

/// Finds the router and asks it, as the thread does.
fn open(opener: &mut impl Opener) -> Result<(Opened, Duration), String> {
    wait(async {
        opener.find().await?;
        opener.open().await
    })
}

fn wait<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
}

#[test]
fn a_router_opens_a_port_by_upnp_keeps_it_open_and_closes_it() {
    for (manner, leases) in [(Manner::Opens(OUTSIDE), vec!["600"]), (Manner::ForEver, vec!["600", "0"])] {
        let (mut upnp, noted) = upnp(manner);
        let mut expected = Vec::new();
        for _ in 0..2 {
            let (opened, kept) = open(&mut upnp).unwrap();
            assert_eq!((opened.at, opened.by, kept), ("11.0.1.2:20000".parse().unwrap(), "UPnP", LEASE));
            expected.extend(leases.iter().map(|lease| format!("AddPortMapping 20000 {lease}")));
            expected.push("GetExternalIPAddress".to_owned());
        }
        wait(upnp.close());
        until_asked(&noted, expected.len() + 1);
        expected.push("DeletePortMapping 20000".to_owned());
        assert_eq!(*noted.lock().unwrap(), expected, "{manner:?}");
    }
}

#[test]
fn where_the_port_is_another_machines_the_router_opens_one_beside_it() {
    let (mut upnp, noted) = upnp(Manner::InUse);
    let port = open(&mut upnp).unwrap().0.at.port();
    assert!(port != PORT && port != 0);
    assert_eq!(open(&mut upnp).unwrap().0.at.port(), port, "the next time as well");
    wait(upnp.close());
    until_asked(&noted, 6);
    assert_eq!(*noted.lock().unwrap().last().unwrap(), format!("DeletePortMapping {port}"));
}

#[test]
fn upnp_routers_that_lie_are_slow_or_flood_open_nothing() {
    for manner in
        [Manner::Endless, Manner::Deep, Manner::Mute, Manner::Elsewhere, Manner::Says(""), Manner::Says("<a>")]
    {
        let (mut upnp, noted) = upnp(manner);
        assert!(open(&mut upnp).is_err(), "{manner:?}");
        assert!(noted.lock().unwrap().len() < 2, "{manner:?}");
    }
    for ip in ["192.168.1.2", "0.0.0.0", "255.255.255.255", "127.0.0.1", "1.2.3", "", "::ffff:10.0.0.1"] {
        let (mut upnp, _) = upnp(Manner::Opens(ip));
        assert_eq!(judge(open(&mut upnp)).0, Answer::No, "{ip}");
    }
}

/// Answer of a router to a question.
type Answering = fn(&[u8]) -> Vec<u8>;

/// Questions that came.
type Questions = Arc<Mutex<Vec<Vec<u8>>>>;

/// Starts a router with PCP or NAT-PMP at `ip`; returns who asks it, and the questions.
fn pcp_router(ip: [u8; 4], answer: Answering) -> (Pcp<impl Fn() -> Option<Ipv4Addr>>, Questions) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let socket = UdpSocket::bind((Ipv4Addr::from(ip), GATEWAY_PORT)).unwrap();
    let notes = Arc::clone(&noted);
    std::thread::spawn(move || {
        let mut question = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            notes.lock().unwrap().push(question[..length].to_vec());
            let answer = answer(&question[..length]);
            if !answer.is_empty() {
                socket.send_to(&answer, from).unwrap();
            }
        }
    });
    (Pcp::new(PORT, move || Some(ip.into()), PATIENT), noted)
}

fn until_asked<T>(questions: &Mutex<Vec<T>>, count: usize) {
    while questions.lock().unwrap().len() < count {
        std::thread::yield_now();
    }
}

/// The answer of a PCP router that keeps a port open for so long.
fn by_pcp(question: &[u8], seconds: u32, ip: [u8; 4], port: u16) -> Vec<u8> {
    let mut answer = vec![2, 0x81, 0, 0];
    answer.extend(seconds.to_be_bytes());
    answer.extend([0; 16]);
    answer.extend(&question[24..42]);
    answer.extend(port.to_be_bytes());
    answer.extend([0; 10]);
    answer.extend([255, 255]);
    answer.extend(ip);
    answer
}

fn honest_pcp(question: &[u8]) -> Vec<u8> {
    let seconds = u32::from_be_bytes(question[4..8].try_into().unwrap());
    by_pcp(question, seconds, [11, 0, 1, 2], PORT)
}

fn honest_nat_pmp(question: &[u8]) -> Vec<u8> {
    match question {
        [0, 0] => vec![0, 128, 0, 0, 0, 0, 0, 1, 11, 0, 1, 2],
        [0, 1, _, _, ports @ ..] => {
            let mut answer = vec![0, 129, 0, 0, 0, 0, 0, 1];
            answer.extend(ports);
            answer
        }
        _ => vec![0, 128, 0, 1, 0, 0, 0, 1],
    }
}

#[test]
fn a_router_opens_a_port_by_pcp_keeps_it_open_and_closes_it() {
    let (mut pcp, noted) = pcp_router([127, 5, 0, 1], honest_pcp);
    for _ in 0..2 {
        let (opened, kept) = open(&mut pcp).unwrap();
        assert_eq!((opened.at, opened.by, kept), ("11.0.1.2:20000".parse().unwrap(), "PCP", LEASE));
    }
    wait(pcp.close());
    until_asked(&noted, 3);
    let noted = noted.lock().unwrap();
    let seconds: Vec<_> = noted.iter().map(|question| u32::from_be_bytes(question[4..8].try_into().unwrap())).collect();
    assert_eq!(seconds, [600, 600, 0]);
    assert!(noted.iter().all(|question| question[24..36] == noted[0][24..36]), "the router knows whose port it is");
    assert_ne!(noted[0][24..36], [0; 12]);
}

#[test]
fn a_router_that_knows_no_pcp_is_asked_by_nat_pmp() {
    let (mut pcp, noted) = pcp_router([127, 5, 0, 2], honest_nat_pmp);
    let (opened, kept) = open(&mut pcp).unwrap();
    assert_eq!((opened.at, opened.by, kept), ("11.0.1.2:20000".parse().unwrap(), "NAT-PMP", LEASE));
    wait(pcp.close());
    until_asked(&noted, 4);
    assert_eq!(
        noted.lock().unwrap().last().unwrap()[..],
        [0, 1, 0, 0, 78, 32, 0, 0, 0, 0, 0, 0],
        "port 20000 for no time"
    );
}

/// Asks again soon, and for as long as a busy machine may need.
const OFTEN: TimeoutConfig = TimeoutConfig {
    initial_timeout: Duration::from_millis(100),
    max_retries: 600,
    max_retry_timeout: Some(Duration::from_millis(100)),
};

#[test]
fn a_router_that_does_not_answer_by_the_one_is_asked_by_the_other() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let only_nat_pmp: Answering = |question| if question[0] == 2 { Vec::new() } else { honest_nat_pmp(question) };
    // It knows only PCP, but the first question is lost.
    let only_pcp: Answering = |question| match question[0] {
        2 if ASKED.fetch_add(1, Ordering::Relaxed) == 0 => Vec::new(),
        2 => honest_pcp(question),
        _ => [&[2, 0x80 | question[1], 0, 1][..], &[0; 20]].concat(),
    };
    for (ip, answer, by) in [([127, 5, 0, 4], only_nat_pmp, "NAT-PMP"), ([127, 5, 0, 5], only_pcp, "PCP")] {
        let (mut pcp, noted) = pcp_router(ip, answer);
        pcp.question = OFTEN;
        assert_eq!(open(&mut pcp).unwrap().0, Opened { at: "11.0.1.2:20000".parse().unwrap(), by });
        assert_eq!(noted.lock().unwrap()[0][0], 2, "PCP is asked first");
    }
}

#[test]
fn pcp_and_nat_pmp_routers_that_lie_or_are_silent_open_nothing() {
    let lies: [Answering; 11] = [
        // The silent one is first.
        |_| Vec::new(),
        |_| vec![2],
        |_| vec![0xff; 60],
        |_| vec![0xff; 1400],
        |question| by_pcp(question, 0, [11, 0, 1, 2], PORT),
        |question| by_pcp(question, 600, [11, 0, 1, 2], 0),
        |question| by_pcp(question, 600, [192, 168, 1, 2], PORT),
        |question| by_pcp(question, 600, [0, 0, 0, 0], PORT),
        |question| by_pcp(question, 600, [11, 0, 1, 2], PORT)[..40].to_vec(),
        |question| by_pcp(&[7; 42], 600, [11, 0, 1, 2], question[0].into()),
        |question| match honest_nat_pmp(question) {
            // It has lost its own address.
            answer if question == [0, 0] => answer[..8].to_vec(),
            answer => answer,
        },
    ];
    for (n, lie) in lies.into_iter().enumerate() {
        let (mut pcp, _) = pcp_router([127, 5, 1, n as u8], lie);
        if n == 0 {
            pcp.question = QUESTION;
        }
        assert_eq!(judge(open(&mut pcp)).0, Answer::No, "{n}");
    }
    // Years are taken for what was asked.
    let (mut pcp, _) = pcp_router([127, 5, 0, 3], |question| by_pcp(question, u32::MAX, [11, 0, 1, 2], PORT));
    for _ in 0..2 {
        assert_eq!(judge(open(&mut pcp)).1, RENEW);
    }
}
