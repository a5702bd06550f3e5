//! The target `job`: see `src/targets/job.rs`.
#![no_main]
hocket_fuzz::fuzz!("job");
