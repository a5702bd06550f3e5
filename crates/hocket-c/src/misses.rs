//! What a miss is, for hosts that are devices themselves.

use hocket_engine::Misses;

use crate::process::BlockTimes;

/// The number of periods for which the device had nothing new to play because of this block: its own, if it was
/// late, and `skipped_periods`, which passed after it without a block. The host counts those by its own clock.
/// `hocket play` and `hocket bench` count in the same way. NULL for `times` means a block in time.
///
/// Thread: any. Cost: a comparison.
///
/// # Safety
/// P.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_block_misses(
    times: *const BlockTimes,
    skipped_periods: u64,
) -> u64 {
    // SAFETY: P.
    let slack_ns = unsafe { times.as_ref() }.map_or(0, |times| times.slack_ns);
    Misses::of_block(slack_ns, skipped_periods).total()
}

#[cfg(test)]
mod tests {
    use std::ptr::null;

    use super::*;

    #[test]
    fn late_blocks_and_skipped_periods_are_misses() {
        let mut times = BlockTimes::from(&hocket_engine::BlockTimes::default());
        let misses = |times: &BlockTimes, skipped| {
            // SAFETY: P: it is a reference.
            unsafe { hocket_block_misses(times, skipped) }
        };
        assert_eq!((misses(&times, 0), misses(&times, 2)), (0, 2));
        times.slack_ns = -1;
        assert_eq!((misses(&times, 0), misses(&times, 2)), (1, 3));
        // SAFETY: P: NULL is allowed.
        assert_eq!(unsafe { hocket_block_misses(null(), 4) }, 4);
    }
}
