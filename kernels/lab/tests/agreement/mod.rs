//! A scheme on an OpenCL device against the reference: shared by `tests/schemes.rs` and `examples/agreement.rs`.
#![allow(dead_code, unreachable_pub, reason = "each user needs a part")]

use kernels::BackendChoice;
use kernels::Element;
use lab::open_transform;
use lab::{CDF53, CDF97, DD137, Lifting, Scheme};
use lab::{Filter, TransformParams, Values};
use picture::frame::{Chroma, FrameSize};
use picture::params::{Boundary, Levels, Padding};

pub const BOUNDARIES: [Boundary; 3] = [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero];

/// Every wavelet in every arithmetic that it has.
pub const FILTERS: [(Lifting, Element); 5] =
    [(CDF97, Element::F32), (CDF53, Element::I32), (DD137, Element::F32), (CDF97, Element::F64), (DD137, Element::F64)];

/// A transform to compare.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub wavelet: Lifting,
    pub element: Element,
    pub boundary: Boundary,
    pub padding: Padding,
    pub size: FrameSize,
    pub levels: Levels,
}

impl Case {
    /// Returns the schemes that compute it.
    pub fn schemes(self) -> impl Iterator<Item = Scheme> {
        let slab = (self.wavelet, self.element) == (CDF97, Element::F32);
        Scheme::NAMES.into_iter().map(|(scheme, _)| scheme).filter(move |scheme| slab || *scheme != Scheme::Slab)
    }

    pub fn params(self, scheme: Option<Scheme>) -> TransformParams {
        TransformParams {
            size: self.size,
            chroma: Chroma::Grey,
            filter: Filter::Lifted(self.wavelet),
            levels: self.levels,
            boundary: self.boundary,
            padding: self.padding,
            element: self.element,
            scheme,
        }
    }
}

/// Results of the reference for a case.
pub struct Reference {
    case: Case,
    planes: Values,
    squares: Values,
    /// Values in the whole square, which no forward transform need give.
    noise: Values,
    noise_planes: Values,
}

impl Reference {
    /// Transforms a plane of waves and noise forward, and a square of noise back.
    pub fn new(case: Case) -> anyhow::Result<Self> {
        let planes = values(case, case.size.width(), case.size.height(), 70.0);
        let side = case.size.width().max(case.size.height()).next_power_of_two();
        let noise = values(case, side, side, 0.0);
        let mut transform = open_transform(&case.params(None), BackendChoice::Reference, None)?;
        let squares = transform.forward_planes(&planes)?;
        let noise_planes = transform.inverse(&noise)?;
        Ok(Self { case, planes, squares, noise, noise_planes })
    }

    /// Computes the same by `scheme` on the device whose name contains `device`, and compares.
    pub fn compare(&self, scheme: Scheme, device: Option<&str>) -> anyhow::Result<Agreement> {
        let mut transform = open_transform(&self.case.params(Some(scheme)), BackendChoice::Opencl, device)?;
        // Backwards first: nothing of it may be left in what comes after.
        let noise_planes = transform.inverse(&self.noise)?;
        let squares = transform.forward_planes(&self.planes)?;
        let came_back = self.case.element != Element::I32 || transform.inverse(&squares)? == self.planes;
        Ok(Agreement {
            forward: error(&squares, &self.squares),
            inverse: error(&noise_planes, &self.noise_planes),
            bound: bound(scheme, self.case.element),
            is_equal: came_back && squares == self.squares && noise_planes == self.noise_planes,
        })
    }
}

/// Distance of a scheme from the reference.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    /// Largest error of a coefficient, relative to the largest coefficient.
    pub forward: f64,
    /// Largest error of a sample, likewise.
    pub inverse: f64,
    /// Largest error allowed.
    pub bound: f64,
    /// True if all values are equal, and integers come back from their coefficients.
    pub is_equal: bool,
}

impl Agreement {
    /// Returns the larger errors of both.
    pub fn worse(self, other: Self) -> Self {
        Self {
            forward: self.forward.max(other.forward),
            inverse: self.inverse.max(other.inverse),
            bound: self.bound,
            is_equal: self.is_equal && other.is_equal,
        }
    }

    pub fn is_good(&self) -> bool {
        if self.bound == 0.0 { self.is_equal } else { self.forward <= self.bound && self.inverse <= self.bound }
    }
}

/// Integers and the schemes that keep the order of operations have no error.
fn bound(scheme: Scheme, element: Element) -> f64 {
    match element {
        Element::I32 => 0.0,
        _ if scheme.is_exact() => 0.0,
        Element::F32 => 2e-5,
        Element::F64 => 1e-10,
    }
}

/// Returns noise of -32 to 31 on waves of this height.
fn values(case: Case, width: usize, height: usize, wave: f64) -> Values {
    let mut state = 1_u32;
    let value = |index: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (x, y) = ((index % width) as f64, (index / width) as f64);
        (wave * (x / 9.0).sin() * (y / 23.0).cos() + f64::from(state >> 24) / 4.0 - 32.0).round()
    };
    let plane: Vec<f64> = (0..width * height).map(value).collect();
    match case.element {
        Element::F32 => Values::F32(vec![plane.iter().map(|&v| v as f32).collect()]),
        Element::F64 => Values::F64(vec![plane]),
        Element::I32 => Values::I32(vec![plane.iter().map(|&v| v as i32).collect()]),
    }
}

/// Returns the largest difference relative to the largest value; NaN if there is any.
fn error(values: &Values, wanted: &Values) -> f64 {
    let (values, wanted) = (numbers(values), numbers(wanted));
    let peak = wanted.iter().fold(f64::MIN_POSITIVE, |peak, v| peak.max(v.abs()));
    let differences = values.iter().zip(&wanted).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |worst: f64, d| if d > worst || d.is_nan() { d } else { worst }) / peak
}

fn numbers(values: &Values) -> Vec<f64> {
    match values {
        Values::F32(channels) => channels.iter().flatten().map(|&v| v.into()).collect(),
        Values::F64(channels) => channels.concat(),
        Values::I32(channels) => channels.iter().flatten().map(|&v| v.into()).collect(),
    }
}
