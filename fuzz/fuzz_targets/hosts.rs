//! The target `hosts`: see `src/targets/hosts.rs`.
#![no_main]
hocket_fuzz::fuzz!("hosts");
