//! Looks at a run from beside it. No audio thread waits for what happens here.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use hocket_engine::time::TempoMap;
use hocket_engine::{Engine, NotReady, Standing};
use hocket_lab::foreign;

use super::kernel_times::{KernelLooks, KernelTimes};
use super::live::Live;
use super::peaks::{Looker, Peaks};
use super::shown::{DiskShown, MeterShown, Shown, SongShown, WorkerShown};
use super::sound::Sound;
use super::steering::{Steered, Steering};
use super::take_news;
use super::watcher::Causes;
use crate::disk_silence::DiskSilence;
use crate::load::LoadedSession;
use crate::takes::Recording;

/// How often the disk is asked for its gaps: the answer names files.
const DISK_EVERY: Duration = Duration::from_secs(1);

/// What does not change while it plays.
#[derive(Clone)]
pub(super) struct Facts {
    pub(super) session: String,
    /// The device, and its latency, which may change.
    pub(super) sound: Sound,
    /// Rate and block length of the engine.
    pub(super) format: String,
    /// Which transport leads, as on the command line.
    pub(super) transport: &'static str,
    /// The outputs that have a meter.
    pub(super) outputs: Vec<String>,
    /// What is recorded.
    pub(super) takes: Vec<Recording>,
}

/// One who looks.
pub(super) struct View<'a> {
    live: Arc<Live>,
    causes: &'a Causes,
    loaded: &'a LoadedSession,
    steering: Steering<'a>,
    facts: Facts,
    map: Option<TempoMap>,
    seats: Vec<[String; 2]>,
    kernel: KernelLooks,
    /// Silence from before the first block.
    silent_before: Vec<NotReady>,
    silence: DiskSilence,
    asked_disk: Option<Instant>,
    peaks: (&'a Peaks, Looker),
    last: Counts,
    /// Loads are those of this time at least.
    rates_over: Duration,
    rates: Option<Rates>,
    message: String,
}

/// What holds since an earlier look.
struct Rates {
    load: f64,
    workers: Vec<WorkerShown>,
}

/// The totals of a thread at two looks.
type Change<'a> = (&'a [u64; 2], &'a [u64; 2]);

/// What a rate is computed from.
struct Counts {
    at: Instant,
    blocks: u64,
    took_ns: u64,
    deadline_ns: u64,
    threads: Vec<[u64; 2]>,
}

impl<'a> View<'a> {
    /// Of an engine that has not begun to play.
    pub(super) fn new(
        engine: &Engine,
        live: &Arc<Live>,
        (causes, loaded): (&'a Causes, &'a LoadedSession),
        (steering, facts): (Steering<'a>, Facts),
        peaks: (&'a Peaks, Looker),
    ) -> View<'a> {
        let totals = engine.totals();
        let threads = totals.iter().map(|totals| [totals.blocks, totals.busy_ns]).collect();
        View {
            live: Arc::clone(live),
            causes,
            loaded,
            steering,
            facts,
            map: loaded.session.time.map(loaded.rate_hz).ok(),
            seats: seats(engine),
            kernel: KernelLooks::new(engine),
            silent_before: loaded.not_ready(),
            silence: DiskSilence::default(),
            asked_disk: None,
            peaks,
            last: Counts { at: Instant::now(), blocks: 0, took_ns: 0, deadline_ns: 0, threads },
            rates_over: Duration::ZERO,
            rates: None,
            message: String::new(),
        }
    }

    /// For one who looks more often than the leader writes what the workers did.
    pub(super) fn with_rates_over(self, rates_over: Duration) -> View<'a> {
        View { rates_over, ..self }
    }

    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// Shows a text until the next one.
    pub(super) fn say(&mut self, what: impl Into<String>) {
        self.message = what.into();
    }

    /// How it goes now. Loads hold since the last look, or an earlier one.
    pub(super) fn look(&mut self) -> Shown {
        self.note_rates();
        let rates = self.rates.as_ref();
        let (load, workers) = rates.map(|it| (it.load, it.workers.clone())).unwrap_or_default();
        let found = self.causes.now();
        let classes = std::array::from_fn(|class| self.live.classes[class].load(Relaxed));
        Shown {
            session: foreign::plain(&self.facts.session),
            device: self.device(),
            policy: self.steering.policy(),
            plan: plan_text(&self.steering.standing()),
            played_s: self.live.played_s(),
            planned_s: self.live.planned.map(|all| self.live.seconds(all)),
            song: self.song(),
            load: [load, self.live.most_ppm.load(Relaxed) as f64 / 1e6],
            blocks: self.live.blocks.load(Relaxed),
            misses: self.live.misses.load(Relaxed),
            classes,
            causes: found.causes.iter().map(|(cause, count)| (cause.name(), *count)).collect(),
            last_late: found.last.map(|text| foreign::plain(&text)),
            workers,
            meters: self.meters(),
            disk: self.disk(),
            takes: self.facts.takes.iter().map(take_news::shown).collect(),
            message: self.message.clone(),
        }
    }

