use super::super::{parse_receiver, parse_sender};
use super::*;
use crate::config::resolved::{LinkMode, Turn};
use crate::path::ways::Kind;

const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

fn sender(text: &str) -> Result<SenderConfig, ConfigError> {
    resolve_sender(&parse_sender(text).unwrap())
}

fn receiver(text: &str) -> Result<ReceiverConfig, ConfigError> {
    resolve_receiver(&parse_receiver(text).unwrap())
}

#[test]
fn empty_files_give_the_defaults() {
    let config = sender("").unwrap();
    assert_eq!(config.rate, Bitrate::from_bps(20_000_000));
    assert_eq!((config.chroma, config.codec), (Chroma::C420, CodecParams::default()));
    assert_eq!(config.shared.mode, LinkMode::DialNobody);
    let config = receiver("").unwrap();
    assert_eq!((config.latency_max, config.status_line), (None, true));
    assert_eq!(config.window, WindowBackend::Auto);
    assert_eq!(config.shared.mode, LinkMode::Listen("[::]:4820".parse().unwrap()));
}

#[test]
fn every_key_is_read() {
    let config = sender(&format!(
        "[video]\nsource = \"pattern\"\nsize = \"17x31\"\nfps = 29.97\n\
         [codec]\nprediction = \"off\"\nrate = \"50M\"\n[network]\nmode = \"dial\"\nrate_max = \"30M\"\nbeside = \"1.8M\"\nname = \"Clara Schumann \"\nshare_port = true\n\
         [[peer]]\nname = \"Ana\"\npublic_key = \"{KEY}\"\naddress = \"ana.example:4821\"\n\
         [stats]\nfile = \"/s\"\n[record]\npath = \"/r\"\n\
         [effects]\ndetail = 1.25\nnoise = 3\nstill_noise = 2.5\neven_light = 0.5\n\
         [expert]\nchroma = \"444\"\nlevels = 5\npadding = \"zero\"\nboundary = \"periodic\"\nweights = \"visual\"\n\
         backend = \"cpu\"\ndevice = \"H200\"\ntune = \"off\"\nfec = \"off\"\nsocket_buffer = 4194304\ngso = false\ndscp = 34\n\
         identity = \"/k\"\nmetrics = \"[::1]:9464\"\n"
    ))
    .unwrap();
    assert_eq!(config.rate, Bitrate::from_bps(30_000_000));
    let beside = |text: &str| sender(text).unwrap().beside;
    assert_eq!((config.beside, beside("")), (Some(Bitrate::from_bps(1_800_000)), None));
    assert_eq!(beside("[network]\nbeside = \"0\""), Some(Bitrate::from_bps(0)));
    assert_eq!(config.frame_rate, FrameRate::new(30_000, 1001));
    assert_eq!((config.protection, sender("").unwrap().protection), (Protection::Off, Protection::Auto));
    assert_eq!(config.codec.levels, Levels::AtMost(5));
    assert_eq!(config.codec.boundary, Boundary::Periodic);
    assert_eq!(config.codec.weights, Weights::Visual);
    let prediction = |text: &str| sender(text).unwrap().prediction;
    assert_eq!((config.prediction, sender("").unwrap().prediction), (Prediction::Off, Prediction::Auto));
    let told = ["auto", "on", "off"].map(|told| prediction(&format!("[codec]\nprediction = \"{told}\"")));
    assert_eq!(told, [Prediction::Auto, Prediction::On, Prediction::Off]);
    assert_eq!(config.shared.mode, LinkMode::Dial("ana.example:4821".to_owned()));
    assert!(!config.shared.tuned && sender("").unwrap().shared.tuned);
    assert_eq!(config.shared.peers[0].name, "Ana");
    assert_eq!(Ok(config.shared.peers[0].key), KEY.parse());
    assert_eq!(config.shared.metrics, Some("[::1]:9464".parse().unwrap()));
    assert_eq!(config.record, Some(PathBuf::from("/r")));
    assert_eq!(config.effects.to_string(), "detail 1.25, noise 3, still_noise 2.5, even_light 0.5");
    assert_eq!(config.shared.name, "Clara Schumann");
    assert!(config.shared.share_port && !sender("").unwrap().shared.share_port);
    assert!(!config.shared.gso && config.shared.socket_buffer_bytes == 4 << 20);
    assert_eq!((config.shared.dscp, sender("").unwrap().shared.dscp), (Some(34), None));
    let text = "[display]\nsink = \"headless\"\nstatus_line = false\nsnapshot = \"jph\"\nlatency_max_ms = 40\n[expert]\nwindow = \"winit\"\nsize_max = \"640x480\"\n";
    let config = receiver(text).unwrap();
    assert_eq!(config.window, WindowBackend::Winit);
    assert_eq!(config.size_max, FrameSize::new(640, 480).unwrap());
    assert_eq!((config.latency_max, config.status_line), (Some(Duration::from_millis(40)), false));
    assert_eq!((config.snapshot, receiver("").unwrap().snapshot), (SnapshotFile::Jph, SnapshotFile::Png));
}

