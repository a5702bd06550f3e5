//! The target `session`: see `src/targets/session.rs`.
#![no_main]
hocket_fuzz::fuzz!("session");
