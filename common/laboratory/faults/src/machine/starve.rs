//! A share of one processor for some threads of a daemon, by a control group. Needs root.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The group's share.
pub(crate) const SHARE: f64 = 0.2;
/// Time in which the group has used up its share, microseconds: short, so that it is slow rather than stopped now and
/// then.
const PERIOD_US: u32 = 10_000;
/// Folder of Linux's control groups; version 1 keeps each kind in a folder of its own.
const GROUPS: &str = "/sys/fs/cgroup";

/// Threads that are starved while this value lives.
pub(crate) struct Starved {
    group: PathBuf,
    /// The file of the group above that takes them back.
    above: PathBuf,
    threads: Vec<u32>,
}

impl Starved {
    /// Starves all threads of a process but its main one and those called `spared`.
    pub(crate) fn begin(process: u32, spared: &str) -> Result<Self> {
        let name = format!("duet-starved-{process}");
        let first = Path::new(GROUPS).join("cpu");
        let is_first = first.is_dir();
        let group = if is_first { first.join(name) } else { Path::new(GROUPS).join(name) };
        let (members, above) =
            if is_first { ("tasks", first.join("tasks")) } else { ("cgroup.threads", group.join("cgroup.procs")) };
        let write = |file: &Path, text: String| {
            std::fs::write(file, text).with_context(|| format!("cannot starve threads: {}", file.display()))
        };
        let make = |folder: &Path| {
            std::fs::create_dir(folder).with_context(|| format!("cannot starve threads: {}", folder.display()))
        };
        make(&group)?;
        let quota = (f64::from(PERIOD_US) * SHARE) as u32;
        let (group, above) = if is_first {
            write(&group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
            write(&group.join("cpu.cfs_quota_us"), quota.to_string())?;
            (group, above)
        } else {
            // Version 2 tells threads apart only below a group that holds the whole process.
            write(&Path::new(GROUPS).join("cgroup.subtree_control"), "+cpu".to_owned())?;
            write(&above, process.to_string())?;
            let threads = group.join("threads");
            make(&threads)?;
            write(&threads.join("cgroup.type"), "threaded".to_owned())?;
            write(&group.join("cgroup.subtree_control"), "+cpu".to_owned())?;
            write(&threads.join("cpu.max"), format!("{quota} {PERIOD_US}"))?;
            (threads, group.join("cgroup.threads"))
        };
        let mut starved = Self { group, above, threads: Vec::new() };
        for thread in std::fs::read_dir(format!("/proc/{process}/task"))?.flatten() {
            let Some(id) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let called = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
            if id != process && called.trim() != spared {
                write(&starved.group.join(members), u32::to_string(&id))?;
                starved.threads.push(id);
            }
        }
        Ok(starved)
    }
}

impl Drop for Starved {
    fn drop(&mut self) {
        // A thread or the whole process may have ended; then it is no member any more.
        for id in &self.threads {
            let _ = std::fs::write(&self.above, id.to_string());
        }
        let _ = std::fs::remove_dir(&self.group);
        if self.group.ends_with("threads") {
            let group = self.group.parent().unwrap_or(&self.group);
            let members = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            for process in members.lines() {
                let _ = std::fs::write(Path::new(GROUPS).join("cgroup.procs"), process);
            }
            let _ = std::fs::remove_dir(group);
        }
    }
}
