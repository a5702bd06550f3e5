//! Why a call on a control thread did not do its work.

use hocket_engine::{ControlError, EditError, EditorError, EngineError, SettingsError};

use hocket_streams::{DiskError, LoadErrors};

use crate::status::Status;

/// A status and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub status: Status,
    pub text: String,
}

impl Failure {
    pub(crate) fn bad_input(text: impl ToString) -> Failure {
        Failure { status: Status::BadInput, text: text.to_string() }
    }

    pub(crate) fn not_possible(text: impl ToString) -> Failure {
        Failure { status: Status::NotPossible, text: text.to_string() }
    }

    fn of_disk(error: &DiskError) -> Failure {
        match error {
            DiskError::TooSmall(_) => Failure::bad_input(format!(
                "disk.buffer_bytes: {error}, or 0 to decode every file in memory"
            )),
            DiskError::OpenFiles { .. } | DiskError::Thread(_) => Failure::not_possible(error),
        }
    }

    /// A null pointer that must not be null.
    pub(crate) fn null(what: &str) -> Failure {
        Failure::bad_input(format!("{what} is NULL"))
    }

    /// A panic that the border caught.
    pub(crate) fn fault(payload: &(dyn std::any::Any + Send)) -> Failure {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
        let text = format!("an error in Hocket itself, please report it: {text}");
        Failure { status: Status::Fault, text }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Thread(_) => Failure::not_possible(error),
            EngineError::Settings(error) => error.into(),
            _ => Failure::bad_input(error),
        }
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Failure {
        Failure::of_disk(&error)
    }
}

impl From<LoadErrors> for Failure {
    fn from(errors: LoadErrors) -> Failure {
        let text = errors.text(|error| Failure::of_disk(error).text);
        let is_bad = errors.is_bad_input();
        Failure { status: if is_bad { Status::BadInput } else { Status::NotPossible }, text }
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Failure {
        match error {
            SettingsError::Wait(..) => Failure::not_possible(error),
            _ => Failure::bad_input(error),
        }
    }
}

impl From<EditorError> for Failure {
    fn from(error: EditorError) -> Failure {
        match error {
            EditorError::Engine(error) => error.into(),
            EditorError::Prepare(error) => Failure::bad_input(error),
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Failure {
        let text = error.to_string();
        match error {
            EditError::Control(error) => error.into(),
            EditError::Thread(_) => Failure::not_possible(text),
            EditError::Grew | EditError::Outdated => Failure { status: Status::Busy, text },
            _ => Failure::bad_input(text),
        }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Failure {
        let text = error.to_string();
        match error {
            ControlError::Full | ControlError::TooManyCommands | ControlError::NothingMeasured => {
                Failure { status: Status::Busy, text }
            }
            ControlError::NotMainThread => Failure { status: Status::WrongThread, text },
            ControlError::Thread(_) | ControlError::Panicked | ControlError::Wait(..) => {
                Failure::not_possible(text)
            }
            ControlError::Rule(_)
            | ControlError::Rate { .. }
            | ControlError::Frames(_)
            | ControlError::Lane { .. }
            | ControlError::SiblingPolicy(_)
            | ControlError::NeverChose => Failure::bad_input(text),
        }
    }
}
