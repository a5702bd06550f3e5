//! The target `tempo`: see `src/targets/tempo.rs`.
#![no_main]
hocket_fuzz::fuzz!("tempo");
