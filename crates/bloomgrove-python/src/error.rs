//! Errors as Python exceptions: the tree in `python/bloomgrove/_errors.py` mirrors `bloomgrove::Error`.

use bloomgrove::Error;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Why a method failed: an error of ours, or an exception.
#[derive(Debug)]
pub(crate) enum Failure {
    Ours(Error),
    Server(bloomgrove_client::Error),
    Python(PyErr),
}

pub(crate) type Outcome<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Ours(error)
    }
}

impl From<bloomgrove_client::Error> for Failure {
    fn from(error: bloomgrove_client::Error) -> Self {
        match error {
            bloomgrove_client::Error::Filter(error) => Failure::Ours(error),
            error => Failure::Server(error),
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Ours(error) => Python::attach(|py| exception(py, &error)),
            Failure::Server(error) => Python::attach(|py| server_exception(py, &error)),
        }
    }
}

/// An exception of `bloomgrove._errors`.
pub(crate) fn raise(py: Python<'_>, class: &str, message: impl Into<String>) -> PyErr {
    let class = py
        .import("bloomgrove._errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, (message.into(),)),
        Err(error) => error,
    }
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let path = match error {
        Error::InFile { path, .. } => Some(path.as_os_str()),
        _ => None,
    };
    let message = error.to_string();
    let class = match error.kind() {
        Error::Io { source, .. } => {
            return match (source.raw_os_error(), path) {
                // Python picks FileNotFoundError, PermissionError and so on by the number.
                (Some(number), Some(path)) => {
                    PyOSError::new_err((number, text_of(number), path.to_os_string()))
                }
                (Some(number), None) => PyOSError::new_err((number, message)),
                (None, _) => PyOSError::new_err(message),
            };
        }
        Error::OutOfMemory { .. } => return PyMemoryError::new_err(message),
        Error::Interrupted => return PyKeyboardInterrupt::new_err(message),
        Error::Incompatible { .. } => "Incompatible",
        Error::DifferentTrees { .. } => "DifferentTrees",
        Error::Params { .. } => "InvalidParams",
        Error::Unreachable { .. } => "Unreachable",
        Error::Unfoldable { .. } => "Unfoldable",
        Error::Version { .. } => "UnknownVersion",
        Error::NotGrove { .. } => "NotGrove",
        Error::Corrupt { .. } => "Corrupt",
        Error::WrongContent { .. } => "WrongContent",
        Error::WouldReplace { .. } => "WouldReplace",
        Error::Message { .. } => "DamagedMessage",
        Error::TooLarge { .. } => "TooLarge",
        Error::OtherVersion { .. } => "OtherVersion",
        Error::UnknownSet { .. } => "UnknownSet",
        Error::DuplicateSet { .. } => "DuplicateSet",
        Error::Namespace { .. } => "InvalidNamespace",
        Error::NoMember { .. } => "NoMember",
        Error::Closed { .. } => "Unavailable",
        Error::Expression { .. } => "InvalidExpression",
        Error::Stale => "Stale",
        Error::Busy => "Busy",
        Error::Replaced => "Replaced",
        Error::Finished => "Finished",
        Error::Budget { .. } => "Budget",
        Error::Unsupported { .. } => "Unsupported",
        _ => "Error",
    };
    raise(py, class, message)
}

/// What the system calls an error, without the number that Rust appends.
fn text_of(number: i32) -> String {
    let text = std::io::Error::from_raw_os_error(number).to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

fn server_exception(py: Python<'_>, error: &bloomgrove_client::Error) -> PyErr {
    let raised = raise(py, "ServerError", error.to_string());
    let Some(problem) = error.problem() else {
        return raised;
    };
    match serde_json::to_value(problem.code) {
        Ok(serde_json::Value::String(code)) => match raised.value(py).setattr("code", code) {
            Ok(()) => raised,
            Err(error) => error,
        },
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}
