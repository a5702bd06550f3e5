//! Kernels that each keep one part of a core busy. Two of them on two seats show which parts the seats
//! share.

mod alu;

mod fp;

mod l1;

mod load_store;

mod pause;

pub use alu::{AluChain, AluIndependent};
pub use fp::Fp;
pub use l1::L1;
pub use load_store::LoadStore;
pub use pause::Pause;

use crate::kernel::Kernel;

/// One of each, in the order in which reports name them.
pub fn all() -> Vec<Box<dyn Kernel>> {
    vec![
        Box::new(AluChain::new()),
        Box::new(AluIndependent::new()),
        Box::new(Fp::new()),
        Box::new(L1::new()),
        Box::new(LoadStore::new()),
        Box::new(Pause::new()),
    ]
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_passes_its_own_check_after_any_number_of_passes() {
        for mut kernel in all() {
            for passes in [0, 1, 2, 7, 1_000] {
                kernel.run(passes);
                assert_eq!(kernel.check(), Ok(()), "{}", kernel.name());
            }
        }
    }

    #[test]
    fn names_differ_and_all_but_doing_nothing_counts_operations() {
        let mut names: Vec<_> = all().iter().map(|kernel| kernel.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
        let idle = all().iter().filter(|kernel| kernel.ops().total() == 0).count();
        assert_eq!(idle, 1);
    }
}
