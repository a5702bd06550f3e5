//! When a cycle of the server was due, and how many went by without this client.
//!
//! JACK says when a cycle *should* begin (`jack_get_cycle_times`), by a filter that follows the clock of the driver. After a
//! disturbance this filter of jackd is wrong by up to ten milliseconds, for seconds. So Hocket takes the time when the
//! cycle began, which jackd takes from the clock. A cycle never begins before it is due, so of the last few cycles the earliest one, with the periods since, says
//! when this one was due.
//!
//! After an xrun a driver begins a new series of periods, and what was before says nothing any more. The notice of the xrun
//! comes some cycles later. The server's count of frames may stay as if no period had passed, or leap by far too many. What
//! counts is the time.

use hocket_engine::period_ns;

use super::libjack::Cycle;

/// Cycles that are compared. A server whose series begins anew is understood after so many, also without a notice. It rarely
/// has to catch up for longer: a driver that is more than a period late begins anew.
const KEPT: usize = 4;

/// Seconds that a cycle may have begun ago.
const LONGEST_S: u32 = 5;

/// A cycle as the series of periods has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Due {
    /// When it was due, on the monotonic clock: not later than it began.
    pub(super) due_ns: u64,
    /// Periods that have passed without this client since its last cycle. Where rate or block length is another one than before,
    /// they are those that would have had room between.
    pub(super) skipped: u64,
    /// Frames of the periods among them that the server counted, so that what came in meanwhile is lost. A server that waits for
    /// its clients counts none, however long it takes. No more than have passed, because the count may leap. Where rate or block
    /// length is another one than before, the server has begun anew and its count says nothing: then it is the time between.
    pub(super) missed: u64,
}

/// The series of a server's periods.
#[derive(Debug)]
pub(super) struct Periods {
    rate_hz: u32,
    /// When the present cycle was due, as each of the last ones says; the oldest is overwritten.
    says_ns: [u64; KEPT],
    known: usize,
    oldest: usize,
    last: Option<Last>,
    /// The rate is another one than that of the last cycle.
    has_other_rate: bool,
    /// Time beyond whole periods by which the series has moved; negative: back.
    moved_ns: i64,
    /// Xruns that the server has reported.
    xruns: u64,
}

/// The last cycle.
#[derive(Debug, Clone, Copy)]
struct Last {
    frames: usize,
    due_ns: u64,
    period_ns: u64,
    /// With which frame the next one begins.
    next_frame: u32,
}

impl Periods {
    /// `xruns`: what the server has reported so far.
    pub(super) fn new(rate_hz: u32, xruns: u64) -> Periods {
        Periods {
            rate_hz,
            says_ns: [0; KEPT],
            known: 0,
            oldest: 0,
            last: None,
            has_other_rate: false,
            moved_ns: 0,
            xruns,
        }
    }

    /// From the next cycle on the server has this rate. No allocation.
    pub(super) fn begin_rate(&mut self, rate_hz: u32) {
        self.has_other_rate |= self.rate_hz != rate_hz;
        self.rate_hz = rate_hz;
    }

    /// What was before says nothing about the next cycle. No allocation.
    pub(super) fn begin_anew(&mut self, xruns: u64) {
        *self = Periods::new(self.rate_hz, xruns);
    }

    /// The next cycle; `xruns`: what the server has reported by now. Thread: the server's. No allocation, no call. Cost: some
    /// nanoseconds.
    pub(super) fn next(&mut self, cycle: &Cycle, xruns: u64) -> Due {
        let period_ns = period_ns(cycle.frames as u64, self.rate_hz).max(1);
        let began_ns = self.began_ns(cycle);
        let has_other_rate = std::mem::take(&mut self.has_other_rate);
        let goes_on = |last: &Last| last.frames == cycle.frames && !has_other_rate;
        let (before, last) = (self.last, self.last.filter(goes_on));
        let missed = match (last, before) {
            (Some(last), _) => self.pass(last, cycle, period_ns) * cycle.frames as u64,
            (None, Some(before)) => {
                let between_ns = between_ns(before, began_ns, period_ns);
                (self.known, self.moved_ns) = (0, between_ns as i64);
                self.frames(between_ns).max(u64::from(has_other_rate))
            }
            (None, None) => 0,
        };
        if std::mem::replace(&mut self.xruns, xruns) != xruns {
            self.known = 0;
        }
        self.learn(began_ns);
        let due_ns = self.says_ns[..self.known].iter().copied().min().unwrap_or(began_ns);
        let next_frame = cycle.frame.wrapping_add(cycle.frames as u32);
        self.last = Some(Last { frames: cycle.frames, due_ns, period_ns, next_frame });
        if let Some(last) = last {
            let further_ns = due_ns as i64 - last.due_ns as i64 - period_ns as i64;
            // A server that is faster than its period saves no time for later.
            self.moved_ns = self.moved_ns.saturating_add(further_ns).max(-(period_ns as i64));
        }
        Due { due_ns, skipped: self.skipped(period_ns), missed }
    }

