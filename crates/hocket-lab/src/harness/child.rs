//! One process start, from inside: rounds of turns in random order, told line by line.
//!
//! The program starts itself again for this. The parent writes one [`Spec`] as JSON to standard input;
//! the child answers with one [`Message`] a line on standard output and ends. Whatever kills it, every
//! turn that was told is kept.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hocket_machine::clock::monotonic_ns;
use serde::{Deserialize, Serialize};

use super::layout::{self, Layout};
use super::ledger::{Ledger, Limits, Stretches, flags_of};
use super::{About, Apparatus, Design, Experiment, Fault, Host, Row, Sample, Size, Variant};
use crate::stats::Rng;

/// What a child is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Which experiment, by id.
    pub experiment: String,
    /// How thorough.
    pub size: Size,
    /// Its design as the parent made it.
    pub design: Design,
    /// Which process start this is, from 0.
    pub process: u32,
    /// Seed of the order of the turns.
    pub seed: u64,
    /// By how much this start is shifted; the environment already is.
    pub layout: Layout,
    /// Time for everything, the calibration included; at least one round is measured.
    pub time: Duration,
    /// From which amount a turn is flagged.
    pub limits: Limits,
    /// What the parent made for all process starts.
    #[serde(default)]
    pub folder: Option<PathBuf>,
}

/// What a child tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The apparatus stands.
    Ready,
    /// One turn has been measured.
    Turn(Vec<Row>),
    /// One turn could not be measured.
    Fault {
        /// Which variant.
        variant: String,
        /// Which round.
        round: u32,
        /// Why.
        what: String,
    },
    /// It cannot be measured in this process.
    NotMeasurable(String),
    /// All is done: whether the time was over before the rounds were.
    Done {
        /// The time limit ended it.
        time_over: bool,
    },
}

/// A variant that fails this often in a process start has no further turns in it.
const MOST_FAULTS: u32 = 3;

/// Reads the spec, measures, tells.
///
/// # Errors
/// In words: a spec that cannot be read, or a parent that does not listen any more.
pub fn serve(input: impl BufRead, mut output: impl Write) -> Result<(), String> {
    let spec: Spec = serde_json::from_reader(input).map_err(|error| {
        format!("no experiment to measure on standard input ({error}); use `hocket lab run`")
    })?;
    let experiment = crate::experiments::find(&spec.experiment)
        .ok_or_else(|| format!("there is no experiment '{}'", spec.experiment))?;
    let mut tell = |message: &Message| -> Result<(), String> {
        let line = serde_json::to_string(message).map_err(|error| error.to_string())?;
        let told = writeln!(output, "{line}").and_then(|()| output.flush());
        told.map_err(|error| format!("nobody listens: {error}"))
    };
    let _heap = std::hint::black_box(vec![0u8; spec.layout.heap as usize]);
    layout::set_stack_frames(spec.layout.stack_frames);
    layout::shifted(|| measure(experiment, &spec, &mut tell))
}

/// One process start of an experiment, told to `tell`.
///
/// # Errors
/// What `tell` returns.
pub fn measure(
    experiment: &dyn Experiment,
    spec: &Spec,
    tell: &mut dyn FnMut(&Message) -> Result<(), String>,
) -> Result<(), String> {
    let start_ns = monotonic_ns();
    let opened = Host::discover().and_then(|host| {
        let apparatus =
            experiment.open_in(&host, spec.size, &spec.design, spec.folder.as_deref())?;
        Ok((host, apparatus))
    });
    let (host, apparatus) = match opened {
        Ok(opened) => opened,
        Err(why) => return tell(&Message::NotMeasurable(why.0)),
    };
    tell(&Message::Ready)?;
    let about = experiment.about();
    let mut rounds = RoundsOf {
        about,
        spec,
        apparatus,
        cpus: online(&host),
        stretches: Stretches::default(),
        faults: vec![0; spec.design.turns()],
    };
    let mut rng = Rng::new(spec.seed);
    let most = spec.design.rounds.per_process + spec.design.rounds.warm_up;
    let limit_ns = spec.time.as_nanos() as u64;
    let mut time_over = false;
    for round in 0..most {
        let round_ns = monotonic_ns();
        rounds.round(round, &mut rng, tell)?;
        let now = monotonic_ns();
        let next_ends_ns = now - start_ns + (now - round_ns);
        if round >= spec.design.rounds.warm_up && next_ends_ns > limit_ns {
            time_over = true;
            break;
        }
    }
    // Who hears that all is done ends this process, so what the apparatus has to end, ends before.
    drop(rounds);
    tell(&Message::Done { time_over })
}

