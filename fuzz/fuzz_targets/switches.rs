//! The target `switches`: see `src/targets/switches.rs`.
#![no_main]
hocket_fuzz::fuzz!("switches");
