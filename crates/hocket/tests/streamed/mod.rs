//! A session whose clips play long files in every way that a clip can, and the same session with its files in memory.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use hocket::load::streams::{DiskUse, Wait};
use hocket::load::{LoadedSession, load_session_streaming};
use hocket_media::{AudioWriter, FileFormat, WavFormat, WavLayout, Written};
use tempfile::TempDir;

pub const RATE_HZ: u32 = 48_000;
/// A little more than what is decoded in memory.
pub const FILE_FRAMES: usize = 481_000;

/// Session and files; gone when it is dropped.
pub struct Stage {
    pub folder: TempDir,
    pub file: PathBuf,
    rate_hz: u32,
}

impl Stage {
    /// With a session file of this text, and `a.wav` (16 bits), `b.wav` (24 bits), `c.wav` (floats), `d.flac` (24
    /// bits) and `mono.wav`, all stereo but the last.
    pub fn new(session: &str) -> Stage {
        Stage::at(session, RATE_HZ)
    }

    /// The same at a rate. `mono.wav` stays at [`RATE_HZ`]: at another one it is converted, and so does not stream.
    pub fn at(session: &str, rate_hz: u32) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        stereo(&at("a.wav"), rate_hz, WavFormat::Pcm16, 1);
        stereo(&at("b.wav"), rate_hz, WavFormat::Pcm24, 2);
        stereo(&at("c.wav"), rate_hz, WavFormat::Float32, 3);
        stereo(&at("d.flac"), rate_hz, WavFormat::Pcm24, 4);
        mono(&at("mono.wav"), 5);
        let file = at("session.toml");
        std::fs::write(&file, session).unwrap();
        Stage { folder, file, rate_hz }
    }

    pub fn in_memory(&self) -> LoadedSession {
        self.load(&DiskUse::IN_MEMORY)
    }

    pub fn streamed(&self, wait: Wait) -> LoadedSession {
        let disk = DiskUse { buffer_bytes: 64 << 20, wait, engines: 1, strict: false };
        let loaded = self.load(&disk);
        assert!(loaded.disk.is_some(), "nothing streams");
        loaded
    }

    pub fn load(&self, disk: &DiskUse) -> LoadedSession {
        load_session_streaming(&self.file, Some(self.rate_hz), 4, disk)
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Cuts, offsets, fades, two clips of one file, loops of 300 frames and of more than a chunk, a clip that begins
/// later, mono, FLAC; and enough strips for several workers.
pub fn every_kind_of_clip() -> String {
    every_kind_of_clip_at(RATE_HZ)
}

/// The same for files at another rate.
pub fn every_kind_of_clip_at(rate_hz: u32) -> String {
    let seconds = |frames: usize| frames as f64 / f64::from(rate_hz);
    let (near_end, short_lap) = (seconds(FILE_FRAMES - 700), seconds(FILE_FRAMES - 300));
    let (begin, long_lap) = (seconds(900), seconds(FILE_FRAMES - 9_000));
    format!(
        r#"
[session]
name = "streamed"
sample_rate_hz = {rate_hz}

[[track]]
name = "whole"
output = "band"
clip = [{{ file = "a.wav" }}]
effect = [{{ kind = "compressor" }}]
[[track.send]]
to = "room"
gain_db = -12

[[track]]
name = "cut"
output = "band"
clip = [
    {{ file = "b.wav", offset_s = 3.3, length_s = 0.02, start_s = 0.003, fade_in_s = 0.005, fade_out_s = 0.007, gain_db = -3 }},
    {{ file = "b.wav", offset_s = 7.7, start_s = 0.013, length_s = 0.02 }},
]

[[track]]
name = "ends"
clip = [{{ file = "b.wav", offset_s = {near_end}, start_s = {begin}, fade_out_s = 0.01 }}]

[[track]]
name = "short loop"
clip = [{{ file = "c.wav", offset_s = {short_lap}, loop = true, fade_in_s = 0.01, gain_db = -9 }}]

[[track]]
name = "long loop"
clip = [{{ file = "c.wav", offset_s = {long_lap}, loop = true, gain_db = -9 }}]

[[track]]
name = "packed"
clip = [{{ file = "d.flac", offset_s = 5.0 }}]
effect = [{{ kind = "eq" }}]

[[track]]
name = "mono"
clip = [{{ file = "mono.wav", offset_s = 1.0 }}, {{ file = "a.wav", offset_s = 2.0, gain_db = -6 }}]

[[group]]
name = "band"
effect = [{{ kind = "limiter" }}]

[[return]]
name = "room"
effect = [{{ kind = "freeverb" }}]
"#
    )
}

fn noise(frames: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    // Knuth's MMIX. Never zero, so that silence is not mistaken for sound.
    let mut sample = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.01 + 0.2 * (state >> 40) as f32 / (1u64 << 24) as f32
    };
    (0..frames).map(|_| sample()).collect()
}

fn stereo(path: &Path, rate_hz: u32, samples: WavFormat, seed: u64) {
    let format = FileFormat::of(path).unwrap();
    let mut writer =
        AudioWriter::create(path, format, rate_hz, samples, FILE_FRAMES as u64).unwrap();
    writer.write(&noise(FILE_FRAMES, seed), &noise(FILE_FRAMES, seed + 10)).unwrap();
    writer.finish().unwrap();
}

fn mono(path: &Path, seed: u64) {
    let layout = WavLayout { samples: WavFormat::Pcm24, sample_rate_hz: RATE_HZ, channels: 1 };
    let mut bytes = layout.header(FILE_FRAMES as u64);
    layout.encode(noise(FILE_FRAMES, seed), &mut bytes, &mut Written::default());
    std::fs::write(path, bytes).unwrap();
}
