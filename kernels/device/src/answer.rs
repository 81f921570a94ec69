//! The driver's answers: failures as this crate's error, texts without their padding.

use ocl::core as cl;

use crate::DeviceError;

/// Turns a failure of `call` into this crate's error.
pub(crate) fn failed(call: &'static str) -> impl Fn(cl::Error) -> DeviceError {
    move |error| {
        let reason = match error.api_status() {
            Some(status) => format!("{status:?}"),
            None => error.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
        };
        DeviceError::Failed { call, reason }
    }
}

/// Returns a text that was asked for; an empty one if there is none.
pub(crate) fn text<T: std::fmt::Display>(info: Result<T, cl::Error>) -> String {
    info.map(|value| value.to_string().trim_matches(['\0', ' ']).to_owned()).unwrap_or_default()
}
