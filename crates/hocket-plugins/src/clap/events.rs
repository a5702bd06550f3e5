//! Events for CLAP plug-ins.

use clack_extensions::note_ports::{NoteDialect, NoteDialects};
use clack_host::events::EventFlags;
use clack_host::events::event_types::{
    MidiEvent, NoteChokeEvent, NoteOffEvent, NoteOnEvent, ParamValueEvent, TransportEvent,
    TransportFlags,
};
use clack_host::events::io::{OutputEventBuffer, TryPushError};
use clack_host::events::spaces::CoreEventSpace;
use clack_host::prelude::*;
use clack_host::utils::{BeatTime, SecondsTime};
use hocket_dsp::EventsOut;
use hocket_time::{EventKind, Midi1, Note, NoteAction, Pushed, Ump, midi2_to_midi1};

use crate::END_EVENTS;
use crate::sent::short_message;
use crate::song::SongPoint;

/// A value of a parameter finds no room behind so many events of a run.
const MOST_VALUES: u32 = 1024;
/// What ends no note finds no room behind so many.
const MOST_OTHERS: u32 = 2 * MOST_VALUES;
/// The most events of a run.
const MOST: u32 = MOST_OTHERS + END_EVENTS as u32;

/// What a plug-in gets in one run.
pub struct Incoming {
    buffer: EventBuffer,
    notes: Option<NoteDialects>,
    /// The present event finds no room behind so many.
    most: u32,
    /// Whether all of the present event found room.
    fits: bool,
}

impl Incoming {
    /// `notes`: what the plug-in's note input takes.
    pub fn new(notes: Option<NoteDialects>) -> Incoming {
        Incoming {
            buffer: EventBuffer::with_capacity(MOST as usize),
            notes,
            most: MOST,
            fits: true,
        }
    }

    /// For the plug-in.
    pub fn buffer(&self) -> &EventBuffer {
        &self.buffer
    }

    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Appends a value of a parameter. Returns whether it found room.
    pub fn param(&mut self, frame: u32, id: u32, value: f32) -> bool {
        (self.most, self.fits) = (MOST_VALUES, true);
        if let Some(id) = ClapId::from_raw(id) {
            let event = ParamValueEvent::new(frame, id, Pckn::match_all(), f64::from(value));
            self.push(&event);
        }
        self.fits
    }

    /// Appends a note or message, as the plug-in takes it. Never one note in two dialects. The last room is for note ends.
    /// Returns whether all of it found room.
    pub fn event(&mut self, frame: u32, kind: &EventKind) -> bool {
        let Some(dialects) = self.notes else { return true };
        self.fits = true;
        self.most = if kind.ends_notes() { MOST } else { MOST_OTHERS };
        let is_midi = dialects.supports(NoteDialect::Midi);
        let is_clap = dialects.supports(NoteDialect::Clap);
        match kind {
            EventKind::Note(note) if is_clap => self.note(frame, note),
            EventKind::Note(note) => {
                note.to_midi().into_iter().for_each(|message| self.midi(frame, message));
            }
            EventKind::Midi(message) => self.message(frame, *message, is_midi),
            EventKind::Ump(packet) => {
                let messages = midi2_to_midi1(packet);
                let messages = messages.as_slice().iter();
                messages.for_each(|message| self.message(frame, *message, is_midi));
            }
            EventKind::EndAllNotes if is_clap => {
                self.push(&NoteOffEvent::new(frame, Pckn::match_all(), 0.0));
            }
            EventKind::EndAllNotes => self.end_all_by_midi(frame),
            EventKind::Param(_) | EventKind::SysEx(_) => {}
        }
        self.fits
    }

    fn message(&mut self, frame: u32, message: Midi1, is_midi: bool) {
        match (is_midi, Note::from_midi(message)) {
            (true, _) => self.midi(frame, message),
            (false, Some(note)) => self.note(frame, &note),
            (false, None) => {}
        }
    }