#[test]
fn an_address_to_dial_has_a_port_of_its_own_or_the_usual_one() {
    for (target, address) in [
        ("home.example", "home.example:4820"),
        ("home.example:5000", "home.example:5000"),
        ("192.0.2.7", "192.0.2.7:4820"),
        ("2001:db8::7", "[2001:db8::7]:4820"),
        ("[2001:db8::7]", "[2001:db8::7]:4820"),
        ("[2001:db8::7]:5000", "[2001:db8::7]:5000"),
    ] {
        assert_eq!(with_port(target).as_deref(), Some(address));
        let mode = sender(&format!("[network]\naddress = \"{target}\"")).unwrap().shared.mode;
        assert_eq!(mode, LinkMode::Dial(address.to_owned()));
    }
    for wrong in ["", "a b", "home:", "home:0", "home:99999", ":4820"] {
        assert_eq!(with_port(wrong), None, "{wrong}");
    }
}

#[track_caller]
fn check_refused(result: Result<impl std::fmt::Debug, ConfigError>, key: &str, says: &str) {
    let text = result.unwrap_err().to_string();
    assert!(text.starts_with(&format!("`{key}`: ")) && text.contains(says) && !text.contains('\n'), "{text}");
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    check_refused(sender("[codec]\nrate = \"fast\""), "codec.rate", "20M");
    check_refused(sender("[codec]\nrate = \"10\""), "codec.rate", "did you mean 10M?");
    check_refused(sender("[network]\nrate_max = \"10\""), "network.rate_max", "did you mean 10M?");
    check_refused(sender("[network]\nbeside = \"2\""), "network.beside", "did you mean 2M?");
    check_refused(sender("[network]\nbeside = \"-2M\""), "network.beside", "-2M");
    check_refused(sender("[expert]\nlevels = 15"), "expert.levels", "1 to 14");
    check_refused(sender("[expert]\nlevels = \"deep\""), "expert.levels", "full");
    check_refused(sender("[expert]\nchroma = \"422\""), "expert.chroma", "`420`, `444`, `grey`");
    check_refused(sender("[codec]\nprediction = \"maybe\""), "codec.prediction", "`auto`, `on`, `off`");
    check_refused(sender("[publish]\nurl = \"x\"\ncap = \"much\""), "publish.cap", "20M");
    check_refused(sender("[effects]\nnoise = 33"), "effects.noise", "0 to 32 grey levels (0 is off), not 33");
    check_refused(sender("[effects]\ndetail = nan"), "effects.detail", "0 to 4 (1 is off)");
    check_refused(sender("[effects]\neven_light = -0.1"), "effects.even_light", "0 to 1");
    check_refused(sender("[video]\nsize = \"16385x1\""), "video.size", "16384");
    check_refused(sender("[video]\nsize = \"1280\""), "video.size", "1280x720");
    check_refused(sender("[video]\nfps = 0"), "video.fps", "above 0");
    check_refused(sender("[expert]\nbackend = \"gpu\""), "expert.backend", "`opencl`");
    check_refused(sender("[expert]\ntune = \"always\""), "expert.tune", "`auto`, `off`");
    check_refused(sender("[network]\nmode = \"both\""), "network.mode", "`dial`, `listen`");
    check_refused(sender("[network]\naddress = \"my home\""), "network.address", "HOST:PORT");
    check_refused(sender("[network]\naddress = \":4820\""), "network.address", "HOST:PORT");
    check_refused(sender("[expert]\nfec = \"rs\""), "expert.fec", "`auto`, `off`");
    check_refused(sender("[expert]\nsocket_buffer = 1"), "expert.socket_buffer", "65536");
    for class in ["64", "256", "4294967296"] {
        check_refused(sender(&format!("[expert]\ndscp = {class}")), "expert.dscp", "0 to 63");
    }
    check_refused(sender("[[peer]]\nname = \"x\""), "peer.public_key", "a [[peer]] section of `x` has none");
    check_refused(sender("[[peer]]\npublic_key = \" \""), "peer.public_key", "a [[peer]] section has none");
    check_refused(sender("[[peer]]\npublic_key = \"x\""), "peer.public_key", "`duet-key-`");
    let zeros = format!("[[peer]]\npublic_key = \"{}=\"", "A".repeat(43));
    check_refused(sender(&zeros), "peer.public_key", "anybody could sign");
    check_refused(receiver("[network]\naddress = \"home:1\""), "network.address", "IP:PORT");
    check_refused(sender("[expert]\ncontroller = \"bbr\""), "expert.controller", "`cubic`");
    check_refused(receiver("[record]\npath = \"-\""), "record.path", "a file, such as call.duet, or a folder");
    check_refused(receiver("[display]\nlatency_max_ms = 2000"), "display.latency_max_ms", "1000");
    check_refused(receiver("[display]\nsnapshot = \"jpeg\""), "display.snapshot", "`png`, `jph`");
    check_refused(receiver("[expert]\nsize_max = \"640\""), "expert.size_max", "1280x720");
    check_refused(receiver("[expert]\nmetrics = \"x\""), "expert.metrics", "127.0.0.1:9464");
    check_refused(sender("[expert]\nmetrics = \"localhost\""), "expert.metrics", "IP:PORT");
}

