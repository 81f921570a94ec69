//! Errors in a configuration, one sentence each.

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A key that does not exist.
    #[error("line {line}: there is no key `{key}` here; did you mean `{nearest}`?")]
    UnknownKey {
        /// Line in the file, from 1.
        line: usize,
        /// The key found.
        key: String,
        /// The valid key most like it.
        nearest: String,
    },
    /// Text that is not TOML, or a value of the wrong type.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line in the file, from 1.
        line: usize,
        /// Message of the parser: the text found and the text expected.
        message: String,
    },
    /// A value outside what its key takes.
    #[error("`{key}`: {message}")]
    Value {
        /// Section and key, such as `codec.rate`.
        key: &'static str,
        /// Message: the fault and its remedy.
        message: String,
    },
}
