//! The desktop program.

#![forbid(unsafe_code)]

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use clap::Parser;
use net::failure::Failure;
use shell::cli::CommonFlags;
use shell::exit::report;
use shell::signals;

/// Duet's window: the people you know, and calls with them. With a link it joins whoever made that.
#[derive(Debug, Parser)]
#[command(name = "duet", version)]
struct Cli {
    /// Link from the other musician: duet:...
    link: Option<String>,
    /// Print what this computer lacks, for the window.
    #[arg(long, hide = true)]
    examine: bool,
    /// Flags of the daemons, too.
    #[command(flatten)]
    common: CommonFlags,
}

/// Setting of the C library's allocator, which it reads when a program starts: blocks of so many bytes go back as soon as they are freed.
/// By default that number grows with the pictures of a call, and from call to call more is kept between what lives longer.
const ALLOCATOR: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "262144");

/// Starts the program anew with [`ALLOCATOR`], in place of itself. Returns if it is set, or if that cannot be done.
fn set_allocator() {
    let (key, value) = ALLOCATOR;
    let mut words = env::args_os();
    if let (None, Ok(program), Some(name)) = (env::var_os(key), env::current_exe(), words.next()) {
        let _ = Command::new(program).arg0(name).args(words).env(key, value).exec();
    }
}

fn main() -> ExitCode {
    set_allocator();
    let parsed = signals::take_over().and_then(|()| shell::cli::parse::<Cli>());
    report("duet", parsed.and_then(|cli| start(&cli)))
}

fn start(cli: &Cli) -> Result<(), Failure> {
    shell::log::init();
    signals::serve();
    if cli.examine {
        return room::examine(&cli.common);
    }
    room::run(cli.common.clone(), cli.link.as_deref())
}
