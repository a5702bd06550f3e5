//! MIDI files of takes: events behind the length that the track states.

use std::fs::File;
use std::path::Path;

use hocket_time::{EventKind, Midi1, SoundingNotes};
use midly::live::LiveEvent;
use midly::num::u28;
use midly::{EventIter, MetaMessage, TrackEvent, TrackEventKind};

use super::{RecoverError, Recovery, Repair, read_at};
use crate::record::{END, KIND_BEFORE_END, MARK, SKIPPED_KIND, bytes_of, end_of};

/// A take is some bytes for each note; nobody plays so many.
const MOST_BYTES: u64 = 256 << 20;
const CHUNK: usize = 8;
/// What the header of every take says behind its name: its length, format 1, two tracks.
const HEADER: [u8; 8] = [0, 0, 0, 6, 0, 1, 0, 2];
/// Bytes of an event's time that another one follows.
const MOST_TIME: usize = 3;

/// What the events of a track come to.
#[derive(Default)]
struct Found {
    /// Messages that readers find.
    stated: u64,
    messages: u64,
    /// Where the last whole event ends.
    end: usize,
    /// Where its End of Track events end.
    ends: Vec<usize>,
    sounding: SoundingNotes,
}

/// Where the bytes of an event get their status from.
#[derive(Clone, Copy, PartialEq)]
enum Status {
    /// Each has its own. A take repeats them; without this, the zeros of a power cut would be notes.
    Own,
    /// The event before may have it. Other programs save this way.
    Running,
}

/// Finds what is to be written, see `record/midi_file.rs`.
pub(super) fn repair(path: &Path, file: &File, length: u64) -> Result<Repair, RecoverError> {
    let cannot =
        |cause: &str| RecoverError::NotARecording { path: path.into(), cause: cause.into() };
    if length > MOST_BYTES {
        return Err(cannot("it is larger than 256 MiB"));
    }
    let mut bytes = vec![0; length as usize];
    let io = |source| RecoverError::Io { path: path.into(), source };
    let read = read_at(file, 0, &mut bytes).map_err(io)?;
    bytes.truncate(read);
    let Some((begin, stated)) = take_in(&bytes) else {
        return Err(cannot("it is a MIDI file, but no take of Hocket"));
    };
    if bytes[4..].starts_with(&HEADER) {
        return Ok(repair_track(bytes, begin, stated));
    }
    Ok(left_alone("another program has saved it: a take has format 1 and two tracks"))
}

fn left_alone(why: impl Into<String>) -> Repair {
    Repair::nothing(Recovery::LeftAlone { why: why.into() })
}

/// Where the track of events begins and where it says that it ends. `None`: it is no take.
fn take_in(bytes: &[u8]) -> Option<(usize, usize)> {
    let chunk = |at: usize, name: &[u8]| {
        let head = bytes.get(at..at + CHUNK)?;
        let length = u32::from_be_bytes(head[4..].try_into().ok()?);
        let begin = at + CHUNK;
        head.starts_with(name).then(|| (begin, begin.saturating_add(length as usize)))
    };
    let (_, song_at) = chunk(0, b"MThd")?;
    let (song, events_at) = chunk(song_at, b"MTrk")?;
    let marked = EventIter::new(bytes.get(song..events_at)?).flatten().next()?;
    let is_take = marked.kind == TrackEventKind::Meta(MetaMessage::Text(MARK.as_bytes()));
    is_take.then(|| chunk(events_at, b"MTrk")).flatten()
}

/// What the recorder stated is there as a whole, and stays as it is but for its ends. Whole events may follow, and at last bytes
/// that are none.
fn repair_track(mut bytes: Vec<u8>, begin: usize, stated: usize) -> Repair {
    let length = bytes.len();
    if stated > length {
        return left_alone("its track is cut short; programs play what is there");
    }
    // Readers take a message that is cut short for a whole one. Such a message gets this byte, too.
    bytes.push(0);
    let mut found = Found { end: begin, ..Found::default() };
    found.read(&bytes, stated, Status::Own);
    if found.end != stated || found.ends.last() != Some(&stated) {
        return Repair::nothing(of_another_program(&bytes, begin, stated));
    }
    found.read(&bytes, length, Status::Own);
    if !is_torn(&bytes[found.end..length]) {
        let why = format!("what follows at byte {} is no event of a take", found.end);
        return left_alone(why);
    }
    let note_ends = found.note_ends();
    if note_ends.is_empty() && found.ends == [length] {
        return Repair::nothing(Recovery::IntactEvents { events: found.messages });
    }
    completed(begin, found, &note_ends)
}

