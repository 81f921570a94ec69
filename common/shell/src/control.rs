//! Settings during the call: `set KEY=VALUE` over a Unix socket that is the user's own.
//!
//! A request is one line, `KEY=VALUE`; the answer is one line, `ok` or `no` and a sentence. The socket and its folder are
//! the user's by their rights, and who calls must be the user or root by the kernel's word.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::config::SharedConfig;
use net::failure::Failure;
use net::identity::Identity;
use net::quoted::Quoted;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use net::limited;

/// Longest time for one caller's line and the answer to it.
const CALL_MAX: Duration = Duration::from_secs(2);
/// Longest line, bytes.
const LINE_MAX: u64 = 1024;
/// Pause after a call could not be taken, which happens when the process has no file handle left.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Takes a value: returns a sentence about what holds now, or nothing if the setting does not take it.
pub type Set = Box<dyn Fn(&str) -> Option<String> + Send>;

/// A setting that can be changed during the call.
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// The values that it takes, for messages.
    pub takes: String,
    /// Sets it.
    pub set: Set,
}

/// A socket at which settings are taken; it goes with its value.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    has_ended: Arc<AtomicBool>,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        // The thread that waits for callers ends with this one. A folder that has gone has taken the socket along.
        let _ = UnixStream::connect(&self.path);
        let _ = fs::remove_file(&self.path);
    }
}

/// Begins to take settings for `program`. Nothing but them depends on it: what does not work is told.
pub fn serve(program: &str, config: &SharedConfig, settings: Vec<Setting>) -> Option<Control> {
    let (control, listener, user) = match open(program, config) {
        Ok(opened) => opened,
        Err(why) => {
            tracing::info!("nothing can be set during the call: {why}");
            return None;
        }
    };
    let (program, has_ended) = (program.to_owned(), Arc::clone(&control.has_ended));
    let body = move || {
        loop {
            let called = listener.accept();
            if has_ended.load(Ordering::Relaxed) {
                return;
            }
            match called {
                Ok((stream, _)) => answer(&stream, user, &program, &settings),
                Err(_) => thread::sleep(ACCEPT_RETRY),
            }
        }
    };
    match thread::Builder::new().name("control".to_owned()).spawn(body) {
        Ok(_) => Some(control),
        Err(error) => {
            tracing::info!("nothing can be set during the call: {error}");
            None
        }
    }
}

/// Returns the socket of `program`: in the user's folder for such things, or beside the key.
fn place(program: &str, config: &SharedConfig) -> Result<PathBuf, Failure> {
    let name = format!("{program}.sock");
    Ok(match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => Path::new(&folder).join("duet").join(name),
        None => Identity::path_of(config)?.with_file_name(name),
    })
}

fn open(program: &str, config: &SharedConfig) -> Result<(Control, UnixListener, u32), String> {
    let path = place(program, config).map_err(|failure| failure.message)?;
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    if UnixStream::connect(&path).is_ok() {
        return Err(format!("another {program} has {}", path.display()));
    }
    // One that a killed program has left. What is no socket stays, and is in the way.
    if fs::symlink_metadata(&path).is_ok_and(|there| there.file_type().is_socket()) {
        fs::remove_file(&path).map_err(failed)?;
    }
    let listener = UnixListener::bind(&path).map_err(failed)?;
    let control = Control { path: path.clone(), has_ended: Arc::default() };
    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
    let user = fs::metadata(&path).map_err(failed)?.uid();
    Ok((control, listener, user))
}

fn answer(stream: &UnixStream, user: u32, program: &str, settings: &[Setting]) {
    // Root may do so anyway.
    let caller = getsockopt(stream, PeerCredentials).map(|caller| caller.uid());
    if !caller.is_ok_and(|uid| uid == user || uid == 0) {
        limited!(warn, "another user has tried to set something here and got no answer");
        return;
    }
    let limits = [stream.set_read_timeout(Some(CALL_MAX)), stream.set_write_timeout(Some(CALL_MAX))];
    let mut line = String::new();
    let read = BufReader::new(stream.take(LINE_MAX)).read_line(&mut line);
    if limits.iter().any(Result::is_err) || read.is_err() {
        return;
    }
    let answer = match apply(line.trim_end(), program, settings) {
        Ok(now) => format!("ok {now}\n"),
        Err(why) => format!("no {why}\n"),
    };
    let mut stream = stream;
    // Whoever has gone does not care.
    let _ = stream.write_all(answer.as_bytes());
}

