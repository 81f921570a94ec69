//! The people that this machine knows: whether they are there, who calls, what became of calls. A model without a window.
//!
//! [`People::open`] reads who is known and begins to listen for all of them; what happens comes as [`Event`]s, and the window looks at
//! [`People::list`] and [`People::state`] when it draws. Every method may be called on any thread and returns soon.

mod call;
mod engine;
mod event;
mod history;
mod host;
mod known;
mod order;
#[allow(clippy::module_inception, reason = "they are what the folder is for")]
mod people;
mod person;

pub use calling::{Handle, Stage};

pub use self::event::{Event, State, Who, Why};
pub use self::host::{Host, OpenSinks, ShowBand};
pub(crate) use self::known::call_with;
pub use self::people::People;
pub use self::person::{Answer, Person, Presence, Reason, What};
