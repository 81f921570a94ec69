//! Errors in a configuration, one sentence each.

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum ConfigError {
    /// A key that does not exist.
    #[error("line {line}: there is no key `{key}` here; {instead}")]
    UnknownKey { line: usize, key: String, instead: String },
    /// Text that is not TOML, or a value of the wrong type.
    #[error("line {line}: {message}")]
    Syntax { line: usize, message: String },
    /// A value outside what its key takes.
    #[error("`{key}`: {message}")]
    Value {
        /// Section and key, such as `codec.rate`.
        key: &'static str,
        /// Message: the fault and its remedy.
        message: String,
    },
}
