//! A thread that does one thing again and again: watches costs and makes new plans, or follows the leader.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Does it until dropped.
pub(crate) struct RegularThread {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RegularThread {
    /// Starts the thread, in the class and on the CPUs of the calling one.
    pub(crate) fn start(
        name: &str,
        every: Duration,
        mut deed: impl FnMut() + Send + 'static,
    ) -> std::io::Result<RegularThread> {
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                deed();
            }
        })?;
        Ok(RegularThread { stop: Some(stop), thread: Some(thread) })
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
