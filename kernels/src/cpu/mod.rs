//! The processor back end: vectorised, several threads.

use crate::{DeviceInfo, DeviceKind};

pub(crate) use crate::reference::{
    ReferenceDecoder as CpuDecoder, ReferenceEncoder as CpuEncoder, ReferenceTransform as CpuTransform,
};

/// The processor as a device.
pub(crate) fn device() -> DeviceInfo {
    let threads = rayon::current_num_threads() as u32;
    DeviceInfo {
        backend: "cpu",
        name: "processor".to_owned(),
        platform: String::new(),
        driver: String::new(),
        kind: DeviceKind::Cpu,
        memory_bytes: 0,
        compute_units: threads,
    }
}
