//! What goes into a plug-in: an audio file, or the notes of a MIDI file.

use hocket_engine::session::NoteClip;
use hocket_engine::{
    Block, Edge, EventPorts, Node, NodeId, NodeKind, NotePlayer, Ports, Processor,
};
use hocket_media::Audio;
use hocket_plugins::Description;
use hocket_session::MidiSong;

use crate::cli::RunArgs;
use crate::failure::Failure;
use crate::load::is_midi;
use crate::output::tell;
use crate::render::{check_length, frames_of};

/// The sample rate of a MIDI file, which has none.
const USUAL_RATE_HZ: u32 = 48_000;

/// What goes in, at which rate, and for how long.
pub(super) struct Input {
    pub sound: Sound,
    pub rate_hz: u32,
    pub frames: u64,
}

/// What goes in.
pub(super) enum Sound {
    Audio(Audio),
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
    let audio = hocket_media::decode(&args.input).map_err(Failure::bad_input)?;
    let (rate_hz, frames) = (audio.sample_rate_hz, audio.frames() as u64);
    Ok(Input { sound: Sound::Audio(audio), rate_hz, frames })
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
    Ok(Input { sound: Sound::Notes(notes), rate_hz, frames: frames_of(length_s, rate_hz) })
}

impl Sound {
    /// The node that plays it.
    pub fn node(&self) -> Node {
        match self {
            Sound::Audio(_) => Node::new("file", NodeKind::Custom(0)),
            Sound::Notes(_) => {
                let ports = Ports::of(1).with_events(EventPorts::OUTPUT);
                Node { ports, ..Node::new("notes", NodeKind::Custom(0)) }
            }
        }
    }

    /// How it comes into the plug-in.
    pub fn edge(&self, from: NodeId) -> Edge {
        match self {
            Sound::Audio(_) => Edge::new(from, 1.0),
            Sound::Notes(_) => Edge::events(from),
        }
    }

    /// Plays it from its start, once.
    pub fn player(self) -> Box<dyn Processor> {
        match self {
            Sound::Audio(audio) => Box::new(Player { audio, at: 0 }),
            Sound::Notes(notes) => Box::new(NotePlayer::new(&[notes])),
        }
    }
}

/// Plays a file from its start, once, and silence behind it.
struct Player {
    audio: Audio,
    at: usize,
}

impl Processor for Player {
    fn process(&mut self, block: &mut Block<'_>) {
        let [left, right] = [0, self.audio.channels.len().min(2) - 1].map(|channel| {
            let row = &self.audio.channels[channel];
            &row[self.at.min(row.len())..]
        });
        let main = &mut block.main;
        let end = left.len().min(main.left.len());
        main.left[..end].copy_from_slice(&left[..end]);
        main.right[..end].copy_from_slice(&right[..end]);
        main.left[end..].fill(0.0);
        main.right[end..].fill(0.0);
        self.at += end;
    }

    fn reset(&mut self) {
        self.at = 0;
    }
}
