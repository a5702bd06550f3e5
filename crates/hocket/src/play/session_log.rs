//! `--log`: a file with a line of JSON for each miss, each xrun, each take that fails, each change of the device's rate, and each of
//! schedule, sibling policy or wait.
//!
//! A thread of its own writes it, so a disk that is slow holds up nobody. Lines wait in a queue with an end, and the file
//! has an end, too. What finds no room is counted, and the last line has the count.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hocket_engine::{Party, monotonic_ns};
use hocket_lab::about::to_the_millisecond;
use serde_json::{Value, json};

use super::blame::Explained;
use super::incidents::Incident;
use super::shown::TakeShown;
use crate::failure::Failure;
use crate::output::tell;

/// The format of the file, in its first line.
pub(crate) const FORMAT: &str = "hocket-play-log/1";
/// Lines that wait for the disk at most.
const QUEUE: usize = 4096;
/// Lines between the first and the last one at most: some 100 MB.
const MOST_LINES: u64 = 100_000;
/// So long the end of a run waits for the disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// A line on its way.
enum Line {
    Event(Value),
    /// The last one.
    End(Value),
}

/// The log of a run that goes on.
pub(super) struct SessionLog {
    path: PathBuf,
    lines: SyncSender<Line>,
    thread: JoinHandle<bool>,
    /// The first frame of the run, on the monotonic clock.
    begun_ns: u64,
    rate_hz: u32,
    /// Lines that found no room in the queue.
    left_out: u64,
}

impl SessionLog {
    /// Creates the file and writes its first line: `facts` of the run. `replaces`: an earlier log may go.
    ///
    /// # Errors
    /// A file came there since the files of the command were checked: exit code 2. It cannot be created, another run writes
    /// it, or no thread can start: exit code 3.
    pub(super) fn begin(
        path: &Path,
        replaces: bool,
        rate_hz: u32,
        facts: Value,
    ) -> Result<SessionLog, Failure> {
        let not_possible = |error: std::io::Error| {
            Failure::not_possible(format!(
                "--log {}: cannot be written: {error}; choose a file that you may write",
                path.display()
            ))
        };
        let file = open(path, replaces)?.map_err(not_possible)?;
        let (lines, incoming) = sync_channel(QUEUE);
        let mut writer =
            Writer { file, path: path.into(), good: 0, lines: 0, left_out: 0, has_failed: false };
        writer.put(&first_line(facts));
        let named = std::thread::Builder::new().name("hocket-log".into());
        let thread = named.spawn(move || writer.run(&incoming)).map_err(not_possible)?;
        let begun_ns = monotonic_ns();
        Ok(SessionLog { path: path.into(), lines, thread, begun_ns, rate_hz, left_out: 0 })
    }

    /// Logs an incident. Never waits for the disk.
    pub(super) fn incident(
        &mut self,
        incident: &Incident,
        whose: Party,
        explained: Option<&Explained>,
    ) {
        self.put(self.line_of(incident, whose, explained));
    }

