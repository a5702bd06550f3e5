//! Decides how the leader walks the next block under `auto`: as the plan says, with its workers, or alone.
//!
//! The decision rests on measured block times and on nothing else. Both walks use the same memory and give
//! the same bits, so the leader may change between them at every block.
//!
//! 1. **Parallel blocks are counted in windows.** The leader ends a window with a *probe*: two serial
//!    blocks. The first one brings the data back into the leader's cache, the second one is the sample.
//! 2. **Each window is compared with the latest serial samples.** The newest one lies right behind the window, so a
//!    clock that drifts or a host that slows down changes both.
//! 3. **An account decides.** A window that took longer than serial blocks would adds its loss to the account. A
//!    shorter one takes its gain off, down to zero (Page's CUSUM test, 1954). When the losses reach
//!    [`LEAVE`], the leader walks alone. A window that seems to lose ends early, so the leader leaves a bad
//!    plan within a few dozen blocks.
//! 4. **The leader tries the workers again** after a wait. An attempt takes at most a dozen blocks. What
//!    attempts have won pays for the next ones ([`CREDIT`]); what they have lost is spread over so long a wait
//!    that it stays below [`ATTEMPT_SHARE`] of the time.
//!
//! Times are in any one unit: only their ratios count. What has to be over within a time is counted in blocks of that
//! time ([`Pace`]). Nothing here reads a clock, allocates or waits.

/// How a block is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// By the leader, unit after unit.
    Serial,
    /// As the plan says.
    Parallel,
}

/// A block of the steady length that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub walk: Walk,
    /// How long it took.
    pub took: f64,
    /// The time that all workers spent in units together.
    pub work: f64,
}

/// Why the leader walks as it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reason {
    /// The plan is for one worker: by its costs, nothing is to be gained from more.
    #[default]
    OneWorker = 1,
    /// The plan is new: too few blocks have been compared.
    Comparing,
    /// Blocks with workers are shorter than serial ones.
    WorkersPay,
    /// The leader walks alone: the workers lost time when they were last tried, or have not been tried yet.
    SerialIsShorter,
    /// A serial block could miss its deadline, so none is tried.
    SerialIsTooLong,
    /// The settings say so: only `auto` chooses.
    AsSettingsSay,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 6] = [
        Reason::OneWorker,
        Reason::Comparing,
        Reason::WorkersPay,
        Reason::SerialIsShorter,
        Reason::SerialIsTooLong,
        Reason::AsSettingsSay,
    ];

    /// For reports.
    pub fn text(self) -> &'static str {
        match self {
            Reason::OneWorker => "by its costs, the session is not worth a second worker",
            Reason::Comparing => "the plan is new and still being compared with the serial walk",
            Reason::WorkersPay => "blocks with workers are shorter than serial ones",
            Reason::SerialIsShorter => {
                "the workers lost time when last tried, or have not been tried yet"
            }
            Reason::SerialIsTooLong => "a serial block could miss its deadline, so none is tried",
            Reason::AsSettingsSay => "the settings say so",
        }
    }
}

/// What was found out about the present plan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Finding {
    pub reason: Reason,
    /// Windows of this plan that were compared with serial samples.
    pub windows: u32,
    /// Time of a block with workers as a part of the serial walk's, over the compared windows.
    pub ratio: Option<f64>,
    /// Time of a serial block.
    pub serial: Option<f64>,
}

