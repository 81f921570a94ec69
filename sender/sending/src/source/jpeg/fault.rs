//! Reasons for which a JPEG picture cannot be used.

use picture::frame::InvalidSize;

/// A fault of one picture. As text it goes on from "a picture was skipped: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum JpegFault {
    #[error("there is no JPEG picture in its bytes")]
    NoPicture,
    #[error("its structure is broken: {0}")]
    Structure(&'static str),
    #[error("its data are damaged: {0}")]
    Damaged(String),
    #[error("table {0} is missing, and no picture before it had one")]
    NoTable(&'static str),
    #[error("its colours are CMYK, as printers take them: grey, YCbCr and RGB can be used")]
    Cmyk,
    #[error("it has {0} components: 1 (grey) and 3 (colour) can be used")]
    Components(usize),
    #[error("its samples have {0} bits: 8 can be used")]
    Depth(u8),
    #[error("it is coded {0}: usual baseline and progressive JPEG with Huffman codes can be used")]
    Coding(&'static str),
    #[error("{0}")]
    Size(#[from] InvalidSize),
    #[error("it holds tables for the pictures behind it")]
    OnlyTables,
}

impl JpegFault {
    /// Returns the kind in a word or two, by which faults are counted.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoPicture => "no JPEG",
            Self::Structure(_) => "broken structure",
            Self::Damaged(_) => "damaged",
            Self::NoTable(_) => "missing table",
            Self::Cmyk => "CMYK",
            Self::Components(_) | Self::Depth(_) | Self::Coding(_) => "kind of JPEG",
            Self::Size(_) => "size",
            Self::OnlyTables => "tables only",
        }
    }
}
