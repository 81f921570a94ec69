//! Why the picture is as it is: each decision of the rate control and each deadline that passed, with its figures.

use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serializer;

use crate::named::named;
use crate::units::{Bitrate, FrameId};

/// Reasons that wait to be taken; of more the oldest are forgotten, but counted.
const WAITING_MAX: usize = 64;

/// A change of the target, bits a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Before.
    pub from: Bitrate,
    /// After.
    pub to: Bitrate,
}

/// A queue, and what came through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Queueing delay that no datagram of the last frame interval has been without.
    pub standing: Duration,
    /// Queueing delay of the last datagram.
    pub last: Duration,
    /// Throughput.
    pub arrived: Bitrate,
}

/// A decision, or a deadline that passed, with the figures that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the figures' names are those of the text")]
pub enum Reason {
    /// A standing queue cut the target.
    CutByDelay { change: Change, queue: Queue },
    /// A queueing delay that grew steeply cut the target; so many percent of the time that passed.
    CutByCollapse { change: Change, queue: Queue, slope_percent: u32 },
    /// Loss that is unusual for the path and persists cut the target; shares in percent.
    CutByLoss { change: Change, lost_percent: u32, usual_percent: u32 },
    /// Nothing was heard of the receiver for so long that the target was cut.
    CutBySilence { change: Change, silence: Duration, coarse_only: bool },
    /// Loss cut the target of a call that competes with another flow.
    CutInCompetition { change: Change, lost: u32, known: u32 },
    /// The queue is empty after a cut.
    QueueEmptied { change: Change },
    /// The queue has not emptied in time after a cut.
    QueueStands { change: Change, standing: Duration },
    /// The receiver is heard again.
    SilenceOver { silence: Duration },
    /// Someone else keeps the queue full: the target is that of a TCP flow.
    CompetitionBegan { share: Bitrate, standing: Duration, stood: Duration },
    /// The target is held down for a moment, to see whether the queue is still someone else's.
    CompetitionProbed { change: Change, standing: Duration },
    /// The queue is ours alone again.
    CompetitionEnded { target: Bitrate },
    /// The line loses what is beyond this rate: growth is slow there.
    CeilingSet { ceiling: Bitrate, patience: Duration },
    /// The target has been beyond the ceiling for long enough without loss.
    CeilingForgotten { ceiling: Bitrate },
    /// Another program sends steadily on the line, as sound is sent: frames leave more gently from now on.
    SoundFound { found: Bitrate, line: Bitrate },
    /// Bursts in a queue showed a faster line than there was: they are not believed for some time.
    BurstsDoubted { shown: Bitrate, arrived: Bitrate, span: Duration },
    /// The target has grown by a tenth.
    GrowthBegan { change: Change, shown: Option<Bitrate> },
    /// The target grows no more.
    GrowthEnded { change: Change, took: Duration },
    /// Bursts came as fast as they left: they leave faster, to see what the line takes.
    ProbingBegan { shown: Bitrate, pace: Bitrate },
    /// The target has fallen since a frame was coded, or while it left: its finest parts were left out.
    DetailLeftOut { frame: FrameId, sent: usize, datagrams: usize, target: Bitrate },
    /// A newer frame, or the end, came before all of a frame had left.
    FrameOvertaken { frame: FrameId, unsent: usize },
    /// A frame's deadline passed: it is shown without what is missing.
    PartsMissing { frame: FrameId, missing: usize, blocks: usize, waited: Duration },
    /// Too many newer frames had begun: it is shown without what is missing.
    PushedOut { frame: FrameId, missing: usize, blocks: usize },
    /// Nothing of a frame could be decoded when it was due.
    FrameUnusable { frame: FrameId, waited: Duration },
    /// A frame of before a stall or of before a dead line came back: it is too old to be shown.
    FrameStale { frame: FrameId },
    /// Frames that never came, or that were still incomplete when this newer one was released.
    FramesSkipped { frames: u64, before: FrameId },
}

