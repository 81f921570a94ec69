//! Code-blocks: that of Part 1 in bit planes and passes, and that of high throughput in quads.

pub(super) mod ht;
mod mq;
pub(super) mod tier1;
