//! Every scheme on OpenCL gives the coefficients and samples of the reference.
#![allow(clippy::unwrap_used, reason = "tests")]

mod agreement;

use kernels::BackendChoice;
use kernels::Element;
use lab::open_transform;
use lab::{CDF53, CDF97, DD137, Lifting, Scheme};
use picture::frame::FrameSize;
use picture::params::{Boundary, Levels, Padding};

use agreement::{BOUNDARIES, Case, Reference};

#[track_caller]
fn check(case: Case) {
    let reference = Reference::new(case).unwrap();
    for scheme in case.schemes() {
        let agreement = reference.compare(scheme, None).unwrap();
        assert!(agreement.is_good(), "{scheme} {case:?}: {agreement:?}");
    }
}

/// Checks both paddings at sizes with rows and columns of few samples.
fn check_ugly_sizes(wavelet: Lifting, element: Element, boundary: Boundary) {
    let levels = Levels::Full;
    for (width, height) in [(1, 1), (1, 7), (2, 2), (17, 31)] {
        let size = FrameSize::new(width, height).unwrap();
        for padding in [Padding::Smooth, Padding::Zero] {
            check(Case { wavelet, element, boundary, padding, size, levels });
        }
    }
}

#[test]
fn single_precision_agrees() {
    for wavelet in [CDF97, DD137] {
        BOUNDARIES.into_iter().for_each(|boundary| check_ugly_sizes(wavelet, Element::F32, boundary));
    }
}

#[test]
fn integers_are_equal_and_come_back() {
    BOUNDARIES.into_iter().for_each(|boundary| check_ugly_sizes(CDF53, Element::I32, boundary));
}

/// The boundaries are the same text; `examples/agreement.rs` runs them all.
#[test]
fn double_precision_agrees() {
    check_ugly_sizes(CDF97, Element::F64, Boundary::Symmetric);
    check_ugly_sizes(DD137, Element::F64, Boundary::Zero);
}

/// Tiles and strips with neighbours on all sides.
#[test]
fn large_planes_agree() {
    let (padding, boundary, levels) = (Padding::Smooth, Boundary::Symmetric, Levels::Full);
    for (width, height) in [(640, 360), (1919, 1079)] {
        let size = FrameSize::new(width, height).unwrap();
        check(Case { wavelet: CDF97, element: Element::F32, boundary, padding, size, levels });
    }
    let size = FrameSize::new(2048, 2048).unwrap();
    check(Case { wavelet: CDF53, element: Element::I32, boundary, padding, size, levels });
}

#[test]
fn few_levels_agree() {
    let (padding, boundary) = (Padding::Zero, Boundary::Symmetric);
    let size = FrameSize::new(17, 31).unwrap();
    for wavelet in [CDF97, DD137] {
        for levels in [0, 1, 2].map(Levels::AtMost) {
            check(Case { wavelet, element: Element::F32, boundary, padding, size, levels });
        }
    }
}

#[test]
fn slab_is_for_one_wavelet() {
    let (padding, boundary, levels) = (Padding::Zero, Boundary::Symmetric, Levels::Full);
    let size = FrameSize::new(17, 31).unwrap();
    let case = Case { wavelet: DD137, element: Element::F32, boundary, padding, size, levels };
    let error = open_transform(&case.params(Some(Scheme::Slab)), BackendChoice::Opencl, None).err().unwrap();
    assert_eq!(error.to_string(), "scheme slab does not compute dd137 in f32: use scheme separable");
}
