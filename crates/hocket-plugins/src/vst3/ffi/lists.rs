//! What a plug-in finds in a call of `process`: changes of parameters and events. All memory is there before the first call.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use vst3::Steinberg::Vst::Event_::EventTypes_::{
    kLegacyMIDICCOutEvent, kNoteOffEvent, kNoteOnEvent, kPolyPressureEvent,
};
use vst3::Steinberg::Vst::{
    Event, Event__type0, IEventList, IEventListTrait, IParamValueQueue, IParamValueQueueTrait,
    IParameterChanges, IParameterChangesTrait, NoteOffEvent, NoteOnEvent, ParamID, ParamValue,
    PolyPressureEvent,
};
use vst3::Steinberg::{kInvalidArgument, kResultFalse, kResultOk, tresult};
use vst3::{Class, ComWrapper};

use super::put;
use crate::END_EVENTS;

/// A value at a frame of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Point {
    frame: i32,
    value: f64,
}

/// The points of a run, those of one parameter side by side.
type Points = Arc<[Cell<Point>]>;

/// The changes of one parameter.
struct Queue {
    id: ParamID,
    points: Points,
    start: Cell<usize>,
    count: Cell<usize>,
}

impl Class for Queue {
    type Interfaces = (IParamValueQueue,);
}

impl IParamValueQueueTrait for Queue {
    unsafe fn getParameterId(&self) -> ParamID {
        self.id
    }

    unsafe fn getPointCount(&self) -> i32 {
        self.count.get() as i32
    }

    unsafe fn getPoint(&self, index: i32, frame: *mut i32, value: *mut ParamValue) -> tresult {
        let place = usize::try_from(index).ok().filter(|index| *index < self.count.get());
        let point = place.and_then(|index| self.points.get(self.start.get() + index));
        let Some(point) = point.map(Cell::get) else { return kInvalidArgument };
        // SAFETY: Written by the host.
        let done = unsafe { put(frame, point.frame) && put(value, point.value) };
        if done { kResultOk } else { kInvalidArgument }
    }

    /// Plug-ins read these.
    unsafe fn addPoint(&self, _: i32, _: ParamValue, _: *mut i32) -> tresult {
        kResultFalse
    }
}

/// The parameters that change in a run.
struct Changes {
    active: Box<[Cell<*mut IParamValueQueue>]>,
    count: Cell<usize>,
}

impl Class for Changes {
    type Interfaces = (IParameterChanges,);
}

impl IParameterChangesTrait for Changes {
    unsafe fn getParameterCount(&self) -> i32 {
        self.count.get() as i32
    }

    unsafe fn getParameterData(&self, index: i32) -> *mut IParamValueQueue {
        let place = usize::try_from(index).ok().filter(|index| *index < self.count.get());
        place.and_then(|index| self.active.get(index)).map_or(null_mut(), Cell::get)
    }

    /// Plug-ins read these.
    unsafe fn addParameterData(&self, _: *const ParamID, _: *mut i32) -> *mut IParamValueQueue {
        null_mut()
    }
}

/// What a plug-in plays.
struct Events {
    events: Box<[Cell<Event>]>,
    count: Cell<usize>,
}

impl Class for Events {
    type Interfaces = (IEventList,);
}

impl IEventListTrait for Events {
    unsafe fn getEventCount(&self) -> i32 {
        self.count.get() as i32
    }

    unsafe fn getEvent(&self, index: i32, event: *mut Event) -> tresult {
        let place = usize::try_from(index).ok().filter(|index| *index < self.count.get());
        let Some(found) = place.and_then(|index| self.events.get(index)) else {
            return kInvalidArgument;
        };
        // SAFETY: Written by the host.
        if unsafe { put(event, found.get()) } { kResultOk } else { kInvalidArgument }
    }

    /// Plug-ins read these.
    unsafe fn addEvent(&self, _: *mut Event) -> tresult {
        kResultFalse
    }
}

/// What a plug-in sends. Those that send nothing get a [`Void`].
struct SentEvents {
    events: Box<[Cell<Event>]>,
    count: Cell<usize>,
    /// What ends no note finds no room behind so many.
    most: usize,
    /// How many found no room.
    lost: Cell<u64>,
}

