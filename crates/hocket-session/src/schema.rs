//! Which tables and keys a session file has: the one place that knows their ranges and defaults.
//!
//! The reader checks files against it, `docs/session-format.md` shows it, and editors get it as JSON Schema.

use hocket_plan::graph::{Graph, Ports};
use hocket_time::MAX_POINT_BEATS;

/// A table of the file and its keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Table {
    /// As it stands in the file: `[session]`, `[[track.clip]]`.
    pub header: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// In the order in which they are documented.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// As it stands in the file, unit included.
    pub name: &'static str,
    /// What its value may be.
    pub value: Value,
    /// The value where the key is missing, for people; `required` where it must not.
    pub default: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Text in quotes.
    Text,
    /// One of a few words in quotes.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A number.
    Number {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
        /// Whether `min` itself is too small.
        above_min: bool,
    },
    /// A number of decibels, or `-inf` for silence.
    Level {
        /// The smallest value beside `-inf`.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// A number without a fraction.
    Whole {
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
    },
    /// A whole number, or `"seats"`, or `"seats x N"`.
    Count {
        /// The largest value, `seats` resolved.
        max: i64,
    },
    /// A whole number from 1, or text in quotes: which part of the strip is meant.
    PlaceOrName,
    /// A time signature in quotes, such as `"6/8"`.
    Signature,
    /// The points of an automation lane.
    Points,
    /// The notes of a clip.
    Notes,
    /// A list of tables, `[[...]]`.
    Tables,
    /// One table, `[...]`.
    Table,
}

/// The newest version of the format.
pub const FORMAT: i64 = 2;

/// The largest time in a session: eleven and a half days.
pub(crate) const MAX_S: f64 = 1_000_000.0;
/// The most automation points of a session, copies counted.
pub(crate) const MAX_POINTS: usize = 1_000_000;
/// The most notes and MIDI messages of a session, copies counted.
pub(crate) const MAX_NOTES: usize = 1_000_000;
/// The largest number of copies of one track.
pub(crate) const MAX_COUNT: i64 = 1024;

pub(crate) const REQUIRED: &str = "required";

const fn key(
    name: &'static str,
    value: Value,
    default: &'static str,
    summary: &'static str,
) -> Key {
    Key { name, value, default, summary }
}

const fn time(name: &'static str, default: &'static str, summary: &'static str) -> Key {
    key(name, Value::Number { min: 0.0, max: MAX_S, above_min: false }, default, summary)
}

const fn length(name: &'static str, default: &'static str, summary: &'static str) -> Key {
    key(name, Value::Number { min: 0.0, max: MAX_S, above_min: true }, default, summary)
}

const fn level(summary: &'static str) -> Key {
    key("gain_db", Value::Level { min: -200.0, max: 24.0 }, "0", summary)
}

pub(crate) const SESSION: Key =
    key("session", Value::Table, "none", "About the session as a whole.");
pub(crate) const TRACK: Key = key("track", Value::Tables, REQUIRED, "The tracks, at least one.");
pub(crate) const GROUP: Key = key("group", Value::Tables, "none", "The groups.");
pub(crate) const RETURN: Key = key("return", Value::Tables, "none", "The send effects.");
pub(crate) const MASTER: Key = key("master", Value::Table, "none", "The last strip.");
pub(crate) const PREVIEW: Key =
    key("preview", Value::Table, "none", "A file for the preview disturber.");

pub(crate) const TEMPO: Key =
    key("tempo", Value::Tables, "120 beats per minute", "The tempos, sorted by place.");
pub(crate) const METER: Key =
    key("meter", Value::Tables, "4/4", "The time signatures, sorted by place.");
pub(crate) const TRANSPORT: Key = key("transport", Value::Table, "none", "What is repeated.");
pub(crate) const INPUTS: Key =
    key("input", Value::Tables, "none", "Sound that the host brings into the engine.");
pub(crate) const OUTPUTS: Key =
    key("output", Value::Tables, "none", "Sound that the host reads beside the master's.");

pub(crate) const TAKES: Key =
    key("take", Value::Tables, "none", "What `play` and `render` record.");

pub(crate) const NAME: Key =
    key("name", Value::Text, REQUIRED, "Unique among tracks, groups and returns; not `master`.");
pub(crate) const SESSION_NAME: Key =
    key("name", Value::Text, "the file's name", "For people and records.");
