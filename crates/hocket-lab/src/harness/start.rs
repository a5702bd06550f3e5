//! One process start, from outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::child::{Message, Spec};
use super::layout::PADDING;

/// How the program starts itself to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// What makes it call [`super::child::serve`].
    pub arguments: Vec<String>,
}

/// How a process start ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// As planned; whether by the time limit.
    Done { time_over: bool },
    /// The apparatus could not be prepared.
    NotMeasurable(String),
    /// The user stopped it.
    Stopped,
    /// It ended, or had to be ended, before it was done.
    Died(String),
}

/// How often the parent looks whether it is to stop; it sleeps in between, away from what is measured.
const LOOK: Duration = Duration::from_millis(200);

/// A child may take so long until it is ready: it calibrates every variant, also where other programs take the CPUs.
const OPENS: Duration = Duration::from_secs(60);

/// Of what a child writes to standard error, so much is kept.
const KEPT_STDERR: u64 = 4096;

/// Starts a child, hands every turn and fault to `take`, and ends it when it is done, when `stop` is
/// set, or when nothing has come from it for `patience`, or until it is ready for [`OPENS`]. Its own time limit ends a child
/// that is merely slow.
pub(super) fn run(
    launcher: &Launcher,
    spec: &Spec,
    patience: Duration,
    stop: &AtomicBool,
    mut take: impl FnMut(Message) -> Result<(), super::RunError>,
) -> Result<Ending, super::RunError> {
    let mut child = match spawn(launcher, spec) {
        Ok(child) => Guard(child),
        Err(why) => return Ok(Ending::Died(why)),
    };
    let begun = listen(&mut child.0).and_then(|messages| Ok((messages, complaints(&mut child.0)?)));
    let (messages, complaints) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            let why = format!(
                "no thread can listen to it: {error}; raise the limit of processes (`ulimit -u`, pids.max)"
            );
            return Ok(Ending::Died(why));
        }
    };
    let (mut heard, mut may_take) = (Instant::now(), patience.max(OPENS));
    let ending = loop {
        if stop.load(Relaxed) {
            break Ending::Stopped;
        }
        if heard.elapsed() > may_take {
            let seconds = may_take.as_secs_f64();
            break Ending::Died(format!(
                "nothing came from it for {seconds:.0} s, and it was ended"
            ));
        }
        match messages.recv_timeout(LOOK) {
            Ok(Message::Done { time_over }) => break Ending::Done { time_over },
            Ok(Message::NotMeasurable(why)) => break Ending::NotMeasurable(why),
            Ok(message) => {
                take(message)?;
                (heard, may_take) = (Instant::now(), patience);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // What was interrupted together with its parent did not die of itself.
            Err(RecvTimeoutError::Disconnected) if stop.load(Relaxed) => break Ending::Stopped,
            Err(RecvTimeoutError::Disconnected) => break Ending::Died(String::new()),
        }
    };
    Ok(match ending {
        Ending::Died(why) if why.is_empty() => {
            std::thread::sleep(LOOK);
            if stop.load(Relaxed) {
                Ending::Stopped
            } else {
                Ending::Died(child.last_words(complaints))
            }
        }
        ending => ending,
    })
}

fn spawn(launcher: &Launcher, spec: &Spec) -> Result<Child, String> {
    let text = serde_json::to_string(spec).map_err(|error| error.to_string())?;
    let mut child = Command::new(&launcher.program)
        .args(&launcher.arguments)
        .env(PADDING, "x".repeat(spec.layout.environment as usize))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", launcher.program.display()))?;
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    match written {
        Some(Ok(())) => Ok(child),
        // It ended before it read all; its own last words tell more.
        _ => Ok(child),
    }
}

/// Reads messages on a thread that sleeps while nothing comes.
fn listen(child: &mut Child) -> std::io::Result<Receiver<Message>> {
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::Builder::new().spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Other lines are what an experiment printed by mistake.
                if let Ok(message) = serde_json::from_str(&line)
                    && sender.send(message).is_err()
                {
                    break;
                }
            }
        })?;
    }
    Ok(receiver)
}

/// The same for what it complains of.
fn complaints(child: &mut Child) -> std::io::Result<Option<JoinHandle<String>>> {
    let stderr = child.stderr.take();
    stderr.map(|stderr| std::thread::Builder::new().spawn(|| tail(stderr))).transpose()
}

fn tail(stderr: ChildStderr) -> String {
    let mut text = Vec::new();
    let mut stderr = stderr;
    let _ = stderr.by_ref().take(KEPT_STDERR).read_to_end(&mut text);
    // The rest is read so that the child does not wait for room.
    let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    String::from_utf8_lossy(&text).trim().to_string()
}

/// Ends the child with whoever started it.
struct Guard(Child);

impl Guard {
    fn last_words(mut self, complaints: Option<JoinHandle<String>>) -> String {
        let status =
            self.0.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let said = complaints.and_then(|thread| thread.join().ok()).unwrap_or_default();
        match said.is_empty() {
            true => format!("it ended early ({status})"),
            false => format!("it ended early ({status}): {said}"),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
