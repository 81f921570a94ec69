//! The processor back end: vectorised, several threads. Everything it computes equals the reference to the bit.

mod colour;
mod decode_block;
mod decode_lengths;
mod decode_rans;
mod decoder;
mod dwt;
mod encode_block;
mod encode_rans;
mod encoder;
mod lines;
mod simd;
mod tile;

use common::params::StreamParams;
use common::pyramid::{BlockLayout, Orientation, Pyramid};

use crate::reference::check_picture;
use crate::transform::Filter;
use crate::wavelet::{Element, Wavelet};
use crate::{BackendInfo, DeviceInfo, DeviceKind, Error, PictureRef, Transform, TransformParams, Values};
use dwt::Plane;
use simd::Simd;
use tile::Place;

pub(crate) use decoder::CpuDecoder;
pub(crate) use encoder::CpuEncoder;

/// The processor as a device.
pub(crate) fn device() -> DeviceInfo {
    DeviceInfo {
        backend: "cpu",
        name: name(),
        platform: String::new(),
        driver: String::new(),
        kind: DeviceKind::Cpu,
        memory_bytes: 0,
        compute_units: rayon::current_num_threads() as u32,
    }
}

fn name() -> String {
    format!("processor, {} threads, {}", rayon::current_num_threads(), Simd::detect().name())
}

fn backend(reason: String) -> BackendInfo {
    BackendInfo { name: "cpu", device: name(), reason }
}

/// The planes of a stream and where its blocks lie in them.
fn open_planes(layout: &BlockLayout, params: &StreamParams) -> (Vec<Plane>, Vec<Place>) {
    let planes: Vec<Plane> =
        layout.pyramids().iter().map(|pyramid| Plane::new(pyramid, params.codec.boundary)).collect();
    let places = layout.blocks().iter().map(|block| {
        let channel = block.channel.index();
        let band = match block.orientation {
            Orientation::LL => layout.pyramids()[channel].band(layout.pyramids()[channel].levels(), Orientation::LL),
            orientation => layout.pyramids()[channel].band(block.level, orientation),
        };
        Place::new(block, &planes[channel], band)
    });
    let places = places.collect();
    (planes, places)
}

/// Transform of the processor back end.
#[derive(Debug)]
pub(crate) struct CpuTransform {
    params: TransformParams,
    pyramids: Vec<Pyramid>,
    planes: Vec<Plane>,
    backend: BackendInfo,
}

impl CpuTransform {
    /// This transform, or [`Error::NotOnThisBackend`]; `reason` says why this back end was chosen.
    pub(crate) fn new(params: &TransformParams, reason: String) -> Result<Self, Error> {
        params.check_scheme("cpu")?;
        if params.filter != Filter::Wavelet(Wavelet::Cdf97) || params.element != Element::F32 {
            let what = format!("{} in {}", params.filter, params.element);
            return Err(Error::NotOnThisBackend { backend: "cpu", what, instead: "reference" });
        }
        let pyramids = params.pyramids();
        let planes = pyramids.iter().map(|pyramid| Plane::new(pyramid, params.boundary)).collect();
        Ok(Self { params: params.clone(), pyramids, planes, backend: backend(reason) })
    }

    fn run_forward(&mut self) -> Values {
        self.planes.iter_mut().for_each(Plane::forward);
        Values::F32(self.planes.iter().map(Plane::store_square).collect())
    }
}

impl Transform for CpuTransform {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, Error> {
        check_picture(picture, self.params.size)?;
        colour::load(picture, self.params.chroma, &mut self.planes);
        Ok(self.run_forward())
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, Error> {
        for (plane, samples) in self.planes.iter_mut().zip(planes.planes(&self.pyramids)?) {
            plane.load_samples(samples);
        }
        Ok(self.run_forward())
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, Error> {
        for (plane, square) in self.planes.iter_mut().zip(squares.squares(&self.pyramids)?) {
            plane.load_square(square);
            plane.inverse();
        }
        Ok(Values::F32(self.planes.iter().map(Plane::gather_samples).collect()))
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}
