//! A host that is worse than the one at hand, made on purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use hocket_dsp::{Block, Processor};
use hocket_engine::Seating;
use hocket_machine::clock::{TickRate, ticks};

use crate::disturb::{DisturbSpec, Disturbers, Load, SeatCpus, Where};
use crate::stats::Rng;

/// What makes the host worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hostility {
    /// Workers come late at random.
    Late,
    /// What a hand-over costs jumps several times a second, as on a virtual machine whose CPUs change places.
    Jumps,
    /// A CPU computes for somebody else.
    Load,
}

/// A worker is late for every other block, by 2 to 256 µs: from what a wake-up takes to most of a block.
#[cfg(feature = "hostile")]
const LATE: hocket_engine::hostile::Lateness = hocket_engine::hostile::Lateness {
    blocks_per_1000: 500,
    shortest: Duration::from_micros(2),
    doublings: 7,
};

/// What a node pays for a result of another worker while the CPUs are far from each other: the ten cache lines
/// of a hand-over at 100 ns more each, about the difference between two cores of one core complex of an AMD
/// server and two of different ones.
const FAR_NS: u64 = 1000;
/// The CPUs stay where they are for 50 to 300 ms.
const STAYS_MS: (u64, usize) = (50, 250);

impl Hostility {
    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Hostility> {
        let all = [Hostility::Late, Hostility::Jumps, Hostility::Load];
        all.into_iter().find(|hostility| hostility.name() == name)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Hostility::Late => "late",
            Hostility::Jumps => "jumps",
            Hostility::Load => "load",
        }
    }

    /// In words, for tables and records.
    pub(super) fn words(self) -> String {
        match self {
            Hostility::Late => "late: each worker is 2 to 256 µs late for every other block".into(),
            Hostility::Jumps => format!(
                "jumps: a result of another worker costs {FAR_NS} ns more or not, for 50 to 300 ms each"
            ),
            Hostility::Load => "load: a foreign thread computes on the last worker's CPU".into(),
        }
    }

    /// Makes the host worse until the returned value is dropped.
    ///
    /// # Errors
    /// What could not be had here.
    pub(super) fn begin(hostility: Option<Hostility>, seating: &Seating) -> Result<AtWork, String> {
        Ok(match hostility {
            None => AtWork::Nothing,
            Some(Hostility::Late) => AtWork::Late(Late::begin()?),
            Some(Hostility::Jumps) => AtWork::Jumps(Jumping::begin().map_err(|e| e.to_string())?),
            Some(Hostility::Load) => AtWork::Load(load(seating)?),
        })
    }
}

/// What makes the host worse while this lives.
#[allow(dead_code, reason = "held for what happens when it is dropped")]
pub(super) enum AtWork {
    Nothing,
    Late(Late),
    Jumps(Jumping),
    Load(Disturbers),
}

impl AtWork {
    /// What processors have to be told, where hand-overs jump.
    pub(super) fn crossing(&self) -> Option<&Arc<Crossing>> {
        match self {
            AtWork::Jumps(jumping) => Some(&jumping.crossing),
            _ => None,
        }
    }
}

/// The engine holds its workers up.
pub(super) struct Late(());

impl Late {
    #[cfg(feature = "hostile")]
    fn begin() -> Result<Late, String> {
        hocket_engine::hostile::make_workers_late(Some(LATE));
        Ok(Late(()))
    }

    #[cfg(not(feature = "hostile"))]
    fn begin() -> Result<Late, String> {
        Err("--hostile late: this program cannot hold workers up; build it with \
             --features hocket-lab/hostile"
            .into())
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        #[cfg(feature = "hostile")]
        hocket_engine::hostile::make_workers_late(None);
    }
}

fn load(seating: &Seating) -> Result<Disturbers, String> {
    let last = seating.placement().workers.len().saturating_sub(1);
    let cpu = seating.worker_cpu(last).ok_or("--hostile load: nobody is pinned here")?;
    let spec = DisturbSpec { load: Load::Compute, count: 1, place: Where::Cpu(cpu) };
    Disturbers::start(&[spec], None, &SeatCpus::default()).map_err(|error| error.to_string())
}

/// What it costs to read a result that another thread left.
///
/// All accesses are relaxed: the engine orders the nodes, and each number stands for itself.
#[derive(Debug, Default)]
pub(super) struct Crossing {
    extra_ticks: AtomicU64,
}

