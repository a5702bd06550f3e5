//! What is shown of a run while it goes on: plain values, for the dashboard, for lines and for programs.

use serde_json::{Value, json};

use super::kernel_times::KernelTimes;
use super::live::CLASSES;
use crate::cli::TransportArg;

/// A look at a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shown {
    pub(super) session: String,
    /// The device, its latency and its format.
    pub(super) device: Vec<String>,
    /// Schedule, sibling policy and wait.
    pub(super) policy: [&'static str; 3],
    /// How blocks are walked at present.
    pub(super) plan: String,
    pub(super) played_s: f64,
    pub(super) planned_s: Option<f64>,
    pub(super) song: SongShown,
    /// Mean since the last look, and the most of all; 1.0 = the whole period.
    pub(super) load: [f64; 2],
    pub(super) blocks: u64,
    pub(super) misses: u64,
    /// Periods by their time; see [`super::live`].
    pub(super) classes: [u64; CLASSES],
    /// Late blocks by cause.
    pub(super) causes: Vec<(&'static str, u64)>,
    /// The explanation of the last late block.
    pub(super) last_late: Option<String>,
    pub(super) workers: Vec<WorkerShown>,
    pub(super) meters: Vec<MeterShown>,
    /// `None`: every file is in memory.
    pub(super) disk: Option<DiskShown>,
    /// What is recorded.
    pub(super) takes: Vec<TakeShown>,
    /// What a key did, or a warning.
    pub(super) message: String,
}

/// Where the song is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SongShown {
    pub(super) plays: bool,
    /// `12.3.000`: bar, beat and tick from 1.
    pub(super) bar: String,
    pub(super) bpm: f64,
    pub(super) signature: [u16; 2],
    pub(super) seconds: f64,
    /// The bars of both ends.
    pub(super) repeat: Option<[String; 2]>,
    /// Which transport leads, as on the command line.
    pub(super) transport: &'static str,
}

/// One thread of the engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WorkerShown {
    pub(super) name: String,
    pub(super) seat: String,
    /// Time in units by time, since the last look.
    pub(super) load: f64,
    /// The part of the blocks that it took part in.
    pub(super) share: f64,
    /// What the kernel counts, in parts of the time.
    pub(super) kernel: KernelTimes,
}

/// One output.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MeterShown {
    pub(super) name: String,
    /// The largest magnitude since the last look; 1.0 = full scale.
    pub(super) peak: f32,
}

/// What plays from the disk.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DiskShown {
    pub(super) streams: usize,
    pub(super) used_bytes: usize,
    pub(super) buffer_bytes: usize,
    /// Frames that were silent because they were not there in time.
    pub(super) silent_frames: u64,
    /// Clips with such frames.
    pub(super) silent_clips: usize,
}

/// A take that is recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TakeShown {
    /// What is recorded, in the session's words.
    pub(super) name: String,
    pub(super) file: String,
    /// Frames that were written, with the silence among them.
    pub(super) frames: u64,
    /// Frames that are silent in the file, because they found no room.
    pub(super) lost_frames: u64,
    /// Events that are not in the file, because they found no room.
    pub(super) lost_events: u64,
    /// Frames of its input that never arrived.
    pub(super) missing_frames: u64,
    /// The first frame of the file before which some are missing.
    pub(super) missing_at: Option<u64>,
    /// How long the disk has not answered, if that is long.
    pub(super) stalled_s: Option<f64>,
    /// Why it has ended early. `None`: it goes on.
    pub(super) error: Option<String>,
}

/// How a strip is set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StripShown {
    /// As commands call it.
    pub(super) name: String,
    /// As people see it.
    pub(super) label: String,
    pub(super) kind: &'static str,
    /// Minus infinity is silence.
    pub(super) volume_db: f32,
    pub(super) pan: f32,
    pub(super) mute: bool,
    pub(super) solo: bool,
    /// Neither muted nor silenced by the solo of another strip.
    pub(super) is_heard: bool,
}

impl Shown {
    /// One line for people.
    pub(super) fn line(&self) -> String {
        let of = self.planned_s.map_or(String::new(), |all| format!(" of {all:.1}"));
        let [mean, most] = self.load.map(|load| 100.0 * load);
        let (song, causes) = (&self.song, self.causes_text());
        let plays = if song.plays { "playing" } else { "stopped" };
        let silent = self.disk.as_ref().filter(|disk| disk.silent_frames > 0);
        let silent = silent.map_or(String::new(), |disk| {
            format!(", {} frames silent because of the disk", disk.silent_frames)
        });
        let takes = self.takes_in_trouble().map(|take| format!("; {take}")).collect::<String>();
        format!(
            "{:.1}{of} s, {plays} at bar {}, load {mean:.0} % (at most {most:.0} %), {} misses{causes}{silent}{takes}",
            self.played_s, song.bar, self.misses
        )
    }

