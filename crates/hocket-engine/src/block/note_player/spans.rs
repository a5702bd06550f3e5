//! What a place of a song inherits from the events before it: notes that sound, and values that hold.
//!
//! A control thread prepares this once. A block then finds what holds at a place in O(log n) for each of them, however long
//! the song is.

use std::collections::{BTreeMap, HashMap};

use hocket_time::{EventKind, Midi1, Note, NoteAction};

use super::Timed;

/// How many events of a list are before a place of the song.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Before its frame.
    pub passed: u32,
    /// Before its frame or at it.
    pub due: u32,
}

/// What begins with one event of a list and ends with another.
#[derive(Debug, Clone)]
pub(super) struct Span<T> {
    /// Number of the event that begins it.
    pub from: u32,
    /// Of the one that ends it, [`NEVER`]: none.
    until: u32,
    pub it: T,
}

const NEVER: u32 = u32::MAX;

/// A note, or how hard its key is pressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sounds {
    /// The event that begins it.
    pub kind: EventKind,
    /// Whether it is started where the song begins or arrives in the middle of it.
    pub chases: bool,
}

/// The value of a controller, a program, a pitch bend or a pressure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holds {
    /// Number of the event that was the first to give a value for the same.
    pub first: u32,
    /// What it needs before it: the bank of a program, the parameter of a data entry.
    pub needs: [Option<Midi1>; 2],
    pub message: Midi1,
    /// What it is like before anybody has said anything, if that is known.
    pub rest: Option<Midi1>,
}

/// Spans in the order of their beginnings.
#[derive(Debug, Clone)]
pub(super) struct Spans<T> {
    spans: Box<[Span<T>]>,
    /// A tree over them, the root at 1, their ends in the second half: the latest end below each node.
    latest: Box<[u32]>,
}

impl<T> Spans<T> {
    /// Thread: control; allocates.
    fn new(spans: Vec<Span<T>>) -> Spans<T> {
        let leaves = spans.len().next_power_of_two();
        let mut latest = vec![0; 2 * leaves];
        for (leaf, span) in latest[leaves..].iter_mut().zip(&spans) {
            *leaf = span.until;
        }
        for node in (1..leaves).rev() {
            latest[node] = latest[2 * node].max(latest[2 * node + 1]);
        }
        Spans { spans: spans.into(), latest: latest.into() }
    }

    /// The first one from number `next` on that holds at a place: it began before, and goes on behind its frame.
    ///
    /// Cost: O(log spans).
    pub(super) fn held(&self, next: usize, at: Place) -> Option<(usize, &Span<T>)> {
        let number = self.ends_from(next, at.due)?;
        let span = self.spans.get(number)?;
        (span.from < at.passed).then_some((number, span))
    }

    /// All that hold at a place, in the order of their beginnings.
    pub(super) fn all_held(&self, at: Place) -> impl Iterator<Item = &Span<T>> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let (number, span) = self.held(next, at)?;
            next = number + 1;
            Some(span)
        })
    }

    /// The largest sum of weights of those that hold at one place.
    ///
    /// Thread: control; allocates. Cost: O(n log n).
    pub(super) fn most_at_once(&self, weight: impl Fn(&T) -> usize) -> usize {
        let ends = self.spans.iter().map(|span| (span.until, weight(&span.it)));
        let mut ends: Vec<(u32, usize)> = ends.collect();
        ends.sort_unstable();
        let (mut now, mut most, mut over) = (0, 0, 0);
        for span in &self.spans {
            // It begins with an event behind which those hold no more that this or an earlier one ends.
            while let Some((_, ended)) = ends.get(over).filter(|(until, _)| *until <= span.from) {
                now -= ended;
                over += 1;
            }
            now += weight(&span.it);
            most = most.max(now);
        }
        most
    }

    /// The first one from number `next` on that ends with event `due` or later. `due`: at least 1, the others are 0.
    fn ends_from(&self, next: usize, due: u32) -> Option<usize> {
        let leaves = self.latest.len() / 2;
        if next >= leaves {
            return None;
        }
        let mut node = leaves + next;
        loop {
            // Up, as long as all below is behind the place where it began.
            node >>= node.trailing_zeros();
            if self.latest[node] >= due {
                break;
            }
            node += 1;
            if node.is_power_of_two() {
                return None;
            }
        }
        while node < leaves {
            node *= 2;
            node += usize::from(self.latest[node] < due);
        }
        Some(node - leaves)
    }
}

