//! One scenario with both daemons.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use common::netsim::lines;
use common::units::Bitrate;

use crate::daemons::Daemon;
use crate::flood::Flooding;
use crate::logs;
use crate::machine::route::Route;
use crate::machine::stalls::Watch;
use crate::relay::Passed;
use crate::scenario::case::Case;
use crate::scenario::measured::Measured;
use crate::scenario::scene::{LOOK_EVERY, Scene};
use crate::scenario::setup::Stream;
use crate::scenario::sound::{self, Sound};
use crate::testbed::unix_time;
use crate::testbed::{RECEIVER, SENDER};

/// Runs `case` for `length`. Files go to `folder`.
pub(crate) fn run(case: &Case, stream: &Stream, folder: &Path, length: Duration) -> Result<(Measured, Passed)> {
    let mut scene = Scene::begin(case, stream, folder)?;
    let (began, began_unix) = (Instant::now(), unix_time()?);
    let watch = Watch::start(folder)?;
    let scene_began = began - scene.relay.began();
    let mut run = Measured {
        length: length.as_secs_f64() * 1e3,
        interval: scene.setup.interval().as_secs_f64() * 1e3,
        rate_told: scene.setup.rate().parse::<Bitrate>()?.as_bps() as f64,
        ..Measured::default()
    };
    run.capacity = lines::capacity(&case.there, run.rate_told, Duration::from_secs(1), length);
    let before = scene.pair.held();
    let network_time = |scene: &Scene| scene.pair.each(Daemon::network_time);
    let network_before = network_time(&scene);
    let mut totals = vec![scene.totals()];
    // An event that has begun ends; a patient call shows its pictures once more.
    while began.elapsed() < length || (case.is_patient && (scene.has_steps() || !scene.is_back()?)) {
        std::thread::sleep(LOOK_EVERY);
        scene.go_on(began)?;
        if began.elapsed() >= Duration::from_secs(totals.len() as u64) {
            totals.push(scene.totals());
            run.looks.push(scene.look(began.elapsed()));
        }
    }
    scene.close(began.elapsed().as_secs_f64() * 1e3)?;
    match (scene.model.take(), scene.setup.sound()) {
        (Some(model), _) => run.notes.push(model.end()?),
        (None, Some(Sound::On)) => {
            let stats = scene.setup.text_of(RECEIVER, scene.pair.life(RECEIVER), "jsonl");
            run.notes.push(sound::Heard::of(&stats, began_unix).to_string());
        }
        (None, told) => run.notes.extend(told.map(|_| "without sound".to_owned())),
    }
    run.stalls = watch.map(|watch| watch.end(began_unix, began_unix + length)).transpose()?;
    let (network, after) = (network_time(&scene), scene.pair.held());
    let took = [SENDER, RECEIVER].map(|end| after[end].time.saturating_sub(before[end].time));
    for end in [SENDER, RECEIVER] {
        let share = network[end].saturating_sub(network_before[end]).div_duration_f64(began.elapsed());
        run.network_cpu[end] = share;
        let looks = run.looks.iter().map(|look| look.memory_most[end]).max();
        run.memory[end] = looks.unwrap_or(0).max(scene.most_of_look[end]);
        run.growth[end] = run.memory[end].saturating_sub(before[end].memory);
        run.lines[end] = after[end].lines.saturating_sub(before[end].lines);
    }
    if scene.floods.len() == 1 {
        run.notes.extend(scene.floods.drain(..).map(Flooding::note));
    }
    if let Some(hostile) = scene.hostile.take() {
        let said = hostile.end()?;
        run.notes.push(said.note);
        run.unanswered = said.unanswered;
        run.notes.extend(scene.setup.confined.as_ref().map(|[_, receiver]| receiver.kind().to_owned()));
    }
    [SENDER, RECEIVER].into_iter().try_for_each(|end| scene.note_backend(end))?;
    let Scene { setup, mut pair, relay, bulk, backends, spans, returns, hostile_until, .. } = scene;
    (run.backends, run.spans, run.returns) = (backends, spans, returns);
    run.hostile_until = hostile_until.unwrap_or(run.length);
    for end in [SENDER, RECEIVER] {
        pair.ends[end].take().map_or(Ok(()), Daemon::stop)?;
    }
    let passed = relay.stop();
    let rates = |of: fn(&[u64; 2]) -> u64| {
        totals.windows(2).map(|pair| 8.0 * of(&pair[1]).saturating_sub(of(&pair[0])) as f64).collect()
    };
    (run.rates, run.tcp_rates) = (rates(|totals| totals[0]), rates(|totals| totals[1]));
    if bulk.is_some() {
        let from = run.tcp_rates.iter().take_while(|rate| **rate == 0.0).count();
        run.notes.push(format!("TCP {:.1} Mbit/s", Measured::mean(&run.tcp_rates, from) / 1e6));
    }
    if case.route == Route::Relay {
        run.rates = passed.rates(scene_began, length);
        run.queueing_ms = passed.queueing_ms(scene_began, length);
        if run.capacity < run.rate_told {
            run.notes.push(format!(
                "{:.0} % of the line, queueing delay p95 {:.0} ms",
                1e2 * run.rate(1, run.rates.len()) / run.capacity,
                logs::percentile(&run.queueing_ms, 0.95)
            ));
        }
    }
    let [sender, receiver] = [SENDER, RECEIVER].map(|end| setup.file_of(end, 0, "jsonl"));
    run.black_holes = logs::black_holes(&sender);
    run.queues_p99 = logs::queues_p99(&sender, &receiver);
    run.psnr = setup.quality.as_ref().map(|quality| quality.since(began)).unwrap_or_default();
    if case.needs_clock() && !setup.text_of(SENDER, 0, "log").contains("1970-01-01T") {
        bail!("the sender's clock has not changed");
    }
    for end in [SENDER, RECEIVER] {
        for number in 0..pair.starts[end] {
            let log = setup.text_of(end, number, "log");
            run.connections[end] += log.matches("connected to ").count();
            run.panics += log.matches("panicked at").count();
            if end == RECEIVER && case.cameras.is_none() {
                run.pictures.extend(logs::pictures(&setup.file_of(end, number, "pictures"), began_unix)?);
            }
        }
    }
    run.pictures.retain(|picture| (0.0..run.length).contains(&picture.at));
    if let Some(prediction) = setup.prediction() {
        run.notes.push(logs::coding(prediction, &sender, &receiver, took, run.pictures.len()));
    }
    run.notes.extend((case.note)(&run));
    Ok((run, passed))
}
