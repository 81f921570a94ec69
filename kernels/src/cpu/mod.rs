//! The processor back end: vectorised, several threads. Everything it computes equals the reference to the bit.

pub(crate) mod colour;
mod display;
mod effects;
pub(crate) mod motion;
mod quad;
mod scale;
mod shrink;
mod simd;
mod transform;
mod vector;

use crate::{Backend, BackendInfo, DeviceInfo, DeviceKind};
use simd::Simd;

pub use display::{Coefficients, Converter};
pub use effects::EffectsFilter;
pub(crate) use quad::decoder::CpuDecoder;
pub(crate) use quad::encoder::CpuEncoder;
pub(crate) use quad::integers::IntegerCoder;
pub(crate) use quad::per_thread::PerThread;
pub use scale::{Original, Scaler};
pub use shrink::Shrinker;
pub use simd::fast;
pub use transform::compact::{CompactSample, CompactTransform, MakeRow, compact_pitch};
pub use transform::whole::open_transform;

/// Returns the processor as a device.
pub(crate) fn device() -> DeviceInfo {
    DeviceInfo {
        backend: Backend::Cpu,
        name: name(),
        platform: String::new(),
        driver: String::new(),
        kind: DeviceKind::Cpu,
        memory_bytes: 0,
        compute_units: rayon::current_num_threads() as u32,
    }
}

fn name() -> String {
    format!("processor, {} threads, {}", rayon::current_num_threads(), Simd::detect().name())
}

/// Returns the description of the back end, chosen for `reason`.
pub fn backend(reason: String) -> BackendInfo {
    BackendInfo { kind: Backend::Cpu, device: name(), reason }
}