    /// A text for each take that fails or waits for its disk.
    pub(super) fn takes_in_trouble(&self) -> impl Iterator<Item = String> {
        self.takes.iter().filter_map(TakeShown::line)
    }

    fn causes_text(&self) -> String {
        let one = |(cause, count): &(&str, u64)| format!("{count} {cause}");
        let all: Vec<String> = self.causes.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
    }

    /// One object for programs.
    pub(super) fn json(&self) -> Value {
        let song = &self.song;
        json!({
            "format": "hocket-play-now/1",
            "session": self.session,
            "played_s": self.played_s,
            "planned_s": self.planned_s,
            "song": {
                "playing": song.plays,
                "bar": song.bar,
                "bpm": song.bpm,
                "signature": song.signature,
                "seconds": song.seconds,
                "loop": song.repeat,
                "transport": song.transport,
                "follows": song.follows(),
            },
            "load": self.load[0],
            "most_load": self.load[1],
            "blocks": self.blocks,
            "misses": self.misses,
            "causes": self.causes.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
            "periods_by_5_percent_of_the_deadline": self.classes,
            "workers": self.workers.iter().map(WorkerShown::json).collect::<Vec<_>>(),
            "peaks": self.meters.iter().map(MeterShown::json).collect::<Vec<_>>(),
            "disk": self.disk.as_ref().map(DiskShown::json),
            "takes": self.takes.iter().map(TakeShown::json).collect::<Vec<_>>(),
            "schedule": self.policy[0],
            "sibling": self.policy[1],
            "wait": self.policy[2],
            "plan": self.plan,
        })
    }
}

impl SongShown {
    /// Whom the song follows, in words. `None`: nobody.
    pub(super) fn follows(&self) -> Option<&'static str> {
        let words = [
            (TransportArg::Jack, "follows JACK"),
            (TransportArg::Port, "follows a port"),
            (TransportArg::Clock, "follows a clock"),
        ];
        words
            .into_iter()
            .find(|(leader, _)| leader.name() == self.transport)
            .map(|(_, words)| words)
    }
}

impl WorkerShown {
    fn json(&self) -> Value {
        let KernelTimes { awake, put_aside } = self.kernel;
        json!({
            "name": self.name,
            "seat": self.seat,
            "load": self.load,
            "share_of_blocks": self.share,
            "awake": awake,
            "put_aside": put_aside,
        })
    }
}

impl TakeShown {
    /// What is wrong. `None`: nothing.
    pub(super) fn trouble(&self) -> Option<String> {
        if let Some(error) = &self.error {
            return Some(format!("ended early: {error}"));
        }
        let lost = |count: u64, what: &str| {
            (count > 0).then(|| format!("{count} {what} lost, because the disk is too slow"))
        };
        let (frames, events) = (lost(self.lost_frames, "frames"), lost(self.lost_events, "events"));
        let stalled = self.stalled_s.map(|s| format!("the disk has not answered for {s:.0} s"));
        let missing = (self.missing_frames > 0).then(|| {
            let at =
                self.missing_at.map_or(String::new(), |at| format!(", first before frame {at}"));
            let frames = self.missing_frames;
            format!("{frames} frames of the input never arrived, because periods were skipped{at}")
        });
        let all: Vec<String> = [frames, events, missing, stalled].into_iter().flatten().collect();
        (!all.is_empty()).then(|| format!("{}: {}", self.file, all.join("; ")))
    }

    /// The same with the name of what is recorded.
    pub(super) fn line(&self) -> Option<String> {
        Some(format!("take {}: {}", self.name, self.trouble()?))
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "bus": self.name,
            "file": self.file,
            "writes": self.error.is_none(),
            "frames": self.frames,
            "lost_frames": self.lost_frames,
            "lost_events": self.lost_events,
            "missing_frames": self.missing_frames,
            "missing_at": self.missing_at,
            "stalled_s": self.stalled_s,
            "error": self.error,
            "trouble": self.trouble(),
        })
    }
}

impl StripShown {
    /// A volume of minus infinity is `null`: JSON has no such number.
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "volume_db": self.volume_db,
            "pan": self.pan,
            "mute": self.mute,
            "solo": self.solo,
            "heard": self.is_heard,
        })
    }
}

impl MeterShown {
    /// In dB of full scale.
    pub(super) fn db(&self) -> f32 {
        20.0 * self.peak.log10()
    }

    fn json(&self) -> Value {
        json!({ "output": self.name, "peak": self.peak })
    }
}

impl DiskShown {
    fn json(&self) -> Value {
        json!({
            "streams": self.streams,
            "used_bytes": self.used_bytes,
            "buffer_bytes": self.buffer_bytes,
            "silent_frames": self.silent_frames,
            "silent_clips": self.silent_clips,
        })
    }
}
