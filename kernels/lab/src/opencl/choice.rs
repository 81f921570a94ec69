//! Choice of the scheme for a transform.

use device::queue::Queue;
use kernels::parts::opencl::{Lines, Schemes};
use kernels::parts::reference::Sample;
use kernels::parts::{CDF97, Lifting};
use kernels::{Backend, Element};
use picture::pyramid::Pyramid;

use super::address::Tabled;
use super::convolution::Convolution;
use super::rowcolumn::RowColumn;
use super::scheme::Tiles;
use crate::OpenError;
use crate::filter::Filter;
use crate::scheme::Scheme;
use crate::transform::TransformParams;

/// Opens what the parameters ask for, or what suits them best; [`OpenError::SchemeNotFor`] or
/// [`OpenError::NotOnThisBackend`] if there is no such thing.
pub(crate) fn open<T: Sample + Tabled>(
    queue: &Queue,
    params: &TransformParams,
    pyramid: &Pyramid,
) -> Result<Schemes<T>, OpenError> {
    let (device, filter, boundary, element) = (queue.device(), &params.filter, params.boundary, T::ELEMENT);
    if element == Element::F64 && !device.has_doubles() {
        let what = format!("{element} on this device");
        return Err(OpenError::NotOnThisBackend { backend: Backend::Opencl, what, instead: Backend::Cpu });
    }
    let is_stream = |lifting: &Lifting| (*lifting, element) == (CDF97, Element::F32);
    let default = match filter {
        Filter::Lifted(lifting) if is_stream(lifting) => match device.tuning.group_size {
            1 => Scheme::Slab,
            _ => Scheme::Separable,
        },
        Filter::Lifted(_) => Scheme::Separable,
        Filter::Bank(_) => Scheme::Rowcolumn,
    };
    let scheme = params.scheme.unwrap_or(default);
    match (scheme, filter) {
        (Scheme::Convolution, _) => {
            Ok(Schemes::all(Box::new(Convolution::<T>::new(queue, filter, boundary, pyramid)?)))
        }
        (Scheme::Rowcolumn, _) => Ok(Schemes::all(Box::new(RowColumn::<T>::new(queue, filter, boundary, pyramid)?))),
        (Scheme::Slab, Filter::Lifted(lifting)) if is_stream(lifting) && device.tuning.group_size > 1 => {
            let what = format!("scheme {scheme} on a device that is no processor");
            Err(OpenError::NotOnThisBackend { backend: Backend::Opencl, what, instead: Backend::Cpu })
        }
        (Scheme::Slab, Filter::Lifted(lifting)) if is_stream(lifting) => Ok(Schemes::slab(device, boundary, pyramid)?),
        (Scheme::Separable, Filter::Lifted(lifting)) => {
            Ok(Schemes::separable(device, lifting, element, boundary, pyramid)?)
        }
        (Scheme::Slab, _) | (_, Filter::Bank(_)) => {
            let filter = filter.to_string();
            Err(OpenError::SchemeNotFor { scheme, filter, element, instead: default })
        }
        (_, Filter::Lifted(lifting)) => {
            let tiles = Box::new(Tiles::new(device, scheme, lifting, element, boundary)?);
            Ok(Schemes::new(tiles, pyramid, || Lines::new(device, lifting, element, boundary))?)
        }
    }
}
