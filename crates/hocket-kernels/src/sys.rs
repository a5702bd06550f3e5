//! What only the system can do. One file a thing, with the same names on every system.
#![allow(unsafe_code)]

#[cfg_attr(all(target_os = "linux", not(loom)), path = "sys/futex_linux.rs")]
#[cfg_attr(not(all(target_os = "linux", not(loom))), path = "sys/futex_other.rs")]
mod futex;

pub(crate) use futex::Futex;

mod increment;
pub(crate) use increment::{in_one, in_three, one_instruction_missing};

#[cfg(target_os = "linux")]
pub(crate) mod calls;
#[cfg(target_os = "linux")]
pub(crate) mod pages;
#[cfg(target_os = "linux")]
pub(crate) mod processes;
#[cfg(target_os = "linux")]
pub(crate) mod signals;

#[cfg(unix)]
mod channel;
#[cfg(unix)]
mod semaphore;
#[cfg(unix)]
pub(crate) use channel::Channel;
#[cfg(unix)]
pub(crate) use semaphore::Semaphore;
