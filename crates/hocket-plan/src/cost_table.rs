//! What the chains of a session were measured to cost, to be kept and used again.

/// Costs of chains, measured on one machine.
///
/// A chain is what a unit is before cheap units are folded together, and keeps its name whichever plan
/// it was measured in.
#[derive(Debug, Clone, PartialEq)]
pub struct CostTable {
    /// Block length for which the times hold.
    pub frames: u32,
    /// Sample rate in Hz at which they were measured.
    pub rate_hz: u32,
    /// Where, for people: the processor's model.
    pub machine: String,
    /// One row a chain and kind of seat.
    pub rows: Vec<ChainCost>,
}

/// What one chain costs on one kind of seat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainCost {
    /// The chain's name: the strip and what happens there.
    pub chain: String,
    /// Kind of the seat, 0 for the fastest.
    pub kind: usize,
    /// Nanoseconds a block where no other worker of the engine was at work on the same core; `None`:
    /// it never ran so.
    pub alone_ns: Option<f64>,
    /// The same where one was.
    pub shared_ns: Option<f64>,
}

impl ChainCost {
    /// The time alone on the core or beside another worker.
    pub fn ns(&self, shared: bool) -> Option<f64> {
        if shared { self.shared_ns } else { self.alone_ns }
    }
}
