//! Sends a track's notes and MIDI messages: the source of the events that instruments receive.
//!
//! # Chase
//! Where the song starts or jumps to, an instrument gets what the events before would have left behind
//! ([`NotePlayer::arrive`]): first the values of controllers, programs, pitch bends and pressures, then the notes that sound.
//! `spans.rs` finds them. What sounded before has been ended by the edges (`events.rs`).
//!
//! A song may leave behind more than a port usually takes, and a loop may have many passes in a block, each with a chase. So
//! the player says how much that can be ([`Processor::events_per_jump`]), and its port and those of its readers have room for
//! it, up to a bound. Beyond that events are refused and counted, as everywhere. A note that was refused gets no end.

mod spans;

use hocket_dsp::{Block, Processor, mix};
use hocket_plan::session::{ClipNote, MidiFile, NoteClip, NoteSource};
use hocket_time::{EventKind, Note, NoteAction, Pushed, Segment, TempoMap, TimeBase};

use spans::{Holds, Place, Sounds, Span, Spans, spans_of};

/// Something that clips send.
#[derive(Debug, Clone, Copy)]
struct Timed {
    /// In the unit of its list, counted from the song's start.
    at: f64,
    kind: EventKind,
}

/// The events of all clips that count in one unit, sorted.
#[derive(Debug, Clone)]
struct NoteList {
    base: TimeBase,
    events: Box<[Timed]>,
    notes: Spans<Sounds>,
    values: Spans<Holds>,
    /// How many events are sent, or lie before the place where the song started or jumped to.
    passed: u32,
}

/// Lists of a player: one in seconds, one in beats.
const LISTS: usize = 2;

/// Sends notes where the song is. While it stands still, none begins. The engine ends those that sound when it stops or
/// jumps, because the player keeps time.
///
/// Where the song starts or jumps to, it sends what holds there of the events before: the last values of controllers,
/// programs, pitch bends and pressures, and the notes that sound. A value that the song has left behind and that nothing
/// gives at the new place goes back to rest, if MIDI says where that is.
///
/// What is in beats follows the tempo map, also when it changes while the song plays: then the player ends the notes that no
/// longer sound at this place, and starts those that do.
///
/// Shape: silences the block, sends events. Thread: worker, inside a block. Cost: O(segments) and the events that are due;
/// after a start or a jump O(log(events)) for each note and value that holds there.
pub struct NotePlayer {
    lists: Vec<NoteList>,
    started: Started,
    events_per_jump: usize,
    /// Where the next frame is if nothing jumps. `None`: the song did not play.
    led_to: Option<i64>,
}

impl NotePlayer {
    /// Makes a player for the notes of a track.
    ///
    /// Thread: control; allocates. Cost: O(n log n) in notes and messages.
    pub fn new(clips: &[NoteClip]) -> NotePlayer {
        // Every note has an id of its own, so that one may sound while another of its key begins or ends.
        let mut ids = 0..i32::MAX;
        // Of two at one time, the clip that began earlier comes first: it may have something to end.
        let mut clips: Vec<&NoteClip> = clips.iter().collect();
        clips.sort_by(|a, b| a.start.total_cmp(&b.start));
        let list = |base| {
            let own: Vec<&NoteClip> =
                clips.iter().copied().filter(|clip| clip.base == base).collect();
            (!own.is_empty()).then(|| NoteList::new(base, &own, &mut ids))
        };
        let lists = [TimeBase::Seconds, TimeBase::Beats].into_iter().filter_map(list);
        let lists: Vec<NoteList> = lists.collect();
        let started = Started { since: 1, arrivals: vec![0; ids.start as usize].into() };
        let events_per_jump = lists.iter().map(NoteList::events_per_jump).sum();
        NotePlayer { lists, started, events_per_jump, led_to: None }
    }
}

/// Which written notes have started and not ended. One that was not chased, or found no room, gets no end: this might be
/// taken for that of another note of its key.
struct Started {
    /// Counts where the song started or jumped. What started before has ended.
    since: u32,
    /// By id of the note: the count when it started.
    arrivals: Box<[u32]>,
}

impl Started {
    /// Whether an event is to be sent.
    fn takes(&mut self, kind: &EventKind) -> bool {
        let EventKind::Note(note) = kind else { return true };
        let Some(arrival) = self.arrivals.get_mut(note.id as usize) else { return true };
        let starts = note.action == NoteAction::On;
        let was = std::mem::replace(arrival, if starts { self.since } else { 0 });
        starts || was == self.since
    }

