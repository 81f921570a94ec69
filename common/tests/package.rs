//! The files that `make install` and `make deb` put in place.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: [&str; 5] = ["duet", "sender", "receiver", "wavelet", "latency-film"];

/// Installs this test as every program, and empty pages; returns where.
fn installed(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("package-{test}-{}", std::process::id()));
    let [programs, manual, root] = ["bin", "manual", "root"].map(|name| folder.join(name));
    fs::create_dir_all(&programs).unwrap();
    fs::create_dir_all(&manual).unwrap();
    for name in PROGRAMS {
        fs::copy(std::env::current_exe().unwrap(), programs.join(name)).unwrap();
        for page in [format!("{name}.1"), format!("{name}.bash"), format!("_{name}"), format!("{name}.fish")] {
            fs::write(manual.join(page), "").unwrap();
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/package/install");
    let mut install = Command::new(script);
    let output = install.args([programs, manual]).env("DESTDIR", &root).env("PREFIX", "/usr").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    root
}

/// Returns all files with this ending below `folder`.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_pages_begin_with_the_first_call_and_link_to_what_is_there() {
    let root = installed("pages");
    let pages = root.join("usr/share/doc/duet");
    let first = fs::read_to_string(pages.join("README.md")).unwrap();
    for told in ["sender invite clara", "sender join", "sender call clara"] {
        assert!(first.contains(told), "the first page does not tell `{told}`");
    }
    // `doctor` names it.
    assert!(pages.join("docker/meet/README.md").exists());
    let mut wrong = Vec::new();
    for page in files(&pages, "md") {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let is_elsewhere = file.is_empty() || file.contains("://") || link.contains(char::is_whitespace);
            if !is_elsewhere && !page.parent().unwrap().join(file).exists() {
                wrong.push(format!("{} links to {file}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "which is not in the package:\n{}", wrong.join("\n"));
    for file in ["bin/sender", "share/man/man1/sender.1.gz", "share/applications/duet.desktop"] {
        assert!(root.join("usr").join(file).exists(), "{file} is missing");
    }
    for file in ["bin/duet", "share/man/man1/duet.1.gz", "share/metainfo/org.duet.Duet.metainfo.xml"] {
        assert!(root.join("usr").join(file).exists(), "{file} is missing");
    }
    fs::remove_dir_all(root.parent().unwrap()).unwrap();
}

/// The icon starts the window, and links of Duet do.
#[test]
fn the_desktop_finds_the_window_and_its_links() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/package");
    let (entry, metainfo) = (package.join("duet.desktop"), package.join("org.duet.Duet.metainfo.xml"));
    let text = fs::read_to_string(&entry).unwrap();
    for line in ["Exec=duet %u", "Terminal=false", "MimeType=x-scheme-handler/duet;", "Icon=duet"] {
        assert!(text.lines().any(|found| found == line), "duet.desktop lacks {line}");
    }
    let checks: [(&str, &[&str], &Path, &str); 2] = [
        ("desktop-file-validate", &[], &entry, "desktop-file-utils"),
        ("appstreamcli", &["validate", "--no-net"], &metainfo, "appstream"),
    ];
    for (program, arguments, file, of) in checks {
        match Command::new(program).args(arguments).arg(file).output() {
            Ok(output) => assert!(output.status.success(), "{program}: {output:?}"),
            Err(_) => {
                let skipped = package.join("../../.ci/skipped");
                let note = format!("{}: there is no {program} here, of the package {of}", file.display());
                assert!(Command::new(skipped).args(["note", &note]).status().unwrap().success());
            }
        }
    }
}

/// Returns what `readelf` says of a file.
fn readelf(what: &str, file: &Path) -> String {
    let output = Command::new("readelf").args(["--wide", what]).arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn programs_have_no_symbols_and_debuggers_find_them() {
    let root = installed("symbols");
    assert!(readelf("--sections", &std::env::current_exe().unwrap()).contains(".debug_line"));
    for name in PROGRAMS {
        let program = root.join("usr/bin").join(name);
        let sections = readelf("--sections", &program);
        assert!(![".debug_line", ".symtab"].iter().any(|section| sections.contains(section)), "{name}: {sections}");
        // A program without its lines says all the same where it has failed.
        assert!(String::from_utf8_lossy(&fs::read(&program).unwrap()).contains(file!()));
        let notes = readelf("--notes", &program);
        let id = notes.split_once("Build ID: ").unwrap().1.split_whitespace().next().unwrap();
        let symbols = root.join(format!("usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]));
        assert!(readelf("--sections", &symbols).contains(".debug_line"));
        assert_eq!(readelf("--notes", &symbols), notes);
    }
    fs::remove_dir_all(root.parent().unwrap()).unwrap();
}
