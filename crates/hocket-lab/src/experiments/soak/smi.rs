//! System management interrupts, as Intel's processors count them.
//!
//! Firmware handles them, and no kernel sees one. Model-specific register 0x34 (MSR_SMI_COUNT in the Intel 64 and IA-32
//! Architectures Software Developer's Manual, volume 4) counts them since the start of the machine, in its lower 32 bits.
//! The kernel's module `msr` lets root read it as 8 bytes at that place of `/dev/cpu/N/msr`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

const REGISTER: u64 = 0x34;

/// The counter of one CPU.
#[derive(Debug)]
pub(super) struct SmiCounter(File);

impl SmiCounter {
    /// That of `cpu`.
    ///
    /// # Errors
    /// Why it cannot be read here.
    pub(super) fn of(cpu: u32) -> Result<SmiCounter, String> {
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        SmiCounter::open(&processor, Path::new(&format!("/dev/cpu/{cpu}/msr")))
    }

    fn open(processor: &str, place: &Path) -> Result<SmiCounter, String> {
        let is_intel = |line: &str| line.starts_with("vendor_id") && line.ends_with("GenuineIntel");
        if !processor.lines().any(is_intel) {
            return Err("only Intel's processors count these interrupts in a register".into());
        }
        let told = |error: std::io::Error| {
            format!(
                "{}: {error}; root reads it once the module is there (modprobe msr)",
                place.display()
            )
        };
        let counter = SmiCounter(File::open(place).map_err(told)?);
        counter.read().map_err(told)?;
        Ok(counter)
    }

    /// Since the start of the machine; it wraps around. Cost: a system call, and an interrupt of that CPU if it is another.
    fn read(&self) -> std::io::Result<u32> {
        let mut register = [0; 8];
        self.0.read_exact_at(&mut register, REGISTER)?;
        // The upper half is reserved.
        Ok(u64::from_le_bytes(register) as u32)
    }

    /// How many came while `work` ran. `None`: the register could not be read any more.
    pub(super) fn during<R>(&self, work: impl FnOnce() -> R) -> (R, Option<u32>) {
        let before = self.read();
        let result = work();
        let after = self.read();
        let count = before.ok().zip(after.ok()).map(|(before, after)| after.wrapping_sub(before));
        (result, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEL: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n";

    fn registers(count: u32) -> Vec<u8> {
        let mut bytes = vec![0xFF; REGISTER as usize];
        bytes.extend(u64::from(count).to_le_bytes());
        bytes
    }

    #[test]
    fn interrupts_in_between_are_counted_even_where_the_register_wraps() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("msr");
        fs::write(&place, registers(u32::MAX)).unwrap();
        let counter = SmiCounter::open(INTEL, &place).unwrap();
        let (result, count) = counter.during(|| fs::write(&place, registers(2)).is_ok());
        assert_eq!((result, count), (true, Some(3)));
        assert_eq!(counter.during(|| ()).1, Some(0));
    }

    #[test]
    fn where_there_is_no_counter_the_reason_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("msr");
        let why = |processor: &str| SmiCounter::open(processor, &place).unwrap_err();
        assert!(why("vendor_id\t: AuthenticAMD\n").contains("only Intel"));
        assert!(why(INTEL).contains("modprobe msr"));
        fs::write(&place, [0; 20]).unwrap();
        assert!(why(INTEL).contains("msr: "), "a register that cannot be read");
    }
}
