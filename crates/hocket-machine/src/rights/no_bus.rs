//! In place of the D-Bus client where it is built without one: every conversation ends before it begins.

use super::service::{Service, Terms};
use super::*;

/// A connection, of which there is none here.
pub(super) enum Talk {}

impl Talk {
    pub async fn terms(&self) -> Result<Terms, String> {
        match *self {}
    }

    pub async fn make_real_time(&self, _: u32, _: ThreadId, _: u8) -> Result<(), String> {
        match *self {}
    }
}

pub(super) fn converse<T>(
    service: &Service,
    _: Duration,
    _: impl AsyncFnOnce(&Talk) -> Result<T, String>,
) -> Result<T, String> {
    let label = service.label;
    Err(format!("{label} was not asked: this build has no D-Bus client (cargo feature `dbus`)"))
}
