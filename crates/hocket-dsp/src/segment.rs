//! Cuts blocks into segments, so that the output does not depend on how blocks were cut.
//!
//! An effect implements [`SegmentEffect`]; [`Segmented`] makes a [`Processor`] of it. It splits each block
//! 1. at the frames of events, also of received ones, which are applied exactly there, and
//! 2. at control points: after each event, and [`CONTROL_FRAMES`] after the last control point.
//!
//! What an effect computes less often than every frame (filter coefficients, modulation, flushing
//! of tails) it computes at control points. Their places depend on the events and on the frames
//! since the start only. A block border therefore changes nothing but the length of a segment,
//! and an effect whose loops carry their state from frame to frame gives the same bits for any
//! block sizes. Segments are at most [`CONTROL_FRAMES`] long, so effects can keep scratch rows in
//! arrays.

use hocket_time::EventKind;

use crate::abreast::{Abreast, AbreastKey};
use crate::block::{Block, Change, Processor, StereoMut, StereoRef, TimedChange};
use crate::kinds::Param;

/// The longest segment and the distance of control points, in frames.
pub const CONTROL_FRAMES: usize = 32;

/// What an effect has to say; see the module.
pub trait SegmentEffect: Send + 'static {
    /// Its parameters; `set` gets indices into this table.
    const PARAMS: &'static [Param];

    /// Builds it at rest; `values` has one value a parameter, each in range.
    fn new(values: &[f32], sample_rate_hz: u32) -> Self;

    /// Heads for a new value, which is in range. Not called for fixed parameters.
    fn set(&mut self, index: usize, value: f32);

    /// Takes a note or a message of the event input, where it has one. Changes of parameters go to
    /// [`SegmentEffect::set`].
    fn hear(&mut self, event: &EventKind) {
        let _ = event;
    }

    /// A control point, `elapsed` frames after the last one (0 for the first).
    fn control(&mut self, elapsed: usize);

    /// Processes a segment of 1 to [`CONTROL_FRAMES`] frames.
    fn run(&mut self, rows: StereoMut<'_>, key: Option<StereoRef<'_>>);

    /// Whether all that control points would do until the next event is done by [`SegmentEffect::run_steadily`] as well.
    fn is_steady(&self) -> bool {
        false
    }

    /// Processes all frames up to the next event, and does what control points on the way would do: [`CONTROL_FRAMES`] after
    /// the last one, which was `phase` frames ago, and so on; not at the end. Called while [`SegmentEffect::is_steady`].
    fn run_steadily(&mut self, rows: StereoMut<'_>, phase: usize) {
        let _ = phase;
        self.run(rows, None);
    }

    /// Forgets the past and ends all ramps at their targets.
    fn reset(&mut self);

    /// See [`Processor::latency_frames`].
    fn latency_frames(&self) -> u32 {
        0
    }

    /// See [`Processor::rests`]. Most effects are never silent for ten seconds and then sound again by themselves.
    fn rests(&self) -> bool {
        true
    }

    /// See [`Processor::reading`].
    fn reading(&self) -> Option<f32> {
        None
    }

    /// See [`Processor::abreast_key`].
    fn abreast_key(&self) -> Option<AbreastKey> {
        None
    }

    /// See [`Processor::abreast`].
    fn abreast(this: &mut Segmented<Self>) -> Option<Abreast<'_>>
    where
        Self: Sized,
    {
        let _ = this;
        None
    }
}

/// An effect as a processor.
#[derive(Debug, Clone)]
pub struct Segmented<E> {
    effect: E,
    /// Frames since the last control point.
    elapsed: usize,
    /// Whether a control point is due before the next frame.
    due: bool,
}

impl<E: SegmentEffect> Segmented<E> {
    /// Builds an effect. Values that are missing or not numbers become defaults, values out of
    /// range are clamped.
    pub fn new(values: &[f32], sample_rate_hz: u32) -> Segmented<E> {
        Segmented::with(values, sample_rate_hz, E::new)
    }

