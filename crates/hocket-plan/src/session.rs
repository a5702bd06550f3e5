//! The session model: tracks with clips and notes, channel strips, groups, sends and returns, the master; tempos, automation,
//! inputs and outputs.
//!
//! Times are in seconds or beats and levels in decibels here, as in the file; the engine turns them into
//! frames and linear gains once it knows its sample rate.

mod automation;
mod notes;
mod song;

use std::path::{Path, PathBuf};

pub use automation::{Automation, EffectAt, LaneSpec, LaneTarget, OutputAt, SendAt};
pub use notes::{ClipMessage, ClipNote, MidiFile, NoteClip, NoteSource};
pub use song::{LoopPoints, SongTime};

use crate::effect::Effect;
pub use crate::places::{GroupId, InputId, MediaId, ReturnId, StripId, Tap};

/// Everything that plays together.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// For people and records.
    pub name: String,
    /// The sample rate of the session's making; the engine may run at another one.
    pub sample_rate_hz: u32,
    /// How much of the session an offline render writes; `None`: up to the end of the last clip.
    pub length_s: Option<f64>,
    /// How late sends that feed back arrive; `None`: one largest block of the engine, however long that is.
    pub feedback_s: Option<f64>,
    /// The audio files, each once, even if many clips play it.
    pub media: Vec<Media>,
    /// The tracks, in file order.
    pub tracks: Vec<Track>,
    /// The groups (submixes), in file order.
    pub groups: Vec<Group>,
    /// The send effects, in file order.
    pub returns: Vec<Return>,
    /// The last strip before the device.
    pub master: Strip,
    /// A large file; the disturber `preview` computes its waveform while the session plays.
    pub preview: Option<MediaId>,
    /// Tempos, time signatures and the loop.
    pub time: SongTime,
    /// What the host brings into the engine; tracks play it.
    pub inputs: Vec<Input>,
    /// What the host reads beside the master, which is output 0: the first of these is output 1.
    pub outputs: Vec<Output>,
    /// Parameters that move while the song plays; at most one lane for each target.
    pub automation: Vec<Automation>,
    /// What is recorded while it plays or is rendered.
    pub takes: Vec<TakeSpec>,
}

impl Default for Session {
    /// Nothing, at 48 kHz: a start for literals.
    fn default() -> Session {
        Session {
            name: String::new(),
            sample_rate_hz: 48_000,
            length_s: None,
            feedback_s: None,
            media: Vec::new(),
            tracks: Vec::new(),
            groups: Vec::new(),
            returns: Vec::new(),
            master: Strip::new("master"),
            preview: None,
            time: SongTime::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            automation: Vec::new(),
            takes: Vec::new(),
        }
    }
}

/// Sound that the host brings into the engine, such as a microphone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Unique among inputs.
    pub name: String,
    /// 1, which both sides of a track get; 2; or up to [`Ports::MOST`](crate::graph::Ports::MOST), which takes record.
    pub channels: u16,
    /// Whether the host hands over events, too: notes, MIDI and changes of parameters. Effects with an event input
    /// receive them on the tracks that play the input.
    pub events: bool,
    /// How late its sound is, in frames: what comes in at a frame belongs to the song so many frames before. All else
    /// waits for it, as for an effect with this latency.
    pub latency_frames: u32,
}

/// Sound that the host reads beside the master's, such as a cue mix or a strip to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Unique among outputs.
    pub name: String,
    /// The strip that it takes from.
    pub from: StripId,
    /// Where on the strip.
    pub tap: Tap,
}

/// A take that a session asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeSpec {
    /// What is recorded.
    pub from: TakeFrom,
    /// The new audio or MIDI file, already resolved against the session file's folder.
    pub file: PathBuf,
    /// Whether it is recorded at all.
    pub armed: bool,
    /// Where its frames are put.
    pub align: Alignment,
    /// So many frames more are left out at its start, at the engine's rate; negative: fewer. For what converters add and no
    /// device states.
    pub offset_frames: i32,
}

