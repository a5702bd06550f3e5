//! The target `lab`: see `src/targets/lab.rs`.
#![no_main]
hocket_fuzz::fuzz!("lab");
