//! The target `traces`: see `src/targets/traces.rs`.
#![no_main]
hocket_fuzz::fuzz!("traces");
