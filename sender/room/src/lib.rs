//! The room: one windowed program from the icon to the other's picture.

#![forbid(unsafe_code)]

mod chosen;
mod face;
mod facts;
mod machine;
mod meeting;
pub mod people;
mod relay;
mod run;
mod screens;
mod words;

pub use run::run;
