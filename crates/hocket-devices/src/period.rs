//! The blocks of a period, as one.

use hocket_engine::BlockTimes;

/// Blocks of one cycle, and the one that came right after them. All have the cycle's planned start and deadline.
pub(crate) fn joined(before: BlockTimes, block: &BlockTimes) -> BlockTimes {
    let ready_ns = block.lateness_ns + block.duration_ns;
    BlockTimes {
        frames: before.frames + block.frames,
        duration_ns: ready_ns.saturating_sub(before.lateness_ns),
        workers_awake_ns: before.workers_awake_ns.max(block.workers_awake_ns),
        workers: before.workers.max(block.workers),
        orders: before.orders + block.orders,
        orders_ns: before.orders_ns + block.orders_ns,
        skipped: before.skipped + block.skipped,
        ..before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of 256 frames in a cycle of 1024 at 48 kHz.
    fn block(number: u64, lateness_us: u64, duration_us: u64) -> BlockTimes {
        BlockTimes {
            block: number,
            frames: 256,
            signaled_ns: 7,
            lateness_ns: lateness_us * 1_000,
            duration_ns: duration_us * 1_000,
            deadline_ns: 21_333_333,
            workers: number as u32,
            orders: 1,
            ..BlockTimes::default()
        }
    }

    fn all(blocks: &[BlockTimes]) -> BlockTimes {
        let (first, more) = blocks.split_first().unwrap();
        more.iter().fold(*first, joined)
    }

    #[test]
    fn a_cycle_of_several_blocks_is_late_once_and_only_behind_its_own_end() {
        // The first block ends later than 256 frames after the cycle's begin.
        let first = BlockTimes { skipped: 2, ..block(1, 4_000, 2_000) };
        let in_time = all(&[first, block(2, 6_100, 1_000), block(3, 7_200, 1_000)]);
        assert_eq!((in_time.block, in_time.frames, in_time.signaled_ns), (1, 768, 7));
        assert_eq!((in_time.lateness_ns, in_time.duration_ns), (4_000_000, 4_200_000));
        assert_eq!((in_time.workers, in_time.orders, in_time.skipped), (3, 3, 2));
        assert!(!in_time.is_late());
        let late = all(&[block(1, 0, 20_000), block(2, 20_100, 2_000), block(3, 22_200, 10)]);
        assert_eq!(late.misses().total(), 1, "{late:?}");
    }
}
