//! The way of the sound: which device, how late a user hears it, and what of it changes while it plays.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hocket_devices::{Change, Latency, LatencyRange, Ready};
use hocket_engine::Engine;
use serde_json::{Value, json};

use crate::takes::RoundTrip;

/// So many block lengths are listed.
const LENGTHS: usize = 16;

/// A device that is ready, and how long sound is on its way. Clones are of the same device.
#[derive(Clone)]
pub(super) struct Sound {
    /// As on the command line.
    pub(super) device: &'static str,
    /// What the session's effects add, up to the main output, where the device does not say what they add now.
    session_frames: u32,
    /// No audio thread locks it.
    now: Arc<Mutex<Now>>,
}

/// What may change.
#[derive(Debug, Clone, Default)]
struct Now {
    /// `None`: there is no sound.
    latency: Option<Latency>,
    /// Block lengths so far, each once, the first one first.
    lengths: Vec<u32>,
    /// There were others.
    more_lengths: bool,
    /// The latency is another one than at the start, or was for a time.
    has_changed: bool,
    /// Own ports whose connections went with the ports of others.
    lost: Vec<String>,
}

/// What a change means to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    /// `None`: nothing that somebody has to know at once.
    pub(super) line: Option<String>,
    /// For the log.
    pub(super) logged: Value,
}

