//! What a run came to, for people and for programs.

use comfy_table::{Cell, CellAlignment, Table, presets};
use hocket_devices::{End, Xruns};
use hocket_engine::{Contained, FlightLog, Party, RefusedFades, ThreadReport};
use hocket_lab::numbers::counted;
use hocket_lab::stats::FOR_P99;
use hocket_machine::memory::LockReport;
use hocket_plugins::isolate::Report;
use hocket_plugins::watch::Finding;
use serde_json::{Value, json};

use super::blame::Faults;
use super::clocks::Clocks;
use super::meter::{Histogram, Meter};
use super::osc::Heard;
use super::sound::Sound;
use super::web::Served;
use crate::disk_silence::DiskSilence;
use crate::lost_events::NoRoom;
use crate::takes::Ended;
use crate::written::readable;

/// Everything that is told at the end.
pub(super) struct Outcome {
    pub session: String,
    /// The device and its latency.
    pub sound: Sound,
    /// Which transport led, as on the command line.
    pub transport: &'static str,
    pub frames: u32,
    pub rate_hz: u32,
    /// The device's at the end; where it is another, the session was converted.
    pub device_hz: u32,
    pub deadline_ns: u64,
    pub policy: [&'static str; 3],
    /// Why the sibling policy changes nothing on this machine.
    pub no_effect: Option<String>,
    /// What the sibling policy asked of the system and what came of it.
    pub protection: Option<String>,
    /// Whether memory is locked; `None`: it was not asked for.
    pub memory: Option<LockReport>,
    pub workers: usize,
    pub threads: Vec<ThreadReport>,
    pub meter: Meter,
    /// MIDI clocks that were sent or followed.
    pub clocks: Clocks,
    /// `None`: the device counts misses only.
    pub xruns: Option<Xruns>,
    /// Misses and xruns by party.
    pub faults: Faults,
    /// Whether the log that was asked for has every line.
    pub is_logged: bool,
    /// `None`: whoever explains has failed.
    pub log: Option<FlightLog>,
    pub limits: Vec<String>,
    pub contained: Vec<Contained>,
    /// What happened to plug-ins in processes of their own.
    pub isolated: Vec<Report>,
    /// Plug-ins without processes of their own that spoilt the sound again and again.
    pub plugin_faults: Vec<Finding>,
    /// Events and automation values that found no room in a block.
    pub no_room: NoRoom,
    /// What edits changed without a fade, although it should have faded.
    pub refused_fades: RefusedFades,
    /// Whether the user ended it.
    pub interrupted: bool,
    pub end: End,
    /// `None`: every file was in memory.
    pub disk: Option<Disk>,
    pub takes: Vec<Ended>,
    /// `None`: no port was asked for.
    pub heard: Option<Heard>,
    /// `None`: no page was asked for.
    pub served: Option<Served>,
}

/// What played from the disk.
pub(super) struct Disk {
    /// What was not there in time.
    pub silence: DiskSilence,
    /// How many streams, and how far ahead.
    pub summary: String,
    pub buffer_bytes: usize,
    /// Of the buffer, at the end.
    pub used_bytes: usize,
}

impl Disk {
    fn text(&self) -> String {
        let used = readable(self.used_bytes as u64);
        format!("disk: {}, {used} used\n{}", self.summary, self.silence.text())
    }

    fn json(&self) -> Value {
        let mut all = self.silence.json();
        all["buffer_bytes"] = self.buffer_bytes.into();
        all["used_bytes"] = self.used_bytes.into();
        all
    }
}

impl Outcome {
    fn rows(&self) -> [(&'static str, &'static str, &Histogram); 3] {
        let Meter { ready, duration, lateness, .. } = &self.meter;
        [
            ("ready_ns", "output ready after the planned start", ready),
            ("duration_ns", "block time, from the leader's awakening", duration),
            ("lateness_ns", "leader awake after the planned start", lateness),
        ]
    }