    /// The same of an effect that needs more than values: `make` is called once, as [`SegmentEffect::new`] would be.
    pub fn with(
        values: &[f32],
        sample_rate_hz: u32,
        make: impl FnOnce(&[f32], u32) -> E,
    ) -> Segmented<E> {
        let given = |index: usize| values.get(index).copied().filter(|value| !value.is_nan());
        let params = E::PARAMS.iter().enumerate();
        let values: Vec<f32> = params
            .map(|(index, param)| param.clamp(given(index).unwrap_or(param.default)))
            .collect();
        Segmented { effect: make(&values, sample_rate_hz.max(1)), elapsed: 0, due: true }
    }

    /// The effect inside.
    pub fn effect(&self) -> &E {
        &self.effect
    }

    fn take(&mut self, change: Change) {
        let Change::Param { index, value } = change;
        let index = usize::from(index);
        let Some(param) = E::PARAMS.get(index) else {
            return;
        };
        if !value.is_nan() && !param.fixed {
            self.effect.set(index, param.clamp(value));
            self.due = true;
        }
    }

    /// Applies all events up to frame `at` and returns the others.
    fn take_until<'e>(&mut self, at: usize, mut events: &'e [TimedChange]) -> &'e [TimedChange] {
        while let Some((event, later)) = events.split_first()
            && event.frame as usize <= at
        {
            self.take(event.change);
            events = later;
        }
        events
    }

    /// The same of received events.
    fn hear_until<'e>(
        &mut self,
        at: usize,
        mut events: &'e [hocket_time::Event],
    ) -> &'e [hocket_time::Event] {
        while let Some((event, later)) = events.split_first()
            && event.frame as usize <= at
        {
            match &event.kind {
                EventKind::Param(change) => self.take_received(change.param, change.value),
                other => self.effect.hear(other),
            }
            self.due = true;
            events = later;
        }
        events
    }

    fn take_received(&mut self, param: u32, value: f64) {
        // An index that no parameter has changes nothing.
        let index = u16::try_from(param).unwrap_or(u16::MAX);
        self.take(Change::Param { index, value: value as f32 });
    }

    fn control_if_due(&mut self) {
        if self.due {
            self.effect.control(self.elapsed);
            self.elapsed = 0;
            self.due = false;
        }
    }
}

/// What is left of a block's events.
pub(crate) struct Ahead<'e> {
    events: &'e [TimedChange],
    received: &'e [hocket_time::Event],
    frames: usize,
}

impl<'e> Ahead<'e> {
    /// All events of a block.
    pub(crate) fn of(block: &Block<'e>) -> Ahead<'e> {
        Ahead { events: block.events, received: block.received(), frames: block.frames() }
    }

    /// Where the next event is, or the block's end.
    pub(crate) fn next(&self) -> usize {
        let event = self.events.first().map_or(self.frames, |event| event.frame as usize);
        let received = self.received.first().map_or(self.frames, |event| event.frame as usize);
        event.min(received).min(self.frames)
    }
}

/// A block, segment by segment. [`Processor::process`] does this for one effect, [`crate::abreast`] for several.
impl<E: SegmentEffect> Segmented<E> {
    /// Begins the segment at frame `at`: applies its events and comes to a control point where one is due. Returns
    /// where it ends at the latest.
    pub(crate) fn begin(&mut self, at: usize, ahead: &mut Ahead<'_>) -> usize {
        ahead.received = self.hear_until(at, ahead.received);
        ahead.events = self.take_until(at, ahead.events);
        self.control_if_due();
        ahead.next().min(at + CONTROL_FRAMES - self.elapsed)
    }

    /// The effect has run for so many frames, at least 1. If they were more than one segment, it has done itself what the
    /// control points in between would have done.
    pub(crate) fn pass(&mut self, frames: usize) {
        self.elapsed = (self.elapsed + frames - 1) % CONTROL_FRAMES + 1;
        self.due = self.elapsed == CONTROL_FRAMES;
    }

    /// How many frames have passed since the last control point.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn elapsed(&self) -> usize {
        self.elapsed
    }

    /// Ends the block. Events behind it count from its end on.
    pub(crate) fn end(&mut self, ahead: &Ahead<'_>) {
        self.take_until(usize::MAX, ahead.events);
    }

