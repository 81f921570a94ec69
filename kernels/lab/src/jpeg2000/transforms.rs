//! The transform of squares into a picture's planes. Planes and squares lie on their side.

use kernels::parts::{CDF53, CDF97, Transform, Values, check_memory, host_bytes};
use kernels::{BackendChoice, BackendInfo, Element};
use picture::frame::{Chroma, FrameSize};
use picture::params::{Boundary, Levels, Padding};

use super::bands::{Bands, Layout};
use super::error::Jpeg2000Error;
use crate::filter::Filter;
use crate::transform::TransformParams;
use crate::{OpenError, open_transform};

/// Back end, and part of a device's name.
pub type Choice<'a> = (BackendChoice, Option<&'a str>);

/// Returns the transform of components of these sizes, `(columns, rows)`, each with how many of them it takes together.
pub(super) fn parts(
    sizes: &[(usize, usize)],
    levels: u8,
    is_reversible: bool,
) -> Result<Vec<(usize, TransformParams)>, Jpeg2000Error> {
    let (mut parts, mut rest) = (Vec::new(), sizes);
    while let Some(&(width, height)) = rest.first() {
        // Three at once keep a device busier than one after another.
        let count = if rest.len() >= 3 && rest[..3].iter().all(|size| *size == rest[0]) { 3 } else { 1 };
        let params = TransformParams {
            size: FrameSize::new(height as u32, width as u32)?,
            chroma: if count == 3 { Chroma::C444 } else { Chroma::Grey },
            filter: Filter::Lifted(if is_reversible { CDF53 } else { CDF97 }),
            levels: Levels::AtMost(levels),
            boundary: Boundary::Symmetric,
            padding: Padding::Smooth,
            element: if is_reversible { Element::I32 } else { Element::F32 },
            scheme: None,
        };
        parts.push((count, params));
        rest = &rest[count..];
    }
    let bytes = parts.iter().map(|(_, params)| host_bytes(&params.pyramids(), params.element)).sum();
    check_memory(bytes).map_err(OpenError::from)?;
    Ok(parts)
}

/// Transforms of a picture's components.
pub(super) struct Transforms {
    pub(super) bands: Bands,
    /// With how many components each transforms.
    parts: Vec<(usize, Box<dyn Transform>)>,
}

impl Transforms {
    /// Opens the transform of components of these sizes, `(columns, rows)`.
    pub(super) fn open(
        sizes: &[(usize, usize)],
        levels: u8,
        is_reversible: bool,
        (choice, device): Choice<'_>,
    ) -> Result<Self, Jpeg2000Error> {
        let parts = parts(sizes, levels, is_reversible)?;
        let bands = Bands::new(&parts, is_reversible, Layout::Square);
        let open = |(count, params): (usize, TransformParams)| Ok((count, open_transform(&params, choice, device)?));
        let parts = parts.into_iter().map(open).collect::<Result<_, OpenError>>()?;
        Ok(Self { bands, parts })
    }

    /// Transforms squares into planes.
    pub(super) fn inverse(&mut self, squares: Values) -> Result<Values, Jpeg2000Error> {
        self.each(squares, |transform, squares| Ok(transform.inverse(&squares)?))
    }

    fn each(
        &mut self,
        values: Values,
        mut with: impl FnMut(&mut dyn Transform, Values) -> Result<Values, Jpeg2000Error>,
    ) -> Result<Values, Jpeg2000Error> {
        let (mut whole, mut rounded) = (Vec::new(), Vec::new());
        let (mut f32s, mut i32s) = match values {
            Values::F32(channels) => (channels.into_iter(), Vec::new().into_iter()),
            Values::I32(channels) => (Vec::new().into_iter(), channels.into_iter()),
            Values::F64(_) => (Vec::new().into_iter(), Vec::new().into_iter()),
        };
        for (count, transform) in &mut self.parts {
            let part = match self.bands.is_reversible {
                true => Values::I32(i32s.by_ref().take(*count).collect()),
                false => Values::F32(f32s.by_ref().take(*count).collect()),
            };
            match with(transform.as_mut(), part)? {
                Values::I32(channels) => rounded.extend(channels),
                Values::F32(channels) => whole.extend(channels),
                Values::F64(_) => {}
            }
        }
        Ok(if self.bands.is_reversible { Values::I32(rounded) } else { Values::F32(whole) })
    }

    /// Returns the back end in use.
    pub(super) fn backend(&self) -> Option<&BackendInfo> {
        self.parts.first().map(|(_, transform)| transform.backend())
    }
}
