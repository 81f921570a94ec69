//! An examination of this computer by a process of its own: drivers of graphics cards take more memory than the room does, and keep it.

use std::process::{Command, Stdio};

use common::config::SenderConfig;
use net::failure::Failure;
use sending::source::{CameraDescription, cameras};
use serde_json::Value;
use shell::cli::CommonFlags;
use shell::doctor::{self, Check, Status};

use crate::computer::mend::Mend;
use crate::facts::Finding;
use crate::files::chosen::Configuration;

/// Flag of the program that examines.
const FLAG: &str = "--examine";
/// Checks that another page tells of, whom one knows and by which key, and what only those tune who measure.
const ELSEWHERE: [&str; 4] = ["identity", "peers", "address", "tuning"];

/// Examines this computer and prints what is found, for `findings`.
pub fn examine(flags: &CommonFlags) -> Result<(), Failure> {
    let checks = match Configuration::read(flags) {
        Ok(read) => {
            let mut checks = doctor::shared(&read.config.shared);
            checks.extend(forbidden_cameras(&read.config));
            checks
        }
        Err(failure) => vec![Check::of("configuration", Err(failure))],
    };
    doctor::print(&checks, true).or(Ok(()))
}

/// Returns a check for each camera that this user may not open.
fn forbidden_cameras(config: &SenderConfig) -> Vec<Check> {
    let seen = cameras(config.size, config.frame_rate).into_iter();
    let forbidden = seen.filter(|camera| camera.is_forbidden);
    let check = |camera: CameraDescription| {
        let detail = format!("{}: this user may not open the camera", camera.name);
        let advice = "as root: usermod -aG video NAME; log in again";
        Check::new("camera", Status::Fail, detail, Some(advice.to_owned()))
    };
    forbidden.map(check).collect()
}

/// Lets a process with this one's arguments examine the computer, and returns what it has found. One that fails is a finding, too.
pub(crate) fn findings() -> Vec<Finding> {
    examined().unwrap_or_else(|failure| {
        vec![Finding { name: String::new(), status: Status::Fail, detail: failure.message, advice: None, mend: None }]
    })
}

fn examined() -> Result<Vec<Finding>, Failure> {
    let failed = |what: &str| Failure::device(format!("this computer cannot be examined: {what}"));
    let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let mut command = Command::new(program);
    let command = command.arg(FLAG).args(std::env::args_os().skip(1)).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map_err(|error| failed(&error.to_string()))?;
    parse(&output.stdout).ok_or_else(|| failed(&format!("the examination has ended with {}", output.status)))
}

/// Reads what [`examine`] prints.
fn parse(text: &[u8]) -> Option<Vec<Finding>> {
    let checks: Vec<Value> = serde_json::from_slice(text).ok()?;
    let is_shown = |check: &&Value| !ELSEWHERE.iter().any(|name| check["name"] == *name);
    let finding = |check: &Value| {
        let status = match check["status"].as_str()? {
            "ok" => Status::Ok,
            "warn" => Status::Warn,
            _ => Status::Fail,
        };
        let text = |key: &str| check[key].as_str().map(str::to_owned);
        let mend = check["name"].as_str().filter(|_| status != Status::Ok).and_then(Mend::of);
        let name = text("name").unwrap_or_default();
        Some(Finding { name, status, detail: text("detail")?, advice: text("advice"), mend })
    };
    checks.iter().filter(is_shown).map(finding).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again_without_what_another_page_tells() {
        let checks = [
            Check::new("peers", Status::Fail, "nobody", None),
            Check::new("memory", Status::Warn, "little \"memory\"", Some("buy more".to_owned())),
            Check::of("router", Err(Failure::network("it is off"))),
        ];
        let printed = serde_json::to_vec(&checks).unwrap();
        let wanted = [
            Finding {
                name: "memory".to_owned(),
                status: Status::Warn,
                detail: "little \"memory\"".to_owned(),
                advice: Some("buy more".to_owned()),
                mend: None,
            },
            Finding {
                name: "router".to_owned(),
                status: Status::Fail,
                detail: "it is off".to_owned(),
                advice: None,
                mend: None,
            },
        ];
        assert_eq!(parse(&printed).unwrap(), wanted);
        for wrong in ["", "[", "[{}]", "{}", "[{\"name\":\"x\",\"status\":\"ok\"}]"] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