    fn note(&mut self, frame: u32, note: &Note) {
        let place = Pckn::from_raw(0, i16::from(note.channel), i16::from(note.key), note.id);
        match note.action {
            NoteAction::On => self.push(&NoteOnEvent::new(frame, place, note.velocity)),
            NoteAction::Off => self.push(&NoteOffEvent::new(frame, place, note.velocity)),
            NoteAction::Choke => self.push(&NoteChokeEvent::new(frame, place)),
            NoteAction::End => {}
        }
    }

    fn midi(&mut self, frame: u32, message: Midi1) {
        self.push(&MidiEvent::new(frame, 0, message.bytes()));
    }

    fn end_all_by_midi(&mut self, frame: u32) {
        for channel in 0..16 {
            for controller in [64, 123] {
                self.push(&MidiEvent::new(frame, 0, [0xb0 | channel, controller, 0]));
            }
        }
    }

    fn push<E: AsRef<UnknownEvent>>(&mut self, event: &E) {
        if self.buffer.len() < self.most {
            self.buffer.push(event);
        } else {
            self.fits = false;
        }
    }
}

/// Takes what a plug-in sends in one run.
pub struct Outgoing<'a> {
    /// The frames of the run; `None`: nobody hears it.
    out: Option<EventsOut<'a>>,
}

impl<'a> Outgoing<'a> {
    pub fn new(out: Option<EventsOut<'a>>) -> Outgoing<'a> {
        Outgoing { out }
    }
}

impl OutputEventBuffer for Outgoing<'_> {
    /// Values of parameters come from windows, and ends of voices mean the sender's own: they have no reader.
    fn try_push(&mut self, event: &UnknownEvent) -> Result<(), TryPushError> {
        let Some(out) = &mut self.out else { return Ok(()) };
        match event.as_core_event().and_then(|event| sent(&event)) {
            // The engine counts it.
            Some(kind) if out.send(event.header().time(), kind) == Pushed::Refused => {
                Err(TryPushError::new())
            }
            _ => Ok(()),
        }
    }
}

/// `None`: Hocket carries no such event.
fn sent(event: &CoreEventSpace<'_>) -> Option<EventKind> {
    match event {
        CoreEventSpace::NoteOn(note) => {
            // A note that begins has a channel and a key.
            let note = note_of(NoteAction::On, note.pckn(), note.velocity())?;
            (note.channel >= 0 && note.key >= 0).then_some(EventKind::Note(note))
        }
        CoreEventSpace::NoteOff(note) => {
            note_of(NoteAction::Off, note.pckn(), note.velocity()).map(EventKind::Note)
        }
        CoreEventSpace::NoteChoke(note) => {
            note_of(NoteAction::Choke, note.pckn(), 0.0).map(EventKind::Note)
        }
        CoreEventSpace::Midi(message) => short_message(message.data()).map(EventKind::Midi),
        CoreEventSpace::Midi2(packet) => Some(EventKind::Ump(Ump::new(packet.data()))),
        _ => None,
    }
}

/// `None`: no such channel or key.
fn note_of(action: NoteAction, place: Pckn, velocity: f64) -> Option<Note> {
    let channel = Some(place.raw_channel()).filter(|channel| (-1..16).contains(channel))?;
    let key = Some(place.raw_key()).filter(|key| (-1..128).contains(key))?;
    let velocity = if velocity.is_nan() { 0.0 } else { velocity.clamp(0.0, 1.0) };
    let id = place.raw_note_id().max(-1);
    Some(Note { action, id, channel: channel as i8, key: key as i8, velocity })
}

/// Where the song is.
pub fn transport(song: &SongPoint) -> TransportEvent {
    let mut flags = TransportFlags::HAS_TEMPO
        | TransportFlags::HAS_BEATS_TIMELINE
        | TransportFlags::HAS_SECONDS_TIMELINE
        | TransportFlags::HAS_TIME_SIGNATURE;
    flags.set(TransportFlags::IS_PLAYING, song.playing);
    let (no_beats, no_seconds) = (BeatTime::from_float(0.0), SecondsTime::from_float(0.0));
    TransportEvent {
        header: EventHeader::new_core(0, EventFlags::empty()),
        flags,
        song_pos_beats: BeatTime::from_float(song.beats),
        song_pos_seconds: SecondsTime::from_float(song.seconds),
        tempo: song.bpm,
        tempo_inc: 0.0,
        loop_start_beats: no_beats,
        loop_end_beats: no_beats,
        loop_start_seconds: no_seconds,
        loop_end_seconds: no_seconds,
        bar_start: BeatTime::from_float(song.bar_start),
        bar_number: song.bar.bar as i32,
        time_signature_numerator: song.signature.numerator,
        time_signature_denominator: song.signature.denominator,
    }
}

