//! What goes into a plug-in: an audio file, or the notes of a MIDI file.

use std::sync::Arc;

use hocket_engine::session::NoteClip;
use hocket_engine::{
    Block, Edge, EventPorts, Node, NodeId, NodeKind, NotePlayer, Ports, Processor, StreamHandle,
};
use hocket_plugins::Description;
use hocket_session::MidiSong;
use hocket_streams::{DiskBuffer, DiskUse, RowsReader, Told, Wait, WholeFile, Wholes};

use crate::cli::RunArgs;
use crate::failure::Failure;
use crate::load::is_midi;
use crate::load::streams::{DISK_BUFFER_BYTES, WORDS, refused, refused_disk};
use crate::output::{detail, tell, warn};
use crate::render::{check_length, frames_of};

/// The sample rate of a MIDI file, which has none.
const USUAL_RATE_HZ: u32 = 48_000;

/// What goes in, at which rate, and for how long.
pub(super) struct Input {
    pub sound: Sound,
    pub rate_hz: u32,
    pub frames: u64,
    /// Says what the disk did not bring, if the file streams.
    pub stream: Option<Arc<dyn StreamHandle>>,
}

/// What goes in.
pub(super) enum Sound {
    File(RowsReader),
    Notes(NoteClip),
}

impl Input {
    /// Reads the file that the arguments name.
    ///
    /// # Errors
    /// It cannot be read, or is nothing that the plug-in takes: exit code 2.
    pub fn of(args: &RunArgs, plugin: &Description) -> Result<Input, Failure> {
        check_length(args.length)?;
        let input = if is_midi(&args.input) { notes(args, plugin)? } else { audio(args)? };
        let frames = args.length.map(|length| frames_of(length, input.rate_hz));
        Ok(Input { frames: frames.unwrap_or(input.frames), ..input })
    }
}

fn audio(args: &RunArgs) -> Result<Input, Failure> {
    if args.rate.is_some() {
        return Err(Failure::bad_input(format!(
            "--rate: {} is no MIDI file (.mid), and an audio file has a rate of its own; leave --rate out",
            args.input.display()
        )));
    }
    let disk = DiskUse {
        buffer_bytes: DISK_BUFFER_BYTES,
        wait: Wait::ForTheDisk,
        engines: 1,
        strict: false,
    };
    let whole = Wholes { rate_hz: None, until: u64::MAX, disk, words: &WORDS };
    let file = WholeFile::open(&args.input, args.input.display().to_string(), 2, &whole);
    let mut told = Told::default();
    let audio = file.and_then(|file| file.load(&mut told)).map_err(|why| refused(why.into()))?;
    told.details.iter().for_each(detail);
    told.warnings.iter().for_each(warn);
    let (rate_hz, frames) = (audio.rate_hz, audio.frames);
    let channels: Vec<usize> = audio.stream_channels().into_iter().collect();
    let buffer = DiskBuffer::of_streams(&disk, &channels, rate_hz);
    let buffer = buffer.map_err(|error| refused_disk(&error))?;
    let (file, stream) = audio.open(buffer.as_ref()).map_err(Failure::not_possible)?;
    Ok(Input { sound: Sound::File(file), rate_hz, frames, stream })
}

fn notes(args: &RunArgs, plugin: &Description) -> Result<Input, Failure> {
    if !plugin.events {
        return Err(Failure::bad_input(format!(
            "{}: it is a MIDI file, and the plug-in '{}' ({}) takes no notes; name an audio file, or choose an instrument",
            args.input.display(),
            plugin.kind,
            plugin.title
        )));
    }
    let rate_hz = args.rate.unwrap_or(USUAL_RATE_HZ);
    crate::bench::check_block(args.frames, rate_hz)?;
    let song = hocket_session::read_midi(&args.input).map_err(Failure::bad_input)?;
    let MidiSong { notes, length_s, warnings } = song;
    warnings.iter().for_each(|warning| tell(format_args!("warning: {warning}")));
    let (sound, frames) = (Sound::Notes(notes), frames_of(length_s, rate_hz));
    Ok(Input { sound, rate_hz, frames, stream: None })
}

impl Sound {
    /// The node that plays it.
    pub fn node(&self) -> Node {
        match self {
            Sound::File(_) => Node::new("file", NodeKind::Custom(0)),
            Sound::Notes(_) => {
                let ports = Ports::of(1).with_events(EventPorts::OUTPUT);
                Node { ports, ..Node::new("notes", NodeKind::Custom(0)) }
            }
        }
    }

    /// How it comes into the plug-in.
    pub fn edge(&self, from: NodeId) -> Edge {
        match self {
            Sound::File(_) => Edge::new(from, 1.0),
            Sound::Notes(_) => Edge::events(from),
        }
    }

    /// Plays it from its start, once.
    pub fn player(self) -> Box<dyn Processor> {
        match self {
            Sound::File(file) => Box::new(Player { file, at: 0 }),
            Sound::Notes(notes) => Box::new(NotePlayer::new(&[notes])),
        }
    }
}

/// Plays a file from its start, once, and silence behind it.
struct Player {
    file: RowsReader,
    at: u64,
}

impl Processor for Player {
    fn process(&mut self, block: &mut Block<'_>) {
        self.file.play(self.at, block);
        self.at += block.frames() as u64;
    }

    fn reset(&mut self) {
        self.at = 0;
        self.file.locate(0);
    }
}
