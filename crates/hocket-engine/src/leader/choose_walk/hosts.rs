//! Simulated hosts: what each block would take under either walk, from a seed.

use super::{ChooseWalk, Sample, Walk};

/// Time between blocks: 64 frames at 48 kHz, in microseconds.
pub(crate) const PERIOD: f64 = 1333.0;
/// Blocks in a second.
pub(crate) const SECOND: usize = 750;

/// Random numbers that are the same on every machine (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// At least 0, below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// What one block takes, whichever walk is chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub serial: f64,
    pub parallel: f64,
    pub work: f64,
}

impl Block {
    /// Without sharing costs.
    pub(crate) fn new(serial: f64, parallel: f64) -> Block {
        Block { serial, parallel, work: serial }
    }

    /// Both walks are slower.
    pub(crate) fn slower(self, factor: f64) -> Block {
        let Block { serial, parallel, work } = self;
        Block { serial: serial * factor, parallel: parallel * factor, work: work * factor }
    }
}

/// Two phases that take turns, each for a random number of blocks.
pub(crate) struct Phases {
    left: f64,
    second: bool,
}

impl Phases {
    pub(crate) fn new() -> Phases {
        Phases { left: 0.0, second: true }
    }

    /// Whether this block lies in a second phase; each lasts between `low` and `high` blocks.
    pub(crate) fn step(&mut self, random: &mut Random, (low, high): (f64, f64)) -> bool {
        if self.left < 1.0 {
            self.second = !self.second;
            self.left = random.between(low, high);
        }
        self.left -= 1.0;
        self.second
    }
}

/// What was played.
#[derive(Debug, Clone, Default)]
pub(crate) struct Played {
    /// Sums over the blocks after the first second.
    pub auto: f64,
    pub serial: f64,
    pub parallel: f64,
    /// The walk of each block.
    pub walks: Vec<Walk>,
    /// Blocks above the period whose serial walk is below it.
    pub missed_at: Vec<usize>,
}

impl Played {
    /// Against the better of the two walks that never change.
    pub(crate) fn over_best(&self) -> f64 {
        self.auto / self.serial.min(self.parallel)
    }

    pub(crate) fn over_serial(&self) -> f64 {
        self.auto / self.serial
    }

    /// Part of these blocks that were walked with the workers.
    pub(crate) fn share_parallel(&self, blocks: std::ops::Range<usize>) -> f64 {
        let walks = &self.walks[blocks];
        walks.iter().filter(|walk| **walk == Walk::Parallel).count() as f64 / walks.len() as f64
    }
}

/// Lets `auto` play this many blocks. The first block after a change of walk is longer: the data are in the
/// other core's cache, and workers who were not told when to come have to be woken.
pub(crate) fn play(
    choice: &mut ChooseWalk,
    blocks: usize,
    mut host: impl FnMut(usize) -> Block,
) -> Played {
    let mut played = Played::default();
    let (mut before, mut told) = (Walk::Serial, false);
    for number in 0..blocks {
        let block = host(number);
        let walk = choice.next();
        let pause = choice.pause_after_next() > 0;
        let took = match (walk, before) {
            (Walk::Serial, Walk::Serial) => block.serial,
            (Walk::Serial, Walk::Parallel) => block.serial * 1.05,
            (Walk::Parallel, Walk::Parallel) => block.parallel,
            (Walk::Parallel, Walk::Serial) if told => block.parallel * 1.05,
            (Walk::Parallel, Walk::Serial) => block.parallel.max(block.serial) + 8.0,
        };
        told = pause || (told && walk == Walk::Serial);
        before = walk;
        if !choice.passes() {
            choice.note(Sample { walk, took, work: block.work });
        }
        played.walks.push(walk);
        if took > PERIOD && block.serial < PERIOD {
            played.missed_at.push(number);
        }
        if number >= SECOND {
            played.auto += took;
            played.serial += block.serial;
            played.parallel += block.parallel;
        }
    }
    played
}
