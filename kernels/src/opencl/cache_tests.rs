use super::*;
use crate::{Backend, DeviceKind};

/// A folder that disappears with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("duet-tuning-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn device() -> DeviceInfo {
    DeviceInfo {
        backend: Backend::Opencl,
        name: "Fast Card (R) 9000".to_owned(),
        platform: "Platform \"quoted\"\n".to_owned(),
        driver: "1.2".to_owned(),
        kind: DeviceKind::Gpu,
        memory_bytes: 1 << 30,
        compute_units: 12,
    }
}

fn settings() -> Tuning {
    Tuning { strip: 252, min_segment: 7, ..Tuning::default_for(DeviceKind::Gpu) }
}

#[test]
fn what_is_written_is_read() {
    let folder = Folder::new("round");
    let path = folder.0.join("new").join(file_name(&device()));
    assert_eq!(read_from(&path, &device()), Err(NotUsed::Absent(path.clone())));
    write_to(&path, &device(), &Tuning::default_for(DeviceKind::Gpu)).unwrap();
    write_to(&path, &device(), &settings()).unwrap();
    assert_eq!(read_from(&path, &device()), Ok(settings()));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "something unfinished is left");
    assert!(path.ends_with("tuning-fast-card--r--9000.toml"), "{}", path.display());
}

#[test]
fn settings_of_another_driver_or_device_are_out_of_date() {
    let folder = Folder::new("stale");
    let path = folder.0.join("t.toml");
    write_to(&path, &device(), &settings()).unwrap();
    for (changed, what) in [
        (DeviceInfo { driver: "1.3".to_owned(), ..device() }, "driver `1.2`, this is `1.3`"),
        (DeviceInfo { name: "Card".to_owned(), ..device() }, "device `Fast Card (R) 9000`, this is `Card`"),
        (DeviceInfo { compute_units: 2, ..device() }, "compute units `12`, this is `2`"),
    ] {
        let sentence = read_from(&path, &changed).unwrap_err().to_string();
        assert!(sentence.contains(what) && sentence.contains("t.toml"), "{sentence}");
    }
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&kernels_key(), "0123456789abcdef")).unwrap();
    assert!(matches!(read_from(&path, &device()), Err(NotUsed::Stale { what: "kernels", .. })));
}

#[test]
fn hostile_files_are_refused_in_a_sentence() {
    let folder = Folder::new("hostile");
    let path = folder.0.join("t.toml");
    write_to(&path, &device(), &settings()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        match read_from(&path, &device()).unwrap_err() {
            NotUsed::Refused { why, .. } => why,
            other => format!("not refused but {other}"),
        }
    };
    assert!(text.contains("strip = 252"));
    for (changed, why) in [
        (text.replace("strip = 252", "strip = -1"), "-1"),
        (text.replace("strip = 252", "strip = 99999999999999999999"), "99999999999999999999"),
        (text.replace("strip = 252\n", ""), "missing field `strip`"),
        (text.replace("strip = 252", "strip = 252\nturbo = 1"), "unknown field `turbo`"),
        (text.replace("strip = 252", "strip = \"252\""), "invalid type"),
        (String::new(), "missing field"),
        ("[".repeat(60_000), ""),
        ("x".repeat(70_000), "no text file"),
    ] {
        let said = refused(changed.as_bytes());
        assert!(said.contains(why) && !said.contains("not refused") && !said.contains('\n'), "{said}");
    }
    assert!(refused(b"\xff\xfe").contains("UTF-8"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(read_from(&path, &device()).unwrap_err().to_string().contains("no text file"));
}

#[test]
fn a_place_that_cannot_be_written_is_an_error() {
    let folder = Folder::new("unwritable");
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    assert!(write_to(&file.join("t.toml"), &device(), &settings()).is_err());
}
