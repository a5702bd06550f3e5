//! Who looks on while a block is processed: nobody, or in test builds the sentry,
//! RealtimeSanitizer, or both.
//!
//! The block path says where it is and does not know who looks. A [`Watch`] lives as long as a
//! thread's part of the block; inside of it nothing may allocate, lock or call the system.
//! [`edge`] marks the few places where threads of the engine meet, which may truly wait or wake.

/// A thread's part of a block, from construction to drop.
///
/// Cost: nothing in builds without the features `sentry` and `rtsan`.
#[must_use = "it watches while it lives"]
pub(crate) struct Watch {
    #[cfg(feature = "rtsan")]
    _rtsan: rtsan_standalone::ScopedSanitizeRealtime,
    // Last, so that it ends last: what the sanitizer does at its end is watched too.
    #[cfg(feature = "sentry")]
    _sentry: crate::sentry::SentryWatch,
}

impl Watch {
    /// Begins to watch the calling thread.
    #[inline(always)]
    pub(crate) fn begin() -> Watch {
        Watch {
            #[cfg(feature = "sentry")]
            _sentry: crate::sentry::SentryWatch::begin(),
            #[cfg(feature = "rtsan")]
            _rtsan: rtsan_standalone::ScopedSanitizeRealtime::default(),
        }
    }
}

/// Runs `meet`, a call into hocket-rt that may block, yield or wake.
///
/// The sentry then counts those system calls, and takes the same call anywhere else for what it
/// is there: a lock. RealtimeSanitizer cannot tell one from the other and looks away.
#[inline(always)]
pub(crate) fn edge<T>(meet: impl FnOnce() -> T) -> T {
    #[cfg(feature = "sentry")]
    let _edge = crate::sentry::SyncEdge::begin();
    #[cfg(feature = "rtsan")]
    let _unwatched = rtsan_standalone::ScopedDisabler::default();
    meet()
}
