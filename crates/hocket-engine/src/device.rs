//! What requests blocks: the built-in virtual device, or offline rendering.

pub mod virtual_device;
pub mod offline;