/// Nothing in such a file is changed.
fn of_another_program(bytes: &[u8], begin: usize, stated: usize) -> Recovery {
    let mut found = Found { end: begin, ..Found::default() };
    found.read(bytes, stated, Status::Running);
    let is_whole = found.end == stated && found.ends == [stated];
    let why = match is_whole {
        false => format!("byte {} of the file begins no event that can be read", found.end),
        true if stated + 1 < bytes.len() => {
            format!(
                "another program has saved it, and something follows its track at byte {stated}"
            )
        }
        true if !found.note_ends().is_empty() => {
            "another program has saved it, with notes or pedals that do not end".into()
        }
        true => return Recovery::IntactEvents { events: found.messages },
    };
    Recovery::LeftAlone { why }
}

/// Whether the end of a program or a power cut leaves such bytes behind whole events: a part of an event, or zeros.
fn is_torn(rest: &[u8]) -> bool {
    let more = rest.iter().take(MOST_TIME).take_while(|byte| **byte >= 0x80).count();
    let is_time = rest.get(more).is_none_or(|byte| *byte < 0x80);
    // Names of chunks have letters here.
    is_time && rest.get(more + 1).is_none_or(|status| *status == 0 || *status >= 0x80)
}

impl Found {
    /// Goes on with whole events that end before or at `to`. Behind that, `bytes` have at least one byte more.
    fn read(&mut self, bytes: &[u8], to: usize, status: Status) {
        let mut events = EventIter::new(&bytes[self.end..]);
        while self.end < to {
            if status == Status::Own {
                *events.running_status_mut() = None;
            }
            let Some(Ok(event)) = events.next() else { return };
            let end = bytes.len() - events.unread().len();
            if end > to {
                return;
            }
            match event.kind {
                TrackEventKind::Meta(MetaMessage::EndOfTrack) => {
                    // With bytes of its own it is none that the recorder writes, and cannot be skipped.
                    if !bytes[..end].ends_with(&END[1..]) {
                        return;
                    }
                    self.ends.push(end);
                }
                kind => self.note(kind),
            }
            self.end = end;
        }
    }

    fn note(&mut self, kind: TrackEventKind<'_>) {
        let mut counts = matches!(kind, TrackEventKind::SysEx(_));
        if let TrackEventKind::Midi { channel, message } = kind {
            counts = true;
            let mut own = Vec::new();
            // Into memory it cannot fail.
            let _ = LiveEvent::Midi { channel, message }.write(&mut own);
            if let Ok(message) = Midi1::new(&own) {
                self.sounding.watch(&EventKind::Midi(message));
            }
        }
        self.messages += u64::from(counts);
        self.stated += u64::from(counts && self.ends.is_empty());
    }

    /// The messages that end what sounds at the end.
    fn note_ends(&self) -> Vec<Midi1> {
        let mut ends = Vec::new();
        self.sounding.clone().end_all(|sounding| ends.extend(end_of(sounding)));
        ends
    }
}

/// The rest of the steps of a sync, for all that is there as a whole: ends of notes and an End of Track behind it, the length,
/// and the bytes that skip earlier ends.
fn completed(begin: usize, mut found: Found, note_ends: &[Midi1]) -> Repair {
    let mut tail = Vec::new();
    for message in note_ends {
        if let Ok(LiveEvent::Midi { channel, message }) = LiveEvent::parse(message.as_slice()) {
            let kind = TrackEventKind::Midi { channel, message };
            tail.extend(bytes_of(&[TrackEvent { delta: u28::from(0), kind }]));
        }
    }
    match note_ends.is_empty() && found.ends.last() == Some(&found.end) {
        // It ends itself.
        true => drop(found.ends.pop()),
        false => tail.extend(END),
    }
    found.messages += note_ends.len() as u64;
    let length = (found.end + tail.len()) as u64;
    let states = (length - begin as u64) as u32;
    let mut patches =
        vec![(found.end as u64, tail), (begin as u64 - 4, states.to_be_bytes().to_vec())];
    let skips = found.ends.iter().map(|end| (*end as u64 - KIND_BEFORE_END, vec![SKIPPED_KIND]));
    patches.extend(skips);
    let recovery = Recovery::RepairedEvents { stated: found.stated, events: found.messages };
    Repair { recovery, patches, length: Some(length) }
}
