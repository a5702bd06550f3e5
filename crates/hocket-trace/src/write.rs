//! Files of a [`RunTrace`](crate::run::RunTrace) or a [`SystemTrace`](crate::system::SystemTrace): plain functions from it
//! to bytes.
//!
//! | function | read by |
//! |---|---|
//! | [`text()`] | people |
//! | [`chrome_json`] | ui.perfetto.dev and profiler.firefox.com: trace events as Chrome writes them |
//! | [`perfetto()`] | ui.perfetto.dev: smaller, with the slack as a curve |
//!
//! `hocket-lab` writes the page. All formats draw from one list of events (`write/events.rs`), so they cannot disagree.

mod events;
mod text;
mod system;
mod system_text;
mod chrome;
mod perfetto;

pub(crate) use events::{AN_INTERRUPT, BY, WOKEN, kept};

pub use chrome::{chrome_json, chrome_json_of_system};
pub use perfetto::{perfetto, perfetto_of_system};
pub use system_text::{system_summary, system_text};
pub use text::text;