/// Where the frames of a take are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Where they belong in the song: the first frame is the one that sounds with the song's place at the take's start. Those
    /// that arrive before it are left out.
    Song,
    /// As they arrive.
    Arrival,
}

impl TakeSpec {
    /// One that is armed, and aligned as is usual for what it records.
    pub fn new(from: TakeFrom, file: PathBuf) -> TakeSpec {
        TakeSpec { from, file, armed: true, align: from.usual_alignment(), offset_frames: 0 }
    }

    /// Whether a file of this name holds notes and messages, and no audio: its ending is `.mid` or `.midi`.
    pub fn holds_events(file: &Path) -> bool {
        let ending = file.extension().and_then(|ending| ending.to_str());
        ending
            .is_some_and(|ending| ["mid", "midi"].iter().any(|it| ending.eq_ignore_ascii_case(it)))
    }
}

/// What a take records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeFrom {
    /// What a strip puts out, before or after its fader.
    Strip(StripId, Tap),
    /// What the host brings into an input, all of its channels.
    Input(InputId),
    /// Notes and messages, as a MIDI file.
    Events(EventsOf),
}

impl TakeFrom {
    /// The strip that it records. `None`: an input.
    pub fn strip(self) -> Option<StripId> {
        match self {
            TakeFrom::Strip(strip, _) => Some(strip),
            TakeFrom::Events(EventsOf::Track(index)) => Some(StripId::Track(index)),
            TakeFrom::Input(_) | TakeFrom::Events(EventsOf::Input(_)) => None,
        }
    }

    /// How takes of it are aligned unless somebody says otherwise. A strip is recorded with the frames that a render has.
    pub fn usual_alignment(self) -> Alignment {
        match self {
            TakeFrom::Strip(..) => Alignment::Arrival,
            TakeFrom::Input(_) | TakeFrom::Events(_) => Alignment::Song,
        }
    }
}

/// Whose notes and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventsOf {
    /// What the track with this index plays for instruments: its notes, then the events of its input.
    Track(usize),
    /// What the host hands over for an input that takes events.
    Input(InputId),
}

/// An audio file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its path, already resolved against the session file's folder.
    pub path: PathBuf,
    /// Whether loading converts a file of another sample rate, instead of refusing it.
    pub resample: bool,
}

/// A strip that plays clips.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Chain, fader and sends.
    pub strip: Strip,
    /// Where the strip's output goes.
    pub output: Destination,
    /// What it plays; overlapping clips add up, in this order.
    pub clips: Vec<Clip>,
    /// The engine input that it plays besides; it adds up with the clips.
    pub input: Option<InputId>,
    /// The extra output of an effect that it plays besides; it adds up with the clips and the input.
    pub from: Option<OutputAt>,
    /// What it plays for effects with an event input: its own, and those that name the track ([`Effect::events`]).
    pub notes: Vec<NoteClip>,
}

/// A piece of an audio file on the time line.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    /// The file.
    pub media: MediaId,
    /// When it starts on the session's time line.
    pub start_s: f64,
    /// Where in the file it starts.
    pub offset_s: f64,
    /// How long it plays; `None`: to the end of the file, or for ever if it loops.
    pub length_s: Option<f64>,
    /// Starts again at `offset_s` when the file ends.
    pub looped: bool,
    /// Level.
    pub gain_db: f32,
    /// Length of the fade at the start.
    pub fade_in_s: f64,
    /// Length of the fade at the end of `length_s`; ignored if the clip has no end.
    pub fade_out_s: f64,
    /// How both fades go.
    pub fade_curve: ClipFade,
}

/// How the fades of a clip go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClipFade {
    /// The level goes in a straight line. Two clips of the same sound that cross so are as loud as one.
    #[default]
    Linear,
    /// The power goes along a quarter of a sine: -3 dB in the middle. Clips of different sounds that cross so stay as loud.
    EqualPower,
    /// The level goes along half a cosine, which has no corners. Two clips of the same sound that cross so are as loud as one.
    SCurve,
    /// The level in decibels goes in a straight line, from -100 dB. So it falls evenly for the ear, and clips that cross leave a gap.
    Logarithmic,
}