/// Windows that say enough about a plan.
pub(crate) const ENOUGH_WINDOWS: u32 = 3;
/// Parallel blocks in the first windows of a plan. Later windows double until they reach the last length.
const FIRST_WINDOW: u32 = 16;
/// With a window this long, less than one block in a hundred is a probe: the 99th percentile is that of
/// parallel blocks. Blocks that take long have shorter windows, of this many seconds and this many blocks at least.
const LAST_WINDOW: u32 = 256;
const WINDOW_SECONDS: f64 = 0.34;
const LEAST_WINDOW: u32 = 64;
/// The longest window, where a serial block takes several times as long as a parallel one.
const LONGEST_WINDOW: u32 = 1024;
/// The time that probes may add, as a part of all.
const PROBE_SHARE: f64 = 0.01;
/// Serial blocks of a probe; the last one is the sample.
const PROBE: u32 = 2;
/// Where the leader walks alone, one block in so many is a sample: a small session would feel the others.
const SAMPLED: u32 = 8;
/// Blocks after a probe that do not count: data and workers are on their way.
const SKIP: u32 = 2;
/// Blocks after a change of plan that do not count: caches are cold.
const SKIP_PLAN: u32 = 8;
/// A block counts as no more than this many serial blocks: an interruption says nothing about the walk.
const CLIP: f64 = 8.0;
/// A window ends early when it seems to have lost this many serial blocks.
const SUSPICIOUS: f64 = 4.0;
/// The most that one window adds to the account or takes off: no window decides alone.
const WINDOW_MOST: f64 = 6.0;
/// Losses, in serial blocks, after which the leader walks alone.
const LEAVE: f64 = 12.0;
/// Blocks longer than the period in the first window of a plan, after which the leader walks alone. They are no
/// misses (hocket-trace's `misses.rs`): lateness before the block does not count here, and other lengths are scaled.
const MISSES: u32 = 2;
/// A serial sample this much outside of those before is new: the window after it is short, and the one
/// before it does not count as lost.
const NEW: f64 = 0.2;
/// Measured blocks of an attempt.
const ATTEMPT: u32 = 8;
/// Blocks of an attempt that do not count: workers are woken.
const SKIP_ATTEMPT: u32 = 4;
/// An attempt ends early when it has lost this many serial blocks.
const ATTEMPT_LOSS: f64 = 6.0;
/// An attempt succeeds if its blocks take less than this part of serial ones.
const SUCCEEDS: f64 = 0.98;
/// The time that attempts which fail may add, as a part of all.
const ATTEMPT_SHARE: f64 = 0.005;
/// What earlier stays have won pays for at most this many lost serial blocks.
const CREDIT: f64 = 64.0;
/// After this many attempts in a row that have lost, waits double.
const PATIENCE: u32 = 3;
/// Serial blocks between attempts that are paid for.
const FIRST_WAIT: u32 = 64;
/// The shortest and the longest wait otherwise, and their times: 64 frames at 48 kHz have both. Blocks that take
/// long have no fewer than these.
const WAIT: (u32, u32) = (512, 16_384);
const WAIT_SECONDS: (f64, f64) = (0.7, 22.0);
const LEAST_WAIT: (u32, u32) = (128, 2048);
/// Serial blocks that are expected to take more than this part of the period are not tried.
const SAFE: f64 = 0.7;

/// Blocks in a second at 64 frames and 48 kHz, for which the numbers above are made.
const USUAL_BLOCKS: f64 = 750.0;
/// The least part of the losses above after which blocks that take long are left.
const LEAST_PART: f64 = 0.25;

/// Limits in blocks, where the time counts.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// The part of [`LEAVE`], [`SUSPICIOUS`], [`WINDOW_MOST`] and [`CREDIT`] that holds. Fewer long blocks pass in a second, but they
    /// differ less from each other: an interruption is a smaller part of them.
    part: f64,
    /// [`LAST_WINDOW`] and [`WAIT`].
    last_window: u32,
    wait: (u32, u32),
}

impl Pace {
    fn of(blocks_a_second: f64) -> Pace {
        let blocks = |seconds: f64, least: u32, most: u32| {
            ((seconds * blocks_a_second) as u32).clamp(least, most)
        };
        Pace {
            part: (blocks_a_second / USUAL_BLOCKS).clamp(LEAST_PART, 1.0),
            last_window: blocks(WINDOW_SECONDS, LEAST_WINDOW, LAST_WINDOW),
            wait: (
                blocks(WAIT_SECONDS.0, LEAST_WAIT.0, WAIT.0),
                blocks(WAIT_SECONDS.1, LEAST_WAIT.1, WAIT.1),
            ),
        }
    }
}

