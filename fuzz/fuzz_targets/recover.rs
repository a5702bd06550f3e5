//! The target `recover`: see `src/targets/recover.rs`.
#![no_main]
hocket_fuzz::fuzz!("recover");
