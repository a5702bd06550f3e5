//! What a plug-in finds in a call of `process`: changes of parameters and events. All memory is there before the first call.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use vst3::Steinberg::Vst::Event_::EventTypes_::{kNoteOffEvent, kNoteOnEvent, kPolyPressureEvent};
use vst3::Steinberg::Vst::{
    Event, Event__type0, IEventList, IEventListTrait, IParamValueQueue, IParamValueQueueTrait,
    IParameterChanges, IParameterChangesTrait, NoteOffEvent, NoteOnEvent, ParamID, ParamValue,
    PolyPressureEvent,
};
use vst3::Steinberg::{kInvalidArgument, kResultFalse, kResultOk, tresult};
use vst3::{Class, ComWrapper};

use super::put;

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
    /// For parameters with these ids and values, and so many changes and events in a run.
    pub(super) fn new(slots: &[(u32, f64)], changes: usize, events: usize) -> Lists {
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
        let mut lists = Lists::new(&[(70, 0.5), (7, 0.0)], 8, 0);
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
    fn what_finds_no_room_is_left_out() {
        let mut lists = Lists::new(&[(1, 0.0)], 4, 2);
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
