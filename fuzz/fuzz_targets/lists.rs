//! The target `lists`: see `src/targets/lists.rs`.
#![no_main]
hocket_fuzz::fuzz!("lists");