impl Class for SentEvents {
    type Interfaces = (IEventList,);
}

impl IEventListTrait for SentEvents {
    unsafe fn getEventCount(&self) -> i32 {
        self.count.get() as i32
    }

    unsafe fn getEvent(&self, index: i32, event: *mut Event) -> tresult {
        let place = usize::try_from(index).ok().filter(|index| *index < self.count.get());
        let Some(found) = place.and_then(|index| self.events.get(index)) else {
            return kInvalidArgument;
        };
        // SAFETY: Written by the host.
        if unsafe { put(event, found.get()) } { kResultOk } else { kInvalidArgument }
    }

    unsafe fn addEvent(&self, event: *mut Event) -> tresult {
        if event.is_null() {
            return kInvalidArgument;
        }
        // SAFETY: Read by the host.
        let event = unsafe { event.read() };
        let at = self.count.get();
        let fits = at < self.most || event.r#type == kNoteOffEvent as u16;
        let Some(place) = self.events.get(at).filter(|_| fits) else {
            self.lost.set(self.lost.get() + 1);
            return kResultFalse;
        };
        place.set(event);
        self.count.set(at + 1);
        kResultOk
    }
}

/// An event that a plug-in has sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told {
    /// A note begins: id, channel, key, velocity.
    On(i32, i16, i16, f32),
    /// It ends.
    Off(i32, i16, i16, f32),
    /// Pressure on a key: channel, key, pressure.
    Pressure(i16, i16, f32),
    /// A controller, or what VST3 counts behind them: number, channel, two values.
    Controller(u8, i8, i8, i8),
}

/// `None`: Hocket carries no such event, or it is not of the first bus.
fn told(event: &Event) -> Option<(u32, Told)> {
    let is = |kind: u16| event.r#type == kind && event.busIndex == 0;
    let what = &event.__field0;
    let told = if is(kNoteOnEvent as u16) {
        // SAFETY: Types: the event says that it is this one; Plain data.
        let note = unsafe { what.noteOn };
        Told::On(note.noteId, note.channel, note.pitch, note.velocity)
    } else if is(kNoteOffEvent as u16) {
        // SAFETY: as above.
        let note = unsafe { what.noteOff };
        Told::Off(note.noteId, note.channel, note.pitch, note.velocity)
    } else if is(kPolyPressureEvent as u16) {
        // SAFETY: as above.
        let pressed = unsafe { what.polyPressure };
        Told::Pressure(pressed.channel, pressed.pitch, pressed.pressure)
    } else if is(kLegacyMIDICCOutEvent as u16) {
        // SAFETY: as above.
        let moved = unsafe { what.midiCCOut };
        Told::Controller(moved.controlNumber, moved.channel, moved.value, moved.value2)
    } else {
        return None;
    };
    Some((event.sampleOffset.max(0) as u32, told))
}

/// Takes the values and events that a plug-in sends. Nobody reads them.
struct Void {
    /// Where all values go.
    queue: ComWrapper<VoidQueue>,
}

impl Class for Void {
    type Interfaces = (IParameterChanges, IEventList);
}

impl IParameterChangesTrait for Void {
    unsafe fn getParameterCount(&self) -> i32 {
        0
    }

    unsafe fn getParameterData(&self, _: i32) -> *mut IParamValueQueue {
        null_mut()
    }

    unsafe fn addParameterData(&self, _: *const ParamID, index: *mut i32) -> *mut IParamValueQueue {
        // SAFETY: Written by the host.
        unsafe { put(index, 0) };
        let queue = self.queue.as_com_ref::<IParamValueQueue>();
        queue.map_or(null_mut(), |queue| queue.as_ptr())
    }
}

impl IEventListTrait for Void {
    unsafe fn getEventCount(&self) -> i32 {
        0
    }

    unsafe fn getEvent(&self, _: i32, _: *mut Event) -> tresult {
        kInvalidArgument
    }

    unsafe fn addEvent(&self, _: *mut Event) -> tresult {
        kResultOk
    }
}

struct VoidQueue;

impl Class for VoidQueue {
    type Interfaces = (IParamValueQueue,);
}

impl IParamValueQueueTrait for VoidQueue {
    unsafe fn getParameterId(&self) -> ParamID {
        0
    }