pub(crate) const VERSION: Key = key(
    "format",
    Value::Whole { min: 1, max: FORMAT },
    "1",
    "The version of the format; `hocket session convert` writes the newest one.",
);
pub(crate) const SAMPLE_RATE: Key = key(
    "sample_rate_hz",
    Value::Whole { min: 8_000, max: 384_000 },
    "48000",
    "The rate of the session's making; it runs at this rate unless another one is requested.",
);
pub(crate) const SESSION_LENGTH: Key = length(
    "length_s",
    "to the end of the last clip",
    "How much of the session an offline render writes.",
);
pub(crate) const FEEDBACK_LENGTH: Key = key(
    "feedback_s",
    Value::Number { min: 0.0, max: 10.0, above_min: true },
    "one block of the engine's largest length",
    "How late sends with `feedback` arrive: alike in `play` and `render`, as long as no block is longer.",
);
pub(crate) const RESAMPLE: Key = key(
    "resample",
    Value::Flag,
    "true",
    "`true`: audio files of another sample rate are converted on loading; `false`: they are refused.",
);
pub(crate) const COUNT: Key = key(
    "count",
    Value::Count { max: MAX_COUNT },
    "one track of this name",
    "Makes this many copies, named `NAME 1`, `NAME 2` and so on.",
);
pub(crate) const OUTPUT: Key = key(
    "output",
    Value::Text,
    "\"master\"",
    "Where the strip goes: the name of a group, or `master`.",
);
pub(crate) const GAIN: Key = level("Fader.");
pub(crate) const PAN: Key = key(
    "pan",
    Value::Number { min: -1.0, max: 1.0, above_min: false },
    "0",
    "-1 left, 0 centre, 1 right.",
);
pub(crate) const MUTE: Key = key("mute", Value::Flag, "false", "Silent, but still processed.");
pub(crate) const SOLO: Key =
    key("solo", Value::Flag, "false", "Heard alone, with everything else that is soloed.");
pub(crate) const CLIPS: Key = key("clip", Value::Tables, "none", "What the track plays.");
pub(crate) const EFFECTS: Key =
    key("effect", Value::Tables, "none", "The chain before the fader, first to last.");
pub(crate) const SENDS: Key = key("send", Value::Tables, "none", "Taps that feed returns.");
pub(crate) const AUTOMATION: Key =
    key("automation", Value::Tables, "none", "Parameters that move while the song plays.");
pub(crate) const TRACK_INPUT: Key =
    key("input", Value::Text, "none", "The name of an input that the track plays with its clips.");

pub(crate) const TRACK_FROM: Key = key(
    "from",
    Value::Text,
    "none",
    "The name of a strip: the track plays an extra output of a plug-in there, with its clips.",
);
pub(crate) const FROM_OUTPUT: Key = key(
    "from_output",
    Value::Text,
    "none",
    "The name of that output, as `hocket plugin info` lists it.",
);

pub(crate) const NOTE_CLIPS: Key =
    key("notes", Value::Tables, "none", "What effects with an event input receive.");

pub(crate) const NOTE_FILE: Key = key(
    "file",
    Value::Text,
    "`notes`",
    "A standard MIDI file, relative to the folder of the session file.",
);
pub(crate) const NOTES: Key = key(
    "notes",
    Value::Notes,
    "`file`",
    "Each `[time, length, key]`, `[time, length, key, velocity]` or `[time, length, key, velocity, channel]`: the key \
     from 0 to 127, 60 is middle C; the velocity from 0 to 1, or 0.8; the MIDI channel from 1 to 16, or 1.",
);
pub(crate) const MIDI_TRACK: Key = key(
    "midi_track",
    Value::Whole { min: 1, max: 65_535 },
    "all of them",
    "Only this track of the MIDI file; the first one is 1.",
);
pub(crate) const MIDI_CHANNEL: Key = key(
    "midi_channel",
    Value::Whole { min: 1, max: 16 },
    "all of them",
    "Only this channel of the MIDI file.",
);
pub(crate) const NOTE_TIME: Key = key(
    "time",
    Value::Choice(&["seconds", "beats"]),
    "\"beats\"",
    "The unit of all times here; a beat is a quarter note, and follows the session's tempo.",
);
pub(crate) const NOTE_START: Key =
    time("start", "0", "When it starts in the song, in the unit of `time`.");
