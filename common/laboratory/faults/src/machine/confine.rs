//! A real limit on a daemon's memory, as `MemoryMax` in a unit sets it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes that a daemon may have.
pub(crate) const MEMORY_MAX: u64 = 512 << 20;

/// Enters the control group whose file is the first argument and becomes the program that the others name.
const ENTER: &str = "echo $$ > \"$0\" && exec \"$@\"";

/// A control group that kills a process that takes more than [`MEMORY_MAX`]; where none can be made, a limit on data
/// (`prlimit`), at which an allocation fails.
#[derive(Debug)]
pub(crate) struct Confinement {
    group: Option<PathBuf>,
}

impl Confinement {
    /// Creates a limit for the daemon `name`.
    pub(crate) fn new(name: &str) -> Self {
        let own = format!("duet-faults-{}-{name}", std::process::id());
        let places = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let group = places.into_iter().find_map(|(root, limit)| {
            let group = Path::new(root).join(&own);
            // Without the file of the limit the group is none of this kind.
            std::fs::metadata(Path::new(root).join("cgroup.procs")).ok()?;
            std::fs::create_dir(&group).ok()?;
            let limited =
                group.join(limit).is_file() && std::fs::write(group.join(limit), MEMORY_MAX.to_string()).is_ok();
            if !limited {
                let _ = std::fs::remove_dir(&group);
            }
            limited.then_some(group)
        });
        Self { group }
    }

    /// Returns the command that starts `program`.
    pub(crate) fn command(&self, program: &Path) -> Command {
        match &self.group {
            Some(group) => {
                let mut command = Command::new("sh");
                command.args(["-c", ENTER]).arg(group.join("cgroup.procs")).arg(program);
                command
            }
            None => {
                let mut command = Command::new("prlimit");
                command.arg(format!("--data={MEMORY_MAX}")).arg(program);
                command
            }
        }
    }

    /// Returns the name of the limit.
    pub(crate) fn kind(&self) -> &'static str {
        if self.group.is_some() { "512 MB by a control group" } else { "512 MB of data by prlimit" }
    }
}

impl Drop for Confinement {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            // Empty by now: a daemon is killed and waited for before.
            let _ = std::fs::remove_dir(group);
        }
    }
}
