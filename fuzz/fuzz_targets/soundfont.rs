//! The target `soundfont`: see `src/targets/soundfont.rs`.
#![no_main]
hocket_fuzz::fuzz!("soundfont");
