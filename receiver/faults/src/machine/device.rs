//! OpenCL devices that fail: a layer between the daemon and its driver, made by gcc, and a folder of drivers that can
//! be taken away.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const LAYER: &str = include_str!("layer.c");
/// Bytes of the file that controls a layer.
const CONTROL_BYTES: usize = 64;
/// Folder in which the system lists its drivers.
const DRIVERS: &str = "/etc/OpenCL/vendors";

/// Behaviour of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceAct {
    /// Works as it should.
    Work,
    /// The next call of this function fails.
    FailOnce(&'static str),
    /// All calls fail from now on.
    Fail,
    /// Calls do not return.
    Hang,
}

/// The functions that the layer knows and a running daemon calls.
pub(crate) const CALLS: [&str; 12] = [
    "clEnqueueNDRangeKernel",
    "clEnqueueWriteBuffer",
    "clEnqueueReadBuffer",
    "clSetKernelArg",
    "clFinish",
    "clFlush",
    "clWaitForEvents",
    "clGetEventProfilingInfo",
    "clEnqueueFillBuffer",
    "clEnqueueCopyBuffer",
    "clEnqueueMarkerWithWaitList",
    "clEnqueueBarrierWithWaitList",
];

/// Makes the layer in `folder` and returns its path.
pub(crate) fn build_layer(folder: &Path) -> Result<PathBuf> {
    let (source, layer) = (folder.join("layer.c"), folder.join("layer.so"));
    std::fs::write(&source, LAYER)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-o"]).args([&layer, &source]);
    let made = gcc.output().context("gcc does not start: install it and ocl-icd-opencl-dev")?;
    if !made.status.success() {
        bail!("gcc makes no OpenCL layer: {}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(layer)
}

/// Lets `command` run with the layer in the file `layer`, which the file `control` commands.
pub(crate) fn use_layer(command: &mut Command, layer: &Path, control: &Path) -> Result<()> {
    tell(control, DeviceAct::Work)?;
    command.env("OPENCL_LAYERS", layer).env("DUET_LAYER", control);
    Ok(())
}

/// Tells the layer what the device does from now on.
pub(crate) fn tell(control: &Path, act: DeviceAct) -> Result<()> {
    let mut bytes = [0; CONTROL_BYTES];
    let (first, name) = match act {
        DeviceAct::Work => (0, ""),
        DeviceAct::FailOnce(name) => (b'o', name),
        DeviceAct::Fail => (b'l', ""),
        DeviceAct::Hang => (b'h', ""),
    };
    bytes[0] = first;
    bytes[1..=name.len()].copy_from_slice(name.as_bytes());
    // Written in place: the layer has the file mapped.
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(control)?;
    Ok(file.write_all(&bytes)?)
}

/// Returns true if a call that was to fail once has come.
pub(crate) fn has_struck(control: &Path) -> Result<bool> {
    let mut first = [0];
    std::fs::File::open(control)?.read_exact(&mut first)?;
    Ok(first[0] == 0)
}

/// Makes a list of the system's drivers in `folder` that can be emptied.
pub(crate) fn copy_drivers(folder: &Path) -> Result<PathBuf> {
    let copy = folder.join("drivers");
    std::fs::create_dir_all(&copy)?;
    for entry in std::fs::read_dir(DRIVERS).with_context(|| format!("there is no {DRIVERS}"))? {
        let entry = entry?;
        std::fs::copy(entry.path(), copy.join(entry.file_name()))?;
    }
    Ok(copy)
}

/// Takes all drivers away.
pub(crate) fn remove_drivers(copy: &Path) -> Result<()> {
    for entry in std::fs::read_dir(copy)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(())
}
