//! Destinations of statistics: a file of JSON lines, one object a second and a last one, and the metrics page.

pub mod metrics;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use common::config::SharedConfig;
use common::metrics::Metrics;
use net::failure::Failure;
use serde::Serialize;

use self::metrics::MetricsPage;
use crate::outlet::{self, Outlet};

/// The places that the configuration names.
#[derive(Debug)]
pub struct Statistics {
    file: StatsFile,
    page: Option<MetricsPage>,
}

impl Statistics {
    /// Opens the file, which goes on where it ended, and begins to serve the page, as far as they are asked for.
    pub fn open(config: &SharedConfig) -> Result<Self, Failure> {
        let file = StatsFile::append(config.stats_file.as_deref())?;
        Ok(Self { file, page: config.metrics.map(MetricsPage::serve).transpose()? })
    }

    /// Gives `report` to all of them.
    pub fn write(&mut self, report: &(impl Serialize + Metrics)) {
        self.file.write(report);
        if let Some(page) = &self.page {
            page.publish(report);
        }
    }
}

/// An open file of JSON lines, or none. The caller never waits for it: lines that its disk or reader does not take in
/// time are left out, and the log says so.
#[derive(Debug)]
pub struct StatsFile {
    open: Option<OpenStats>,
}

#[derive(Debug)]
struct OpenStats {
    outlet: Outlet,
    path: PathBuf,
    /// True if the log has said that lines are left out.
    reported: bool,
}

impl StatsFile {
    /// Creates the file at `path`, emptying an old one; without a path, lines go nowhere. `-` is standard output.
    pub fn create(path: Option<&Path>) -> Result<Self, Failure> {
        Self::open(path, outlet::create)
    }

    /// Opens the same, but goes on where the file ends.
    pub fn append(path: Option<&Path>) -> Result<Self, Failure> {
        Self::open(path, outlet::append)
    }

    fn open(path: Option<&Path>, opened: fn(&Path) -> io::Result<File>) -> Result<Self, Failure> {
        let open = |path: &Path| {
            let file = if path.as_os_str() == "-" {
                io::stdout().as_fd().try_clone_to_owned().map(Into::into)
            } else {
                opened(path)
            };
            let outlet = file
                .and_then(|file| Outlet::start("statistics", file, None))
                .map_err(|error| Failure::usage(format!("cannot write statistics to {}: {error}", path.display())))?;
            Ok::<_, Failure>(OpenStats { outlet, path: path.to_owned(), reported: false })
        };
        Ok(Self { open: path.map(open).transpose()? })
    }

    /// Appends `report` as one line, whole. A failing disk ends the file with a warning, not the daemon.
    pub fn write(&mut self, report: &impl Serialize) {
        let Some(open) = &mut self.open else { return };
        let path = open.path.display();
        if let Some(error) = open.outlet.error() {
            tracing::warn!("{path}: {error}: nothing is written to it any more");
            self.open = None;
            return;
        }
        match serde_json::to_vec(report) {
            Ok(mut line) => {
                line.push(b'\n');
                open.outlet.send(line);
            }
            Err(error) => tracing::warn!("{path}: a line cannot be written: {error}"),
        }
        if open.outlet.left_out() > 0 && !std::mem::replace(&mut open.reported, true) {
            tracing::warn!("{path}: its reader does not keep up: lines are left out");
        }
    }
}

impl Drop for OpenStats {
    fn drop(&mut self) {
        if !self.outlet.flush() {
            tracing::warn!("{}: its reader does not keep up: the last lines are left out", self.path.display());
        }
        if self.reported {
            tracing::warn!("{}: {} lines were left out in all", self.path.display(), self.outlet.left_out());
        }
    }
}
