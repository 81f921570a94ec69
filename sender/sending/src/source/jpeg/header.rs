//! The head of a picture: its frame, application segments and comments.

use picture::frame::FrameSize;

use super::fault::JpegFault;
use super::marker::{APP0, APP14, COM};

/// Meaning of the components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colours {
    Grey,
    YCbCr,
    Rgb,
}

/// A field of an interlaced picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Lines 0, 2, 4, ..
    Upper,
    /// Lines 1, 3, 5, ..
    Lower,
}

/// A component of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) id: u8,
    /// Samples across in a unit, 1 to 4.
    pub(super) across: u8,
    /// Samples down in a unit, 1 to 4.
    pub(super) down: u8,
    /// Number of its quantisation table.
    pub(super) table: u8,
}

/// Statements of application segments and comments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    is_jfif: bool,
    /// The transform of Adobe's mark.
    transform: Option<u8>,
    field: Option<Field>,
    /// True if a comment says that the samples have the limited range.
    is_limited: bool,
}

impl Marks {
    pub(super) fn note(&mut self, marker: u8, body: &[u8]) {
        match (marker, body) {
            (APP0, [b'J', b'F', b'I', b'F', 0, ..]) => self.is_jfif = true,
            (APP0, [b'A', b'V', b'I', b'1', polarity, ..]) => {
                self.field = match polarity {
                    1 => Some(Field::Upper),
                    2 => Some(Field::Lower),
                    _ => None,
                };
            }
            (APP14, [b'A', b'd', b'o', b'b', b'e', _, _, _, _, _, _, transform, ..]) => {
                self.transform = Some(*transform)
            }
            (COM, body) if body.starts_with(b"CS=ITU601") => self.is_limited = true,
            _ => {}
        }
    }
}

/// A start of frame, with what the marks before it say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) width: u16,
    /// 0 where it stands behind the data.
    pub(super) height: u16,
    pub(super) components: Vec<Component>,
    pub(super) colours: Colours,
    pub(super) is_limited: bool,
    pub(super) field: Option<Field>,
}

impl Header {
    /// Reads the body of a start of frame.
    pub(super) fn parse(marker: u8, body: &[u8], marks: &Marks) -> Result<Self, JpegFault> {
        match marker & 0xf {
            0..=2 => {}
            3 | 0xb => return Err(JpegFault::Coding("without loss")),
            9 | 0xa => return Err(JpegFault::Coding("with arithmetic codes")),
            _ => return Err(JpegFault::Coding("in several resolutions")),
        }
        let odd = JpegFault::Structure("the head of its frame is odd");
        let Some((&[depth, h1, h0, w1, w0, count], rest)) = body.split_first_chunk() else { return Err(odd) };
        if depth != 8 {
            return Err(JpegFault::Depth(depth));
        }
        if rest.len() != 3 * usize::from(count) {
            return Err(odd);
        }
        let component = |bytes: &[u8]| match *bytes {
            [id, sampling, table] => Component { id, across: sampling >> 4, down: sampling & 0xf, table },
            _ => Component { id: 0, across: 0, down: 0, table: 0 },
        };
        let components: Vec<_> = rest.chunks_exact(3).map(component).collect();
        if !components.iter().all(|it| (1..=4).contains(&it.across) && (1..=4).contains(&it.down)) {
            return Err(JpegFault::Structure("a component's sampling is not 1 to 4"));
        }
        // No decoder of note reads such.
        let most = components.iter().fold((1, 1), |most, it| (it.across.max(most.0), it.down.max(most.1)));
        if components.iter().any(|it| most.0 % it.across != 0 || most.1 % it.down != 0) {
            return Err(JpegFault::Coding("with samplings that do not divide each other"));
        }
        let ids: Vec<_> = components.iter().map(|component| component.id).collect();
        let colours = match (ids.as_slice(), marks) {
            ([_], _) => Colours::Grey,
            ([_, _, _], Marks { is_jfif: true, .. }) => Colours::YCbCr,
            ([_, _, _], Marks { transform: Some(0), .. }) | (b"RGB", Marks { transform: None, .. }) => Colours::Rgb,
            ([_, _, _], _) => Colours::YCbCr,
            ([_, _, _, _], _) => return Err(JpegFault::Cmyk),
            (ids, _) => return Err(JpegFault::Components(ids.len())),
        };
        let (width, height) = (u16::from_be_bytes([w1, w0]), u16::from_be_bytes([h1, h0]));
        let Marks { is_limited, field, .. } = *marks;
        Ok(Self { width, height, components, colours, is_limited, field })
    }

    /// Returns the size of the picture, or of this field of it.
    pub(super) fn size(&self) -> Result<FrameSize, JpegFault> {
        Ok(FrameSize::new(self.width.into(), self.height.into())?)
    }
}
