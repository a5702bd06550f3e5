//! The target `audio`: see `src/targets/audio.rs`.
#![no_main]
hocket_fuzz::fuzz!("audio");
