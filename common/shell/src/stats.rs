//! Where statistics go: a file of JSON lines, one object a second and a last one, and the metrics page.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use common::config::SharedConfig;
use common::metrics::Metrics;
use serde::Serialize;

use crate::exit::Failure;
use crate::metrics::MetricsPage;

/// The places that the configuration names.
#[derive(Debug)]
pub struct Statistics {
    file: StatsFile,
    page: Option<MetricsPage>,
}

impl Statistics {
    /// Creates the file and begins to serve the page, as far as they are asked for.
    pub fn open(config: &SharedConfig) -> Result<Self, Failure> {
        let file = StatsFile::create(config.stats_file.as_deref())?;
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

/// An open file of JSON lines, or none.
#[derive(Debug)]
pub struct StatsFile {
    file: Option<File>,
}

impl StatsFile {
    /// Creates the file at `path`, emptying an old one; without a path, lines go nowhere. `-` is standard output.
    pub fn create(path: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| {
            let path = if path.as_os_str() == "-" { Path::new("/dev/stdout") } else { path };
            File::create(path)
                .map_err(|error| Failure::usage(format!("cannot write statistics to {}: {error}", path.display())))
        };
        Ok(Self { file: path.map(open).transpose()? })
    }

    /// Appends `report` as one line, whole. A failing disk ends the file with a warning, not the daemon.
    pub fn write(&mut self, report: &impl Serialize) {
        let Some(file) = &mut self.file else { return };
        let line = serde_json::to_vec(report).map_err(std::io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            file.write_all(&line)
        });
        if let Err(error) = line {
            tracing::warn!(%error, "statistics are no longer written");
            self.file = None;
        }
    }
}