pub(crate) const NOTE_LENGTH: Key = length(
    "length",
    "to the end of its last note",
    "How long it plays: notes that sound then end, and later ones are left out.",
);
pub(crate) const NOTE_CHASE: Key = key(
    "chase",
    Value::Flag,
    "true",
    "Where the song starts or jumps into the middle of a note, the note starts there. With false it stays silent.",
);

pub(crate) const FILE: Key = key(
    "file",
    Value::Text,
    REQUIRED,
    "The audio file, relative to the folder of the session file.",
);
pub(crate) const START: Key = time("start_s", "0", "When it starts on the session's time line.");
pub(crate) const OFFSET: Key = time("offset_s", "0", "Where in the file it starts.");
pub(crate) const CLIP_LENGTH: Key =
    length("length_s", "to the end of the file; without end if it loops", "How long it plays.");
pub(crate) const LOOP: Key =
    key("loop", Value::Flag, "false", "Starts again at `offset_s` when the file ends.");
pub(crate) const CLIP_GAIN: Key = level("Level of the clip.");
pub(crate) const FADE_IN: Key = time("fade_in_s", "0", "Length of the fade at the start.");
pub(crate) const FADE_OUT: Key = time(
    "fade_out_s",
    "0",
    "Length of the fade at the end; none if the clip loops without `length_s`.",
);
/// In the order of [`ClipFade::ALL`](hocket_plan::session::ClipFade::ALL).
pub(crate) const FADE_CURVE: Key = key(
    "fade_curve",
    Value::Choice(&["linear", "equal-power", "s-curve", "logarithmic"]),
    "\"linear\"",
    "`linear`: the level in a straight line, for two clips of one sound that cross; `equal-power`: a quarter of a sine, \
     -3 dB in the middle, for clips of different sounds; `s-curve`: half a cosine, as `linear` without corners; \
     `logarithmic`: the decibels in a straight line, from -100 dB.",
);

pub(crate) const KIND: Key = key(
    "kind",
    Value::Text,
    REQUIRED,
    "The effect, by its name in docs/effects.md, or a plug-in: `lv2:` and its URI, or `clap:` or `vst3:` and its ID.",
);
pub(crate) const BYPASS: Key = key(
    "bypass",
    Value::Flag,
    "false",
    "The effect passes its input on; its latency stays the same.",
);

pub(crate) const TO: Key =
    key("to", Value::Text, REQUIRED, "The name of the return that it feeds.");
pub(crate) const SEND_GAIN: Key = level("Level of the send.");
pub(crate) const TAP: Key = key(
    "tap",
    Value::Choice(&["pre", "post"]),
    "\"post\"",
    "`pre`: after the chain, before fader, pan and mute; `post`: after them.",
);

pub(crate) const SIDE_CHAIN: Key = key(
    "key",
    Value::Text,
    "none",
    "The name of the strip that the effect hears at its side chain; only kinds that listen to one.",
);
pub(crate) const KEY_TAP: Key = key(
    "key_tap",
    Value::Choice(&["pre", "post"]),
    "\"post\"",
    "Where that strip is heard: `pre` its fader or `post`.",
);
pub(crate) const EVENTS_FROM: Key = key(
    "events",
    Value::Text,
    "the effect's own track",
    "The name of the track whose notes and events the effect receives; only kinds with an event input.",
);
pub(crate) const SEND_EVENTS: Key = key(
    "send_events",
    Value::Flag,
    "true for a plug-in without audio outputs",
    "What the plug-in sends reaches the effects behind it; only plug-ins that send events.",
);
pub(crate) const STATE: Key = key(
    "state",
    Value::Text,
    "the plug-in's own",
    "The file with the state in which a plug-in starts, relative to the folder of the session file.",
);
pub(crate) const PRESET: Key = key(
    "preset",
    Value::Text,
    "none",
    "The preset with which a plug-in starts, by its label, URI or place; values here go before its values. Not with `state`.",
);
pub(crate) const EFFECT_FILE: Key = key(
    "file",
    Value::Text,
    "none",
    "The SoundFont that a `soundfont` plays, or the impulse response of a `convolution`, which need one; relative to the \
     folder of the session file.",
);
pub(crate) const ISOLATE: Key = key(
    "isolate",
    Value::Flag,
    "false",
    "Runs the plug-in in a process of its own, one block later, as the option `--isolate` does; only plug-ins.",
);
pub(crate) const FEEDBACK: Key = key(
    "feedback",
    Value::Flag,
    "false",
    "Arrives one block of the engine's largest length later, and so may close a cycle.",
);

