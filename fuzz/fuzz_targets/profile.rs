//! The target `profile`: see `src/targets/profile.rs`.
#![no_main]
hocket_fuzz::fuzz!("profile");
