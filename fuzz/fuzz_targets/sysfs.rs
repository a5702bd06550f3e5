//! The target `sysfs`: see `src/targets/sysfs.rs`.
#![no_main]
hocket_fuzz::fuzz!("sysfs");
