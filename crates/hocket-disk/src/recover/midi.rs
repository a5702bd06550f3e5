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

/// What the events of a track come to.
#[derive(Default)]
struct Found {
    /// Messages within the length that the track states.
    stated: u64,
    messages: u64,
    /// Where the last whole event ends.
    end: usize,
    /// Where its End of Track events end.
    ends: Vec<usize>,
    sounding: SoundingNotes,
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
    if stated > bytes.len() {
        let why = "its track is cut short; programs play what is there".into();
        return Ok(Repair::nothing(Recovery::LeftAlone { why }));
    }
    let found = found(&bytes, begin, stated);
    if found.ends.last() == Some(&bytes.len()) && stated == bytes.len() && found.ends.len() == 1 {
        return Ok(Repair::nothing(Recovery::IntactEvents { events: found.messages }));
    }
    Ok(completed(begin, found))
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

/// All whole events from `begin` to the end of the file. The track states those up to `stated`.
fn found(bytes: &[u8], begin: usize, stated: usize) -> Found {
    let mut found = Found { end: begin, ..Found::default() };
    let mut events = EventIter::new(&bytes[begin..]);
    loop {
        // A take repeats each status byte. Without this, the zeros of a power cut would be notes.
        *events.running_status_mut() = None;
        let Some(Ok(event)) = events.next() else { break };
        let end = bytes.len() - events.unread().len();
        match event.kind {
            TrackEventKind::Meta(MetaMessage::EndOfTrack) => found.ends.push(end),
            kind => found.note(kind, end <= stated && found.ends.is_empty()),
        }
        found.end = end;
    }
    found
}

impl Found {
    fn note(&mut self, kind: TrackEventKind<'_>, is_stated: bool) {
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
        self.stated += u64::from(counts && is_stated);
    }
}

/// The rest of the steps of a sync, for all that is there as a whole: ends of notes and an End of Track behind it, the length,
/// and the bytes that skip earlier ends.
fn completed(begin: usize, mut found: Found) -> Repair {
    let mut tail = Vec::new();
    let ends_itself = found.ends.last() == Some(&found.end);
    if ends_itself {
        found.ends.pop();
    } else {
        let mut ends = Vec::new();
        found.sounding.end_all(|sounding| ends.extend(end_of(sounding)));
        for message in &ends {
            if let Ok(LiveEvent::Midi { channel, message }) = LiveEvent::parse(message.as_slice()) {
                let kind = TrackEventKind::Midi { channel, message };
                tail.extend(bytes_of(&[TrackEvent { delta: u28::from(0), kind }]));
            }
        }
        found.messages += ends.len() as u64;
        tail.extend(END);
    }
    let length = (found.end + tail.len()) as u64;
    let states = (length - begin as u64) as u32;
    let mut patches =
        vec![(found.end as u64, tail), (begin as u64 - 4, states.to_be_bytes().to_vec())];
    let skips = found.ends.iter().map(|end| (*end as u64 - KIND_BEFORE_END, vec![SKIPPED_KIND]));
    patches.extend(skips);
    let recovery = Recovery::RepairedEvents { stated: found.stated, events: found.messages };
    Repair { recovery, patches, length: Some(length) }
}
