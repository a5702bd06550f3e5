//! One process start of a bench, from outside ([`Start::run`]) and from inside ([`serve`]).
//!
//! The parent starts this program again with the same options and [`BenchArgs::start_of`]. The child loads the session,
//! measures, and answers with one [`Message`] a line on standard output. `SIGTERM` asks it to stop; it then tells what
//! it has. The kernel sends it the same when the parent ends, so none is left behind.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hocket_lab::bench::{BenchError, BenchInput, BenchPlan, Progress};
use hocket_lab::disturb::{DisturbError, PreviewSource};
use hocket_lab::record::BenchRecord;
use hocket_plugins::isolate::Pace;
use indicatif::ProgressBar;
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

use crate::cli::{BenchArgs, Fill, LanesArg};
use crate::failure::{Exit, Failure};
use crate::load::project::windows_for;
use crate::load::streams::{DiskUse, Wait};
use crate::load::{LoadedSession, OpenedSession};
use crate::output::{talk_flag, tell};
use crate::profile::Known;

/// What a start tells its parent.
#[derive(Serialize, Deserialize)]
enum Message {
    /// So many turns are done.
    Done(usize),
    /// Everything that was measured; the last message.
    Record(Box<BenchRecord>),
}

/// How often the parent looks whether it is to stop; it sleeps in between, away from what is measured.
const LOOK: Duration = Duration::from_millis(100);

/// How long a start that was asked to stop may take to tell what it has.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process start that is to be measured.
pub(crate) struct Start<'a> {
    /// Its share of the whole plan.
    pub(crate) plan: &'a BenchPlan,
    /// The options that a plan does not have.
    pub(crate) args: &'a BenchArgs,
    /// The session, where nobody can read it again.
    pub(crate) text: Option<&'a str>,
    /// Its number, from 0, and how many there are.
    pub(crate) place: (usize, usize),
}

/// How it went.
pub(crate) struct Ended {
    /// What was measured, whole turns.
    pub(crate) record: Option<BenchRecord>,
    /// Why that is not all.
    pub(crate) failure: Option<Failure>,
}

