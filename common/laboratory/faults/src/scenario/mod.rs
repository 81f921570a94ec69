//! A call of two daemons under test: a line, a table of events, and bars.
//!
//! ```text
//! band: several that call each other, beside a duet
//! cases, soak, siege, rehearsal ─▶ case: line, events, bars ─▶ run ─▶ measured ─▶ checks, table
//!                                                              └─▶ scene: what happens ─▶ setup: both daemons
//! ```

pub(crate) mod band;
pub(crate) mod case;
pub(crate) mod cases;
mod checks;
mod device_faults;
pub(crate) mod event;
pub(crate) mod measured;
pub(crate) mod rehearsal;
pub(crate) mod run;
mod scene;
pub(crate) mod setup;
pub(crate) mod siege;
pub(crate) mod soak;
pub(crate) mod sound;
pub(crate) mod table;
