//! What a busy thread on the other half of the core costs a plug-in.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// How many times both are measured, one directly after the other.
const TURNS: usize = 15;
/// The ratios from the fourth to the fourth-last of 15 enclose the true median in 96 of 100 cases (sign test).
const OUTSIDE: usize = 3;

/// What a busy sibling costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BesideSibling {
    /// The plug-in's CPU, and the one of the busy thread.
    pub cpus: [u32; 2],
    /// Block length.
    pub frames: usize,
    /// How many notes are held; 0 for a plug-in that takes none.
    pub held_notes: usize,
    /// Median time of a block in microseconds, the sibling idle.
    pub alone_us: f64,
    /// The same, the sibling busy.
    pub beside_us: f64,
    /// The median over all turns: busy divided by idle.
    pub ratio: f64,
    /// From where to where the true median is, in 96 of 100 cases.
    pub interval: [f64; 2],
    /// How many times both were measured.
    pub turns: usize,
}

impl BesideSibling {
    /// In words.
    pub fn told(&self) -> String {
        let [own, other] = self.cpus;
        let held = match self.held_notes {
            0 => String::new(),
            count => format!(", with {count} notes held,"),
        };
        let change = |ratio: f64| format!("{:+.0}", 100.0 * (ratio - 1.0));
        format!(
            "a busy thread on the other half of its core (CPU {own} beside {other}) changes the time of a block of {} frames{} \
             by {} % [{}, {}]: {:.1} µs instead of {:.1}",
            self.frames,
            held,
            change(self.ratio),
            change(self.interval[0]),
            change(self.interval[1]),
            self.beside_us,
            self.alone_us
        )
    }
}

/// Measures on these CPUs. `block_us`: plays some blocks of `frames` while notes are held, and returns the median time of
/// one.
///
/// The calling thread is on the first CPU meanwhile.
///
/// # Errors
/// The system refuses one of the CPUs.
pub(super) fn measure(
    cpus: [u32; 2],
    (frames, held_notes): (usize, usize),
    mut block_us: impl FnMut() -> f64,
) -> Result<BesideSibling, String> {
    let _seat = OnCpu::take(cpus[0])?;
    block_us();
    let mut turns = Vec::with_capacity(TURNS);
    for turn in 0..TURNS {
        // Who is first takes turns, so that a drift of the clock rate favours nobody.
        let (alone, beside) = if turn % 2 == 0 {
            let alone = block_us();
            (alone, beside_busy(cpus[1], &mut block_us)?)
        } else {
            let beside = beside_busy(cpus[1], &mut block_us)?;
            (block_us(), beside)
        };
        turns.push((alone, beside));
    }
    let ranked = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut ranked: Vec<f64> = turns.iter().map(of).collect();
        ranked.sort_by(f64::total_cmp);
        ranked
    };
    let ratios = ranked(&|(alone, beside)| beside / alone.max(1e-3));
    Ok(BesideSibling {
        cpus,
        frames,
        held_notes,
        alone_us: ranked(&|(alone, _)| *alone)[TURNS / 2],
        beside_us: ranked(&|(_, beside)| *beside)[TURNS / 2],
        ratio: ratios[TURNS / 2],
        interval: [ratios[OUTSIDE], ratios[TURNS - 1 - OUTSIDE]],
        turns: TURNS,
    })
}

/// Does it while a thread on `cpu` is busy.
fn beside_busy<T>(cpu: u32, deed: impl FnOnce() -> T) -> Result<T, String> {
    let stop = AtomicBool::new(false);
    let (seated, seat) = channel();
    thread::scope(|scope| {
        // Also if the deed panics: the scope waits for the thread.
        let _stop = SetAtEnd(&stop);
        scope.spawn(|| {
            let taken = OnCpu::take(cpu);
            let is_seated = taken.is_ok();
            let _ = seated.send(taken.as_ref().map(|_| ()).map_err(String::clone));
            // Relaxed: the flag publishes nothing.
            while is_seated && !stop.load(Relaxed) {
                work();
            }
        });
        seat.recv().map_err(|_| "the busy thread ended".to_string())??;
        Ok(deed())
    })
}

/// Some microseconds of what effects do: multiplications and additions, eight chains beside each other.
fn work() {
    let mut chains = [1.0f64; 8];
    for _ in 0..500 {
        chains.iter_mut().for_each(|x| *x = *x * 0.999_9 + 1e-3);
    }
    black_box(chains);
}

struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The calling thread is on one CPU while this lives. This crate does not know hocket-machine, which pins audio threads.
struct OnCpu(CpuSet);

impl OnCpu {
    fn take(cpu: u32) -> Result<OnCpu, String> {
        let before = sched_getaffinity(None).map_err(|error| error.to_string())?;
        let mut one = CpuSet::new();
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(format!("CPU {cpu} is beyond the first {} CPUs", CpuSet::MAX_CPU));
        }
        one.set(cpu as usize);
        sched_setaffinity(None, &one).map_err(|error| format!("CPU {cpu}: {error}"))?;
        match sched_getaffinity(None) {
            Ok(now) if now == one => Ok(OnCpu(before)),
            _ => Err(format!("CPU {cpu}: the system has put this thread elsewhere")),
        }
    }
}

impl Drop for OnCpu {
    fn drop(&mut self) {
        // The system granted it before.
        let _ = sched_setaffinity(None, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> CpuSet {
        sched_getaffinity(None).unwrap()
    }

    fn own_cpus() -> Vec<u32> {
        let own = own();
        (0..CpuSet::MAX_CPU).filter(|cpu| own.is_set(*cpu)).map(|cpu| cpu as u32).collect()
    }

    #[test]
    fn both_are_measured_as_often_and_the_ratio_is_theirs() {
        let cpus = own_cpus();
        let pair = [cpus[0], cpus[cpus.len() - 1]];
        let (before, mut calls) = (own(), 0);
        // The first one only warms up. Then idle and busy: 2 and 3, then busy and idle: 3 and 2, and so on.
        let block_us = || {
            calls += 1;
            assert_eq!(own().count(), 1);
            if matches!(calls % 4, 0 | 3) { 3.0 } else { 2.0 }
        };
        let found = measure(pair, (256, 8), block_us).unwrap();
        assert_eq!(calls, 1 + 2 * TURNS);
        assert_eq!((found.alone_us, found.beside_us), (2.0, 3.0));
        assert_eq!((found.ratio, found.interval), (1.5, [1.5, 1.5]));
        assert!(
            found.told().contains(
                "of 256 frames, with 8 notes held, by +50 % [+50, +50]: 3.0 µs instead of 2.0"
            ),
            "{}",
            found.told()
        );
        assert_eq!(own(), before, "the thread has its CPUs back");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let before = own();
        for cpu in [CpuSet::MAX_CPU as u32 - 1, u32::MAX] {
            assert!(measure([cpu, cpu], (64, 0), || 1.0).is_err());
            assert!(measure([own_cpus()[0], cpu], (64, 0), || 1.0).is_err());
        }
        assert_eq!(own(), before);
    }
}
