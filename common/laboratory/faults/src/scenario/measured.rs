//! Figures of one run.

use std::time::Duration;

use crate::daemons::Held;
use crate::logs::{Picture, gaps, longest_gap, percentile};
use crate::machine::stalls::Stalls;
use crate::scenario::event::Event;

/// State of both daemons at some time. The first of each pair is the sender's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// Milliseconds, as all times.
    pub(crate) at: f64,
    /// Number of earlier starts of each.
    pub(crate) lives: [usize; 2],
    pub(crate) held: [Held; 2],
    /// Most memory since the last look, bytes.
    pub(crate) memory_most: [u64; 2],
    /// Clock offset that the receiver reports.
    pub(crate) clock_offset: Option<f64>,
    /// Pictures that the end which is watched has shown, where only its statistics tell.
    pub(crate) shown: u64,
}

/// An event that has happened.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// Time at which it was put in, milliseconds, as all times, and at which the next one was.
    pub(crate) at: f64,
    pub(crate) until: f64,
    pub(crate) event: Event,
    /// Acts of a hostile peer.
    pub(crate) acts: u64,
    /// Growth of the daemons' memory between these times, bytes, lines in their logs and processor time.
    pub(crate) growth: [u64; 2],
    pub(crate) lines: [usize; 2],
    pub(crate) time: [Duration; 2],
}

impl Span {
    /// Returns an event that has cost nothing yet.
    pub(crate) fn new(at: f64, event: Event) -> Self {
        Self { at, until: at, event, acts: 0, growth: [0; 2], lines: [0; 2], time: [Duration::ZERO; 2] }
    }
}

/// One run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Pictures in the order of display, those after the scenario's begin.
    pub(crate) pictures: Vec<Picture>,
    /// The scenario's length.
    pub(crate) length: f64,
    /// Time between two pictures of the source.
    pub(crate) interval: f64,
    /// Bit rate that the sender was told, bits a second.
    pub(crate) rate_told: f64,
    /// Average capacity of the line, at most the rate that the sender was told, after the first second; bits a second.
    pub(crate) capacity: f64,
    /// Bits a second that came from the sender, by seconds since the scenario's begin.
    pub(crate) rates: Vec<f64>,
    /// Queueing delay of each datagram on the line from the sender, ms.
    pub(crate) queueing_ms: Vec<f64>,
    /// Largest growth of the daemons' memory since the scenario's begin, bytes: sender and receiver.
    pub(crate) growth: [u64; 2],
    /// Largest memory of the daemons, bytes: sender and receiver.
    pub(crate) memory: [u64; 2],
    /// Times at which something that was gone came back: a killed daemon was started again, a stopped one went on.
    pub(crate) returns: Vec<f64>,
    /// Connections that each has had, and lines in the logs since the scenario's begin.
    pub(crate) connections: [usize; 2],
    pub(crate) lines: [usize; 2],
    /// Times that the sender found its path to carry smaller packets only; not a number if it does not say.
    pub(crate) black_holes: f64,
    /// Share of a processor core that the network threads took: sender and receiver.
    pub(crate) network_cpu: [f64; 2],
    /// Sum of the 99th percentiles of the sender's pacing, the wait for a frame's rest and the way to the display.
    pub(crate) queues_p99: f64,
    /// Pictures that were compared: time, and PSNR-Y, dB.
    pub(crate) psnr: Vec<(f64, f64)>,
    /// Bits a second of a TCP flow, by seconds since the scenario's begin.
    pub(crate) tcp_rates: Vec<f64>,
    /// Time until which a hostile peer sent video.
    pub(crate) hostile_until: f64,
    /// Abuses after which the connection did not end with a reason.
    pub(crate) unanswered: Vec<String>,
    /// Stalls of the machine itself, if they could be watched.
    pub(crate) stalls: Option<Stalls>,
    /// The events, in order.
    pub(crate) spans: Vec<Span>,
    /// State of the daemons, each second.
    pub(crate) looks: Vec<Look>,
    /// Back end with which each daemon went on after its device had failed, in words; true if it is the right one.
    pub(crate) backends: Vec<(String, bool)>,
    /// Panics in the daemons' logs.
    pub(crate) panics: usize,
    /// Further remarks.
    pub(crate) notes: Vec<String>,
    /// Percentiles of the latency of a run without impairment: p50, p95, p99.
    pub(crate) clean: Option<[f64; 3]>,
}

impl Measured {
    /// Returns the time within `from` to `to` in which the machine itself stood still.
    pub(crate) fn machine_stalled(&self, from: f64, to: f64) -> f64 {
        self.stalls.as_ref().map_or(0.0, |stalls| stalls.between(from, to))
    }

