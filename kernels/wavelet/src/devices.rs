//! `wavelet devices`.

use anyhow::Result;
use kernels::{DeviceInfo, DeviceKind};
use serde_json::json;

/// Lists the devices, one line each or as a JSON array.
pub(crate) fn list(as_json: bool) -> Result<String> {
    let devices = kernels::devices();
    if as_json {
        let values: Vec<_> = devices.iter().map(to_json).collect();
        return Ok(serde_json::to_string(&values)? + "\n");
    }
    Ok(devices.iter().map(|device| line(device) + "\n").collect())
}

fn kind(device: &DeviceInfo) -> &'static str {
    match device.kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Gpu => "gpu",
        DeviceKind::Accelerator => "accelerator",
    }
}

fn to_json(device: &DeviceInfo) -> serde_json::Value {
    json!({
        "backend": device.backend.name(),
        "name": device.name,
        "kind": kind(device),
        "platform": device.platform,
        "driver": device.driver,
        "memory_bytes": device.memory_bytes,
        "compute_units": device.compute_units,
    })
}

fn line(device: &DeviceInfo) -> String {
    let mut line =
        format!("{:<8} {} ({}, {} compute units", device.backend, device.name, kind(device), device.compute_units);
    if device.memory_bytes > 0 {
        line += &format!(", {} MiB", device.memory_bytes >> 20);
    }
    for text in [&device.platform, &device.driver] {
        if !text.is_empty() {
            line += &format!(", {text}");
        }
    }
    line + ")"
}
