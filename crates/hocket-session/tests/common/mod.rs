//! What the tests share: a catalogue and a folder with a session in it.
#![allow(dead_code, reason = "no test uses everything")]

use std::borrow::Cow;
use std::path::PathBuf;

use hocket_plan::{
    Effect, EffectCatalogue, EventOutput, ExtraOutput, FileRefusal, ParamSpec, Preset,
};
use hocket_session::{LoadOptions, Loaded, SessionErrors, load};

/// What a plug-in saved; no text.
pub const STATE: [u8; 4] = [0, 255, 7, 0];

/// A plug-in that is installed.
pub const PLUGIN: &str = "lv2:urn:hocket:drive";

/// A kind that plays a file, and no list has.
pub const PLAYER: &str = "player";

/// Three small kinds, a plug-in, and what plays files.
pub struct Few;

const fn param(name: &'static str, min: f32, max: f32, default: f32) -> ParamSpec {
    ParamSpec {
        name: Cow::Borrowed(name),
        summary: Cow::Borrowed(""),
        min,
        max,
        default,
        fixed: false,
    }
}

impl EffectCatalogue for Few {
    fn kinds(&self) -> Vec<&'static str> {
        vec!["compressor", "reverb", "synth"]
    }

    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        match kind {
            "compressor" => Some(vec![
                param("threshold_db", -60.0, 0.0, -18.0),
                param("ratio", 1.0, 100.0, 4.0),
            ]),
            "reverb" => {
                let mix = ParamSpec { summary: "How wet.".into(), ..param("mix", 0.0, 0.98, 0.3) };
                Some(vec![mix])
            }
            "synth" => Some(vec![param("sustain", 0.0, 1.0, 0.5)]),
            PLAYER => Some(vec![param("program", -1.0, 127.0, -1.0)]),
            PLUGIN => Some(vec![param("Drive (dB)", 0.0, 24.0, 6.0), param("mix", 0.0, 1.0, 1.0)]),
            _ => None,
        }
    }

    fn has_side_chain(&self, kind: &str) -> bool {
        kind == "compressor"
    }

    fn has_event_input(&self, kind: &str) -> bool {
        ["synth", PLAYER].contains(&kind)
    }

    fn event_output(&self, kind: &str) -> EventOutput {
        if kind == PLUGIN { EventOutput::BesideSound } else { EventOutput::None }
    }

    fn extra_outputs(&self, kind: &str) -> Vec<ExtraOutput> {
        let output = |name: &str, channels| ExtraOutput { name: name.into(), channels };
        match kind == PLUGIN {
            true => vec![output("Kick", 2), output("Click", 1)],
            false => Vec::new(),
        }
    }

    fn takes_state(&self, kind: &str) -> bool {
        kind == PLUGIN
    }

    fn takes_file(&self, kind: &str) -> bool {
        kind == PLAYER
    }

    /// The player has three programs, and does not like `b.wav`.
    fn check_file(&self, effect: &Effect) -> Result<(), FileRefusal> {
        let is = |name| effect.file.as_ref().is_some_and(|file| file.ends_with(name));
        let cause = match () {
            () if is("audio/b.wav") => "at byte 12: its rate is 0 Hz",
            () if effect.values[0] > 2.0 => "it has no such program",
            () => return Ok(()),
        };
        Err(FileRefusal { cause: cause.into(), remedy: "export it again".into() })
    }

    fn preset(&self, kind: &str, name: &str) -> Result<Preset, String> {
        match (kind, name) {
            (PLUGIN, "Warm") => Ok(Preset { values: vec![18.0, 0.5], state: Some(STATE.into()) }),
            _ => Err(format!("there is no preset '{name}'")),
        }
    }
}