impl Start<'_> {
    /// Runs it to its end, or until `stop` is set; `before` turns of the run are done already.
    pub(crate) fn run(&self, stop: &AtomicBool, bar: &ProgressBar, before: u64) -> Ended {
        let mut child = match self.spawn() {
            Ok(child) => Guard(child),
            Err(error) => {
                let why = format!("the program cannot start itself: {error}");
                return Ended { record: None, failure: Some(Failure::not_possible(why)) };
            }
        };
        let messages = listen(&mut child.0);
        let complaints = Complaints::of(&mut child.0);
        let mut record = None;
        let mut asked: Option<Instant> = None;
        loop {
            match messages.recv_timeout(LOOK) {
                Ok(Message::Done(turns)) => {
                    bar.set_position(before + turns as u64);
                    self.pass_on(complaints.take(), bar);
                }
                Ok(Message::Record(it)) => record = Some(*it),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            match asked {
                None if stop.load(Relaxed) => {
                    child.ask_to_stop();
                    asked = Some(Instant::now());
                }
                Some(at) if at.elapsed() > PATIENCE => {
                    // What it may have measured is lost; where it has ended already, nothing is.
                    let _ = child.0.kill();
                }
                _ => {}
            }
        }
        let (status, said) = (child.0.wait(), complaints.last());
        let failure = match status {
            _ if stop.load(Relaxed) => Some(Failure::interrupted()),
            Ok(status) if status.success() && record.is_some() => None,
            Ok(status) => Some(self.early_end(status, &said)),
            Err(error) => Some(Failure::not_possible(error)),
        };
        if failure.is_none() {
            self.pass_on(said, bar);
        }
        Ended { record, failure }
    }

    /// A start that refused what was asked for says why, with its exit code; any other was ended.
    fn early_end(&self, status: ExitStatus, said: &str) -> Failure {
        let refusals = [Exit::BadInput, Exit::NotPossible];
        let refusal = refusals.into_iter().find(|exit| status.code() == Some(exit.code().into()));
        if let Some(exit) = refusal.filter(|_| !said.is_empty()) {
            return Failure { exit, message: said.to_owned() };
        }
        let (number, of) = (self.place.0 + 1, self.place.1);
        let ended = format!(
            "process start {number} of {of} ended early ({status}); start the command again"
        );
        Failure::not_possible(format!("{ended}\n{said}").trim_end())
    }

    /// All starts say the same about the session, so the first one's words are enough.
    fn pass_on(&self, said: String, bar: &ProgressBar) {
        if self.place.0 == 0 && !said.is_empty() {
            bar.suspend(|| tell(said));
        }
    }

    fn spawn(&self) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(self.options()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if self.text.is_some() { Stdio::piped() } else { Stdio::null() });
        // Ctrl-C in a terminal goes to every process of the group; the child hears of it from its parent alone.
        let mut child = command.process_group(0).spawn()?;
        if let (Some(text), Some(mut stdin)) = (self.text, child.stdin.take()) {
            // A child that ended before it read all has its own last words.
            let _ = stdin.write_all(text.as_bytes());
        }
        Ok(child)
    }

    /// The options from which [`serve`] makes the same plan.
    fn options(&self) -> Vec<OsString> {
        let plan = self.plan;
        let mut all: Vec<OsString> = vec!["bench".into()];
        all.extend(talk_flag().map(OsString::from));
        let mut option =
            |name: &str, value: String| all.extend([OsString::from(name), value.into()]);
        option("--start-of", std::process::id().to_string());
        option("--blocks", plan.blocks.to_string());
        option("--blocks-per-round", plan.blocks_per_round.to_string());
        option("--frames", plan.frames.to_string());
        option("--rate", plan.rate_hz.to_string());
        if let Some(workers) = plan.workers {
            option("--workers", workers.to_string());
        }
        let variants = || plan.variants.iter();
        option("--policy", distinct(variants().map(|variant| variant.policy.sibling.name())));
        option("--schedule", distinct(variants().map(|variant| variant.schedule_name())));
        let lanes = variants().map(|variant| LanesArg::of(variant.couples).name());
        option("--lanes", distinct(lanes));
        option("--wait", distinct(variants().map(|variant| variant.policy.wait.name())));
        option("--seat-wait", plan.seat_wait.name().into());
        let disturb: Vec<String> = plan.disturb.iter().map(ToString::to_string).collect();
        option("--disturb", if disturb.is_empty() { "none".into() } else { disturb.join(",") });
        option("--priority", plan.priority.unwrap_or(0).to_string());
        option("--seed", plan.seed.to_string());
        if let Some(Fill::Effects(effects)) = self.args.fill {
            option("--fill", effects.to_string());
        }
        if let Some(copies) = self.args.copies {
            option("--copies", copies.to_string());
        }
        option("--disk-buffer", self.args.disk.disk_buffer.to_string());
        if let Some(us) = self.args.project.stand_in {
            option("--stand-in", us.to_string());
            option("--stand-in-windows", windows_for(us).to_string());
        }
        let isolate = self.args.isolate.isolate.iter();
        all.extend(isolate.map(|name| OsString::from(format!("--isolate={name}"))));
        let soundfont = self.args.project.soundfont.clone();
        all.extend(soundfont.into_iter().flat_map(|path| ["--soundfont".into(), path.into()]));
        all.push("--no-profile".into());
        all.extend(self.args.strict.then(|| OsString::from("--strict")));
        all.extend(plan.counters.then(|| OsString::from("--counters")));
        all.extend(plan.counters_per_kind.then(|| OsString::from("--counters-per-kind")));
        let file = || self.args.session.clone().into_os_string();
        all.extend(["--".into(), self.text.map_or_else(file, |_| "-".into())]);
        all
    }
}

/// The names in the order in which they first appear: their product is the list of variants again.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.join(",")
}