pub(crate) const PARAMETER: Key = key(
    "parameter",
    Value::Text,
    REQUIRED,
    "What moves: of the strip `gain_db`, `pan` or `mute`, of a send `gain_db`, of an effect a parameter or `bypass`.",
);
pub(crate) const OF_EFFECT: Key = key(
    "effect",
    Value::PlaceOrName,
    "the strip",
    "The effect, by its place in the chain or by a kind that the chain has once.",
);
pub(crate) const OF_SEND: Key = key(
    "send",
    Value::PlaceOrName,
    "the strip",
    "The send, by its place or by a return that the strip feeds once.",
);
pub(crate) const TIME: Key = key(
    "time",
    Value::Choice(&["seconds", "beats"]),
    "\"seconds\"",
    "The unit of the times; a beat is a quarter note, and follows the tempo.",
);
pub(crate) const POINTS: Key = key(
    "points",
    Value::Points,
    REQUIRED,
    "Each `[time, value]`, `[time, value, \"hold\"]`, `[time, value, \"linear\"]` or `[time, value, \"curve\", bend]`.",
);
pub(crate) const GRID: Key = key(
    "grid_frames",
    Value::Whole { min: 1, max: 8192 },
    "32",
    "The distance of values on the way between two points, in frames.",
);

pub(crate) const AT_BEATS: Key = key(
    "at_beats",
    Value::Number { min: 0.0, max: MAX_POINT_BEATS, above_min: false },
    "0",
    "Where it begins, in quarter notes.",
);
pub(crate) const AT_S: Key =
    time("at_s", "`at_beats`", "The same in seconds; not behind a `linear` glide.");
pub(crate) const AT_BAR: Key = key(
    "at_bar",
    Value::Whole { min: 1, max: 10_000_000 },
    "`at_beats`",
    "The bar that it begins; the first one is 1.",
);
pub(crate) const BPM: Key = key(
    "bpm",
    Value::Number { min: 1.0, max: 10_000.0, above_min: false },
    REQUIRED,
    "Quarter notes per minute.",
);
pub(crate) const GLIDE: Key = key(
    "glide",
    Value::Choice(&["step", "linear"]),
    "\"step\"",
    "The way to the next tempo: it stays and then steps, or it moves in a straight line over beats.",
);
pub(crate) const SIGNATURE: Key =
    key("signature", Value::Signature, REQUIRED, "Beats per bar, and the note that is a beat.");
pub(crate) const LOOP_FROM: Key =
    time("loop_from", "no loop", "Where the loop begins, in the unit of `time`.");
pub(crate) const LOOP_TO: Key =
    time("loop_to", "no loop", "Where it ends and begins again: at least 256 frames later.");

pub(crate) const INPUT_NAME: Key = key("name", Value::Text, REQUIRED, "Unique among the inputs.");
pub(crate) const CHANNELS: Key = key(
    "channels",
    Value::Whole { min: 1, max: Ports::MOST as i64 },
    "2",
    "1, which goes to both sides of a track; 2; or more, which takes record and no track plays.",
);
pub(crate) const INPUT_EVENTS: Key =
    key("events", Value::Flag, "false", "Whether the host hands over notes and MIDI, too.");
pub(crate) const INPUT_LATENCY: Key = key(
    "latency_frames",
    Value::Whole { min: 0, max: Graph::MAX_DELAY as i64 },
    "0",
    "How many frames its sound is late, at the rate at which the session runs: all else waits for it.",
);
pub(crate) const OUTPUT_NAME: Key =
    key("name", Value::Text, REQUIRED, "Unique among the outputs; not `master`.");
pub(crate) const FROM: Key =
    key("from", Value::Text, REQUIRED, "The name of the strip that it takes from, or `master`.");
pub(crate) const OUTPUT_TAP: Key = key(
    "tap",
    Value::Choice(&["pre", "post"]),
    "\"post\"",
    "`pre`: after the chain, before fader, pan and mute; `post`: after them.",
);

