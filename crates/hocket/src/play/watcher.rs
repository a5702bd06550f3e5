//! The thread beside the leader: explains late blocks, makes plug-ins anew that ask for it, reports plug-ins that spoil the
//! sound and takes that fail, and tells how it goes.

use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hocket_devices::Change;
use hocket_engine::{Cause, Control, FlightDrain, FlightLog};
use indicatif::ProgressBar;

use super::blame::{Blame, Faults};
use super::live::Live;
use super::session_log::SessionLog;
use super::sound::Sound;
use super::steering::names;
use super::take_news::TakeNews;
use crate::output::tell;
use crate::plugin::watched::News;
use crate::restarts::Restarts;

/// How often it looks. Counters are read as often, so this is how closely they enclose a late block.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often it looks while the engine rests and nothing was late since the last look.
const LOOK_AT_REST_EVERY: Duration = Duration::from_millis(400);
/// Explanations that are kept for the end.
const EXPLANATIONS: usize = 5;
/// Room for 3200 thread switches of a CPU between two looks.
const SWITCH_RING_BYTES: usize = 1 << 18;

/// What the watcher has found out so far, for those who show it. The leader never locks it.
#[derive(Default)]
pub(super) struct Causes(Mutex<Found>);

/// Late blocks by cause.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// The most frequent first.
    pub(super) causes: Vec<(Cause, u64)>,
    /// The explanation of the last late block.
    pub(super) last: Option<String>,
}

impl Causes {
    pub(super) fn now(&self) -> Found {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, log: &FlightLog) {
        let last = log.last().last().map(|verdict| verdict.text.clone());
        let found = Found { causes: log.tally().by_count(), last };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }
}

/// What the watcher has found out in all.
pub(super) struct Watched {
    pub log: FlightLog,
    /// What cannot be seen here.
    pub limits: Vec<String>,
    pub faults: Faults,
    /// What is written of it; `None`: no file was asked for.
    pub session_log: Option<SessionLog>,
}

/// What tells of blocks and takes, and the log that has it.
type Told = (Blame, TakeNews, Option<SessionLog>);
/// The way of the sound, and what changes of it.
type Heard = (Sound, Option<Receiver<Change>>);

/// Looks until the run has ended.
pub(super) fn watch(
    mut drain: FlightDrain,
    (live, control): (&Live, Control),
    (causes, mut restarts): (&Causes, Restarts),
    ((mut blame, mut takes, mut session_log), (sound, changes)): (Told, Heard),
    bar: ProgressBar,
) -> Watched {
    let (mut log, mut limits) = (FlightLog::new(EXPLANATIONS), None);
    let mut steered = names(&control);
    let mut device_hz = live.device_hz();
    let mut explain = |drain: &mut FlightDrain, log: &mut FlightLog, ends| {
        // Before what was late under it.
        let now = names(&control);
        if let Some(log) = session_log.as_mut().filter(|_| now != steered) {
            log.change(now, control.protection().summary());
        }
        steered = now;
        let now_hz = live.device_hz();
        if std::mem::replace(&mut device_hz, now_hz) != now_hz {
            tell(rate_line(now_hz, live.rate_hz));
            session_log.iter_mut().for_each(|log| log.device_rate(now_hz));
        }
        sound.look(changes.as_ref(), |news| {
            news.line.iter().for_each(tell);
            session_log.iter_mut().for_each(|log| log.event(news.logged.clone()));
        });
        takes.look(|take| {
            take.line().iter().for_each(|line| tell(format_args!("warning: {line}")));
            session_log.iter_mut().for_each(|log| log.take(take));
        });
        let flights = drain.collect();
        blame.learn(&flights);
        blame.look(ends, |incident, whose, explained| {
            session_log.iter_mut().for_each(|log| log.incident(incident, whose, explained));
        });
        let is_calm = flights.is_empty();
        log.add(flights);
        is_calm
    };
    let mut is_calm = false;
    let mut news = News::default();
    while !live.has_ended() {
        if let Some(leader) = live.leader().filter(|_| limits.is_none()) {
            limits = Some(drain.watch(leader, SWITCH_RING_BYTES));
        }
        pause(live, limits.is_some(), is_calm && live.engine_rests());
        is_calm = explain(&mut drain, &mut log, false);
        restarts.look();
        news.look();
        causes.note(&log);
        show(&bar, live);
    }
    // What was handed over between the last look and the end.
    explain(&mut drain, &mut log, true);
    bar.finish_and_clear();
    let faults = blame.faults().clone();
    Watched { log, limits: limits.unwrap_or_default(), faults, session_log }
}

fn rate_line(device_hz: u32, rate_hz: u32) -> String {
    match device_hz == rate_hz {
        true => format!("the device runs at {rate_hz} Hz again, as the session"),
        false => format!(
            "warning: the device now runs at {device_hz} Hz; the session stays at {rate_hz} Hz and is converted; play again to \
             have it at {device_hz} Hz"
        ),
    }
}

/// A look's time, or less where the run ends or the leader has just come.
fn pause(live: &Live, knows_leader: bool, is_calm: bool) {
    let time = if is_calm { LOOK_AT_REST_EVERY } else { LOOK_EVERY };
    live.rest(time, || !knows_leader && live.leader().is_some());
}

fn show(bar: &ProgressBar, live: &Live) {
    bar.set_message(live.line());
    bar.tick();
}
