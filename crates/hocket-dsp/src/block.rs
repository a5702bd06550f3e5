//! One block of audio as a processor sees it, and the processor's contract.

/// Two rows of the same length that may be written.
#[derive(Debug)]
pub struct StereoMut<'a> {
    /// Left row, one sample a frame, 1.0 = full scale.
    pub left: &'a mut [f32],
    /// Right row.
    pub right: &'a mut [f32],
}

/// Two rows of the same length that may be read.
#[derive(Debug, Clone, Copy)]
pub struct StereoRef<'a> {
    /// Left row.
    pub left: &'a [f32],
    /// Right row.
    pub right: &'a [f32],
}

impl StereoMut<'_> {
    /// The frames from `start` up to but not including `end`, both within the rows.
    pub fn part(&mut self, start: usize, end: usize) -> StereoMut<'_> {
        StereoMut { left: &mut self.left[start..end], right: &mut self.right[start..end] }
    }
}

impl<'a> StereoRef<'a> {
    /// The frames from `start` up to but not including `end`, both within the rows.
    pub fn part(&self, start: usize, end: usize) -> StereoRef<'a> {
        StereoRef { left: &self.left[start..end], right: &self.right[start..end] }
    }
}

/// A change inside the block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Frame offset from the start of the block; events are sorted by it.
    pub frame: u32,
    /// What changes.
    pub change: Change,
}

/// What an [`Event`] changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// The parameter at `index` (the order of [`crate::Kind::params`]) gets `value`, in its unit.
    ///
    /// Processors clamp the value to the parameter's range and ignore an index they do not have
    /// and a value that is not a number.
    Param {
        /// Index into the kind's parameters.
        index: u16,
        /// New value in the parameter's unit.
        value: f32,
    },
}

/// One block of audio with its events.
#[derive(Debug)]
pub struct Block<'a> {
    /// Input and output: processed in place.
    pub main: StereoMut<'a>,
    /// A second input that only steers, such as a compressor's key.
    pub side_chain: Option<StereoRef<'a>>,
    /// Sorted by frame.
    pub events: &'a [Event],
}

impl Block<'_> {
    /// Length of the block in frames.
    pub fn frames(&self) -> usize {
        self.main.left.len()
    }
}

/// Something that changes sound block by block.
///
/// Thread: built on a control thread, then run by one worker at a time, inside a block.
/// Cost: no allocation, no lock, no system call in [`Processor::process`] and [`Processor::reset`].
pub trait Processor: Send {
    /// Processes one block in place. Rows have equal length, at least 1 frame, any length up to
    /// the largest block the engine announced; lengths may change from block to block.
    fn process(&mut self, block: &mut Block<'_>);

    /// Forgets all history (delay lines, envelopes), keeps the parameters.
    fn reset(&mut self);

    /// The session is at `frame`, counted from its start. Told once to a processor that joins a session
    /// on its way; only one that plays something by position needs to know.
    fn locate(&mut self, _frame: u64) {}

    /// How many frames the output lags behind the input. Never changes during a life.
    fn latency_frames(&self) -> u32 {
        0
    }

    /// What a meter shows after the last block, or `None` for a processor that shows nothing.
    ///
    /// The unit is the processor's: correlation from -1 to +1 for `correlation`, decibels of gain
    /// reduction (positive) for `compressor` and `limiter`.
    fn reading(&self) -> Option<f32> {
        None
    }
}
