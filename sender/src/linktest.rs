//! `--link-test`: what a line carries, and what pictures to expect of it, in words.

use std::net::ToSocketAddrs;

use common::config::{LinkMode, Peer, SenderConfig, with_port};
use common::linktest::{Found, Measured, RateChoice, choices, recommended};
use common::units::Bitrate;
use net::failure::Failure;
use net::linktest::{Target, Tested};
use net::quoted::Quoted;
use picture::frame::{FrameRate, FrameSize};

use sending::no_peer;
use sending::source::{SourceSpec, asked};

/// Measures the line to `target`, the name of a peer that is found as a call finds it, or `HOST[:PORT]`, and prints what it
/// found.
pub(crate) fn run(config: &SenderConfig, spec: &SourceSpec, target: &str) -> Result<(), Failure> {
    let shared = &config.shared;
    if shared.peers.is_empty() {
        return Err(Failure::usage(no_peer()));
    }
    let is_named = shared.peers.iter().any(|peer| peer.name == target);
    let tested = match &shared.mode {
        LinkMode::Meet(meet) if is_named => {
            println!("looking for {target} as a call does, then testing the line, about a minute");
            net::linktest::run(shared, Target::Named(meet))?
        }
        LinkMode::Listen(address) if is_named => {
            return Err(Failure::usage(format!(
                "{target} is waited for at {address}, so no way there is known: test the line from there, give its HOST here, \
                 or introduce both with `invite` and `join`"
            )));
        }
        mode => {
            let target = if let (LinkMode::Dial(address), true) = (mode, is_named) { address } else { target };
            let address = with_port(target).ok_or_else(|| {
                Failure::usage(format!(
                    "`{target}` is not an address to test: write HOST or HOST:PORT, such as home.example, or the name of a \
                     machine that was introduced"
                ))
            })?;
            if let Some(why) = unknown_name(target, &address, &shared.peers) {
                return Err(Failure::usage(why));
            }
            println!("testing the line to {address}, up to a minute");
            net::linktest::run(shared, Target::Address(&address))?
        }
    };
    let (size, frame_rate) = asked(spec, config);
    print!("{}", report(&tested, size, frame_rate));
    if tested.found.there.usable.as_bps() == 0 {
        return Err(Failure::network(
            "the line carries no video: not even the lowest rate came through without a queue",
        ));
    }
    Ok(())
}

/// Returns the sentence for a target that is a bare word and the name of no host: a name that was mistyped. `address` is the word
/// with a port.
fn unknown_name(target: &str, address: &str, known: &[Peer]) -> Option<String> {
    let is_word = !target.contains(['.', ':', '[']);
    if !is_word || address.to_socket_addrs().is_ok_and(|mut found| found.next().is_some()) {
        return None;
    }
    let known: Vec<_> = known.iter().map(|peer| peer.name.as_str()).collect();
    let target = Quoted(target);
    Some(format!("nobody called {target} is known here, only: {}; and there is no host {target}", known.join(", ")))
}

fn report(tested: &Tested, size: FrameSize, frame_rate: FrameRate) -> String {
    let ms = |us: u64| us as f64 / 1e3;
    let Tested { peer, way: (way, address), found: Found { there, back } } = tested;
    let Measured { rtt, rtt_loaded, loss, loss_loaded, usable, at_least } = *there;
    let mut text = format!(
        "line to {}, {} ({address})\n\
         round trip    {:.1} ms (p50), {:.1} ms (p95); while sending {:.1} and {:.1} ms\n\
         loss          {:.1} % of the packets without load, {:.1} % while sending\n\
         usable rate   {}{}, without a queue, from here to there\n",
        peer.name,
        way.name(),
        ms(rtt.p50),
        ms(rtt.p95),
        ms(rtt_loaded.p50),
        ms(rtt_loaded.p95),
        100.0 * loss,
        100.0 * loss_loaded,
        if at_least { "at least " } else { "" },
        megabits(usable),
    );
    text += &match back {
        Some(back) => format!(
            "              {}{}, from there to here; round trip {:.1} and {:.1} ms, loss {:.1} % meanwhile\n",
            if back.at_least { "at least " } else { "" },
            megabits(back.usable),
            ms(back.loaded_p50_us),
            ms(back.loaded_p95_us),
            f64::from(back.lost_ppm) / 1e4,
        ),
        None => "              from there to here not measured: the other side was interrupted, or nothing came from there\n"
            .to_owned(),
    };
    if usable.as_bps() == 0 {
        return text;
    }
    text += &format!(
        "\n{size} at {:.0} frames a second (estimates; quality as PSNR of common pictures, in brackets of hard and easy)\n\
         {:>14}  {:>14}  {:>22}  {:>12}\n",
        frame_rate.as_f64(),
        "rate",
        "bits per pixel",
        "quality",
        "adds latency"
    );
    let wanted = recommended(usable, size, frame_rate);
    for choice in choices(usable, size, frame_rate) {
        text += &row(&choice);
    }
    text += &format!(
        "\nrecommended: --rate {}, or rate = \"{}\" in [codec]: about {:.0} dB, {:.1} ms\n",
        flag(wanted.rate),
        flag(wanted.rate),
        wanted.psnr.middle,
        wanted.serialisation.as_secs_f64() * 1e3
    );
    text
}

