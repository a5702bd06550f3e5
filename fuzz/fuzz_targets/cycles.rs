//! The target `cycles`: see `src/targets/cycles.rs`.
#![no_main]
hocket_fuzz::fuzz!("cycles");