impl Sound {
    pub(super) fn new(device: &'static str, ready: &Ready, engine: &Engine) -> Sound {
        let session_frames = engine.output_latencies().first().copied().unwrap_or(0);
        let lengths = vec![engine.settings().frames];
        let now = Now { latency: ready.latency, lengths, ..Now::default() };
        Sound { device, session_frames, now: Arc::new(Mutex::new(now)) }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How late what somebody plays to the song comes in, at the engine's rate. `None`: there is no sound.
    pub(super) fn round_trip(&self, rate_hz: u32) -> Option<RoundTrip> {
        let latency = self.now().latency?;
        Some(RoundTrip::new(&latency, self.session_frames, rate_hz))
    }

    /// The latency now, if it has changed since the start.
    pub(super) fn changed_latency(&self) -> Option<Latency> {
        let now = self.now();
        now.latency.filter(|_| now.has_changed)
    }

    /// For people; none where there is no sound.
    pub(super) fn lines(&self) -> Vec<String> {
        let now = self.now().clone();
        let lost = (!now.lost.is_empty()).then(|| {
            format!(
                "connected to nothing: {}, because the other ports are gone",
                now.lost.join(", ")
            )
        });
        now.latency.map(|latency| self.latency_line(&latency)).into_iter().chain(lost).collect()
    }

    fn latency_line(&self, latency: &Latency) -> String {
        let way = |what: &str, frames: Option<u32>| match frames {
            Some(frames) => format!("{what} {:.1} ms ({frames} frames)", latency.ms(frames)),
            None => format!("{what} unknown (not connected)"),
        };
        let mut line = format!(
            "latency: {}, {}",
            way("out", latency.out_frames),
            way("in", latency.in_frames)
        );
        let frames = self.session_frames(latency);
        if frames > 0 {
            line += &format!("; effects add {:.1} ms ({frames} frames)", latency.ms(frames));
        }
        line
    }

    /// For programs: `null` where there is no sound.
    pub(super) fn json(&self) -> Value {
        self.now().latency.map_or(Value::Null, |latency| self.latency_json(&latency))
    }

    fn latency_json(&self, latency: &Latency) -> Value {
        json!({
            "out_frames": latency.out_frames,
            "out_ms": latency.out_ms(),
            "in_frames": latency.in_frames,
            "in_ms": latency.in_ms(),
            "session_frames": self.session_frames(latency),
            "port_frames": latency.port_frames.map(|LatencyRange { min, max }| [min, max]),
        })
    }

    fn session_frames(&self, latency: &Latency) -> u32 {
        latency.session_frames.unwrap_or(self.session_frames)
    }

    /// `64`, or `64, 256` where the device has changed its block length; the device's frames.
    pub(super) fn lengths_text(&self) -> String {
        let Now { lengths, more_lengths, .. } = &*self.now();
        let all: Vec<String> = lengths.iter().map(u32::to_string).collect();
        let more = if *more_lengths { ", ..." } else { "" };
        format!("{}{more}", all.join(", "))
    }

    /// Block lengths of the device so far, each once.
    pub(super) fn lengths(&self) -> Vec<u32> {
        self.now().lengths.clone()
    }

    /// Own ports that are connected to nothing, because the ports of others are gone.
    pub(super) fn lost(&self) -> Vec<String> {
        self.now().lost.clone()
    }

    /// Takes what has changed. Thread: control.
    pub(super) fn look(&self, changes: Option<&Receiver<Change>>, mut report: impl FnMut(News)) {
        let Some(changes) = changes else { return };
        changes.try_iter().for_each(|change| report(self.note(change)));
    }

    fn note(&self, change: Change) -> News {
        let mut now = self.now();
        match change {
            Change::Frames(frames) => {
                if !now.lengths.contains(&frames) && now.lengths.len() < LENGTHS {
                    now.lengths.push(frames);
                } else if !now.lengths.contains(&frames) {
                    now.more_lengths = true;
                }
                News { line: None, logged: json!({ "event": "frames", "device_frames": frames }) }
            }
            Change::Lost(ports) => {
                let line = format!(
                    "warning: {}: what this was connected to is gone; it is connected again when that is back",
                    ports.join(", ")
                );
                let logged = json!({ "event": "ports", "lost": ports, "connected": [] });
                now.lost.extend(ports);
                News { line: Some(line), logged }
            }
            Change::Connected(pairs) => {
                now.lost.retain(|port| !pairs.iter().any(|(from, to)| from == port || to == port));
                let each: Vec<String> =
                    pairs.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
                let line = format!("connected again: {}", each.join(", "));
                let logged = json!({ "event": "ports", "lost": [], "connected": pairs });
                News { line: Some(line), logged }
            }
            Change::Latency(latency) => {
                let before = now.latency.replace(latency);
                now.has_changed |= before.is_none_or(|before| is_another_way(&before, &latency));
                drop(now);
                let logged = self.latency_json(&latency);
                News { line: None, logged: json!({ "event": "latency", "latency": logged }) }
            }
        }
    }
}

/// Whether what somebody plays to the song comes in earlier or later than before.
fn is_another_way(before: &Latency, now: &Latency) -> bool {
    let ways = |latency: &Latency| (latency.out_frames, latency.in_frames, latency.rate_hz);
    let effects = before.session_frames.zip(now.session_frames);
    ways(before) != ways(now) || effects.is_some_and(|(before, now)| before != now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Sound {
        let latency = Latency { out_frames: Some(128), rate_hz: 48_000, ..Latency::default() };
        let now = Now { latency: Some(latency), lengths: vec![64], ..Now::default() };
        Sound { device: "jack", session_frames: 0, now: Arc::new(Mutex::new(now)) }
    }

    #[test]
    fn a_changed_latency_and_every_block_length_are_told() {
        let sound = sound();
        for frames in [256, 64, 256] {
            assert_eq!(sound.note(Change::Frames(frames)).line, None);
        }
        assert_eq!((sound.lengths_text(), sound.lengths()), ("64, 256".into(), vec![64, 256]));
        let (out_frames, in_frames) = (Some(512), Some(256));
        let latency = Latency { out_frames, in_frames, rate_hz: 48_000, ..Latency::default() };
        assert_eq!(sound.changed_latency(), None);
        sound.clone().note(Change::Latency(latency));
        assert_eq!(sound.changed_latency(), Some(latency));
        assert_eq!(sound.lines(), ["latency: out 10.7 ms (512 frames), in 5.3 ms (256 frames)"]);
        assert_eq!(sound.json()["out_frames"], 512);
        assert_eq!(sound.json()["port_frames"], Value::Null);
        let port_frames = Some(LatencyRange { min: 256, max: 300 });
        let later = Latency { session_frames: Some(44), port_frames, ..latency };
        sound.note(Change::Latency(later));
        assert!(
            sound.lines()[0].ends_with("; effects add 0.9 ms (44 frames)"),
            "{:?}",
            sound.lines()
        );
        assert_eq!(sound.json()["session_frames"], 44);
        assert_eq!(sound.json()["port_frames"], json!([256, 300]));
        (1..100).for_each(|frames| _ = sound.note(Change::Frames(frames)));
        assert!(sound.lengths().len() == LENGTHS && sound.lengths_text().ends_with(", ..."));
    }

    #[test]
    fn lost_ports_are_told_until_they_are_connected_again() {
        let sound = sound();
        let [one, two] = ["h:1", "h:2"].map(String::from);
        let news = sound.note(Change::Lost(vec![one.clone(), two.clone()]));
        assert!(news.line.unwrap().starts_with("warning: h:1, h:2: "));
        assert!(sound.lines()[1].contains("h:1, h:2"), "{:?}", sound.lines());
        sound.note(Change::Connected(vec![(one, "card:l".into())]));
        assert_eq!(sound.lost(), ["h:2"]);
        let news = sound.note(Change::Connected(vec![(two, "card:r".into())]));
        assert_eq!(news.line.as_deref(), Some("connected again: h:2 -> card:r"));
        assert_eq!(sound.lines().len(), 1);
    }
}
