//! `wavelet tune`.

use std::time::Duration;

use anyhow::{Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use kernels::tune::{SETTINGS, cache};
use lab::tune::{self, Report, SizeTimes};
use picture::frame::FrameSize;

use crate::bench::sizes::sizes;
use crate::bench::table::Table;

/// Number of sizes at most; more would leave none of them enough time.
const MAX_SIZES: usize = 6;

/// Tunes the device, keeps its settings, and returns what they are.
pub(crate) fn run(device: Option<&str>, names: &[String]) -> Result<String> {
    let sizes = if names.is_empty() { default_sizes()? } else { sizes(names, "hd")? };
    ensure!(sizes.len() <= MAX_SIZES, "--sizes: {} sizes are too many, tune for at most {MAX_SIZES}", sizes.len());
    cache::prepare()?;
    // Drawn on standard error, and only where that is a terminal.
    let bar = ProgressBar::new(0).with_style(ProgressStyle::with_template("{bar:30} {elapsed} {msg}")?);
    let report = tune::tune(device, &sizes, tune::BUDGET, |progress| {
        bar.set_length(progress.of as u64);
        bar.set_position(progress.position as u64 - 1);
        bar.set_message(progress.what.to_owned());
    });
    bar.finish_and_clear();
    let report = report?;
    let path = cache::write(&report.device, &report.chosen)?;
    Ok(text(&report) + &format!("\nkept in {}\n", path.display()))
}

fn default_sizes() -> Result<Vec<FrameSize>> {
    tune::SIZES.iter().map(|&(width, height)| Ok(FrameSize::new(width, height)?)).collect()
}

fn text(report: &Report) -> String {
    let Report { device, tried, unfit, elapsed, .. } = report;
    let mut settings = Table::new(&["setting", "default", "chosen", "what"]);
    settings.note(format!("{} (driver {}): {tried} candidates in {:.1} s", device.name, device.driver, secs(*elapsed)));
    if *unfit > 0 {
        settings.note(format!("{unfit} more do not run on this device or change the result"));
    }
    if !report.complete {
        settings.note("there was no time for all of them");
    }
    for setting in SETTINGS {
        let values = [&report.default, &report.chosen].map(|tuning| setting.value(tuning));
        let [default, chosen] = values;
        settings.push(vec![setting.name.to_owned(), default, chosen, setting.about.trim().to_owned()]);
    }
    let mut times = Table::new(&["size", "pass", "default_ms", "chosen_ms", "ratio"]);
    for SizeTimes { size, before, after } in &report.times {
        let forward = ("forward", before.forward, after.forward);
        let inverse = ("inverse", before.inverse, after.inverse);
        for (name, before, after) in [forward, inverse] {
            let (before, after) = (secs(before), secs(after));
            times.push(vec![
                size.to_string(),
                name.to_owned(),
                format!("{:.3}", 1e3 * before),
                format!("{:.3}", 1e3 * after),
                format!("{:.2}", after / before.max(1e-9)),
            ]);
        }
    }
    settings.text() + "\n" + &times.text()
}

fn secs(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