    /// Whole periods of the time by which the series has moved. What is left over counts with the next ones, or else a driver that
    /// begins anew in each cycle would lose time without a miss.
    fn skipped(&mut self, period_ns: u64) -> u64 {
        let period = period_ns as i64;
        let skipped = ((self.moved_ns + period / 2) / period).max(0);
        self.moved_ns -= skipped * period;
        skipped as u64
    }

    fn frames(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.rate_hz) / 1_000_000_000) as u64
    }

    /// A cycle of a server without a clock.
    pub(super) fn freewheeled(cycle: &Cycle) -> Due {
        Due { due_ns: cycle.asked_ns, skipped: 0, missed: 0 }
    }

    /// To a frame. A cycle that is said to have begun very long ago has not: the server's clock is another one.
    fn began_ns(&self, cycle: &Cycle) -> u64 {
        let ago = if cycle.ago / LONGEST_S < self.rate_hz { cycle.ago } else { 0 };
        cycle.asked_ns.saturating_sub(period_ns(ago.into(), self.rate_hz))
    }

    /// Moves what the last cycles say on to this one. Returns how many periods lie between, by the server's count and by time.
    fn pass(&mut self, last: Last, cycle: &Cycle, period_ns: u64) -> u64 {
        let left_out = cycle.frame.wrapping_sub(last.next_frame);
        let told = u64::from(left_out) / (cycle.frames as u64).max(1) + 1;
        let passed = periods(last.due_ns, self.began_ns(cycle), period_ns).max(1);
        if told > passed {
            // The count has leapt.
            self.known = 0;
        }
        let further_ns = told.min(passed).saturating_mul(period_ns);
        let says = self.says_ns[..self.known].iter_mut();
        says.for_each(|says| *says = says.saturating_add(further_ns));
        told.min(passed) - 1
    }

    fn learn(&mut self, began_ns: u64) {
        if self.known < KEPT {
            // From the first place on, so the first one is the oldest when all are taken.
            self.says_ns[self.known] = began_ns;
            (self.known, self.oldest) = (self.known + 1, 0);
            return;
        }
        self.says_ns[self.oldest] = began_ns;
        self.oldest = (self.oldest + 1) % KEPT;
    }
}

/// From the end of a server's last cycle to the first one with another rate or block length. The server does not count this
/// time, but says when the first one began, however late it calls us. Such a cycle may begin a little early or late without a loss.
fn between_ns(last: Last, began_ns: u64, period_ns: u64) -> u64 {
    let between_ns = began_ns.saturating_sub(last.due_ns + last.period_ns);
    let is_usual = between_ns < last.period_ns.min(period_ns) / 2;
    if is_usual { 0 } else { between_ns }
}

