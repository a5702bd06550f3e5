//! What became of a take, for people and for programs.

use hocket_devices::Latency;
use hocket_disk::{Missing, TakeReport};
use hocket_lab::numbers::counted;
use serde_json::{Value, json};

use super::alignment::Aligned;
use super::{PATIENCE, Wanted};

/// So many places at which frames are missing are in a line for people.
const PLACES_TOLD: usize = 3;
/// And so many in JSON. The manifest has more.
const PLACES_IN_JSON: usize = 100;

/// A take that has ended.
pub(crate) struct Ended {
    take_of: Wanted,
    aligned: Aligned,
    /// So many frames are missing at its end, because others were left out at its start.
    short_frames: u64,
    /// What the device's latency became while it was recorded. `None`: it stayed.
    other_latency: Option<Latency>,
    /// `None`: the disk does not answer.
    report: Option<TakeReport>,
}

impl Ended {
    /// `short_frames`: how many it has less than the song, because the run ended too early for them.
    pub(super) fn new(
        take_of: Wanted,
        (aligned, short_frames): (Aligned, u64),
        report: Option<TakeReport>,
    ) -> Ended {
        Ended { take_of, aligned, short_frames, other_latency: None, report }
    }

    /// Whether the disk has answered.
    pub(super) fn has_report(&self) -> bool {
        self.report.is_some()
    }

    /// The device's latency has changed while it was recorded, and is this at the end.
    pub(crate) fn note_latency(&mut self, latency: Latency) {
        self.other_latency = Some(latency).filter(|_| self.aligned.follows_device());
    }

    /// Whether the file has every frame as it was played.
    pub(crate) fn is_whole(&self) -> bool {
        self.report.as_ref().is_some_and(|report| {
            let lost = report.events.map_or(0, |events| events.lost);
            report.error.is_none()
                && report.silent_frames == 0
                && report.missing_frames == 0
                && report.not_finite == 0
                && lost == 0
        })
    }

    /// For people.
    pub(crate) fn line(&self) -> String {
        let Wanted { name, file, .. } = &self.take_of;
        let begin = format!("take {name}: {}: ", file.display());
        let Some(report) = &self.report else {
            return begin
                + &format!(
                    "the disk has not answered for {} s; when it does, complete the file with `hocket recover`",
                    PATIENCE.as_secs()
                );
        };
        // A number of frames is one to copy.
        let frames = if report.frames == 1 { "frame" } else { "frames" };
        let mut line = begin + &format!("{} {frames}", report.frames);
        if let Some(events) = report.events {
            line += &format!(", {}", counted(events.written as usize, "message"));
            if events.left_out > 0 {
                let left_out = counted(events.left_out as usize, "event");
                line += &format!(", {left_out} left out, which MIDI files cannot hold");
            }
            if events.lost > 0 {
                let lost = counted(events.lost as usize, "event");
                line += &format!(", {lost} lost because the disk was too slow");
            }
        }
        if report.silent_frames > 0 {
            let first = report.silences.first().map_or(0, |silence| silence.at_frame);
            line += &format!(
                ", {} of them silent, the first at frame {first}, because the disk was too slow",
                report.silent_frames
            );
        }
        if report.missing_frames > 0 {
            line += &format!(", and {}", missing_text(report));
        }
        if report.clipped > 0 {
            let clipped = counted(report.clipped as usize, "sample");
            line += &format!(", {clipped} clipped at full scale");
        }
        if report.not_finite > 0 {
            let silent = counted(report.not_finite as usize, "sample");
            line += &format!(", {silent} silent, not finite before");
        }
        line += &self.alignment_text();
        if let Some(error) = &report.error {
            line += &format!("; it ended early: {error}");
        }
        line
    }

    /// What was done so that it is in time with the song.
    fn alignment_text(&self) -> String {
        let mut text = self.aligned.text();
        if self.short_frames > 0 {
            let short = self.short_frames;
            text += &format!(
                ", and {short} frames shorter for that, because the play ended before they came in"
            );
        }
        if let Some(latency) = &self.other_latency {
            let way = |frames: Option<u32>| {
                frames.map_or("unknown".into(), |frames| format!("{frames} frames"))
            };
            text += &format!(
                ", the latency changed meanwhile to out {}, in {}: nothing was moved for that",
                way(latency.out_frames),
                way(latency.in_frames)
            );
        }
        text
    }

    fn alignment_json(&self) -> Value {
        let mut all = self.aligned.json();
        all["short_frames"] = self.short_frames.into();
        all["latency_changed"] = json!(self.other_latency.map(|latency| json!({
            "out_frames": latency.out_frames,
            "in_frames": latency.in_frames,
            "rate_hz": latency.rate_hz,
        })));
        all
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let report = self.report.as_ref();
        json!({
            "bus": self.take_of.name,
            "file": self.take_of.file.display().to_string(),
            "whole": self.is_whole(),
            "aligned": self.alignment_json(),
            "frames": report.map(|report| report.frames),
            "silent_frames": report.map(|report| report.silent_frames),
            "missing_frames": report.map(|report| report.missing_frames),
            "missing_places": report.map(|report| report.missing_places),
            "missing": report.map(|report| missing_json(&report.missing)),
            "clipped": report.map(|report| report.clipped),
            "not_finite": report.map(|report| report.not_finite),
            "events": report.and_then(|report| report.events).map(|events| json!({
                "written": events.written,
                "left_out": events.left_out,
                "lost": events.lost,
            })),
            "error": report.and_then(|report| report.error.as_ref()).map(ToString::to_string),
        })
    }
}

/// `96000 frames of the input never arrived, because periods were skipped: before the take's frames 480, 9600 and 2 more places`.
fn missing_text(report: &TakeReport) -> String {
    let first: Vec<String> =
        report.missing.iter().take(PLACES_TOLD).map(|place| place.at_frame.to_string()).collect();
    let more = report.missing_places.saturating_sub(first.len() as u64);
    let more = if more > 0 { format!(" and {more} more places") } else { String::new() };
    format!(
        "{} frames of the input never arrived, because periods were skipped: before the take's frames {}{more}",
        report.missing_frames,
        first.join(", ")
    )
}

fn missing_json(places: &[Missing]) -> Value {
    let place =
        |Missing { at_frame, frames }: &Missing| json!({ "at_frame": at_frame, "frames": frames });
    places.iter().take(PLACES_IN_JSON).map(place).collect()
}
