//! Who asks for blocks: the built-in virtual device, or nobody but the disk.

pub mod virtual_device;
pub mod offline;
