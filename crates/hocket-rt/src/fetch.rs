//! Prefetches cache lines.

/// Prefetches the cache line at an address, and returns at once.
///
/// This is a hint and reads nothing. So any address is allowed, even one without memory (Intel SDM vol. 2,
/// PREFETCHh; Arm ARM, PRFM). Thread: any. Cost: one instruction, or nothing on a CPU without one.
#[inline(always)]
pub fn fetch_line(address: usize) {
    arch::prefetch(address);
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    use std::ptr::without_provenance;

    #[inline(always)]
    pub fn prefetch(address: usize) {
        // SAFETY: a hint, which neither reads nor faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(without_provenance(address)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use std::arch::asm;

    #[inline(always)]
    pub fn prefetch(address: usize) {
        // SAFETY: a hint, which neither reads nor faults, whatever the address.
        unsafe { asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    #[inline(always)]
    pub fn prefetch(_address: usize) {}
}

#[cfg(test)]
mod tests {
    use super::fetch_line;

    #[test]
    fn any_address_will_do() {
        let here = 0u8;
        for address in [0, 1, usize::MAX, (&raw const here).addr()] {
            fetch_line(address);
        }
        assert_eq!(here, 0);
    }
}
