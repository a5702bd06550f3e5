//! What a soak came to: a summary for people, a record for programs, and whether anything of Hocket's failed.

use std::path::Path;

use serde_json::{Value, json};

use crate::counting::Recording;
use crate::memory::Growth;
use crate::origin::Origin;

/// How much a process may grow between the second quarter of the time and the last.
const MOST_GROWTH: u64 = 32 << 20;

/// How the program ended.
pub struct Ended {
    pub code: Option<i32>,
    /// Its result; null if it gave none.
    pub result: Value,
    /// What it said on standard error.
    pub messages: String,
    /// Lines that it printed.
    pub looks: u64,
    /// It did not end by itself.
    pub hung: bool,
}

/// Everything.
pub struct Soak {
    pub origin: Origin,
    pub device: String,
    pub seconds: u32,
    pub seed: u64,
    pub load: usize,
    pub sent: u64,
    pub transport_edits: u64,
    pub memory: Growth,
    pub counted: Recording,
    pub master: Recording,
    pub ended: Ended,
}

impl Soak {
    /// What of Hocket's failed. Lateness of the machine is not among it.
    pub fn failures(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut fails = |failed: bool, what: String| all.extend(failed.then_some(what));
        let Ended { code, result, messages, hung, .. } = &self.ended;
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        fails(*hung, "the program did not end by itself".into());
        fails(messages.contains("panicked"), "a thread panicked".into());
        if result["format"] != "hocket-play/1" {
            fails(true, format!("there is no result; the exit code is {code:?}"));
            return all;
        }
        let late_disk = self.silent_frames() > 0;
        let usual = *code == Some(0) || (*code == Some(3) && late_disk);
        fails(!usual, format!("the exit code is {code:?}"));
        fails(
            !result["device_ended"].is_null(),
            format!("the device ended: {}", result["device_ended"]),
        );
        let contained = result["contained"].as_array().map_or(0, Vec::len);
        fails(contained > 0, format!("{contained} nodes put out what is no number, or panicked"));
        fails(
            self.sent > 0 && number(&result["osc"]["obeyed"]) == 0,
            "no message was obeyed".into(),
        );
        fails(
            number(&result["osc"]["malformed"]) > 0,
            "a message of ours was taken for no OSC".into(),
        );
        fails(number(&result["osc"]["unknown"]) > 0, "an address of ours was not known".into());
        for take in result["takes"].as_array().into_iter().flatten() {
            let error = &take["error"];
            fails(!error.is_null(), format!("the take of {} ended early: {error}", take["bus"]));
        }
        for (name, recording) in self.recordings() {
            let Recording { frames, frames_played, not_finite, error, .. } = recording;
            if let Some(error) = error {
                fails(true, format!("the recording of {name}: {error}"));
                continue;
            }
            fails(
                frames != frames_played,
                format!(
                    "the recording of {name} has {frames} frames, and {frames_played} were played"
                ),
            );
            fails(
                *not_finite > 0,
                format!("the recording of {name}: {not_finite} samples are no numbers"),
            );
        }
        let (breaks, explained) = (self.counted.breaks, self.explained_breaks());
        fails(
            breaks > explained,
            format!(
                "the recording breaks off {breaks} times, and {explained} edits and silences explain it"
            ),
        );
        fails(
            self.counted.unlike > 0,
            format!("both sides of the recording differ in {} frames", self.counted.unlike),
        );
        fails(self.grown() > MOST_GROWTH, format!("memory grew by {}", mib(self.grown())));
        all
    }

    fn recordings(&self) -> [(&'static str, &Recording); 2] {
        [("the counting track", &self.counted), ("the master", &self.master)]
    }

    fn takes(&self) -> impl Iterator<Item = &Value> {
        self.ended.result["takes"].as_array().into_iter().flatten()
    }

    /// Frames that a slow disk left silent.
    fn silent_frames(&self) -> u64 {
        self.takes().filter_map(|take| take["silent_frames"].as_u64()).sum()
    }

    /// A silence of a slow disk breaks the counting twice; its frames are at least so many.
    fn explained_breaks(&self) -> u64 {
        self.transport_edits + 2 * self.silent_frames()
    }

    fn grown(&self) -> u64 {
        self.memory.last_quarter_bytes.saturating_sub(self.memory.second_quarter_bytes)
    }

    /// For people.
    pub fn summary(&self) -> String {
        let (result, memory) = (&self.ended.result, &self.memory);
        let causes = result["causes"].as_object().into_iter().flatten();
        let causes: Vec<String> = causes
            .filter(|(_, count)| count.as_u64() != Some(0))
            .map(|(cause, count)| format!("{count} {cause}"))
            .collect();
        let causes =
            if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        let mut text = format!(
            "soak: {} s on {}, {} threads computing beside it, seed {}\n\
             blocks: {}, misses: {}{causes}\n\
             edits: {} sent, {} obeyed, {} of them moved the song\n\
             memory: {} in the second quarter, {} in the last, {} at most\n",
            self.seconds,
            self.device,
            self.load,
            self.seed,
            result["blocks"],
            result["misses"],
            self.sent,
            result["osc"]["obeyed"],
            self.transport_edits,
            mib(memory.second_quarter_bytes),
            mib(memory.last_quarter_bytes),
            mib(memory.most_bytes),
        );
        for (name, recording) in self.recordings() {
            let Recording { frames, frames_played, .. } = recording;
            text += &format!("recording of {name}: {frames} of {frames_played} frames\n");
        }
        text += &format!(
            "counting: {} breaks, {} explained by edits; {} frames silent because of the disk\n",
            self.counted.breaks,
            self.explained_breaks(),
            self.silent_frames()
        );
        match &self.failures()[..] {
            [] => text += "nothing of Hocket's failed\n",
            failures => failures.iter().for_each(|what| text += &format!("soak: FAILED: {what}\n")),
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let mut record = json!({
            "format": "hocket-soak/1",
            "device": self.device,
            "seconds": self.seconds,
            "seed": self.seed,
            "load_threads": self.load,
            "failures": self.failures(),
            "edits": { "sent": self.sent, "transport": self.transport_edits },
            "memory": self.memory,
            "recordings": { "counting": self.counted, "master": self.master },
            "explained_breaks": self.explained_breaks(),
            "exit_code": self.ended.code,
            "lines": self.ended.looks,
            "result": without_folders(self.ended.result.clone()),
            "messages": self.ended.messages,
        });
        self.origin.put_into(&mut record);
        record
    }
}

/// A record names no folder of the machine.
fn without_folders(mut result: Value) -> Value {
    for take in result["takes"].as_array_mut().into_iter().flatten() {
        let name = take["file"].as_str().and_then(|file| Path::new(file).file_name()?.to_str());
        take["file"] = name.map(str::to_owned).into();
    }
    result
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
