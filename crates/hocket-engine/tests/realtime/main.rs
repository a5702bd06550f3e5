//! A test binary of its own, because its allocator belongs to the whole process.
//!
//! Inside of a block: no allocation, no lock, no system call but the counted ones, no fill or copy by the
//! C library. With the feature
//! `sentry` every call of a block is looked at (see `hocket_engine::sentry`), with the feature
//! `rtsan` RealtimeSanitizer looks on, and ends the process at the first violation.

mod sentry;
mod stage;
mod watching;

mod background;
mod clean;
mod edits;
mod events;
mod jack;
mod notes;
mod numbers;
mod ports;
mod spreading;
#[cfg(feature = "sentry")]
mod offenders;
#[cfg(feature = "sentry")]
mod promise;
#[cfg(feature = "rtsan")]
mod sanitizer;