    /// Gaps between pictures in the time from `from` to `to`, the time's ends taken as pictures.
    pub(crate) fn gaps(&self, from: f64, to: f64) -> Vec<f64> {
        gaps(&self.pictures, from, to)
    }

    pub(crate) fn gap_max(&self) -> f64 {
        longest_gap(&self.pictures, 0.0, self.length)
    }

    /// Returns the longest gap that overlaps the `span` after `from`.
    pub(crate) fn gap_around(&self, from: f64, span: f64) -> f64 {
        let points: Vec<f64> = self.pictures.iter().map(|picture| picture.at).chain([self.length]).collect();
        let overlaps = |pair: &&[f64]| pair[1] > from && pair[0] < from + span;
        points.windows(2).filter(overlaps).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
    }

    /// Returns the time from `at` to the first picture after it; not a number without one.
    pub(crate) fn first_after(&self, at: f64) -> f64 {
        self.pictures.iter().find(|picture| picture.at >= at).map_or(f64::NAN, |picture| picture.at - at)
    }

    /// Returns the gap at each event.
    pub(crate) fn gaps_at_events(&self) -> Vec<f64> {
        self.spans.iter().map(|span| self.gap_around(span.at, 100.0)).collect()
    }

    /// Latencies of the pictures shown from `from` to `to`.
    pub(crate) fn latencies(&self, from: f64, to: f64) -> Vec<f64> {
        let inside = self.pictures.iter().filter(|picture| picture.at >= from && picture.at < to);
        inside.filter_map(|picture| picture.latency).collect()
    }

    /// Returns p50, p95 and p99 of all latencies.
    pub(crate) fn latency(&self) -> [f64; 3] {
        let all = self.latencies(0.0, self.length);
        [0.5, 0.95, 0.99].map(|share| percentile(&all, share))
    }

    /// Returns in words by how much the pictures differ from those of the same scenario without sound.
    pub(crate) fn against(&self, silent: &Self) -> String {
        let gap_p99 = |run: &Self| percentile(&run.gaps(0.0, run.length), 0.99);
        let [p50, p95, p99] = [0, 1, 2].map(|at| self.latency()[at] - silent.latency()[at]);
        let (gap, most) = (gap_p99(self) - gap_p99(silent), self.gap_max() - silent.gap_max());
        format!(
            "pictures against those without sound: latency {p50:+.1}/{p95:+.1}/{p99:+.1} ms, gap p99 {gap:+.1}, most {most:+.0}"
        )
    }

    /// Returns the part shown of the pictures that the sender gave numbers to.
    pub(crate) fn presented(&self) -> f64 {
        let (mut numbered, mut first) = (0, 0);
        for (at, picture) in self.pictures.iter().enumerate() {
            let next = self.pictures.get(at + 1).map(|next| next.frame);
            if next.is_none_or(|next| next <= picture.frame) {
                numbered += picture.frame - self.pictures[first].frame + 1;
                first = at + 1;
            }
        }
        self.pictures.len() as f64 / numbered.max(1) as f64
    }

    /// Returns the share of the pictures shown that `is` holds for.
    pub(crate) fn share(&self, is: impl Fn(&Picture) -> bool) -> f64 {
        self.pictures.iter().filter(|picture| is(picture)).count() as f64 / self.pictures.len().max(1) as f64
    }

    /// Times a number fell although no daemon had been started again.
    pub(crate) fn steps_back(&self) -> usize {
        let pairs = self.pictures.windows(2);
        let falls = pairs.filter(|pair| pair[1].frame <= pair[0].frame);
        let restarts = || self.spans.iter().map(|span| span.at).chain(self.returns.iter().copied());
        falls.filter(|pair| !restarts().any(|at| at < pair[1].at && at > pair[0].at - 3_000.0)).count()
    }

    /// Returns the longest time for which each picture lacked coarse blocks.
    pub(crate) fn coarse_gap_max(&self) -> f64 {
        let whole = self.pictures.iter().filter(|picture| picture.missing_coarse == 0).map(|picture| picture.at);
        let points: Vec<f64> = std::iter::once(0.0).chain(whole).chain([self.length]).collect();
        points.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
    }

    /// Returns the mean of the values from `from` on.
    pub(crate) fn mean(values: &[f64], from: usize) -> f64 {
        let values = values.get(from..).unwrap_or_default();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    }

    /// Returns the mean bit rate of the seconds from `from` to `to`.
    pub(crate) fn rate(&self, from: usize, to: usize) -> f64 {
        Self::mean(&self.rates[..to.min(self.rates.len())], from)
    }
}
