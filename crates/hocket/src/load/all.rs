//! All audio files of a session: those that take next to no memory until they are ready are decoded on several threads at once.
//!
//! The thread that loads goes through the files in the session's order. It decodes by itself what fills the memory, one file after the
//! other, because each of them looks first whether there is room. For the others it waits. So everything is told in the session's
//! order, and a failure names all files that have one, on however many threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope, available_parallelism};

use hocket_plan::session::MediaId;
use hocket_session::Loaded;

use super::audio::Told;
use super::streams::DiskUse;
use super::ways::{Known, Ready, Way};
use crate::failure::{Exit, Failure};

/// Threads that decode at once, at most: more of them write to one disk for nothing.
const MOST_THREADS: usize = 16;

/// What is known of all files before they are loaded.
pub(super) struct Files<'f> {
    pub loaded: &'f Loaded,
    pub disk: &'f DiskUse,
    /// One for each file, in the session's order.
    pub known: Vec<Known<'f>>,
}

/// What became of a file.
struct Gone {
    ready: Result<Ready, Failure>,
    told: Told,
}

impl Files<'_> {
    /// Every file goes its way; `tell` gets what is found out, in the session's order and as soon as it is known.
    ///
    /// # Errors
    /// Those of all files, in the session's order.
    pub fn load(&self, ways: Vec<Way>, tell: impl FnMut(Told)) -> Result<Vec<Ready>, Failure> {
        let threads = available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        self.load_on(threads, ways, tell)
    }

    fn load_on(
        &self,
        threads: usize,
        ways: Vec<Way>,
        mut tell: impl FnMut(Told),
    ) -> Result<Vec<Ready>, Failure> {
        let (queue, own) = split(ways);
        let (mut ready, mut failures) = (Vec::new(), Vec::new());
        std::thread::scope(|scope| {
            let mut others = Others::start(scope, threads, self, &queue);
            for (index, way) in own.into_iter().enumerate() {
                let gone = match way {
                    Some(way) => Some(self.go(index, way)),
                    None => others.await_file(index),
                };
                // A thread that panicked has told nothing; the panic goes on when the scope ends.
                let Some(gone) = gone else { break };
                tell(gone.told);
                match gone.ready {
                    Ok(file) => ready.push(file),
                    Err(failure) => failures.push(failure),
                }
            }
        });
        if failures.is_empty() { Ok(ready) } else { Err(joined(&failures)) }
    }

    fn go(&self, index: usize, way: Way) -> Gone {
        let mut told = Told::default();
        let ready = way.go(self.loaded, MediaId(index), self.known[index], self.disk, &mut told);
        Gone { ready, told }
    }

    /// Takes files until none is left.
    fn work(&self, queue: &Queue, done: &Sender<(usize, Gone)>) {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((index, way)) = next else { return };
            // Nobody waits any more if the thread that loads has panicked.
            if done.send((index, self.go(index, way))).is_err() {
                return;
            }
        }
    }
}

/// Files that several threads take, in the session's order.
type Queue = Mutex<VecDeque<(usize, Way)>>;

/// Which files several threads take, and which ones the thread that loads takes by itself.
fn split(ways: Vec<Way>) -> (Queue, Vec<Option<Way>>) {
    let mut queue = VecDeque::new();
    let own = ways.into_iter().enumerate().map(|(index, way)| match way.is_frugal() {
        true => {
            queue.push_back((index, way));
            None
        }
        false => Some(way),
    });
    let own = own.collect();
    (Mutex::new(queue), own)
}

/// The files that other threads decode.
struct Others {
    done: Receiver<(usize, Gone)>,
    /// Those that came before their turn.
    early: BTreeMap<usize, Gone>,
}

impl Others {
    /// Starts as many of the threads as there are files for them. Where none can start, this one does their work first.
    fn start<'s>(
        scope: &'s Scope<'s, '_>,
        threads: usize,
        files: &'s Files<'_>,
        queue: &'s Queue,
    ) -> Others {
        let (send, done) = channel();
        let wanted = threads.min(queue.lock().unwrap_or_else(PoisonError::into_inner).len());
        let spawn = |number: &usize| {
            let send = send.clone();
            let thread = Builder::new().name(format!("hocket-decode{number}"));
            thread.spawn_scoped(scope, move || files.work(queue, &send)).is_ok()
        };
        if (0..wanted).take_while(spawn).count() == 0 {
            files.work(queue, &send);
        }
        Others { done, early: BTreeMap::new() }
    }

    /// What became of a file; `None` where no thread is left that could say so.
    fn await_file(&mut self, index: usize) -> Option<Gone> {
        loop {
            if let Some(gone) = self.early.remove(&index) {
                return Some(gone);
            }
            let (other, gone) = self.done.recv().ok()?;
            self.early.insert(other, gone);
        }
    }
}

/// One message with all of them, each once. Where a file is wrong, making room for others does not help, so the exit code is that
/// of the file.
fn joined(failures: &[Failure]) -> Failure {
    let mut lines: Vec<&str> = Vec::new();
    for failure in failures {
        if !lines.contains(&failure.message.as_str()) {
            lines.push(&failure.message);
        }
    }
    let is_bad = failures.iter().any(|failure| failure.exit == Exit::BadInput);
    let exit = if is_bad { Exit::BadInput } else { Exit::NotPossible };
    Failure { exit, message: lines.join("\n") }
}
