use super::*;

#[test]
fn an_unknown_key_is_answered_with_the_nearest() {
    let error = parse_sender("[video]\nsource = \"pattern\"\n[codec]\nrait = \"20M\"\n").unwrap_err();
    assert_eq!(error.to_string(), "line 4: there is no key `rait` here; did you mean `rate`?");
    let error = parse_receiver("[dispaly]\n").unwrap_err();
    assert_eq!(error.to_string(), "line 1: there is no key `dispaly` here; did you mean `display`?");
    for (text, instead) in [
        ("[[peer]]\npublickey = \"\"\n", "did you mean `public_key`?"),
        ("[[peer]]\nkey = \"\"\n", "did you mean `public_key`?"),
        ("[source]\n", "did you mean `source` in [video]?"),
        ("[capture]\n", "did you mean `source` in [video]?"),
        ("source = \"pattern\"\n", "did you mean `source` in [video]?"),
        ("[network]\nport = 4821\n", "did you mean `address`?"),
        ("[network]\nrate = \"8M\"\n", "did you mean `rate` in [codec]?"),
        ("[codec]\nbitrate = \"8M\"\n", "did you mean `rate`?"),
        ("[codec]\nsize = \"640x360\"\n", "did you mean `size` in [video]?"),
        ("[video]\nstun = []\n", "did you mean `stun` in [expert]?"),
        ("[peers]\n", "did you mean `peer`?"),
        ("[record]\nqwerty = 1\n", "there are `path`"),
        ("[receiver.stats]\nfiel = \"x\"\n", "did you mean `file`?"),
        ("[reciever.stats]\n", "did you mean `receiver`?"),
    ] {
        let error = parse_sender(text).unwrap_err().to_string();
        assert!(error.ends_with(&format!(" here; {instead}")), "{text}: {error}");
    }
    let error = parse_peers("[[peer]]\nname = \"ana\"\n[video]\n").unwrap_err().to_string();
    assert_eq!(error, "line 3: there is no key `video` here; this file has only [[peer]] sections");
}

#[test]
fn other_mistakes_name_their_line() {
    let error = parse_sender("[video]\nsource = 3\n").unwrap_err();
    assert!(error.to_string().starts_with("line 2: invalid type: integer `3`"), "{error}");
    let error = parse_sender("[expert]\nlevels = true\n").unwrap_err();
    assert!(error.to_string().contains("\"full\""), "{error}");
    for wrong in [
        "[video\n",
        "x = ",
        "[video]\nfps = 30\nfps = 30",
        "\u{0}",
        "video = 3",
        "[[video]]",
        "peer = 1",
        "[peer]",
        "expert = 1\n[network]\ngso = true",
        "receiver = 1",
        "sender.video = 1",
    ] {
        let error = parse_sender(wrong).unwrap_err();
        assert!(error.to_string().starts_with("line ") && !error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn each_program_has_what_stands_in_its_own_sections() {
    let text = "[stats]\nfile = \"/a\"\n[network]\nmode = \"dial\"\naddress = \"ana.example\"\n\
                [receiver.stats]\nfile = \"/b\"\n[receiver.network]\nmode = \"listen\"\naddress = \"[::]:1\"\n";
    let (sender, receiver) = (parse_sender(text).unwrap(), parse_receiver(text).unwrap());
    assert_eq!((sender.stats.file.as_str(), receiver.stats.file.as_str()), ("/a", "/b"));
    assert_eq!((sender.network.mode.as_deref(), receiver.network.mode.as_deref()), (Some("dial"), Some("listen")));
    assert_eq!(receiver.network.address.as_deref(), Some("[::]:1"));
    let peers = "[[peer]]\nname = \"ana\"\n[[receiver.peer]]\nname = \"bob\"\n";
    assert_eq!(parse_receiver(peers).unwrap().peers[0].name.as_deref(), Some("bob"));
    assert_eq!(parse_sender(peers).unwrap().peers[0].name.as_deref(), Some("ana"));
}

#[test]
fn keys_of_before_are_read_and_it_is_said_what_to_write_now() {
    let text = "[codec]\nprofile = \"quad\"\nlevels = 5\n[identity]\nfile = \"/k\"\n[display]\nbackend = \"winit\"\n\
                [sender.network]\ngso = false\n";
    let (file, old) = read(text, Program::Sender).unwrap();
    let expert = &file.expert;
    assert_eq!((expert.identity.as_str(), expert.window.as_str(), expert.gso), ("/k", "winit", false));
    assert_eq!(
        old,
        [
            "`profile` (line 2) has no other value: leave it out",
            "`levels` (line 3) is in [expert] now",
            "`backend` in [display] (line 7) is `window` in [expert] now",
            "`file` in [identity] (line 5) is `identity` in [expert] now",
            "`gso` (line 9) is in [expert] now",
        ]
    );
    assert_eq!(read("[expert]\ngso = false\n[video]\nfps = 30", Program::Sender).unwrap().1, [""; 0]);
    assert_eq!(read("[identity]\n#file = \"\"\n[compute]\n", Program::Sender).unwrap().1, [""; 0]);
    let error = parse_sender("[codec]\nprofile = \"pcwt\"").unwrap_err().to_string();
    assert_eq!(error, "`codec.profile`: it is `quad` always: leave it out");
    let error = parse_sender("[network]\ngso = false\n[expert]\ngso = true").unwrap_err().to_string();
    assert_eq!(error, "line 2: `gso` is in [expert] too: leave this one out");
    let error = parse_sender("[display]\nbackend = \"winit\"\n[expert]\nwindow = \"auto\"").unwrap_err().to_string();
    assert_eq!(error, "line 2: `window` is in [expert] too: leave this one out");
    let error = parse_sender("[peer]\nname = \"clara\"").unwrap_err().to_string();
    assert_eq!(error, "line 1: write [[peer]], with two brackets: there may be several");
}
