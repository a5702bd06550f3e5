//! The way of the sound: which device, and how late a user hears it.

use hocket_devices::{Latency, Ready};
use hocket_engine::Engine;
use serde_json::{Value, json};

/// A device that is ready, and how long sound is on its way.
pub(super) struct Sound {
    /// As on the command line.
    pub(super) device: &'static str,
    /// `None`: there is no sound.
    latency: Option<Latency>,
    /// What the session's effects add, up to the main output.
    session_frames: u32,
}

impl Sound {
    pub(super) fn new(device: &'static str, ready: &Ready, engine: &Engine) -> Sound {
        let session_frames = engine.output_latencies().first().copied().unwrap_or(0);
        Sound { device, latency: ready.latency, session_frames }
    }

    /// For people; none where there is no sound.
    pub(super) fn lines(&self) -> Vec<String> {
        let Some(latency) = &self.latency else { return Vec::new() };
        let way = |what: &str, frames: Option<u32>| match frames {
            Some(frames) => format!("{what} {:.1} ms ({frames} frames)", latency.ms(frames)),
            None => format!("{what} unknown (not connected)"),
        };
        let mut line = format!(
            "latency: {}, {}",
            way("out", latency.out_frames),
            way("in", latency.in_frames)
        );
        if self.session_frames > 0 {
            let frames = self.session_frames;
            line += &format!("; effects add {:.1} ms ({frames} frames)", latency.ms(frames));
        }
        vec![line]
    }

    /// For programs: `null` where there is no sound.
    pub(super) fn json(&self) -> Value {
        self.latency.map_or(Value::Null, |latency| {
            json!({
                "out_frames": latency.out_frames,
                "out_ms": latency.out_ms(),
                "in_frames": latency.in_frames,
                "in_ms": latency.in_ms(),
                "session_frames": self.session_frames,
            })
        })
    }
}
