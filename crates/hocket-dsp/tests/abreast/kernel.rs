//! The kernels that this CPU has.

use hocket_dsp::abreast::{self, ABREAST};
use hocket_dsp::{Abreast, Block, CascadeKernel};

/// Says so once.
#[cfg(target_arch = "x86_64")]
static SKIPPED: std::sync::Once = std::sync::Once::new();

/// Which instructions run two effects abreast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Those of every CPU.
    Portable,
    /// One register for four rows.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

/// A CPU with AVX2.
///
/// Invariant THERE: only [`Avx2::here`], which looks, makes one.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    fn here() -> Option<Avx2> {
        std::is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

impl Kernel {
    /// All that this CPU has.
    pub fn all() -> Vec<Kernel> {
        #[cfg(target_arch = "x86_64")]
        match Avx2::here() {
            Some(avx2) => return vec![Kernel::Portable, Kernel::Avx2(avx2)],
            None => SKIPPED.call_once(|| {
                println!("SKIPPED the kernel with wide registers: this CPU has no AVX2");
            }),
        }
        vec![Kernel::Portable]
    }

    /// Both blocks of two processors.
    pub fn process(self, pair: [Abreast<'_>; ABREAST], blocks: [&mut Block<'_>; ABREAST]) {
        match self {
            Kernel::Portable => abreast::process(pair, blocks),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: THERE: this CPU has AVX2.
            Kernel::Avx2(Avx2(())) => unsafe { abreast::process_avx2(pair, blocks) },
        }
    }

    /// The same instructions for a cascade of sections.
    pub fn of_cascades(self) -> CascadeKernel {
        match self {
            Kernel::Portable => CascadeKernel::PORTABLE,
            #[cfg(target_arch = "x86_64")]
            // SAFETY: THERE: this CPU has AVX2.
            Kernel::Avx2(Avx2(())) => unsafe { CascadeKernel::avx2() },
        }
    }
}