named! {
    /// A kind of [`Reason`], by which they are counted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs, reason = "those of `Reason`")]
    #[non_exhaustive]
    pub enum Cause {
        CutByDelay = "cut_delay",
        CutByCollapse = "cut_collapse",
        CutByLoss = "cut_loss",
        CutBySilence = "cut_silence",
        CutInCompetition = "cut_competition",
        QueueEmptied = "queue_emptied",
        QueueStands = "queue_stands",
        SilenceOver = "silence_over",
        CompetitionBegan = "competition_began",
        CompetitionProbed = "competition_probed",
        CompetitionEnded = "competition_ended",
        CeilingSet = "ceiling_set",
        CeilingForgotten = "ceiling_forgotten",
        /// Sound of another program was found on the line.
        SoundFound = "sound_found",
        BurstsDoubted = "bursts_doubted",
        GrowthBegan = "growth_began",
        GrowthEnded = "growth_ended",
        ProbingBegan = "probing_began",
        DetailLeftOut = "detail_left_out",
        FrameOvertaken = "frame_overtaken",
        PartsMissing = "parts_missing",
        PushedOut = "pushed_out",
        FrameUnusable = "frame_unusable",
        FrameStale = "frame_stale",
        FramesSkipped = "frames_skipped",
    }
}

impl Cause {
    /// Those of a sending end.
    pub const SENDER: &[Self] = Self::ALL.split_at(Self::PartsMissing as usize).0;
    /// Those of a receiving end.
    pub const RECEIVER: &[Self] = Self::ALL.split_at(Self::PartsMissing as usize).1;

    /// Returns what has happened and what is done about it, for a musician.
    pub const fn words(self) -> &'static str {
        match self {
            Self::CutByDelay => "packets wait on the line, so less is sent",
            Self::CutByCollapse => "the line has become much slower, so less is sent",
            Self::CutByLoss => "the line loses packets, so less is sent",
            Self::CutBySilence => "the other side is not heard, so less is sent",
            Self::CutInCompetition => "somebody else fills the line and packets get lost, so less is sent",
            Self::QueueEmptied => "no packets wait on the line any more",
            Self::QueueStands => "packets still wait on the line, so less is sent",
            Self::SilenceOver => "the other side is heard again",
            Self::CompetitionBegan => "somebody else fills the line, so it is shared",
            Self::CompetitionProbed => "less is sent for a moment, to see whether somebody else still fills the line",
            Self::CompetitionEnded => "nobody else fills the line any more",
            Self::CeilingSet => "the line loses what is beyond a rate, so more is tried slowly",
            Self::CeilingForgotten => "the line carries more than before",
            Self::SoundFound => "leaves room for a sound program",
            Self::BurstsDoubted => "the line has looked faster than it is",
            Self::GrowthBegan => "the line has room, so more is sent",
            Self::GrowthEnded => "the rate has stopped growing",
            Self::ProbingBegan => "the line may have room, so more is tried",
            Self::DetailLeftOut => "the line has become slower, so a picture went without its finest detail",
            Self::FrameOvertaken => "a picture did not leave in time, and a newer one took its place",
            Self::PartsMissing => "a picture is shown without parts that have not come in time",
            Self::PushedOut => "a picture is shown without parts, since newer ones have come",
            Self::FrameUnusable => "a picture is left out, since nothing of it has come in time",
            Self::FrameStale => "a picture is left out, since it is too old after a pause",
            Self::FramesSkipped => "pictures are left out, since newer ones have come before them",
        }
    }
}

