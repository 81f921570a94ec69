//! The cameras of this machine.

use net::failure::Failure;
use picture::frame::{FrameRate, FrameSize};

use super::modes::{self, Chosen, Offer};
use super::problem::CameraError;
use super::taking::device;

/// A camera and what it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameraDescription {
    /// Number to give as `camera:index=N`.
    pub index: u32,
    /// The name it gives itself.
    pub name: String,
    /// Formats, sizes and rates that it offers.
    pub offers: Vec<Offer>,
    /// The mode that a run takes which asks for no camera's size, or for the configured one.
    pub chosen: Option<Chosen>,
    /// Reason for which it cannot be used.
    pub problem: Option<String>,
    /// True if that is that this user may not.
    pub is_forbidden: bool,
}

/// Returns the cameras of this machine, by number, with what each gives who asks for `size` and `rate`.
pub fn cameras(size: Option<FrameSize>, rate: Option<FrameRate>) -> Vec<CameraDescription> {
    numbers().into_iter().filter_map(|index| describe(index, size, rate)).collect()
}

/// Returns the numbers of all video devices. Links that have a name instead of one lead to one of these.
fn numbers() -> Vec<u32> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let mut numbers: Vec<_> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    numbers
}

fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("video")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Returns what a device is; none: no camera.
fn describe(index: u32, size: Option<FrameSize>, rate: Option<FrameRate>) -> Option<CameraDescription> {
    let (device, name) = match device(index) {
        Ok(opened) => opened,
        Err(CameraError::NoCamera(_) | CameraError::Missing) => return None,
        Err(error) => {
            let (name, problem) = (name_of(index), Some(error.to_string()));
            let is_forbidden = matches!(error, CameraError::Forbidden);
            return Some(CameraDescription { index, name, offers: Vec::new(), chosen: None, problem, is_forbidden });
        }
    };
    let wanted = size.unwrap_or(FrameSize::USUAL);
    let offers = modes::offers(&device, wanted);
    let problem = match &offers {
        Err(error) => Some(error.to_string()),
        Ok(offers) if offers.iter().any(Offer::is_known) => None,
        Ok(offers) => Some(CameraError::Formats(modes::codes(offers)).to_string()),
    };
    let mut offers = offers.unwrap_or_default();
    let order = |offer: &Offer| {
        let size = offer.size_near(wanted).map_or(0, FrameSize::pixels);
        (offer.format(), std::cmp::Reverse((size, offer.rate_most().interval())))
    };
    offers.sort_by_cached_key(order);
    let chosen = modes::choose(&offers, size, rate);
    Some(CameraDescription { index, name, offers, chosen, problem, is_forbidden: false })
}

/// Returns the system's name of a camera that does not say its own.
fn name_of(index: u32) -> String {
    let name = std::fs::read_to_string(format!("/sys/class/video4linux/video{index}/name"));
    name.map_or_else(|_| format!("/dev/video{index}"), |name| name.trim().to_owned())
}

/// Returns the failure of a camera that does not open.
pub(super) fn failure(index: u32, error: &CameraError) -> Failure {
    match error {
        CameraError::Missing | CameraError::NoCamera(_) => {
            let there: Vec<_> = cameras(None, None).iter().map(|camera| camera.index.to_string()).collect();
            match (error, there.as_slice()) {
                (CameraError::Missing, []) => {
                    Failure::device("there is no camera: connect one, or use another source such as --source pattern")
                }
                (_, []) => Failure::device(format!("camera {index}: {error}; there is no other")),
                (CameraError::Missing, there) => {
                    Failure::device(format!("there is no camera {index}: the cameras here are {}", there.join(", ")))
                }
                (_, there) => {
                    Failure::device(format!("camera {index}: {error}; the cameras here are {}", there.join(", ")))
                }
            }
        }
        CameraError::Sizes(..) => Failure::usage(format!("camera {index} {error}")),
        error => Failure::device(format!("camera {index} cannot be opened: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_numbers() {
        let names = ["video0", "video17", "video", "video-desk", "video0a", "video99999999999", "vide0", "video+1"];
        assert_eq!(names.map(number), [Some(0), Some(17), None, None, None, None, None, None]);
    }
}