#[cfg(test)]
mod tests {
    use clack_host::events::event_types::Midi2Event;

    use super::*;

    #[test]
    fn what_a_plug_in_sends_goes_out_until_there_is_no_room() {
        let mut buffer = hocket_time::EventBuffer::new(8, 0);
        let mut outgoing = Outgoing::new(Some(EventsOut::new(&mut buffer, 64)));
        let at = |channel, key| Pckn::from_raw(0, channel, key, 7);
        let packet = [0x4090_3c00, 0xffff_0000, 0, 0];
        let mut push = |event: &UnknownEvent| outgoing.try_push(event).is_ok();
        assert!(push(NoteOnEvent::new(3, at(1, 60), 0.5).as_ref()));
        assert!(push(NoteOnEvent::new(4, at(-1, 60), 0.5).as_ref()), "nobody can play it");
        assert!(push(NoteOnEvent::new(4, at(1, 128), 0.5).as_ref()), "nor this");
        assert!(push(NoteOffEvent::new(5, at(-1, -1), f64::NAN).as_ref()));
        assert!(push(NoteChokeEvent::new(6, at(1, 61)).as_ref()));
        assert!(push(MidiEvent::new(7, 0, [0xc3, 5, 0]).as_ref()));
        assert!(push(Midi2Event::new(99, 0, packet).as_ref()));
        let note = |action, channel, key, velocity| {
            EventKind::Note(Note { action, id: 7, channel, key, velocity })
        };
        let expected: [(u32, EventKind); 5] = [
            (3, note(NoteAction::On, 1, 60, 0.5)),
            (5, note(NoteAction::Off, -1, -1, 0.0)),
            (6, note(NoteAction::Choke, 1, 61, 0.0)),
            (7, EventKind::Midi(Midi1::new(&[0xc3, 5]).unwrap())),
            (63, EventKind::Ump(Ump::new(packet))),
        ];
        let on = NoteOnEvent::new(9, at(1, 62), 0.5);
        assert_eq!((0..5).filter(|_| push(on.as_ref())).count(), 3);
        let sent: Vec<_> = buffer.all().iter().map(|event| (event.frame, event.kind)).collect();
        let others = |(frame, _): &&(u32, EventKind)| *frame != 9;
        assert!(sent.iter().filter(others).eq(&expected), "{sent:?}");
        assert_eq!(buffer.counts().refused, 2);
    }

    #[test]
    fn a_full_buffer_takes_note_ends() {
        for dialects in [NoteDialects::CLAP, NoteDialects::MIDI] {
            let mut incoming = Incoming::new(Some(dialects));
            let taken = (0..5_000).filter(|_| incoming.param(0, 1, 0.5)).count();
            assert_eq!((taken as u32, incoming.buffer.len()), (MOST_VALUES, MOST_VALUES));
            let on = EventKind::Note(Note::on(-1, 0, 60, 0.8));
            let taken = (0..5_000).filter(|_| incoming.event(0, &on)).count();
            assert_eq!(taken as u32 + MOST_VALUES, MOST_OTHERS);
            assert_eq!(incoming.buffer.len(), MOST_OTHERS);
            let off = |key| EventKind::Note(Note::off(-1, 0, key, 0.8));
            assert!((0..64).all(|key| incoming.event(0, &off(key))));
            assert_eq!(incoming.buffer.len(), MOST_OTHERS + 64);
            assert!(incoming.event(0, &EventKind::EndAllNotes));
            let ends = if dialects == NoteDialects::CLAP { 1 } else { 32 };
            assert_eq!(incoming.buffer.len(), MOST_OTHERS + 64 + ends);
            assert!(!incoming.event(0, &on), "it is lost");
            assert_eq!(incoming.buffer.len(), MOST_OTHERS + 64 + ends);
        }
    }
}
