//! Every picture of a recording as a file of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::args::ComputeArgs;
use crate::decode::{self, Wanted};
use crate::io::{Kind, PictureInfo, Writer};
use crate::jpeg2000;

/// Kinds of the files.
const KINDS: [Kind; 6] = [Kind::Png, Kind::Ppm, Kind::Jp2, Kind::J2k, Kind::Jph, Kind::J2c];

/// Names of files, of which each has a number.
pub(super) struct Numbered {
    folder: PathBuf,
    before: String,
    after: String,
    digits: usize,
    kind: Kind,
}

impl Numbered {
    /// Returns the names that `output` means, if it has a place for a number, as `%05d`; an error if it is wrong or the files are of no
    /// kind that is written.
    pub(super) fn of(output: &Path) -> Result<Option<Self>> {
        let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((before, rest)) = name.split_once('%') else { return Ok(None) };
        let place =
            || format!("{}: the place of the number is one %05d, or as many digits as you want", output.display());
        let (digits, after) = rest.split_once('d').with_context(place)?;
        let digits = match digits {
            "" => 1,
            digits => {
                digits.strip_prefix('0').and_then(|it| it.parse().ok()).filter(|it| *it <= 9).with_context(place)?
            }
        };
        ensure!(!after.contains('%'), place());
        let kind = Kind::of(output, &KINDS)?;
        let folder = output.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Some(Self { folder, before: before.to_owned(), after: after.to_owned(), digits, kind }))
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}{number:0digits$}{}", self.before, self.after, digits = self.digits))
    }

    /// Writes each picture of `input`; `fills_pauses`: however long they are.
    pub(super) fn write(self, input: &Path, fills_pauses: bool, compute: &ComputeArgs) -> Result<String> {
        let wanted = Wanted { is_still: false, drop_levels: 0, fills_pauses };
        let owned = compute.clone();
        decode::pictures(input, &wanted, compute, move |info: PictureInfo| {
            let mut number = 0;
            Ok(Writer::Each(Box::new(move |picture| {
                number += 1;
                let path = self.path(number);
                if jpeg2000::KINDS.contains(&self.kind) {
                    return jpeg2000::keep(&path, &info, picture, &owned);
                }
                let mut still = Writer::create(&path, info)?;
                still.write(picture)
            })))
        })
    }
}
