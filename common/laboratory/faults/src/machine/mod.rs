//! Faults of the computers of both daemons: of processors, clocks, network interfaces and OpenCL devices.

pub(crate) mod confine;
pub(crate) mod device;
pub(crate) mod load;
pub(crate) mod namespaces;
pub mod priority;
pub(crate) mod route;
pub(crate) mod stalls;
pub(crate) mod starve;