impl<T> Span<T> {
    /// Whether it holds for those who have so many events behind them.
    pub(super) fn holds_behind(&self, passed: u32) -> bool {
        self.from < passed && passed <= self.until
    }
}

impl Holds {
    /// How many messages a jump may send for it: what it needs, its value, and that it goes back to rest.
    pub(super) fn messages(&self) -> usize {
        self.needs.iter().flatten().count() + 1 + usize::from(self.rest.is_some())
    }
}

impl Sounds {
    /// The event that ends it.
    pub(super) fn end(&self) -> Option<EventKind> {
        match self.kind {
            EventKind::Note(Note { id, channel, key, .. }) => {
                Some(EventKind::Note(Note::off(id, channel, key, 0.5)))
            }
            EventKind::Midi(message) => {
                let [status, key, _] = message.bytes();
                let end = match status & 0xf0 {
                    0x90 => [0x80 | status & 0xf, key, 64],
                    _ => [status, key, 0],
                };
                Midi1::new(&end).ok().map(EventKind::Midi)
            }
            _ => None,
        }
    }
}

/// Something of a MIDI channel that has one value at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Controller(u8),
    Program,
    Pressure,
    Bend,
    /// A data entry (6, or 38 for its fine part) of a parameter: registered or not, high and low part of its number.
    Data(u8, (bool, u8, u8)),
}

/// Controllers that choose what a data entry or a program means.
const BANK: [u8; 2] = [0, 32];
const NOT_REGISTERED: [u8; 2] = [99, 98];
const REGISTERED: [u8; 2] = [101, 100];
const RESET: u8 = 121;

impl Slot {
    /// The value of a channel at rest: what "reset all controllers" gives (MMA RP-015), and the first bank, which is heard
    /// with the next program only. Others keep what they have.
    fn rest(self, channel: u8) -> Option<Midi1> {
        match self {
            Slot::Controller(number) if BANK.contains(&number) => controller(channel, number, 0),
            Slot::Controller(number @ (1 | 64..=67 | 69)) => controller(channel, number, 0),
            Slot::Controller(number @ (11 | 98..=101)) => controller(channel, number, 127),
            Slot::Pressure => Midi1::new(&[0xd0 | channel, 0]).ok(),
            Slot::Bend => Midi1::new(&[0xe0 | channel, 0, 64]).ok(),
            _ => None,
        }
    }
}

fn controller(channel: u8, number: u8, value: u8) -> Option<Midi1> {
    Midi1::new(&[0xb0 | channel, number, value]).ok()
}

/// What a list of events leaves behind, at each of its places.
///
/// Thread: control; allocates. Cost: O(n log n). `events`: each with whether a note that it begins is chased.
pub(super) fn spans_of(events: &[(Timed, bool)]) -> (Spans<Sounds>, Spans<Holds>) {
    let mut walk = Walk::default();
    for (number, (event, chases)) in (0..).zip(events) {
        match event.kind {
            EventKind::Note(note) => walk.note(number, note, *chases),
            EventKind::Midi(message) => walk.message(number, message, *chases),
            _ => {}
        }
    }
    walk.complete_programs();
    (Spans::new(walk.notes), Spans::new(walk.values))
}

/// Goes through a list, and remembers what holds.
#[derive(Default)]
struct Walk {
    notes: Vec<Span<Sounds>>,
    values: Vec<Span<Holds>>,
    /// Notes by their ids.
    written: HashMap<i32, usize>,
    /// Keys that are down, by channel and key: the note, and maybe its pressure.
    keys: BTreeMap<(u8, u8), [Option<usize>; 2]>,
    slots: BTreeMap<(u8, Slot), usize>,
    /// By channel: the parameter of the next data entry.
    parameters: [Option<[u8; 2]>; 16],
}

