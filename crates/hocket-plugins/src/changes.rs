//! When changes of parameters take effect, for plug-ins whose parameters stay the same during a run.
//!
//! A change takes effect at the next multiple of [`GRID`] frames, counted from the last reset. So a run ends where values
//! change, no run between two changes is shorter than the grid, and the frames where values change do not depend on how
//! the sound is cut into blocks. A plug-in that wants whole blocks gets changes at the start of a block.

use hocket_dsp::{Change, TimedChange};
use hocket_time::{Event, EventKind};

/// Frames. 0.7 ms at 48 kHz.
pub const GRID: u64 = 32;

/// A change of a parameter, by its index, at a frame of the block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At {
    /// Frame of the block.
    pub frame: u32,
    /// The parameter.
    pub index: usize,
    /// Its value.
    pub value: f32,
}

/// All changes of a block, in order: those of `events_in` first at one frame.
pub fn of_block<'a>(
    events: &'a [TimedChange],
    received: &'a [Event],
) -> impl Iterator<Item = At> + 'a {
    let mut lanes = events.iter().map(of_lane).peekable();
    let mut edges = received.iter().filter_map(of_edge).peekable();
    std::iter::from_fn(move || match (edges.peek(), lanes.peek()) {
        (Some(edge), Some(lane)) if edge.frame <= lane.frame => edges.next(),
        (_, Some(_)) => lanes.next(),
        (_, None) => edges.next(),
    })
}

fn of_lane(timed: &TimedChange) -> At {
    let Change::Param { index, value } = timed.change;
    At { frame: timed.frame, index: usize::from(index), value }
}

fn of_edge(event: &Event) -> Option<At> {
    let EventKind::Param(change) = event.kind else { return None };
    let (index, value) = (change.param as usize, change.value as f32);
    Some(At { frame: event.frame, index, value })
}

/// Changes that wait for the grid.
#[derive(Debug, Clone)]
pub struct Changes {
    /// Frames since the last reset.
    elapsed: u64,
    waiting: Vec<Option<f32>>,
    any: bool,
    /// Changes take effect at the start of a block only.
    whole_blocks: bool,
}

impl Changes {
    /// For so many parameters.
    pub fn new(params: usize, whole_blocks: bool) -> Changes {
        Changes { elapsed: 0, waiting: vec![None; params], any: false, whole_blocks }
    }

    /// Counts frames from here.
    pub fn reset(&mut self) {
        self.elapsed = 0;
    }

    /// A value waits. Ignores a parameter that there is not, and what is not a number.
    pub fn wait(&mut self, index: usize, value: f32) {
        if let Some(waiting) = self.waiting.get_mut(index).filter(|_| !value.is_nan()) {
            *waiting = Some(value);
            self.any = true;
        }
    }

    /// Gives the values that take effect now, before the next run.
    pub fn take(&mut self, block_start: bool, mut apply: impl FnMut(usize, f32)) {
        let now = if self.whole_blocks { block_start } else { self.elapsed.is_multiple_of(GRID) };
        if !self.any || !now {
            return;
        }
        for (index, waiting) in self.waiting.iter_mut().enumerate() {
            waiting.take().into_iter().for_each(|value| apply(index, value));
        }
        self.any = false;
    }

    /// How many of the next `most` frames are one run, if the next change comes so many frames from here.
    pub fn run(&self, most: usize, next: Option<usize>) -> usize {
        let change = if self.any { Some(0) } else { next };
        let Some(change) = change.filter(|_| !self.whole_blocks) else { return most };
        let at = self.elapsed + change as u64;
        let cut = at.next_multiple_of(GRID).max(self.elapsed + 1).next_multiple_of(GRID);
        most.min((cut - self.elapsed) as usize)
    }

    /// So many frames were processed.
    pub fn pass(&mut self, frames: usize) {
        self.elapsed += frames as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the values of one parameter change, in a song cut into blocks of `frames`.
    fn heard(changes_at: &[(usize, f32)], frames: usize, length: usize) -> Vec<(u64, f32)> {
        let mut changes = Changes::new(1, false);
        let mut heard = Vec::new();
        let mut start = 0;
        while start < length {
            let end = (start + frames).min(length);
            let mut at = start;
            let mut next =
                changes_at.iter().filter(|(frame, _)| (start..end).contains(frame)).peekable();
            while at < end {
                while let Some((_, value)) = next.next_if(|(frame, _)| *frame <= at) {
                    changes.wait(0, *value);
                }
                let elapsed = changes.elapsed;
                changes.take(at == start, |_, value| heard.push((elapsed, value)));
                let run = changes.run(end - at, next.peek().map(|(frame, _)| frame - at));
                assert!(run > 0);
                changes.pass(run);
                at += run;
            }
            next.for_each(|(_, value)| changes.wait(0, *value));
            start = end;
        }
        heard
    }

    #[test]
    fn values_change_at_the_same_frames_however_blocks_are_cut() {
        let at = [(0, 1.0), (5, 2.0), (33, 3.0), (64, 4.0), (65, 5.0), (70, 6.0), (200, 7.0)];
        let expected = [(0, 1.0), (32, 2.0), (64, 4.0), (96, 6.0), (224, 7.0)];
        for frames in [1, 3, 31, 32, 33, 64, 100, 256, 1000] {
            assert_eq!(heard(&at, frames, 300), expected, "{frames}");
        }
    }

    #[test]
    fn a_plug_in_of_whole_blocks_is_not_cut() {
        let mut changes = Changes::new(1, true);
        changes.wait(0, 1.0);
        assert_eq!(changes.run(500, Some(3)), 500);
        let mut taken = 0;
        changes.take(false, |_, _| taken += 1);
        changes.take(true, |_, _| taken += 1);
        assert_eq!(taken, 1);
    }
}
