//! The tuner: looks for settings that suit an OpenCL device better than the built-in ones. The file that keeps them is the
//! codec's, which reads it.

mod search;
mod tuner;

pub use self::tuner::{BUDGET, Progress, Report, SIZES, SizeTimes, tune};
pub use crate::opencl::PassTimes;
