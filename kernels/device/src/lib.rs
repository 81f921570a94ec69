//! OpenCL devices: finding them, their queues, kernels and memory, and the settings that suit one better than another.
//!
//! This is the only crate that names `ocl`. It knows no transform and no coder: `kernels`, which every program links,
//! and `lab`, for measurements and research, stand on it side by side.
//!
//! `opencl` is a cargo feature. Without it there are only descriptions, settings and errors.

#[cfg(feature = "opencl")]
mod answer;
#[cfg(feature = "opencl")]
pub mod copy;
mod description;
mod error;
#[cfg(feature = "opencl")]
pub mod fault;
#[cfg(feature = "opencl")]
mod found;
#[cfg(feature = "opencl")]
mod handle;
#[cfg(feature = "opencl")]
mod hang;
#[cfg(feature = "opencl")]
pub mod header;
pub mod in_use;
#[cfg(feature = "opencl")]
pub mod kernel;
#[cfg(feature = "opencl")]
mod limits;
#[cfg(feature = "opencl")]
pub mod memory;
#[cfg(feature = "opencl")]
mod opened;
#[cfg(feature = "opencl")]
pub mod queue;
pub mod settings;
#[cfg(feature = "opencl")]
pub mod staged;
#[cfg(feature = "opencl")]
pub mod timeline;
#[cfg(feature = "opencl")]
mod within;

#[cfg(feature = "opencl")]
pub use ocl::core::OclPrm;

pub use self::description::{BUILD_MAX, Backend, DeviceInfo, DeviceKind};
pub use self::error::{DeviceError, NotFound};
#[cfg(feature = "opencl")]
pub use self::found::{Found, devices, named};
#[cfg(feature = "opencl")]
pub use self::handle::Handle;
#[cfg(feature = "opencl")]
pub use self::hang::on_hang;
#[cfg(feature = "opencl")]
pub use self::opened::Device;
#[cfg(feature = "opencl")]
pub use self::within::open_within;

/// The result of what a device does.
pub type Result<T, E = DeviceError> = std::result::Result<T, E>;

/// Does nothing: without OpenCL no driver hangs, and `_hook` is never called.
#[cfg(not(feature = "opencl"))]
pub fn on_hang(_hook: impl Fn(&str) + Send + Sync + 'static) {}
