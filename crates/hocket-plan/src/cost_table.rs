//! Measured costs of a session's chains, to keep and use again.

/// Costs of chains, measured on one machine.
///
/// A chain is a unit before cheap units are folded together. It has the same name in every plan.
#[derive(Debug, Clone, PartialEq)]
pub struct CostTable {
    /// Block length for which the times hold.
    pub frames: u32,
    /// Sample rate in Hz at which they were measured.
    pub rate_hz: u32,
    /// The processor's model, for people.
    pub machine: String,
    /// One row per chain and kind of seat.
    pub rows: Vec<ChainCost>,
}

/// What one chain costs on one kind of seat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainCost {
    /// The chain's name: the strip and what happens there.
    pub chain: String,
    /// Kind of the seat, 0 for the fastest.
    pub kind: usize,
    /// Nanoseconds per block while no other worker of the engine works on the same core; `None`: it
    /// never ran so.
    pub alone_ns: Option<f64>,
    /// The same beside another worker on the core.
    pub shared_ns: Option<f64>,
}

impl ChainCost {
    /// The time alone on the core or beside another worker.
    pub fn ns(&self, shared: bool) -> Option<f64> {
        if shared { self.shared_ns } else { self.alone_ns }
    }
}
