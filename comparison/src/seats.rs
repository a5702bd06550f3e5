//! Where the threads of other libraries sit: settled by the code that settles Hocket's own.

use hocket_engine::{ThreadReport, settle_leader};
use hocket_machine::float_mode::FlushDenormals;

use crate::setup::Setup;

/// One seat a worker, the leader's first, and the class that all ask for.
#[derive(Debug, Clone)]
pub struct Seats {
    cpus: Vec<Option<u32>>,
    priority: Option<u8>,
}

impl Seats {
    /// Those of Hocket's workers.
    pub fn of(setup: &Setup) -> Seats {
        let cpu = |worker| setup.seating.worker_cpu(worker);
        Seats { cpus: (0..setup.workers()).map(cpu).collect(), priority: setup.priority }
    }

    /// Seats, the leader's included.
    pub fn count(&self) -> usize {
        self.cpus.len()
    }

    /// Seats the calling thread as worker `index` for good, with denormals as zero; its report is
    /// called `name`.
    pub fn settle(&self, name: &str, index: usize) -> ThreadReport {
        // Forgotten, like the seat below: the thread keeps mode, seat and class as long as it lives.
        std::mem::forget(FlushDenormals::enter());
        let cpu = self.cpus.get(index).copied().flatten();
        let (seat, report) = settle_leader(name, cpu, self.priority);
        std::mem::forget(seat);
        report
    }
}