#[test]
fn a_peer_that_was_introduced_is_met() {
    let peer = |more: &str| {
        let text = format!("[network]\nmode = \"meet\"\n[[peer]]\nname = \"ana\"\npublic_key = \"{KEY}\"\n{more}");
        resolve_receiver(&parse_receiver(&text).unwrap()).map(|config| config.shared.mode)
    };
    let LinkMode::Meet(meet) = peer("addresses = [\"203.0.113.5:1\", \"[2001:db8::1]:2\"]\nport = 20000\n").unwrap()
    else {
        panic!("another mode")
    };
    assert_eq!((meet.peer.name.as_str(), meet.port, meet.candidates.len()), ("ana", 20_000, 2));
    assert_eq!(meet.candidates.iter().map(|one| one.kind).collect::<Vec<_>>(), [Kind::ServerReflexive, Kind::HostIpv6]);
    for (wrong, words) in [
        ("addresses = []\nport = 1", "takes 1 to 8"),
        ("addresses = [\"home.example:1\"]\nport = 1", "write IP:PORT"),
        ("addresses = [\"224.0.0.1:1\"]\nport = 1", "write IP:PORT"),
        ("addresses = [\"203.0.113.5:1\"]\nfound = [\"home.example:1\"]\nport = 1", "peer.found"),
        ("addresses = [\"203.0.113.5:1\"]\nfound = [\"a\", \"b\", \"c\", \"d\", \"e\"]\nport = 1", "takes 4 at most"),
        ("addresses = [\"203.0.113.5:1\"]", "UDP port is missing"),
        ("addresses = [\"203.0.113.5:1\"]\nport = 0", "UDP port is missing"),
    ] {
        let error = peer(wrong).unwrap_err().to_string();
        assert!(error.contains(words), "{wrong}: {error}");
    }
    // One whose address somebody has typed, and one that calls from wherever it is.
    let LinkMode::Meet(meet) = peer("address = \"home.example\"").unwrap() else { panic!("another mode") };
    assert_eq!((meet.host.as_deref(), meet.port), (Some("home.example:4820"), 4820));
    let LinkMode::Meet(meet) = peer("port = 7").unwrap() else { panic!("another mode") };
    assert!(meet.host.is_none() && meet.candidates.is_empty() && meet.port == 7);
    // Only for a note there is more to ask.
    assert!(meet.mailbox.is_none() && meet.stun.is_empty());
    let LinkMode::Meet(meet) = peer("port = 7\n[reach]\nmailbox = \"ws://meet.example/v1\"").unwrap() else {
        panic!("another mode")
    };
    assert_eq!((meet.mailbox.as_deref(), meet.stun.len()), (Some("ws://meet.example/v1"), 2));
    assert!(peer("address = \"my home\"").unwrap_err().to_string().contains("HOST:PORT"));
    let nobody = sender("[network]\nmode = \"meet\"").unwrap_err().to_string();
    assert!(nobody.contains("`invite` on one side"), "{nobody}");
    // Where nobody else is named, whoever was introduced is called.
    let introduced = "addresses = [\"192.0.2.7:20000\"]\nport = 20000";
    for (network, meets) in [("", true), ("mode = \"dial\"", false), ("address = \"home.example\"", false)] {
        let text = format!("[network]\n{network}\n[[peer]]\npublic_key = \"{KEY}\"\n{introduced}");
        let mode = sender(&text).unwrap().shared.mode;
        assert_eq!(matches!(mode, LinkMode::Meet(_)), meets, "{network}: {mode:?}");
    }
    for wrong in ["a\\nb", "evil\\u202e", "../x", &"x".repeat(33)] {
        check_refused(sender(&format!("[network]\nname = \"{wrong}\"")), "network.name", "is no name");
    }
    for wrong in ["stun.example", ":1", "stun.example:0", "a b:1"] {
        let file = parse_sender(&format!("[expert]\nstun = [\"{wrong}\"]")).unwrap();
        assert!(resolve_sender(&file).unwrap_err().to_string().contains("HOST:PORT"), "{wrong}");
    }
    for wrong in ["meet.example:4000", "wss://meet.example/v1", "ws://", "ws:///v1", "ws://meet.example:0/v1"] {
        let file = parse_sender(&format!("[reach]\nmailbox = \"{wrong}\"")).unwrap();
        check_refused(resolve_sender(&file), "reach.mailbox", "ws://HOST:PORT/PATH");
    }
    for right in ["ws://meet.example:4000/v1", "ws://meet.example/v1", "ws://[2001:db8::1]:4000/v1"] {
        let file = parse_sender(&format!("[reach]\nmailbox = \"{right}\"")).unwrap();
        assert_eq!(resolve_sender(&file).unwrap().shared.mailbox.as_deref(), Some(right));
    }
    let file = parse_sender("[reach]\nmailbox = \"\"").unwrap();
    assert_eq!(resolve_sender(&file).unwrap().shared.mailbox, None);
    let file = parse_sender("[expert]\nstun = []").unwrap();
    assert!(resolve_sender(&file).unwrap().shared.stun.is_empty());
}

