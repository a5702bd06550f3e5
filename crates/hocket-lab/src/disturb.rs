//! Disturbers: foreign load beside the audio, placed and counted.
//!
//! They are threads of this process, as a host's own helpers are: policy `process-affinity` moves
//! them. They ask for the lowest nice value that an ordinary thread has and never for more. What
//! they got done is as much a result as the block times: a policy that protects the audio by
//! starving everything else shows here.

mod compute;
mod preview;
mod spec;

pub use preview::PreviewSource;
pub use spec::{DisturbSpec, Load, Where};

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use hocket_files::ScratchFolder;
use hocket_machine::class::{self, Class};
use hocket_machine::pin::{self, CpuSet};
use hocket_machine::process;

/// How the folders begin in which previews have their files, among the temporary files.
pub const PREVIEW_PREFIX: &str = "hocket-preview-";

/// CPU numbers up to this are told apart; others count as the last.
const MAX_CPUS: usize = 1024;

/// What a disturber has done so far. Counters only grow; nothing is published through them, so
/// they are relaxed.
#[derive(Debug)]
struct Tally {
    pieces: AtomicU64,
    cpu_time_ns: AtomicU64,
    pieces_on_cpu: Box<[AtomicU64]>,
}

impl Tally {
    fn new() -> Tally {
        let zeros = (0..MAX_CPUS).map(|_| AtomicU64::new(0)).collect();
        Tally { pieces: AtomicU64::new(0), cpu_time_ns: AtomicU64::new(0), pieces_on_cpu: zeros }
    }

    fn count_piece(&self) {
        let cpu = pin::current_cpu().map_or(MAX_CPUS - 1, |cpu| (cpu as usize).min(MAX_CPUS - 1));
        self.pieces.fetch_add(1, Relaxed);
        self.pieces_on_cpu[cpu].fetch_add(1, Relaxed);
        if let Some(ns) = process::thread_cpu_ns().value() {
            self.cpu_time_ns.store(*ns, Relaxed);
        }
    }
}

/// A reading of one disturber's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// `preview`, `compute 2`.
    pub name: String,
    /// What a piece is.
    pub unit: &'static str,
    /// Pieces done since the start.
    pub pieces: u64,
    /// CPU time it got since the start.
    pub cpu_time_ns: u64,
    /// Pieces finished on each CPU, as `(cpu, pieces)`, only CPUs where there were any.
    pub pieces_on: Vec<(u32, u64)>,
}

/// One piece of work at a time; returns an error where it cannot go on.
trait Work: Send {
    fn piece(&mut self) -> Result<(), String>;
}

struct Running {
    name: String,
    unit: &'static str,
    tally: Arc<Tally>,
    trouble: Arc<std::sync::Mutex<Option<String>>>,
    handle: JoinHandle<()>,
}

/// Disturbers at work; they end when this is dropped.
pub struct Disturbers {
    running: Vec<Running>,
    stop: Arc<AtomicBool>,
    /// Holds the preview's files; removed at the end.
    #[allow(dead_code, reason = "dropped for its effect")]
    scratch: Option<ScratchFolder>,
}

/// Why a disturber cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisturbError {
    /// A preview was asked for, but the session names no file for it.
    #[error(
        "disturber 'preview' needs a file: add `[preview]` with `file = ...` to the session, or use `compute`"
    )]
    NoPreviewFile,
    /// The preview's file cannot be made or read.
    #[error("disturber 'preview': {0}")]
    Preview(String),
    /// The system gives no more threads.
    #[error("disturber '{name}' cannot be started: {why}")]
    Thread {
        /// Which one.
        name: String,
        /// What the system says.
        why: String,
    },
}

impl Disturbers {
    /// Starts everything in `specs`; `seats` tells `siblings` and `workers` apart.
    ///
    /// # Errors
    /// [`DisturbError`]; nothing keeps running then.
    pub fn start(
        specs: &[DisturbSpec],
        preview: Option<&PreviewSource>,
        seats: &SeatCpus,
    ) -> Result<Disturbers, DisturbError> {
        let mut disturbers =
            Disturbers { running: Vec::new(), stop: Arc::default(), scratch: None };
        for spec in specs {
            for number in 0..spec.count {
                let work = disturbers.work(spec, preview)?;
                disturbers.spawn(spec, number, work, seats)?;
            }
        }
        Ok(disturbers)
    }

    fn work(
        &mut self,
        spec: &DisturbSpec,
        preview: Option<&PreviewSource>,
    ) -> Result<Box<dyn Work>, DisturbError> {
        match spec.load {
            Load::Compute => Ok(Box::new(compute::Correlation::new())),
            Load::Preview => {
                let source = preview.ok_or(DisturbError::NoPreviewFile)?;
                let folder = self.scratch_folder()?;
                let number = self.running.len();
                let work = preview::Worker::open(source, &folder, number);
                Ok(Box::new(work.map_err(DisturbError::Preview)?))
            }
        }
    }

