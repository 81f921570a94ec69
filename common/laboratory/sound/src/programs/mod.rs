//! Programs that carry sound, each started as its users do, with the best settings that can be made by hand.

mod duet;
mod jacktrip;
mod jamulus;
mod running;
mod zita;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Result, bail};
use faults::relay::Relay;

pub(crate) use self::duet::{Beside, start as start_duet};
pub(crate) use self::jacktrip::QUEUE_4;
pub(crate) use self::running::Running;
use crate::stage::Stage;

/// A program with its settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Program {
    /// None: the probe hears itself through JACK, which shows what the machine does.
    Alone,
    /// JackTrip, with these options.
    JackTrip { program: PathBuf, label: String, options: Vec<&'static str> },
    /// Jamulus with a server beside the one who listens.
    Jamulus,
    /// zita-njbridge.
    Zita,
    /// Duet's call, with the programs of a folder.
    Duet { folder: PathBuf },
}

/// Programs that were named.
pub(crate) struct Named<'a> {
    /// Paths of JackTrip: one program each.
    pub(crate) jacktrips: &'a [PathBuf],
    /// Folders of Duet's programs, likewise.
    pub(crate) duets: &'a [PathBuf],
}

/// Names of programs on the command line.
pub(crate) const NAMES: [&str; 7] = ["alone", "jacktrip", "jacktrip-q4r2", "jacktrip-q6r3", "jamulus", "zita", "duet"];

impl Program {
    /// Returns the programs of a name, one for each build of it.
    pub(crate) fn all(name: &str, named: &Named<'_>) -> Result<Vec<Self>> {
        let jacktrip = |options: &[&'static str]| Self::jacktrips(named, options);
        Ok(match name {
            "alone" => vec![Self::Alone],
            "jacktrip" => jacktrip(&jacktrip::AUTO)?,
            "jacktrip-q4r2" => jacktrip(&jacktrip::QUEUE_4_REDUNDANCY_2)?,
            "jacktrip-q6r3" => jacktrip(&jacktrip::QUEUE_6_REDUNDANCY_3)?,
            "jamulus" => vec![Self::Jamulus],
            "zita" => vec![Self::Zita],
            "duet" => named.duets.iter().map(|folder| Self::Duet { folder: folder.clone() }).collect(),
            other => bail!("there is no program `{other}`: there are {}", NAMES.join(", ")),
        })
    }

    /// Returns each JackTrip with these options.
    pub(crate) fn jacktrips(named: &Named<'_>, options: &[&'static str]) -> Result<Vec<Self>> {
        let program = |path: &PathBuf| {
            let label = format!("JackTrip {}", jacktrip::version(path)?);
            Ok(Self::JackTrip { program: path.clone(), label, options: options.to_vec() })
        };
        named.jacktrips.iter().map(program).collect()
    }

    /// Returns what a table calls it.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Alone => "probe alone".to_owned(),
            Self::JackTrip { label, options, .. } => format!("{label} {}", options.join(" ")),
            Self::Jamulus => "Jamulus".to_owned(),
            Self::Zita => "zita-njbridge".to_owned(),
            Self::Duet { folder } => format!("Duet of {}", folder.display()),
        }
    }

    /// Returns the sound with which it is measured: what codes or resamples is not exact to the bit.
    pub(crate) fn signal(&self) -> &'static str {
        match self {
            Self::Jamulus | Self::Zita => "smooth",
            Self::Alone | Self::JackTrip { .. } | Self::Duet { .. } => "counted",
        }
    }

    /// Returns the sound with which it is measured between two cards, where Duet resamples.
    pub(crate) fn signal_apart(&self) -> &'static str {
        if matches!(self, Self::Duet { .. }) { "smooth" } else { self.signal() }
    }

    /// Returns the reason for which it cannot be measured here, if there is one.
    pub(crate) fn lacks(&self) -> Option<String> {
        match self {
            Self::Alone => None,
            Self::JackTrip { .. } => None,
            Self::Jamulus => lacks("Jamulus", "jamulus"),
            Self::Zita => lacks("zita-j2n", "zita-njbridge"),
            Self::Duet { folder } => duet::lacks(folder),
        }
    }

    /// Starts it on a stage; `line` starts the line to where the other end listens.
    pub(crate) fn start(&self, stage: &Stage, line: &dyn Fn(SocketAddr) -> Result<Relay>) -> Result<Running> {
        match self {
            Self::Alone => Ok(Running {
                ends: vec![],
                others: vec![],
                relay: None,
                to: "^probe:in_".to_owned(),
                from: "^probe:out_".to_owned(),
            }),
            Self::JackTrip { program, options, .. } => jacktrip::start(program, options, stage, stage, line),
            Self::Jamulus => jamulus::start(stage, line),
            Self::Zita => zita::start(stage, line),
            Self::Duet { folder } => duet::start(folder, stage, stage, line, duet::SMALL),
        }
    }

    /// Starts it with the end that listens on a stage of its own.
    pub(crate) fn start_apart(
        &self,
        stages: [&Stage; 2],
        line: &dyn Fn(SocketAddr) -> Result<Relay>,
    ) -> Result<Running> {
        match self {
            Self::JackTrip { program, options, .. } => jacktrip::start(program, options, stages[0], stages[1], line),
            Self::Duet { folder } => duet::start(folder, stages[0], stages[1], line, duet::SMALL),
            _ => bail!("{} is not measured with two cards", self.label()),
        }
    }
}

fn lacks(program: &str, package: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    (!is_there).then(|| format!("there is no {program} here: apt-get install {package}"))
}