/// Reads messages on a thread that sleeps while nothing comes.
fn listen(child: &mut Child) -> Receiver<Message> {
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            for message in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// What a child writes to standard error, as far as nobody has taken it.
struct Complaints {
    text: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Complaints {
    fn of(child: &mut Child) -> Complaints {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&text);
        let reader = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    let mut text = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    *text += &(line + "\n");
                }
            })
        });
        Complaints { text, reader }
    }

    /// What came since the last call, without the program's name in front.
    fn take(&self) -> String {
        let text = std::mem::take(&mut *self.text.lock().unwrap_or_else(PoisonError::into_inner));
        let text = text.trim_end();
        text.strip_prefix("hocket: ").unwrap_or(text).to_owned()
    }

    /// The rest, of a child that has ended.
    fn last(mut self) -> String {
        if let Some(reader) = self.reader.take() {
            // A reader that panicked leaves what it had.
            let _ = reader.join();
        }
        self.take()
    }
}

/// Ends the child with whoever started it.
struct Guard(Child);

impl Guard {
    fn ask_to_stop(&self) {
        if let Some(pid) = Pid::from_raw(self.0.id() as i32) {
            // It cannot have been waited for yet, so the number is still its own.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures one start and tells it on standard output; `parent` is who listens.
///
/// # Errors
/// [`Failure`], which the parent reads on standard error.
pub(super) fn serve(args: &BenchArgs, parent: i32) -> Result<Exit, Failure> {
    end_with(parent)?;
    let topology = crate::load::topology()?;
    let stop = crate::interrupt::flag()?;
    let project = args.project.with(args.strict);
    let mut opened = OpenedSession::open_as(&args.session, args.rate, &topology, project)?;
    if let Some(Fill::Effects(effects)) = args.fill {
        super::fill::add(opened.session_mut(), effects);
    }
    if let Some(copies) = args.copies {
        super::copies::add(opened.session_mut(), copies);
    }
    let plan = super::plan(args, &opened, &Known::default(), &topology)?;
    let isolated = (Pace::RealTime, plan.frames, plan.priority);
    crate::plugin::isolated::set_up(&args.isolate, opened.session(), isolated)?;
    let disk = args.disk.with(Wait::Never, args.strict);
    // One for the twin.
    let disk = DiskUse { engines: plan.variants.len() + usize::from(!plan.alone), ..disk };
    let Some(mut loaded) = opened.load_unless(disk, &stop)? else {
        return Err(Failure::interrupted());
    };
    loaded.accept(args.strict)?;
    if plan.alone {
        super::copies::repeat(&mut loaded);
    }
    let preview = preview(&loaded);
    let (session, media) = (&loaded.session, &loaded.media);
    let input = BenchInput { session, media, topology: &topology, preview };
    let record = hocket_lab::bench::run(&plan, &input, &stop, |Progress { done, .. }| {
        if say(&Message::Done(done)).is_err() {
            // Nobody listens. Relaxed: the flag publishes nothing.
            stop.store(true, Relaxed);
        }
    });
    say(&Message::Record(Box::new(record.map_err(failure)?))).map_err(Failure::not_possible)?;
    Ok(if stop.load(Relaxed) { Exit::Interrupted } else { Exit::Done })
}

/// Asks the kernel for `SIGTERM` when `parent` ends, and refuses to begin where it has ended.
fn end_with(parent: i32) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(Failure::not_possible)?;
    match getppid().map(Pid::as_raw_pid) {
        Some(pid) if pid == parent => Ok(()),
        _ => Err(Failure::bad_input("--start-of: only `hocket bench` itself uses this option")),
    }
}

fn say(message: &Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    crate::output::say(&line)
}

/// What the preview disturber reads, if the session names a file for it.
pub(crate) fn preview(loaded: &LoadedSession) -> Option<PreviewSource> {
    let (left, right) = loaded.preview_audio()?;
    let (rate_hz, bytes) = (loaded.rate_hz, PreviewSource::BYTES);
    Some(PreviewSource { left, right, rate_hz, bytes })
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Place(_)
        | BenchError::NoVariant
        | BenchError::OfflineWithOthers
        | BenchError::Prepare(_)
        | BenchError::Disturb(DisturbError::NoPreviewFile) => Failure::bad_input(error),
        _ => Failure::not_possible(error),
    }
}
