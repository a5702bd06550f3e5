//! Giving classes back.

use super::{Resource, budget};
use crate::pin::ThreadId;
use crate::sys::{self, Limit, SchedAttr};

/// Gives threads their classes, and the process its limit on real-time CPU time, back when dropped.
///
/// Make it before [`super::obtain_for`]. It names threads by number, so it may be dropped by any thread; threads that
/// have ended are left out. The hard limit comes back only to a process with CAP_SYS_RESOURCE, the soft one as far as the
/// hard one allows; a thread keeps SCHED_RESET_ON_FORK where it may not clear it, which harms nothing.
#[derive(Debug)]
#[must_use = "dropping it gives the old classes back at once"]
pub struct RightsGuard {
    classes: Vec<(ThreadId, SchedAttr)>,
    rttime: Option<Limit>,
}

impl RightsGuard {
    /// Remembers the classes of `threads` and the limit. Cost: a system call a thread.
    pub fn remember(threads: &[ThreadId]) -> Self {
        let class = |&thread: &ThreadId| Some((thread, sys::sched_attr_of(thread.0).ok()?));
        Self {
            classes: threads.iter().filter_map(class).collect(),
            rttime: sys::limit(Resource::RealTimeMicroseconds).ok(),
        }
    }
}

impl Drop for RightsGuard {
    /// Classes first: a thread that is ordinary again no longer needs the limit.
    fn drop(&mut self) {
        let alive = |(thread, _): &&(ThreadId, SchedAttr)| sys::is_own_thread(thread.0);
        for (thread, class) in self.classes.iter().filter(alive) {
            give_back(*thread, class);
        }
        self.rttime.into_iter().for_each(budget::give_back);
    }
}

fn give_back(thread: ThreadId, before: &SchedAttr) {
    let kept = sys::sched_attr_of(thread.0).map_or(0, |now| now.flags & sys::RESET_ON_FORK);
    let exact = SchedAttr { flags: before.flags & sys::RESET_ON_FORK, ..*before };
    if sys::set_sched_attr_of(thread.0, &exact).is_err() {
        let _ = sys::set_sched_attr_of(thread.0, &SchedAttr { flags: kept, ..*before });
    }
}
