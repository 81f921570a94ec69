//! Contents of the pages, and the acts of a person on them: the seam between them and everything that works behind.

use common::config::PublicKey;
use picture::effects::{Effect, Effects};
use shell::doctor::Status;

use crate::computer::mend::Mend;
use crate::computer::trial::Standing;
use crate::line::Course;
use crate::people::{Answer, Person, State, Who};

/// Contents of the pages.
#[derive(Clone, Default)]
pub(crate) struct Facts {
    /// Those who are known, by name.
    pub(crate) people: Vec<Person>,
    /// State of this side.
    pub(crate) state: State,
    /// The one who calls.
    pub(crate) rings: Option<Who>,
    /// An introduction under way.
    pub(crate) meeting: Meeting,
    /// A link of Duet in the clipboard that has not been used.
    pub(crate) offered: Option<String>,
    /// The line that is or was tested, to whom, and how that stands.
    pub(crate) line: Option<(PublicKey, Course)>,
    pub(crate) machine: Machine,
    /// Answer to whoever calls.
    pub(crate) answer: Answer,
    /// Texts of the call, each with true if it is this side's own.
    pub(crate) texts: Vec<(bool, String)>,
    pub(crate) call: InCall,
    /// Sentence about the last thing that went wrong, or ended.
    pub(crate) news: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) now_ms: u64,
}

/// The call of now, as far as its stream does not say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct InCall {
    pub(crate) they_record: bool,
    pub(crate) they_hide: bool,
    /// True while the own picture is hidden from the other side.
    pub(crate) is_hidden: bool,
    pub(crate) is_recording: bool,
    /// Step of the slider between latency and quality.
    pub(crate) balance: i32,
    /// Effects on the own picture, and true while they are not switched off.
    pub(crate) effects: Effects,
    pub(crate) effects_on: bool,
    /// Sentence about a recording that has ended by itself.
    pub(crate) trouble: Option<String>,
}

/// An introduction to somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// None is under way.
    #[default]
    None,
    /// This side has made a link, once it is known.
    Invites(Option<String>),
    /// This side looks for the machine that made a link.
    Joins {
        /// The line to send back, once one is needed.
        answer: Option<String>,
    },
    /// Both know each other; the other's name here, if it is a new one.
    Met(Option<String>),
    /// It has failed, and why.
    Failed(String),
}

/// A camera, a sound card or another thing to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// As the configuration names it.
    pub(crate) spec: String,
    /// As a person does.
    pub(crate) name: String,
    /// A description or the reason why it cannot be used, and true if it cannot.
    pub(crate) about: (String, bool),
}

/// Findings about this machine; none: it is being looked at.
#[derive(Clone, Default)]
pub(crate) struct Machine {
    pub(crate) cameras: Option<Vec<Choice>>,
    pub(crate) cards: Option<Vec<Choice>>,
    pub(crate) checks: Option<Vec<Finding>>,
    /// The thing that is being mended.
    pub(crate) mends: Option<Mend>,
    /// Sentence about what was mended last.
    pub(crate) mended: Option<String>,
    /// As the configuration has them.
    pub(crate) camera: String,
    pub(crate) card: String,
    /// Name that others are told when they are introduced; empty: none.
    pub(crate) name: String,
    pub(crate) dht: bool,
    /// True until somebody has said whether it may be used.
    pub(crate) asks_dht: bool,
    /// The chosen camera's picture of now.
    pub(crate) preview: Option<egui::TextureHandle>,
    /// Why the camera gives no picture.
    pub(crate) trouble: Option<String>,
    /// The chosen sound card, and how loud its microphone is.
    pub(crate) standing: Standing,
    pub(crate) level: Option<f32>,
    /// True while a tone is played on it.
    pub(crate) sounds: bool,
    /// True while a code that is held before the camera is looked for.
    pub(crate) reads: bool,
}

/// A finding about this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Name of the check.
    pub(crate) name: String,
    pub(crate) status: Status,
    pub(crate) detail: String,
    pub(crate) advice: Option<String>,
    /// The thing to mend at the press of a button.
    pub(crate) mend: Option<Mend>,
}

/// Act of a person.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    Call(PublicKey),
    /// Call all of them at once.
    CallTogether(Vec<PublicKey>),
    /// Test the line to that person.
    TestLine(PublicKey),
    /// The outcome of the test has been read.
    ForgetLine,
    CallName(String),
    Take(PublicKey),
    Decline(PublicKey),
    Rename(PublicKey, String),
    Remove(PublicKey),
    /// Be called so when somebody is introduced.
    BeCalled(String),
    /// Make a link.
    Invite,
    /// The other side's answer to the link.
    Answer(String),
    Join(String),
    /// Leave the introduction.
    Leave,
    /// Do not offer that link again.
    ForgetOffer,
    ChooseCamera(String),
    ChooseCard(String),
    /// Play a tone, or no longer.
    Sound(bool),
    UseDht(bool),
    /// Show the camera's picture, or no longer.
    Preview(bool),
    /// Look for a link in a code that is held before the camera, or no longer.
    ReadCode(bool),
    /// Look at the machine.
    Examine,
    /// Mend that.
    Mend(Mend),
    /// The news has been read.
    Read,
    /// Answer to whoever calls.
    Reply(Answer),
    /// A text for the other side.
    Say(String),
    /// Hide the own picture from the other side, or no longer.
    Hide(bool),
    /// Record the call, or no longer.
    Record(bool),
    /// Bring the window before others.
    Raise,
    /// Step of the slider between latency and quality.
    Balance(i32),
    Effect(Effect, f32),
    /// Effects off, or on again.
    SwitchEffects,
}
