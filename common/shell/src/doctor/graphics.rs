//! A graphics card that does not compute, since it has no OpenCL driver.

use std::fs;
use std::path::Path;

use super::check::{Check, Status};

/// Makers of graphics cards by their PCI numbers, with Debian's packages of OpenCL drivers.
const MAKERS: [(&str, &str, &str); 3] = [
    ("0x8086", "Intel", "intel-opencl-icd"),
    ("0x1002", "AMD", "mesa-opencl-icd"),
    ("0x10de", "NVIDIA", "nvidia-opencl-icd"),
];

/// Looks for a card that could compute; call it where the processor does, though nobody asked for that.
pub(super) fn check() -> Option<Check> {
    check_in(Path::new("/sys/class/drm"))
}

fn check_in(cards: &Path) -> Option<Check> {
    let mut entries: Vec<_> = fs::read_dir(cards).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let maker = |card: &std::path::PathBuf| {
        let number = fs::read_to_string(card.join("device/vendor")).ok()?;
        MAKERS.into_iter().find(|(known, ..)| *known == number.trim())
    };
    let (_, maker, package) = entries.iter().find_map(maker)?;
    let detail =
        format!("a graphics card by {maker} is here, and no OpenCL driver for it: the processor computes pictures");
    let advice =
        format!("install its OpenCL driver (in Debian and Ubuntu the package {package}), and start Duet again");
    Some(Check::new("graphics card", Status::Warn, detail, Some(advice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_without_a_driver_is_named_with_its_package() {
        let folder = std::env::temp_dir().join(format!("duet-graphics-{}", std::process::id()));
        assert_eq!(check_in(&folder), None, "a machine without cards");
        for (card, vendor) in [("card0", "0x1234"), ("card1", "0x8086")] {
            fs::create_dir_all(folder.join(card).join("device")).unwrap();
            fs::write(folder.join(card).join("device/vendor"), format!("{vendor}\n")).unwrap();
        }
        let check = check_in(&folder).unwrap();
        assert_eq!(check.status, Status::Warn);
        assert!(
            check.detail.contains("Intel") && check.advice.unwrap().contains("intel-opencl-icd"),
            "{}",
            check.detail
        );
        fs::write(folder.join("card1/device/vendor"), "0x1af4\n").unwrap();
        assert_eq!(check_in(&folder), None, "a virtual machine's card");
        fs::remove_dir_all(&folder).unwrap();
    }
}
