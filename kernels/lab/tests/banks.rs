//! Filter banks: agreement with the wavelets they are made of, reconstruction, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::sync::Arc;

use kernels::Element;
use kernels::{BACK_ENDS, BackendChoice};
use lab::Filter;
use lab::bank::{BankError, FilterBank};
use lab::{CDF97, DD137, OpenError, Scheme};
use lab::{Transform, TransformParams, Values, open_transform};
use picture::frame::{Chroma, FrameSize};
use picture::params::{Boundary, Levels, Padding};

const SIZES: [(u32, u32); 5] = [(1, 1), (1, 7), (2, 2), (17, 31), (64, 40)];

fn file(name: &str) -> Filter {
    let path = format!("{}/banks/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Filter::Bank(Arc::new(FilterBank::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()))
}

fn params(filter: Filter, (width, height): (u32, u32), boundary: Boundary, padding: Padding) -> TransformParams {
    TransformParams {
        size: FrameSize::new(width, height).unwrap(),
        chroma: Chroma::Grey,
        filter,
        levels: Levels::Full,
        boundary,
        padding,
        element: Element::F64,
        scheme: None,
    }
}

fn open(params: &TransformParams, backend: BackendChoice) -> Box<dyn Transform> {
    open_transform(params, backend, None).unwrap_or_else(|error| panic!("{params:?}: {error}"))
}

/// Returns a picture with smooth parts, edges and noise.
fn plane(params: &TransformParams) -> Values {
    let (width, height) = (params.size.width(), params.size.height());
    let sample = |n: usize| {
        let (x, y) = (n % width, n / width);
        let noise = (n * n * 37 + 11 * n) % 23;
        (x * 90 / width + y * 60 / height + noise) as f64 + if x > y { 60.0 } else { -128.0 }
    };
    let samples: Vec<f64> = (0..width * height).map(sample).collect();
    match params.element {
        Element::F64 => Values::F64(vec![samples]),
        Element::F32 => Values::F32(vec![samples.into_iter().map(|sample| sample as f32).collect()]),
        Element::I32 => panic!("banks have no integers"),
    }
}

fn values(values: Values) -> Vec<f64> {
    match values {
        Values::F64(mut channels) => channels.remove(0),
        Values::F32(mut channels) => channels.remove(0).into_iter().map(f64::from).collect(),
        Values::I32(_) => panic!("banks have no integers"),
    }
}

/// Returns the largest difference between two sets of values, relative to the largest magnitude of `b`.
fn difference(a: Values, b: Values) -> f64 {
    let (a, b) = (values(a), values(b));
    assert_eq!(a.len(), b.len());
    let peak = b.iter().fold(0.0_f64, |peak, value| peak.max(value.abs()));
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / peak
}

/// Returns the boundaries and paddings with which a bank reconstructs pictures of any size.
fn reconstructing(name: &str) -> &'static [(Boundary, Padding)] {
    use Boundary::{Periodic, Symmetric, Zero};
    match name {
        "haar" => &[
            (Symmetric, Padding::Smooth),
            (Symmetric, Padding::Zero),
            (Periodic, Padding::Zero),
            (Zero, Padding::Zero),
        ],
        "daubechies4" => &[(Periodic, Padding::Zero)],
        _ => &[(Symmetric, Padding::Smooth), (Symmetric, Padding::Zero), (Periodic, Padding::Zero)],
    }
}

const BANKS: [&str; 5] = ["haar", "daubechies4", "cdf97", "cdf53", "dd137"];

#[test]
fn every_bank_reconstructs_where_it_is_accepted_and_is_refused_elsewhere() {
    let boundaries = [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero];
    for name in BANKS {
        for boundary in boundaries {
            for padding in [Padding::Smooth, Padding::Zero] {
                let params = params(file(name), (17, 31), boundary, padding);
                let accepted = open_transform(&params, BackendChoice::Reference, None).map(|_| ());
                if reconstructing(name).contains(&(boundary, padding)) {
                    assert_eq!(accepted, Ok(()));
                    continue;
                }
                let Err(OpenError::FilterBank(BankError::NotPerfectAtEnds { residual, instead, .. })) = accepted else {
                    panic!("{name} {boundary:?} {padding:?}: {accepted:?}");
                };
                assert!(residual > 0.01, "{name} {boundary:?} {padding:?}: {residual}");
                assert_eq!(instead.len(), reconstructing(name).len(), "{name}: {instead:?}");
                assert!(instead.iter().all(|would_do| reconstructing(name).contains(would_do)), "{name}: {instead:?}");
            }
        }
    }
}

