//! The target `record`: see `src/targets/record.rs`.
#![no_main]
hocket_fuzz::fuzz!("record");
