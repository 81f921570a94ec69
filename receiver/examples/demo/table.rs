//! The table at the end.

use common::stats::Stage;
use serde_json::Value;

use super::measure::Measured;
use super::stream::Streamed;

/// One stream, measured.
pub(crate) struct Row {
    pub(crate) streamed: Streamed,
    pub(crate) measured: Measured,
}

/// Renders one table: a column for each back end.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut line = |name: &str, cell: &dyn Fn(&Row) -> String| {
        lines.push(std::iter::once(name.to_owned()).chain(rows.iter().map(cell)).collect());
    };
    line("back end", &|row| row.streamed.backend.clone());
    line("device", &|row| text(&row.streamed.receiver["device"]));
    line("frames shown", &|row| row.streamed.receiver["frames_shown"].to_string());
    line("frames a second", &|row| row.streamed.frame_rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.2}")));
    line("bits per pixel", &|row| format!("{:.3}", row.streamed.sender["bits_per_pixel"].as_f64().unwrap_or(0.0)));
    line("PSNR-Y mean, dB", &|row| format!("{:.2}", row.measured.psnr_mean));
    line("PSNR-Y worst, dB", &|row| format!("{:.2}", row.measured.psnr_worst));
    line("ms: p50 / p95 / p99", &|_| String::new());
    line("capture to present", &|row| percentiles(&row.streamed.receiver["latency_us"]));
    for stage in Stage::ALL {
        line(&format!("  {}", stage.name()), &|row| {
            let of = |report: &Value| report["stages_us"].get(stage.name()).map(percentiles);
            // `compensate` is one of both ends.
            let ends = [&row.streamed.sender, &row.streamed.receiver].into_iter().filter_map(of).collect::<Vec<_>>();
            if ends.is_empty() { "-".to_owned() } else { ends.join("; ") }
        });
    }
    line("last frame", &|row| row.measured.png.display().to_string());
    aligned(&lines)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().chars().take(40).collect()
}

fn percentiles(value: &Value) -> String {
    let ms = |key: &str| value[key].as_f64().unwrap_or(f64::NAN) / 1e3;
    format!("{:.1} / {:.1} / {:.1}", ms("p50"), ms("p95"), ms("p99"))
}

fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| lines.iter().filter_map(|l| l.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let row = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(row).collect::<Vec<_>>().join("\n")
}
