//! The target `costs`: see `src/targets/costs.rs`.
#![no_main]
hocket_fuzz::fuzz!("costs");
