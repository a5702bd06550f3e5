//! Keeps CPUs from sleeping while something is measured.
//!
//! A CPU that halts takes time to come back: some microseconds for a deep sleep state, and in a
//! virtual machine whatever its host likes (milliseconds on a busy host). Threads of class
//! SCHED_IDLE that only spin keep every CPU awake and are put aside at once by anybody else. What
//! is measured then is the engine and the kernel, not the sleep states; both are worth knowing, so
//! records say which it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use hocket_machine::class::{self, Class};
use hocket_machine::pin::{self, CpuSet};

/// Spins on some CPUs until dropped.
#[derive(Debug)]
pub struct KeepAwake {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl KeepAwake {
    /// Starts one thread a CPU. A CPU whose thread is refused its place or class is left alone.
    pub fn on(cpus: &[u32]) -> KeepAwake {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = |cpu: &u32| {
            let (cpu, stop) = (*cpu, Arc::clone(&stop));
            std::thread::Builder::new().name("keep-awake".into()).spawn(move || spin(cpu, &stop))
        };
        let threads = cpus.iter().filter_map(|cpu| thread(cpu).ok()).collect();
        KeepAwake { stop, threads }
    }
}

fn spin(cpu: u32, stop: &AtomicBool) {
    let placed = pin::pin_current_thread(&CpuSet::single(cpu)).is_ok();
    if !placed || !class::request(Class::Idle).granted {
        return;
    }
    // Relaxed: the flag publishes nothing.
    while !stop.load(Relaxed) {
        std::hint::spin_loop();
    }
}

impl Drop for KeepAwake {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
