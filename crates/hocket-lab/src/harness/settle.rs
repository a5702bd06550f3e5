//! Threads that a kernel starts by itself: where they run, and what they used.
//!
//! Some kernels start their own threads and let each settle before the work begins. [`Settle`] pins them,
//! keeps what went wrong, and adds what they used to the ledger of the turn, as a
//! [`TurnThreads`](super::turn_threads::TurnThreads) does for its members.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hocket_machine::noise::ThreadSnapshot;
use hocket_machine::pin;

use super::host::set_of;
use super::{Fault, ledger};

/// Where threads 0, 1, ... run.
#[derive(Debug)]
pub struct Settle<'a> {
    cpus: &'a [u32],
    refused: Mutex<Option<String>>,
}

impl<'a> Settle<'a> {
    /// Thread `n` is pinned to the `n`th of these CPUs, round and round.
    pub fn on(cpus: &'a [u32]) -> Settle<'a> {
        Settle { cpus, refused: Mutex::default() }
    }

    /// To be called first by thread `number`. What the thread uses from here to its end goes into the
    /// ledger. Cost: some files, tens of microseconds, here and at the thread's end.
    pub fn thread(&self, number: usize) {
        if let Some(cpu) = self.cpus.get(number % self.cpus.len().max(1)) {
            let pinned = pin::pin_current_thread(&set_of(&[*cpu]));
            if let Err(why) = pinned {
                self.refused().get_or_insert(why.to_string());
            }
        }
        WATCH.with_borrow_mut(|watch| *watch = Some(Watch(ThreadSnapshot::take())));
    }

    /// To be called once all threads were joined.
    ///
    /// # Errors
    /// A thread that could not be pinned: what was measured is not what was asked for.
    pub fn end(self) -> Result<(), Fault> {
        let refused = self.refused().take();
        refused.map_or(Ok(()), |why| Err(Fault(why)))
    }

    fn refused(&self) -> MutexGuard<'_, Option<String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// Ends with the thread, before whoever joins it goes on.
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

struct Watch(ThreadSnapshot);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(counters) = ThreadSnapshot::take().since(&self.0).0.value() {
            ledger::note_thread(counters);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_kernels::ThreadGroup;

    #[test]
    fn threads_run_where_they_are_put() {
        let cpus: Vec<u32> = pin::current_affinity().unwrap().iter().collect();
        let settle = Settle::on(&cpus);
        let place = |number| settle.thread(number);
        let ran = ThreadGroup::new(3, &place).run(|_| pin::current_cpu()).unwrap();
        for (number, cpu) in ran.results.iter().enumerate() {
            assert!(cpu.is_none_or(|cpu| cpu == cpus[number % cpus.len()]));
        }
        assert_eq!(settle.end(), Ok(()));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_a_fault() {
        let settle = Settle::on(&[16_000]);
        let place = |number| settle.thread(number);
        ThreadGroup::new(1, &place).run(|_| ()).unwrap();
        assert!(settle.end().unwrap_err().0.contains("16000"));
    }
}
