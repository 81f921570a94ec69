//! The devices that compute, for the command `devices`.

use kernels::DeviceInfo;
use serde_json::{Value, json};

/// Returns the devices as a JSON array.
pub fn as_json(devices: &[DeviceInfo]) -> Value {
    let device = |device: &DeviceInfo| {
        json!({
            "backend": device.backend.name(),
            "name": device.name,
            "platform": device.platform,
            "driver": device.driver,
            "kind": format!("{:?}", device.kind).to_lowercase(),
            "memory_bytes": device.memory_bytes,
            "compute_units": device.compute_units,
        })
    };
    devices.iter().map(device).collect()
}

/// Prints the devices, one a line.
pub fn print(devices: &[DeviceInfo]) {
    for device in devices {
        println!("{:8} {}  ({:?}, {} compute units)", device.backend, device.name, device.kind, device.compute_units);
    }
}