    /// Late blocks that nobody has explained.
    fn unexplained(&self) -> u64 {
        let explained = self.log.as_ref().map_or(0, |log| log.tally().total());
        self.meter.misses.late.saturating_sub(explained)
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = self.title();
        text += &format!("\n{}\n", self.table());
        let (mean, most) = (100.0 * self.meter.mean_load(), 100.0 * self.meter.most_load);
        text += &format!("load: mean {mean:.1} %, at most {most:.1} %\n");
        if self.meter.freewheeled > 0 {
            let blocks = counted(self.meter.freewheeled as usize, "block");
            text += &format!("freewheel: {blocks} without a deadline\n");
        }
        self.sound.lines().iter().for_each(|line| text += &format!("{line}\n"));
        if self.device_hz != self.rate_hz {
            text +=
                &format!("rate: the device ran at {} Hz at the end; converted\n", self.device_hz);
        }
        self.xruns.iter().for_each(|xruns| text += &xruns_text(xruns, &self.faults));
        text += &self.misses_text();
        self.clocks.lines().iter().for_each(|line| text += &format!("{line}\n"));
        self.disk.iter().for_each(|disk| text += &disk.text());
        self.takes.iter().for_each(|take| text += &format!("{}\n", take.line()));
        self.heard.iter().for_each(|heard| text += &format!("{}\n", heard.line()));
        self.served.iter().for_each(|served| text += &format!("{}\n", served.line()));
        for contained in &self.contained {
            text += &format!("{contained}\n");
        }
        self.isolated.iter().for_each(|report| text += &format!("{report}\n"));
        self.plugin_faults.iter().for_each(|finding| text += &format!("{finding}\n"));
        self.no_room.lines().for_each(|line| text += &format!("{line}\n"));
        if self.refused_fades.total() > 0 {
            text += &format!("edits: {}\n", self.refused_fades);
        }
        let refused = self.threads.iter().filter_map(|t| Some((&t.name, t.why.as_ref()?)));
        refused.for_each(|(name, why)| text += &format!("{name}: {why}\n"));
        if let Some(granted) = &self.protection {
            text += &format!("policy {}: {granted}\n", self.policy[1]);
        }
        if let Some(why) = self.memory.as_ref().and_then(|memory| memory.why.as_ref()) {
            text += &format!("memory: not locked: {why}\n");
        }
        self.no_effect
            .iter()
            .for_each(|why| text += &format!("policy {}: {why}\n", self.policy[1]));
        self.limits.iter().for_each(|limit| text += &format!("not seen here: {limit}\n"));
        text
    }

    fn title(&self) -> String {
        let seconds = self.meter.frames as f64 / f64::from(self.rate_hz);
        let ended = match (&self.end, self.interrupted) {
            (End::DeviceEnded(_), _) => ", ended by the device",
            (_, true) => ", interrupted",
            _ => "",
        };
        format!(
            "{}: {} of {} frames at {} Hz, {seconds:.1} s, deadline {:.0} µs, {}, {}\
             {ended}\n",
            self.session,
            counted(self.meter.blocks as usize, "block"),
            self.sound.lengths_text(),
            self.rate_hz,
            self.deadline_ns as f64 / 1e3,
            self.policy.join(" / "),
            counted(self.workers, "worker"),
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["", "p50 µs", "p99 µs", "max µs"]);
        for (_, what, times) in self.rows() {
            let p99 = (times.count() >= FOR_P99 as u64).then(|| times.quantile(0.99));
            let numbers = [Some(times.quantile(0.5)), p99, Some(times.max())];
            let cells = numbers.map(|ns| {
                let text = ns.map_or("-".into(), |ns| format!("{:.0}", ns as f64 / 1e3));
                Cell::new(text).set_alignment(CellAlignment::Right)
            });
            table.add_row(std::iter::once(Cell::new(what)).chain(cells));
        }
        table
    }

    fn misses_text(&self) -> String {
        let mut text = format!("misses: {}\n", self.meter.misses);
        if self.meter.misses.total() > 0 {
            let parts = Party::ALL.map(|party| (self.faults.misses(party), whose(party)));
            text += &format!("whose: {}\n", parts_text(&parts));
        }
        let Some(log) = &self.log else { return text };
        if log.tally().total() > 0 {
            text += &format!("\n{}\n\n", log.tally());
            let last = log.last();
            text += &format!("the last {} explained:\n", last.len());
            last.for_each(|verdict| text += &format!("  {}\n", verdict.text));
        }
        if self.unexplained() > 0 {
            text += &format!("{} late blocks came too fast to be explained\n", self.unexplained());
        }
        let worst = log.worst().and_then(|flight| flight.verdict.as_ref());
        worst.into_iter().for_each(|verdict| text += &format!("worst block: {}\n", verdict.text));
        text
    }

    /// The counts of the run, for the last line of its log.
    pub(super) fn counts(&self) -> Value {
        let Meter { blocks, freewheeled, misses, frames, .. } = &self.meter;
        json!({
            "seconds": *frames as f64 / f64::from(self.rate_hz),
            "blocks": blocks,
            "freewheeled": freewheeled,
            "misses": misses.total(),
            "late": misses.late,
            "skipped": misses.skipped,
            "whose": by_party(|party| self.faults.misses(party)),
            "causes": self.log.as_ref().map(FlightLog::tally),
            "unexplained": self.unexplained(),
            "xruns": self.xruns.as_ref().map(|_| by_party(|party| self.faults.xruns(party))),
            "incidents_lost": self.faults.lost,
            "interrupted": self.interrupted,
            "device_ended": self.device_ended(),
            "takes": self.takes.iter().map(Ended::json).collect::<Vec<_>>(),
            "limits": self.limits,
        })
    }

