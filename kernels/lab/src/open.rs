//! Opening a transform: which back end computes it.

use kernels::parts::reference::ReferenceTransform;
use kernels::parts::{PlaneParams, Resolved, Transform, check_memory, cpu, host_bytes, reference, resolve};
use kernels::{Backend, BackendChoice, BackendInfo, Element};
use picture::pyramid::Pyramid;

use crate::filter::Filter;
use crate::reference::convolution::{Tables, Weighted};
use crate::scheme::Scheme;
use crate::transform::TransformParams;
use crate::{OpenError, address, opencl};

/// Opens a transform. `device` as in [`kernels::Encoder::open`].
pub fn open_transform(
    params: &TransformParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Transform>, OpenError> {
    params.check()?;
    check_memory(host_bytes(&params.pyramids(), params.element))?;
    let (backend, reason) = match (choice, params.scheme) {
        (BackendChoice::Auto, Some(scheme)) if params.scheme_needs_opencl() => {
            (Resolved::Opencl(device.map(str::to_owned)), format!("only OpenCL computes the scheme {scheme}"))
        }
        _ => resolve(choice, device)?,
    };
    // Filter banks go through the reference's address tables: they are for science, not for streams.
    let opened = match backend {
        Resolved::Opencl(device) => return opencl::open_transform(params, device.as_deref(), reason),
        Resolved::Cpu => params.check_scheme(Backend::Cpu).map(|()| match by_lifting(params) {
            Some(planes) => Ok(cpu::open_transform(&planes, reason)),
            None => open_bank(params, cpu::backend(reason)),
        }),
        Resolved::Reference => params.check_scheme(Backend::Reference).map(|()| match by_lifting(params) {
            Some(planes) => Ok(reference::open_transform(&planes, reason)),
            None => open_bank(params, reference::backend(reason)),
        }),
    };
    opened?
}

impl TransformParams {
    /// Returns [`OpenError::WrongElement`] unless the arithmetic is one that the filter has,
    /// [`OpenError::SchemeNotFor`] if a filter bank is to be lifted, [`OpenError::FilterBank`] if it does not
    /// reconstruct all rows and columns.
    pub fn check(&self) -> Result<(), OpenError> {
        let reversible = matches!(self.filter, Filter::Lifted(lifting) if lifting.reversible);
        if reversible != (self.element == Element::I32) {
            return Err(self.wrong_element(self.element));
        }
        if let (Filter::Bank(_), Some(scheme)) = (&self.filter, self.scheme.filter(|scheme| scheme.lifts())) {
            let (filter, element, instead) = (self.filter.to_string(), self.element, Scheme::Rowcolumn);
            return Err(OpenError::SchemeNotFor { scheme, filter, element, instead });
        }
        Ok(address::check(self)?)
    }
}

/// Returns what the codec itself computes, if it does.
fn by_lifting(params: &TransformParams) -> Option<PlaneParams> {
    let TransformParams { size, chroma, levels, boundary, padding, element, .. } = *params;
    let Filter::Lifted(lifting) = params.filter else { return None };
    Some(PlaneParams { size, chroma, lifting, levels, boundary, padding, element })
}

fn open_bank(params: &TransformParams, backend: BackendInfo) -> Result<Box<dyn Transform>, OpenError> {
    match params.element {
        Element::F32 => Ok(by_tables::<f32>(params, backend)),
        Element::F64 => Ok(by_tables::<f64>(params, backend)),
        Element::I32 => Err(params.wrong_element(Element::I32)),
    }
}

fn by_tables<T: Weighted>(params: &TransformParams, backend: BackendInfo) -> Box<dyn Transform> {
    let engine = |pyramid: &Pyramid| Tables::<T>::new(&params.filter, params.boundary, pyramid);
    Box::new(ReferenceTransform::new((params.size, params.chroma), params.pyramids(), backend, engine))
}