    fn device(&self) -> Vec<String> {
        let Facts { sound, format, .. } = &self.facts;
        let device = std::iter::once(sound.device.to_string());
        device.chain(sound.lines()).chain([format.clone()]).collect()
    }

    /// Computes the loads anew, if it is time for that.
    fn note_rates(&mut self) {
        if self.rates.is_some() && self.last.at.elapsed() < self.rates_over {
            return;
        }
        let now = self.counts();
        let before = std::mem::replace(&mut self.last, now);
        let kernel = self.kernel.take(&self.live);
        let now = &self.last;
        let load = part(now.took_ns - before.took_ns, now.deadline_ns - before.deadline_ns);
        self.rates = Some(Rates { load, workers: self.workers(&before, now, &kernel) });
    }

    fn counts(&self) -> Counts {
        let live = &self.live;
        let one = |thread: &super::live::Thread| {
            [thread.blocks.load(Relaxed), thread.busy_ns.load(Relaxed)]
        };
        Counts {
            at: Instant::now(),
            blocks: live.blocks.load(Relaxed),
            took_ns: live.took_ns.load(Relaxed),
            deadline_ns: live.deadline_ns.load(Relaxed),
            threads: live.threads.iter().map(one).collect(),
        }
    }

    fn workers(&self, before: &Counts, now: &Counts, kernel: &[KernelTimes]) -> Vec<WorkerShown> {
        let wall_ns = (now.at - before.at).as_nanos() as u64;
        let blocks = now.blocks - before.blocks;
        let changes = before.threads.iter().zip(&now.threads);
        let shown = |(number, (seat, (before, now))): (usize, (&[String; 2], Change<'_>))| {
            let since = |which: usize| now[which].saturating_sub(before[which]);
            let [name, seat] = seat;
            WorkerShown {
                name: name.clone(),
                seat: seat.clone(),
                load: part(since(1), wall_ns),
                share: part(since(0), blocks).min(1.0),
                kernel: kernel.get(number).copied().unwrap_or_default(),
            }
        };
        self.seats.iter().zip(changes).enumerate().map(shown).collect()
    }

    fn meters(&self) -> Vec<MeterShown> {
        let names = self.facts.outputs.iter().map(|name| foreign::plain(name));
        let (peaks, looker) = self.peaks;
        names.zip(peaks.take(looker)).map(|(name, peak)| MeterShown { name, peak }).collect()
    }

    fn disk(&mut self) -> Option<DiskShown> {
        let buffer = self.loaded.disk.as_ref()?;
        if self.asked_disk.is_none_or(|at| at.elapsed() >= DISK_EVERY) {
            self.asked_disk = Some(Instant::now());
            self.silence = DiskSilence::since(&self.silent_before, self.loaded.not_ready());
        }
        Some(DiskShown {
            streams: buffer.streams(),
            used_bytes: buffer.used_bytes(),
            buffer_bytes: buffer.bytes(),
            silent_frames: self.silence.frames(),
            silent_clips: self.silence.streams.len(),
        })
    }

    fn song(&self) -> SongShown {
        let position = self.live.song.position();
        let plays = self.live.song.plays.load(Relaxed);
        let transport = self.facts.transport;
        let Some(map) = &self.map else {
            return SongShown { plays, transport, ..SongShown::default() };
        };
        let signature = map.signature_at_frame(position);
        let bar = |frame| map.bar_at_frame(frame).to_string();
        SongShown {
            plays,
            bar: bar(position),
            bpm: map.bpm_at_frame(position),
            signature: [signature.numerator, signature.denominator],
            seconds: map.seconds_at_frame(position),
            repeat: self.live.song.repeat().map(|ends| ends.map(bar)),
            transport,
        }
    }
}

/// Steering, for keys.
impl<'a> View<'a> {
    /// Does what a key asks for, and shows what came of it.
    pub(super) fn steer(&mut self, what: impl FnOnce(&Steering<'a>) -> Steered) {
        let (Ok(said) | Err(said)) = what(&self.steering);
        self.say(said);
    }
}

/// Names and seats of the threads that have notes.
fn seats(engine: &Engine) -> Vec<[String; 2]> {
    let names = std::iter::once("leader".to_string())
        .chain(engine.reports().iter().map(|report| report.name.clone()));
    let cpu = |worker| {
        engine.seating().worker_cpu(worker).map_or("any CPU".into(), |cpu| format!("CPU {cpu}"))
    };
    let workers = names.enumerate().take_while(|(_, name)| !name.starts_with("guard"));
    workers.map(|(number, name)| [name, cpu(number)]).collect()
}

fn plan_text(standing: &Standing) -> String {
    let Standing { kind, workers, units, walks_alone, .. } = standing;
    let by = match (walks_alone, workers) {
        (true, _) | (_, 1) => "by the leader alone".to_string(),
        (false, workers) => format!("by {workers} workers"),
    };
    let took = standing.measured_ns.map(|ns| format!(", {:.0} µs per block", ns / 1e3));
    format!("{}: {units} units {by}{}", kind.name(), took.unwrap_or_default())
}

/// 0 of nothing.
fn part(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}
