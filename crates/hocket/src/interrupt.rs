//! Ctrl-C: asks to stop, so that what was measured or rendered so far can be kept or removed.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Signals that come so soon after the first one are the same request: `timeout` sends its signal to the program and to its
/// group.
const ONCE: Duration = Duration::from_millis(300);

/// The one of this process: a command may ask for it more than once.
static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// A flag that Ctrl-C, SIGTERM or SIGHUP sets; a second Ctrl-C ends the process at once.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let mut known = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(flag) = known.as_ref() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let mut first = None;
    ctrlc::set_handler(move || {
        let since = first.get_or_insert_with(Instant::now).elapsed();
        // Relaxed: the flag publishes nothing; whoever polls it finds it a moment later.
        if seen.swap(true, Relaxed) && since > ONCE {
            crate::play::leave();
            std::process::exit(i32::from(crate::Exit::Interrupted.code()));
        }
    })
    .map_err(|error| Failure::not_possible(refused(&error)))?;
    *known = Some(Arc::clone(&flag));
    Ok(flag)
}

/// It takes a thread.
fn refused(error: &ctrlc::Error) -> String {
    let told = format!("Ctrl-C cannot be caught: {error}");
    match error {
        ctrlc::Error::System(why) if why.kind() == std::io::ErrorKind::WouldBlock => {
            format!("{told}; raise the limit of processes (`ulimit -u`, pids.max)")
        }
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn without_a_thread_the_limit_is_named() {
        let told = |error| refused(&ctrlc::Error::System(error));
        assert!(told(io::Error::from_raw_os_error(libc::EAGAIN)).contains("ulimit -u"));
        assert!(!told(io::Error::from_raw_os_error(libc::ENOMEM)).contains("ulimit"));
    }
}
