//! Arguments that hold a secret, a ticket or words: while a program runs, every user of the machine reads its arguments.
//!
//! The program starts anew in the same process, with the same terminal, and gets all its arguments through a pipe; among those
//! that the system shows stands only what is done. Overwriting the memory of the arguments would need unsafe code.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl::set_dumpable;

use net::failure::Failure;

/// Stands between what is done and the number of the pipe's descriptor.
const MARK: &str = "--arguments-from";
/// Most bytes of arguments: what a pipe holds at least.
const BYTES_MAX: usize = 4096;

/// Returns this program's arguments with its name first, those that came through a pipe in the place of those shown.
pub(crate) fn arguments() -> Result<Vec<OsString>, Failure> {
    let shown: Vec<_> = std::env::args_os().collect();
    let Some(number) = descriptor(&shown) else { return Ok(shown) };
    let failed = |error: io::Error| Failure::usage(format!("{MARK} is for the program itself: {error}"));
    let mut bytes = Vec::new();
    let pipe = std::fs::File::open(format!("/proc/self/fd/{number}")).map_err(failed)?;
    pipe.take(BYTES_MAX as u64).read_to_end(&mut bytes).map_err(failed)?;
    let given = bytes.split(|byte| *byte == 0).map(|argument| OsString::from_vec(argument.to_vec()));
    Ok(shown.first().cloned().into_iter().chain(given).collect())
}

fn descriptor(shown: &[OsString]) -> Option<u32> {
    match shown {
        [_, _, mark, number] if mark == OsStr::new(MARK) => number.to_str()?.parse().ok(),
        _ => None,
    }
}

/// Leaves no core dump, and if a secret stands behind the command `name`, takes it out of the arguments that others see, by
/// starting anew; then it does not return.
///
/// Errors: the program cannot be started anew, or its arguments are too long for any ticket.
pub(crate) fn hide(name: &str, holds_secret: bool) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "what stands behind `{name}` cannot be hidden from other users of this machine ({error}): leave the ticket or the words \
             out, and type them when you are asked"
        ))
    };
    set_dumpable(false).map_err(|error| failed(&error))?;
    let shown: Vec<_> = std::env::args_os().collect();
    if !holds_secret || descriptor(&shown).is_some() {
        return Ok(());
    }
    let given: Vec<_> = shown.iter().skip(1).map(|argument| argument.as_bytes()).collect();
    let bytes = given.join(&0);
    if bytes.len() > BYTES_MAX {
        return Err(failed(&"the arguments are too long"));
    }
    let again = || {
        let (reader, mut writer) = io::pipe()?;
        writer.write_all(&bytes)?;
        drop(writer);
        fcntl(&reader, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let mut program = std::process::Command::new(std::env::current_exe()?);
        program.arg0(shown.first().map_or(OsStr::new("duet"), OsString::as_os_str));
        program.arg(name).arg(MARK).arg(reader.as_raw_fd().to_string());
        Err::<(), io::Error>(program.exec())
    };
    again().map_err(|error| failed(&error))
}
