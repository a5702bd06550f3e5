//! A session of equal channels, made of noise.

use std::sync::Arc;

use hocket_engine::{MediaPool, StereoAudio};
use hocket_plan::session::{Clip, ClipFade, Destination, Media, MediaId, Strip, Track};
use hocket_plan::{Effect, Session};

use super::RATE_HZ;
use crate::stats::Rng;

/// So many equal channels that depend on nothing but the sum, as in the thesis' projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::experiments) struct Song {
    /// Tracks, each with a clip of its own place in the noise.
    pub channels: usize,
    /// Effects in each: by turns an equaliser of four bands and a compressor.
    pub effects: usize,
}

/// A second of noise, played in a loop.
const SECONDS: usize = 1;

impl Song {
    /// The session and its audio.
    pub(in crate::experiments) fn session(self) -> (Session, MediaPool) {
        let session = Session {
            name: format!("{} channels with {} effects", self.channels, self.effects),
            sample_rate_hz: RATE_HZ,
            length_s: None,
            media: vec![Media { path: "noise.wav".into(), resample: false }],
            tracks: (0..self.channels).map(|channel| self.track(channel)).collect(),
            groups: Vec::new(),
            returns: Vec::new(),
            master: strip("Master".into(), Vec::new()),
            ..Session::default()
        };
        (session, MediaPool::new(vec![Arc::new(noise())]))
    }

    fn track(self, channel: usize) -> Track {
        let clip = Clip {
            media: MediaId(0),
            start_s: 0.0,
            offset_s: 0.5 * channel as f64 / self.channels as f64,
            length_s: None,
            looped: true,
            gain_db: 0.0,
            fade_in_s: 0.0,
            fade_out_s: 0.0,
            fade_curve: ClipFade::default(),
        };
        let chain = (0..self.effects).map(effect).collect();
        Track {
            strip: strip(format!("Channel {}", channel + 1), chain),
            output: Destination::Master,
            clips: vec![clip],
            input: None,
            from: None,
            notes: Vec::new(),
        }
    }
}

fn strip(name: String, chain: Vec<Effect>) -> Strip {
    Strip { name, chain, gain_db: -12.0, pan: 0.0, mute: false, solo: false, sends: Vec::new() }
}

fn effect(number: usize) -> Effect {
    match number % 2 {
        0 => built_in(
            "eq",
            &[
                ("band1_type", 5.0),
                ("band1_freq_hz", 60.0),
                ("band2_type", 1.0),
                ("band2_freq_hz", 400.0),
                ("band2_gain_db", -3.0),
                ("band3_type", 1.0),
                ("band3_freq_hz", 2_200.0),
                ("band3_gain_db", 3.0),
                ("band4_type", 3.0),
                ("band4_freq_hz", 8_000.0),
                ("band4_gain_db", -2.0),
            ],
        ),
        _ => built_in("compressor", &[("threshold_db", -30.0), ("ratio", 2.0)]),
    }
}

/// A built-in effect with these values, the others at their defaults.
fn built_in(name: &str, values: &[(&str, f32)]) -> Effect {
    let kind = hocket_dsp::kind(name);
    let mut all = kind.map(|kind| kind.defaults()).unwrap_or_default();
    for (param, value) in values {
        if let Some(index) = kind.and_then(|kind| kind.index_of(param)) {
            all[index] = *value;
        }
    }
    Effect::new(name, all)
}

/// The same in every run.
fn noise() -> StereoAudio {
    let mut rng = Rng::new(48);
    let mut row = || -> Vec<f32> {
        let sample = |_| (rng.next_u64() >> 40) as f32 / (1u32 << 24) as f32 - 0.5;
        (0..SECONDS * RATE_HZ as usize).map(sample).collect()
    };
    StereoAudio::from_planar(&[row(), row()])
}
