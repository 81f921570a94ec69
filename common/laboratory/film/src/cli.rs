//! The command line.

use std::path::PathBuf;

use clap::Parser;

const HELP: &str = "\
To measure a call, from light to light:
  1. Show the strip on the screen of one side: latency-film --show
  2. Point the camera of that side at it. Or, without a camera: sender --source strip
  3. Put the screen of the other side beside it, or bring one there that shows its window, and
     film both for ten seconds with a telephone. Each strip should be a tenth as wide as the film
     or wider, and both equally high in it.
  4. Make a file of it that this program reads: ffmpeg -i FILM.mp4 -an -q:v 3 film.mjpeg
  5. latency-film film.mjpeg
The result is how much older the picture there is than the light here, on the average: with the
camera, both screens' own delays but for what they have in common, and the half of the time for
which each picture stands.";

/// Reads the delay between two screens from a film of both.
#[derive(Debug, Parser)]
#[command(name = "latency-film", version, after_help = HELP)]
pub struct Cli {
    /// Film in which both strips are seen: Y4M (.y4m) or Motion JPEG (.mjpeg, .avi)
    #[arg(required_unless_present = "show")]
    pub file: Option<PathBuf>,
    /// Show the strip in a window instead, until Esc is pressed twice
    #[arg(long, conflicts_with = "file")]
    pub show: bool,
}
