//! Chromium's WebRTC over one line.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use net::failure::Failure;
use picture::frame::FrameSize;
use serde_json::json;

use super::lines::Line;
use super::page::Listener;
use super::told::{self, Told};
use crate::clip::{Clip, FRAMES_PER_SECOND};
use crate::daemons::Daemon;
use crate::machine::stalls::Watch;
use crate::quality::EVERY;
use crate::relay::Relay;
use crate::scenario::case::{FAR, SETTLING};
use crate::scenario::measured::Measured;
use crate::strip;

/// Names under which it may be installed.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Longest time to each thing that the page says; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for which the page goes on after what counts.
const AFTER: Duration = Duration::from_millis(500);
/// Folder of the browser's own files.
const PROFILE: &str = "profile";
/// Longest that the browser may take to end when asked.
const END_MAX: Duration = Duration::from_secs(5);
/// Time between two looks at the browser.
const LOOK: Duration = Duration::from_millis(100);

/// A Chromium on this machine.
pub(super) struct Browser {
    program: PathBuf,
    /// Its name and version, in its own words.
    pub(super) version: String,
    /// The codec asked for, if not its own choice.
    pub(super) codec: Option<String>,
}

impl Browser {
    /// Finds the browser asked for, or the one in PATH.
    pub(super) fn find(asked: Option<&Path>, codec: Option<&str>) -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let installed = || {
            let folders: Vec<_> = std::env::split_paths(&path).collect();
            NAMES
                .iter()
                .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
                .find(|file| file.is_file())
        };
        let missing = || {
            Failure::usage(
                "there is no Chromium here: apt-get install -y --no-install-recommends chromium, or tell where it is \
                 (make rival CHROMIUM=FILE)",
            )
        };
        let program = asked.map(Path::to_owned).or_else(installed).ok_or_else(missing)?;
        let wrong = |why: String| Failure::usage(format!("{} is no Chromium: {why}", program.display()));
        let output = Command::new(&program).arg("--version").stderr(Stdio::null()).output();
        let output = output.map_err(|error| wrong(error.to_string()))?;
        if !output.status.success() {
            return Err(wrong(format!("asked for its version it ends with {}", output.status)).into());
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if let Some(codec) = codec.filter(|codec| !codec.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Err(Failure::usage(format!("`{codec}` is no codec: VP8, VP9, H264 or AV1")).into());
        }
        Ok(Self { program, version, codec: codec.map(str::to_owned) })
    }

    /// Sends the clip in the file `video` over `line` for `length`, with at most `cap` Mbit/s. Files go to `folder`.
    pub(super) fn run(
        &self,
        (clip, video): (&Clip, &Path),
        line: &Line,
        cap: u32,
        length: Duration,
        folder: &Path,
    ) -> Result<Measured> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let page = Listener::start()?;
        let mut browser = self.start(&page, clip.size(), video, cap, folder)?;
        let ready = page.expect("/ready", &mut browser, PATIENCE)?;
        let port = told::port(&ready.body)?;
        let relay = Relay::start((Ipv4Addr::LOCALHOST, 0).into(), (Ipv4Addr::LOCALHOST, port).into(), FAR.delay)?;
        ready.answer(&json!({ "port": relay.address().port() }).to_string())?;
        let first = page.expect("/first", &mut browser, PATIENCE)?;
        first.answer(&json!({ "wait_ms": (SETTLING + length + AFTER).as_millis() as u64 }).to_string())?;
        pass(SETTLING, &mut browser)?;

        relay.begin(line.there.clone(), line.back.clone());
        let began = Instant::now();
        let began_unix = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let watch = Watch::start(folder)?;
        pass(length, &mut browser)?;
        let stalls = watch.map(|watch| watch.end(began_unix, began_unix + length)).transpose()?;

        let began_ms = began_unix.as_secs_f64() * 1e3;
        let mut psnr = Vec::new();
        let told = loop {
            let post = page.next(&mut browser, PATIENCE)?;
            if post.path == "/log" {
                std::fs::write(folder.join("report.json"), &post.body)?;
                let told = Told::parse(&post.body)?;
                post.answer("{}")?;
                break told;
            }
            let (size, at) = told::sample(&post.path, post.body.len())?;
            psnr.extend(clip.compare(&post.body, size).map(|psnr| (at - began_ms, psnr)));
            post.answer("{}")?;
        };
        end(browser)?;
        // Tens of megabytes of nothing; if it stays, that harms nobody.
        let _ = std::fs::remove_dir_all(folder.join(PROFILE));
        let from = began - relay.began();
        let rates = relay.stop().rates(from, length);
        let pictures = told.pictures(began_ms);
        let length = length.as_secs_f64() * 1e3;
        Ok(Measured { pictures, length, rates, psnr, stalls, notes: vec![told.codec], ..Measured::default() })
    }

    fn start(&self, page: &Listener, size: FrameSize, video: &Path, cap: u32, folder: &Path) -> Result<Daemon> {
        let mut command = Command::new(&self.program);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio", "--no-first-run"]);
        // It has nothing to do with anybody else.
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.args(["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]);
        command.arg(format!("--use-file-for-fake-video-capture={}", video.display()));
        command.args(["--allow-loopback-in-peer-connection", "--disable-features=WebRtcHideLocalIpsWithMdns"]);
        command.args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"]);
        command.arg(format!("--user-data-dir={}", folder.join(PROFILE).display()));
        let video = format!("{},{},{FRAMES_PER_SECOND}", size.width(), size.height());
        let codec = self.codec.as_deref().unwrap_or_default();
        let bits = 1_000_000 * u64::from(cap);
        command.arg(format!(
            "http://{}/?video={video}&cap={bits}&codec={codec}&parts={}&every={EVERY}",
            page.address(),
            strip::PARTS
        ));
        Daemon::start("browser", &mut command, &folder.join("browser.log"))
    }
}

/// Waits while the browser runs.
fn pass(span: Duration, browser: &mut Daemon) -> Result<()> {
    let end = Instant::now() + span;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::sleep(left.min(LOOK));
        browser.check()?;
    }
    Ok(())
}

/// Asks the browser to end; one that does not is killed.
fn end(mut browser: Daemon) -> Result<()> {
    browser.signal("TERM")?;
    let deadline = Instant::now() + END_MAX;
    while browser.ended()?.is_none() {
        if Instant::now() >= deadline {
            return browser.kill();
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(asked: &str, codec: Option<&str>) -> (u8, String) {
        let error = Browser::find(Some(Path::new(asked)), codec).err().unwrap();
        let failure = error.downcast_ref::<Failure>().unwrap();
        (failure.code(), failure.to_string())
    }

    #[test]
    fn what_is_no_browser_is_refused_with_a_reason() {
        let (code, text) = refused("/nonexistent/chromium", None);
        assert!(code == 2 && text.starts_with("/nonexistent/chromium is no Chromium: "), "{code} {text}");
        let (code, text) = refused("/bin/false", None);
        assert!(code == 2 && text.contains("it ends with exit status: 1"), "{code} {text}");
        let (code, text) = refused("/bin/true", Some("VP8&cap=1"));
        assert!(code == 2 && text.contains("is no codec"), "{code} {text}");
    }
}