impl Reason {
    /// Returns its kind.
    pub const fn cause(&self) -> Cause {
        match self {
            Self::CutByDelay { .. } => Cause::CutByDelay,
            Self::CutByCollapse { .. } => Cause::CutByCollapse,
            Self::CutByLoss { .. } => Cause::CutByLoss,
            Self::CutBySilence { .. } => Cause::CutBySilence,
            Self::CutInCompetition { .. } => Cause::CutInCompetition,
            Self::QueueEmptied { .. } => Cause::QueueEmptied,
            Self::QueueStands { .. } => Cause::QueueStands,
            Self::SilenceOver { .. } => Cause::SilenceOver,
            Self::CompetitionBegan { .. } => Cause::CompetitionBegan,
            Self::CompetitionProbed { .. } => Cause::CompetitionProbed,
            Self::CompetitionEnded { .. } => Cause::CompetitionEnded,
            Self::CeilingSet { .. } => Cause::CeilingSet,
            Self::CeilingForgotten { .. } => Cause::CeilingForgotten,
            Self::SoundFound { .. } => Cause::SoundFound,
            Self::BurstsDoubted { .. } => Cause::BurstsDoubted,
            Self::GrowthBegan { .. } => Cause::GrowthBegan,
            Self::GrowthEnded { .. } => Cause::GrowthEnded,
            Self::ProbingBegan { .. } => Cause::ProbingBegan,
            Self::DetailLeftOut { .. } => Cause::DetailLeftOut,
            Self::FrameOvertaken { .. } => Cause::FrameOvertaken,
            Self::PartsMissing { .. } => Cause::PartsMissing,
            Self::PushedOut { .. } => Cause::PushedOut,
            Self::FrameUnusable { .. } => Cause::FrameUnusable,
            Self::FrameStale { .. } => Cause::FrameStale,
            Self::FramesSkipped { .. } => Cause::FramesSkipped,
        }
    }
}

impl Display for Change {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "target {} -> {}", self.from, self.to)
    }
}

impl Display for Queue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { standing, last, arrived } = self;
        write!(f, "queueing delay {}, standing {}; {arrived} arrived", Ms(*last), Ms(*standing))
    }
}

/// A time in milliseconds.
struct Ms(Duration);

impl Display for Ms {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ms", self.0.as_secs_f64() * 1e3)
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CutByDelay { change, queue } => write!(f, "{change}: a queue stands ({queue})"),
            Self::CutByCollapse { change, queue, slope_percent } => {
                write!(f, "{change}: the queueing delay grows by {slope_percent} % of the time that passes ({queue})")
            }
            Self::CutByLoss { change, lost_percent, usual_percent } => {
                write!(f, "{change}: {lost_percent} % of the datagrams are lost, usual is {usual_percent} %")
            }
            Self::CutBySilence { change, silence, coarse_only } => {
                let rest = if coarse_only { "; only coarse bands are sent" } else { "" };
                write!(f, "{change}: no feedback report for {}{rest}", Ms(silence))
            }
            Self::CutInCompetition { change, lost, known } => {
                write!(f, "{change}: {lost} of {known} datagrams lost in competition with another flow")
            }
            Self::QueueEmptied { change } => write!(f, "{change}: the queue is empty"),
            Self::QueueStands { change, standing } => {
                write!(f, "{change}: the queue has not emptied in time, {} stand", Ms(standing))
            }
            Self::SilenceOver { silence } => write!(f, "feedback reports again after {}", Ms(silence)),
            Self::CompetitionBegan { share, standing, stood } => write!(
                f,
                "competition: the queue of {} has not shrunk for {}, another flow fills it; as a TCP flow from {share}",
                Ms(standing),
                Ms(stood)
            ),
            Self::CompetitionProbed { change, standing } => write!(
                f,
                "{change}: for a moment, to see whether the queue of {} is still another flow's",
                Ms(standing)
            ),
            Self::CompetitionEnded { target } => write!(f, "competition is over: the queue is empty, target {target}"),
            Self::CeilingSet { ceiling, patience } => {
                write!(f, "ceiling {ceiling}: beyond it the line loses; slow growth there for {}", Ms(patience))
            }
            Self::SoundFound { found, line } => {
                write!(
                    f,
                    "another program sends {found} steadily, as sound is sent, on a line of {line}: pictures make room for it"
                )
            }
            Self::CeilingForgotten { ceiling } => {
                write!(f, "ceiling {ceiling} forgotten: the target has been beyond it without loss")
            }
            Self::BurstsDoubted { shown, arrived, span } => {
                write!(f, "bursts show {shown}, but {arrived} arrived: not believed for {}", Ms(span))
            }
            Self::GrowthBegan { change, shown: Some(shown) } => {
                write!(f, "growth begins, {change}: capacity estimate {shown}")
            }
            Self::GrowthBegan { change, shown: None } => write!(f, "growth begins, {change}: no capacity estimate"),
            Self::GrowthEnded { change, took } => write!(f, "growth ends, {change} in {}", Ms(took)),
            Self::ProbingBegan { shown, pace } => {
                write!(f, "probing: bursts leave at {pace}, for those at {shown} came as fast as they left")
            }
            Self::DetailLeftOut { frame, sent, datagrams, target } => write!(
                f,
                "frame {}: {sent} of {datagrams} datagrams sent, the target has fallen to {target} since it was coded",
                frame.0
            ),
            Self::FrameOvertaken { frame, unsent } => {
                write!(f, "frame {}: {unsent} datagrams dropped, a newer frame or the end has come", frame.0)
            }
            Self::PartsMissing { frame, missing, blocks, waited } => write!(
                f,
                "frame {}: deadline passed {} after its first datagram, {missing} of {blocks} blocks are missing",
                frame.0,
                Ms(waited)
            ),
            Self::PushedOut { frame, missing, blocks } => {
                write!(f, "frame {}: newer frames have begun, {missing} of {blocks} blocks are missing", frame.0)
            }
            Self::FrameUnusable { frame, waited } => write!(
                f,
                "frame {}: given up {} after its first datagram, no block of it is there",
                frame.0,
                Ms(waited)
            ),
            Self::FrameStale { frame } => write!(f, "frame {}: given up, too old after a pause", frame.0),
            Self::FramesSkipped { frames, before } => {
                write!(f, "{frames} frames before frame {} have not come whole before it", before.0)
            }
        }
    }
}

