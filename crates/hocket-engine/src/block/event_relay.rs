//! Sends on what its node receives, so that the host can read it after the block.

use hocket_dsp::{Block, Processor, mix};
use hocket_time::EventKind;

/// Sends on every event at its frame: what a take of events records. The events of all its edges become one list, each as late
/// as the latest of them, as at an instrument.
///
/// Shape: silences the block, sends events. Thread: worker, inside a block. Cost: O(events); no allocation, lock or system
/// call.
pub(crate) struct EventRelay {
    events_per_jump: usize,
}

impl EventRelay {
    /// `events_per_jump`: those of the writers that it hears.
    pub(crate) fn new(events_per_jump: usize) -> EventRelay {
        EventRelay { events_per_jump }
    }
}

impl Processor for EventRelay {
    fn process(&mut self, block: &mut Block<'_>) {
        for channel in 0..block.channels() {
            mix::clear(block.channel_mut(channel));
        }
        let (Some(heard), Some(out)) = (block.events_in, block.events_out.as_mut()) else { return };
        for event in heard.block(block.main.left.len() as u32) {
            // The engine counts what finds no room.
            let _ = match event.kind {
                EventKind::SysEx(message) => out.send_sysex(event.frame, heard.sysex(message)),
                kind => out.send(event.frame, kind),
            };
        }
    }

    fn reset(&mut self) {}

    fn rests(&self) -> bool {
        true
    }

    fn events_per_jump(&self) -> usize {
        self.events_per_jump
    }
}