#[test]
fn relays_need_a_name_a_password_and_few_ports() {
    let turn =
        |text: &str| resolve_sender(&parse_sender(&format!("[reach]\n{text}")).unwrap()).map(|file| file.shared.turn);
    let words = "turn_user = \"band\"\nturn_password = \"a secret\"\n";
    let relay =
        turn(&format!("turn = [\"turn:relay.example:3478\"]\n{words}[expert]\nturn_ports = [50000, 50063]")).unwrap();
    assert_eq!((relay.servers[0].as_str(), relay.user.as_str()), ("relay.example:3478", "band"));
    assert_eq!(relay.ports, 50_000..=50_063);
    assert!(!format!("{relay:?}").contains("secret"));
    assert_eq!(turn("").unwrap(), Turn::default());
    let long = format!("turn_user = \"{}\"", "x".repeat(300));
    for (wrong, says) in [
        ("turn = [\"relay.example:3478\"]", "turn:HOST:PORT"),
        ("turn = [\"turn:relay.example\"]", "turn:HOST:PORT"),
        ("turn = [\"turns:relay.example:1\"]", "turn:HOST:PORT"),
        ("turn = [\"turn:relay.example:1\"]", "turn_user"),
        ("turn = [\"turn:relay.example:1\"]\nturn_user = \"band\"", "turn_password"),
        ("[expert]\nturn_ports = [50000, 50064]", "at most 64"),
        ("[expert]\nturn_ports = [50001, 50000]", "no range"),
        ("[expert]\nturn_ports = [0, 5]", "no range"),
        (&long, "too long"),
    ] {
        let error = turn(wrong).unwrap_err().to_string();
        assert!(error.contains(says), "{wrong}: {error}");
    }
}

