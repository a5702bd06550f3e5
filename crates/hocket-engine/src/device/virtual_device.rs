//! The built-in device: no sound card, but a real clock and a real deadline.
//!
//! It plays one buffer while the engine fills the other. At every period's end, on absolute time,
//! it swaps them; where the engine is not done by then, the device has nothing new to play: a miss
//! ([`Misses`]).

use hocket_dsp::rows;
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_trace::Misses;

use crate::block::times::BlockTimes;
use crate::control::engine::Engine;

/// How far ahead of its clock it calls an engine that rests, which has nothing to play. Each wake-up of a thread costs more than
/// all such blocks of this time. A command that ends the rest takes effect as much later at most.
const REST_AHEAD_NS: u64 = 10_000_000;

/// Calls the leader once a period.
#[derive(Debug)]
pub struct VirtualDevice {
    frames: u32,
    rate_hz: u32,
    /// `[buffer][side][frame]`
    buffers: [[Vec<f32>; 2]; 2],
    filling: usize,
    played_peak: f32,
    misses: Misses,
}

impl VirtualDevice {
    /// How long after its start the first block is planned, so that the leader sleeps before it.
    pub const LEAD_IN_NS: u64 = 2_000_000;

    /// For blocks of `frames` frames at `rate_hz`.
    pub fn new(frames: u32, rate_hz: u32) -> VirtualDevice {
        let row = || vec![0.0; frames as usize];
        VirtualDevice {
            frames,
            rate_hz,
            buffers: [[row(), row()], [row(), row()]],
            filling: 0,
            played_peak: 0.0,
            misses: Misses::default(),
        }
    }

    /// When tick `index` falls, after the first: exact, so that no drift builds up.
    fn tick_ns(&self, index: u64) -> u64 {
        let nanos = u128::from(index) * u128::from(self.frames) * 1_000_000_000;
        (nanos / u128::from(self.rate_hz)) as u64
    }

    /// Runs `blocks` periods on the calling thread and hands the times of each block to `each`,
    /// which says whether to go on.
    ///
    /// A block that comes too late costs its own period and every further one that passed
    /// meanwhile; the next block then starts at the next tick, not in a burst.
    ///
    /// While the engine rests ([`Engine::rests`]), it sleeps up to 10 ms at once, and calls the leader for the blocks of that time
    /// right after one another, ahead of their ticks.
    ///
    /// Thread: the leader ([`Engine::enter`]).
    pub fn run(
        &mut self,
        engine: &mut Engine,
        blocks: u64,
        mut each: impl FnMut(&BlockTimes, &Engine) -> bool,
    ) {
        let start = monotonic_ns() + VirtualDevice::LEAD_IN_NS;
        let (mut tick, mut woke_for) = (0, start);
        for _ in 0..blocks {
            let planned = start + self.tick_ns(tick);
            if is_waited_for(engine.rests(), planned - woke_for) {
                sleep_until_ns(planned);
                woke_for = planned;
            }
            engine.expect_next(start + self.tick_ns(tick + 1));
            let mut times = engine.process_planned(self.frames as usize, planned);
            self.take(engine, &times);
            let next = self.next_tick(tick, monotonic_ns().saturating_sub(start));
            times.skipped = next - tick - 1;
            self.misses += times.misses();
            tick = next;
            if !each(&times, engine) {
                break;
            }
        }
    }

    /// The first tick after `tick` that is still to come `now_ns` after the first one.
    fn next_tick(&self, tick: u64, now_ns: u64) -> u64 {
        // The inverse of `tick_ns`, as exact: the length of a period is no whole number of ns.
        let frames = u128::from(now_ns) * u128::from(self.rate_hz);
        let to_come = frames.div_ceil(u128::from(self.frames) * 1_000_000_000) as u64;
        to_come.max(tick + 1)
    }

    /// Copies the engine's output into the buffer that is not playing, and swaps if it came in time.
    fn take(&mut self, engine: &Engine, times: &BlockTimes) {
        let rows = engine.output(self.frames as usize);
        let [left, right] = &mut self.buffers[self.filling];
        rows::copy(left, rows.left);
        // A mono output plays on both sides.
        rows::copy(right, if rows.right.is_empty() { rows.left } else { rows.right });
        if !times.is_late() {
            let peak = |row: &[f32]| row.iter().fold(0.0f32, |peak, sample| peak.max(sample.abs()));
            self.played_peak = self.played_peak.max(peak(left)).max(peak(right));
            self.filling = 1 - self.filling;
        }
    }

    /// The largest magnitude that was played; 1.0 = full scale.
    pub fn played_peak(&self) -> f32 {
        self.played_peak
    }

    /// Periods for which there was nothing new to play, since it was made.
    pub fn misses(&self) -> Misses {
        self.misses
    }
}

/// Whether the thread sleeps until a block's tick, so many nanoseconds behind the last one that it slept for.
fn is_waited_for(rests: bool, ahead_ns: u64) -> bool {
    !rests || ahead_ns >= REST_AHEAD_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_engine_that_rests_is_called_ahead_and_not_far() {
        assert!([0, 1, REST_AHEAD_NS].iter().all(|ahead_ns| is_waited_for(false, *ahead_ns)));
        assert!(!is_waited_for(true, 0) && !is_waited_for(true, REST_AHEAD_NS - 1));
        assert!(is_waited_for(true, REST_AHEAD_NS));
    }

    /// Lengths and rates whose periods are whole numbers of nanoseconds, and such that are not.
    fn devices() -> impl Iterator<Item = VirtualDevice> {
        let devices =
            [(64, 48_000), (64, 44_100), (1, 384_000), (8192, 8_000), (441, 44_100), (37, 11_025)];
        devices.into_iter().map(|(frames, rate_hz)| VirtualDevice::new(frames, rate_hz))
    }

    #[test]
    fn ticks_do_not_drift_within_a_year() {
        for device in devices() {
            let year = 365 * 86_400 * u64::from(device.rate_hz) / u64::from(device.frames);
            for tick in [1, 2, 1000, year] {
                // Whole seconds fall on ticks exactly where frames and rate have it so.
                let frames = u128::from(tick) * u128::from(device.frames);
                let seconds = frames / u128::from(device.rate_hz);
                let rest = frames % u128::from(device.rate_hz);
                let within = rest * 1_000_000_000 / u128::from(device.rate_hz);
                assert_eq!(u128::from(device.tick_ns(tick)), seconds * 1_000_000_000 + within);
            }
        }
    }

    #[test]
    fn the_next_tick_is_the_first_that_is_not_past() {
        for device in devices() {
            for tick in [0u64, 1, 7, 1_000_000, 3_000_000_000] {
                for late in [0u64, 1, 2, 5, 1_000_000] {
                    let at = device.tick_ns(tick + late);
                    assert_eq!(device.next_tick(tick, at), tick + late.max(1), "on a tick");
                    let after = device.next_tick(tick, at + 1);
                    assert_eq!(after, tick + late + 1, "a nanosecond past a tick");
                    assert!(device.tick_ns(after) > at);
                }
            }
        }
    }
}
