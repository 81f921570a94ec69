//! Built kernels and their arguments.

use std::sync::Arc;

use ocl::core::{self as cl, ArgVal};

use crate::DeviceError;
use crate::answer::failed;
use crate::handle::Handle;
use crate::{Result, fault};

/// A built program.
pub type Program = Arc<Handle<cl::Program>>;

/// A kernel with its arguments, which are known by their names.
pub struct Kernel {
    pub(crate) handle: Handle<cl::Kernel>,
    names: Vec<&'static str>,
}

/// A kernel's argument.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// Device memory.
    Memory(&'a cl::Mem),
    /// An `int` or `uint`.
    Int(i32),
    /// A `float`.
    Float(f32),
}

/// An argument and its name in OpenCL C.
pub type NamedArg<'a> = (&'static str, Arg<'a>);

impl From<usize> for Arg<'_> {
    /// Converts a size; sizes are bounded by the largest picture and fit.
    fn from(value: usize) -> Self {
        Arg::Int(i32::try_from(value).unwrap_or(i32::MAX))
    }
}

/// Creates the kernel `name` of `program` with its arguments, all of them and in order.
///
/// An error if the program's text has other names or kinds of arguments. Drivers that keep none of them cannot tell.
pub fn kernel(program: &cl::Program, name: &str, args: &[NamedArg<'_>]) -> Result<Kernel> {
    fault::check("clCreateKernel")?;
    let handle = Handle::from(cl::create_kernel(program, name).map_err(failed("clCreateKernel"))?);
    compare(&handle, name, args)?;
    let kernel = Kernel { handle, names: args.iter().map(|(name, _)| *name).collect() };
    args.iter().enumerate().try_for_each(|(index, (_, arg))| kernel.set_at(index, *arg))?;
    Ok(kernel)
}

/// Gives each of these arguments its name.
pub fn named<'a, const N: usize>(names: [&'static str; N], args: [Arg<'a>; N]) -> [NamedArg<'a>; N] {
    std::array::from_fn(|index| (names[index], args[index]))
}

impl Kernel {
    /// Sets the argument `name`.
    pub fn set(&self, name: &str, arg: Arg<'_>) -> Result<()> {
        let Some(index) = self.names.iter().position(|&of| of == name) else {
            return Err(DeviceError::Failed { call: "clSetKernelArg", reason: format!("there is no argument {name}") });
        };
        self.set_at(index, arg)
    }

    fn set_at(&self, index: usize, arg: Arg<'_>) -> Result<()> {
        let value = match &arg {
            Arg::Memory(mem) => ArgVal::mem(mem),
            Arg::Int(value) => ArgVal::scalar(value),
            Arg::Float(value) => ArgVal::scalar(value),
        };
        fault::check("clSetKernelArg")?;
        cl::set_kernel_arg(&self.handle, index as u32, value).map_err(failed("clSetKernelArg"))
    }
}

/// Compares `args` with what the driver knows of the kernel's own.
fn compare(kernel: &cl::Kernel, name: &str, args: &[NamedArg<'_>]) -> Result<()> {
    let differs = |reason| Err(DeviceError::Failed { call: "clGetKernelArgInfo", reason });
    if let Ok(cl::KernelInfoResult::NumArgs(count)) = cl::get_kernel_info(kernel, cl::KernelInfo::NumArgs)
        && count as usize != args.len()
    {
        return differs(format!("{name} has {count} arguments, not {}", args.len()));
    }
    for (index, (given, arg)) in args.iter().enumerate() {
        let ask = |what| cl::get_kernel_arg_info(kernel, index as u32, what, Some(&[[1, 2].into()]));
        if let Ok(cl::KernelArgInfoResult::Name(own)) = ask(cl::KernelArgInfo::Name)
            // PoCL puts a prefix before names that built-in functions have, too.
            && own.trim_matches('\0').trim_start_matches("_cl_") != *given
        {
            return differs(format!("argument {index} of {name} is {own}, not {given}"));
        }
        if let Ok(cl::KernelArgInfoResult::TypeName(own)) = ask(cl::KernelArgInfo::TypeName) {
            let own = own.trim_matches(['\0', ' ']);
            let fits = match arg {
                Arg::Memory(_) => own.ends_with('*'),
                Arg::Int(_) => ["int", "uint"].contains(&own),
                Arg::Float(_) => own == "float",
            };
            if !fits {
                return differs(format!("argument {given} of {name} is of another type: {own}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;
    use crate::named;

    #[test]
    fn arguments_of_another_name_number_or_type_are_refused() {
        let device = named(None).unwrap().built_in();
        let text = "__kernel void two(int first, float second) {}";
        let program = device.build(&Header::default(), &[text]).unwrap();
        let error = |args: &[NamedArg<'_>]| kernel(&program, "two", args).err().map(|error| error.to_string());
        let (int, float) = (Arg::Int(1), Arg::Float(1.0));
        assert_eq!(error(&[("first", int), ("second", float)]), None);
        let swapped = error(&[("second", int), ("first", float)]).unwrap();
        assert!(swapped.contains("argument 0 of two is first, not second"), "{swapped}");
        let of_ints = error(&[("first", int), ("second", int)]).unwrap();
        assert!(of_ints.contains("argument second of two is of another type: float"), "{of_ints}");
        let one = error(&[("first", int)]).unwrap();
        assert!(one.contains("two has 2 arguments, not 1"), "{one}");
        let two = kernel(&program, "two", &[("first", int), ("second", float)]).unwrap();
        assert!(two.set("third", int).unwrap_err().to_string().contains("there is no argument third"));
    }
}
