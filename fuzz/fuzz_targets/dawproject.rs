//! The target `dawproject`: see `src/targets/dawproject.rs`.
#![no_main]
hocket_fuzz::fuzz!("dawproject");
