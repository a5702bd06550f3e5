//! A limit for every check: one that comes to no end is named, with what all threads were doing then.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hocket_machine::class::{self, Class};

use crate::threads;

/// What is being checked, and since when.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Mutex<Option<(String, Instant)>>>);

/// Of one try of one check. On a free host a try takes one to three seconds.
const LIMIT: Duration = Duration::from_secs(120);
const LOOKS: Duration = Duration::from_millis(500);
/// Above everything that a check starts: it has to see whom they keep from running.
const PRIORITY: u8 = 98;

impl Watch {
    /// A thread that ends this process when a check takes too long.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> std::io::Result<Watch> {
        let watch = Watch::default();
        let own = watch.clone();
        std::thread::Builder::new().name("watch".into()).spawn(move || own.keep())?;
        Ok(watch)
    }

    /// From here on the time counts for `what`.
    pub fn begin(&self, what: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((what, Instant::now()));
    }

    fn keep(&self) {
        // Without the right to it, it watches as it can.
        let _ = class::request(Class::Fifo { priority: PRIORITY });
        loop {
            std::thread::sleep(LOOKS);
            if let Some(what) = self.overdue() {
                println!(
                    "smt-vm: FAILED  {what}: no end after {} s; all threads:",
                    LIMIT.as_secs()
                );
                threads::table().iter().for_each(|line| println!("smt-vm:           {line}"));
                std::process::exit(1);
            }
        }
    }

    fn overdue(&self) -> Option<String> {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.as_ref().filter(|(_, since)| since.elapsed() > LIMIT).map(|(what, _)| what.clone())
    }
}
