//! The page's report of its run.

use anyhow::{Context, Result, bail};
use picture::frame::FrameSize;
use serde_json::Value;

use crate::logs::Picture;
use crate::strip;

/// Longest that a picture may be under way: its number comes again later.
const LATENCY_MAX_MS: f64 = 9_500.0;
/// A captured picture may be noted so much later than it is captured, and its decoded one before.
const SLACK_MS: f64 = 2.0;

/// The page's report. Times are milliseconds since 1970.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    /// The codec in use, in the browser's words.
    pub(super) codec: String,
    /// Pictures that the camera gave: number and time.
    captured: Vec<(u32, f64)>,
    /// Pictures that were handed to the sink: number, if it could be read, and time.
    decoded: Vec<(Option<u32>, f64)>,
}

impl Told {
    /// Parses the page's JSON: `codec`, `captured` as pairs of the camera's time in microseconds, when the page had the
    /// picture, and the strip's middle row in hexadecimal digits, `decoded` as when and row.
    pub(super) fn parse(json: &[u8]) -> Result<Self> {
        let report: Value = serde_json::from_slice(json).context("the page's report is no JSON")?;
        let codec = report["codec"].as_str().context("the page's report names no codec")?.to_owned();
        let rows = |key: &str| report[key].as_array().with_context(|| format!("the page's report has no list `{key}`"));
        let mut captured = Vec::new();
        for row in rows("captured")? {
            captured.push((number(&row[2])?, time(&row[0])? / 1e3, time(&row[1])?));
        }
        // The camera's clock has another beginning; the picture that came fastest came at once.
        let offset = captured.iter().map(|(_, camera, at)| at - camera).fold(f64::INFINITY, f64::min);
        let captured = captured.into_iter().filter_map(|(number, camera, _)| Some((number?, camera + offset)));
        let captured = captured.collect();
        let decoded = rows("decoded")?.iter().map(|row| Ok((number(&row[1])?, time(&row[0])?)));
        let mut decoded = decoded.collect::<Result<Vec<_>>>()?;
        // The same picture again is no new one.
        decoded.dedup_by(|again, before| again.0.is_some() && again.0 == before.0);
        Ok(Self { codec, captured, decoded })
    }

    /// Returns the pictures shown from `from` (milliseconds since 1970) on, at times since then.
    pub(super) fn pictures(&self, from: f64) -> Vec<Picture> {
        let latency = |number: u32, at: f64| {
            let fits =
                |&&(other, then): &&(u32, f64)| other == number && (-SLACK_MS..LATENCY_MAX_MS).contains(&(at - then));
            self.captured.iter().rev().find(fits).map(|&(_, then)| at - then)
        };
        let shown = self.decoded.iter().filter(|&&(_, at)| at >= from).map(|&(number, at)| Picture {
            at: at - from,
            frame: number.map_or(0, u64::from),
            latency: number.and_then(|number| latency(number, at)),
            missing_blocks: 0,
            missing_coarse: 0,
        });
        shown.collect()
    }
}

/// Returns the port that the page tells of.
pub(super) fn port(json: &[u8]) -> Result<u16> {
    let report: Value = serde_json::from_slice(json).context("the page's port is no JSON")?;
    let port = report["port"].as_u64().and_then(|port| u16::try_from(port).ok()).filter(|&port| port > 0);
    port.with_context(|| format!("the page tells of port {}", report["port"]))
}

fn time(value: &Value) -> Result<f64> {
    value.as_f64().with_context(|| format!("the page's report has {value} in place of a time"))
}

/// Returns the number in a strip's row; inner `None` if it is broken.
fn number(value: &Value) -> Result<Option<u32>> {
    let digits = value.as_str().with_context(|| format!("the page's report has {value} in place of a strip"))?;
    let mut row = Vec::new();
    for pair in digits.as_bytes().chunks(2) {
        let value = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match value {
            Some(value) if pair.len() == 2 => row.push(value),
            _ => bail!("the page's report has a strip that is not made of pairs of hexadecimal digits"),
        }
    }
    Ok(strip::read_row(&row))
}

