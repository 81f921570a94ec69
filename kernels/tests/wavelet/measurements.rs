//! `devices` and `bench`: that they print what they promise, not how fast it is.

use std::fs;

use crate::support::{Folder, succeed, wavelet};

#[test]
fn devices_are_listed_for_people_and_programs() {
    let lines = succeed(&["devices"]);
    assert!(lines.lines().any(|line| line.starts_with("cpu ")), "{lines}");
    assert!(lines.lines().any(|line| line.starts_with("opencl ")), "{lines}");
    let json = succeed(&["devices", "--json"]);
    let devices: serde_json::Value = serde_json::from_str(&json).unwrap();
    let devices = devices.as_array().unwrap();
    assert_eq!(devices.len(), lines.lines().count());
    for device in devices {
        for key in ["backend", "name", "kind", "platform", "driver", "memory_bytes", "compute_units"] {
            assert!(device.get(key).is_some(), "{key} in {device}");
        }
    }
}

#[test]
fn tables_have_a_row_for_each_size() {
    let (folder, sizes) = (Folder::new("bench"), "64x48,17x31");
    let csv = folder.path("a.csv");
    for kind in ["dwt", "codec", "transfer", "overlap"] {
        let text = succeed(&["bench", kind, "--sizes", sizes, "--runs", "1", "--backend", "opencl", "--csv", &csv]);
        let table = fs::read_to_string(&csv).unwrap();
        for size in ["64x48", "17x31"] {
            assert!(text.contains(size) && table.contains(size), "{kind}: {text}");
        }
        let columns = table.lines().next().unwrap().split(',').count();
        assert!(columns > 3 && table.lines().count() > 2, "{table}");
    }
}

#[test]
fn wrong_sizes_are_refused() {
    for sizes in ["0x1", "16385x1", "big", "64x"] {
        let output = wavelet(&["bench", "dwt", "--sizes", sizes]);
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).lines().count()), (Some(2), 1));
    }
}