    unsafe fn getPointCount(&self) -> i32 {
        0
    }

    unsafe fn getPoint(&self, _: i32, _: *mut i32, _: *mut ParamValue) -> tresult {
        kInvalidArgument
    }

    unsafe fn addPoint(&self, _: i32, _: ParamValue, index: *mut i32) -> tresult {
        // SAFETY: Written by the host.
        unsafe { put(index, 0) };
        kResultOk
    }
}

/// A change that waits for the run.
#[derive(Debug, Clone, Copy)]
struct Staged {
    slot: u32,
    order: u32,
    frame: i32,
    value: f64,
}

/// The lists of one instance.
pub struct Lists {
    staged: Vec<Staged>,
    /// What each parameter has at the start of the run.
    last: Vec<f64>,
    points: Points,
    queues: Vec<ComWrapper<Queue>>,
    changes: ComWrapper<Changes>,
    events: ComWrapper<Events>,
    /// `None`: it sends nothing.
    sent: Option<ComWrapper<SentEvents>>,
    void: ComWrapper<Void>,
}

// SAFETY: One audio thread: all that is shared within moves together, and plug-ins read it during a call only. One that
// keeps a list finds it empty later, and counts its references on any thread.
unsafe impl Send for Lists {}

impl Drop for Lists {
    fn drop(&mut self) {
        self.end_call();
    }
}

impl Lists {
    /// For parameters with these ids and values, and so many changes, events, and events that the plug-in sends in a run. Ends of
    /// notes that it sends have room besides.
    pub(super) fn new(
        slots: &[(u32, f64)],
        changes: usize,
        (events, sent): (usize, usize),
    ) -> Lists {
        // A step is up to two points.
        let points: Points = (0..2 * changes).map(|_| Cell::new(Point::default())).collect();
        let queue = |(id, _): &(u32, f64)| {
            let (start, count) = (Cell::new(0), Cell::new(0));
            ComWrapper::new(Queue { id: *id, points: Arc::clone(&points), start, count })
        };
        // SAFETY: Plain data.
        let event: Event = unsafe { MaybeUninit::zeroed().assume_init() };
        let active = slots.iter().map(|_| Cell::new(null_mut())).collect();
        Lists {
            staged: Vec::with_capacity(changes),
            last: slots.iter().map(|(_, value)| *value).collect(),
            queues: slots.iter().map(queue).collect(),
            points: Arc::clone(&points),
            changes: ComWrapper::new(Changes { active, count: Cell::new(0) }),
            events: ComWrapper::new(Events {
                events: (0..events).map(|_| Cell::new(event)).collect(),
                count: Cell::new(0),
            }),
            sent: (sent > 0).then(|| {
                let events = (0..sent + END_EVENTS).map(|_| Cell::new(event)).collect();
                let (count, lost) = (Cell::new(0), Cell::new(0));
                ComWrapper::new(SentEvents { events, count, most: sent, lost })
            }),
            void: ComWrapper::new(Void { queue: ComWrapper::new(VoidQueue) }),
        }
    }

    /// Begins a run.
    pub fn clear(&mut self) {
        self.staged.clear();
        self.end_call();
    }

    /// Nothing is in the lists: a plug-in that has kept them finds no changes, whose queues may be gone, and no events. A
    /// queue that it has kept has its points.
    fn end_call(&mut self) {
        self.events.count.set(0);
        self.changes.count.set(0);
        self.sent.iter().for_each(|sent| sent.count.set(0));
    }

