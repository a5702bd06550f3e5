//! The main thread of all VST3 plug-ins. It also waits for the timers and files that plug-ins have it watch.

use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::ffi;
use super::instances::Instances;

thread_local! {
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is the main thread.
pub fn is_main() -> bool {
    IS_MAIN.get()
}

type Job = Box<dyn FnOnce(&mut Instances) + Send>;

/// What wakes the thread.
struct Door {
    jobs: Sender<Job>,
    /// `None`: the system has none left, and the thread looks by itself.
    bell: Option<OwnedFd>,
}

static DOOR: LazyLock<Door> = LazyLock::new(start);

/// How often the thread looks where it has no bell.
const LOOK: Duration = Duration::from_millis(5);

fn start() -> Door {
    let (sender, jobs) = channel::<Job>();
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
    let heard = bell.as_ref().and_then(|bell| bell.try_clone().ok());
    let bell = bell.filter(|_| heard.is_some());
    let run = move || {
        IS_MAIN.set(true);
        let mut instances = Instances::default();
        loop {
            work(&jobs, &mut instances);
            wait(heard.as_ref());
        }
    };
    // Without the thread, `on_main` gets no answer and says so.
    let _ = std::thread::Builder::new().name("vst3-main".into()).spawn(run);
    Door { jobs: sender, bell }
}

fn work(jobs: &Receiver<Job>, instances: &mut Instances) {
    for job in jobs.try_iter() {
        // A job that panics answers nothing, and the next one goes on.
        let _ = catch_unwind(AssertUnwindSafe(|| job(instances)));
    }
}

/// Waits for the bell, and for what plug-ins have watched, and calls those.
fn wait(bell: Option<&OwnedFd>) {
    let timer = ffi::next_timer().map(|next| next.saturating_duration_since(Instant::now()));
    let longest = if bell.is_some() { timer } else { Some(timer.unwrap_or(LOOK).min(LOOK)) };
    let files = ffi::watched();
    let own = bell.map(AsFd::as_fd);
    let all = own.into_iter().chain(files.iter().copied());
    let mut all: Vec<PollFd<'_>> =
        all.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
    let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
    let _ = poll(&mut all, longest.as_ref());
    if let Some(bell) = bell {
        // It may be silent, too.
        let _ = rustix::io::read(bell, &mut [0; 8]);
    }
    if ffi::has_handlers() {
        let said = all.iter().skip(usize::from(bell.is_some())).zip(&files);
        let said: Vec<(i32, PollFlags)> =
            said.map(|(file, of)| (of.as_raw_fd(), file.revents())).collect();
        let of = |wanted: &dyn Fn(PollFlags) -> bool| -> Vec<i32> {
            said.iter().filter(|(_, flags)| wanted(*flags)).map(|(file, _)| *file).collect()
        };
        let closed = of(&|flags| flags.contains(PollFlags::NVAL));
        // An end or an error is read, too: otherwise `poll` would come back at once for ever.
        let ready = of(&|flags| !flags.is_empty() && !flags.contains(PollFlags::NVAL));
        ffi::forget(&closed);
        ffi::dispatch(&ready);
    }
}

/// Has something done on the main thread, and does not wait for it.
pub fn post(job: impl FnOnce(&mut Instances) + Send + 'static) {
    let _ = DOOR.jobs.send(Box::new(job));
    if let Some(bell) = &DOOR.bell {
        let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
    }
}

/// Has something done on the main thread, and waits for it. Not from a job.
///
/// # Errors
/// The thread does not run, or the job panicked.
pub fn on_main<R: Send + 'static>(
    job: impl FnOnce(&mut Instances) -> R + Send + 'static,
) -> Result<R, String> {
    let (sender, answer) = channel();
    post(move |instances| {
        let _ = sender.send(job(instances));
    });
    answer.recv().map_err(|_| "a call of a VST3 plug-in failed in Hocket".into())
}