    fn scratch_folder(&mut self) -> Result<PathBuf, DisturbError> {
        if self.scratch.is_none() {
            let made = ScratchFolder::create(&std::env::temp_dir(), PREVIEW_PREFIX);
            self.scratch = Some(made.map_err(|error| {
                DisturbError::Preview(format!(
                    "no folder for temporary files: {error}; set TMPDIR to one with space"
                ))
            })?);
        }
        Ok(self.scratch.as_ref().map(|dir| dir.path().to_owned()).unwrap_or_default())
    }

    fn spawn(
        &mut self,
        spec: &DisturbSpec,
        number: usize,
        mut work: Box<dyn Work>,
        seats: &SeatCpus,
    ) -> Result<(), DisturbError> {
        let name = spec.thread_name(number);
        let tally = Arc::new(Tally::new());
        let trouble = Arc::new(std::sync::Mutex::new(None));
        let cpus = seats.cpus(spec.place);
        let (own_tally, own_trouble) = (Arc::clone(&tally), Arc::clone(&trouble));
        let stop = Arc::clone(&self.stop);
        let body = move || {
            settle(cpus.as_ref());
            while !stop.load(Relaxed) {
                if let Err(why) = work.piece() {
                    if let Ok(mut slot) = own_trouble.lock() {
                        *slot = Some(why);
                    }
                    return;
                }
                own_tally.count_piece();
            }
        };
        let handle = std::thread::Builder::new()
            .name(name.clone())
            .spawn(body)
            .map_err(|error| DisturbError::Thread { name: name.clone(), why: error.to_string() })?;
        self.running.push(Running { name, unit: spec.load.unit(), tally, trouble, handle });
        Ok(())
    }

    /// Reads all counters.
    pub fn progress(&self) -> Vec<Progress> {
        self.running.iter().map(Running::progress).collect()
    }

    /// Pieces that all of them have done.
    pub fn pieces(&self) -> u64 {
        self.progress().iter().map(|progress| progress.pieces).sum()
    }

    /// Disturbers that had to give up, and why.
    pub fn troubles(&self) -> Vec<String> {
        let trouble = |running: &Running| {
            let why = running.trouble.lock().ok()?.clone()?;
            Some(format!("disturber '{}' stopped: {why}", running.name))
        };
        self.running.iter().filter_map(trouble).collect()
    }
}

impl Drop for Disturbers {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for running in self.running.drain(..) {
            let _ = running.handle.join();
        }
    }
}

impl Running {
    fn progress(&self) -> Progress {
        let count = |(cpu, pieces): (usize, &AtomicU64)| {
            let pieces = pieces.load(Relaxed);
            (pieces > 0).then_some((cpu as u32, pieces))
        };
        Progress {
            name: self.name.clone(),
            unit: self.unit,
            pieces: self.tally.pieces.load(Relaxed),
            cpu_time_ns: self.tally.cpu_time_ns.load(Relaxed),
            pieces_on: self.tally.pieces_on_cpu.iter().enumerate().filter_map(count).collect(),
        }
    }
}

/// An ordinary thread of low priority, where it is wanted.
fn settle(cpus: Option<&CpuSet>) {
    class::request(Class::Other { nice: 10 });
    if let Some(cpus) = cpus {
        // Refusal shows in the counters: pieces are counted by the CPU on which they end.
        let _ = pin::pin_current_thread(cpus);
    }
}

/// CPUs by what they are to the workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatCpus {
    /// First seats of the cores.
    pub first: Vec<u32>,
    /// All other seats.
    pub siblings: Vec<u32>,
}

impl SeatCpus {
    fn cpus(&self, place: Where) -> Option<CpuSet> {
        let of = |cpus: &[u32]| (!cpus.is_empty()).then(|| cpus.iter().copied().collect());
        match place {
            Where::Anywhere => None,
            Where::Siblings => of(&self.siblings),
            Where::FirstSeats => of(&self.first),
            Where::Cpu(cpu) => Some(CpuSet::single(cpu)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_load_works_and_is_counted_until_it_is_dropped() {
        let specs = DisturbSpec::parse_list("compute:2,preview").unwrap();
        let source = PreviewSource::tone(48_000, PreviewSource::BYTES);
        let load = Disturbers::start(&specs, Some(&source), &SeatCpus::default()).unwrap();
        // Nothing but a hang takes this long: the threads are ordinary ones of low priority.
        let patience = Instant::now() + Duration::from_secs(1200);
        // What a thread has computed is counted before its CPU time is looked up again.
        let waits = |thread: &Progress| thread.pieces == 0 || thread.cpu_time_ns == 0;
        while load.progress().iter().any(waits) {
            assert!(Instant::now() < patience, "{:?}, {:?}", load.progress(), load.troubles());
            std::thread::sleep(Duration::from_millis(5));
        }
        let names: Vec<String> = load.progress().into_iter().map(|thread| thread.name).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(load.troubles(), Vec::<String>::new());
    }
}
