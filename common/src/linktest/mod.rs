//! Measuring a link before a call: round trip, loss, and the rate that it carries without queueing.
//!
//! Frames of made-up bytes stream over a path as a call has it, with a cap that rises; what its rate control finds is the result. The
//! other side shows nothing and sends feedback reports. Like everything here it has no clock: time is an argument.
//!
//! ```text
//! idle: the smallest datagrams: round trip and loss
//! rise: the cap doubles while the target follows it
//! hold: two seconds at nine tenths of where the target stood: round trip and loss under load; less if the target falls
//! turn: all of this from the other side, which tells what it has found
//! ```

mod quality;
mod tester;

use std::time::Duration;

pub use self::quality::{ExpectedPsnr, RateChoice, choices, expected_psnr, recommended};
pub use self::tester::{Measured, Silent};
use self::tester::{RANK, STREAM, Tester};
use crate::path::{Datagram, Directions, Path};
use crate::units::{Bitrate, Timestamp};
use crate::wire::probe::{OtherWay, TestDatagram};

/// From one request that the other side take its turn, or one report of what it has found, to the next.
const AGAIN: Duration = Duration::from_millis(100);
/// A side that has not begun its turn by then will not.
const BEGIN_MAX: Duration = Duration::from_millis(1_500);
/// A side that has begun and is silent for so long has gone.
const SILENCE_MAX: Duration = Duration::from_secs(6);
/// Longest turn.
const TURN_MAX: Duration = Duration::from_secs(35);
/// Time for which a side that has had its turn tells what it has found, unless the other one leaves before.
const TELL_MAX: Duration = Duration::from_secs(5);

/// The findings of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The way from here to there.
    pub there: Measured,
    /// The way from there to here; none: the other side has not measured it.
    pub back: Option<OtherWay>,
}

#[derive(Debug)]
enum Course {
    /// This side measures.
    Measures(Box<Tester>),
    /// It answers; with a turn, the one that it has asked for.
    Answers(Box<Path>, Option<Turn>),
    /// It tells what it has found in its turn.
    Tells {
        found: OtherWay,
        next: Timestamp,
        until: Timestamp,
    },
    Over,
}

/// A turn that was asked for.
#[derive(Clone, Copy, Debug)]
struct Turn {
    has_begun: bool,
    ask_at: Timestamp,
    /// The other side has gone if nothing comes until then, and in any case at the end.
    until: Timestamp,
    end: Timestamp,
}

/// One side of a link test; drain [`Self::poll_datagram`] whenever something has come or [`Self::poll_timeout`] has passed.
#[derive(Debug)]
pub struct LinkTest {
    max_datagram: usize,
    /// True for the side that measures first.
    has_begun: bool,
    course: Course,
    /// Findings of that side.
    there: Option<Measured>,
    outcome: Option<Result<Found, Silent>>,
}

impl LinkTest {
    /// Begins to measure a link whose datagrams hold at most `max_datagram` bytes; the other side takes its turn afterwards.
    pub fn begin(max_datagram: usize, now: Timestamp) -> Self {
        let course = Course::Measures(Box::new(Tester::new(max_datagram, now)));
        Self { max_datagram, has_begun: true, course, there: None, outcome: None }
    }

    /// Answers a side that has begun, and takes its turn when asked.
    pub fn answer(max_datagram: usize, now: Timestamp) -> Self {
        let course = Course::Answers(receiving(now), None);
        Self { max_datagram, has_begun: false, course, there: None, outcome: None }
    }

    /// Returns the result of a side that has begun, once there is one, or that the other side is silent.
    pub fn outcome(&self) -> Option<Result<Found, Silent>> {
        self.outcome
    }

    /// Returns the result, or what there is of it if the test ends now.
    pub fn so_far(&self) -> Option<Result<Found, Silent>> {
        self.outcome.or(self.there.map(|there| Ok(Found { there, back: None })))
    }

    /// Returns true while this side sends the load.
    pub fn is_measuring(&self) -> bool {
        matches!(self.course, Course::Measures(_))
    }