pub(crate) const TAKE_FROM: Key =
    key("from", Value::Text, "`input`", "The name of the strip that is recorded, or `master`.");
pub(crate) const TAKE_INPUT: Key =
    key("input", Value::Text, "`from`", "The name of an input. No track needs to play it.");
pub(crate) const TAKE_FILE: Key = key(
    "file",
    Value::Text,
    REQUIRED,
    "The new file, relative to the folder of the session file: audio (.wav, .flac), or the notes of a track or an input (.mid).",
);
pub(crate) const ARMED: Key = key("armed", Value::Flag, "true", "Whether it is recorded.");
pub(crate) const ALIGN: Key = key(
    "align",
    Value::Choice(&["song", "none"]),
    "\"song\" for inputs and notes, else \"none\"",
    "`song`: moved to where it belongs in the song; `none`: as it arrives.",
);
/// More is no converter's.
const MOST_OFFSET: i64 = 65_536;
pub(crate) const OFFSET_FRAMES: Key = key(
    "offset_frames",
    Value::Whole { min: -MOST_OFFSET, max: MOST_OFFSET },
    "0",
    "So many frames more are left out at the start, at the rate at which the session runs; negative: fewer.",
);

pub(crate) static ROOT: Table = Table {
    header: "the file",
    summary: "The tables of a session file.",
    keys: &[
        SESSION, TEMPO, METER, TRANSPORT, INPUTS, TRACK, GROUP, RETURN, MASTER, OUTPUTS, TAKES,
        PREVIEW,
    ],
};
pub(crate) static SESSION_TABLE: Table = Table {
    header: "[session]",
    summary: "About the session as a whole.",
    keys: &[VERSION, SESSION_NAME, SAMPLE_RATE, SESSION_LENGTH, FEEDBACK_LENGTH, RESAMPLE],
};
pub(crate) static TRACK_TABLE: Table = Table {
    header: "[[track]]",
    summary: "A strip that plays clips.",
    keys: &[
        NAME,
        COUNT,
        OUTPUT,
        GAIN,
        PAN,
        MUTE,
        SOLO,
        TRACK_INPUT,
        TRACK_FROM,
        FROM_OUTPUT,
        CLIPS,
        NOTE_CLIPS,
        EFFECTS,
        SENDS,
        AUTOMATION,
    ],
};
pub(crate) static CLIP_TABLE: Table = Table {
    header: "[[track.clip]]",
    summary: "A piece of an audio file on the time line; overlapping clips add up.",
    keys: &[FILE, START, OFFSET, CLIP_LENGTH, LOOP, CLIP_GAIN, FADE_IN, FADE_OUT, FADE_CURVE],
};
pub(crate) static NOTE_TABLE: Table = Table {
    header: "[[track.notes]]",
    summary: "Notes on the time line, written here or in a MIDI file.",
    keys: &[
        NOTES,
        NOTE_FILE,
        MIDI_TRACK,
        MIDI_CHANNEL,
        NOTE_TIME,
        NOTE_START,
        NOTE_LENGTH,
        NOTE_CHASE,
    ],
};
pub(crate) static EFFECT_TABLE: Table = Table {
    header: "[[track.effect]]",
    summary: "An effect; also in `[[group.effect]]`, `[[return.effect]]` and `[[master.effect]]`.",
    keys: &[
        KIND,
        BYPASS,
        SIDE_CHAIN,
        KEY_TAP,
        EVENTS_FROM,
        SEND_EVENTS,
        STATE,
        PRESET,
        EFFECT_FILE,
        ISOLATE,
    ],
};
pub(crate) static SEND_TABLE: Table = Table {
    header: "[[track.send]]",
    summary: "A tap that feeds a return; also in `[[group.send]]` and `[[return.send]]`.",
    keys: &[TO, SEND_GAIN, TAP, FEEDBACK],
};
pub(crate) static GROUP_TABLE: Table = Table {
    header: "[[group]]",
    summary: "A strip that sums what is routed to it.",
    keys: &[NAME, OUTPUT, GAIN, PAN, MUTE, SOLO, EFFECTS, SENDS, AUTOMATION],
};
pub(crate) static RETURN_TABLE: Table = Table {
    header: "[[return]]",
    summary: "A strip that sums sends.",
    keys: &[NAME, OUTPUT, GAIN, PAN, MUTE, SOLO, EFFECTS, SENDS, AUTOMATION],
};
pub(crate) static MASTER_TABLE: Table = Table {
    header: "[master]",
    summary: "The last strip before the device.",
    keys: &[GAIN, PAN, MUTE, EFFECTS, AUTOMATION],
};
pub(crate) static PREVIEW_TABLE: Table = Table {
    header: "[preview]",
    summary: "A large file; its waveform preview is computed while the session plays.",
    keys: &[FILE],
};
pub(crate) static TEMPO_TABLE: Table = Table {
    header: "[[tempo]]",
    summary: "A tempo from a place on.",
    keys: &[AT_BEATS, AT_S, BPM, GLIDE],
};
pub(crate) static METER_TABLE: Table = Table {
    header: "[[meter]]",
    summary: "A time signature from a place on, where a bar begins.",
    keys: &[AT_BEATS, AT_BAR, SIGNATURE],
};
pub(crate) static TRANSPORT_TABLE: Table = Table {
    header: "[transport]",
    summary: "What is repeated, from the start on.",
    keys: &[LOOP_FROM, LOOP_TO, TIME],
};
pub(crate) static INPUT_TABLE: Table = Table {
    header: "[[input]]",
    summary: "Sound that the host brings into the engine, such as a microphone.",
    keys: &[INPUT_NAME, CHANNELS, INPUT_EVENTS, INPUT_LATENCY],
};
pub(crate) static OUTPUT_TABLE: Table = Table {
    header: "[[output]]",
    summary: "Sound that the host reads beside the master's, such as a cue mix.",
    keys: &[OUTPUT_NAME, FROM, OUTPUT_TAP],
};
pub(crate) static TAKE_TABLE: Table = Table {
    header: "[[take]]",
    summary: "A recording that `play` and `render` make.",
    keys: &[TAKE_FROM, TAKE_INPUT, OUTPUT_TAP, TAKE_FILE, ARMED, ALIGN, OFFSET_FRAMES],
};
pub(crate) static AUTOMATION_TABLE: Table = Table {
    header: "[[track.automation]]",
    summary: "A parameter that moves; also in `[[group.automation]]`, `[[return.automation]]` and `[[master.automation]]`.",
    keys: &[PARAMETER, OF_EFFECT, OF_SEND, TIME, POINTS, GRID],
};

