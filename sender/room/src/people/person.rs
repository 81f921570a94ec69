//! A person that this machine knows.

use std::fmt;

use common::config::PublicKey;
use net::link::Obstacle;

/// A person that this machine knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The key of that person's machine, by which it is known whatever its name.
    pub key: PublicKey,
    /// The name here.
    pub name: String,
    /// Presence of that machine.
    pub presence: Presence,
    /// End of the last call with it, milliseconds since 1970.
    pub last_call_ms: Option<u64>,
    /// Reasons why calls did not come about, newest first, a few at most.
    pub reasons: Vec<Reason>,
}

/// Presence of a person's machine, as far as this one can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// Nothing has been heard of it since this program has started.
    #[default]
    Unknown,
    /// It has been heard of within the last minute.
    There,
    /// It has left a note that it is there, and nothing of it gets here.
    Likely,
    /// It was heard of last at that time, milliseconds since 1970.
    Gone(u64),
    /// It is in the call of now.
    InCall,
}

/// Reason why a call did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Time, milliseconds since 1970.
    pub at_ms: u64,
    /// The reason.
    pub what: What,
}

/// Something that kept a call from coming about. Its text is a sentence in English; a catalogue has others for [`Self::code`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// That side called and nobody took it here.
    Missed,
    /// It rang there and nobody took it.
    NotTaken,
    /// That machine was not found.
    NotFound,
    /// This computer had no network.
    NoNetwork,
    /// That side was in another call.
    Busy,
    /// That side declined.
    Declined,
    /// That side did not want to be disturbed.
    DoNotDisturb,
    /// That side has removed this one.
    Removed,
    /// Another program or version ran there.
    OtherProgram,
    /// Packets of a call's size did not get through.
    LargePackets,
    /// Something here failed, in words.
    Failed(String),
}

impl What {
    /// Those without words of their own.
    pub(super) const FIXED: [Self; 10] = [
        Self::Missed,
        Self::NotTaken,
        Self::NotFound,
        Self::NoNetwork,
        Self::Busy,
        Self::Declined,
        Self::DoNotDisturb,
        Self::Removed,
        Self::OtherProgram,
        Self::LargePackets,
    ];

    /// Returns the word for it in files and catalogues.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::NotTaken => "not-taken",
            Self::NotFound => "not-found",
            Self::NoNetwork => "no-network",
            Self::Busy => "busy",
            Self::Declined => "declined",
            Self::DoNotDisturb => "do-not-disturb",
            Self::Removed => "removed",
            Self::OtherProgram => "other-program",
            Self::LargePackets => "large-packets",
            Self::Failed(_) => "failed",
        }
    }

    /// Returns the one that `code` names, with `words` of its own if it has any; none if there is none such.
    pub(super) fn of(code: &str, words: Option<&str>) -> Option<Self> {
        let failed = words.filter(|_| code == "failed").map(|words| Self::Failed(words.to_owned()));
        Self::FIXED.into_iter().find(|what| what.code() == code).or(failed)
    }
}

impl From<Obstacle> for What {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::NoNetwork => Self::NoNetwork,
            Obstacle::InAnotherCall => Self::Busy,
            Obstacle::Declined => Self::Declined,
            Obstacle::DoNotDisturb => Self::DoNotDisturb,
            Obstacle::Removed => Self::Removed,
            Obstacle::OtherProgram => Self::OtherProgram,
            Obstacle::LargePackets => Self::LargePackets,
            _ => Self::NotFound,
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missed => "called, and nobody here took the call",
            Self::NotTaken => "it rang there, and nobody took the call",
            Self::NotFound => "was not found: Duet may not run there, or the address of one may have changed",
            Self::NoNetwork => "this computer had no network",
            Self::Busy => "was in a call with somebody else",
            Self::Declined => "declined the call",
            Self::DoNotDisturb => "did not want to be disturbed",
            Self::Removed => "has removed this machine and does not know it any more: introduce the two anew",
            Self::OtherProgram => "another program or version ran there",
            Self::LargePackets => "packets of 1200 bytes did not get through",
            Self::Failed(words) => words,
        })
    }
}

/// Answer to whoever calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// It rings until the owner takes the call or declines.
    #[default]
    Rings,
    /// The call is taken at once.
    AtOnce,
    /// The caller is told that nobody wants to be disturbed.
    DoNotDisturb,
}