impl Crossing {
    /// The same processors; each then pays for what another thread left, its own past included. `inputs`
    /// are the nodes that each reads.
    pub(super) fn watch(
        self: &Arc<Self>,
        processors: Vec<Inner>,
        inputs: impl Iterator<Item = Vec<usize>>,
    ) -> Vec<Inner> {
        let ran_by: Arc<[Mark]> = processors.iter().map(|_| Mark::default()).collect();
        let watched = |(place, (inner, inputs)): (usize, (Inner, Vec<usize>))| -> Inner {
            let (crossing, ran_by) = (Arc::clone(self), Arc::clone(&ran_by));
            let reads = inputs.into_iter().chain([place]).collect();
            Some(Box::new(Watched { inner: inner?, reads, place, ran_by, crossing }))
        };
        processors.into_iter().zip(inputs).enumerate().map(watched).collect()
    }
}

/// A node's processor; `None` for a node that only sums.
type Inner = Option<Box<dyn Processor>>;

/// The thread that ran a node last; 0: none. A line of its own, as a node's memory is.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Mark(AtomicU32);

/// A processor that pays for what other threads left.
struct Watched {
    inner: Box<dyn Processor>,
    /// What it reads, itself included.
    reads: Box<[usize]>,
    place: usize,
    ran_by: Arc<[Mark]>,
    crossing: Arc<Crossing>,
}

impl Processor for Watched {
    fn process(&mut self, block: &mut Block<'_>) {
        let here = this_thread();
        let foreign = |from: &&usize| {
            let there = self.ran_by[**from].0.load(Relaxed);
            there != here && there != 0
        };
        let crossings = self.reads.iter().filter(foreign).count() as u64;
        spin(crossings * self.crossing.extra_ticks.load(Relaxed));
        self.inner.process(block);
        self.ran_by[self.place].0.store(here, Relaxed);
    }

    fn reset(&mut self) {
        self.inner.reset();
    }
}

/// A number for each thread, from 1 on.
fn this_thread() -> u32 {
    static THREADS: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static OWN: u32 = THREADS.fetch_add(1, Relaxed);
    }
    OWN.with(|own| *own)
}

fn spin(for_ticks: u64) {
    let called = ticks();
    while ticks().wrapping_sub(called) < for_ticks {
        std::hint::spin_loop();
    }
}

/// Makes hand-overs dear and cheap again, until it is dropped.
pub(super) struct Jumping {
    crossing: Arc<Crossing>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Jumping {
    fn begin() -> std::io::Result<Jumping> {
        let (crossing, stop) = (Arc::<Crossing>::default(), Arc::<AtomicBool>::default());
        let (own, stopped) = (Arc::clone(&crossing), Arc::clone(&stop));
        let thread =
            std::thread::Builder::new().name("jumps".into()).spawn(move || jump(&own, &stopped))?;
        Ok(Jumping { crossing, stop, thread: Some(thread) })
    }
}

fn jump(crossing: &Crossing, stopped: &AtomicBool) {
    let (far, mut rng) = (TickRate::get().ns_to_ticks(FAR_NS), Rng::new(1));
    let mut extra = far;
    while !stopped.load(Relaxed) {
        crossing.extra_ticks.store(extra, Relaxed);
        extra = far - extra;
        std::thread::sleep(Duration::from_millis(STAYS_MS.0 + rng.below(STAYS_MS.1) as u64));
    }
}

impl Drop for Jumping {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Processor for Silent {
        fn process(&mut self, _block: &mut Block<'_>) {}
        fn reset(&mut self) {}
    }

    #[test]
    fn names_are_read_back() {
        for hostility in [Hostility::Late, Hostility::Jumps, Hostility::Load] {
            assert_eq!(Hostility::from_name(hostility.name()), Some(hostility));
        }
        assert_eq!(Hostility::from_name("friendly"), None);
    }

    #[test]
    fn every_processor_is_watched_and_none_is_invented() {
        let crossing = Arc::<Crossing>::default();
        let processors: Vec<Option<Box<dyn Processor>>> = vec![Some(Box::new(Silent)), None];
        let watched = crossing.watch(processors, [vec![], vec![0]].into_iter());
        assert_eq!(watched.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn the_cost_jumps_and_the_thread_ends() {
        let jumping = Jumping::begin().unwrap();
        let cost = || jumping.crossing.extra_ticks.load(Relaxed);
        let first = cost();
        // However long the thread takes to come.
        while cost() == first {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn threads_have_numbers_of_their_own() {
        let here = this_thread();
        assert_eq!(this_thread(), here);
        assert_ne!(std::thread::spawn(this_thread).join().unwrap(), here);
    }

    #[cfg(not(feature = "hostile"))]
    #[test]
    fn a_program_that_cannot_hold_workers_up_says_so() {
        assert!(Late::begin().is_err_and(|why| why.contains("--features")));
    }
}
