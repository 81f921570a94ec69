//! Every scheme on OpenCL gives the coefficients and samples of the reference.
#![allow(clippy::unwrap_used, reason = "tests")]

mod agreement;

use agreement::{BOUNDARIES, Case, FILTERS, Reference};
use common::frame::FrameSize;
use common::params::Padding;

#[track_caller]
fn check(case: Case) {
    let reference = Reference::new(case).unwrap();
    for scheme in case.schemes() {
        let agreement = reference.compare(scheme, None).unwrap();
        assert!(agreement.is_good(), "{scheme} {case:?}: {agreement:?}");
    }
}

#[test]
fn all_schemes_agree_at_ugly_sizes() {
    for (wavelet, element) in FILTERS {
        for boundary in BOUNDARIES {
            for (width, height) in [(1, 1), (1, 7), (2, 2), (17, 31)] {
                let size = FrameSize::new(width, height).unwrap();
                for padding in [Padding::Smooth, Padding::Zero] {
                    check(Case { wavelet, element, boundary, padding, size });
                }
            }
        }
    }
}