/// The leader's choice of a walk.
#[derive(Debug)]
pub(crate) struct ChooseWalk {
    /// Time from one block to the next.
    period: f64,
    pace: Pace,
    stage: Stage,
    serial: Recent,
    /// Parallel blocks of the next window.
    length: u32,
    account: Account,
    /// What stays and attempts have won, in serial blocks, up to [`CREDIT`].
    credit: f64,
    /// Attempts and stays in a row that have lost.
    failed: u32,
    /// The serial walk's time when the leader last went back to it.
    serial_then: f64,
    /// A running mean of the work in parallel blocks. It shows that a session has grown while no serial block
    /// runs.
    work: f64,
    /// Whether a serial block could miss its deadline.
    is_unsafe: bool,
}

/// What the leader is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// The plan is for one worker; the next sample is `left` blocks away.
    OneWorker { left: u32 },
    /// Walks alone, and tries the workers after `left` blocks.
    Alone { left: u32 },
    /// Tries the workers.
    Attempt(Window),
    /// Walks with the workers.
    Together(Window),
    /// Walks with the workers once more before a probe.
    BeforeProbe(Window),
    /// Walks alone for `left` blocks, to compare the window with the last of them.
    Probe { window: Window, left: u32 },
}

impl ChooseWalk {
    /// For a plan with one worker; `period`: time from one block to the next; `second`: a second in the same unit.
    pub(crate) fn new(period: f64, second: f64) -> ChooseWalk {
        ChooseWalk {
            period,
            pace: Pace::of(second / period),
            stage: Stage::OneWorker { left: 0 },
            serial: Recent::default(),
            length: FIRST_WINDOW,
            account: Account::default(),
            credit: 0.0,
            failed: 0,
            serial_then: 0.0,
            work: 0.0,
            is_unsafe: false,
        }
    }

    /// The leader has another plan. `trial`: it tries the workers at once, whatever it knows of earlier plans;
    /// otherwise it goes on walking alone or together as it did.
    pub(crate) fn exchanged(&mut self, workers: usize, trial: bool) {
        let together = self.favourite() == Walk::Parallel;
        self.stage = match self.stage {
            _ if workers < 2 => Stage::OneWorker { left: 0 },
            _ if trial || together => Stage::Together(Window::after(SKIP_PLAN)),
            Stage::OneWorker { .. } => Stage::Alone { left: self.pace.wait.0 },
            // The next block is a sample, so that control threads soon learn about the new plan.
            Stage::Alone { left } => Stage::Alone { left: left - left % SAMPLED },
            _ => Stage::Alone { left: 1 },
        };
        if trial || workers < 2 {
            self.begin_account(0.0);
            self.work = 0.0;
        }
    }

    /// How the next block of the steady length is walked.
    pub(crate) fn next(&self) -> Walk {
        match self.stage {
            Stage::OneWorker { .. } | Stage::Alone { .. } | Stage::Probe { .. } => Walk::Serial,
            Stage::Attempt(_) | Stage::Together(_) | Stage::BeforeProbe(_) => Walk::Parallel,
        }
    }

    /// How a block is walked that is not compared with others.
    pub(crate) fn favourite(&self) -> Walk {
        match self.stage {
            Stage::OneWorker { .. } | Stage::Alone { .. } | Stage::Attempt(_) => Walk::Serial,
            Stage::Together(_) | Stage::BeforeProbe(_) | Stage::Probe { .. } => Walk::Parallel,
        }
    }

    /// Serial blocks between the next block and the next parallel one: workers may sleep so much longer.
    pub(crate) fn pause_after_next(&self) -> u32 {
        if let Stage::BeforeProbe(_) = self.stage { PROBE } else { 0 }
    }

    /// What was found out about the present plan.
    pub(crate) fn finding(&self) -> Finding {
        let windows = self.account.windows;
        let reason = match self.stage {
            Stage::OneWorker { .. } => Reason::OneWorker,
            Stage::Alone { .. } | Stage::Attempt(_) => Reason::SerialIsShorter,
            _ if self.is_unsafe => Reason::SerialIsTooLong,
            _ if windows < ENOUGH_WINDOWS => Reason::Comparing,
            _ => Reason::WorkersPay,
        };
        Finding { reason, windows, ratio: self.account.ratio(), serial: self.serial.mean }
    }

