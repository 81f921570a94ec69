//! Words that stand behind `join`: a ticket, a name, or both.

use common::reach::{NAME_MAX, Ticket};

/// Returns the ticket and the name that stand behind `join`, if they do. A word alone is a name, unless it begins as a ticket
/// does or is too long for one.
pub(super) fn ticket_and_name(given: &[String]) -> (Option<&str>, Option<&str>) {
    let is_ticket = |text: &str| Ticket::is_begun_by(text) || text.chars().count() > NAME_MAX;
    match given {
        [] => (None, None),
        [ticket] if is_ticket(ticket) => (Some(ticket), None),
        [name] => (None, Some(name)),
        [ticket, name, ..] => (Some(ticket), Some(name)),
    }
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
        assert_eq!(given(&["Duet:x"]), (some("Duet:x"), None));
        assert_eq!(given(&[&"x".repeat(33)]), (some(&"x".repeat(33)), None));
        assert_eq!(given(&["hello", "robert"]), (some("hello"), some("robert")));
    }
}
