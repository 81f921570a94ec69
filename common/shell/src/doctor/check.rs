//! One finding of `doctor`.

use net::failure::Failure;
use serde::Serialize;

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Works, but not as well as it could.
    Warn,
    /// Streaming will not work.
    Fail,
}

/// One thing checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// Outcome.
    pub status: Status,
    /// The finding.
    pub detail: String,
    /// Advice, if there is any.
    pub advice: Option<String>,
    /// Failure with which a run would end.
    #[serde(skip)]
    pub failure: Option<Failure>,
}

impl Check {
    /// Creates the outcome of one check.
    pub fn new(name: &'static str, status: Status, detail: impl Into<String>, advice: Option<String>) -> Self {
        Self { name, status, detail: detail.into(), advice, failure: None }
    }

    /// Creates the outcome of something that a run does, too.
    pub fn of(name: &'static str, result: Result<String, Failure>) -> Self {
        match result {
            Ok(detail) => Self::new(name, Status::Ok, detail, None),
            Err(failure) => {
                let detail = failure.message.clone();
                Self { failure: Some(failure), ..Self::new(name, Status::Fail, detail, None) }
            }
        }
    }
}
