//! What is done to the computers of both daemons: their processors, clocks, network interfaces and OpenCL devices.

pub(crate) mod confine;
pub(crate) mod device;
pub(crate) mod namespaces;
pub(crate) mod stalls;
pub(crate) mod starve;
