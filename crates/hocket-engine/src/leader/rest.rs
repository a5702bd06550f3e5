//! Leaves blocks out while the song stands still and everything is silent. So an engine that plays nothing costs nearly
//! nothing: its workers sleep, and the leader looks whether something comes in.
//!
//! Whether a block is left out depends on samples, frames, commands and orders only. So it is the same for every schedule,
//! policy and worker count. For a host nothing changes: the outputs are silent, and frames are counted.
//!
//! Offline no block is left out.

use crate::block::leader::Leader;

/// So long is everything silent before, in seconds. [`Processor::rests`](hocket_dsp::Processor::rests) says it, too.
const AFTER_S: u64 = 10;

/// How long everything has been silent.
#[derive(Debug)]
pub(crate) struct Rest {
    /// [`AFTER_S`] in frames.
    after: u64,
    /// Frames in a row in which the song stood still, nothing came in and nothing came out.
    silent: u64,
    /// The length of the last block: so far the rows of the outputs hold silence.
    frames: usize,
    /// Where the song stood then.
    position: i64,
    /// Number of the plan then. Another plan may have rows of its own, which nobody has written.
    plan: u64,
}

impl Rest {
    pub(crate) fn new(rate_hz: u32) -> Rest {
        Rest { after: AFTER_S * u64::from(rate_hz), silent: 0, frames: 0, position: 0, plan: 0 }
    }

    /// An order was carried out that may be heard, if only after a while. A plan that `auto` tries is none, or an engine that
    /// looks for a better plan would never rest.
    pub(crate) fn begin_anew(&mut self) {
        self.silent = 0;
    }

    /// Whether the block that comes next is left out.
    ///
    /// Thread: leader, before the block. Cost: a comparison, unless everything has been silent long enough; then it reads what
    /// the host wrote.
    #[inline]
    pub(crate) fn covers(&self, leader: &mut Leader, frames: usize) -> bool {
        self.silent >= self.after
            && frames <= self.frames
            && leader.transport().position() == self.position
            && leader.runner().plan().number == self.plan
            && leader.plan_rests()
            && leader.nothing_comes(frames)
    }

    /// Notes a block that was not left out.
    ///
    /// Thread: leader, after the block, before what the host wrote is forgotten. Cost: a comparison while the song plays, else it
    /// reads the outputs.
    #[inline]
    pub(crate) fn note(&mut self, leader: &mut Leader, frames: usize) {
        if leader.transport().is_playing() {
            self.silent = 0;
        } else {
            self.note_standing(leader, frames);
        }
    }

    fn note_standing(&mut self, leader: &mut Leader, frames: usize) {
        let position = leader.transport().position();
        let stands = position == std::mem::replace(&mut self.position, position);
        let is_silent = stands && leader.nothing_comes(frames) && leader.nothing_came_out(frames);
        self.silent = if is_silent { self.silent + frames as u64 } else { 0 };
        (self.frames, self.plan) = (frames, leader.runner().plan().number);
    }
}

#[cfg(test)]
mod tests;