impl Walk {
    /// Thread: control; allocates.
    fn note(&mut self, number: u32, note: Note, chases: bool) {
        if note.action == NoteAction::On {
            let begun = self.begin(number, EventKind::Note(note), chases);
            self.written.insert(note.id, begun);
        } else if let Some(begun) = self.written.remove(&note.id) {
            self.notes[begun].until = number;
        }
    }

    /// Thread: control; allocates.
    fn begin(&mut self, number: u32, kind: EventKind, chases: bool) -> usize {
        self.notes.push(Span { from: number, until: NEVER, it: Sounds { kind, chases } });
        self.notes.len() - 1
    }

    /// Thread: control; allocates.
    fn message(&mut self, number: u32, message: Midi1, chases: bool) {
        let [status, first, second] = message.bytes();
        let channel = status & 0xf;
        match status & 0xf0 {
            0x80 | 0x90 => {
                self.end_keys(number, (channel, first)..=(channel, first));
                if status & 0xf0 == 0x90 && second > 0 {
                    let begun = self.begin(number, EventKind::Midi(message), chases);
                    self.keys.insert((channel, first), [Some(begun), None]);
                }
            }
            0xa0 => self.press(number, (channel, first), message),
            0xb0 => self.controller(number, (channel, first), message),
            0xc0 => self.hold(number, (channel, Slot::Program), message),
            0xd0 => self.hold(number, (channel, Slot::Pressure), message),
            0xe0 => self.hold(number, (channel, Slot::Bend), message),
            _ => {}
        }
    }

    fn end_keys(&mut self, number: u32, keys: std::ops::RangeInclusive<(u8, u8)>) {
        for spans in self.keys.range_mut(keys) {
            for span in spans.1.iter_mut().filter_map(Option::take) {
                self.notes[span].until = number;
            }
        }
    }

    /// The pressure of a key that is down.
    ///
    /// Thread: control; allocates.
    fn press(&mut self, number: u32, key: (u8, u8), message: Midi1) {
        let Some([Some(note), before]) = self.keys.get(&key).copied() else { return };
        if let Some(before) = before {
            self.notes[before].until = number;
        }
        let chases = self.notes[note].it.chases;
        let pressed = self.begin(number, EventKind::Midi(message), chases);
        self.keys.insert(key, [Some(note), Some(pressed)]);
    }

    fn controller(&mut self, at: u32, (channel, number): (u8, u8), message: Midi1) {
        if matches!(number, 120 | 123..=127) {
            self.end_keys(at, (channel, 0)..=(channel, 127));
        }
        match number {
            // Steps from a value that is not known here, and modes, which would end notes.
            96 | 97 | 120 | 123..=127 => {}
            6 | 38 => {
                let Some([high, low]) = self.parameter(channel) else { return };
                let registered = self.parameters[usize::from(channel)] == Some(REGISTERED);
                let slot = Slot::Data(number, (registered, high, low));
                self.hold(at, (channel, slot), message);
            }
            RESET => self.reset(at, channel),
            number => {
                let chosen =
                    [NOT_REGISTERED, REGISTERED].into_iter().find(|it| it.contains(&number));
                if chosen.is_some() {
                    self.parameters[usize::from(channel)] = chosen;
                }
                self.hold(at, (channel, Slot::Controller(number)), message);
            }
        }
    }

    /// The number of the parameter that a data entry means. `None`: nobody has chosen one.
    fn parameter(&self, channel: u8) -> Option<[u8; 2]> {
        let chosen = self.parameters[usize::from(channel)]?;
        let parts = chosen.map(|number| self.value(channel, number).unwrap_or(127));
        (parts != [127, 127]).then_some(parts)
    }

    /// The last value of a controller.
    fn value(&self, channel: u8, number: u8) -> Option<u8> {
        let span = self.slots.get(&(channel, Slot::Controller(number)))?;
        Some(self.values[*span].it.message.bytes()[2])
    }

