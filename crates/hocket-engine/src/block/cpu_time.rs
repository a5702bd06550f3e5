//! For how much of a span its thread had no CPU: preempted, or dear?
//!
//! A thread's CPU clock is a system call. So it is read at the begin of a block and at the end of each span that took long,
//! and only where somebody asked for it ([`Spans::CpuTime`](crate::Spans::CpuTime)). What a short span loses
//! cannot be much: a thread that loses its CPU makes its span a long one.

use hocket_machine::clock::TickRate;
use hocket_machine::process::own_cpu_ns;

/// A span is long from here on. The system call takes a hundredth of that.
const LONG_NS: u64 = 20_000;

/// What the thread's CPU clock said last.
#[derive(Debug, Default)]
pub(crate) struct CpuTime {
    /// `None`: nobody asked, or the system does not tell.
    last: Option<Reading>,
    long_ticks: u64,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    /// The wall clock.
    ticks: u64,
    cpu_ns: u64,
}

impl CpuTime {
    /// Thread: the worker's. One system call if it is wanted.
    #[inline]
    pub(crate) fn begin(&mut self, is_wanted: bool, ticks: u64) {
        self.last = None;
        if is_wanted {
            self.long_ticks = TickRate::get().ns_to_ticks(LONG_NS);
            self.read(ticks);
        }
    }

    /// For how many microseconds of the span that ends now the thread had no CPU; `None`: it was not asked.
    ///
    /// Thread: the worker's. One system call after a long span.
    #[inline]
    pub(crate) fn away_us(&mut self, start: u64, end: u64) -> Option<u32> {
        let before = self.last?;
        let took = end.wrapping_sub(start);
        if took < self.long_ticks {
            return None;
        }
        self.read(end);
        let rate = TickRate::get();
        let ran_ns = self.last?.cpu_ns.saturating_sub(before.cpu_ns);
        let passed_ns = rate.ticks_to_ns(end.wrapping_sub(before.ticks));
        let away_ns = passed_ns.saturating_sub(ran_ns).min(rate.ticks_to_ns(took));
        Some(u32::try_from(away_ns / 1000).unwrap_or(u32::MAX - 1))
    }

    fn read(&mut self, ticks: u64) {
        self.last = own_cpu_ns().map(|cpu_ns| Reading { ticks, cpu_ns });
    }
}
