//! The metrics pages of both daemons while a stream runs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::support::{Daemon, PATIENCE, PATTERN, Pair, free_address, until};

fn scrape(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    Some(body.to_owned())
}

fn value(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn both_daemons_serve_their_statistics() {
    let pair = Pair::new();
    let (sender_page, receiver_page) = (free_address(), free_address());
    let config = |name: &str, address: &str| {
        let path = pair.folder.join(name);
        std::fs::write(&path, format!("[expert]\nmetrics = \"{address}\"\n")).unwrap();
        path
    };
    let mut command = pair.receiver();
    command.arg("--config").arg(config("receiver.toml", &receiver_page));
    let receiving = Daemon::start("receiver", command.args(["--sink", "headless", "--backend", "cpu"]));
    let mut command = pair.sender();
    command.arg("--config").arg(config("sender.toml", &sender_page));
    command.args(["--source", PATTERN, "--rate", "4M", "--backend", "cpu"]);
    let sending = Daemon::start("sender", &mut command);

    let page = until("frames on the sender's page", || {
        scrape(&sender_page).filter(|page| value(page, "duet_sender_frames_sent_total").is_some_and(|sent| sent > 0.0))
    });
    assert!(value(&page, r#"duet_sender_stage_seconds{stage="code",quantile="0.5"}"#).unwrap() > 0.0, "{page}");
    assert!(page.contains("duet_sender_info{backend=\"cpu\","), "{page}");
    let page = until("pictures on the receiver's page", || {
        scrape(&receiver_page)
            .filter(|page| value(page, "duet_receiver_frames_shown_total").is_some_and(|shown| shown > 0.0))
    });
    assert!(value(&page, r#"duet_receiver_latency_seconds{quantile="0.95"}"#).unwrap() > 0.0, "{page}");

    sending.stop();
    receiving.stop();
}

#[test]
fn a_start_keeps_the_statistics_of_the_one_before() {
    let pair = Pair::new();
    for starts in 1..=2 {
        let receiving = Daemon::start("receiver", pair.receiver().args(["--sink", "headless", "--backend", "cpu"]));
        receiving.says(&["listening"]);
        receiving.stop();
        let finals = pair.folder.read("receiver.jsonl").matches("\"final\":true").count();
        assert_eq!(finals, starts);
    }
}

#[test]
fn an_address_in_use_ends_the_daemon_with_a_sentence() {
    let pair = Pair::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let path = pair.folder.join("receiver.toml");
    let address = taken.local_addr().unwrap().to_string();
    std::fs::write(&path, format!("[expert]\nmetrics = \"{address}\"\n")).unwrap();
    let mut command = pair.receiver();
    command.arg("--config").arg(path).args(["--sink", "headless", "--backend", "cpu"]);
    Daemon::start("receiver", &mut command).wait().check(4, &[&address, "[expert] metrics"]);
}
