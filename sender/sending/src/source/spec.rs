//! `--source SPEC`: text to a checked source.

use std::path::PathBuf;

use common::config::{parse_frame_rate, parse_size};
use net::failure::Failure;
use picture::frame::{FrameRate, FrameSize};

/// The forms that a source can have, for messages and help.
pub const FORMS: &str = "camera[:index=0][:size=1280x720][:fps=30], none (a call with sound only), pattern[:size=1280x720][:fps=30], \
                         strip[:size=1280x720][:fps=30] (the time, for latency-film), y4m:PATH[:loop][:live][:fps=N] (PATH may be -), mjpeg:PATH[:loop][:live][:fps=N] or \
                         duet:PATH[:loop][:live][:fps=N], such as a recording (fps=0: as fast as it goes; live: pictures that come \
                         too fast are left out, as a camera's are)";

/// Sources of pictures.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceSpec {
    /// A camera of this machine.
    Camera {
        /// Its number, as `devices` lists it.
        index: u32,
        /// Size asked for; without one, 1280x720 or what is nearest.
        size: Option<FrameSize>,
        /// Rate asked for.
        rate: Option<FrameRate>,
    },
    /// No pictures: sound only.
    None,
    /// A moving test picture.
    Pattern {
        /// Size; without one, 1280x720.
        size: Option<FrameSize>,
        /// Rate; without one, 30.
        rate: Option<FrameRate>,
    },
    /// A strip chart of the time, to be filmed.
    Strip {
        /// Size; without one, 1280x720.
        size: Option<FrameSize>,
        /// Rate; without one, 30.
        rate: Option<FrameRate>,
    },
    /// A file of pictures.
    File {
        /// Layout of the pictures.
        layout: Layout,
        /// The file; `-` is standard input.
        path: PathBuf,
        /// True if it begins again at its end.
        repeat: bool,
        /// True if it goes on like a camera, whoever keeps up.
        is_live: bool,
        /// Speed at which it is played.
        pace: Speed,
    },
}

/// Layout of a file of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// YUV4MPEG2.
    Y4m,
    /// JPEG pictures one after another.
    Mjpeg,
    /// Coded frames, such as a recording.
    Duet,
}

/// Speeds at which a file is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// At the rate it names, or the configured one.
    Own,
    /// At this rate.
    Rate(FrameRate),
    /// As fast as the pipeline takes it.
    Free,
}

impl SourceSpec {
    /// Returns true if it ends by itself.
    pub fn is_finite(&self) -> bool {
        matches!(self, Self::File { repeat: false, .. })
    }

    /// Reads `text`; the failure names what is wrong or all valid forms.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let live = |has_index| live(has_index, rest, text);
        let layout = match kind {
            "camera" => return live(true).map(|(index, size, rate)| Self::Camera { index, size, rate }),
            "pattern" => return live(false).map(|(_, size, rate)| Self::Pattern { size, rate }),
            "strip" => return live(false).map(|(_, size, rate)| Self::Strip { size, rate }),
            "none" if text == kind => return Ok(Self::None),
            "y4m" => Layout::Y4m,
            "mjpeg" => Layout::Mjpeg,
            "duet" => Layout::Duet,
            _ => return Err(Failure::usage(format!("`{text}` is not a source: use {FORMS}"))),
        };
        file(layout, rest, text)
    }
}

fn wrong(text: &str, message: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("source `{text}`: {message}"))
}

/// Returns the number, size and rate of a live source.
fn live(has_index: bool, options: &str, text: &str) -> Result<(u32, Option<FrameSize>, Option<FrameRate>), Failure> {
    let (mut index, mut size, mut rate) = (0, None, None);
    for option in options.split(':').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("size", value)) => size = Some(parse_size(value).map_err(|error| wrong(text, error))?),
            Some(("fps", value)) => rate = Some(parse_frame_rate(value).map_err(|error| wrong(text, error))?),
            Some(("index", value)) if has_index => {
                index = value.parse().map_err(|_| wrong(text, format!("`{value}` is not a camera's number")))?;
            }
            _ => return Err(wrong(text, format!("there is no option `{option}`: use {FORMS}"))),
        }
    }
    Ok((index, size, rate))
}

