//! Faults of this computer that the program can mend, as an administrator, who is asked by the desktop (`pkexec`).

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use net::failure::Failure;

/// Name of the program that asks for an administrator.
const ASKS: &str = "pkexec";
/// The same limits and buffers as the package brings.
const LIMITS: &str = include_str!("../../../../config/package/25-duet.conf");
const BUFFERS: &str = include_str!("../../../../config/package/60-duet.conf");
/// Exit codes of `pkexec` where nobody has agreed.
const REFUSED: [i32; 2] = [126, 127];

/// Something that can be mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// The user may open cameras.
    Cameras,
    /// Sound may have real-time priority.
    RealTime,
    /// A frame's burst fits into socket buffers.
    Buffers,
    /// The time of day is set by servers.
    Clock,
}

impl Mend {
    /// Returns what mends a check of that name that is not well, if this computer can ask for an administrator.
    pub(crate) fn of(check: &str) -> Option<Self> {
        let mend = match check {
            "camera" => Self::Cameras,
            "real-time priority" => Self::RealTime,
            "socket buffers" => Self::Buffers,
            "clock" => Self::Clock,
            _ => return None,
        };
        program(ASKS).map(|_| mend)
    }

    /// Returns the key of the sentence that says what was done and what is still to be done.
    pub(crate) fn done(self) -> &'static str {
        match self {
            Self::Cameras | Self::RealTime => "mended-login",
            Self::Buffers | Self::Clock => "mended",
        }
    }

    /// Returns the words of the command that mends it for `user`.
    fn words(self, user: &str) -> Vec<String> {
        let shell =
            |script: String| vec!["/bin/sh".to_owned(), "-c".to_owned(), script, "duet".to_owned(), user.to_owned()];
        let write = |text: &str, path: &str| format!("set -e\ncat >{path} <<'END'\n{text}END\n");
        match self {
            Self::Cameras => ["usermod", "-aG", "video", user].map(str::to_owned).into(),
            Self::RealTime => shell(format!(
                "{}getent group audio >/dev/null || groupadd -r audio\nusermod -aG audio \"$1\"\n",
                write(LIMITS, "/etc/security/limits.d/25-duet.conf")
            )),
            Self::Buffers => {
                let path = "/etc/sysctl.d/60-duet.conf";
                shell(format!("{}sysctl -q -p {path}\n", write(BUFFERS, path)))
            }
            Self::Clock => ["timedatectl", "set-ntp", "true"].map(str::to_owned).into(),
        }
    }

    /// Mends it; waits for the administrator. An error says why nothing was changed.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let told = Command::new("id").arg("-un").output();
        let user = told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned()).unwrap_or_default();
        if user.is_empty() {
            return Err(Failure::usage("this user has no name"));
        }
        run(program(ASKS).unwrap_or_else(|| ASKS.into()).as_os_str(), &self.words(&user))
    }
}

fn run(asks: &OsStr, words: &[String]) -> Result<(), Failure> {
    let mut command = Command::new(asks);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().map_err(|error| Failure::device(format!("`{ASKS}` cannot be started: {error}")))?;
    match output.status.code() {
        Some(0) => Ok(()),
        Some(code) if REFUSED.contains(&code) => Err(Failure::usage(NOBODY_AGREED)),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(Failure::device(format!("{}: {}", output.status, net::quoted::Quoted(line))))
        }
    }
}

/// Said where the administrator does not agree.
pub(crate) const NOBODY_AGREED: &str = "nothing was changed: no administrator has agreed";

/// Returns the path of a program that can be started by its name.
fn program(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let can_start =
        |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(can_start)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use std::fs;

    use super::*;

    /// A stand-in for what asks: it notes its words, says something and ends with `code`.
    fn asking(folder: &std::path::Path, code: i32) -> PathBuf {
        let path = folder.join(format!("asks-{code}"));
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >{}/words\necho 'no such group' >&2\nexit {code}\n",
            folder.display()
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn an_administrator_is_asked_and_whoever_does_not_agree_changes_nothing() {
        let folder = std::env::temp_dir().join(format!("duet-mend-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let words = Mend::Cameras.words("clara");
        assert_eq!(run(asking(&folder, 0).as_os_str(), &words), Ok(()));
        assert_eq!(fs::read_to_string(folder.join("words")).unwrap(), "usermod\n-aG\nvideo\nclara\n");
        for code in REFUSED {
            assert_eq!(run(asking(&folder, code).as_os_str(), &words).unwrap_err().message, NOBODY_AGREED);
        }
        let failed = run(asking(&folder, 6).as_os_str(), &words).unwrap_err().message;
        assert!(failed.contains("no such group") && failed.contains('6'), "{failed}");
        let absent = run(folder.join("absent").as_os_str(), &words).unwrap_err().message;
        assert!(absent.contains("cannot be started"), "{absent}");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// The scripts run, with commands that only say what they would do.
    #[test]
    fn scripts_write_what_the_package_brings() {
        let folder = std::env::temp_dir().join(format!("duet-mend-scripts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (mend, file, wanted) in [
            (Mend::RealTime, "/etc/security/limits.d/25-duet.conf", "@audio - rtprio 20"),
            (Mend::Buffers, "/etc/sysctl.d/60-duet.conf", "net.core.rmem_max = 8388608"),
        ] {
            let mut words = mend.words("clara");
            let written = folder.join("written");
            words[2] = words[2].replace(file, written.to_str().unwrap());
            words[2].insert_str(0, "usermod() { echo \"$@\" >>\"$0.did\"; }\nsysctl() { :; }\n");
            words[3] = folder.join("duet").display().to_string();
            assert!(Command::new(&words[0]).args(&words[1..]).status().unwrap().success(), "{words:?}");
            assert!(fs::read_to_string(&written).unwrap().contains(wanted), "{mend:?}");
        }
        assert_eq!(fs::read_to_string(folder.join("duet.did")).unwrap(), "-aG audio clara\n");
        fs::remove_dir_all(&folder).unwrap();
    }
}
