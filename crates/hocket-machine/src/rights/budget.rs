//! The limit on CPU time without blocking (RLIMIT_RTTIME) that the services ask for.

use super::*;
use crate::sys::Limit;

/// The limit lowered to what a service asks for; given back on drop unless kept.
///
/// The soft limit can always be given back up to the hard one; the hard one only with CAP_SYS_RESOURCE (setrlimit(2)).
#[must_use = "dropping it gives the old limit back"]
pub(super) struct Lowered {
    before: Option<Limit>,
}

impl Lowered {
    /// Lowers soft and hard limit to at most `max_us`; a lower limit stays as it is.
    pub fn to(max_us: u64) -> Result<Self, String> {
        let read = || sys::limit(Resource::RealTimeMicroseconds);
        let failed = |e| format!("RLIMIT_RTTIME: {}", plain(&e));
        let before = read().map_err(failed)?;
        let wanted = within(before, max_us);
        if wanted == before {
            return Ok(Self { before: None });
        }
        sys::set_limit(0, Resource::RealTimeMicroseconds, wanted).map_err(failed)?;
        match read().map_err(failed)? {
            now if now == wanted => Ok(Self { before: Some(before) }),
            now => Err(format!("RLIMIT_RTTIME should be {max_us} µs, the system reports {now:?}")),
        }
    }

    /// Keeps the lowered limit.
    pub fn keep(&mut self) {
        self.before = None;
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            give_back(before);
        }
    }
}

/// Gives the whole limit back, or, where the hard one may not be raised, as much of the soft one as it allows.
pub(super) fn give_back(before: Limit) {
    if sys::set_limit(0, Resource::RealTimeMicroseconds, before).is_ok() {
        return;
    }
    if let Ok(now) = sys::limit(Resource::RealTimeMicroseconds) {
        let soft = now.hard.map_or(before.soft, |hard| within(before, hard).soft);
        let _ = sys::set_limit(0, Resource::RealTimeMicroseconds, Limit { soft, ..now });
    }
}

/// `limit` with both values at most `max_us`.
pub(super) fn within(limit: Limit, max_us: u64) -> Limit {
    let lower = |value: Option<u64>| Some(value.map_or(max_us, |us| us.min(max_us)));
    Limit { soft: lower(limit.soft), hard: lower(limit.hard) }
}
