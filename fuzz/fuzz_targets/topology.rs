//! The target `topology`: see `src/targets/topology.rs`.
#![no_main]
hocket_fuzz::fuzz!("topology");
