//! The engine's sentry, and what stands in for it in a build without.

#[cfg(feature = "sentry")]
pub use hocket_engine::sentry::{Report, Watch, available, in_block, take_report};

#[cfg(not(feature = "sentry"))]
pub use absent::*;

#[cfg(not(feature = "sentry"))]
mod absent {
    #[must_use]
    pub struct Watch;

    impl Watch {
        pub fn begin() -> Watch {
            Watch
        }
    }

    pub fn in_block() -> bool {
        false
    }
}

/// Whether system calls are seen; says why where they are not.
#[cfg(feature = "sentry")]
pub fn sees_calls(test: &str) -> bool {
    let seen = available();
    if let Err(why) = &seen {
        println!("SKIPPED {test}: {why}");
    }
    seen.is_ok()
}

#[cfg(not(feature = "sentry"))]
pub fn skip_without_sentry(test: &str) {
    println!("SKIPPED {test}: built without the feature 'sentry'");
}
