//! The room: one windowed program from the icon to the other's picture.

#![forbid(unsafe_code)]

mod balance;
mod chosen;
mod clipboard;
mod code;
mod examination;
mod face;
mod facts;
mod in_call;
mod line;
mod machine;
mod meeting;
mod mend;
mod pages;
pub mod people;
mod relay;
mod remembered;
mod ring;
mod run;
mod screens;
mod trial;
mod words;

pub use examination::examine;
pub use run::run;
