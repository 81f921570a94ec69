//! The header of a program: text before its own, with all that Rust and OpenCL C share.

use std::fmt::{Display, Write};

/// The text before a program's own. Constants, types and layouts of descriptions come to OpenCL C through here and in
/// no other way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header(String);

impl Header {
    /// Adds a macro, which the text has only once.
    pub fn define(mut self, name: &str, value: impl Display) -> Self {
        debug_assert!(!self.0.contains(&format!("#define {name} ")), "{name} is defined twice");
        let _ = writeln!(self.0, "#define {name} {value}");
        self
    }

    /// Adds a declaration.
    pub fn line(mut self, text: &str) -> Self {
        self.0 += text;
        self.0.push('\n');
        self
    }

    /// Adds the type of a description.
    pub fn layout<T: Layout>(self) -> Self {
        self.line(T::TEXT)
    }

    /// Adds all of `other`.
    pub fn and(self, other: &Self) -> Self {
        self.line(&other.0)
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// A description that the host writes and kernels read.
pub trait Layout {
    /// Its type in OpenCL C.
    const TEXT: &'static str;
}

/// Rust's types for the words that [`layout`] takes, all of four bytes, so that there are no gaps between them.
#[allow(non_camel_case_types, reason = "names of OpenCL C")]
pub mod c {
    /// 32 bits.
    pub type int = i32;
    /// 32 bits without a sign.
    pub type uint = u32;
    /// IEEE single precision.
    pub type float = f32;
}

/// Declares a description once, for Rust and, as [`Layout::TEXT`], for OpenCL C: fields with the types of [`c`].
#[macro_export]
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $type:ident $field:ident;)* }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub(crate) struct $name {
            $($(#[$field_doc])* pub(crate) $field: $crate::header::c::$type,)*
        }

        // SAFETY: numbers of OpenCL C, in the order in which its own type has them.
        unsafe impl $crate::OclPrm for $name {}

        impl $crate::header::Layout for $name {
            const TEXT: &'static str =
                concat!("typedef struct { ", $(stringify!($type), " ", stringify!($field), "; ",)* "} ", stringify!($name), ";");
        }
    };
}
pub use crate::layout;

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