/// Options stand at the end, so that a path may hold colons.
fn file(layout: Layout, rest: &str, text: &str) -> Result<SourceSpec, Failure> {
    let (mut path, mut repeat, mut is_live, mut pace) = (rest, false, false, Speed::Own);
    while let Some((before, option)) = path.rsplit_once(':') {
        match option.split_once('=') {
            None if option == "loop" => repeat = true,
            None if option == "live" => is_live = true,
            Some(("fps", "0")) => pace = Speed::Free,
            Some(("fps", value)) => pace = Speed::Rate(parse_frame_rate(value).map_err(|error| wrong(text, error))?),
            _ => break,
        }
        path = before;
    }
    if path.is_empty() {
        return Err(wrong(text, format!("a path is missing: use {FORMS}")));
    }
    if path == "-" && repeat {
        return Err(wrong(text, "standard input cannot begin again: leave `:loop` out"));
    }
    if is_live && pace == Speed::Free {
        return Err(wrong(text, "a camera has a rate: leave `:live` or `:fps=0` out"));
    }
    Ok(SourceSpec::File { layout, path: PathBuf::from(path), repeat, is_live, pace })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: SourceSpec) {
        assert_eq!(SourceSpec::parse(text).unwrap(), expected, "{text}");
    }

    fn y4m(path: &str, repeat: bool, pace: Speed) -> SourceSpec {
        SourceSpec::File { layout: Layout::Y4m, path: path.into(), repeat, is_live: false, pace }
    }

    #[test]
    fn every_form_is_read() {
        let (size, rate) = (FrameSize::new(17, 31).ok(), FrameRate::new(60, 1));
        check("camera", SourceSpec::Camera { index: 0, size: None, rate: None });
        check("none", SourceSpec::None);
        check("camera:index=2:size=17x31:fps=60", SourceSpec::Camera { index: 2, size, rate });
        check("pattern:fps=60:size=17x31", SourceSpec::Pattern { size, rate });
        check("strip:fps=60:size=17x31", SourceSpec::Strip { size, rate });
        check("y4m:a.y4m", y4m("a.y4m", false, Speed::Own));
        check("y4m:-", y4m("-", false, Speed::Own));
        check("y4m:a:b:loop:fps=0", y4m("a:b", true, Speed::Free));
        check("y4m:/x:fps=30000/1001", y4m("/x", false, Speed::Rate(FrameRate::new(30_000, 1001).unwrap())));
        let path = "call.duet".into();
        check(
            "duet:call.duet",
            SourceSpec::File { layout: Layout::Duet, path, repeat: false, is_live: false, pace: Speed::Own },
        );
        let path = "clip.mjpeg".into();
        let mjpeg = SourceSpec::File { layout: Layout::Mjpeg, path, repeat: true, is_live: true, pace: Speed::Own };
        check("mjpeg:clip.mjpeg:loop:live", mjpeg);
    }

    #[test]
    fn mistakes_are_answered_with_what_is_valid() {
        for (text, says) in [
            ("webcam", "pattern[:size"),
            ("", "pattern[:size"),
            ("pattern:size=16385x1", "16384"),
            ("pattern:size=big", "1280x720"),
            ("pattern:fps=0", "above 0"),
            ("none:fps=30", "is not a source"),
            ("pattern:index=1", "no option `index=1`"),
            ("camera:index=front", "number"),
            ("camera:mirror", "no option `mirror`"),
            ("y4m:", "path is missing"),
            ("y4m", "path is missing"),
            ("mjpeg::loop", "path is missing"),
            ("y4m:-:loop", "begin again"),
            ("y4m:a:fps=fast", "frame rate"),
            ("y4m:a:live:fps=0", "a camera has a rate"),
        ] {
            let failure = SourceSpec::parse(text).unwrap_err();
            assert!(failure.code() == 2 && failure.message.contains(says), "{text}: {failure}");
        }
    }
}
