//! `--link-test`: what a line carries, and what pictures to expect of it, in words.

use common::config::{SenderConfig, with_port};
use common::linktest::{Measured, RateChoice, choices, recommended};
use common::units::Bitrate;
use picture::frame::{FrameRate, FrameSize};
use shell::exit::Failure;

use crate::run::NO_PEER;
use crate::source::{Pace, SourceSpec};

/// Measures the line to the receiver at `target` (`HOST[:PORT]`) and prints what it found.
pub fn run(config: &SenderConfig, spec: &SourceSpec, target: &str) -> Result<(), Failure> {
    if config.shared.peers.is_empty() {
        return Err(Failure::usage(NO_PEER));
    }
    let address = with_port(target).ok_or_else(|| {
        Failure::usage(format!("`{target}` is not an address to test: write HOST or HOST:PORT, such as home.example"))
    })?;
    println!("testing the line to {address}, up to 20 seconds");
    let (peer, measured) = shell::linktest::run(&config.shared, &address)?;
    let (size, frame_rate) = asked(config, spec)?;
    print!("{}", report(&peer.name, &measured, size, frame_rate));
    if measured.usable.as_bps() == 0 {
        return Err(Failure::network(
            "the line carries no video: not even the lowest rate came through without a queue",
        ));
    }
    Ok(())
}

/// Returns size and rate of the pictures asked for; the usual ones where a camera or file decides them.
pub(crate) fn asked(config: &SenderConfig, spec: &SourceSpec) -> Result<(FrameSize, FrameRate), Failure> {
    let (size, rate) = match *spec {
        SourceSpec::Camera { size, rate, .. }
        | SourceSpec::Pattern { size, rate }
        | SourceSpec::Strip { size, rate } => (size, rate),
        SourceSpec::File { pace: Pace::Rate(rate), .. } => (None, Some(rate)),
        SourceSpec::File { .. } => (None, None),
    };
    let size = size.or(config.size).map_or_else(|| FrameSize::new(1280, 720), Ok).map_err(Failure::usage)?;
    let rate = rate.or(config.frame_rate).or(FrameRate::new(30, 1));
    Ok((size, rate.ok_or_else(|| Failure::usage("no frame rate"))?))
}

fn report(peer: &str, measured: &Measured, size: FrameSize, frame_rate: FrameRate) -> String {
    let ms = |us: u64| us as f64 / 1e3;
    let Measured { rtt, rtt_loaded, loss, loss_loaded, usable, at_least } = *measured;
    let mut text = format!(
        "line to {peer}\n\
         round trip    {:.1} ms (p50), {:.1} ms (p95); while sending {:.1} and {:.1} ms\n\
         loss          {:.1} % of the test's round trips, {:.1} % of the packets while sending\n\
         usable rate   {}{}, without a queue\n",
        ms(rtt.p50),
        ms(rtt.p95),
        ms(rtt_loaded.p50),
        ms(rtt_loaded.p95),
        100.0 * loss,
        100.0 * loss_loaded,
        if at_least { "at least " } else { "" },
        megabits(usable),
    );
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
    #![allow(clippy::unwrap_used, reason = "tests")]

    use common::stats::Percentiles;

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
        let (size, frame_rate) = (FrameSize::new(1280, 720).unwrap(), FrameRate::new(30, 1).unwrap());
        let text = report("Robert", &measured, size, frame_rate);
        for wanted in [
            "23.1 ms (p50), 25.0 ms (p95)",
            "1.2 % of the packets",
            "41.7 Mbit/s, without",
            "--rate 20M",
            "16.0 ms",
            "45 dB",
        ] {
            assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
        }
        let nothing = report("Robert", &Measured { usable: Bitrate::from_bps(0), ..measured }, size, frame_rate);
        assert!(nothing.contains("0 Mbit/s") && !nothing.contains("recommended"), "{nothing}");
    }

    #[test]
    fn rates_are_written_as_flags() {
        for (bps, text) in [(20_000_000, "20M"), (1_500_000, "1500k"), (123, "123")] {
            let rate = Bitrate::from_bps(bps);
            assert_eq!(flag(rate), text);
            assert_eq!(text.parse(), Ok(rate));
        }
    }
}