    /// Passes over a block of the steady length that is no sample; `false`: it is one, and [`ChooseWalk::note`] wants it.
    ///
    /// What a block took has no say in that: a choice by length would make the samples longer than the blocks.
    /// Thread: leader, after the deadline-critical part. Cost: some 5 operations.
    #[inline]
    pub(crate) fn passes(&mut self) -> bool {
        // An attempt is compared with the blocks just before it.
        let (left, least) = match &mut self.stage {
            Stage::OneWorker { left } => (left, 0),
            Stage::Alone { left } => (left, Recent::KEPT as u32),
            _ => return false,
        };
        let passes = *left > least && *left % SAMPLED > 0;
        *left -= u32::from(passes);
        passes
    }

    /// Takes a block of the steady length into account that was walked as [`ChooseWalk::next`] said.
    ///
    /// Thread: leader, after the deadline-critical part. Cost: some 50 operations at most.
    pub(crate) fn note(&mut self, sample: Sample) {
        if sample.walk == Walk::Parallel {
            let old = if self.work > 0.0 { self.work } else { sample.work };
            // As in `block/costs.rs`: an interruption hardly counts.
            self.work = old + (sample.work - old).clamp(-old / 4.0, old / 4.0) / 8.0;
        }
        self.stage = match self.stage {
            Stage::OneWorker { .. } => self.note_one_worker(sample),
            Stage::Alone { left } => self.note_alone(sample, left),
            Stage::Attempt(window) => self.note_attempt(sample, window),
            Stage::Together(window) => self.note_together(sample, window),
            Stage::BeforeProbe(window) => {
                Stage::Probe { window: window.with(sample, self.serial.mean), left: PROBE }
            }
            Stage::Probe { window, left: 1 } => self.end_window(sample, window),
            Stage::Probe { window, left } => Stage::Probe { window, left: left - 1 },
        };
    }

    fn note_one_worker(&mut self, sample: Sample) -> Stage {
        self.serial.push(sample.took, sample.work);
        Stage::OneWorker { left: SAMPLED - 1 }
    }

    fn note_alone(&mut self, sample: Sample, left: u32) -> Stage {
        self.serial.push(sample.took, sample.work);
        let serial = self.serial.mean.unwrap_or(sample.took);
        let changed = (serial - self.serial_then).abs() > NEW * self.serial_then;
        let most = match () {
            // A walk that takes longer than the period has little to lose.
            () if serial > self.period => FIRST_WAIT / 2,
            // What was found out may no longer hold.
            () if changed => self.pace.wait.0,
            () => self.pace.wait.1,
        };
        match left.min(most) {
            0 | 1 => {
                self.work = 0.0;
                Stage::Attempt(Window::after(SKIP_ATTEMPT))
            }
            left => Stage::Alone { left: left - 1 },
        }
    }

    fn note_attempt(&mut self, sample: Sample, window: Window) -> Stage {
        let serial = self.serial.mean.unwrap_or(sample.took);
        let window = window.with(sample, Some(serial));
        let lost = window.lost_in_all(serial);
        let missed = sample.took > self.period && serial < self.period;
        if missed || lost > ATTEMPT_LOSS {
            return self.walk_alone(lost);
        }
        if window.blocks < ATTEMPT {
            return Stage::Attempt(window);
        }
        if window.mean() > SUCCEEDS * serial {
            return self.walk_alone(lost.max(0.0));
        }
        self.begin_account(-lost);
        Stage::Together(Window::after(0))
    }

