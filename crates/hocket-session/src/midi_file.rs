//! A MIDI file as a session of its own, with a track for each channel, or as notes for one instrument.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use hocket_plan::Effect;
use hocket_plan::session::{
    ClipMessage, Destination, MidiFile, NoteClip, NoteSource, Session, Strip, Track,
};
use hocket_time::{Note, NoteAction, TimeBase};

use crate::foreign::ForeignText;
use crate::media::Folders;
use crate::midi_damage::Damage;
use crate::notes::{PLAYS, REPLACE, Refusal, TOO_LARGE, messages, read};
use crate::schema::{MAX_NOTES, MAX_S};
use crate::{Loaded, SessionError};

/// How long the last notes may sound after their end.
const TAIL_S: f64 = 3.0;
const CHANNELS: u8 = 16;
/// The channel of drums, from 0.
const DRUMS: u8 = 9;

/// What a MIDI file plays.
#[derive(Debug, Clone, PartialEq)]
pub struct MidiSong {
    /// All messages of all channels, in the file's own tempos.
    pub notes: NoteClip,
    /// To the last message, and as long as the last notes may sound.
    pub length_s: f64,
    /// What a user ought to know, the file's name included.
    pub warnings: Vec<String>,
}

/// Reads a standard MIDI file for one instrument, which gets the messages of all channels.
///
/// Thread: control; does file I/O.
///
/// # Errors
/// [`SessionError`]: the file cannot be read, is no MIDI file, or has no notes.
pub fn read_midi(path: &Path) -> Result<MidiSong, SessionError> {
    let (messages, damage) = messages_of(path)?;
    let length_s = length_s(&messages);
    let (notes, warnings) = (clip(path, None, messages.into()), warnings(path, damage));
    Ok(MidiSong { notes, length_s, warnings })
}

/// Reads a standard MIDI file. Each channel with notes becomes a track with `instrument` and all its messages, in the
/// file's own tempos. So the channels play beside each other on the workers.
///
/// Thread: control; does file I/O.
///
/// # Errors
/// [`SessionError`]: the file cannot be read, is no MIDI file, or has no notes.
pub fn load_midi(path: &Path, instrument: &Effect) -> Result<Loaded, SessionError> {
    let (all, damage) = messages_of(path)?;
    let tracks: Vec<Track> = (0..CHANNELS)
        .filter_map(|channel| {
            let of_channel = |found: &&ClipMessage| found.message.bytes()[0] & 0xf == channel;
            let messages: Arc<[ClipMessage]> = all.iter().filter(of_channel).copied().collect();
            messages.iter().any(begins_note).then(|| track(path, instrument, channel, messages))
        })
        .collect();
    let session = Session {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        length_s: Some(length_s(&all)),
        tracks,
        ..Session::default()
    };
    let refused = |damage| SessionError::of_file(path, not_whole(damage), REPLACE.to_owned());
    let damaged = damage.map(|damage| refused(damage).to_string()).into_iter().collect();
    let (text, warnings) = (ForeignText::new(path, String::new()), warnings(path, damage));
    let loaded = Loaded::foreign(session, warnings, text, Vec::new(), HashMap::new());
    Ok(Loaded { damaged, ..loaded })
}

fn length_s(messages: &[ClipMessage]) -> f64 {
    let end_s = messages.last().map_or(0.0, |message| message.at);
    (end_s + TAIL_S).min(MAX_S)
}

fn warnings(path: &Path, damage: Option<Damage>) -> Vec<String> {
    let warning = |damage| format!("{}: {}; {PLAYS}", path.display(), not_whole(damage));
    damage.map(warning).into_iter().collect()
}

fn not_whole(damage: Damage) -> String {
    format!("the MIDI file is cut short or damaged: {damage}")
}

/// The messages of a file that has notes, and where it is damaged.
fn messages_of(path: &Path) -> Result<(Vec<ClipMessage>, Option<Damage>), SessionError> {
    const REMEDY: &str = "name a standard MIDI file (.mid), or export it again";
    let wrong = |cause: String, remedy: String| SessionError::of_file(path, cause, remedy);
    let openable = Folders::default().openable(path, true);
    openable.map_err(|(cause, remedy)| wrong(format!("the MIDI file {cause}"), remedy))?;
    let bytes = read(path).map_err(|why| {
        let told = || (TOO_LARGE.to_owned(), REMEDY.to_owned());
        let (cause, remedy) = why.unwrap_or_else(told);
        wrong(format!("the MIDI file {cause}"), remedy)
    })?;
    let refused = |why| match why {
        Refusal::Cause(cause) => wrong(cause, REMEDY.to_owned()),
        Refusal::NoTrack(_) | Refusal::NoBeats => {
            wrong("this MIDI file has no times".to_owned(), REMEDY.to_owned())
        }
    };
    let (all, damage) = messages(&bytes, None, None, TimeBase::Seconds).map_err(refused)?;
    if all.len() > MAX_NOTES {
        let cause = format!("it has {} notes and messages", all.len());
        return Err(wrong(cause, format!("use a file with at most {MAX_NOTES}")));
    }
    if !all.iter().any(begins_note) {
        return Err(wrong("it has no notes".to_owned(), REMEDY.to_owned()));
    }
    Ok((all.to_vec(), damage))
}

fn begins_note(message: &ClipMessage) -> bool {
    Note::from_midi(message.message).is_some_and(|note| note.action == NoteAction::On)
}

fn track(path: &Path, instrument: &Effect, channel: u8, messages: Arc<[ClipMessage]>) -> Track {
    let name = match channel {
        DRUMS => "channel 10 (drums)".to_owned(),
        _ => format!("channel {}", channel + 1),
    };
    Track {
        strip: Strip { chain: vec![instrument.clone()], ..Strip::new(name) },
        output: Destination::Master,
        clips: Vec::new(),
        input: None,
        from: None,
        notes: vec![clip(path, Some(channel), messages)],
    }
}

fn clip(path: &Path, channel: Option<u8>, messages: Arc<[ClipMessage]>) -> NoteClip {
    NoteClip {
        base: TimeBase::Seconds,
        start: 0.0,
        length: None,
        // A drum that was struck before does not strike again.
        chase: channel != Some(DRUMS),
        source: NoteSource::File(MidiFile {
            path: path.to_owned(),
            track: None,
            channel,
            messages,
        }),
    }
}
