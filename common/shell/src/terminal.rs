//! The person at the terminal, to whom introductions speak.
//!
//! Tickets and words are asked for there, so that they stand in no list of arguments and in no shell's history.

use std::io::{BufRead, IsTerminal, Read};

use net::failure::Failure;
use net::reach::Person;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use tokio::sync::mpsc;

/// Most bytes of a line: more than any ticket has.
const LINE_BYTES_MAX: u64 = 4096;

/// The terminal, or the pipes and files that stand for it.
pub(crate) struct Terminal;

impl Person for Terminal {
    fn say(&self, sentence: &str) {
        eprintln!("{sentence}");
    }

    fn show(&self, line: &str) {
        println!("{line}");
    }

    fn show_ticket(&self, ticket: &str) {
        println!("{ticket}");
        if std::io::stdout().is_terminal()
            && let Some(code) = code_of(ticket)
        {
            println!("\n{code}");
        }
    }

    fn ask(&self, question: &str) -> Result<String, Failure> {
        eprintln!("{question}");
        read(&mut std::io::stdin().lock())
    }

    fn typed(&self) -> mpsc::Receiver<String> {
        let (give, lines) = mpsc::channel(4);
        // Without such a thread there are no answers.
        let _ = std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if !line.trim().is_empty() && give.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        lines
    }
}

fn read(input: &mut impl BufRead) -> Result<String, Failure> {
    let mut line = String::new();
    let read = input.take(LINE_BYTES_MAX).read_line(&mut line);
    read.map_err(|error| Failure::usage(format!("what is typed cannot be read: {error}")))?;
    if line.len() as u64 == LINE_BYTES_MAX {
        return Err(Failure::usage(
            "the line is too long: it takes the one that the other machine shows, and nothing else",
        ));
    }
    Ok(line.trim().to_owned())
}

/// Returns the ticket's QR code for a terminal: black on white, whatever its colours are; none if the ticket is too long.
fn code_of(ticket: &str) -> Option<String> {
    let code = QrCode::new(ticket).ok()?.render::<Dense1x2>().build();
    let lines = code.lines().map(|line| format!("\x1b[30;107m{line}\x1b[0m"));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use common::path::ways::{Candidate, Kind};
    use common::reach::{Purpose, Ticket};
    use net::identity::Identity;

    use super::*;

    #[test]
    fn the_code_of_the_longest_ticket_fits_a_terminal() {
        let candidate = |n| Candidate::new(Kind::HostIpv6, format!("[2001:db8::{n}]:20000").parse().unwrap()).unwrap();
        let candidates = (1..=common::path::ways::ADDRESSES_MAX).map(candidate).collect();
        let key = Identity::generate().unwrap().public_key();
        let ticket = Ticket { purpose: Purpose::Invitation, key, proof: [7; 16], expires: u64::MAX, candidates };
        let code = code_of(&ticket.to_string()).unwrap();
        assert_eq!(code.matches("\x1b[30;107m").count(), code.lines().count());
        let code = code.replace("\x1b[30;107m", "").replace("\x1b[0m", "");
        assert!(code.lines().all(|line| line.chars().count() <= 80), "{code}");
        // The frame around it, and a corner of its first square.
        let lines: Vec<Vec<char>> = code.lines().map(|line| line.chars().collect()).collect();
        assert!(lines[0].iter().all(|cell| *cell == ' ') && lines[2][4..6] == ['█', '▀'], "{code}");
    }

    /// Returns what a reader of QR codes reads in the code of a terminal; none if there is no such program here.
    fn scanned(code: &str) -> Option<String> {
        // Each sign is a light or dark point above another one; a point is four by four of the picture's.
        let rows = code.lines().flat_map(|line| {
            let line = line.replace("\x1b[30;107m", "").replace("\x1b[0m", "");
            let row = |dark: [char; 2]| -> Vec<u8> {
                line.chars().flat_map(|c| [if dark.contains(&c) { 0 } else { 255 }; 4]).collect()
            };
            let [above, below] = [row(['█', '▀']), row(['█', '▄'])];
            [above.repeat(4), below.repeat(4)]
        });
        let rows = rows.collect::<Vec<_>>();
        // Each of these is a row of points, four times.
        let width = rows.first()?.len() / 4;
        let picture = [format!("P5 {width} {} 255\n", 4 * rows.len()).into_bytes(), rows.concat()].concat();
        let path = std::env::temp_dir().join(format!("duet-ticket-{}.pgm", std::process::id()));
        std::fs::write(&path, picture).unwrap();
        let read = std::process::Command::new("zbarimg").args(["--quiet", "--raw"]).arg(&path).output();
        std::fs::remove_file(&path).unwrap();
        Some(String::from_utf8(read.ok()?.stdout).unwrap())
    }

    #[test]
    fn another_program_reads_the_ticket_in_its_code() {
        let candidate =
            |n| Candidate::new(Kind::ServerReflexive, format!("203.0.113.{n}:20000").parse().unwrap()).unwrap();
        let key = Identity::generate().unwrap().public_key();
        for count in [1, common::path::ways::ADDRESSES_MAX as u8] {
            let candidates = (1..=count).map(candidate).collect();
            let ticket =
                Ticket { purpose: Purpose::Invitation, key, proof: [7; 16], expires: 1_800_000_000, candidates };
            let Some(text) = scanned(&code_of(&ticket.to_string()).unwrap()) else {
                // The list of what `make test` could not check.
                let skipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/skipped");
                let note = "the QR code of a ticket: there is no zbarimg here, of the package zbar-tools";
                assert!(std::process::Command::new(skipped).args(["note", note]).status().unwrap().success());
                return;
            };
            assert_eq!(text.trim(), ticket.to_string());
        }
    }

    #[test]
    fn one_line_is_read_and_no_more() {
        let mut input = &b" duet-ticket-A \nan answer\n"[..];
        assert_eq!(read(&mut input), Ok("duet-ticket-A".to_owned()));
        assert_eq!(input, b"an answer\n", "what comes later is for whoever reads it then");
        assert_eq!(read(&mut &b"no newline"[..]), Ok("no newline".to_owned()));
        assert_eq!(read(&mut &b""[..]), Ok(String::new()));
        assert!(read(&mut &b"\xff\n"[..]).is_err());
        assert!(read(&mut std::io::BufReader::new(std::io::repeat(b'a'))).unwrap_err().message.contains("too long"));
    }
}