    /// All that has a value at rest goes there.
    ///
    /// Thread: control; allocates.
    fn reset(&mut self, at: u32, channel: u8) {
        let is_reset = |slot: &Slot| !BANK.map(Slot::Controller).contains(slot);
        let own =
            |((of, slot), _): (&(u8, Slot), _)| (*of == channel && is_reset(slot)).then_some(*slot);
        let slots: Vec<Slot> = self.slots.iter().filter_map(own).collect();
        for slot in slots {
            let rest = slot.rest(channel);
            rest.into_iter().for_each(|rest| self.hold(at, (channel, slot), rest));
        }
    }

    /// Thread: control; allocates.
    fn hold(&mut self, number: u32, (channel, slot): (u8, Slot), message: Midi1) {
        let (before, rest) = (self.slots.get(&(channel, slot)).copied(), slot.rest(channel));
        if let Some(before) = before {
            self.values[before].until = number;
        }
        let first = before.map_or(number, |before| self.values[before].it.first);
        let needs = self.needs(channel, slot);
        let it = Holds { first, needs, message, rest };
        self.slots.insert((channel, slot), self.values.len());
        self.values.push(Span { from: number, until: NEVER, it });
    }

    fn needs(&self, channel: u8, slot: Slot) -> [Option<Midi1>; 2] {
        let numbers = match slot {
            Slot::Program => BANK,
            Slot::Data(_, (true, ..)) => REGISTERED,
            Slot::Data(_, (false, ..)) => NOT_REGISTERED,
            _ => return [None; 2],
        };
        let value = |number| match slot {
            Slot::Program => self.value(channel, number),
            _ => Some(self.value(channel, number).unwrap_or(127)),
        };
        numbers.map(|number| controller(channel, number, value(number)?))
    }

    /// A program before the first bank needs the bank at rest, where the song goes back to it.
    fn complete_programs(&mut self) {
        let programs = self.values.iter_mut().map(|span| &mut span.it);
        for it in programs.filter(|it| it.message.bytes()[0] & 0xf0 == 0xc0) {
            let channel = it.message.bytes()[0] & 0xf;
            for (need, number) in it.needs.iter_mut().zip(BANK) {
                let slot = Slot::Controller(number);
                let rest = slot.rest(channel).filter(|_| self.slots.contains_key(&(channel, slot)));
                *need = need.or(rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same spans, each as heavy as its first event is late.
    fn weighed(list: &[Span<()>]) -> Vec<Span<usize>> {
        let heavy = |it: &Span<()>| Span { from: it.from, until: it.until, it: it.from as usize };
        list.iter().map(heavy).collect()
    }

    #[test]
    fn spans_that_hold_are_found_as_by_looking_at_each() {
        for seed in 0..200u32 {
            let number = |step: u32| (seed * 7919 + step * 104_729) / 64 % 50;
            let count = seed % 40;
            let span = |n: u32| {
                let until =
                    if number(n).is_multiple_of(9) { NEVER } else { n + 1 + number(n) % 20 };
                Span { from: n, until, it: () }
            };
            let list: Vec<_> = (0..count).map(span).collect();
            let spans = Spans::new(list.clone());
            for passed in 0..count + 20 {
                for due in passed..passed + 3 {
                    let holds = |it: &&Span<()>| it.from < passed && due <= it.until;
                    let expected = list.iter().filter(holds).map(|it| it.from);
                    let found = spans.all_held(Place { passed, due }).map(|it| it.from);
                    assert!(found.eq(expected), "seed {seed}, {passed} {due}");
                }
            }
            let at = |passed: u32| -> usize {
                let here = list.iter().filter(|it| it.holds_behind(passed));
                here.map(|it| it.from as usize).sum()
            };
            let most = (0..count + 20).map(at).max();
            let found = Spans::new(weighed(&list)).most_at_once(|from| *from);
            assert_eq!(Some(found), most, "seed {seed}");
        }
    }
}
