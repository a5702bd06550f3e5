//! Who is awake between blocks: a paced measurement is one of executors that sleep there only if
//! their threads do.

use std::fs;

use hocket_machine::pin;

/// How often somebody's threads were found running between blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looks {
    /// Looks taken.
    pub taken: u32,
    /// In so many of them a thread beside the leader was running or waiting for a CPU.
    pub awake: u32,
}

impl Looks {
    /// Looks once.
    ///
    /// Cost: some file reads, between blocks that are not timed.
    pub fn look(&mut self) {
        self.taken += 1;
        self.awake += u32::from(others_running() > 0);
    }
}

/// Threads of this process, the calling one not counted, that run or wait for a CPU. Zero too where
/// the system does not say.
fn others_running() -> usize {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 0 };
    let own = pin::current_thread().to_string();
    let running = |thread: &fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // proc_pid_stat(5): the state follows the name, which stands in parentheses.
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('R'))
    };
    threads.flatten().filter(|t| t.file_name() != own.as_str()).filter(running).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn a_spinning_thread_is_seen() {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    std::hint::spin_loop()
                }
            });
            let mut looks = Looks::default();
            // It may take a moment until the thread is born.
            while looks.awake == 0 {
                looks.look();
            }
            stop.store(true, Relaxed);
            assert!(looks.taken >= looks.awake);
        });
    }
}