#[test]
fn an_address_of_one_cable_says_which_cable() {
    for (written, dialled) in [
        ("[fe80::1%cable0]:7", "[fe80::1%cable0]:7"),
        ("[fe80::1%cable0]", "[fe80::1%cable0]:4820"),
        ("fe80::1%cable0", "[fe80::1%cable0]:4820"),
        ("[fe80::1%3]:7", "[fe80::1%3]:7"),
    ] {
        let mode = sender(&format!("[network]\naddress = \"{written}\"")).unwrap().shared.mode;
        assert_eq!(mode, LinkMode::Dial(dialled.to_owned()), "{written}");
    }
    let receiver = |address: &str| {
        resolve_receiver(&parse_receiver(&format!("[network]\naddress = \"{address}\"")).unwrap())
            .map(|config| config.shared.mode)
    };
    assert_eq!(receiver("[fe80::1%3]:7").unwrap(), LinkMode::Listen("[fe80::1%3]:7".parse().unwrap()));
    for (wrong, words) in [("[fe80::1]:7", "[fe80::1%eth0]:7"), ("[fe80::1%cable0]:7", "has no network of that name")] {
        let error = receiver(wrong).unwrap_err().to_string();
        assert!(error.contains(words), "{wrong}: {error}");
    }
    for wrong in ["[fe80::1]:7", "fe80::1", "[fe80::1]"] {
        check_refused(sender(&format!("[network]\naddress = \"{wrong}\"")), "network.address", "[fe80::1%eth0]:");
    }
    let peer = |more: &str| {
        let text = format!("[network]\nmode = \"meet\"\n[[peer]]\npublic_key = \"{KEY}\"\n{more}");
        sender(&text).map(|config| config.shared.mode)
    };
    let LinkMode::Meet(meet) = peer("address = \"[fe80::1%cable0]\"").unwrap() else { panic!("another mode") };
    assert_eq!(meet.host.as_deref(), Some("[fe80::1%cable0]:4820"));
    check_refused(peer("address = \"fe80::1\"").map(drop), "peer.address", "[fe80::1%eth0]:4820");
    // As learned in a call, beside others.
    let learned = "addresses = [\"[fe80::1%cable0]:9\", \"192.0.2.7:9\"]\nport = 9";
    let LinkMode::Meet(meet) = peer(learned).unwrap() else { panic!("another mode") };
    assert_eq!((meet.host.as_deref(), meet.candidates.len()), (Some("[fe80::1%cable0]:9"), 1));
}