/// From one time to a later one. The next period may begin a little early by the clock of this machine, so it is rounded.
fn periods(from_ns: u64, to_ns: u64, period_ns: u64) -> u64 {
    (to_ns.saturating_sub(from_ns) + period_ns / 2) / period_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE_HZ: u32 = 48_000;
    const FRAMES: usize = 48;
    const MS: u64 = 1_000_000;

    /// A server of 1 ms a period, and what the client makes of it.
    struct Server {
        periods: Periods,
        frame: u32,
        xruns: u64,
    }

    impl Server {
        /// It has run in time until 200 ms.
        fn steady() -> Server {
            // The count of frames wraps around soon.
            let mut server =
                Server { periods: Periods::new(RATE_HZ, 7), frame: u32::MAX - 100, xruns: 7 };
            for ms in 100..=200 {
                assert_eq!(server.cycle(ms * MS, 0), (0, 0));
            }
            server
        }

        /// The cycle after `left_out` others, which begins at that time. How late, and how many were skipped.
        fn cycle(&mut self, began_ns: u64, left_out: u32) -> (u64, u64) {
            self.frame = self.frame.wrapping_add(FRAMES as u32 * (1 + left_out));
            let (frames, frame, transport) = (FRAMES, self.frame, None);
            // Asked half a period after it began, of 24 frames.
            let cycle = Cycle { frames, asked_ns: began_ns + MS / 2, ago: 24, frame, transport };
            let due = self.periods.next(&cycle, self.xruns);
            assert!(due.due_ns <= began_ns, "{due:?}");
            (began_ns - due.due_ns, due.skipped)
        }

        /// Cycles in which no frame is left out, so many microseconds after 200 ms.
        fn cycles<const N: usize>(&mut self, after_us: [u64; N]) -> [(u64, u64); N] {
            after_us.map(|us| {
                let (late_ns, skipped) = self.cycle(200 * MS + us * 1_000, 0);
                (late_ns / 1_000, skipped)
            })
        }
    }

    #[test]
    fn a_cycle_is_due_a_period_after_the_one_before_however_late_that_was() {
        let mut server = Server::steady();
        let late = server.cycles([1_700, 2_000, 3_400, 4_900, 5_900, 6_000]);
        assert_eq!(late, [(700, 0), (0, 0), (400, 0), (900, 0), (900, 0), (0, 0)]);
    }

    #[test]
    fn a_server_that_catches_up_is_late_until_it_has() {
        let late = Server::steady().cycles([3_000, 3_100, 3_200, 4_000, 5_000]);
        assert_eq!(late, [(2_000, 0), (1_100, 0), (200, 0), (0, 0), (0, 0)]);
        // What takes longer is understood as a new series: as many periods are lost, late or skipped.
        let late = Server::steady().cycles([7_000, 7_100, 7_200, 7_300, 7_400, 8_000]);
        assert_eq!(late, [(6_000, 0), (5_100, 0), (4_200, 0), (0, 3), (0, 0), (0, 0)]);
    }

    #[test]
    fn cycles_that_the_server_counts_and_this_client_does_not_see_are_skipped() {
        let mut server = Server::steady();
        assert_eq!(server.cycle(204 * MS + 50_000, 3), (50_000, 3));
        assert_eq!(server.cycle(205 * MS, 0), (0, 0), "in the same series");
    }

    #[test]
    fn what_the_server_did_not_count_was_not_missed() {
        let mut server = Server::steady();
        let mut missed = |began_ns: u64, left_out: u32| {
            server.frame = server.frame.wrapping_add(FRAMES as u32 * (1 + left_out));
            let (frames, frame, transport) = (FRAMES, server.frame, None);
            let cycle = Cycle { frames, asked_ns: began_ns + MS / 2, ago: 24, frame, transport };
            server.periods.next(&cycle, server.xruns).missed
        };
        assert_eq!(missed(204 * MS, 3), 3 * FRAMES as u64);
        assert_eq!(missed(205 * MS, 0), 0);
        // It has waited for its clients.
        assert_eq!(missed(300 * MS, 0), 0);
        for ms in 301..310 {
            assert_eq!(missed(ms * MS, 0), 0);
        }
        // Its count leaps.
        assert_eq!(missed(312 * MS, 5_000), 2 * FRAMES as u64);
    }

    #[test]
    fn after_an_xrun_another_series_begins_and_what_passed_between_is_skipped() {
        let mut server = Server::steady();
        // 3.8 ms late. The driver begins anew at once, and the notice comes two cycles later.
        assert_eq!(server.cycles([4_800, 4_900]), [(3_800, 0), (2_900, 0)]);
        server.xruns += 1;
        assert_eq!(server.cycles([6_000, 7_000, 8_000]), [(0, 3), (0, 0), (0, 0)]);
    }

    #[test]
    fn another_series_is_understood_without_a_notice_too() {
        let late = Server::steady().cycles([4_800, 4_900, 5_900, 6_900, 7_900, 8_900]);
        assert_eq!(late, [(3_800, 0), (2_900, 0), (2_900, 0), (0, 3), (0, 0), (0, 0)]);
        let late = Server::steady().cycles([1_400, 2_400, 3_400, 4_400, 5_400]);
        assert_eq!(late, [(400, 0), (400, 0), (400, 0), (0, 0), (0, 0)], "not half a period");
    }

    #[test]
    fn a_count_of_frames_that_leaps_begins_a_new_series() {
        let mut server = Server::steady();
        assert_eq!(server.cycle(206 * MS + 300_000, 0), (5_300_000, 0));
        // As many frames as microseconds have passed.
        assert_eq!(server.cycle(206 * MS + 310_000, 110), (0, 4), "so many periods have passed");
        for period in 1..100 {
            assert_eq!(server.cycle(206 * MS + 310_000 + period * MS, 0), (0, 0));
        }
        // Also one that goes back.
        server.frame = server.frame.wrapping_sub(5000);
        assert_eq!(server.cycle(306 * MS + 313_000, 0), (0, 0));
    }

    #[test]
    fn parts_of_periods_that_are_lost_again_and_again_add_up() {
        let mut server = Server::steady();
        let mut skipped = 0;
        for cycle in 1..=100 {
            // A driver that begins anew in each cycle.
            server.xruns += 1;
            skipped += server.cycle(200 * MS + cycle * 1_400_000, 0).1;
        }
        assert_eq!(skipped, 40);
        // What was taken for lost and was only late is taken back.
        let mut server = Server::steady();
        server.xruns += 1;
        assert_eq!(server.cycles([1_400, 2_000, 3_400, 4_000]), [(0, 0), (0, 0), (400, 0), (0, 0)]);
    }

    #[test]
    fn a_pause_of_the_clock_lasts_no_periods() {
        let mut server = Server::steady();
        server.periods.begin_anew(server.xruns);
        assert_eq!(server.cycles([900_000, 901_000, 903_000]), [(0, 0), (0, 0), (1_000, 0)]);
    }

    #[test]
    fn a_server_with_another_clock_is_in_time() {
        let mut server = Server::steady();
        for (cycle, ago) in (1..).zip([u32::MAX, RATE_HZ * 1_000, 0, u32::MAX]) {
            server.frame = server.frame.wrapping_add(FRAMES as u32);
            let (frames, frame, transport) = (FRAMES, server.frame, None);
            let asked_ns = (200 + cycle) * MS;
            let cycle = Cycle { frames, asked_ns, ago, frame, transport };
            let due = Due { due_ns: asked_ns, skipped: 0, missed: 0 };
            assert_eq!(server.periods.next(&cycle, server.xruns), due);
        }
    }

    #[test]
    fn an_early_cycle_and_another_length_are_in_time() {
        let mut server = Server::steady();
        assert_eq!(server.cycles([100, 110]), [(0, 0), (0, 0)], "freewheeling");
        let asked_ns = 201 * MS + 500_000;
        let longer = Cycle { frames: 96, asked_ns, ago: 0, frame: 7, transport: None };
        let due = Due { due_ns: asked_ns, skipped: 0, missed: 0 };
        assert_eq!(server.periods.next(&longer, server.xruns), due);
        let next = Cycle { asked_ns: asked_ns + 2 * MS + 500, frame: 103, ..longer };
        let due = Due { due_ns: asked_ns + 2 * MS, skipped: 0, missed: 0 };
        assert_eq!(server.periods.next(&next, server.xruns), due);
    }

    /// jackd stops its driver for another block length and counts no frame meanwhile.
    #[test]
    fn what_passes_while_the_server_takes_another_block_length_or_rate_is_missed() {
        let at = |ms: u64, frames, frame| {
            let asked_ns = ms * MS;
            Cycle { frames, asked_ns, ago: 0, frame, transport: None }
        };
        let mut server = Server::steady();
        let next = server.frame.wrapping_add(FRAMES as u32);
        // The last one began at 200 ms and lasted 1 ms. Five of the new ones would have had room.
        let longer = server.periods.next(&at(211, 96, next), server.xruns);
        assert_eq!(longer, Due { due_ns: 211 * MS, skipped: 5, missed: 480 });
        let due = server.periods.next(&at(213, 96, next.wrapping_add(96)), server.xruns);
        assert_eq!(due, Due { due_ns: 213 * MS, skipped: 0, missed: 0 });

        // The same length, and half the rate: these last 4 ms.
        server.periods.begin_rate(RATE_HZ / 2);
        server.periods.begin_rate(RATE_HZ / 2);
        let slower = server.periods.next(&at(235, 96, 0), server.xruns);
        assert_eq!(slower, Due { due_ns: 235 * MS, skipped: 5, missed: 480 });
        let due = server.periods.next(&at(239, 96, 96), server.xruns);
        assert_eq!(due, Due { due_ns: 239 * MS, skipped: 0, missed: 0 });
        // Something is lost at each change of the rate, and may be no whole period.
        server.periods.begin_rate(RATE_HZ);
        let faster = server.periods.next(&at(243, 96, 192), server.xruns);
        assert_eq!(faster, Due { due_ns: 243 * MS, skipped: 0, missed: 1 });
        // What is left over of a change counts with what is lost later: 1.4 ms, and 0.2 ms.
        let shorter = Cycle { asked_ns: 246_400_000, ..at(246, 48, 288) };
        let shorter = server.periods.next(&shorter, server.xruns);
        assert_eq!((shorter.skipped, shorter.missed), (1, 67));
        let later = Cycle { asked_ns: 247_600_000, ..at(247, 48, 336) };
        let later = server.periods.next(&later, server.xruns + 1);
        assert_eq!((later.skipped, later.missed), (1, 0));
    }
}