fn online(host: &Host) -> usize {
    host.topology.seats.iter().filter(|seat| seat.online).count().max(host.cpus.len())
}

struct RoundsOf<'a> {
    about: &'static About,
    spec: &'a Spec,
    apparatus: Box<dyn Apparatus>,
    /// All that are on line, since the system's counters are those of all.
    cpus: usize,
    stretches: Stretches,
    faults: Vec<u32>,
}

impl RoundsOf<'_> {
    fn round(
        &mut self,
        round: u32,
        rng: &mut Rng,
        tell: &mut dyn FnMut(&Message) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut order: Vec<usize> = (0..self.spec.design.turns()).collect();
        rng.shuffle(&mut order);
        for (place, turn) in order.into_iter().enumerate() {
            if self.faults[turn] < MOST_FAULTS {
                tell(&self.turn(round, place as u32, turn))?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, round: u32, place: u32, turn: usize) -> Message {
        let (index, name) = self.spec.design.turn(turn);
        let variant = &self.spec.design.variants[index];
        let started_ns = unix_ns();
        let ledger = Ledger::begin(variant.cpus.first().copied());
        let measured = self.apparatus.measure(index);
        let ended = ledger.end(self.cpus, &mut self.stretches);
        let measured = measured.and_then(|samples| declared(samples, self.about));
        match measured {
            Ok(samples) => {
                let flags = flags_of(&ended, variant, self.spec.limits);
                let at = At { round, place, started_ns };
                let row = |sample| self.row(&name, variant, at, sample, &ended.entry, &flags);
                Message::Turn(samples.into_iter().map(row).collect())
            }
            Err(fault) => {
                self.faults[turn] += 1;
                Message::Fault { variant: name, round, what: fault.0 }
            }
        }
    }

    fn row(
        &self,
        name: &str,
        variant: &Variant,
        at: At,
        sample: Sample,
        entry: &super::LedgerEntry,
        flags: &[String],
    ) -> Row {
        let unit = self.about.metric(&sample.metric).map_or("", |metric| metric.unit);
        Row {
            process: self.spec.process,
            round: at.round,
            turn: at.place,
            warm_up: at.round < self.spec.design.rounds.warm_up,
            variant: name.to_string(),
            cpus: variant.cpus.clone(),
            started_ns: at.started_ns,
            unit: unit.to_string(),
            sample,
            ledger: entry.clone(),
            flags: flags.to_vec(),
        }
    }
}

#[derive(Clone, Copy)]
struct At {
    round: u32,
    place: u32,
    started_ns: u64,
}

/// A turn has samples, of declared metrics, whose values are numbers.
fn declared(samples: Vec<Sample>, about: &About) -> Result<Vec<Sample>, Fault> {
    if samples.is_empty() {
        return Err(Fault::new("nothing was measured"));
    }
    for sample in &samples {
        if about.metric(&sample.metric).is_none() {
            return Err(Fault(format!("'{}' is not one of the metrics", sample.metric)));
        }
        if !sample.value.is_finite() {
            return Err(Fault(format!("{} is not a number", sample.metric)));
        }
    }
    Ok(samples)
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::harness::{Check, Metric, NotMeasurable, Opened, Rounds, Section, TWIN};

    thread_local! {
        /// How many apparatuses of this thread have ended.
        static ENDED: Cell<u32> = const { Cell::new(0) };
    }

    struct Ends;

    impl Drop for Ends {
        fn drop(&mut self) {
            ENDED.set(ENDED.get() + 1);
        }
    }

    /// `good` measures, `bad` cannot, `odd` reports what is not declared.
    struct Fake;

    static ABOUT: About = About {
        id: "fake",
        section: Section::Method,
        question: "?",
        origin: "-",
        method: "-",
        limits: "-",
        metrics: &[Metric::less("time", "ns").means("-")],
        parameters: &[],
    };

    impl Experiment for Fake {
        fn about(&self) -> &'static About {
            &ABOUT
        }

        fn design(&self, _: &Host, size: Size) -> Result<Design, NotMeasurable> {
            let variants = ["good", "bad", "odd"].map(Variant::new).to_vec();
            let rounds = Rounds { processes: 1, per_process: 6, warm_up: 1 };
            let _ = size;
            Ok(Design::against_first(variants, "time", rounds))
        }

        fn open(&self, _: &Host, _: Size, _: &Design) -> Opened {
            let ends = Ends;
            Ok(Box::new(move |variant: usize| {
                let _held = &ends;
                match variant {
                    0 => Ok(vec![Sample::new("time", 2.0, 1, Check::Passed)]),
                    1 => Err(Fault::new("it is broken")),
                    _ => Ok(vec![Sample::new("colour", 1.0, 1, Check::Passed)]),
                }
            }))
        }
    }

    fn told(time: Duration) -> Vec<Message> {
        let host = Host::discover().unwrap();
        let spec = Spec {
            experiment: "fake".into(),
            size: Size::Quick,
            design: Fake.design(&host, Size::Quick).unwrap(),
            process: 4,
            seed: 5,
            layout: Layout { environment: 0, stack_frames: 0, heap: 0 },
            time,
            limits: Limits::USUAL,
            folder: None,
        };
        let mut told = Vec::new();
        let before = ENDED.get();
        measure(&Fake, &spec, &mut |message| {
            let is_done = matches!(message, Message::Done { .. });
            assert_eq!(ENDED.get() > before, is_done, "{message:?}");
            told.push(message.clone());
            Ok(())
        })
        .unwrap();
        told
    }

    #[test]
    fn a_round_holds_every_variant_and_the_twin_in_random_order() {
        let told = told(Duration::from_secs(3600));
        let rows: Vec<&Row> = told
            .iter()
            .filter_map(|m| if let Message::Turn(rows) = m { rows.first() } else { None })
            .collect();
        assert_eq!(rows.len(), 2 * 7);
        assert!(rows.iter().all(|row| row.process == 4 && row.warm_up == (row.round == 0)));
        let twin = format!("good{TWIN}");
        for round in 0..7 {
            let names: BTreeSet<_> =
                rows.iter().filter(|r| r.round == round).map(|r| &r.variant).collect();
            assert_eq!(names.len(), 2);
            assert!(names.contains(&twin));
        }
        let places: BTreeSet<u32> =
            rows.iter().filter(|row| row.variant == twin).map(|row| row.turn).collect();
        assert!(places.len() > 1, "the twin always had the same place");
        assert_eq!(told.last(), Some(&Message::Done { time_over: false }));
    }

    #[test]
    fn what_fails_again_and_again_is_left_out() {
        let told = told(Duration::from_secs(3600));
        let faults = |name: &str| {
            let is = |m: &&Message| matches!(m, Message::Fault { variant, .. } if variant == name);
            told.iter().filter(is).count()
        };
        assert_eq!((faults("bad"), faults("odd"), faults("good")), (3, 3, 0));
    }

    #[test]
    fn one_round_after_the_warm_up_is_measured_however_short_the_time() {
        let told = told(Duration::ZERO);
        assert_eq!(told.last(), Some(&Message::Done { time_over: true }));
        let counts = |m: &&Message| matches!(m, Message::Turn(rows) if !rows[0].warm_up);
        assert_eq!(told.iter().filter(counts).count(), 2);
    }
}
