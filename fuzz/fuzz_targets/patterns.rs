//! The target `patterns`: see `src/targets/patterns.rs`.
#![no_main]
hocket_fuzz::fuzz!("patterns");