/// A folder with the audio files `a.wav` and `b.wav`, the MIDI file `a.mid`, the state `a.state`, and a session.
pub struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Folder {
        let dir = tempfile::tempdir().expect("a folder for the test");
        std::fs::create_dir(dir.path().join("audio")).expect("a folder in it");
        for name in ["audio/a.wav", "audio/b.wav"] {
            std::fs::write(dir.path().join(name), b"RIFF").expect("a file in it");
        }
        std::fs::write(dir.path().join("a.state"), STATE).expect("a file in it");
        std::fs::write(dir.path().join("a.mid"), midi()).expect("a file in it");
        Folder { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Loads `text` for a machine with `seats` seats.
    pub fn load_for(&self, text: impl AsRef<[u8]>, seats: usize) -> Result<Loaded, SessionErrors> {
        let path = self.path("live.toml");
        std::fs::write(&path, text).expect("the session can be written");
        load(&path, &Few, &LoadOptions::for_seats(seats))
    }

    pub fn load(&self, text: impl AsRef<[u8]>) -> Result<Loaded, SessionErrors> {
        self.load_for(text, 4)
    }
}

/// A MIDI file of two tracks, with 96 ticks per quarter note: 60 bpm, then 120 from beat 2 on. On the first track a note
/// on channel 1 from beat 0 to 1 and one from 2 to 4; on the second a pitch bend and a program on channel 2 at beat 1.
pub fn midi() -> Vec<u8> {
    let first: &[&[u8]] = &[
        &[0, 0xff, 0x51, 3, 0x0f, 0x42, 0x40],
        &[0, 0x90, 60, 100],
        &[96, 0x80, 60, 0],
        &[96, 0xff, 0x51, 3, 0x07, 0xa1, 0x20],
        &[0, 0x90, 62, 64],
        // Running status, and a note end that is a start of velocity 0.
        &[0x81, 0x40, 62, 0],
        &[0, 0xff, 0x2f, 0],
    ];
    let second: &[&[u8]] = &[
        &[0, 0xff, 0x03, 2, b'h', b'i'],
        &[96, 0xe1, 0, 0x60],
        &[0, 0xc1, 5],
        &[0, 0xff, 0x2f, 0],
    ];
    let mut file = b"MThd\0\0\0\x06\0\x01\0\x02\0\x60".to_vec();
    for track in [first.concat(), second.concat()] {
        file.extend_from_slice(b"MTrk");
        file.extend_from_slice(&(track.len() as u32).to_be_bytes());
        file.extend_from_slice(&track);
    }
    file
}

/// The session of `text`; panics with the message where there is none.
pub fn loaded(text: &str) -> Loaded {
    Folder::new().load(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every key of the format at least once.
pub const FULL: &str = r#"
[session]
format = 2
name = "Full"
sample_rate_hz = 44100
length_s = 12.5
resample = true

[[tempo]]
bpm = 90
glide = "linear"
[[tempo]]
at_beats = 16
bpm = 120.5
[[tempo]]
at_s = 30
bpm = 60
glide = "step"

[[meter]]
signature = "6/8"
[[meter]]
at_bar = 3
signature = "3/4"
[[meter]]
at_beats = 12
signature = "4/4"

[transport]
loop_from = 4
loop_to = 8.5
time = "beats"

[[input]]
name = "mic"
channels = 1
[[input]]
name = "keys"

[[output]]
name = "cue"
from = "hall"
tap = "pre"
[[output]]
name = "all of it"
from = "master"

[[track]]
name = "drums"
output = "rhythm"
gain_db = -3
pan = -0.25
mute = true
solo = true
input = "keys"
    [[track.clip]]
    file = "audio/a.wav"
    start_s = 1
    offset_s = 0.5
    length_s = 4
    loop = true
    gain_db = -inf
    fade_in_s = 0.1
    fade_out_s = 0.2
    fade_curve = "equal-power"
    [[track.clip]]
    file = "./audio/b.wav"
    [[track.effect]]
    kind = "compressor"
    ratio = 8
    bypass = true
    key = "voice 1"
    key_tap = "pre"
    [[track.effect]]
    kind = "reverb"
    mix = 0.98
    [[track.send]]
    to = "hall"
    gain_db = -12
    tap = "pre"
    [[track.send]]
    to = "echo"
    [[track.automation]]
    parameter = "gain_db"
    points = [[0, -200], [1.5, 0, "linear"], [2, -6, "hold"], [3, -6.5, "curve", -2.5]]
    [[track.automation]]
    parameter = "ratio"
    effect = "compressor"
    time = "beats"
    grid_frames = 64
    points = [[0, 1], [4, 100]]
    [[track.automation]]
    parameter = "bypass"
    effect = 2
    points = [[0, 1, "hold"], [1, 0]]
    [[track.automation]]
    parameter = "gain_db"
    send = "echo"
    points = [[0, -60], [1, 0]]

[[track]]
name = "voice"
count = "seats x 2"
    [[track.clip]]
    file = "audio//a.wav"
    [[track.automation]]
    parameter = "pan"
    points = [[0, -1], [10, 1]]

[[group]]
name = "rhythm"
output = "all"
pan = 1
    [[group.effect]]
    kind = "reverb"
    [[group.send]]
    to = "echo"
    tap = "post"

[[group]]
name = "all"
gain_db = -inf
mute = true
solo = true

[[return]]
name = "echo"
output = "all"
gain_db = 1
pan = 0
mute = false
solo = false
    [[return.effect]]
    kind = "compressor"
    [[return.send]]
    to = "hall"
    gain_db = -6
    feedback = true

[[return]]
name = "hall"
    [[return.send]]
    to = "echo"
    gain_db = -12
    [[return.automation]]
    parameter = "gain_db"
    send = 1
    points = [[0, -12]]

[master]
gain_db = -1
pan = 0.5
mute = true
    [[master.effect]]
    kind = "compressor"
    threshold_db = -6.5
    [[master.automation]]
    parameter = "mute"
    points = [[0, 0, "hold"], [20, 1]]

[preview]
file = "audio/b.wav"
"#;

/// The kinds and parameters in the tables of `docs/effects.md`: this crate knows no processor.
pub struct Documented {
    kinds: Vec<(&'static str, Vec<ParamSpec>)>,
}

impl Documented {
    pub fn read() -> Documented {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/effects.md");
        let text = std::fs::read_to_string(path).expect("docs/effects.md can be read");
        let tables = text.split("<!-- table of ").skip(1);
        let kinds: Vec<_> = tables.map(Documented::kind).collect();
        assert!(kinds.len() >= 10, "docs/effects.md has {} kinds", kinds.len());
        Documented { kinds }
    }

    /// From `eq -->` to the end of the table.
    fn kind(text: &str) -> (&'static str, Vec<ParamSpec>) {
        let name = text.split(" -->").next().unwrap_or_default().to_owned().leak();
        let rows = text.split("<!-- end of table -->").next().unwrap_or_default().lines();
        (name, rows.filter_map(Documented::row).collect())
    }

    /// Of a row such as `` | `ratio` | 1 | 100 | 4 | ... ``.
    fn row(row: &str) -> Option<ParamSpec> {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?.to_owned();
        let mut number = || cells.next()?.parse().ok();
        let (min, max, default) = (number()?, number()?, number()?);
        let fixed = cells.next()? != "any time";
        Some(ParamSpec { name: name.into(), summary: "".into(), min, max, default, fixed })
    }
}

impl EffectCatalogue for Documented {
    fn kinds(&self) -> Vec<&'static str> {
        self.kinds.iter().map(|(name, _)| *name).collect()
    }

    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        self.kinds.iter().find(|(name, _)| *name == kind).map(|(_, params)| params.clone())
    }

    fn has_side_chain(&self, kind: &str) -> bool {
        ["compressor", "gate"].contains(&kind)
    }

    fn has_event_input(&self, kind: &str) -> bool {
        ["synth", "soundfont"].contains(&kind)
    }

    fn takes_file(&self, kind: &str) -> bool {
        ["soundfont", "convolution"].contains(&kind)
    }
}
