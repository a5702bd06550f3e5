//! The platform seam: one file per operating system, all with the same names. Nothing above asks which system it is.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::EndWithoutMemory;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(target_os = "linux"))]
compile_error!(
    "hocket-machine knows Linux so far: a new system is one new file beside sys/linux.rs with the same names"
);
