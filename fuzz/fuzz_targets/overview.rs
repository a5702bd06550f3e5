//! The target `overview`: see `src/targets/overview.rs`.
#![no_main]
hocket_fuzz::fuzz!("overview");