    fn device_ended(&self) -> Option<&String> {
        match &self.end {
            End::DeviceEnded(why) => Some(why),
            End::Finished | End::Stopped => None,
        }
    }

    /// For programs: one object.
    pub(super) fn json(&self) -> Value {
        let quantiles = |times: &Histogram| {
            json!({ "mean": times.mean(), "p50": times.quantile(0.5), "p99": times.quantile(0.99),
                    "max": times.max() })
        };
        let log = self.log.as_ref();
        let [lost_events, thinned_out] = self.no_room.json();
        let mut all = json!({
            "format": "hocket-play/1",
            "session": self.session,
            "frames": self.frames,
            "rate_hz": self.rate_hz,
            "device_rate_hz": self.device_hz,
            "deadline_ns": self.deadline_ns,
            "device": self.sound.device,
            "transport": self.transport,
            "clock": self.clocks.json(),
            "latency": self.sound.json(),
            "xruns": self.xruns.as_ref().map(|_| by_party(|party| self.faults.xruns(party))),
            "device_ended": self.device_ended(),
            "frames_played": self.meter.frames,
            "schedule": self.policy[0],
            "sibling": self.policy[1],
            "wait": self.policy[2],
            "policy_granted": self.protection,
            "memory_lock": self.memory,
            "no_effect_here": self.no_effect,
            "workers": self.workers,
            "threads": self.threads.iter().map(thread).collect::<Vec<_>>(),
            "blocks": self.meter.blocks,
            "misses": self.meter.misses.total(),
            "late": self.meter.misses.late,
            "skipped": self.meter.misses.skipped,
            "whose": by_party(|party| self.faults.misses(party)),
            "causes": log.map(FlightLog::tally),
            "unexplained": self.unexplained(),
            "explanations": log.map(|log| log.last().collect::<Vec<_>>()),
            "worst": log.and_then(FlightLog::worst).map(|flight| json!({
                "slack_ns": flight.times.slack_ns(),
                "verdict": flight.verdict,
                "trace": flight.evidence.trace,
            })),
            "limits": self.limits,
            "contained": self.contained.iter().map(contained).collect::<Vec<_>>(),
            "isolated": self.isolated,
            "plugin_faults": self.plugin_faults,
            "lost_events": lost_events,
            "thinned_out": thinned_out,
            "interrupted": self.interrupted,
            "disk": self.disk.as_ref().map(Disk::json),
            "takes": self.takes.iter().map(Ended::json).collect::<Vec<_>>(),
            "osc": self.heard.as_ref().map(Heard::json),
            "web": self.served.as_ref().map(Served::json),
        });
        all["device_frames"] = self.sound.lengths().into();
        all["freewheeled"] = self.meter.freewheeled.into();
        all["ports_lost"] = self.sound.lost().into();
        for (key, _, times) in self.rows() {
            all[key] = quantiles(times);
        }
        let RefusedFades { cycles, ports, outputs, too_large } = self.refused_fades;
        all["refused_fades"] = json!({
            "cycles": cycles,
            "ports": ports,
            "outputs": outputs,
            "too_large": too_large,
        });
        all
    }
}

/// `xruns: 3 (1 because a block took too long, 0 by the server, ..., 2 by the machine, 0 of unknown cause)`.
fn xruns_text(xruns: &Xruns, faults: &Faults) -> String {
    match xruns.total() {
        0 => "xruns: 0\n".into(),
        all => {
            let parts = Party::ALL.map(|party| (faults.xruns(party), whose(party)));
            format!("xruns: {all} ({})\n", parts_text(&parts))
        }
    }
}

fn parts_text(parts: &[(u64, &str)]) -> String {
    parts.iter().map(|(count, whose)| format!("{count} {whose}")).collect::<Vec<_>>().join(", ")
}

/// In words.
fn whose(party: Party) -> &'static str {
    match party {
        Party::Ours => "because a block took too long",
        Party::Server => "by the server, the card or other clients",
        Party::Machine => "by the machine and its other programs",
        Party::Unknown => "of unknown cause",
    }
}

/// A number for each party.
fn by_party(of: impl Fn(Party) -> u64) -> Value {
    Party::ALL.into_iter().map(|party| (party.name().to_owned(), Value::from(of(party)))).collect()
}

fn contained(node: &Contained) -> Value {
    json!({
        "node": node.node,
        "not_finite": node.not_finite,
        "failed": node.failed,
        "panic": node.message,
    })
}

fn thread(report: &ThreadReport) -> Value {
    json!({
        "name": report.name,
        "cpu_asked": report.cpu_asked,
        "cpus_got": report.cpus_got,
        "class_asked": report.class_asked,
        "class_got": report.class_got,
        "why": report.why,
    })
}