    fn note_together(&mut self, sample: Sample, window: Window) -> Stage {
        let serial = self.serial.mean;
        let mut window = window.with(sample, serial);
        let missed = sample.took > self.period && serial.is_some_and(|serial| serial < self.period);
        window.missed += u32::from(missed);
        // A plan that nobody knows yet is left at its second block longer than the period: users may hear each of them.
        if window.missed >= MISSES && self.account.windows == 0 {
            return self.walk_alone(serial.map_or(0.0, |serial| window.lost_in_all(serial)));
        }
        let lost = serial.map_or(0.0, |serial| window.lost(serial));
        if window.blocks < self.length && lost < SUSPICIOUS * self.pace.part {
            return Stage::Together(window);
        }
        self.is_unsafe = !self.is_serial_safe();
        match self.is_unsafe {
            // Where parallel blocks take longer than the period, a serial one can hardly do worse.
            true if window.mean() < self.period && window.blocks < LONGEST_WINDOW => {
                Stage::Together(window)
            }
            // A window that cannot be compared says nothing.
            true if window.mean() < self.period => Stage::Together(Window::after(0)),
            _ => Stage::BeforeProbe(window),
        }
    }

    /// Whether a serial block is expected to be well within the period.
    fn is_serial_safe(&self) -> bool {
        self.serial.by_work() * self.work <= SAFE * self.period
    }

    /// A probe is over: the window before it is compared.
    fn end_window(&mut self, sample: Sample, window: Window) -> Stage {
        let new = self.serial.is_new(sample.took);
        self.serial.push(sample.took, self.work);
        let serial = self.serial.mean.unwrap_or(sample.took);
        self.account.settle(&window, serial, new, WINDOW_MOST * self.pace.part);
        self.length = match new || self.account.windows < ENOUGH_WINDOWS {
            true => FIRST_WINDOW,
            false => (2 * self.length).min(self.longest_window(window.mean() / serial)),
        };
        if self.account.lost > LEAVE * self.pace.part {
            return self.walk_alone(-self.account.won);
        }
        Stage::Together(Window::after(SKIP))
    }

    fn begin_account(&mut self, won: f64) {
        self.length = FIRST_WINDOW;
        self.account = Account { won, ..Account::default() };
    }

    /// Back to the serial walk: the workers have lost this many serial blocks since they were called.
    fn walk_alone(&mut self, lost: f64) -> Stage {
        let Pace { part, wait, .. } = self.pace;
        self.serial_then = self.serial.mean.unwrap_or(0.0);
        self.failed = if lost > 0.0 { self.failed + 1 } else { 0 };
        self.credit = (self.credit - lost.min(LEAVE)).min(CREDIT * part);
        let spread = (-self.credit / ATTEMPT_SHARE) as u32;
        let least = if self.credit > 0.0 { FIRST_WAIT } else { wait.0 };
        // The wait pays for what was lost.
        self.credit = self.credit.max(0.0);
        let left = spread.max(least << self.failed.saturating_sub(PATIENCE).min(5)).min(wait.1);
        Stage::Alone { left }
    }

    /// How long a window has to be for probes to stay below [`PROBE_SHARE`], where a parallel block takes this
    /// part of a serial one.
    fn longest_window(&self, ratio: f64) -> u32 {
        let probe_costs = f64::from(PROBE) * (1.0 / ratio - 1.0);
        ((probe_costs / PROBE_SHARE) as u32).clamp(self.pace.last_window, LONGEST_WINDOW)
    }
}

/// Parallel blocks in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Window {
    /// Blocks to come that do not count.
    skip: u32,
    /// Blocks that count, and the sum of their times.
    blocks: u32,
    sum: f64,
    /// The same for those that do not count.
    skipped: u32,
    skipped_sum: f64,
    /// Blocks longer than the period, where a serial one is shorter.
    missed: u32,
}

impl Window {
    /// An empty one, whose first blocks do not count.
    fn after(skip: u32) -> Window {
        Window { skip, blocks: 0, sum: 0.0, skipped: 0, skipped_sum: 0.0, missed: 0 }
    }

    /// With one more block.
    fn with(mut self, sample: Sample, serial: Option<f64>) -> Window {
        let took = serial.map_or(sample.took, |serial| sample.took.min(CLIP * serial));
        if self.skip > 0 {
            self.skip -= 1;
            self.skipped += 1;
            self.skipped_sum += took;
        } else {
            self.blocks += 1;
            self.sum += took;
        }
        self
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.blocks.max(1))
    }

    /// What the blocks that count lost against the serial walk, in serial blocks.
    fn lost(&self, serial: f64) -> f64 {
        self.sum / serial - f64::from(self.blocks)
    }

    /// What all of its blocks lost.
    fn lost_in_all(&self, serial: f64) -> f64 {
        self.lost(serial) + self.skipped_sum / serial - f64::from(self.skipped)
    }
}

