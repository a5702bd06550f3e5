//! Threads that compute beside a guest; the study of 2006 ran Windows' calculator.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use hocket_machine::pin::{self, CpuSet};

use super::guest::TIME;
use crate::harness::{Design, Fault, NamedRatio, Results, Sentence, Variant, ratios_sentence};

/// The factor that says how many there are.
pub(super) const COUNT: &str = "calculators";
/// The factor that says where they may run.
pub(super) const PLACE: &str = "calculators-on";

/// Where they may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On all CPUs of the lab.
    Free,
    /// On all but the guest's: on the complement of its mask.
    Apart,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Free => "all",
            Place::Apart => "the-others",
        }
    }
}

/// The variant beside so many calculators.
pub(super) fn beside(variant: Variant, count: usize, place: Place) -> Variant {
    let crowded = variant.crowded || count > 0;
    variant.with(COUNT, count).with(PLACE, place.name()).crowded_if(crowded)
}

/// The variant of case 7 beside one calculator.
pub(super) fn in_case_7(variant: Variant, place: Place) -> Variant {
    let name = match place {
        Place::Free => "calculator",
        Place::Apart => "calculator-apart",
    };
    let name = format!("{} {name}", variant.name);
    beside(Variant { name, ..variant }.with("case", "7"), 1, place)
}

/// Adds what [`case_7`] compares: a guest on one of so many CPUs beside a calculator, anywhere and on the others.
pub(super) fn add_case_7(design: &mut Design, cpus: usize, confined: &Variant) {
    design.variants.push(in_case_7(confined.clone(), Place::Free));
    if cpus > 1 {
        design.variants.push(in_case_7(confined.clone(), Place::Apart));
        return;
    }
    let why = "there is one CPU, so no other is left for the calculator";
    design.missing.push(("calculator-apart".into(), why.into()));
}

/// Those of a variant, of which a guest on one CPU has the first of `cpus`; they compute until this is dropped.
pub(super) fn of(variant: &Variant, cpus: &[u32]) -> Result<Calculators, Fault> {
    let count = variant.level(COUNT).parse().unwrap_or(0);
    let apart = variant.level(PLACE) == Place::Apart.name();
    Calculators::start(count, if apart { &cpus[1..] } else { &[] })
}

/// Threads that compute until this is dropped.
pub(super) struct Calculators {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Calculators {
    /// Returns when all compute, on these CPUs only; without any, on those that the calling thread may use.
    fn start(count: usize, cpus: &[u32]) -> Result<Calculators, Fault> {
        let end = Arc::new(AtomicBool::new(false));
        // Ended with this value if a later one cannot be started.
        let mut all = Calculators { end, threads: Vec::new() };
        let mask: CpuSet = cpus.iter().copied().collect();
        for _ in 0..count {
            let (said, hears) = channel();
            let (end, mask) = (Arc::clone(&all.end), mask.clone());
            let thread = Builder::new().spawn(move || calculate(&mask, &said, &end));
            all.threads.push(
                thread.map_err(|error| Fault(format!("no thread for a calculator: {error}")))?,
            );
            hears.recv().map_err(|_| Fault::new("a calculator ended"))??;
        }
        Ok(all)
    }
}

fn calculate(mask: &CpuSet, said: &Sender<Result<(), Fault>>, end: &AtomicBool) {
    // What this returns is what the system reports: always the mask.
    let placed = if mask.is_empty() { Ok(()) } else { pin::pin_current_thread(mask).map(drop) };
    let begins = placed.is_ok();
    let _ = said.send(placed.map_err(Fault::new));
    let mut sum = 0_u64;
    // Relaxed: nothing is published with the flag.
    while begins && !end.load(Relaxed) {
        sum = (0..1000).fold(sum, |sum, n| black_box(sum.wrapping_mul(31) ^ n));
    }
}

impl Drop for Calculators {
    fn drop(&mut self) {
        // Relaxed: as above.
        self.end.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Case 7 of the study of 2006: what it costs a guest's picture to be confined to one CPU, alone and beside a calculator.
/// `free` and `confined` are variants.
pub(super) fn case_7(
    results: &Results,
    threads: usize,
    free: String,
    confined: &str,
) -> Option<Sentence> {
    let beside = |name: &str| format!("{confined} {name}");
    let pair = |label, reference: String, candidate: String| {
        NamedRatio::new(label, reference, candidate, TIME.name)
    };
    let pairs = [
        pair("against all CPUs", free, confined.to_owned()),
        pair(
            "beside a calculator that may run anywhere against none",
            confined.to_owned(),
            beside("calculator"),
        ),
        pair(
            "beside one on the other CPUs against none",
            confined.to_owned(),
            beside("calculator-apart"),
        ),
    ];
    let head = format!(
        "case 7, time of {threads} threads confined to one CPU (2006, two CPUs: half of the power is left, the first \
         calculator takes part of that, the second takes none)"
    );
    ratios_sentence(results, &head, &pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calculators_compute_where_they_are_told_and_end_when_they_are_dropped() {
        let cpus: Vec<u32> = pin::current_affinity().unwrap().iter().collect();
        let load = Calculators::start(3, &cpus[..1]).unwrap();
        let end = Arc::clone(&load.end);
        assert_eq!((load.threads.len(), Arc::strong_count(&end)), (3, 5));
        drop(load);
        assert_eq!(Arc::strong_count(&end), 1);
        assert!(Calculators::start(0, &[]).unwrap().threads.is_empty());
    }

    #[test]
    fn a_place_that_is_refused_is_told() {
        // No machine has a CPU of this number.
        assert!(Calculators::start(1, &[1023]).is_err());
    }

    #[test]
    fn variants_say_where_calculators_run() {
        let variant = beside(Variant::new("a"), 2, Place::Apart);
        assert_eq!((variant.level(COUNT), variant.level(PLACE)), ("2", "the-others"));
        assert!(variant.crowded && !beside(Variant::new("b"), 0, Place::Free).crowded);
    }
}