#[test]
fn pictures_come_back() {
    for backend in BACK_ENDS {
        for name in BANKS {
            for &(boundary, padding) in reconstructing(name) {
                for size in SIZES {
                    let params = params(file(name), size, boundary, padding);
                    let mut transform = open(&params, backend);
                    let squares = transform.forward_planes(&plane(&params)).unwrap();
                    let error = difference(transform.inverse(&squares).unwrap(), plane(&params));
                    assert!(error < 1e-10, "{backend:?} {name} {size:?} {boundary:?} {padding:?}: {error}");
                }
            }
        }
    }
}

#[test]
fn the_bank_of_a_wavelet_makes_its_coefficients() {
    for (name, wavelet) in [("cdf97", CDF97), ("dd137", DD137)] {
        for &(boundary, padding) in reconstructing(name) {
            for size in SIZES {
                let bank = params(file(name), size, boundary, padding);
                let lifted = TransformParams { filter: Filter::Lifted(wavelet), ..bank.clone() };
                let expected = open(&lifted, BackendChoice::Reference).forward_planes(&plane(&bank)).unwrap();
                for backend in BACK_ENDS {
                    let squares = open(&bank, backend).forward_planes(&plane(&bank)).unwrap();
                    let error = difference(squares, expected.clone());
                    assert!(error < 1e-10, "{backend:?} {name} {size:?} {boundary:?} {padding:?}: {error}");
                }
            }
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn both_schemes_agree_with_the_reference() {
    for name in BANKS {
        for &(boundary, padding) in reconstructing(name) {
            for (size, element) in [((1, 7), Element::F64), ((17, 31), Element::F32), ((70, 45), Element::F64)] {
                let reference = TransformParams { element, ..params(file(name), size, boundary, padding) };
                let mut expected = open(&reference, BackendChoice::Reference);
                let squares = expected.forward_planes(&plane(&reference)).unwrap();
                let planes = expected.inverse(&squares).unwrap();
                for scheme in [Scheme::Rowcolumn, Scheme::Convolution] {
                    // The reference's sums in the reference's order.
                    let exact = scheme == Scheme::Rowcolumn;
                    let most = if exact { 0.0 } else { [2e-5, 1e-10][usize::from(element == Element::F64)] };
                    let params = TransformParams { scheme: Some(scheme), ..reference.clone() };
                    let mut transform = open(&params, BackendChoice::Opencl);
                    let forward = difference(transform.forward_planes(&plane(&params)).unwrap(), squares.clone());
                    let inverse = difference(transform.inverse(&squares).unwrap(), planes.clone());
                    assert!(forward <= most && inverse <= most, "{scheme} {name} {params:?}: {forward} {inverse}");
                }
            }
        }
    }
}

/// Haar by hand: means and differences of pairs, times 2 in two dimensions.
#[test]
fn haar_is_sums_and_differences() {
    let mut params = params(file("haar"), (2, 2), Boundary::Symmetric, Padding::Smooth);
    for element in [Element::F32, Element::F64] {
        params.element = element;
        let samples = [10.0, 20.0, 50.0, 0.0];
        let planes = match element {
            Element::F32 => Values::F32(vec![samples.map(|sample| sample as f32).to_vec()]),
            _ => Values::F64(vec![samples.to_vec()]),
        };
        for backend in BACK_ENDS {
            let squares = values(open(&params, backend).forward_planes(&planes).unwrap());
            for (value, expected) in squares.iter().zip([40.0, 20.0, -10.0, -30.0]) {
                assert!((value - expected).abs() < 1e-5, "{backend:?}: {squares:?}");
            }
        }
    }
}

#[test]
fn a_bank_is_not_lifted_and_has_no_integers() {
    let good = params(file("haar"), (8, 8), Boundary::Symmetric, Padding::Smooth);
    for (scheme, _) in Scheme::NAMES.into_iter().filter(|(scheme, _)| scheme.lifts()) {
        let params = TransformParams { scheme: Some(scheme), ..good.clone() };
        let error = open_transform(&params, BackendChoice::Opencl, None).map(|_| ()).unwrap_err();
        assert!(matches!(error, OpenError::SchemeNotFor { instead: Scheme::Rowcolumn, .. }), "{scheme}: {error}");
    }
    let integers = TransformParams { element: Element::I32, ..good };
    let error = open_transform(&integers, BackendChoice::Reference, None).map(|_| ()).unwrap_err();
    assert!(matches!(error, OpenError::WrongElement { .. }), "{error}");
}
