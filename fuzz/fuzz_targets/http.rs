//! The target `http`: see `src/program/http.rs`.
#![no_main]
hocket_fuzz::fuzz!("http");