/// Parses a picture's size and time (milliseconds since 1970) from the path `/picture/WIDTH/HEIGHT/TIME`, whose luma
/// has so many bytes.
pub(super) fn sample(path: &str, bytes: usize) -> Result<(FrameSize, f64)> {
    let wrong = || format!("the page sent a picture as `{path}` with {bytes} bytes");
    let mut words = path.split('/').skip(2);
    let mut side = || words.next().and_then(|word| word.parse::<u32>().ok());
    let (width, height) = (side().with_context(wrong)?, side().with_context(wrong)?);
    let at = words.next().and_then(|word| word.parse::<f64>().ok()).filter(|at| at.is_finite()).with_context(wrong)?;
    let size = FrameSize::new(width, height).with_context(wrong)?;
    if size.pixels() != bytes || words.next().is_some() {
        bail!(wrong());
    }
    Ok((size, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32) -> String {
        let size = FrameSize::new(320, 240).unwrap();
        let mut luma = vec![0; size.pixels()];
        strip::draw(&mut luma, size, number);
        luma[..320].iter().map(|sample| format!("{sample:02x}")).collect()
    }

    fn parse(text: &str) -> Result<Told> {
        Told::parse(text.as_bytes())
    }

    #[test]
    fn latency_is_from_the_cameras_time_to_the_sink() {
        let (a, b) = (row(7), row(8));
        // The second picture came to the page 5 ms later after its capture than the first.
        let report = format!(
            r#"{{"codec": "video/VP8",
                "captured": [[1000000, 5000.0, "{a}"], [1033000, 5038.0, "{b}"], [11000000, 15000.0, "{a}"]],
                "decoded": [[4000.0, "{b}"], [5060.0, "{a}"], [5061.0, "{a}"], [5090.0, "{b}"], [5120.0, "00"], [15070.0, "{a}"]]}}"#
        );
        let told = parse(&report).unwrap();
        assert_eq!(told.codec, "video/VP8");
        let pictures = told.pictures(5_050.0);
        let found: Vec<_> = pictures.iter().map(|picture| (picture.at, picture.frame, picture.latency)).collect();
        let expected = [(10.0, 7, Some(60.0)), (40.0, 8, Some(57.0)), (70.0, 0, None), (10_020.0, 7, Some(70.0))];
        assert_eq!(found, expected);
        // Nothing that was shown before it was captured has a latency.
        assert_eq!(told.pictures(0.0)[0].latency, None);
    }

    #[test]
    fn a_wrong_report_is_an_error() {
        let reports = [
            "",
            "{",
            "[]",
            r#"{"codec": 5, "captured": [], "decoded": []}"#,
            r#"{"codec": "x", "captured": {}, "decoded": []}"#,
            r#"{"codec": "x", "captured": []}"#,
            r#"{"codec": "x", "captured": [7], "decoded": []}"#,
            r#"{"codec": "x", "captured": [[1, 2]], "decoded": []}"#,
            r#"{"codec": "x", "captured": [[1, null, ""]], "decoded": []}"#,
            r#"{"codec": "x", "captured": [], "decoded": [[1, "0g"]]}"#,
            r#"{"codec": "x", "captured": [], "decoded": [[1, "000"]]}"#,
            r#"{"codec": "x", "captured": [], "decoded": [[1, "é"]]}"#,
            r#"{"codec": "x", "captured": [], "decoded": [["1", "00"]]}"#,
        ];
        for report in reports {
            assert!(parse(report).is_err(), "{report}");
        }
        assert!(Told::parse(&[0xff, 0]).is_err());
        assert_eq!(parse(r#"{"codec": "x", "captured": [], "decoded": []}"#).unwrap().pictures(0.0), []);
    }

    #[test]
    fn a_port_is_one() {
        assert_eq!(port(br#"{"port": 65535}"#).unwrap(), 65_535);
        for wrong in ["", "7", "{}", r#"{"port": 0}"#, r#"{"port": 65536}"#, r#"{"port": -1}"#, r#"{"port": "80"}"#] {
            assert!(port(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_picture_tells_its_size_and_time() {
        let (size, at) = sample("/picture/320/240/1234.5", 320 * 240).unwrap();
        assert_eq!((size.width(), size.height(), at), (320, 240, 1234.5));
        let wrong = [
            "/picture",
            "/picture/320/240",
            "/picture/320/240/x",
            "/picture/320/240/NaN",
            "/picture/-1/240/1",
            "/picture/0/0/1",
            "/picture/320/239/1",
            "/picture/99999/99999/1",
            "/picture/320/240/1/2",
        ];
        for path in wrong {
            assert!(sample(path, 320 * 240).is_err(), "{path}");
        }
    }
}
