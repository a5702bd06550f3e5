//! The event output of an effect that can be bypassed.

use hocket_time::{Event, EventBuffer, EventKind, HeldNotes, Source};

use crate::block::EventsOut;

/// Events that wait with a latency find room for so many, and for so many bytes of system-exclusive messages.
const WAITING: (usize, usize) = (8 * 1024, 8 * 4096);

/// Chooses what leaves the event output of an effect: what the effect sends or, while it is bypassed, what it receives.
///
/// What is received passes as late as the effect's sound. Changes of parameters are the effect's own, so they do not pass.
/// Where the choice changes, all notes end that went out before. So none hangs; a key that is held down has to be struck again.
///
/// Thread: as the processor that has it. Cost: O(events); no allocation, lock or system call but in [`EventSwitch::new`].
///
/// ```
/// use hocket_dsp::{EventSwitch, EventsOut};
/// use hocket_time::{Event, EventBuffer, EventKind, Note, Source};
///
/// let mut switch = EventSwitch::new(0, false);
/// let (received, mut sent) = (EventBuffer::new(8, 0), EventBuffer::new(8, 0));
/// let note = |note| EventKind::Note(note);
/// let mut out = EventsOut::new(&mut sent, 64);
/// assert!(switch.begin(false, &mut out), "the effect sends");
/// let _ = out.send(3, note(Note::on(-1, 0, 60, 1.0)));
/// switch.finish(Some(&received), &mut out);
/// sent.clear();
/// let mut out = EventsOut::new(&mut sent, 64);
/// assert!(!switch.begin(true, &mut out), "nobody hears what it sends");
/// switch.finish(Some(&received), &mut out);
/// assert_eq!(sent.all(), [Event::new(0, Source::edge(0), note(Note::off(-1, 0, 60, 0.0)))]);
/// ```
#[derive(Debug)]
pub struct EventSwitch {
    passes: bool,
    latency: u32,
    /// What was received and is not due yet.
    waiting: EventBuffer,
    /// What went out and has not ended.
    held: HeldNotes,
}

impl EventSwitch {
    /// For an effect with this latency in frames. `passes`: it begins bypassed.
    ///
    /// Thread: control; allocates about 400 KiB for an effect with latency.
    pub fn new(latency: usize, passes: bool) -> EventSwitch {
        let (events, bytes) = if latency == 0 { (0, 0) } else { WAITING };
        let waiting = EventBuffer::new(events, bytes);
        EventSwitch { passes, latency: latency as u32, waiting, held: HeldNotes::new() }
    }

    /// Before the effect runs for the frames of `out`. `passes`: it is bypassed in all of them. Returns whether the effect may
    /// send; otherwise it gets no output.
    pub fn begin(&mut self, passes: bool, out: &mut EventsOut<'_>) -> bool {
        if std::mem::replace(&mut self.passes, passes) != passes {
            self.held.end_all(0, Source::edge(0), |end| _ = out.send(end.frame, end.kind));
        }
        !passes
    }

    /// The effect's sound is late by so many frames from now on. Only for an effect that was made with a latency.
    pub fn set_latency(&mut self, frames: u32) {
        if self.latency > 0 {
            self.latency = frames.max(1);
        }
    }

    /// After the effect has run: passes what it `received` in these frames, if it is bypassed.
    pub fn finish(&mut self, received: Option<&EventBuffer>, out: &mut EventsOut<'_>) {
        let frames = out.frames() as u32;
        match received {
            Some(received) if self.latency > 0 => self.wait(received, frames),
            Some(received) if self.passes => {
                received.block(frames).iter().for_each(|event| pass(event, received, out));
            }
            _ => {}
        }
        if self.latency > 0 {
            if self.passes {
                let due = self.waiting.block(frames).iter();
                due.for_each(|event| pass(event, &self.waiting, out));
            }
            self.waiting.advance(frames);
        }
        out.sent().iter().for_each(|event| self.held.watch(&event.kind));
    }

    /// What was received is due later.
    fn wait(&mut self, received: &EventBuffer, frames: u32) {
        for event in received.block(frames) {
            let frame = event.frame + self.latency;
            _ = match event.kind {
                EventKind::Param(_) => continue,
                EventKind::SysEx(message) => {
                    self.waiting.push_sysex(frame, Source::edge(0), received.sysex(message))
                }
                kind => self.waiting.push(Event::new(frame, Source::edge(0), kind)),
            };
        }
    }

    /// Ends what went out, at the first frame of `out`: what began it is gone.
    pub fn end_all(&mut self, out: &mut EventsOut<'_>) {
        self.held.end_all(0, Source::edge(0), |end| _ = out.send(end.frame, end.kind));
    }

    /// Forgets what waits and what went out.
    pub fn reset(&mut self, passes: bool) {
        self.passes = passes;
        self.waiting.clear();
        self.held.clear();
    }
}

/// Sends an event on. Changes of parameters stay: their numbers are those of the effect.
fn pass(event: &Event, from: &EventBuffer, out: &mut EventsOut<'_>) {
    _ = match event.kind {
        EventKind::Param(_) => return,
        EventKind::SysEx(message) => out.send_sysex(event.frame, from.sysex(message)),
        kind => out.send(event.frame, kind),
    };
}
