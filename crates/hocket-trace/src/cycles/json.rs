//! What `pw-profiler -J` prints: an object on each line, with times in nanoseconds on the monotonic clock.
//!
//! ```text
//! [{ "type": "info", ... },
//! { "type": "clock", ..., "rate": "1/48000", "duration": 1024, ... },
//! { "type": "driver", "id": 52, "name": "alsa_output", "prev": ..., "signal": ..., "awake": ..., "finish": ..., "status": "finished", ... },
//! { "type": "follower", "id": 80, "name": "jalv", "prev": ..., "signal": ..., "awake": ..., "finish": ..., "status": "finished", ... },
//! ```
//!
//! A clock, a driver and its followers are one cycle. The lines of several drivers come by turns; the first one is read.
//! PipeWire does not escape names, so a line is read by itself, and one with an odd name is left out.

use serde::Deserialize;

use super::{Client, Cycle, Cycles, LONGEST_NS};
use crate::words::counted;

/// Bytes of a name that are kept.
const LONGEST_NAME: usize = 128;

/// What of an object is read. Each kind has some of it.
#[derive(Deserialize)]
struct Object {
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<u32>,
    name: Option<String>,
    rate: Option<String>,
    duration: Option<u64>,
    signal: Option<u64>,
    awake: Option<u64>,
    finish: Option<u64>,
    status: Option<String>,
}

/// The cycle whose lines come now.
#[derive(Default)]
pub(super) struct Json {
    /// Frames and rate of the clock that came last.
    clock: Option<(u64, u32)>,
    cycle: Option<(u64, Cycle)>,
    driver: Option<u32>,
    last_signal_ns: u64,
    /// Cycles of other drivers, and cycles that begin before the one before.
    others: u64,
    went_back: u64,
}

impl Json {
    /// Takes in a line. `None`: it is no such line.
    pub fn line(&mut self, text: &str, cycles: &mut Cycles) -> Option<()> {
        let text = text.trim().trim_start_matches('[').trim_start();
        let text = text.trim_end_matches(']').trim_end().trim_end_matches(',');
        if text.is_empty() {
            return Some(());
        }
        let object: Object = serde_json::from_str(text).ok()?;
        match object.kind.as_deref() {
            Some("clock") => {
                self.end(cycles);
                self.clock = Some((object.duration?, rate_hz(object.rate.as_deref()?)?));
            }
            Some("driver") => {
                self.end(cycles);
                self.driver(&object, cycles)?;
            }
            Some("follower") => {
                let client = self.client(&object)?;
                if let Some((_, cycle)) = &mut self.cycle
                    && cycle.clients.len() < super::MOST_CLIENTS
                {
                    cycle.clients.push(client);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Ends a cycle whose lines have all come.
    pub fn end(&mut self, cycles: &mut Cycles) {
        if let Some((start_ns, cycle)) = self.cycle.take() {
            cycles.add(start_ns, &cycle);
        }
    }

    /// A sentence each.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if self.others > 0 {
            let cycles = counted(self.others, "cycle");
            limits.push(format!("{cycles} left out, of other drivers than the first"));
        }
        if self.went_back > 0 {
            let cycles = counted(self.went_back, "cycle");
            limits.push(format!("{cycles} left out, with an earlier begin than the one before"));
        }
        limits
    }

    fn driver(&mut self, object: &Object, cycles: &mut Cycles) -> Option<()> {
        let (id, signal) = (object.id?, object.signal?);
        let awake_ns = since(signal, object.awake?).unwrap_or(0);
        let finished_ns = since(signal, object.finish?).unwrap_or(0);
        let first = *self.driver.get_or_insert(id);
        if id != first {
            self.others += 1;
            return Some(());
        }
        if signal < self.last_signal_ns || signal >= 1 << 61 {
            self.went_back += 1;
            return Some(());
        }
        self.last_signal_ns = signal;
        let clock = self.clock.filter(|(frames, rate)| *frames > 0 && *rate > 0);
        let period_ns = clock.and_then(|(frames, rate)| {
            let ns = u128::from(frames) * 1_000_000_000 / u128::from(rate);
            i64::try_from(ns).ok().filter(|ns| *ns <= LONGEST_NS)
        });
        if let (Some((frames, rate)), true) = (clock, cycles.driver.is_empty()) {
            (cycles.frames, cycles.rate_hz) = (u32::try_from(frames).unwrap_or(0), rate);
            cycles.driver = title(object)?;
        }
        let cycle = Cycle { awake_ns, finished_ns, period_ns, ..Cycle::default() };
        self.cycle = Some((signal, cycle));
        Some(())
    }

    fn client(&self, object: &Object) -> Option<Client> {
        let (signaled, awake, finished) = (object.signal?, object.awake?, object.finish?);
        let begin = self.cycle.as_ref().map_or(0, |(begin, _)| *begin);
        let time = |at| since(begin, at).unwrap_or(-1);
        Some(Client {
            name: title(object)?,
            signaled_ns: time(signaled),
            awake_ns: time(awake),
            finished_ns: time(finished),
            has_finished: object.status.as_deref() == Some("finished"),
        })
    }
}

/// From `begin` to `at`; `None`: longer than any cycle.
fn since(begin: u64, at: u64) -> Option<i64> {
    let ns = i128::from(at) - i128::from(begin);
    i64::try_from(ns).ok().filter(|ns| ns.abs() <= LONGEST_NS)
}

/// `1/48000`.
fn rate_hz(text: &str) -> Option<u32> {
    text.split_once('/')?.1.parse().ok()
}

/// `jalv (80)`: names are not unique.
fn title(object: &Object) -> Option<String> {
    let name: String = object.name.as_deref()?.chars().take(LONGEST_NAME).collect();
    Some(format!("{name} ({})", object.id?))
}