impl ClipFade {
    /// All of them.
    pub const ALL: [ClipFade; 4] =
        [ClipFade::Linear, ClipFade::EqualPower, ClipFade::SCurve, ClipFade::Logarithmic];

    /// The name in session files.
    pub const fn name(self) -> &'static str {
        match self {
            ClipFade::Linear => "linear",
            ClipFade::EqualPower => "equal-power",
            ClipFade::SCurve => "s-curve",
            ClipFade::Logarithmic => "logarithmic",
        }
    }
}

/// A strip that sums the strips routed to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Chain, fader and sends.
    pub strip: Strip,
    /// Where the strip's output goes: the master or another group.
    pub output: Destination,
}

/// A send effect: a strip that sums sends.
#[derive(Debug, Clone, PartialEq)]
pub struct Return {
    /// Chain, fader and sends (to other returns).
    pub strip: Strip,
    /// Where the strip's output goes.
    pub output: Destination,
}

/// What every channel has.
#[derive(Debug, Clone, PartialEq)]
pub struct Strip {
    /// Unique in the session.
    pub name: String,
    /// Effects before the fader, first to last.
    pub chain: Vec<Effect>,
    /// Fader; `f32::NEG_INFINITY` is silence.
    pub gain_db: f32,
    /// -1 left, 0 centre, +1 right; the law is the engine's (constant power, 0 dB at the centre).
    pub pan: f32,
    /// Silent, but still processed.
    pub mute: bool,
    /// Heard alone, with everything else that is soloed.
    pub solo: bool,
    /// Taps that feed returns.
    pub sends: Vec<Send>,
}

impl Strip {
    /// A strip at 0 dB in the centre, without effects and sends.
    pub fn new(name: impl Into<String>) -> Strip {
        Strip {
            name: name.into(),
            chain: Vec::new(),
            gain_db: 0.0,
            pan: 0.0,
            mute: false,
            solo: false,
            sends: Vec::new(),
        }
    }
}

/// A tap from a strip to a return.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    /// The return it feeds.
    pub to: ReturnId,
    /// Level.
    pub gain_db: f32,
    /// Where on the strip the tap sits.
    pub tap: Tap,
    /// Arrives one block of the engine's largest length later, and so may close a cycle.
    pub feedback: bool,
}

/// Where a strip's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Destination {
    /// The master strip.
    Master,
    /// A group.
    Group(GroupId),
}

impl Session {
    /// [`Session::feedback_s`] in frames of an engine; 0 where the session does not say.
    pub fn feedback_frames(&self, rate_hz: u32) -> u32 {
        self.feedback_s.map_or(0, |late| (late * f64::from(rate_hz)).round() as u32)
    }

    /// All strips in the order tracks, groups, returns, master.
    pub fn strip_ids(&self) -> Vec<StripId> {
        let tracks = (0..self.tracks.len()).map(StripId::Track);
        let groups = (0..self.groups.len()).map(StripId::Group);
        let returns = (0..self.returns.len()).map(StripId::Return);
        tracks.chain(groups).chain(returns).chain([StripId::Master]).collect()
    }

    /// The strip with this id.
    pub fn strip(&self, id: StripId) -> &Strip {
        match id {
            StripId::Track(i) => &self.tracks[i].strip,
            StripId::Group(i) => &self.groups[i].strip,
            StripId::Return(i) => &self.returns[i].strip,
            StripId::Master => &self.master,
        }
    }

    /// Where the strip's output goes; `None` for the master, which goes to the device.
    pub fn output(&self, id: StripId) -> Option<Destination> {
        match id {
            StripId::Track(i) => Some(self.tracks[i].output),
            StripId::Group(i) => Some(self.groups[i].output),
            StripId::Return(i) => Some(self.returns[i].output),
            StripId::Master => None,
        }
    }
}
