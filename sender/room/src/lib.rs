//! The room: one windowed program from the icon to the other's picture.

#![forbid(unsafe_code)]

mod balance;
mod calls;
mod clipboard;
mod code;
mod computer;
mod examination;
mod face;
mod facts;
mod files;
mod line;
mod machine;
mod meeting;
mod pages;
pub mod people;
mod ring;
mod run;
mod screens;
mod words;

pub use examination::examine;
pub use run::run;
