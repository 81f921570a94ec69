//! `wavelet subbands`: pictures and arrays with other subbands.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use kernels::Element;
use lab::Values;
use lab::subbands::{Change, Part, change};
use picture::frame::{Chroma, ColourSpace, FrameSize};
use picture::pyramid::Pyramid;
use picture::weights::Orientation;

use crate::args::{ComputeArgs, SubbandsArgs, TransformArgs};
use crate::io::{Kind, PICTURES, Reader, npy};
use crate::mesh::Mesh;
use crate::{options, square, stream};

/// Changes subbands of `input` and writes `output`.
pub(crate) fn subbands(
    input: &Path,
    output: &Path,
    args: &SubbandsArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<String> {
    let changes = changes(args)?;
    let options = options::transform(transform)?;
    let is_array = Kind::of(input, &[Kind::Npy]).is_ok();
    Kind::of(output, if is_array { &ARRAYS } else { &PICTURES })?;
    if let Some(rest) = &args.rest {
        ensure!(rest != output, "{} is named twice: give the rest its own file", rest.display());
        Kind::of(rest, if is_array { &ARRAYS } else { &PICTURES })?;
    }
    let own = Planes::read(input, is_array, options.element)?;
    let other = args.from.as_deref().map(|path| Planes::read(path, is_array, options.element)).transpose()?;
    if let (Some(other), Some(path)) = (&other, &args.from) {
        ensure!(
            (other.size, other.values.len()) == (own.size, own.values.len()),
            "{} has {} channels of {}, not {} of {} as {} has",
            path.display(),
            other.values.len(),
            other.size,
            own.values.len(),
            own.size,
            input.display()
        );
    }
    // Channel by channel, since an array has any number of them.
    let params = options.params(own.size, Chroma::Grey);
    let pyramids = params.pyramids();
    let levels = pyramids.iter().map(Pyramid::levels).min().unwrap_or(0);
    for (part, _) in &changes {
        if let Part::Detail(range, _) = part {
            let beyond = *range.end() > levels && range.end() < &ALL;
            ensure!(!beyond, "there is no level {}: there are {levels} of {}", range.end(), own.size);
        }
    }
    let mut engine = lab::open_transform(&params, compute.backend, compute.device.as_deref())?;
    let mut planes = Vec::new();
    for (channel, plane) in own.values.iter().enumerate() {
        let mut squares = engine.forward_planes(plane)?;
        let others = other.as_ref().map(|other| engine.forward_planes(&other.values[channel])).transpose()?;
        change(&mut squares, &pyramids, &changes, others.as_ref());
        planes.push(engine.inverse(&squares)?);
    }
    let (channels, size) = (planes.len(), own.size);
    let rest = args
        .rest
        .as_deref()
        .map(|path| (path, own.values.iter().zip(&planes).map(|(own, changed)| less(own, changed)).collect()));
    for (path, planes) in [(output, planes)].into_iter().chain(rest) {
        let planes = joined(planes).context("there is no channel")?;
        match own.colour {
            None => match Kind::of(path, &ARRAYS)? {
                Kind::Npy => npy::write(path, &planes, (size.height(), size.width()))?,
                kind => mesh(path, kind, &planes, size)?,
            },
            Some(colour) => {
                let chroma = if channels == 1 { Chroma::Grey } else { Chroma::C444 };
                square::write(path, &options.params(size, chroma), colour, planes)?;
            }
        }
    }
    let backend = engine.backend();
    Ok(format!("{channels} x {size}, {}: {}\n", backend.kind, backend.device))
}

/// The kinds of file that an array becomes: an array, or, of three channels of coordinates, a mesh or a picture of it.
const ARRAYS: [Kind; 3] = [Kind::Npy, Kind::Obj, Kind::Png];

fn mesh(output: &Path, kind: Kind, planes: &Values, size: FrameSize) -> Result<()> {
    let name = output.display();
    let channels: Vec<Vec<f32>> = match planes {
        Values::F32(channels) => channels.clone(),
        Values::F64(channels) => channels.iter().map(|channel| channel.iter().map(|&at| at as f32).collect()).collect(),
        Values::I32(channels) => channels.iter().map(|channel| channel.iter().map(|&at| at as f32).collect()).collect(),
    };
    let [x, y, z] = &channels[..] else {
        bail!(
            "{name}: a mesh is made of three channels, x, y and z, not of {}: write the array to .npy",
            channels.len()
        );
    };
    let mesh = Mesh::new([x, y, z], size.width());
    if kind == Kind::Obj {
        return std::fs::write(output, mesh.obj()).with_context(|| format!("{name} cannot be written"));
    }
    let (side, grey) = mesh.picture();
    let picture = image::save_buffer(output, &grey, side as u32, side as u32, image::ExtendedColorType::L8);
    picture.with_context(|| format!("{name} cannot be written"))
}

/// Channels of a picture, centred at 0, or of an array, as they are.
struct Planes {
    size: FrameSize,
    /// Each channel alone.
    values: Vec<Values>,
    /// Meaning of a picture's.
    colour: Option<ColourSpace>,
}

impl Planes {
    fn read(path: &Path, is_array: bool, element: Element) -> Result<Self> {
        if is_array {
            let shape = npy::shape(path)?;
            let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
            let size = FrameSize::new(side(shape.2), side(shape.1)).with_context(|| path.display().to_string())?;
            let values = separate(npy::read(path, element, shape)?);
            return Ok(Self { size, values, colour: None });
        }
        let mut reader = Reader::open(path)?;
        reader.check_exact(path)?;
        reader.warn_of_transparency(path);
        let info = reader.info();
        let data = reader.first(path)?;
        // All channels have one size.
        let chroma = if stream::own_chroma(info.format) == Chroma::Grey { Chroma::Grey } else { Chroma::C444 };
        let planes = kernels::parts::reference::colour::planes(info.picture(&data)?, chroma);
        let of = |plane: Vec<f32>| match element {
            Element::F32 => Values::F32(vec![plane]),
            Element::F64 => Values::F64(vec![plane.into_iter().map(f64::from).collect()]),
            Element::I32 => Values::I32(vec![plane.into_iter().map(|sample| sample.round() as i32).collect()]),
        };
        Ok(Self { size: info.size, values: planes.into_iter().map(of).collect(), colour: Some(info.colour) })
    }
}

fn separate(values: Values) -> Vec<Values> {
    match values {
        Values::F32(channels) => channels.into_iter().map(|channel| Values::F32(vec![channel])).collect(),
        Values::F64(channels) => channels.into_iter().map(|channel| Values::F64(vec![channel])).collect(),
        Values::I32(channels) => channels.into_iter().map(|channel| Values::I32(vec![channel])).collect(),
    }
}

/// Returns one less the other.
fn less(one: &Values, other: &Values) -> Values {
    fn each<T: Copy>(one: &[Vec<T>], other: &[Vec<T>], less: impl Fn(T, T) -> T) -> Vec<Vec<T>> {
        let channels = one.iter().zip(other);
        channels.map(|(one, other)| one.iter().zip(other).map(|(&one, &other)| less(one, other)).collect()).collect()
    }
    match (one, other) {
        (Values::F32(one), Values::F32(other)) => Values::F32(each(one, other, |a, b| a - b)),
        (Values::F64(one), Values::F64(other)) => Values::F64(each(one, other, |a, b| a - b)),
        (Values::I32(one), Values::I32(other)) => Values::I32(each(one, other, i32::wrapping_sub)),
        _ => one.clone(),
    }
}

/// Returns the channels as one value; `None` if there is none.
fn joined(channels: Vec<Values>) -> Option<Values> {
    channels.into_iter().reduce(|mut all, next| {
        match (&mut all, next) {
            (Values::F32(all), Values::F32(next)) => all.extend(next),
            (Values::F64(all), Values::F64(next)) => all.extend(next),
            (Values::I32(all), Values::I32(next)) => all.extend(next),
            _ => {}
        }
        all
    })
}

/// Returns what is asked for: gains, thresholds, then what is taken from another picture.
fn changes(args: &SubbandsArgs) -> Result<Vec<(Part, Change)>> {
    let SubbandsArgs { gain, threshold, take, larger, from, rest: _ } = args;
    let takes = !take.is_empty() || !larger.is_empty();
    ensure!(takes == from.is_some(), "--take and --larger go with --from FILE, and it with one of them");
    let mut changes = Vec::new();
    for text in gain {
        let (part, value) = part_and_number("--gain", text)?;
        ensure!(value.abs() <= 1000.0, "--gain {text}: a gain is at most 1000");
        changes.push((part, Change::Gain(value)));
    }
    for text in threshold {
        let (part, value) = part_and_number("--threshold", text)?;
        ensure!(value >= 0.0, "--threshold {text}: a threshold is not negative");
        changes.push((part, Change::Threshold(value)));
    }
    for (name, texts, change) in [("--take", take, Change::Take), ("--larger", larger, Change::Larger)] {
        for text in texts {
            changes.push((part(text).with_context(|| format!("{name} {text}: {PARTS}"))?, change));
        }
    }
    ensure!(!changes.is_empty(), "nothing is to be changed: ask for --gain, --threshold, --take or --larger");
    Ok(changes)
}

/// The last of all levels, more than there are of any picture.
const ALL: usize = usize::MAX;

/// Names of subbands.
const PARTS: &str =
    "subbands are `low`, `all`, a level such as 1 or levels such as 2-4, these with h, v or d for one direction";

fn part_and_number(name: &str, text: &str) -> Result<(Part, f64)> {
    let parsed = text.split_once('=').and_then(|(of, value)| Some((part(of)?, value.parse::<f64>().ok()?)));
    match parsed {
        Some((part, value)) if value.is_finite() => Ok((part, value)),
        _ => bail!("{name} {text}: write SUBBANDS=NUMBER; {PARTS}"),
    }
}

fn part(text: &str) -> Option<Part> {
    if text == "low" {
        return Some(Part::Low);
    }
    let directions = [('h', Orientation::HL), ('v', Orientation::LH), ('d', Orientation::HH)];
    let found = directions.into_iter().find_map(|(name, of)| Some((text.strip_suffix(name)?, of)));
    let (levels, orientation) = found.map_or((text, None), |(levels, of)| (levels, Some(of)));
    let levels = match (levels, levels.split_once('-')) {
        ("all" | "", _) => 1..=ALL,
        (_, Some((first, last))) => first.parse().ok()?..=last.parse().ok()?,
        (one, None) => {
            let one = one.parse().ok()?;
            one..=one
        }
    };
    (*levels.start() >= 1 && levels.start() <= levels.end() && !text.is_empty())
        .then_some(Part::Detail(levels, orientation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subbands_have_names() {
        assert_eq!(part("low"), Some(Part::Low));
        assert_eq!(part("3"), Some(Part::Detail(3..=3, None)));
        assert_eq!(part("2-4v"), Some(Part::Detail(2..=4, Some(Orientation::LH))));
        assert_eq!(part("allh"), Some(Part::Detail(1..=ALL, Some(Orientation::HL))));
        for wrong in ["", "0", "4-2", "x", "1-", "-1", "1hh"] {
            assert_eq!(part(wrong), None, "{wrong}");
        }
    }
}
