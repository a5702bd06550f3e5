//! The thread that watches costs and makes new plans.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::handle::Control;

/// How often it looks. Estimates settle within some 50 blocks, 70 ms at 64 frames and 48 kHz.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// Steers an engine until it is dropped.
pub(crate) struct PlannerThread {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PlannerThread {
    /// Starts the thread, in the class and on the CPUs of the calling one.
    pub(crate) fn start(control: Control) -> std::io::Result<PlannerThread> {
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new().name("planner".into()).spawn(move || {
            while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                control.lock().steer();
            }
        })?;
        Ok(PlannerThread { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for PlannerThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, it has said so; the engine goes on with the plan that it has.
            let _ = thread.join();
        }
    }
}