    /// Returns true once nothing more leaves.
    pub fn is_over(&self) -> bool {
        matches!(self.course, Course::Over)
    }

    /// Takes a datagram of the other side; one that is not of a link test changes nothing.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) {
        match (&mut self.course, TestDatagram::from_bytes(datagram)) {
            (Course::Measures(tester), None) => tester.on_datagram(datagram, now),
            (Course::Answers(path, turn), None) => {
                let Datagram::Media(envelope) = path.on_datagram(datagram, now) else { return };
                path.on_media(&envelope, now);
                if let Some(turn) = turn {
                    turn.has_begun = true;
                    turn.until = (now + SILENCE_MAX).min(turn.end);
                }
            }
            (Course::Answers(_, None), Some(TestDatagram::Turn)) => {
                self.course = Course::Measures(Box::new(Tester::new(self.max_datagram, now)));
            }
            (Course::Answers(_, Some(_)), Some(TestDatagram::Found(found))) => self.end_with(Some(found)),
            _ => {}
        }
    }

    /// Returns the next datagram to send now.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        if let Course::Measures(tester) = &mut self.course {
            let datagram = tester.poll_datagram(now);
            match tester.outcome() {
                None => return datagram,
                Some(outcome) => self.on_measured(outcome, now),
            }
        }
        match &mut self.course {
            Course::Answers(_, Some(turn)) if turn.until <= now => {
                self.end_with(None);
                None
            }
            Course::Answers(_, Some(turn)) if !turn.has_begun && turn.ask_at <= now => {
                turn.ask_at = now + AGAIN;
                Some(TestDatagram::Turn.to_bytes())
            }
            Course::Answers(path, _) => {
                path.handle_timeout(now);
                path.poll_datagram(now)
            }
            Course::Tells { until, .. } if *until <= now => {
                self.course = Course::Over;
                None
            }
            Course::Tells { found, next, .. } if *next <= now => {
                *next = now + AGAIN;
                Some(TestDatagram::Found(*found).to_bytes())
            }
            Course::Measures(_) | Course::Tells { .. } | Course::Over => None,
        }
    }

    /// Returns the time to poll for datagrams next; none once it is over.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        match &self.course {
            Course::Measures(tester) => Some(tester.poll_timeout()),
            Course::Answers(path, turn) => {
                let turn = turn.map(|turn| if turn.has_begun { turn.until } else { turn.until.min(turn.ask_at) });
                [turn, path.poll_timeout()].into_iter().flatten().min()
            }
            Course::Tells { next, until, .. } => Some(*next.min(until)),
            Course::Over => None,
        }
    }

    /// Takes what was measured here: the other side's turn comes, or has been this one's.
    fn on_measured(&mut self, outcome: Result<Measured, Silent>, now: Timestamp) {
        self.course = match outcome {
            Err(silent) => {
                self.outcome = Some(Err(silent));
                Course::Over
            }
            Ok(measured) if self.has_begun => {
                self.there = Some(measured);
                let turn = Turn { has_begun: false, ask_at: now, until: now + BEGIN_MAX, end: now + TURN_MAX };
                Course::Answers(receiving(now), Some(turn))
            }
            Ok(measured) => Course::Tells { found: told(&measured), next: now, until: now + TELL_MAX },
        };
    }

    fn end_with(&mut self, back: Option<OtherWay>) {
        self.outcome = self.there.map(|there| Ok(Found { there, back }));
        self.course = Course::Over;
    }
}

/// Returns the path of a side that answers.
fn receiving(now: Timestamp) -> Box<Path> {
    let mut path = Path::new(Directions::Receives, Bitrate::from_bps(0));
    path.receive(STREAM, RANK, now);
    Box::new(path)
}

/// Returns what the other side is told of what was measured here.
fn told(measured: &Measured) -> OtherWay {
    let Measured { rtt_loaded, loss_loaded, usable, at_least, .. } = *measured;
    let lost_ppm = (loss_loaded * 1e6) as u32;
    OtherWay { usable, at_least, loaded_p50_us: rtt_loaded.p50, loaded_p95_us: rtt_loaded.p95, lost_ppm }
}