    /// Logs that somebody changed schedule, sibling policy or wait. `granted`: what came of the policy's requests. Never waits
    /// for the disk.
    pub(super) fn change(
        &mut self,
        [schedule, sibling, wait]: [&'static str; 3],
        granted: Option<String>,
    ) {
        let mut line = json!({
            "event": "change", "schedule": schedule, "sibling": sibling, "wait": wait, "policy_granted": granted,
        });
        self.stamp(&mut line, monotonic_ns());
        self.put(line);
    }

    /// Logs that a take loses frames, or has ended early. Never waits for the disk.
    pub(super) fn take(&mut self, take: &TakeShown) {
        let mut line = take.json();
        line["event"] = "take".into();
        self.stamp(&mut line, monotonic_ns());
        self.put(line);
    }

    /// Logs that the device has another rate than before. Never waits for the disk.
    pub(super) fn device_rate(&mut self, rate_hz: u32) {
        let mut line =
            json!({ "event": "rate", "device_rate_hz": rate_hz, "rate_hz": self.rate_hz });
        self.stamp(&mut line, monotonic_ns());
        self.put(line);
    }

    /// Logs what has changed of the device. Never waits for the disk.
    pub(super) fn event(&mut self, mut line: Value) {
        self.stamp(&mut line, monotonic_ns());
        self.put(line);
    }

    fn put(&mut self, line: Value) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Line::Event(line)) {
            self.left_out += 1;
        }
    }

    fn stamp(&self, line: &mut Value, at_ns: u64) {
        line["at"] = wall_clock(at_ns).into();
        line["after_s"] = (at_ns.saturating_sub(self.begun_ns) as f64 / 1e9).into();
    }

    fn line_of(&self, incident: &Incident, whose: Party, explained: Option<&Explained>) -> Value {
        let (mut line, at_ns) = match incident {
            Incident::Miss(miss) => {
                let event = if miss.late_ns > 0 { "late" } else { "skipped" };
                let line = json!({
                    "event": event, "block": miss.last, "frames": miss.frames,
                    "late_ns": miss.late_ns, "late_frames": self.frames(miss.late_ns),
                    "skipped_periods": miss.skipped,
                });
                (line, miss.due_ns)
            }
            Incident::Xrun(xrun) => {
                let cycle = xrun.cycle;
                let line = json!({
                    "event": "xrun", "count": xrun.count, "block": cycle.and_then(|cycle| cycle.block),
                    "late_ns": cycle.map(|cycle| cycle.late_ns),
                    "late_frames": cycle.map(|cycle| self.frames(cycle.late_ns)),
                });
                (line, xrun.at_ns)
            }
        };
        self.stamp(&mut line, at_ns);
        line["whose"] = whose.name().into();
        line["cause"] = explained.map(|explained| explained.verdict.cause.name()).into();
        line["text"] = explained.map(|explained| &*explained.verdict.text).into();
        line["others"] = json!(explained.map(|explained| &explained.verdict.others));
        line["seats"] = json!(explained.map(|explained| &explained.seats));
        line
    }

    /// Every frame that began to be late counts.
    fn frames(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.rate_hz)).div_ceil(1_000_000_000) as u64
    }

    /// Writes the last line, with these counts. Returns whether the file has every line that it was to have.
    pub(super) fn end(self, mut counts: Value) -> bool {
        let until = Instant::now() + PATIENCE;
        counts["event"] = "end".into();
        counts["at"] = wall_clock(monotonic_ns()).into();
        counts["lines_left_out"] = self.left_out.into();
        let mut line = Line::End(counts);
        while let Err(TrySendError::Full(back)) = self.lines.try_send(line) {
            if Instant::now() >= until {
                return self.gives_up();
            }
            line = back;
            std::thread::sleep(Duration::from_millis(10));
        }
        while !self.thread.is_finished() {
            if Instant::now() >= until {
                return self.gives_up();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.thread.join().unwrap_or(false)
    }

    fn gives_up(&self) -> bool {
        tell(format_args!(
            "warning: --log {}: the disk has not answered for {} s; the log is not complete",
            self.path.display(),
            PATIENCE.as_secs()
        ));
        false
    }
}

/// A new file, or an earlier log that may be replaced, and nobody else's while it is open. The outer error has a message of
/// its own.
fn open(path: &Path, replaces: bool) -> Result<std::io::Result<File>, Failure> {
    // Whatever is there is emptied only when nobody else writes it.
    let file = match OpenOptions::new().write(true).create(true).truncate(false).open(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let Ok(there) = file.metadata() else { return Ok(Ok(file)) };
    if !there.is_file() {
        // A pipe or a device takes what it gets.
        return Ok(Ok(file));
    }
    // A file system without locks refuses in another way, and there the length alone counts.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(Failure::not_possible(format!(
            "--log {}: another run writes this log, and it was not changed; name another file",
            path.display()
        )));
    }
    // Again, because the one that has written it may have ended before the lock.
    let bytes = file.metadata().map_or(there.len(), |there| there.len());
    match bytes {
        0 => Ok(Ok(file)),
        _ if replaces => Ok(file.set_len(0).map(|()| file)),
        _ => Err(Failure::bad_input(format!(
            "--log {}: a file came here while the session was loaded, and it was not changed; name another file, or replace it \
             with --force",
            path.display()
        ))),
    }
}

