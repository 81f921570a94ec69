//! `wavelet effects`: pictures as the sender would code them with its effects.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use kernels::EffectsFilter;
use picture::effects::{Effect, Effects};
use picture::params::CodecParams;

use crate::args::EffectsArgs;
use crate::io::{Reader, Writer};
use crate::progress::count;
use crate::stream;

/// Writes every picture of `input` with the effects to `output`.
pub(crate) fn effects(input: &Path, output: &Path, args: &EffectsArgs) -> Result<String> {
    let effects = asked(args)?;
    let mut reader = Reader::open(input)?;
    let info = reader.info();
    reader.warn(input);
    let params = stream::stream_params(&info, stream::own_chroma(info.format), CodecParams::default());
    let mut filter = EffectsFilter::new(params.size, params.chroma);
    let (mut out, mut pictures) = (filter.room(), 0);
    let mut writer = Writer::create(output, stream::decoded_info(&params))?;
    while let Some(data) = reader.next()? {
        let apply = |picture| filter.apply(&effects, picture, &mut out);
        info.picture(&data).and_then(apply).with_context(|| format!("{} has no effects", input.display()))?;
        writer.write(out.data())?;
        pictures += 1;
    }
    ensure!(pictures > 0, "{}: there is no picture in it", input.display());
    writer.finish()?;
    Ok(format!("{} of {}, {effects}\n", count(pictures), params.size))
}

/// Returns the effects asked for, at least one.
fn asked(args: &EffectsArgs) -> Result<Effects> {
    let mut effects = Effects::default();
    for (effect, value) in [
        (Effect::Detail, args.detail),
        (Effect::Noise, args.noise),
        (Effect::StillNoise, args.still_noise),
        (Effect::EvenLight, args.even_light),
    ] {
        if let Some(value) = value {
            effects = effects.with(effect, value).map_err(|_| {
                anyhow::anyhow!("--{} takes {}, not {value}", effect.name().replace('_', "-"), effect.takes())
            })?;
        }
    }
    if effects.is_off() {
        bail!("there is nothing to do: ask for --detail, --noise, --still-noise or --even-light");
    }
    Ok(effects)
}
