//! Files that the room writes: choices in the configuration, and the window's memory.

pub(crate) mod chosen;
pub(crate) mod remembered;
