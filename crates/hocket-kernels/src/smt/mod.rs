//! The prototypes of the 2009 thesis on SMT (its sections 6.2 to 6.4), which follow the benchmarks of
//! Magro, Petersen and Shah, "Hyper-Threading Technology: Impact on Compute-Intensive Workloads"
//! (Intel Technology Journal, 2002).

mod mem;

mod int_mem;

mod dbl_mem;

mod int_dbl;

pub use dbl_mem::DblMem;
pub use int_dbl::IntDbl;
pub use int_mem::IntMem;
pub use mem::{BUFFER_BYTES, ROW_BYTES};
