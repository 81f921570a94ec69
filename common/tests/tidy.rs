//! Crates and items that ARCHITECTURE.md says are absent are absent, and things are where it says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns all files below `directory` with the extension, as paths from the root.
fn files(directory: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root().join(directory)];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                open.push(path);
            } else if path.is_file() && path.extension().is_some_and(|found| found == extension) {
                found.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// Returns true if a line of Rust names the crate: as `krate::..` or in a `use`.
fn names_crate(line: &str, krate: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let path = format!("{krate}::");
    let starts_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    code.match_indices(&path).any(|(at, _)| starts_word(at)) || code.trim() == format!("use {krate};")
}

#[test]
fn crates_are_recognised_by_name() {
    assert!(names_crate("use ocl::Buffer;", "ocl"));
    assert!(names_crate("    let b: ocl::Buffer<f32>;", "ocl"));
    for other in ["use myocl::Buffer;", "// ocl::Buffer", "use crate::ocl::x;", "let protocl = 1;"] {
        assert!(!names_crate(other, "ocl"), "{other}");
    }
}

#[test]
fn device_and_wire_crates_are_named_in_one_place_each() {
    // Tests of the daemons and the scenarios of `make faults` may act as a hostile peer, so they may name quinn.
    let hostile = [
        "receiver/tests/",
        "common/laboratory/faults/src/flood.rs",
        "common/laboratory/faults/src/hostile.rs",
        "common/laboratory/faults/src/attack/",
        "sender/tests/",
    ];
    // An audience's relay is a server of others, with a protocol and certificates of its own.
    let relays = [
        "sender/publishing/src/dial.rs",
        "sender/publishing/src/relay.rs",
        "sender/publishing/tests/",
        "sender/publishing/examples/",
    ];
    let quinn = [&["common/net/src/quic/", "common/net/src/quic.rs"], &relays[..], &hostile[..]].concat();
    let homes = [
        ("ocl", vec!["kernels/device/src/"]),
        ("ocl_core", vec!["kernels/device/src/"]),
        ("turbojpeg", vec!["sender/sending/src/source/jpeg/planes.rs"]),
        ("v4l", vec!["sender/sending/src/source/camera/device.rs", "receiver/showing/src/sink/video_output.rs"]),
        ("minifb", vec!["receiver/showing/src/sink/window/with_minifb.rs"]),
        (
            "winit",
            vec![
                "receiver/showing/src/sink/window/with_winit.rs",
                "receiver/showing/src/sink/window/outlet.rs",
                "receiver/showing/src/sink/window/watched.rs",
                "receiver/showing/src/sink/face.rs",
                "sender/room/src/face/",
            ],
        ),
        ("egui_winit", vec!["sender/room/src/face/"]),
        ("rqrr", vec!["sender/room/src/code.rs"]),
        ("zbus", vec!["sender/room/src/ring/notice.rs"]),
        ("fluent_bundle", vec!["sender/room/src/words/"]),
        (
            "softbuffer",
            vec!["receiver/showing/src/sink/window/with_winit.rs", "receiver/showing/src/sink/window/outlet.rs"],
        ),
        (
            "jack",
            vec![
                "common/cards/src/jack_client.rs",
                "common/cards/tests/",
                "common/laboratory/sound/src/probe/client.rs",
            ],
        ),
        ("cpal", vec!["common/cards/src/alsa_streams.rs"]),
        ("quinn", quinn),
        ("quinn_proto", vec!["common/net/src/quic/", "common/net/src/quic.rs", "receiver/tests/"]),
        ("bincode", vec!["common/src/wire/control.rs"]),
        ("stun_types", vec!["common/net/src/reach/stun.rs", "common/laboratory/faults/examples/stun.rs"]),
        ("igd_next", vec!["common/net/src/reach/mapping.rs"]),
        ("crab_nat", vec!["common/net/src/reach/mapping.rs"]),
        ("turn_client_proto", vec!["common/net/src/reach/turn.rs"]),
        ("spake2", vec!["common/net/src/reach/mailbox/word_seal.rs"]),
        (
            "tokio_tungstenite",
            vec!["common/net/src/reach/mailbox/socket.rs", "common/laboratory/faults/src/mailbox.rs"],
        ),
        ("mdns_sd", vec!["common/net/src/reach/house.rs"]),
        ("moq_net", vec!["sender/publishing/src/", "sender/publishing/tests/", "sender/publishing/examples/"]),
        (
            "web_transport_quinn",
            vec!["sender/publishing/src/", "sender/publishing/tests/", "sender/publishing/examples/"],
        ),
        ("openh264", vec!["sender/publishing/src/h264.rs", "sender/publishing/tests/"]),
    ];
    let sources = files(".", "rs");
    assert!(sources.len() > 30, "only {} Rust files found", sources.len());
    let mut wrong = Vec::new();
    for path in &sources {
        let text = read(path);
        for (krate, homes) in &homes {
            let at_home = homes.iter().any(|home| path.starts_with(home)) || path == "common/tests/tidy.rs";
            let line = text.lines().position(|line| names_crate(line, krate));
            if let (false, Some(line)) = (at_home, line) {
                wrong.push(format!("{path}:{} names {krate}, which belongs in {}", line + 1, homes[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kernel_file_states_its_contract_and_has_a_reference() {
    // The stem of the reference where that has another name.
    let twins = [
        ("idwt", "dwt"),
        ("rowcolumn", "convolution"),
        ("scheme", "dwt"),
        ("pcwt", "reference"),
        ("jpeg2000", "host"),
        ("search", "apart"),
    ];
    let kernels = [files("kernels/cl", "cl"), files("kernels/lab/cl", "cl")];
    assert!(kernels.iter().all(|kernels| !kernels.is_empty()), "no kernels found");
    for path in kernels.concat() {
        let text = read(&path);
        assert!(text.starts_with("// "), "{path} does not open with a comment that says what it does");
        let stem = Path::new(&path).file_stem().unwrap().to_string_lossy().into_owned();
        // Text that other kernels share.
        if path.contains("/cl/shared/") {
            continue;
        }
        let header: Vec<_> = text.lines().take_while(|line| line.starts_with("//")).collect();
        if text.contains("__kernel") {
            for word in ["Maths", "Shapes", "NDRange"] {
                let stated = header.iter().any(|line| line.to_lowercase().contains(&word.to_lowercase()));
                assert!(stated, "the header of {path} lacks \"{word}\"");
            }
        }
        let first = stem.split('_').next().unwrap();
        let twin = twins.iter().find(|(kernel, _)| *kernel == first).map_or(first, |(_, twin)| twin);
        let homes = [
            "kernels/src/reference",
            "kernels/src/coder/search",
            "kernels/lab/src/reference",
            "kernels/lab/src/pcwt",
            "kernels/lab/src/jpeg2000/front",
        ];
        let exists = homes.iter().any(|home| root().join(format!("{home}/{twin}.rs")).is_file());
        assert!(exists, "{path} has no reference {twin}.rs in {homes:?}");
    }
}

#[test]
fn the_top_level_is_as_laid_out() {
    let expected: BTreeSet<&str> = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "Makefile",
        "README.md",
        "SECURITY.md",
        "common",
        "config",
        "docker",
        "kernels",
        "receiver",
        "rust-toolchain.toml",
        "sender",
    ]
    .into();
    // Of what lies there only what git knows counts; a source archive has no git and no litter.
    let listed = Command::new("git").arg("-C").arg(root()).args(["ls-files", "-co", "--exclude-standard"]).output();
    let names: BTreeSet<String> = match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().map(|path| path.split('/').next().unwrap().to_owned()).collect()
        }
        _ => fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect(),
    };
    let visible: BTreeSet<&str> =
        names.iter().map(String::as_str).filter(|name| !name.starts_with('.') && *name != "target").collect();
    assert_eq!(visible, expected);
}

#[test]
fn the_image_is_built_with_the_pinned_toolchain_and_configured_from_here() {
    let toolchain = read("rust-toolchain.toml");
    let channel = toolchain.lines().find_map(|line| line.strip_prefix("channel = ")).unwrap().trim_matches('"');
    let image = read("docker/Dockerfile");
    assert!(
        image.contains(&format!("ARG RUST_IMAGE=rust:{channel}-slim-bookworm@")),
        "rust-toolchain.toml has {channel}"
    );
    assert!(image.contains(&format!("RUSTUP_TOOLCHAIN={channel}")), "rust-toolchain.toml has {channel}");
    let last_user = image.lines().rfind(|line| line.starts_with("USER "));
    assert_eq!(last_user, Some("USER duet"));
    let compose = read("docker/compose.yaml");
    for (line, path) in compose.lines().filter_map(|line| Some((line, line.trim().strip_prefix("- ../")?))) {
        let path = path.split(':').next().unwrap();
        assert!(root().join(path).exists(), "docker/compose.yaml: {line}: there is no {path}");
    }
    for needed in [
        "read_only: true",
        "cap_drop: [ALL]",
        "c 81:* rmw",
        "network_mode: host",
        "no-new-privileges:true",
        "mem_limit:",
        "pids_limit:",
        "core: 0",
        "max-size:",
    ] {
        assert!(compose.contains(needed), "docker/compose.yaml lacks {needed}");
    }
}

#[test]
fn base_images_are_fixed_by_digest() {
    for file in ["docker/Dockerfile", "docker/audience/relay.Dockerfile", "docker/meet/mailbox.Dockerfile"] {
        let text = read(file);
        // An image's name has a colon, a variable's or a stage's has none.
        let named = text.lines().filter(|line| ["FROM ", "ARG "].iter().any(|word| line.starts_with(word)));
        let images: Vec<_> = named.filter(|line| line.contains(':')).collect();
        assert!(!images.is_empty(), "{file} names no image");
        for line in images {
            let digest = line.split_once("@sha256:").map_or("", |(_, digest)| digest.split(' ').next().unwrap());
            assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{file}: {line}");
        }
    }
}

#[test]
fn make_targets_are_listed_and_their_scripts_exist() {
    let makefile = read("Makefile");
    let phony = makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: "));
    for target in phony {
        assert!(
            makefile.lines().any(|line| line.starts_with(&format!("{target}: ## "))),
            "{target} has no description"
        );
    }
    for word in makefile.split_whitespace().map(|word| word.trim_start_matches('@')) {
        if word.starts_with(".ci/") || word.contains("/tests/vm/") {
            assert!(root().join(word).is_file(), "the Makefile names {word}, which does not exist");
        }
    }
}

/// A second cargo command would unite other features and so compile most crates again.
#[test]
fn a_build_asks_cargo_once() {
    let makefile = read("Makefile");
    let recipe = makefile.split("\nbuild: ").nth(1).unwrap().split("\n.PHONY").next().unwrap();
    assert_eq!(recipe.lines().filter(|line| line.contains("cargo ")).count(), 1, "{recipe}");
}

/// Returns the crates of the workspace, each with its features, as `cargo tree` unites them over these edges. A crate that macros and
/// programs stand on is there twice.
fn features(edges: &str) -> BTreeSet<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--offline", "--locked", "--prefix", "none", "--no-dedupe"])
        .args(["--edges", edges, "--format", "{p}|{f}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let crates = text.lines().map(|line| line.trim_end_matches(" (*)")).filter_map(|line| line.split_once('|'));
    crates.map(|(name, features)| (name.to_owned(), features.to_owned())).collect()
}

/// A feature that only tests ask for makes two of its crate and of all that stand on it, and `make test` compiles both.
#[test]
fn programs_and_tests_are_made_of_the_same_crates() {
    let (programs, tests) = (features("normal"), features("normal,dev"));
    assert!(programs.len() > 100 && tests.len() > programs.len(), "{} and {}", programs.len(), tests.len());
    let twice: Vec<_> = programs.difference(&tests).collect();
    assert!(twice.is_empty(), "tests build these with other features than programs do: {twice:#?}");
}

#[test]
fn pages_that_are_read_in_one_go_are_short() {
    for (path, most) in [("README.md", 100), ("CONTRIBUTING.md", 80), ("kernels/PERFORMANCE.md", 150)] {
        let lines = read(path).lines().count();
        assert!(lines <= most, "{path} has {lines} lines, {most} are the most: move detail to where it is looked for");
    }
    for (number, line) in read("README.md").lines().enumerate().filter(|(_, line)| !line.starts_with('|')) {
        assert!(line.chars().count() <= 100, "README.md:{}: more than 100 characters", number + 1);
    }
}

/// Returns the anchors of a document's headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let of = |heading: &str| {
        heading
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                '-' | '_' => Some(c),
                _ => c.is_alphanumeric().then_some(c),
            })
            .collect()
    };
    headings.map(of).collect()
}

#[test]
fn documents_name_files_headings_and_targets_that_exist() {
    let makefile = read("Makefile");
    let mut wrong = Vec::new();
    for path in files(".", "md") {
        let text = read(&path);
        let folder = Path::new(&path).parent().unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let target = if file.is_empty() { PathBuf::from(&path) } else { folder.join(file) };
            let exists = root().join(&target).exists();
            if !exists || !anchor.is_empty() && !anchors(&read(&target.to_string_lossy())).iter().any(|it| it == anchor)
            {
                wrong.push(format!("{path} links to {link}, which does not exist"));
            }
        }
        for rest in text.split("`make ").skip(1) {
            let target = rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap();
            if !makefile.contains(&format!("\n{target}: ## ")) {
                wrong.push(format!("{path} names `make {target}`, which the Makefile lacks"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn documentation_says_what_an_item_is_or_does() {
    let questions = ["What", "Whether", "How", "Where", "Who", "When", "Which"];
    let mut wrong = Vec::new();
    for path in files(".", "rs").into_iter().chain(files("kernels/cl", "cl")).chain(files("kernels/lab/cl", "cl")) {
        let mut above = "";
        let text = read(&path);
        for (number, line) in text.lines().map(str::trim_start).enumerate() {
            let said = ["/// ", "//! "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or_default();
            let first = said.split([' ', ',']).next().unwrap_or_default();
            if !above.starts_with("//") && questions.contains(&first) {
                wrong.push(format!("{path}:{}: {said}", number + 1));
            }
            above = line;
        }
    }
    assert!(wrong.is_empty(), "say it in the third person, \"Returns ...\":\n{}", wrong.join("\n"));
}

/// Packages, the nested ones first.
const PACKAGES: [&str; 20] = [
    "common/cards",
    "common/laboratory/faults",
    "common/laboratory/film",
    "common/laboratory/sound",
    "common/manual",
    "common/net",
    "common/picture",
    "common/shell",
    "common/sound",
    "common",
    "kernels/device",
    "kernels/lab",
    "kernels/wavelet",
    "kernels",
    "receiver/showing",
    "receiver",
    "sender/calling",
    "sender/room",
    "sender/sending",
    "sender",
];
#[test]
fn one_name_stands_for_one_type() {
    let mut homes: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for path in files(".", "rs") {
        if ["/tests/", "/examples/", "/fuzz/", "/benches/"].iter().any(|folder| path.contains(folder)) {
            continue;
        }
        let package = PACKAGES.iter().find(|package| path.starts_with(&format!("{package}/"))).unwrap();
        // Types that only their own file sees are not counted.
        for line in read(&path).lines().filter(|line| line.starts_with("pub")) {
            let mut words =
                line.split_whitespace().skip_while(|word| !["struct", "enum", "trait", "type"].contains(word));
            let name = words.nth(1).unwrap_or_default();
            let name: String = name.chars().take_while(|c| c.is_alphanumeric()).collect();
            if !name.is_empty() {
                homes.entry((package, name)).or_default().push(path.clone());
            }
        }
    }
    homes.retain(|_, paths| paths.len() > 1);
    assert!(homes.is_empty(), "one of each should have another name: {homes:#?}");
}