    /// What the plug-in sent in the last run, with its frames, in its order.
    pub fn sent(&self) -> impl Iterator<Item = (u32, Told)> + '_ {
        let sent = self.sent.iter();
        let events = sent.flat_map(|sent| sent.events.iter().take(sent.count.get()));
        events.filter_map(|event| told(&event.get()))
    }

    /// How many events that it sent found no room since the last question.
    pub fn take_lost(&self) -> u64 {
        self.sent.as_ref().map_or(0, |sent| sent.lost.take())
    }

    /// The parameter of this slot gets a value at a frame that is not before the last one. `most`: it finds no room behind
    /// so many, beside two of each parameter: one that it starts with, and one of a preset. Returns whether it found room.
    pub fn change(&mut self, slot: usize, frame: u32, value: f64, most: usize) -> bool {
        let order = self.staged.len();
        let most = most.saturating_add(2 * self.queues.len()).min(self.staged.capacity());
        let fits = order < most && slot < self.queues.len();
        if fits {
            let (slot, order, frame) = (slot as u32, order as u32, frame as i32);
            self.staged.push(Staged { slot, order, frame, value });
        }
        fits
    }

    /// A note begins. It has no id: a note is known by its channel and key.
    pub fn note_on(&mut self, frame: u32, place: (i16, i16), velocity: f32, most: usize) -> bool {
        let (channel, pitch) = place;
        let note = NoteOnEvent { channel, pitch, tuning: 0.0, velocity, length: 0, noteId: -1 };
        self.push(frame, kNoteOnEvent as u16, Event__type0 { noteOn: note }, most)
    }

    /// A note ends.
    pub fn note_off(&mut self, frame: u32, place: (i16, i16), velocity: f32, most: usize) -> bool {
        let (channel, pitch) = place;
        let note = NoteOffEvent { channel, pitch, velocity, noteId: -1, tuning: 0.0 };
        self.push(frame, kNoteOffEvent as u16, Event__type0 { noteOff: note }, most)
    }

    /// The pressure on one key.
    pub fn pressure(&mut self, frame: u32, place: (i16, i16), pressure: f32, most: usize) -> bool {
        let (channel, pitch) = place;
        let pressure = PolyPressureEvent { channel, pitch, pressure, noteId: -1 };
        self.push(frame, kPolyPressureEvent as u16, Event__type0 { polyPressure: pressure }, most)
    }

    fn push(&mut self, frame: u32, kind: u16, what: Event__type0, most: usize) -> bool {
        let at = self.events.count.get();
        let Some(place) = self.events.events.get(at).filter(|_| at < most) else { return false };
        place.set(Event {
            busIndex: 0,
            sampleOffset: frame as i32,
            ppqPosition: 0.0,
            flags: 0,
            r#type: kind,
            __field0: what,
        });
        self.events.count.set(at + 1);
        true
    }

    /// Puts the changes where the plug-in finds them. A value holds up to the frame where the next one begins: VST3 draws a
    /// line from point to point, so a step has a point in front of it.
    pub(super) fn commit(&mut self) {
        self.sent.iter().for_each(|sent| sent.count.set(0));
        // Unstable sorting allocates nothing; the order makes it stable.
        self.staged.sort_unstable_by_key(|change| (change.slot, change.order));
        let (mut used, mut active) = (0, 0);
        for changes in self.staged.chunk_by(|one, next| one.slot == next.slot) {
            let slot = changes[0].slot as usize;
            let (start, mut value) = (used, self.last[slot]);
            let mut before = -1;
            for change in changes {
                if change.frame == before {
                    // The last of one frame counts.
                    self.points[used - 1].set(Point { frame: before, value: change.value });
                } else {
                    if change.frame > before + 1 {
                        self.points[used].set(Point { frame: change.frame - 1, value });
                        used += 1;
                    }
                    self.points[used].set(Point { frame: change.frame, value: change.value });
                    used += 1;
                }
                (before, value) = (change.frame, change.value);
            }
            self.last[slot] = value;
            let queue = &self.queues[slot];
            queue.start.set(start);
            queue.count.set(used - start);
            if let Some(queue) = queue.as_com_ref::<IParamValueQueue>() {
                self.changes.active[active].set(queue.as_ptr());
                active += 1;
            }
        }
        self.changes.count.set(active);
    }

    pub(super) fn input_changes(&self) -> *mut IParameterChanges {
        self.changes.as_com_ref().map_or(null_mut(), |changes| changes.as_ptr())
    }

    pub(super) fn input_events(&self) -> *mut IEventList {
        self.events.as_com_ref().map_or(null_mut(), |events| events.as_ptr())
    }

    pub(super) fn output_changes(&self) -> *mut IParameterChanges {
        self.void.as_com_ref().map_or(null_mut(), |changes| changes.as_ptr())
    }

    pub(super) fn output_events(&self) -> *mut IEventList {
        if let Some(sent) = self.sent.as_ref().and_then(|sent| sent.as_com_ref::<IEventList>()) {
            return sent.as_ptr();
        }
        self.void.as_com_ref().map_or(null_mut(), |events| events.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points of each parameter that changes.
    fn points(lists: &Lists) -> Vec<(u32, Vec<(i32, f64)>)> {
        let changes = &lists.changes;
        // SAFETY: Types; the queues belong to `lists`.
        unsafe {
            let queue = |index| {
                let queue = changes.getParameterData(index);
                let queue = vst3::ComRef::from_raw(queue).unwrap();
                let point = |index| {
                    let (mut frame, mut value) = (0, 0.0);
                    assert_eq!(queue.getPoint(index, &raw mut frame, &raw mut value), kResultOk);
                    (frame, value)
                };
                (queue.getParameterId(), (0..queue.getPointCount()).map(point).collect())
            };
            (0..changes.getParameterCount()).map(queue).collect()
        }
    }

    #[test]
    fn steps_have_a_point_in_front_of_them() {
        let mut lists = Lists::new(&[(70, 0.5), (7, 0.0)], 8, (0, 0));
        for (slot, frame, value) in
            [(1, 0, 0.1), (0, 5, 1.0), (1, 1, 0.2), (0, 9, 0.0), (0, 9, 0.3)]
        {
            assert!(lists.change(slot, frame, value, 8));
        }
        lists.commit();
        let expected =
            [(70, vec![(4, 0.5), (5, 1.0), (8, 1.0), (9, 0.3)]), (7, vec![(0, 0.1), (1, 0.2)])];
        assert_eq!(points(&lists), expected);
        lists.clear();
        lists.commit();
        assert!(points(&lists).is_empty());
        assert!(lists.change(0, 3, 0.9, 8));
        lists.commit();
        assert_eq!(points(&lists), [(70, vec![(2, 0.3), (3, 0.9)])]);
    }

    #[test]
    fn what_a_plug_in_sends_is_kept_up_to_the_end_of_its_room() {
        let lists = Lists::new(&[], 0, (3, 2));
        let mut from = Lists::new(&[], 0, (3, 0));
        assert!(from.note_on(5, (2, 60), 0.5, 9) && from.pressure(6, (2, 60), 0.25, 9));
        assert!(from.note_off(7, (2, 60), 0.0, 9));
        // SAFETY: Types; the list belongs to `lists`.
        unsafe {
            let list = vst3::ComRef::from_raw(lists.output_events()).unwrap();
            for (place, fits) in [(0, true), (1, true), (0, false), (2, true), (1, false)] {
                let mut event = from.events.events[place].get();
                assert_eq!(list.addEvent(&raw mut event) == kResultOk, fits);
            }
            assert_eq!(list.addEvent(null_mut()), kInvalidArgument);
        }
        let expected = [
            (5, Told::On(-1, 2, 60, 0.5)),
            (6, Told::Pressure(2, 60, 0.25)),
            (7, Told::Off(-1, 2, 60, 0.0)),
        ];
        assert!(lists.sent().eq(expected));
        assert_eq!((lists.take_lost(), lists.take_lost()), (2, 0));
    }

    #[test]
    fn what_finds_no_room_is_left_out() {
        let mut lists = Lists::new(&[(1, 0.0)], 4, (2, 0));
        // Two of each parameter beside the one.
        assert!((0..3).all(|frame| lists.change(0, frame, 0.1, 1)) && !lists.change(0, 3, 0.2, 1));
        assert!(lists.change(0, 3, 0.2, 9) && !lists.change(0, 4, 0.3, 9), "all of its memory");
        assert!(lists.note_on(0, (0, 60), 1.0, 1) && !lists.note_on(0, (0, 61), 1.0, 1));
        assert!(lists.note_off(0, (0, 60), 1.0, 9) && !lists.note_off(0, (0, 61), 1.0, 9));
        assert_eq!((lists.staged.len(), lists.events.count.get()), (4, 2));
        lists.commit();
        let kept = ComWrapper::clone(&lists.changes);
        drop(lists);
        // SAFETY: Types.
        unsafe { assert!(kept.getParameterCount() == 0 && kept.getParameterData(0).is_null()) };
    }
}
