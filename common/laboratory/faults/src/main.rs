//! The command `faults`.

use std::process::ExitCode;

fn main() -> ExitCode {
    faults::cli::main()
}
