//! Effects of pictures before they are coded, each alone and all together, in turn.

use std::time::Instant;

use anyhow::Result;
use kernels::EffectsFilter;
use picture::effects::{Effect, Effects};

use super::{Axes, Limit, Subject, Table, medians, ms};
use crate::args::BenchArgs;

/// A value of each that does something.
const SOME: [(Effect, f32); 4] =
    [(Effect::Detail, 1.5), (Effect::Noise, 4.0), (Effect::StillNoise, 4.0), (Effect::EvenLight, 0.5)];

const COLUMNS: [&str; 5] = ["detail_ms", "noise_ms", "still_noise_ms", "even_light_ms", "all_ms"];

pub(crate) fn run(args: &BenchArgs) -> Result<Table> {
    let mut table = Table::new(&[&["picture", "size"], &COLUMNS[..]].concat());
    table.note("on the processor; the picture comes again and again, as of a camera that stands still");
    let add = |all: Effects, (effect, value)| all.with(effect, value);
    let all = SOME.into_iter().try_fold(Effects::default(), add)?;
    let mut sets = [all; 5];
    for (set, one) in sets.iter_mut().zip(SOME) {
        *set = add(Effects::default(), one)?;
    }
    for subject in Subject::all(args)? {
        let params = subject.params();
        let picture = subject.info.picture(&subject.data)?;
        let mut filters = sets.map(|effects| (effects, EffectsFilter::new(params.size, params.chroma)));
        let mut out = EffectsFilter::new(params.size, params.chroma).room();
        let times = medians(Limit::of(args), || {
            let mut times = [Default::default(); 5];
            for (time, (effects, filter)) in times.iter_mut().zip(&mut filters) {
                let start = Instant::now();
                filter.apply(effects, picture, &mut out)?;
                *time = start.elapsed();
            }
            Ok(times)
        })?;
        table.plot(Axes { title: "Effects".to_owned(), values: &COLUMNS, ..Axes::TIMES });
        let mut row = vec![subject.name, params.size.to_string()];
        row.extend(times.map(ms));
        table.push(row);
    }
    Ok(table)
}
