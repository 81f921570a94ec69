//! The commands that both daemons do alike.

use common::config::SharedConfig;
use net::failure::Failure;
use net::reach::{PeersFile, invite, join, pair};

use crate::cli::{Command, CommonFlags, print_identity};
use crate::terminal::Terminal;
use crate::{control, handed, log};

/// Takes a ticket or words behind `command` out of what other users of this machine see, by starting the program anew in
/// this process; to be called before anything else is done. What introduces machines leaves no core dump from here on.
pub fn hide(command: &Command) -> Result<(), Failure> {
    if command.introduces() { handed::hide(command.name(), command.holds_secret()) } else { Ok(()) }
}

/// Does a command of `program` that both daemons do alike. The others, which are each daemon's own, do nothing here.
pub fn run(command: &Command, program: &str, flags: &CommonFlags, shared: &SharedConfig) -> Result<(), Failure> {
    if command.introduces() {
        log::init();
    }
    let file = || PeersFile::of(shared.file.as_deref().filter(|_| flags.config.is_some()), shared);
    match command {
        Command::Identity => print_identity(shared),
        Command::Set { settings } => control::set(program, shared, settings),
        Command::Invite { name } => invite(shared, &file()?, name.as_deref(), &Terminal),
        Command::Join { given } => join(shared, &file()?, given, &Terminal),
        Command::Pair { words, name } => pair(shared, &file()?, words, name.as_deref(), &Terminal),
        Command::Run | Command::Devices { .. } | Command::Doctor { .. } | Command::Check => Ok(()),
    }
}
