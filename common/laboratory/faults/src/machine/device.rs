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
/// Loaders that another one may stand before, as NVIDIA's does in images for CUDA.
const LOADERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
    "/usr/lib/aarch64-linux-gnu/libOpenCL.so.1",
    "/usr/lib64/libOpenCL.so.1",
    "/usr/lib/libOpenCL.so.1",
];
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

/// A layer, and the OpenCL loader that takes it.
#[derive(Debug)]
pub(crate) struct Layer {
    layer: PathBuf,
    /// Folder in which it is looked for first; none: the system's takes layers.
    loader: Option<PathBuf>,
}

/// The sentence for machines where no OpenCL loader takes layers, or drivers from another folder.
pub(crate) const NO_LOADER: &str = "this machine's libOpenCL.so.1 takes no layers, as NVIDIA's own does not: it needs ocl-icd \
                                    (Debian: ocl-icd-libopencl1) or Khronos' loader";

impl Layer {
    /// Makes the layer in `folder`, and finds a loader that takes it when `program` lists its devices: the one that it finds by
    /// itself, or another one of the system. None: there is no such loader ([`NO_LOADER`]).
    pub(crate) fn build(folder: &Path, program: &Path) -> Result<Option<Self>> {
        let (source, built) = (folder.join("layer.c"), folder.join("layer.so"));
        std::fs::write(&source, LAYER)?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-shared", "-fPIC", "-o"]).args([&built, &source]);
        let made = gcc.output().context("gcc does not start: install it and ocl-icd-opencl-dev")?;
        if !made.status.success() {
            bail!("gcc makes no OpenCL layer: {}", String::from_utf8_lossy(&made.stderr));
        }
        let others = LOADERS.iter().map(Path::new).filter(|loader| loader.exists()).enumerate();
        let mut folders = vec![None];
        for (number, loader) in others {
            let alone = folder.join(format!("loader-{number}"));
            std::fs::create_dir_all(&alone)?;
            let link = alone.join("libOpenCL.so.1");
            // One of an earlier run may be there.
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(loader, &link)?;
            folders.push(Some(alone));
        }
        for loader in folders {
            let layer = Self { layer: built.clone(), loader };
            if layer.is_taken(program, &folder.join("probe"))? {
                return Ok(Some(layer));
            }
        }
        Ok(None)
    }

    fn is_taken(&self, program: &Path, control: &Path) -> Result<bool> {
        let mut devices = Command::new(program);
        self.join(devices.arg("devices"), control)?;
        devices.output().with_context(|| format!("{} does not start", program.display()))?;
        Ok(std::fs::read(control)?.last() == Some(&1))
    }

    /// Lets `command` run with the layer, which the file `control` commands.
    pub(crate) fn join(&self, command: &mut Command, control: &Path) -> Result<()> {
        tell(control, DeviceAct::Work)?;
        command.env("OPENCL_LAYERS", &self.layer).env("DUET_LAYER", control);
        if let Some(loader) = &self.loader {
            command.env("LD_LIBRARY_PATH", loader);
        }
        Ok(())
    }
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