/// Number of times that each kind of reason has occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReasonCounts([u64; Cause::ALL.len()]);

impl ReasonCounts {
    /// Returns how often reasons of this kind have occurred.
    pub const fn get(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }

    /// Returns the sum of these and `others`.
    pub fn plus(mut self, others: Self) -> Self {
        self.0.iter_mut().zip(others.0).for_each(|(count, more)| *count += more);
        self
    }

    /// Counts one.
    pub(crate) fn add(&mut self, cause: Cause) {
        self.0[cause as usize] += 1;
    }

    /// Serialises those of a sending end as an object with their names as keys.
    pub(crate) fn sender<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Cause::SENDER.iter().map(|&cause| (cause.name(), self.get(cause))))
    }

    /// Serialises those of a receiving end likewise.
    pub(crate) fn receiver<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Cause::RECEIVER.iter().map(|&cause| (cause.name(), self.get(cause))))
    }
}

/// The reasons of a path or a stream that its owner has not taken yet.
#[derive(Clone, Debug)]
pub(crate) struct Reasons(VecDeque<Reason>);

impl Default for Reasons {
    fn default() -> Self {
        Self(VecDeque::with_capacity(WAITING_MAX))
    }
}

impl Reasons {
    /// Takes one, and counts it.
    pub(crate) fn push(&mut self, reason: Reason, counts: &mut ReasonCounts) {
        counts.add(reason.cause());
        if self.0.len() == WAITING_MAX {
            self.0.pop_front();
        }
        self.0.push_back(reason);
    }

    /// The oldest.
    pub(crate) fn pop(&mut self) -> Option<Reason> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_count_and_a_name_of_its_own() {
        for (at, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, at, "{cause:?}");
            assert_eq!(Cause::ALL.iter().filter(|other| other.name() == cause.name()).count(), 1, "{cause:?}");
        }
        assert_eq!((Cause::SENDER.last(), Cause::RECEIVER.len()), (Some(&Cause::FrameOvertaken), 5));
    }

    #[test]
    fn reasons_that_nobody_takes_are_counted_and_the_newest_are_kept() {
        let (mut reasons, mut counts) = (Reasons::default(), ReasonCounts::default());
        for n in 0..1_000 {
            reasons.push(Reason::FrameStale { frame: FrameId(n) }, &mut counts);
        }
        assert_eq!(counts.get(Cause::FrameStale), 1_000);
        assert_eq!(reasons.pop(), Some(Reason::FrameStale { frame: FrameId(1_000 - WAITING_MAX as u32) }));
        assert_eq!(reasons.0.len(), WAITING_MAX - 1);
    }
}
