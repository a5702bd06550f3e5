//! PROTOCOL.md and the sources of this crate, held together by the rules of hocket-rt.

// Reads the files of the crate that compiles it.
#[path = "../../hocket-rt/tests/protocol.rs"]
mod rules;
