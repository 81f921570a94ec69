//! Built kernels and their arguments.

use std::sync::Arc;

use ocl::core::{self as cl, ArgVal};

use super::answer::failed;
use super::fault;
use super::handle::Handle;
use crate::opencl::device::Result;

/// A built program.
pub(crate) type Program = Arc<Handle<cl::Program>>;
/// A kernel with its arguments.
pub(crate) type Kernel = Handle<cl::Kernel>;
/// A kernel's argument.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    Memory(&'a cl::Mem),
    Int(i32),
    Float(f32),
}

impl From<usize> for Arg<'_> {
    /// Converts a size; sizes are bounded by the largest picture and fit.
    fn from(value: usize) -> Self {
        Arg::Int(i32::try_from(value).unwrap_or(i32::MAX))
    }
}

/// Creates the kernel `name` of `program` with its arguments.
pub(crate) fn kernel(program: &cl::Program, name: &str, args: &[Arg<'_>]) -> Result<Kernel> {
    fault::check("clCreateKernel")?;
    let kernel = Handle::from(cl::create_kernel(program, name).map_err(failed("clCreateKernel"))?);
    for (index, arg) in args.iter().enumerate() {
        set(&kernel, index as u32, *arg)?;
    }
    Ok(kernel)
}

/// Sets argument `index`.
pub(crate) fn set(kernel: &cl::Kernel, index: u32, arg: Arg<'_>) -> Result<()> {
    let value = match &arg {
        Arg::Memory(mem) => ArgVal::mem(mem),
        Arg::Int(value) => ArgVal::scalar(value),
        Arg::Float(value) => ArgVal::scalar(value),
    };
    fault::check("clSetKernelArg")?;
    cl::set_kernel_arg(kernel, index, value).map_err(failed("clSetKernelArg"))
}
