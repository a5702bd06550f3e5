//! Which sibling policy, where the user leaves it to Hocket.

use hocket_machine::Topology;
use hocket_machine::class::{self, Class};
use hocket_machine::cookie;
use hocket_plan::{CookieShape, SiblingPolicy};

use super::seating::seats_of;

/// The gentlest policy that keeps strangers off the siblings here, and why.
///
/// Without pairs there is nobody to keep off. Core scheduling costs no thread and no right, so it comes
/// first: a cookie a worker, one worker a core. Without it, threads that wait on the siblings do the same
/// if they run under SCHED_FIFO; in the ordinary class they would only be two more that want the seat. How
/// many workers a session is worth is the schedule's affair (`auto`).
///
/// Thread: control. Cost: a few system calls.
pub fn sibling_policy(topology: &Topology) -> (SiblingPolicy, String) {
    let (seats, _) = seats_of(topology);
    if !seats.has_pairs() {
        return (SiblingPolicy::Off, "no two seats share a core here".into());
    }
    match cookie::current() {
        Ok(_) => {
            let policy = SiblingPolicy::Cookie(CookieShape::Worker);
            (policy, "the kernel keeps strangers off the siblings (core scheduling)".into())
        }
        Err(no_cookie) if may_be_fifo() => {
            let why = format!("waiting threads keep the siblings: {}", no_cookie.why());
            (SiblingPolicy::IdleThread, why)
        }
        Err(no_cookie) => {
            let why =
                format!("nothing here keeps strangers off: {}; and no SCHED_FIFO", no_cookie.why());
            (SiblingPolicy::Off, why)
        }
    }
}

/// Whether threads of this process get SCHED_FIFO; tried on one that ends at once.
fn may_be_fifo() -> bool {
    let tried = || class::request(Class::Fifo { priority: 1 }).why.is_none();
    std::thread::spawn(tried).join().unwrap_or(false)
}
