//! The target `plugins`: see `src/targets/plugins.rs`.
#![no_main]
hocket_fuzz::fuzz!("plugins");
