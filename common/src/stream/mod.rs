//! The streams of a connection: what each kind sends and expects, on top of its [`Path`](crate::path::Path).

pub mod sound;
pub mod talk;
pub mod video;
