//! A thread that does one thing again and again: watches costs and makes new plans, or follows the leader.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use hocket_machine::class::{self, Class};
use hocket_machine::pin::{self, CpuSet};

/// How often the planner looks at costs, and the follower at its leader. Estimates of costs settle within some 50 blocks, 70 ms
/// at 64 frames and 48 kHz.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// How often they look while the engine rests. So much later they may see that it plays again.
const LOOK_AT_REST_EVERY: Duration = Duration::from_millis(200);

/// When the next look is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextLook {
    /// After the usual time.
    Soon,
    /// The engine rests, so nothing hurries.
    Later,
}

impl NextLook {
    /// `rests`: whether the engine does.
    pub(crate) fn of(rests: bool) -> NextLook {
        if rests { NextLook::Later } else { NextLook::Soon }
    }

    fn after(self) -> Duration {
        match self {
            NextLook::Soon => LOOK_EVERY,
            NextLook::Later => LOOK_AT_REST_EVERY,
        }
    }
}

/// Does it again and again until dropped, with a pause before each time.
#[derive(Debug)]
pub(crate) struct RegularThread {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RegularThread {
    /// Starts the thread, in the class and on the CPUs of the calling one. `deed` says when it is due again.
    pub(crate) fn start(
        name: &str,
        mut deed: impl FnMut() -> NextLook + Send + 'static,
    ) -> std::io::Result<RegularThread> {
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            let mut next = NextLook::Soon;
            while stopped.recv_timeout(next.after()) == Err(RecvTimeoutError::Timeout) {
                next = deed();
            }
        })?;
        Ok(RegularThread { stop: Some(stop), thread: Some(thread) })
    }
}

/// Where threads run beside the audio threads that may be started by one of these.
pub(crate) struct Beside {
    /// Those of the thread that started the engine.
    cpus: Option<CpuSet>,
}

impl Beside {
    /// Beside the calling thread.
    pub(crate) fn here() -> Beside {
        Beside { cpus: pin::current_affinity().ok() }
    }

    /// Gives back the class and the seat that the calling thread may have from the one that started it. What the system
    /// refuses stays: the thread sleeps nearly always.
    ///
    /// Thread: a new one, first of all.
    pub(crate) fn settle(&self) {
        let real_time = class::now().value().is_some_and(|now| now.is_real_time());
        if real_time {
            class::request(Class::Other { nice: 0 });
        }
        // A control thread's CPUs are right. Those of a leader are one, or a sound server's.
        let seated = pin::current_affinity().is_ok_and(|cpus| cpus.len() == 1);
        if let Some(cpus) = self.cpus.as_ref().filter(|_| real_time || seated) {
            let _ = pin::pin_current_thread(cpus);
        }
    }
}

impl Drop for RegularThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, it has said so; the engine goes on with what it has.
            let _ = thread.join();
        }
    }
}
