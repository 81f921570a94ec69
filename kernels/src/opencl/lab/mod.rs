//! Code that only measurements, the tuner and tests use.

pub(crate) mod flow;
pub(crate) mod lane;
pub(crate) mod measure;
pub(crate) mod pipeline;
pub(crate) mod quantised;
pub(crate) mod transfer;
pub(crate) mod trial;
