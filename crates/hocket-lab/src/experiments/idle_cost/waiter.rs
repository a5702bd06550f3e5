//! Who is beside the observed thread, and the signal between them.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use hocket_kernels::{Biquads, Kernel};
use hocket_machine::clock::monotonic_ns;
use hocket_rt::{Padded, Signal, SpinCost, Strategy, Wait};

/// PAUSE instructions in a pass of the thesis' idle thread.
const PAUSES: u32 = 13;

/// What lies between the two threads.
#[derive(Default)]
pub(super) struct Bell {
    signal: Signal,
    /// When it was rung last. Relaxed: the signal that comes after publishes it.
    rung_ns: Padded<AtomicU64>,
    /// How many signals the waiter has heard. Relaxed: a number that publishes nothing.
    heard: Padded<AtomicU32>,
    /// No further signal. Relaxed: as above.
    finished: AtomicBool,
}

impl Bell {
    /// Notes the time and signals.
    pub(super) fn ring(&self) {
        self.rung_ns.store(monotonic_ns(), Relaxed);
        self.signal.advance();
    }

    /// So that no signal comes before the last one was heard; not where nobody listens.
    pub(super) fn wait_until_heard(&self, somebody: bool) {
        while somebody && self.heard.load(Relaxed) != self.signal.value() {
            std::hint::spin_loop();
        }
    }

    /// Tells whoever is busy to end.
    pub(super) fn finish(&self) {
        self.finished.store(true, Relaxed);
    }
}

/// Who is on the other seat.
pub(super) enum Beside {
    /// Nobody.
    Empty,
    /// Somebody who waits so.
    Waiting(Wait),
    /// The thesis' idle thread.
    IdleThread,
    /// Somebody who computes.
    Busy,
}

/// What the other thread found.
pub(super) struct Heard {
    /// From each signal to the look at the clock, in nanoseconds.
    pub latencies: Vec<f64>,
}

impl Beside {
    /// By the level of a variant.
    pub(super) fn of(name: &str) -> Option<Beside> {
        Some(match name {
            "empty" => Beside::Empty,
            "idle-thread" => Beside::IdleThread,
            "busy" => Beside::Busy,
            way => {
                let way: Strategy = way.parse().ok()?;
                Beside::Waiting(Wait::new(way, &SpinCost::measure(), Strategy::USUAL_SPIN))
            }
        })
    }

    /// Whether there is a thread at all.
    pub(super) fn is_somebody(&self) -> bool {
        !matches!(self, Beside::Empty)
    }

    /// Whether it listens to the signal.
    pub(super) fn answers(&self) -> bool {
        matches!(self, Beside::Waiting(_) | Beside::IdleThread)
    }

    /// The other thread: hears so many signals, or is busy until the bell is finished.
    pub(super) fn listen(&self, bell: &Bell, signals: u64) -> Heard {
        let mut latencies = Vec::with_capacity(signals as usize);
        match self {
            Beside::Empty => {}
            Beside::Busy => compute(bell),
            Beside::Waiting(wait) => {
                hear(bell, signals, &mut latencies, |seen| bell.signal.wait_past(seen, wait).0);
            }
            Beside::IdleThread => {
                hear(bell, signals, &mut latencies, |seen| idle_thread(bell, seen));
            }
        }
        Heard { latencies }
    }
}

fn hear(bell: &Bell, signals: u64, latencies: &mut Vec<f64>, wait: impl Fn(u32) -> u32) {
    let mut seen = 0;
    for _ in 0..signals {
        seen = wait(seen);
        latencies.push(monotonic_ns().saturating_sub(bell.rung_ns.load(Relaxed)) as f64);
        bell.heard.store(seen, Relaxed);
    }
}

fn idle_thread(bell: &Bell, seen: u32) -> u32 {
    loop {
        let value = bell.signal.value();
        if value != seen {
            return value;
        }
        (0..PAUSES).for_each(|_| std::hint::spin_loop());
    }
}

fn compute(bell: &Bell) {
    let mut kernel = Biquads::new(2);
    while !bell.finished.load(Relaxed) {
        std::hint::black_box(kernel.run(1));
    }
}
