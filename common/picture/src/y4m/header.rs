//! The header line of Y4M, read.

use super::error::Y4mError;
use super::{MAGIC, MATRIX_KEY, RANGE_KEY, Y4mHeader, default_matrix, matrix_name, range_name};
use crate::frame::{BitDepth, Chroma, ColourSpace, FrameRate, FrameSize, Matrix, PixelAspect, Range, Raster, Siting};

/// Key of the sampling as older programs write it, after the `X` of a comment.
const SAMPLING_KEY: &str = "YSCSS=";

/// Parses a header line; also returns true if its pictures are 4:2:2.
pub(super) fn parse(line: &str) -> Result<(Y4mHeader, bool), Y4mError> {
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    if words.next().is_none_or(|word| word.trim_end_matches('\r') != MAGIC) {
        return Err(Y4mError::NoHeader);
    }
    if line.ends_with('\r') {
        let message = "its header ends with a carriage return before the line feed (CR LF), where a line feed alone is right: \
                       a program for texts has changed or written the file, and pictures that it has changed are lost";
        return Err(Y4mError::Header(message.to_owned()));
    }
    let (mut width, mut height, mut rate, mut sampling, mut older) = (None, None, None, None, None);
    let (mut range, mut matrix, mut aspect) = (Range::Limited, None, PixelAspect::UNKNOWN);
    for word in words {
        match word.split_at_checked(1) {
            Some(("W", value)) => width = side(value),
            Some(("H", value)) => height = side(value),
            Some(("F", value)) => rate = parse_rate(value)?,
            Some(("A", value)) => aspect = parse_aspect(value)?,
            Some(("C", value)) => sampling = Some(value),
            Some(("X", comment)) => {
                if let Some(name) = comment.strip_prefix(RANGE_KEY) {
                    range = if name == range_name(Range::Full) { Range::Full } else { Range::Limited };
                } else if let Some(name) = comment.strip_prefix(MATRIX_KEY) {
                    matrix = [Matrix::Bt601, Matrix::Bt709].into_iter().find(|&matrix| matrix_name(matrix) == name);
                } else if let Some(name) = comment.strip_prefix(SAMPLING_KEY) {
                    older = Some(name);
                }
            }
            _ => {}
        }
    }
    let (Some(width), Some(height)) = (width, height) else {
        return Err(Y4mError::Header("its header does not name width and height".to_owned()));
    };
    let size = FrameSize::new(width, height).map_err(|error| Y4mError::Header(error.to_string()))?;
    let name = sampling.or(older).unwrap_or("420").to_ascii_lowercase();
    let (chroma, depth) = match name.as_str() {
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => (Chroma::C420, BitDepth::Eight),
        "444" | "422" => (Chroma::C444, BitDepth::Eight),
        "mono" => (Chroma::Grey, BitDepth::Eight),
        "420p10" => (Chroma::C420, BitDepth::Ten),
        "444p10" => (Chroma::C444, BitDepth::Ten),
        "mono10" => (Chroma::Grey, BitDepth::Ten),
        _ => {
            let word =
                sampling.map_or_else(|| format!("X{SAMPLING_KEY}{}", older.unwrap_or_default()), |it| format!("C{it}"));
            let message = format!(
                "its colour space is `{word}`: only C420, C444 and Cmono with 8 or 10 bits and C422 with 8 can be used"
            );
            return Err(Y4mError::Header(message));
        }
    };
    let colour = ColourSpace { matrix: matrix.unwrap_or(default_matrix(size)), range };
    let raster = Raster { siting: Siting::from_name(&name).unwrap_or_default(), aspect };
    Ok((Y4mHeader { size, rate, chroma, raster, depth, colour }, name == "422"))
}

/// Parses a width or height; a number beyond `u32` counts as its largest.
fn side(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u32::MAX))
}

/// Parses `numerator:denominator`.
fn fraction(value: &str) -> Option<(u32, u32)> {
    value.split_once(':').and_then(|(n, d)| Some((n.parse().ok()?, d.parse().ok()?)))
}

/// Parses a rate; `0:0` means that it is not known.
fn parse_rate(value: &str) -> Result<Option<FrameRate>, Y4mError> {
    if value == "0:0" {
        return Ok(None);
    }
    let rate = fraction(value).and_then(|(numerator, denominator)| FrameRate::new(numerator, denominator));
    rate.map(Some).ok_or_else(|| {
        let message = format!("its frame rate `{value}` is not possible: it must be above 0 and at most 1000");
        Y4mError::Header(message)
    })
}

/// Parses the shape of a pixel; with a 0 it is not known.
fn parse_aspect(value: &str) -> Result<PixelAspect, Y4mError> {
    let message = || format!("its shape of a pixel, `A{value}`, is not two whole numbers such as in A10:11");
    let (width, height) = fraction(value).ok_or_else(|| Y4mError::Header(message()))?;
    Ok(PixelAspect::new(width, height).unwrap_or(PixelAspect::UNKNOWN))
}
