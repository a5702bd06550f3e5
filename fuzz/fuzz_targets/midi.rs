//! The target `midi`: see `src/targets/midi.rs`.
#![no_main]
hocket_fuzz::fuzz!("midi");
