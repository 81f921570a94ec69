//! The attacks, the homes behind routers and the corpus of the parsers, side by side: the first two wait most of the time.

mod attacks;
#[path = "corpus.rs"]
mod inputs;
mod reach;