    /// The effect inside, to be run by somebody else.
    pub(crate) fn effect_mut(&mut self) -> &mut E {
        &mut self.effect
    }
}

impl<E: SegmentEffect> Processor for Segmented<E> {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut ahead = Ahead::of(block);
        let mut at = 0;
        while at < block.frames() {
            let mut end = self.begin(at, &mut ahead);
            if self.effect.is_steady() {
                end = ahead.next();
                self.effect.run_steadily(block.main.part(at, end), self.elapsed);
            } else {
                let key = block.side_chain.map(|key| key.part(at, end));
                self.effect.run(block.main.part(at, end), key);
            }
            self.pass(end - at);
            at = end;
        }
        self.end(&ahead);
    }

    fn abreast_key(&self) -> Option<AbreastKey> {
        self.effect.abreast_key()
    }

    fn abreast(&mut self, _events: &[TimedChange]) -> Option<Abreast<'_>> {
        E::abreast(self)
    }

    fn reset(&mut self) {
        self.effect.reset();
        self.elapsed = 0;
        self.due = true;
    }

    fn preset(&mut self, change: Change) {
        self.take(change);
    }

    fn rests(&self) -> bool {
        self.effect.rests()
    }

    fn is_stereo(&self) -> bool {
        true
    }

    fn latency_frames(&self) -> u32 {
        self.effect.latency_frames()
    }

    fn reading(&self) -> Option<f32> {
        self.effect.reading()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the parameter, and the distance to the last control point, into the rows.
    struct Probe {
        value: f32,
        since: usize,
    }

    impl SegmentEffect for Probe {
        const PARAMS: &'static [Param] = &[
            Param::new("level", "What is written.", 0.0, 10.0, 1.0),
            Param::new("built", "Cannot change.", 0.0, 1.0, 0.0).fixed(),
        ];

        fn new(values: &[f32], _sample_rate_hz: u32) -> Probe {
            Probe { value: values[0], since: 0 }
        }

        fn set(&mut self, index: usize, value: f32) {
            assert_eq!(index, 0);
            self.value = value;
        }

        fn control(&mut self, elapsed: usize) {
            assert_eq!(elapsed, self.since);
            self.since = 0;
        }

        fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
            for (left, right) in rows.left.iter_mut().zip(rows.right) {
                *left = self.value;
                *right = self.since as f32;
                self.since += 1;
            }
        }

        fn reset(&mut self) {
            self.since = 0;
        }
    }

    fn event(frame: u32, index: u16, value: f32) -> TimedChange {
        TimedChange { frame, change: Change::Param { index, value } }
    }

    fn run(
        probe: &mut Segmented<Probe>,
        frames: usize,
        events: &[TimedChange],
    ) -> (Vec<f32>, Vec<f32>) {
        let (mut left, mut right) = (vec![9.0; frames], vec![9.0; frames]);
        let main = StereoMut { left: &mut left, right: &mut right };
        probe.process(&mut Block { events, ..Block::new(main) });
        (left, right)
    }

    #[test]
    fn events_take_effect_at_their_frame_and_start_a_control_interval() {
        let mut probe = Segmented::<Probe>::new(&[2.0], 48_000);
        let (left, right) = run(&mut probe, 100, &[event(10, 0, 3.0), event(50, 0, 99.0)]);
        assert_eq!((left[9], left[10], left[49], left[50]), (2.0, 3.0, 3.0, 10.0));
        assert_eq!(right[9], 9.0);
        assert_eq!(right[10..42], std::array::from_fn::<f32, 32, _>(|n| n as f32));
        assert_eq!((right[42], right[50], right[82]), (0.0, 0.0, 0.0));
    }

    #[test]
    fn events_out_of_the_block_or_of_the_table_do_no_harm() {
        let mut probe = Segmented::<Probe>::new(&[f32::NAN], 48_000);
        let events =
            [event(0, 7, 5.0), event(1, 1, 1.0), event(2, 0, f32::NAN), event(400, 0, 4.0)];
        assert_eq!(run(&mut probe, 40, &events).0, [1.0; 40]);
        assert_eq!(run(&mut probe, 4, &[]).0, [4.0; 4]);
    }
}
