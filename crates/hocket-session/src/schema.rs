//! Which tables and keys a session file has: the one place that knows their ranges and defaults.
//!
//! The reader checks files against it, `docs/session-format.md` shows it.

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
    /// A list of tables, `[[...]]`.
    Tables,
    /// One table, `[...]`.
    Table,
}

/// The largest time in a session: eleven and a half days.
const MAX_S: f64 = 1_000_000.0;
/// The largest number of copies of one track.
pub(crate) const MAX_COUNT: i64 = 1024;

const REQUIRED: &str = "required";

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

pub(crate) const NAME: Key =
    key("name", Value::Text, REQUIRED, "Unique among tracks, groups and returns; not `master`.");
pub(crate) const SESSION_NAME: Key =
    key("name", Value::Text, "the file's name", "For people and records.");
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
pub(crate) const FADE_IN: Key = time("fade_in_s", "0", "Linear fade at the start.");
pub(crate) const FADE_OUT: Key =
    time("fade_out_s", "0", "Linear fade at the end; none if the clip loops without `length_s`.");

pub(crate) const KIND: Key =
    key("kind", Value::Text, REQUIRED, "The effect, by its name in docs/effects.md.");
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

pub(crate) static ROOT: Table = Table {
    header: "the file",
    summary: "The tables of a session file.",
    keys: &[SESSION, TRACK, GROUP, RETURN, MASTER, PREVIEW],
};
pub(crate) static SESSION_TABLE: Table = Table {
    header: "[session]",
    summary: "About the session as a whole.",
    keys: &[SESSION_NAME, SAMPLE_RATE, SESSION_LENGTH, RESAMPLE],
};
pub(crate) static TRACK_TABLE: Table = Table {
    header: "[[track]]",
    summary: "A strip that plays clips.",
    keys: &[NAME, COUNT, OUTPUT, GAIN, PAN, MUTE, SOLO, CLIPS, EFFECTS, SENDS],
};
pub(crate) static CLIP_TABLE: Table = Table {
    header: "[[track.clip]]",
    summary: "A piece of an audio file on the time line; overlapping clips add up.",
    keys: &[FILE, START, OFFSET, CLIP_LENGTH, LOOP, CLIP_GAIN, FADE_IN, FADE_OUT],
};
pub(crate) static EFFECT_TABLE: Table = Table {
    header: "[[track.effect]]",
    summary: "An effect; also in `[[group.effect]]`, `[[return.effect]]` and `[[master.effect]]`.",
    keys: &[KIND, BYPASS],
};
pub(crate) static SEND_TABLE: Table = Table {
    header: "[[track.send]]",
    summary: "A tap that feeds a return; also in `[[group.send]]` and `[[return.send]]`.",
    keys: &[TO, SEND_GAIN, TAP],
};
pub(crate) static GROUP_TABLE: Table = Table {
    header: "[[group]]",
    summary: "A strip that sums what is routed to it.",
    keys: &[NAME, OUTPUT, GAIN, PAN, MUTE, SOLO, EFFECTS, SENDS],
};
pub(crate) static RETURN_TABLE: Table = Table {
    header: "[[return]]",
    summary: "A strip that sums sends.",
    keys: &[NAME, OUTPUT, GAIN, PAN, MUTE, SOLO, EFFECTS, SENDS],
};
pub(crate) static MASTER_TABLE: Table = Table {
    header: "[master]",
    summary: "The last strip before the device.",
    keys: &[GAIN, PAN, MUTE, EFFECTS],
};
pub(crate) static PREVIEW_TABLE: Table = Table {
    header: "[preview]",
    summary: "A large file; its waveform preview is computed while the session plays.",
    keys: &[FILE],
};

/// All tables of a session file, in the order in which they are documented.
pub static TABLES: [&Table; 10] = [
    &ROOT,
    &SESSION_TABLE,
    &TRACK_TABLE,
    &CLIP_TABLE,
    &EFFECT_TABLE,
    &SEND_TABLE,
    &GROUP_TABLE,
    &RETURN_TABLE,
    &MASTER_TABLE,
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
            Value::Tables => "a list of tables".into(),
            Value::Table => "a table".into(),
        }
    }
}