    /// Sends an event that [`takes`](Started::takes) lets through. What finds no room is counted by the port.
    fn send(&mut self, block: &mut Block<'_>, frame: u32, kind: EventKind) {
        if !self.takes(&kind) || block.send(frame, kind) != Pushed::Refused {
            return;
        }
        if let EventKind::Note(note) = kind
            && let Some(arrival) = self.arrivals.get_mut(note.id as usize)
        {
            *arrival = 0;
        }
    }
}

impl NoteList {
    /// The events of these clips in the order of their times, and what holds between them.
    ///
    /// Thread: control; allocates.
    fn new(base: TimeBase, clips: &[&NoteClip], ids: &mut impl Iterator<Item = i32>) -> NoteList {
        let mut events: Vec<(Timed, bool)> = Vec::new();
        for clip in clips {
            let limit = clip.length.unwrap_or(f64::INFINITY);
            let own = match &clip.source {
                NoteSource::Written(notes) => of_notes(notes, limit, ids),
                NoteSource::File(file) => of_file(file, limit),
            };
            let placed = |event: Timed| Timed { at: event.at + clip.start, ..event };
            events.extend(own.into_iter().map(|event| (placed(event), clip.chase)));
        }
        // Stable: events of one time stay in the order of their clips.
        events.sort_by(|(a, _), (b, _)| a.at.total_cmp(&b.at));
        let (notes, values) = spans_of(&events);
        let events = events.into_iter().map(|(event, _)| event).collect();
        NoteList { base, events, notes, values, passed: 0 }
    }

    /// The most that an arrival sends: values, and notes that end and start.
    fn events_per_jump(&self) -> usize {
        self.values.most_at_once(Holds::messages) + self.notes.most_at_once(|_| 2)
    }

    fn notes(&self) -> &Spans<Sounds> {
        &self.notes
    }

    fn values(&self) -> &Spans<Holds> {
        &self.values
    }

    /// The song frame of an event. Its order is that of the events, because a tempo map never goes back.
    fn frame(&self, event: &Timed, map: &TempoMap) -> i64 {
        map.song_frame(self.base.position(event.at)).unwrap_or(i64::MAX)
    }

    /// Whether the events that are sent are those before a position.
    fn is_at(&self, position: i64, map: &TempoMap) -> bool {
        let passed = self.passed as usize;
        let last = passed.checked_sub(1).map(|last| self.frame(&self.events[last], map));
        let next = self.events.get(passed).map(|next| self.frame(next, map));
        last.is_none_or(|last| last < position) && next.is_none_or(|next| next >= position)
    }

    /// Cost: O(log(events)).
    fn place(&self, position: i64, map: &TempoMap) -> Place {
        let passed = self.events.partition_point(|event| self.frame(event, map) < position);
        let due = self.events.partition_point(|event| self.frame(event, map) <= position);
        Place { passed: passed as u32, due: due as u32 }
    }

    /// Sends what is due in a segment of the song.
    fn send(
        &mut self,
        block: &mut Block<'_>,
        started: &mut Started,
        map: &TempoMap,
        segment: &Segment,
    ) {
        let end = segment.end_position();
        while let Some(event) = self.events.get(self.passed as usize) {
            let frame = self.frame(event, map);
            if frame >= end {
                return;
            }
            let offset = segment.offset + (frame - segment.position) as u32;
            started.send(block, offset, event.kind);
            self.passed += 1;
        }
    }
}

/// Gives what holds in all lists, each at its place, in the order in which it began.
fn each_held<T>(
    lists: &[NoteList],
    places: &[Place; LISTS],
    of: impl Fn(&NoteList) -> &Spans<T>,
    map: &TempoMap,
    mut give: impl FnMut(usize, &Span<T>),
) {
    let mut next = [0; LISTS];
    loop {
        let found = lists.iter().enumerate().filter_map(|(list, it)| {
            let (number, span) = of(it).held(next[list], places[list])?;
            Some((it.frame(&it.events[span.from as usize], map), list, number, span))
        });
        let earliest = found.min_by_key(|(frame, list, ..)| (*frame, *list));
        let Some((_, list, number, span)) = earliest else { return };
        give(list, span);
        next[list] = number + 1;
    }
}

impl NotePlayer {
    /// Plays a segment of the song.
    fn play(&mut self, block: &mut Block<'_>, map: &TempoMap, segment: &Segment) {
        let goes_on = !segment.jumped && self.led_to == Some(segment.position);
        if !goes_on || !self.lists.iter().all(|list| list.is_at(segment.position, map)) {
            self.arrive(block, map, segment, goes_on);
        }
        let NotePlayer { lists, started, .. } = self;
        lists.iter_mut().for_each(|list| list.send(block, started, map, segment));
    }

