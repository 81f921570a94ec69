//! Impairments of a network, and their change with time.

use std::time::Duration;

use super::pauses::Pauses;
use crate::units::Bitrate;

/// Bytes of IPv4 and UDP around a datagram, which take their time on a line, too.
pub const HEADERS_BYTES: usize = 28;
/// Most spreads of [`NetConditions::jitter_spread`] by which a datagram is delayed.
pub const SPREADS_MAX: u32 = 6;

/// Impairments of one direction of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetConditions {
    /// Share of datagrams that vanish, each for itself, 0 to 1.
    pub loss: f64,
    /// Datagrams that vanish several at a time.
    pub bursts: Option<Bursts>,
    /// Share of datagrams that come twice.
    pub duplicate: f64,
    /// Share of datagrams that are overtaken by those that follow.
    pub reorder: f64,
    /// Most datagrams that overtake such a datagram; 0: any number.
    pub reorder_by: u32,
    /// Maximum delay of an overtaken datagram.
    pub reorder_delay: Duration,
    /// One way.
    pub delay: Duration,
    /// Each datagram is delayed by up to this much more, without overtaking.
    pub jitter: Duration,
    /// Each datagram is delayed by the absolute value of a normal deviate of this spread more, at most [`SPREADS_MAX`] of
    /// them, without overtaking.
    pub jitter_spread: Duration,
    /// The narrowest line on the way; none: infinitely fast.
    pub bottleneck: Option<Bottleneck>,
    /// A point that takes no more than a rate for long, but delays nothing: what is beyond it vanishes. The queue tells
    /// how much may come at once.
    pub policer: Option<Bottleneck>,
    /// Larger datagrams vanish, bytes.
    pub datagram_max: usize,
}

/// Loss in bursts (Gilbert, 1960): a line that is good or bad, and loses everything while it is bad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Share of datagrams lost in the long run, 0 to 1.
    pub average: f64,
    /// Datagrams lost in a row, on average; at least 1.
    pub mean_length: f64,
}

/// A line with a queue before it that drops what finds no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// Rate at which it sends.
    pub rate: Bitrate,
    /// The longest that a datagram waits before its own sending begins; one that had to wait longer is dropped.
    pub queue: Duration,
    /// Bytes that each datagram takes on the line besides its own: 28 for IPv4 and UDP.
    pub overhead_bytes: usize,
}

impl NetConditions {
    /// Returns a network that loses nothing and delays by `delay`.
    pub const fn perfect(delay: Duration) -> Self {
        Self {
            loss: 0.0,
            bursts: None,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_by: 0,
            reorder_delay: Duration::ZERO,
            delay,
            jitter: Duration::ZERO,
            jitter_spread: Duration::ZERO,
            bottleneck: None,
            policer: None,
            datagram_max: usize::MAX,
        }
    }

    /// Returns the same network while nothing gets through.
    pub const fn blackout(self) -> Self {
        Self { loss: 1.0, ..self }
    }

    /// Returns the same network behind a line of `rate` whose queue holds what takes `queue` to send.
    pub const fn limited(self, rate: Bitrate, queue: Duration) -> Self {
        Self { bottleneck: Some(Bottleneck { rate, queue, overhead_bytes: HEADERS_BYTES }), ..self }
    }

    /// Returns the same network behind a policer of `rate` that lets through at once what takes `burst` at that rate.
    pub const fn policed(self, rate: Bitrate, burst: Duration) -> Self {
        Self { policer: Some(Bottleneck { rate, queue: burst, overhead_bytes: HEADERS_BYTES }), ..self }
    }

    /// Returns the longest that a datagram can take if no other holds it up behind the bottleneck.
    pub fn delay_max(&self) -> Duration {
        // The largest datagram there is takes this long to send.
        let sending = |line: Bottleneck| Duration::from_secs_f64(8.0 * 65_536.0 / line.rate.as_bps().max(1) as f64);
        let narrow = self.bottleneck.map_or(Duration::ZERO, |line| line.queue + sending(line));
        narrow + self.delay + self.jitter + SPREADS_MAX * self.jitter_spread + self.reorder_delay
    }
}

