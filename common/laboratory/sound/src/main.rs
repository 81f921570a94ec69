//! The command `rival-sound`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rival_sound::cli::main()
}
