//! The main thread of all CLAP plug-ins.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};

use super::instances::Instances;

/// What the calling thread is to a plug-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Neither of the two.
    Other,
    /// The main thread.
    Main,
    /// The thread that processes, in a call of its plug-in.
    Audio,
    /// A thread that runs one of several tasks for a plug-in that processes. It is not the audio thread meanwhile, even if it
    /// is the same thread: CLAP has one audio thread at a time.
    Pool,
}

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Other) };
}

/// What the calling thread is.
pub fn role() -> Role {
    ROLE.get()
}

/// Calls a plug-in as its audio thread.
pub fn as_audio<R>(call: impl FnOnce() -> R) -> R {
    with_role(Role::Audio, call)
}

/// Calls a plug-in as a thread of a pool.
pub fn as_pool<R>(call: impl FnOnce() -> R) -> R {
    with_role(Role::Pool, call)
}

fn with_role<R>(role: Role, call: impl FnOnce() -> R) -> R {
    let before = ROLE.replace(role);
    let result = call();
    ROLE.set(before);
    result
}

type Job = Box<dyn FnOnce(&mut Instances) + Send>;

static JOBS: LazyLock<Sender<Job>> = LazyLock::new(start);

fn start() -> Sender<Job> {
    let (sender, jobs) = channel::<Job>();
    let run = move || {
        ROLE.set(Role::Main);
        let mut instances = Instances::default();
        for job in jobs {
            // A job that panics answers nothing, and the next one goes on.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&mut instances)));
        }
    };
    // Without the thread, `on_main` gets no answer and says so.
    let _ = std::thread::Builder::new().name("clap-main".into()).spawn(run);
    sender
}

/// Has something done on the main thread, and does not wait for it.
pub fn post(job: impl FnOnce(&mut Instances) + Send + 'static) {
    let _ = JOBS.send(Box::new(job));
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
    answer.recv().map_err(|_| "a call of a CLAP plug-in failed in Hocket".into())
}