/// A network that changes: from when on which conditions hold. The seed decides the fate of every datagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    seed: u64,
    /// Conditions by time; the first begin at zero.
    steps: Vec<(Duration, NetConditions)>,
    period: Option<Duration>,
    /// Pauses before the bottleneck, and at the far end.
    pauses: [Pauses; 2],
    held_max: usize,
}

impl Scenario {
    /// Creates a scenario in which the conditions of each line hold from its time on. What the earliest line says holds
    /// before it, too; an empty table is a perfect network.
    pub fn table(lines: &[(Duration, NetConditions)]) -> Self {
        let mut steps = lines.to_vec();
        steps.sort_by_key(|step| step.0);
        match steps.first_mut() {
            Some(first) => first.0 = Duration::ZERO,
            None => steps.push((Duration::ZERO, NetConditions::perfect(Duration::ZERO))),
        }
        Self { seed: 0, steps, period: None, pauses: [Pauses::NONE, Pauses::NONE], held_max: usize::MAX }
    }

    /// Returns the same with another seed (0 at first).
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Lets the table begin anew after every `period`; lines beyond it never hold.
    #[must_use]
    pub fn repeated_every(self, period: Duration) -> Self {
        Self { period: Some(period).filter(|period| !period.is_zero()), ..self }
    }

    /// Adds pauses: what enters in a pause of `before` does so when that ends; what would arrive in one of `after` does
    /// when that ends. A relay that stands still does both, a radio that pauses only one of them.
    #[must_use]
    pub fn paused(self, before: Pauses, after: Pauses) -> Self {
        Self { pauses: [before, after], ..self }
    }

    /// Lets at most so many datagrams wait for the end of a pause before the bottleneck; the others vanish.
    #[must_use]
    pub fn holding(self, datagrams: usize) -> Self {
        Self { held_max: datagrams, ..self }
    }

    pub(super) fn held_max(&self) -> usize {
        self.held_max
    }

    /// Returns the seed: the same seed gives the same losses and delays.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns what holds after `elapsed`.
    pub fn at(&self, elapsed: Duration) -> &NetConditions {
        let within = self.within(elapsed);
        let next = self.steps.partition_point(|step| step.0 <= within);
        &self.steps[next.saturating_sub(1)].1
    }

    /// Returns the time at which the line after the one that holds after `elapsed` begins to hold.
    pub fn next_change(&self, elapsed: Duration) -> Option<Duration> {
        let within = self.within(elapsed);
        let began = elapsed - within;
        let next = self.steps.get(self.steps.partition_point(|step| step.0 <= within)).map(|step| step.0);
        let next = next.filter(|&at| self.period.is_none_or(|period| at < period)).or(self.period);
        next.map(|at| began + at)
    }

    /// Returns the longest that a datagram can take in any of the conditions, as [`NetConditions::delay_max`] says.
    pub fn delay_max(&self) -> Duration {
        let paused: Duration = self.pauses.iter().map(Pauses::longest).sum();
        paused + self.steps.iter().map(|step| step.1.delay_max()).max().unwrap_or_default()
    }

    /// Returns the time at which a datagram that comes to the bottleneck after `elapsed` is let in.
    pub(super) fn let_in(&self, elapsed: Duration) -> Duration {
        self.pauses[0].end(elapsed).unwrap_or(elapsed)
    }

    /// Returns the time at which a datagram that gets to the far end after `elapsed` is let out.
    pub(super) fn let_out(&self, elapsed: Duration) -> Duration {
        self.pauses[1].end(elapsed).unwrap_or(elapsed)
    }

    /// Returns the time in the table.
    fn within(&self, elapsed: Duration) -> Duration {
        match self.period {
            Some(period) => Duration::from_nanos((elapsed.as_nanos() % period.as_nanos()) as u64),
            None => elapsed,
        }
    }
}

impl From<NetConditions> for Scenario {
    fn from(conditions: NetConditions) -> Self {
        Self::table(&[(Duration::ZERO, conditions)])
    }
}
