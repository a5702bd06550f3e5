//! The target `osc`: see `src/program/osc.rs`.
#![no_main]
hocket_fuzz::fuzz!("osc");
