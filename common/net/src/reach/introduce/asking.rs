//! Lines that a person types when asked: tickets and words, which so stand in no list of arguments and in no shell's history.

use std::io::{BufRead, Read};

use super::super::peers::NAME_MAX;
use crate::failure::Failure;

/// Most bytes of a line: more than any ticket has.
const LINE_BYTES_MAX: u64 = 4096;

/// Returns the ticket and the name that stand behind `join`, if they do. A word alone is a name, unless it begins as a ticket
/// does or is too long for one.
pub(super) fn ticket_and_name(given: &[String]) -> (Option<&str>, Option<&str>) {
    let is_ticket = |text: &str| {
        let text = text.trim_start();
        text.starts_with("duet-") || text.chars().count() > NAME_MAX
    };
    match given {
        [] => (None, None),
        [ticket] if is_ticket(ticket) => (Some(ticket), None),
        [name] => (None, Some(name)),
        [ticket, name, ..] => (Some(ticket), Some(name)),
    }
}

/// Asks for a line on the terminal, or reads it from the pipe or file that stands for it; it is empty where there is none.
pub(super) fn line(question: &str) -> Result<String, Failure> {
    eprintln!("{question}");
    read(&mut std::io::stdin().lock())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_join_a_ticket_may_stand_and_a_name() {
        let given = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            let (ticket, name) = ticket_and_name(&words);
            (ticket.map(str::to_owned), name.map(str::to_owned))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(given(&[]), (None, None));
        assert_eq!(given(&["robert"]), (None, some("robert")));
        assert_eq!(given(&["duet-ticket-A"]), (some("duet-ticket-A"), None));
        assert_eq!(given(&[&"x".repeat(33)]), (some(&"x".repeat(33)), None));
        assert_eq!(given(&["hello", "robert"]), (some("hello"), some("robert")));
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
