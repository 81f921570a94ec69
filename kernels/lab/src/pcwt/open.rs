//! Opening a coder of the profile: which back end computes.

use kernels::parts::{PlaneParams, Resolved, check_memory, host_bytes, resolve};
use kernels::{BackendChoice, Element};
use picture::params::{Profile, StreamParams, Wavelet};

use super::host::HostCoder;
use super::{Joining, PcwtDecoder, PcwtEncoder, opencl};
use crate::OpenError;

/// Opens an encoder for the pictures of a stream of this profile. `device` as in [`kernels::Encoder::open`].
pub fn open_pcwt_encoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn PcwtEncoder>, OpenError> {
    check(params)?;
    let (backend, reason) = resolve(choice, device)?;
    Ok(match backend {
        Resolved::Opencl(device) => opencl::open_pcwt_encoder(params, device.as_deref(), reason, None)?,
        Resolved::Cpu => Box::new(HostCoder::open(params, BackendChoice::Cpu)?),
        Resolved::Reference => Box::new(HostCoder::open(params, BackendChoice::Reference)?),
    })
}

/// Opens an encoder of the OpenCL back end that joins the elements of a group in the given way: it makes the same
/// bytes, in another time.
pub fn open_joining_encoder(
    params: &StreamParams,
    device: Option<&str>,
    joining: Joining,
) -> Result<Box<dyn PcwtEncoder>, OpenError> {
    check(params)?;
    opencl::open_pcwt_encoder(params, device, "asked for".to_owned(), Some(joining))
}

/// Opens a decoder for a stream of this profile. `device` as in [`kernels::Encoder::open`].
pub fn open_pcwt_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn PcwtDecoder>, OpenError> {
    check(params)?;
    let (backend, reason) = resolve(choice, device)?;
    Ok(match backend {
        Resolved::Opencl(device) => opencl::open_pcwt_decoder(params, device.as_deref(), reason)?,
        Resolved::Cpu => Box::new(HostCoder::open(params, BackendChoice::Cpu)?),
        Resolved::Reference => Box::new(HostCoder::open(params, BackendChoice::Reference)?),
    })
}

/// Refuses streams of another profile, and those that this machine's memory does not hold.
fn check(params: &StreamParams) -> Result<(), OpenError> {
    if (params.codec.profile, params.codec.wavelet) != (Profile::Pcwt, Wavelet::Cdf53) {
        return Err(kernels::OpenError::WrongProfile { wanted: "pcwt, with the CDF 5/3" }.into());
    }
    Ok(check_memory(host_bytes(&PlaneParams::from(params).pyramids(), Element::I32))?)
}
