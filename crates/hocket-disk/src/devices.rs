//! How many threads wait for which device.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Keeps a device that stalls from holding every thread.
#[derive(Debug)]
pub(crate) struct Devices {
    waiting: Mutex<HashMap<u64, usize>>,
    most: usize,
}

/// The right to wait for a device.
pub(crate) struct Admission<'d> {
    devices: &'d Devices,
    device: u64,
}

impl Devices {
    /// For so many threads: at most half of them wait for one device.
    pub fn new(threads: usize) -> Devices {
        Devices { waiting: Mutex::default(), most: (threads / 2).max(1) }
    }

    /// `None` while enough threads wait for it.
    pub fn admit(&self, device: u64) -> Option<Admission<'_>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.entry(device).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Admission { devices: self, device })
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        let mut waiting = self.devices.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = waiting.get_mut(&self.device) {
            *count -= 1;
        }
    }
}
