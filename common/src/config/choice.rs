//! Values of keys, and the errors that name the key.

use std::fmt::Display;

use super::error::ConfigError;

/// Returns the value that `text` names among `choices`.
pub(super) fn choice<T: Copy>(key: &'static str, text: &str, choices: &[(&str, T)]) -> Result<T, ConfigError> {
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        value(key, format!("`{text}` is not one of {}", names.join(", ")))
    })
}

/// Returns the value of a key, or its error with the key's name.
pub(super) fn checked<T>(key: &'static str, result: Result<T, impl Display>) -> Result<T, ConfigError> {
    result.map_err(|error| value(key, error.to_string()))
}

/// Returns the error of a key whose value cannot be used.
pub(super) fn value(key: &'static str, message: impl Into<String>) -> ConfigError {
    ConfigError::Value { key, message: message.into() }
}
