//! Checks that a device can run the kernels that were built for it.

use ocl::core::{self as cl, KernelWorkGroupInfo as What, KernelWorkGroupInfoResult as Answer};

use crate::DeviceError;
use crate::Result;
use crate::answer::{failed, text};
use crate::handle::Handle;

/// Refuses a program of which a kernel needs more local memory than the device has. Some drivers find that out only
/// when the kernel is to run. Group sizes are left to the driver: NVIDIA's states less than what it runs.
pub(crate) fn check(device: cl::DeviceId, program: &cl::Program) -> Result<()> {
    let there_bytes = match cl::get_device_info(device, cl::DeviceInfo::LocalMemSize) {
        Ok(cl::DeviceInfoResult::LocalMemSize(bytes)) => bytes,
        _ => u64::MAX,
    };
    let names = text(cl::get_program_info(program, cl::ProgramInfo::KernelNames));
    for name in names.split(';').filter(|name| !name.is_empty()) {
        let kernel = Handle::from(cl::create_kernel(program, name).map_err(failed("clCreateKernel"))?);
        let ask = |what| cl::get_kernel_work_group_info(&kernel, device, what);
        if let Ok(Answer::LocalMemSize(needed_bytes)) = ask(What::LocalMemSize)
            && needed_bytes > there_bytes
        {
            let reason = format!("{name} needs {needed_bytes} bytes of local memory, the device has {there_bytes}");
            return Err(refused(reason));
        }
    }
    Ok(())
}

fn refused(reason: String) -> DeviceError {
    DeviceError::Failed { call: "clGetKernelWorkGroupInfo", reason }
}

#[cfg(test)]
mod tests {
    use crate::header::Header;
    use crate::named;

    #[test]
    fn local_memory_that_is_not_there_is_refused() {
        let device = named(None).unwrap().built_in();
        let source = |bytes: u64| {
            format!(
                "__kernel void greedy(__global int *out) {{ __local int a[{}]; a[get_global_id(0)] = 1; \
                 barrier(CLK_LOCAL_MEM_FENCE); out[0] = a[get_local_id(0) ^ 1]; }}",
                bytes / 4
            )
        };
        assert!(device.build(&Header::default(), &[&source(1 << 10)]).is_ok());
        // Other drivers refuse to build it.
        let error = device.build(&Header::default(), &[&source(1 << 30)]).err().unwrap().to_string();
        assert!(error.contains("greedy needs 1073741824 bytes") || error.contains("clBuildProgram"), "{error}");
    }
}