/// Returns the sentence for a line: what holds now, or what would be right.
fn apply(line: &str, program: &str, settings: &[Setting]) -> Result<String, String> {
    let keys = || {
        let keys: Vec<_> = settings.iter().map(|setting| format!("{} ({})", setting.key, setting.takes)).collect();
        keys.join(", ")
    };
    let Some((key, value)) = line.split_once('=') else {
        return Err(format!("{} is no KEY=VALUE: a {program} takes {}", Quoted(line), keys()));
    };
    let Some(setting) = settings.iter().find(|setting| setting.key == key.trim()) else {
        return Err(format!("{} cannot be set during the call, only {}", Quoted(key), keys()));
    };
    let refused = || format!("{} takes {}, not {}", setting.key, setting.takes, Quoted(value));
    (setting.set)(value.trim()).ok_or_else(refused)
}

/// Asks the running `program` of this user for `wish`, `KEY=VALUE`; false if none runs.
pub fn ask_running(program: &str, config: &SharedConfig, wish: &str) -> bool {
    place(program, config).is_ok_and(|path| ask(&path, wish).is_ok_and(|said| said.starts_with("ok ")))
}

/// Asks the running `program` for each of `wishes`, `KEY=VALUE`, and prints what holds then: the command `set`.
pub fn set(program: &str, config: &SharedConfig, wishes: &[String]) -> Result<(), Failure> {
    let path = place(program, config)?;
    for wish in wishes {
        let said = ask(&path, wish).map_err(|error| {
            let path = path.display();
            Failure::usage(match error.kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    let instead = running_instead_of(program, config).map(|other| {
                        let call = if other == "sender" { ", as in a call" } else { "" };
                        format!(", but a {other} does{call}: try `{other} set {wish}`")
                    });
                    format!(
                        "no {program} of this user runs here{}",
                        instead.unwrap_or_else(|| format!(": nobody answers at {path}"))
                    )
                }
                ErrorKind::PermissionDenied => {
                    format!("{path} belongs to another user: only the one whose {program} it is may set something")
                }
                _ => format!("the {program} at {path} does not answer: {error}"),
            })
        })?;
        match said.trim_end().split_once(' ') {
            Some(("ok", now)) => println!("{now}"),
            Some(("no", why)) => return Err(Failure::usage(why)),
            _ => return Err(Failure::usage(format!("the {program} at {} gives no answer", path.display()))),
        }
    }
    Ok(())
}

/// Returns the other of both programs if it takes settings here: a call is a sender that takes those of a receiver, too.
fn running_instead_of(program: &str, config: &SharedConfig) -> Option<&'static str> {
    let other = ["sender", "receiver"].into_iter().find(|other| *other != program)?;
    UnixStream::connect(place(other, config).ok()?).ok().map(|_| other)
}

fn ask(path: &Path, wish: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(2 * CALL_MAX))?;
    stream.write_all(format!("{}\n", wish.replace('\n', " ")).as_bytes())?;
    let mut said = String::new();
    stream.take(2 * LINE_MAX).read_to_string(&mut said)?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Vec<Setting> {
        let set = Box::new(|value: &str| value.parse::<u8>().ok().map(|value| format!("it is {value}")));
        vec![Setting { key: "rate", takes: "0 to 255".to_owned(), set }]
    }

    #[test]
    fn a_wrong_key_or_value_is_answered_with_what_is_right() {
        let apply = |line: &str| apply(line, "sender", &settings());
        assert_eq!(apply("rate=7"), Ok("it is 7".to_owned()));
        assert_eq!(apply(" rate = 8 "), Ok("it is 8".to_owned()));
        for (line, words) in [
            ("rate=300", "rate takes 0 to 255, not \"300\""),
            ("size=1x1", "\"size\" cannot be set during the call, only rate (0 to 255)"),
            ("rate", "\"rate\" is no KEY=VALUE: a sender takes rate (0 to 255)"),
            ("", "\"\" is no KEY=VALUE"),
        ] {
            let why = apply(line).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
