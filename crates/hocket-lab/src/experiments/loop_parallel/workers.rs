//! Threads that wait for loops.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use hocket_kernels::mandelbrot::View;
use hocket_rt::{Barrier, Padded, SpinCost, Strategy, Wait};

use super::{Sum, rows};

/// Threads that compute rows together with the caller and wait between two loops.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    wait: Wait,
}

struct Shared {
    /// Where a loop begins and ends.
    barrier: Barrier,
    next: Padded<AtomicUsize>,
    sum: Padded<Sum>,
    /// What to draw; `None`: the end. Held to copy it, and written between two loops only.
    view: Mutex<Option<View>>,
}

impl Workers {
    /// `threads` in all: the caller is one of them.
    pub(super) fn start(threads: usize) -> io::Result<Workers> {
        let shared = Arc::new(Shared {
            barrier: Barrier::new(threads.max(1) as u32),
            next: Padded::default(),
            sum: Padded::default(),
            view: Mutex::new(None),
        });
        let wait = Wait::new(Strategy::Hybrid, &SpinCost::measure(), Strategy::USUAL_SPIN);
        let mut started = Vec::new();
        for number in 1..threads {
            let shared = Arc::clone(&shared);
            let builder = std::thread::Builder::new().name(format!("loop {number}"));
            started.push(builder.spawn(move || shared.work(&wait))?);
        }
        Ok(Workers { shared, threads: started, wait })
    }

    /// One loop over all rows.
    pub(super) fn sum(&self, view: &View) -> u64 {
        self.shared.set(Some(*view));
        // Relaxed, as the sum: the barrier publishes both.
        self.shared.next.store(0, Relaxed);
        self.shared.barrier.wait(&self.wait);
        self.shared.sum.add(rows(view, &self.shared.next));
        self.shared.barrier.wait(&self.wait);
        self.shared.sum.take()
    }
}

impl Shared {
    fn set(&self, view: Option<View>) {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = view;
    }

    fn view(&self) -> Option<View> {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, wait: &Wait) {
        loop {
            self.barrier.wait(wait);
            let Some(view) = self.view() else { return };
            self.sum.add(rows(&view, &self.next));
            self.barrier.wait(wait);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.set(None);
        self.shared.barrier.wait(&self.wait);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