fn row(choice: &RateChoice) -> String {
    let psnr = choice.psnr;
    format!(
        "{:>14}  {:>14.2}  {:>22}  {:>9.1} ms\n",
        megabits(choice.rate),
        choice.bits_per_pixel,
        format!("{:.0} dB ({:.0} to {:.0})", psnr.middle, psnr.hard, psnr.easy),
        choice.serialisation.as_secs_f64() * 1e3
    )
}

fn megabits(rate: Bitrate) -> String {
    format!("{} Mbit/s", (rate.as_bps() as f64 / 1e4).round() / 100.0)
}

/// Formats a rate as `--rate` takes it.
fn flag(rate: Bitrate) -> String {
    match rate.as_bps() {
        bps if bps % 1_000_000 == 0 => format!("{}M", bps / 1_000_000),
        bps if bps % 1_000 == 0 => format!("{}k", bps / 1_000),
        bps => bps.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use common::config::PublicKey;
    use common::path::ways::Kind;
    use common::percentiles::Percentiles;
    use common::wire::probe::OtherWay;

    use super::*;

    #[test]
    fn the_report_says_what_to_set() {
        let measured = Measured {
            rtt: Percentiles { p50: 23_100, p95: 25_000, p99: 25_000, ..Percentiles::default() },
            rtt_loaded: Percentiles { p50: 24_000, p95: 31_000, p99: 31_000, ..Percentiles::default() },
            loss: 0.0,
            loss_loaded: 0.012,
            usable: Bitrate::from_bps(41_700_000),
            at_least: false,
        };
        let usable = Bitrate::from_bps(9_000_000);
        let back = OtherWay { usable, at_least: true, loaded_p50_us: 26_000, loaded_p95_us: 29_000, lost_ppm: 4_000 };
        let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse().unwrap();
        let tested = Tested {
            peer: Peer { name: "Robert".to_owned(), key },
            way: (Kind::Mapped, "203.0.113.5:4820".parse().unwrap()),
            found: Found { there: measured, back: Some(back) },
        };
        let (size, frame_rate) = (FrameSize::USUAL, FrameRate::USUAL);
        let text = report(&tested, size, frame_rate);
        for wanted in [
            "line to Robert, through a port that the router has opened (203.0.113.5:4820)",
            "at least 9 Mbit/s, from there to here; round trip 26.0 and 29.0 ms, loss 0.4 %",
            "23.1 ms (p50), 25.0 ms (p95)",
            "0.0 % of the packets without load, 1.2 % while sending",
            "41.7 Mbit/s, without a queue, from here",
            "--rate 20M",
            "16.0 ms",
            "45 dB",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
        let there = Measured { usable: Bitrate::from_bps(0), ..measured };
        let nothing = report(&Tested { found: Found { there, back: None }, ..tested }, size, frame_rate);
        assert!(nothing.contains("0 Mbit/s") && !nothing.contains("recommended"), "{nothing}");
        assert!(nothing.contains("from there to here not measured"), "{nothing}");
    }

    #[test]
    fn a_name_that_was_mistyped_is_answered_with_those_that_are_known() {
        let key: PublicKey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse().unwrap();
        let known = ["clara", "ana"].map(|name| Peer { name: name.to_owned(), key });
        let why = unknown_name("cl@ra", "cl@ra:4820", &known).unwrap();
        assert_eq!(why, "nobody called \"cl@ra\" is known here, only: clara, ana; and there is no host \"cl@ra\"");
        for host in ["localhost", "nowhere.invalid", "127.0.0.1", "nowhere:4820"] {
            assert_eq!(unknown_name(host, &format!("{host}:4820"), &known), None);
        }
    }

    #[test]
    fn rates_are_written_as_flags() {
        for (bps, text) in [(20_000_000, "20M"), (1_500_000, "1500k"), (123_456, "123456")] {
            let rate = Bitrate::from_bps(bps);
            assert_eq!(flag(rate), text);
            assert_eq!(text.parse(), Ok(rate));
        }
    }
}