/// All tables of a session file, in the order in which they are documented.
pub static TABLES: [&Table; 18] = [
    &ROOT,
    &SESSION_TABLE,
    &TEMPO_TABLE,
    &METER_TABLE,
    &TRANSPORT_TABLE,
    &INPUT_TABLE,
    &TRACK_TABLE,
    &CLIP_TABLE,
    &NOTE_TABLE,
    &EFFECT_TABLE,
    &SEND_TABLE,
    &AUTOMATION_TABLE,
    &GROUP_TABLE,
    &RETURN_TABLE,
    &MASTER_TABLE,
    &OUTPUT_TABLE,
    &TAKE_TABLE,
    &PREVIEW_TABLE,
];

impl Value {
    /// What is allowed, for a message: `a number from -1 to 1`.
    pub fn allowed(&self) -> String {
        match self {
            Value::Text => "text in quotes".into(),
            Value::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                words.join(" or ")
            }
            Value::Flag => "true or false".into(),
            Value::Number { min, max, above_min: true } => {
                format!("a number above {min}, up to {max}")
            }
            Value::Number { min, max, above_min: false } => {
                format!("a number from {min} to {max}")
            }
            Value::Level { min, max } => {
                format!("a number from {min} to {max}, or -inf for silence")
            }
            Value::Whole { min, max } => format!("a whole number from {min} to {max}"),
            Value::Count { max } => {
                format!("a whole number from 1 to {max}, \"seats\", or \"seats x N\"")
            }
            Value::PlaceOrName => "a whole number from 1, or a name in quotes".into(),
            Value::Signature => "1 to 255 over 1, 2, 4, 8, 16, 32 or 64, as in \"6/8\"".into(),
            Value::Notes => "a list of notes, as in [[0, 1, 60], [1, 0.5, 64, 1]]".into(),
            Value::Points => "a list of points, as in [[0, -6], [2.5, 0]]".into(),
            Value::Tables => "a list of tables".into(),
            Value::Table => "a table".into(),
        }
    }
}