    /// Sends what holds where a segment begins. `goes_on`: other tempos have moved the events, and what was sent still holds.
    /// Otherwise all notes have ended.
    #[cold]
    fn arrive(&mut self, block: &mut Block<'_>, map: &TempoMap, segment: &Segment, goes_on: bool) {
        let NotePlayer { lists, started, .. } = self;
        let mut places = [Place::default(); LISTS];
        for (place, list) in places.iter_mut().zip(&*lists) {
            *place = list.place(segment.position, map);
        }
        if !goes_on {
            started.since = started.since.wrapping_add(1).max(1);
        }
        let mut send = |kind| started.send(block, segment.offset, kind);
        for (list, place) in lists.iter().zip(&places) {
            list.leave(place.passed, goes_on, &mut send);
        }
        give_values(lists, &places, map, &mut send);
        start_notes(lists, &places, goes_on, map, &mut send);
        lists.iter_mut().zip(places).for_each(|(list, place)| list.passed = place.passed);
    }
}

/// Sends the values that hold at these places.
fn give_values(
    lists: &[NoteList],
    places: &[Place; LISTS],
    map: &TempoMap,
    send: &mut impl FnMut(EventKind),
) {
    each_held(lists, places, NoteList::values, map, |_, span| {
        let needs = span.it.needs.into_iter().flatten();
        needs.chain([span.it.message]).for_each(|it| send(EventKind::Midi(it)));
    });
}

/// Starts the notes that sound at these places and have not started. `goes_on`: those of before still sound.
fn start_notes(
    lists: &[NoteList],
    places: &[Place; LISTS],
    goes_on: bool,
    map: &TempoMap,
    send: &mut impl FnMut(EventKind),
) {
    each_held(lists, places, NoteList::notes, map, |list, span| {
        let sounds = goes_on && span.holds_behind(lists[list].passed);
        if span.it.chases && !sounds {
            send(span.it.kind);
        }
    });
}

impl NoteList {
    /// Ends notes that do not sound behind so many events, and puts values to rest that nobody has given there.
    fn leave(&self, passed: u32, goes_on: bool, send: &mut impl FnMut(EventKind)) {
        let old = Place { passed: self.passed, due: self.passed };
        let ended = self.notes.all_held(old).filter(|span| goes_on && !span.holds_behind(passed));
        ended.filter_map(|span| span.it.end()).for_each(&mut *send);
        let values = self.values.all_held(old).filter(|span| span.it.first >= passed);
        values.filter_map(|span| span.it.rest).for_each(|rest| send(EventKind::Midi(rest)));
    }
}

/// Ends come before starts of the same time, so that a repeated note begins anew. So a note that ends where it begins, as far
/// as numbers can tell, is left out: its end would be lost.
///
/// Thread: control; allocates.
fn of_notes(notes: &[ClipNote], limit: f64, ids: &mut impl Iterator<Item = i32>) -> Vec<Timed> {
    let mut events = Vec::with_capacity(2 * notes.len());
    let end = |note: &ClipNote| (note.at + note.length).min(limit);
    for note in notes.iter().filter(|note| note.at < end(note)) {
        let (id, channel, key) = (ids.next().unwrap_or(-1), note.channel as i8, note.key as i8);
        let on = EventKind::Note(Note::on(id, channel, key, note.velocity));
        let off = EventKind::Note(Note::off(id, channel, key, 0.5));
        events.push(Timed { at: note.at, kind: on });
        events.push(Timed { at: end(note), kind: off });
    }
    let starts = |event: &Timed| !event.kind.ends_notes();
    events.sort_by(|a, b| a.at.total_cmp(&b.at).then(starts(a).cmp(&starts(b))));
    events
}

/// The messages up to the limit, and the ends of the notes and pedals that are held there.
///
/// Thread: control; allocates.
fn of_file(file: &MidiFile, limit: f64) -> Vec<Timed> {
    let played = file.messages.iter().take_while(|message| message.at < limit);
    let event = |message: &hocket_plan::session::ClipMessage| Timed {
        at: message.at,
        kind: EventKind::Midi(message.message),
    };
    let mut events: Vec<Timed> = played.map(event).collect();
    if limit.is_finite() {
        let mut held = hocket_time::HeldNotes::new();
        events.iter().for_each(|event| held.watch(&event.kind));
        let mut ends = Vec::new();
        held.end_all(0, hocket_time::Source::LANE, |end| ends.push(end.kind));
        events.extend(ends.into_iter().map(|kind| Timed { at: limit, kind }));
    }
    events
}

impl Processor for NotePlayer {
    fn process(&mut self, block: &mut Block<'_>) {
        mix::clear(block.main.left);
        mix::clear(block.main.right);
        let Some(time) = block.time else { return };
        for segment in time.segments {
            if segment.playing {
                self.play(block, time.map, segment);
            }
            self.led_to = segment.playing.then(|| segment.end_position());
        }
    }

