//! The person at a machine that gets to know another one.

use tokio::sync::mpsc;

use crate::failure::Failure;

/// Way to the person at this machine, such as a terminal.
pub trait Person {
    /// Says how things are.
    fn say(&self, sentence: &str);

    /// Shows a line that is for the other musician.
    fn show(&self, line: &str);

    /// Shows a ticket, which is a line for the other musician that a camera may read, too.
    fn show_ticket(&self, ticket: &str) {
        self.show(ticket);
    }

    /// Asks for a line; it is empty where nobody answers.
    ///
    /// Errors: the line cannot be read, or is too long.
    fn ask(&self, question: &str) -> Result<String, Failure>;

    /// Returns the lines that are typed without being asked for, from here on.
    fn typed(&self) -> mpsc::Receiver<String>;
}
