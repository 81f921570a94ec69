//! The errors of devices: those after which one cannot go on, and those of looking for one.

/// Errors after which a device cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum DeviceError {
    /// The device's memory does not hold the buffers.
    #[error(
        "a picture of this size needs at least {needed_bytes} bytes of device memory {extent}, the device gives \
         {there_bytes}"
    )]
    OutOfMemory {
        /// `altogether` or `in one piece`.
        extent: &'static str,
        /// Size of the buffers up to the first that does not fit, or of one.
        needed_bytes: u64,
        /// Bytes that the device offers.
        there_bytes: u64,
    },
    /// An OpenCL call failed.
    #[error("the OpenCL device failed in {call}: {reason}")]
    Failed { call: &'static str, reason: String },
}

/// Errors of looking for a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum NotFound {
    /// No OpenCL driver on this machine.
    #[error(
        "no OpenCL platform found: install a driver for your graphics card, or PoCL (pocl-opencl-icd), or use the backend `cpu`"
    )]
    Platform,
    /// No OpenCL device has that name.
    #[error("no OpenCL device is called `{name}`: there is {available}")]
    Named { name: String, available: String },
    /// The driver does not say what it has.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
