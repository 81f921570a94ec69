//! Opening something within the limits of a device.

use std::sync::Arc;

use crate::memory::Memory;
#[cfg(debug_assertions)]
use crate::memory::noted;
use crate::{Device, DeviceError, Result};

/// Returns what `open` makes on `device`, if the buffers that it asks for fit there: it runs first on a device that
/// only counts them.
pub fn open_within<T, E: From<DeviceError>>(
    device: &Arc<Device>,
    open: impl Fn(&Arc<Device>) -> Result<T, E>,
) -> Result<T, E> {
    let counted = Arc::new(Memory::default());
    drop(open(&Arc::new(device.counting(counted.clone())))?);
    #[cfg(debug_assertions)]
    noted::count(&counted);
    open(device)
}
