//! The header of a program: text before its own, with all that Rust and OpenCL C share.

use std::fmt::{Display, Write};

use crate::wavelet::Element;

/// The text before a program's own. Constants, types and layouts of descriptions come to OpenCL C through here and in
/// no other way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header(String);

impl Header {
    /// Adds a macro, which the text has only once.
    pub(crate) fn define(mut self, name: &str, value: impl Display) -> Self {
        debug_assert!(!self.0.contains(&format!("#define {name} ")), "{name} is defined twice");
        let _ = writeln!(self.0, "#define {name} {value}");
        self
    }

    /// Adds a macro of a number with every bit of the element's type.
    pub(crate) fn real(self, name: &str, element: Element, value: f64) -> Self {
        self.define(name, literal(element, value))
    }

    /// Adds a declaration.
    pub(crate) fn line(mut self, text: &str) -> Self {
        self.0 += text;
        self.0.push('\n');
        self
    }

    /// Adds the type of a description.
    pub(crate) fn layout<T: Layout>(self) -> Self {
        self.line(T::TEXT)
    }

    /// Adds all of `other`.
    pub(crate) fn and(self, other: &Self) -> Self {
        self.line(&other.0)
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// Returns a number as OpenCL C has it, with every bit of the element's type.
pub(crate) fn literal(element: Element, value: f64) -> String {
    match element {
        // Nine digits after the point name every f32, seventeen every f64.
        Element::F32 => format!("{:.9e}f", value as f32),
        Element::F64 => format!("{value:.17e}"),
        Element::I32 => format!("{}", value as i32),
    }
}

/// A description that the host writes and kernels read.
pub(crate) trait Layout {
    /// Its type in OpenCL C.
    const TEXT: &'static str;
}

/// Rust's types for the words that [`layout`] takes, all of four bytes, so that there are no gaps between them.
#[allow(non_camel_case_types, reason = "names of OpenCL C")]
pub(crate) mod c {
    pub(crate) type int = i32;
    pub(crate) type uint = u32;
    pub(crate) type float = f32;
}

/// Declares a description once, for Rust and, as [`Layout::TEXT`], for OpenCL C: fields with the types of [`c`].
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $type:ident $field:ident;)* }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub(crate) struct $name {
            $($(#[$field_doc])* pub(crate) $field: $crate::opencl::device::header::c::$type,)*
        }

        // SAFETY: numbers of OpenCL C, in the order in which its own type has them.
        unsafe impl ocl::core::OclPrm for $name {}

        impl $crate::opencl::device::header::Layout for $name {
            const TEXT: &'static str =
                concat!("typedef struct { ", $(stringify!($type), " ", stringify!($field), "; ",)* "} ", stringify!($name), ";");
        }
    };
}
pub(crate) use layout;

#[cfg(test)]
mod tests {
    use super::*;

    layout! {
        /// Two numbers.
        Pair { int first; float second; }
    }

    #[test]
    fn a_layout_is_one_text_and_one_type() {
        assert_eq!(Pair::TEXT, "typedef struct { int first; float second; } Pair;");
        assert_eq!(size_of::<Pair>(), 8);
    }

    #[test]
    #[should_panic(expected = "TWICE is defined twice")]
    fn a_macro_has_one_value() {
        let _ = Header::default().define("TWICE", 1).and(&Header::default()).define("TWICE", 2);
    }
}