    fn reset(&mut self) {
        self.led_to = None;
        self.lists.iter_mut().for_each(|list| list.passed = 0);
    }

    fn rests(&self) -> bool {
        true
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn events_per_jump(&self) -> usize {
        self.events_per_jump
    }
}

/// When the last note of all clips is over, in frames of `map`.
pub(crate) fn last_note_end(clips: &[NoteClip], map: &TempoMap) -> u64 {
    let end = |clip: &NoteClip| map.song_frame(clip.base.position(clip.end())).unwrap_or(0);
    clips.iter().map(end).max().map_or(0, |end| u64::try_from(end).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn note(at: f64, length: f64, key: u8) -> ClipNote {
        ClipNote { at, length, key, velocity: 1.0, channel: 0 }
    }

    fn clip(notes: Vec<ClipNote>, length: Option<f64>) -> NoteClip {
        let source = NoteSource::Written(Arc::from(notes));
        NoteClip { base: TimeBase::Beats, start: 4.0, length, chase: true, source }
    }

    /// Time, key, whether it starts.
    fn of(clips: &[NoteClip]) -> Vec<(f64, i8, bool)> {
        let player = NotePlayer::new(clips);
        let events = player.lists.iter().flat_map(|list| list.events.iter());
        let told = |event: &Timed| match event.kind {
            EventKind::Note(note) => (event.at, note.key, note.action == NoteAction::On),
            _ => (event.at, -1, false),
        };
        events.map(told).collect()
    }

    #[test]
    fn ends_come_before_starts_of_the_same_time() {
        let clip = clip(vec![note(1.0, 1.0, 60), note(0.0, 1.0, 60), note(0.5, 0.25, 64)], None);
        let expected = [
            (4.0, 60, true),
            (4.5, 64, true),
            (4.75, 64, false),
            (5.0, 60, false),
            (5.0, 60, true),
            (6.0, 60, false),
        ];
        assert_eq!(of(std::slice::from_ref(&clip)), expected);
        assert_eq!((clip.end(), clip.len()), (6.0, 3));
    }

    #[test]
    fn a_note_starts_and_ends_on_its_own_channel() {
        let notes = [0, 15].map(|channel| ClipNote { channel, ..note(0.0, 1.0, 60) });
        let events = of_notes(&notes, f64::INFINITY, &mut (0..));
        let told = |event: &Timed| match event.kind {
            EventKind::Note(note) => (note.id, note.channel, note.action == NoteAction::On),
            _ => (-1, -1, false),
        };
        let expected = [(0, 0, true), (1, 15, true), (0, 0, false), (1, 15, false)];
        assert_eq!(events.iter().map(told).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_length_ends_what_sounds_and_leaves_out_what_begins_later() {
        let clip =
            clip(vec![note(0.0, 4.0, 60), note(1.5, 1.0, 62), note(2.0, 1.0, 64)], Some(2.0));
        let expected = [(4.0, 60, true), (5.5, 62, true), (6.0, 60, false), (6.0, 62, false)];
        assert_eq!(of(std::slice::from_ref(&clip)), expected);
        assert_eq!(clip.end(), 6.0);
    }

    #[test]
    fn a_file_that_is_cut_ends_its_notes_and_pedals() {
        let message = |at: f64, bytes: [u8; 3]| hocket_plan::session::ClipMessage {
            at,
            message: hocket_time::Midi1::new(&bytes).unwrap(),
        };
        let messages = [
            message(0.0, [0x90, 60, 100]),
            message(0.0, [0xb0, 64, 127]),
            message(1.0, [0x80, 60, 0]),
            message(1.0, [0x91, 61, 100]),
            message(3.0, [0x81, 61, 0]),
        ];
        let file = MidiFile {
            path: "a.mid".into(),
            track: None,
            channel: None,
            messages: messages.into(),
        };
        let all = of_file(&file, f64::INFINITY);
        assert_eq!(all.len(), 5);
        let cut = of_file(&file, 2.0);
        let ends: Vec<_> = cut[4..].iter().map(|event| (event.at, event.kind)).collect();
        assert!(!ends.is_empty() && ends.iter().all(|(at, kind)| *at == 2.0 && kind.ends_notes()));
        let mut held = hocket_time::HeldNotes::new();
        cut.iter().for_each(|event| held.watch(&event.kind));
        let mut left = 0;
        held.end_all(0, hocket_time::Source::LANE, |_| left += 1);
        assert_eq!(left, 0, "nothing is held at the end");
    }
}