fn first_line(mut facts: Value) -> Value {
    facts["format"] = FORMAT.into();
    facts["event"] = "start".into();
    facts["at"] = wall_clock(monotonic_ns()).into();
    facts["hocket"] = env!("CARGO_PKG_VERSION").into();
    facts
}

/// The time of day of a moment on the monotonic clock, as both clocks stand now.
fn wall_clock(at_ns: u64) -> String {
    let ago = Duration::from_nanos(monotonic_ns().saturating_sub(at_ns));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    to_the_millisecond(now.saturating_sub(ago))
}

/// Writes line after line. Thread: its own.
struct Writer {
    file: File,
    path: PathBuf,
    /// The length of all whole lines.
    good: u64,
    lines: u64,
    left_out: u64,
    has_failed: bool,
}

impl Writer {
    /// Returns whether every line is written.
    fn run(mut self, incoming: &Receiver<Line>) -> bool {
        for line in incoming {
            match line {
                Line::Event(_) if self.lines >= MOST_LINES || self.has_failed => self.left_out += 1,
                Line::Event(line) => {
                    self.lines += 1;
                    self.put(&line);
                }
                Line::End(mut line) => {
                    let before = line["lines_left_out"].as_u64().unwrap_or(0);
                    line["lines_left_out"] = (before + self.left_out).into();
                    self.put(&line);
                    break;
                }
            }
        }
        !self.has_failed
    }

    /// In one call, so that a killed program leaves whole lines. What was written of one that does not fit is taken back.
    fn put(&mut self, line: &Value) {
        let text = format!("{line}\n");
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => self.good += text.len() as u64,
            Err(error) => {
                let _ = self.file.set_len(self.good);
                let _ = self.file.seek(SeekFrom::Start(self.good));
                self.left_out += 1;
                self.tell_once(&error);
            }
        }
    }

    fn tell_once(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.has_failed, true) {
            let why = match error.kind() {
                ErrorKind::StorageFull => "the disk is full; free some space".into(),
                _ => error.to_string(),
            };
            tell(format_args!(
                "warning: --log {}: cannot be written: {why}. The session plays on, and the log ends here",
                self.path.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exit;

    #[test]
    fn a_log_that_came_meanwhile_stays_and_two_runs_never_share_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let begin = |replaces| SessionLog::begin(&path, replaces, 48_000, json!({}));
        let text = || std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "evidence\n").unwrap();
        let refused = begin(false).err().unwrap();
        assert_eq!((refused.exit, &*text()), (Exit::BadInput, "evidence\n"), "{refused}");

        let first = begin(true).unwrap();
        let begun = text();
        assert!(begun.starts_with('{') && begun.contains("\"start\""), "{begun}");
        for replaces in [false, true] {
            let refused = begin(replaces).err().unwrap();
            assert_eq!((refused.exit, text()), (Exit::NotPossible, begun.clone()), "{refused}");
        }
        assert!(first.end(json!({ "lines_left_out": 0 })));
        assert!(text().starts_with(&begun) && text().lines().count() == 2, "{}", text());
        // Nobody writes it any more.
        assert!(begin(true).unwrap().end(json!({})));
    }

    #[test]
    fn a_file_that_is_empty_is_nobodys_evidence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, "").unwrap();
        assert!(SessionLog::begin(&path, false, 48_000, json!({})).unwrap().end(json!({})));
    }
}
