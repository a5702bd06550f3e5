//! A value read from the system, or the reason why it could not be read.
//!
//! A missing value is never a zero: records and reports must be able to say "unknown, because".

use serde::Serialize;

/// A value of the system, or why there is none.
///
/// In JSON: `{"value": ...}` or `{"unknown": "why"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact<T> {
    /// The value.
    Value(T),
    /// Why there is none, in words.
    Unknown(String),
}

impl<T> Fact<T> {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// Why there is no value.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Unknown(why) => Some(why),
        }
    }

    /// Applies `f` to the value and keeps the reason.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Self::Value(value) => Fact::Value(f(value)),
            Self::Unknown(why) => Fact::Unknown(why),
        }
    }

    /// Applies `f`, which may reject the value with a reason.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Value(value) => f(value),
            Self::Unknown(why) => Fact::Unknown(why),
        }
    }
}

impl<T> From<Result<T, String>> for Fact<T> {
    fn from(result: Result<T, String>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(why) => Self::Unknown(why),
        }
    }
}

impl<T: std::fmt::Display> std::fmt::Display for Fact<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Unknown(why) => write!(f, "unknown ({why})"),
        }
    }
}
