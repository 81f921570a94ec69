//! Time from a stranger's first packet to its refusal by a receiver, where it shows somebody's key and cannot sign for it:
//! of a key that the receiver lists, and of one that it does not. `listed PROGRAMS [HANDSHAKES]`, 10,000 of each by default.

use std::path::PathBuf;

use anyhow::{Context, Result};
use faults::attack::{Testbed, refusals};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let programs = PathBuf::from(arguments.next().context("listed PROGRAMS [HANDSHAKES]")?);
    let count = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("duet-listed-{}", std::process::id()));
    let ([listed, other], _) = refusals(&Testbed::new(&programs, &folder)?, count)?;
    println!("| key | handshakes | 10 %, us | median, us | 90 %, us | 99 %, us | answers |");
    println!("|---|---|---|---|---|---|---|");
    println!("| listed | {listed} |\n| not listed | {other} |");
    Ok(std::fs::remove_dir_all(&folder)?)
}
