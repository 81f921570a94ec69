//! The description of an array of coefficients that it does not contain itself: `OUT.npy.json` beside `OUT.npy`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kernels::Element;
use lab::bank::FilterBank;
use lab::{Filter, Lifting, TransformParams, WAVELETS};
use picture::frame::{Chroma, ColourSpace, FrameSize, Matrix, Range};
use picture::params::{Boundary, Levels, Padding};
use serde::{Deserialize, Serialize};

/// The channels of the reversible colour transform.
const REVERSIBLE: [&str; 3] = ["Y", "U", "V"];

/// The file's keys.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SideFile {
    width: u32,
    height: u32,
    /// `["Y"]`, `["Y", "Cb", "Cr"]` or, of the reversible colour transform of RGB, `["Y", "U", "V"]`.
    channels: Vec<String>,
    /// `bt601` or `bt709`.
    matrix: String,
    /// `limited` or `full`.
    range: String,
    /// Either this or a filter bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    wavelet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter_bank: Option<FilterBank>,
    /// `full` or a number.
    levels: String,
    boundary: String,
    padding: String,
    /// `f32`, `f64`, or `i32` for `cdf53`.
    precision: String,
}

impl SideFile {
    /// The file for coefficients that `params` make of pictures in `colour`. `reversible`: of RGB by the reversible colour
    /// transform.
    pub(crate) fn describe(params: &TransformParams, colour: ColourSpace, reversible: bool) -> Self {
        let (wavelet, filter_bank) = match &params.filter {
            Filter::Lifted(wavelet) => (Some(wavelet.to_string()), None),
            Filter::Bank(bank) => (None, Some(bank.as_ref().clone())),
        };
        Self {
            width: params.size.width() as u32,
            height: params.size.height() as u32,
            channels: match reversible {
                true => REVERSIBLE.map(str::to_owned).to_vec(),
                false => params.chroma.channels().iter().map(|channel| format!("{channel:?}")).collect(),
            },
            matrix: lower(colour.matrix),
            range: lower(colour.range),
            wavelet,
            filter_bank,
            levels: match params.levels {
                Levels::Full => "full".to_owned(),
                Levels::AtMost(levels) => levels.to_string(),
            },
            boundary: lower(params.boundary),
            padding: lower(params.padding),
            precision: params.element.to_string(),
        }
    }

    /// The transform, in the back end's own scheme, the meaning of the samples, and true if they are of the reversible colour
    /// transform.
    fn params(self) -> Result<(TransformParams, ColourSpace, bool)> {
        let colour = ColourSpace {
            matrix: named("matrix", &self.matrix, &[Matrix::Bt601, Matrix::Bt709])?,
            range: named("range", &self.range, &[Range::Limited, Range::Full])?,
        };
        let channels: Vec<_> = self.channels.iter().map(String::as_str).collect();
        let params = TransformParams {
            size: FrameSize::new(self.width, self.height)?,
            chroma: match channels[..] {
                ["Y"] => Chroma::Grey,
                ["Y", "Cb", "Cr"] | ["Y", "U", "V"] => Chroma::C444,
                _ => bail!("channels must be [\"Y\"], [\"Y\", \"Cb\", \"Cr\"] or [\"Y\", \"U\", \"V\"]"),
            },
            filter: match (self.wavelet, self.filter_bank) {
                (Some(wavelet), None) => Filter::Lifted(lifting(&wavelet)?),
                (None, Some(bank)) => Filter::Bank(Arc::new(bank)),
                _ => bail!("there must be either a wavelet or a filter_bank"),
            },
            levels: match (self.levels.as_str(), self.levels.parse()) {
                ("full", _) => Levels::Full,
                (_, Ok(levels @ 1..=14)) => Levels::AtMost(levels),
                (other, _) => bail!("levels `{other}` is neither `full` nor a number from 1 to 14"),
            },
            boundary: named("boundary", &self.boundary, &[Boundary::Symmetric, Boundary::Periodic, Boundary::Zero])?,
            padding: named("padding", &self.padding, &[Padding::Smooth, Padding::Zero])?,
            element: named("precision", &self.precision, &[Element::F32, Element::F64, Element::I32])?,
            scheme: None,
        };
        params.check()?;
        let reversible = channels[..] == REVERSIBLE;
        if reversible && params.element != Element::I32 {
            bail!("channels [\"Y\", \"U\", \"V\"] are of the wavelet cdf53 only");
        }
        Ok((params, colour, reversible))
    }

    /// Writes the file beside `array`.
    pub(crate) fn write(&self, array: &Path) -> Result<()> {
        let path = path_beside(array);
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Reads the file beside `array`.
    pub(crate) fn read(array: &Path) -> Result<(TransformParams, ColourSpace, bool)> {
        let path = path_beside(array);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{}, which says the size and options, cannot be read", path.display()))?;
        let parsed = serde_json::from_str::<Self>(&text).map_err(anyhow::Error::from);
        parsed.and_then(Self::params).with_context(|| format!("{} is wrong", path.display()))
    }
}

fn path_beside(array: &Path) -> PathBuf {
    let mut name = array.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// Returns a name as files and options spell it.
fn lower(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

/// Returns the value called `name` among `values`.
fn named<T: std::fmt::Debug + Copy>(what: &str, name: &str, values: &[T]) -> Result<T> {
    let names = || values.iter().map(lower).collect::<Vec<_>>().join(", ");
    let found = values.iter().find(|value| lower(value) == name);
    found.copied().with_context(|| format!("{what} `{name}` is not known: there is {}", names()))
}

/// Returns the wavelet of this name.
fn lifting(name: &str) -> Result<Lifting> {
    let names = || WAVELETS.map(|wavelet| wavelet.name).join(", ");
    let found = WAVELETS.into_iter().find(|wavelet| wavelet.name == name);
    found.with_context(|| format!("wavelet `{name}` is not known: there is {}", names()))
}

#[cfg(test)]
mod tests {
    use lab::{CDF53, CDF97, DD137};

    use super::*;

    #[test]
    fn a_side_file_says_everything_it_was_made_from() {
        let bank = FilterBank::of(&DD137);
        for (filter, element, levels, reversible) in [
            (Filter::Lifted(CDF97), Element::F64, Levels::Full, false),
            (Filter::Lifted(CDF53), Element::I32, Levels::AtMost(5), false),
            (Filter::Lifted(CDF53), Element::I32, Levels::Full, true),
            (Filter::Bank(Arc::new(bank)), Element::F32, Levels::AtMost(1), false),
        ] {
            let params = TransformParams {
                size: FrameSize::new(37, 21).unwrap(),
                chroma: Chroma::C444,
                filter,
                levels,
                boundary: Boundary::Periodic,
                padding: Padding::Zero,
                element,
                scheme: None,
            };
            let text = serde_json::to_string(&SideFile::describe(&params, ColourSpace::JPEG, reversible)).unwrap();
            let read: SideFile = serde_json::from_str(&text).unwrap();
            assert_eq!(read.params().unwrap(), (params, ColourSpace::JPEG, reversible), "{text}");
        }
    }
}