/// Gains and losses since the workers were called, in serial blocks.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// All gains less all losses.
    won: f64,
    /// Losses less the gains between them, at least zero: the CUSUM.
    lost: f64,
    windows: u32,
    /// Blocks of the last windows, and the serial blocks that take as long.
    blocks: f64,
    as_serial: f64,
}

impl Account {
    /// About so many blocks make up the ratio.
    const MEMORY: f64 = 1000.0;

    /// `new`: the serial sample is unlike those before, so the window is not counted as lost. `most`: what it counts at most.
    fn settle(&mut self, window: &Window, serial: f64, new: bool, most: f64) {
        let lost = window.lost(serial);
        let counted = lost.clamp(-most, if new { 0.0 } else { most });
        // Before the first serial sample no block is clipped.
        self.won -= lost.min((CLIP - 1.0) * f64::from(window.blocks));
        self.lost = (self.lost + counted).max(0.0);
        self.windows += 1;
        let keep = if self.blocks > Self::MEMORY { 0.75 } else { 1.0 };
        self.blocks = keep * self.blocks + f64::from(window.blocks);
        self.as_serial = keep * self.as_serial + window.sum / serial;
    }

    fn ratio(&self) -> Option<f64> {
        (self.blocks > 0.0).then(|| self.as_serial / self.blocks)
    }
}

/// The last few serial samples.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    took: [f64; Recent::KEPT],
    /// Each sample as a part of the work in the blocks around it.
    by_work: [f64; Recent::KEPT],
    kept: usize,
    /// The place of the oldest.
    next: usize,
    /// Mean of the samples, with long ones clipped as parallel blocks are.
    mean: Option<f64>,
    /// Samples in a row that were far above the mean, or below it (negative).
    apart: i32,
}

impl Recent {
    const KEPT: usize = 16;
    /// So many in a row far from the mean are no chance.
    const CHANGED: u32 = 3;

    fn push(&mut self, took: f64, work: f64) {
        self.apart = match self.mean {
            Some(mean) if took > (1.0 + NEW) * mean => self.apart.max(0) + 1,
            Some(mean) if took < (1.0 - NEW) * mean => self.apart.min(0) - 1,
            _ => 0,
        };
        // The serial walk takes another time now: those before say nothing.
        if self.apart.unsigned_abs() == Recent::CHANGED {
            // The samples stay where they are: nobody reads them, and to clear them would be a fill by the C library.
            (self.kept, self.next, self.mean, self.apart) = (0, 0, None, 0);
        }
        self.took[self.next] = took;
        self.by_work[self.next] = took / work.max(f64::MIN_POSITIVE);
        self.next = (self.next + 1) % Recent::KEPT;
        self.kept = (self.kept + 1).min(Recent::KEPT);
        let took = &self.took[..self.kept];
        let most = CLIP * self.shortest();
        self.mean = Some(took.iter().map(|took| took.min(most)).sum::<f64>() / self.kept as f64);
    }

    fn shortest(&self) -> f64 {
        self.took[..self.kept].iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn longest(&self) -> f64 {
        self.took[..self.kept].iter().copied().fold(0.0, f64::max)
    }

    /// Whether a sample is unlike all of them.
    fn is_new(&self, took: f64) -> bool {
        took < (1.0 - NEW) * self.shortest() || took > (1.0 + NEW) * self.longest()
    }

    /// What a serial block takes for each unit of work in a parallel one. Interruptions only lengthen a
    /// block, so the smallest is right; hand-overs only add to the work, so it is at most one.
    fn by_work(&self) -> f64 {
        self.by_work[..self.kept].iter().copied().fold(1.0, f64::min)
    }
}

#[cfg(test)]
pub(crate) mod hosts;
#[cfg(test)]
mod tests;
