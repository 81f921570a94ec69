//! The description of a broadcast in the form that the relay's own player reads, and the frames of its tracks.

use serde_json::{Value, json};
use sound::RATE_HZ;

use crate::allowance::Part;
use crate::sound::{BLOCK_FRAMES, CHANNELS};

/// The track that has the catalogue.
pub(crate) const CATALOGUE: &str = "catalog.json";
/// The track of the sound.
pub(crate) const SOUND: &str = "sound";
/// The tracks of both pictures.
pub(crate) const BASE: &str = "base";
/// See [`BASE`].
pub(crate) const MAIN: &str = "main";
/// Baseline without features that need decoding out of order, level 3.1; parameters are in each key frame.
const CODEC: &str = "avc3.42c01f";

/// The words that stand beside the picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programme {
    /// Name of the evening.
    pub title: String,
    /// Names of the players, in the order of their places.
    pub names: Vec<String>,
    /// Wall clock of the beginning, as the page shows it.
    pub starts: String,
}

/// A rendition of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rendition {
    pub(crate) size: (usize, usize),
    pub(crate) fps: u32,
    pub(crate) bps: u64,
}

/// Everything that a catalogue says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Catalogue {
    pub(crate) programme: Programme,
    pub(crate) base: Rendition,
    pub(crate) main: Rendition,
    pub(crate) sound_bps: u32,
    /// The part that is sent now.
    pub(crate) part: Part,
    /// Wall clock at time 0 of the frames, ms since 1970.
    pub(crate) zero_unix_ms: u64,
    pub(crate) is_over: bool,
}

impl Catalogue {
    pub(crate) fn to_json(&self) -> String {
        let mut renditions = serde_json::Map::new();
        for (name, rendition, part) in [(MAIN, self.main, Part::Main), (BASE, self.base, Part::Base)] {
            if self.part >= part {
                renditions.insert(name.to_owned(), video(rendition));
            }
        }
        let mut root = json!({
            "duet": {
                "title": self.programme.title,
                "names": self.programme.names,
                "starts": self.programme.starts,
                "zero_unix_ms": self.zero_unix_ms,
                "over": self.is_over,
            },
        });
        if !renditions.is_empty() {
            root["video"] = json!({ "renditions": renditions });
        }
        if self.part >= Part::Sound {
            root["audio"] = json!({ "renditions": { SOUND: {
                "codec": "opus",
                "container": { "kind": "legacy" },
                "sampleRate": RATE_HZ,
                "numberOfChannels": CHANNELS,
                "bitrate": self.sound_bps,
                "jitter": BLOCK_FRAMES as u32 * 1000 / RATE_HZ,
            } } });
        }
        root.to_string()
    }
}

fn video(Rendition { size: (width, height), fps, bps }: Rendition) -> Value {
    json!({
        "codec": CODEC,
        "container": { "kind": "legacy" },
        "codedWidth": width,
        "codedHeight": height,
        "framerate": fps,
        "bitrate": bps,
        "optimizeForLatency": true,
        "jitter": 1000 / fps.max(1),
    })
}

/// Returns a frame of a track: its time in microseconds, as QUIC writes numbers, and what it carries.
pub(crate) fn frame(at_us: u64, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(8 + payload.len());
    match at_us {
        0..=0x3f => frame.push(at_us as u8),
        0x40..=0x3fff => frame.extend_from_slice(&(at_us as u16 | 0x4000).to_be_bytes()),
        0x4000..=0x3fff_ffff => frame.extend_from_slice(&(at_us as u32 | 0x8000_0000).to_be_bytes()),
        _ => frame.extend_from_slice(&(at_us & 0x3fff_ffff_ffff_ffff | 0xc000_0000_0000_0000).to_be_bytes()),
    }
    frame.extend_from_slice(payload);
    frame
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// The examples of RFC 9000, A.1.
    #[test]
    fn times_are_written_as_quic_writes_numbers() {
        assert_eq!(frame(37, b"x"), [0x25, b'x']);
        assert_eq!(frame(15_293, b""), [0x7b, 0xbd]);
        assert_eq!(frame(494_878_333, b""), [0x9d, 0x7f, 0x3e, 0x7d]);
        assert_eq!(frame(151_288_809_941_952_652, b""), [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]);
    }

    #[test]
    fn a_catalogue_lists_what_is_sent_now() {
        let programme =
            Programme { title: "\"Duo\"".to_owned(), names: vec!["Anna".to_owned()], ..Programme::default() };
        let (base, main) = (
            Rendition { size: (640, 180), fps: 15, bps: 250_000 },
            Rendition { size: (1280, 360), fps: 30, bps: 1_200_000 },
        );
        let mut catalogue =
            Catalogue { programme, base, main, sound_bps: 96_000, part: Part::Main, zero_unix_ms: 9, is_over: false };
        let of = |catalogue: &Catalogue| serde_json::from_str::<Value>(&catalogue.to_json()).unwrap();
        let whole = of(&catalogue);
        assert_eq!(whole["video"]["renditions"]["main"]["codedWidth"], 1280);
        assert_eq!(whole["video"]["renditions"]["base"]["framerate"], 15);
        assert_eq!((&whole["duet"]["title"], &whole["duet"]["over"]), (&json!("\"Duo\""), &json!(false)));
        catalogue.part = Part::Base;
        assert!(of(&catalogue)["video"]["renditions"]["main"].is_null());
        catalogue.part = Part::Sound;
        assert!(of(&catalogue)["video"].is_null() && of(&catalogue)["audio"].is_object());
        catalogue.part = Part::Nothing;
        assert!(of(&catalogue)["audio"].is_null());
    }
}
