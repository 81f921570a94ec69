//! The commands that both daemons do alike.

use common::config::SharedConfig;

use crate::cli::{Command, CommonFlags, print_identity};
use crate::exit::Failure;
use crate::reach::{PeersFile, invite, join, pair};
use crate::{control, log};

/// Does a command of `program` that both daemons do alike. The others, which are each daemon's own, do nothing here.
pub fn run(command: &Command, program: &str, flags: &CommonFlags, shared: &SharedConfig) -> Result<(), Failure> {
    if command.introduces() {
        log::init();
    }
    let file = || PeersFile::of(flags, shared);
    match command {
        Command::Identity => print_identity(shared),
        Command::Set { settings } => control::set(program, shared, settings),
        Command::Invite { name } => invite(shared, &file()?, name.as_deref()),
        Command::Join { given } => join(shared, &file()?, given),
        Command::Pair { words, name } => pair(shared, &file()?, words, name.as_deref()),
        Command::Run | Command::Devices { .. } | Command::Doctor { .. } | Command::Check => Ok(()),
    }
}
