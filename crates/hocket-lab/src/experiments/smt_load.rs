//! `smt-load`: how SMT changes server-like loads.

use std::path::Path;

use super::chance::{self, Work};
use super::chat;
use super::folder;
use super::jobs::{note_missing, shared_cores};
use super::loads::{
    Chat, FileServer, Load, Mix, Mode, Sieves, TcpStream, Turn, USERS, probe_files, probe_lines,
};
use crate::harness::timed::per_op;
use crate::harness::{
    About, Axis, Bar, ContrastResult, Design, Estimate, Experiment, Fault, Historic, Host, Metric,
    NamedRatio, Nearest, NotMeasurable, Opened, Parameter, Plot, Prepared, Relation, Results,
    Rounds, Sample, Section, Sentence, Size, Variant, judged_together, ratio_told, ratios_sentence,
};
use crate::numbers;

/// See [`About`].
pub struct SmtLoad;

static ABOUT: About = About {
    id: "smt-load",
    section: Section::Smt,
    question: "How does SMT change server-like loads?",
    origin: "Vianney, \"Hyper-Threading speeds Linux\", 2003, with the chat benchmark, dbench, tbench and AIM9",
    method: "The same threads do the same work, allowed on one seat of each core or on both; up to four cores with two \
             seats (two in a quick run). Everywhere, as a control: one core and two. chat: rooms of 20 users, each \
             with a TCP connection on loopback and four threads (says, hears; at the server takes in, passes on); \
             every message of 100 bytes goes to the 19 others; one room, in a full run the ten rooms and 100 messages of `chat`. \
             file-server: clients, two for each of the CPUs, with the scripts of `fileserver` and the mix of 1999, \
             through the page cache. tcp-stream: as many clients, each with a \
             server thread, send the requests of such scripts and wait for each reply, with the packet lengths of \
             tbench. sieve: AIM9's, a thread for each of the CPUs with a table of its own. On a virtual machine the hand-over \
             between the two cores is probed before and after each turn, as in `smt-kernels`. Connections, folders and threads \
             are there before the time begins. Every message, byte, length and prime is checked.",
    limits: "Clients and servers run on the same CPUs, as in 2003, and nothing crosses a network card or waits for a disk. \
             SMT is not switched off: the second seat stays empty instead. The scheduler places the threads among the \
             allowed CPUs, and its choices are in the figures. The system may gather small packets of chat, as in the chat \
             benchmark, and sends those of tcp-stream at once. The article's sieve has one thread and gained 60 % all the same \
             (`aim9` measures that); here it has as many as CPUs. Which file system holds the files matters.",
    metrics: &[
        Metric::more("rate", "1/s")
            .means("Operations a second, from the first thread's start to the last one's end. chat: messages, those that \
                    the users say and those that they hear; file-server: steps of the scripts; tcp-stream: requests \
                    with their replies; sieve: numbers of the tables, primes or not."),
        Metric::more("bandwidth", "MB/s")
            .means("Contents of writes and reads of file-server and tcp-stream, in 10^6 bytes, divided by the same time; \
                    without the frames of packets."),
        Metric::less("cpu-time", "ns")
            .means("CPU time of all threads, clients and servers, user and system, divided by the operations."),
        Metric::more("speed-up", "times")
            .means("Rate with both seats divided by the rate with one, and with two cores by that with one, round by \
                    round; computed from `rate`."),
        chance::METRICS[0],
        chance::METRICS[1],
    ],
    parameters: &[
        Parameter::new("rooms", &chat::ROOMS),
        Parameter::new("said", &SAID),
        Parameter::new("scripts", &SCRIPTS),
        Parameter::new("requests", &REQUESTS),
        Parameter::new("tables", &TABLES),
    ],
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Chat,
    FileServer,
    TcpStream,
    Sieve,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Chat, Kind::FileServer, Kind::TcpStream, Kind::Sieve];

    fn name(self) -> &'static str {
        match self {
            Kind::Chat => "chat",
            Kind::FileServer => "file-server",
            Kind::TcpStream => "tcp-stream",
            Kind::Sieve => "sieve",
        }
    }

    /// What its rate counts.
    fn operations(self) -> &'static str {
        match self {
            Kind::Chat => "messages",
            Kind::FileServer => "file operations",
            Kind::TcpStream => "requests",
            Kind::Sieve => "numbers",
        }
    }

    /// For so many CPUs; some tens of milliseconds on one of them in a quick run.
    fn load(
        self,
        cpus: usize,
        size: Size,
        prepared: Option<&Path>,
    ) -> Result<Box<dyn Load>, Fault> {
        let (clients, mix) = (2 * cpus, Mix::Of1999);
        Ok(match self {
            Kind::Chat => Box::new(Chat::new(size.of(chat::ROOMS), size.of(SAID), Mode::Threads)),
            Kind::FileServer => {
                Box::new(FileServer::new(prepared, clients, size.of(SCRIPTS), mix)?)
            }
            Kind::TcpStream => Box::new(TcpStream::new(clients, size.of(REQUESTS), mix)),
            Kind::Sieve => Box::new(Sieves::new(cpus, size.of(TABLES))),
        })
    }

    /// Why it cannot be measured here, if so.
    fn refusal(self, size: Size) -> Option<String> {
        let tried = match self {
            Kind::Chat => probe_lines(size.of(chat::ROOMS) * USERS),
            Kind::TcpStream => probe_lines(1),
            Kind::FileServer => probe_files(),
            Kind::Sieve => Ok(()),
        };
        tried.err().map(|fault| fault.0)
    }
}

/// What each user says in a turn; in a full run as much as in `chat`.
const SAID: [u32; 2] = [25, chat::MESSAGES];
/// Documents of each client, of the file server and of the stream; tables of each thread.
const SCRIPTS: [u32; 2] = [25, 200];
const REQUESTS: [u32; 2] = [15, 100];
const TABLES: [u64; 2] = [1, 5];

const ONE_SEAT: &str = "one-seat-a-core";
const BOTH_SEATS: &str = "both-seats";
const ONE_CORE: &str = "one-core";
const TWO_CORES: &str = "two-cores";
const PAIRS: [[&str; 2]; 2] = [[ONE_SEAT, BOTH_SEATS], [ONE_CORE, TWO_CORES]];

impl Experiment for SmtLoad {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        let shared = shared_cores(host, size.pick(2, 4));
        for kind in Kind::ALL {
            if let Some(why) = kind.refusal(size) {
                design.missing.push((kind.name().into(), why));
                continue;
            }
            if !shared.is_empty() {
                add_pair(&mut design, kind, &seats_of(&shared));
            }
            add_pair(&mut design, kind, &cores_of(host));
        }
        note_missing(&mut design, host, [BOTH_SEATS, TWO_CORES]);
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        48.0
    }

    fn prepare(&self, _: &dyn Fn() -> bool) -> Prepared {
        // Without one, the design says why the file server is missing.
        Ok(folder::make().ok())
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        self.open_in(host, size, design, None)
    }

    fn open_in(&self, _: &Host, size: Size, design: &Design, prepared: Option<&Path>) -> Opened {
        let mut loads: Vec<(String, Box<dyn Load>)> = Vec::new();
        let mut turns = Vec::new();
        for variant in &design.variants {
            // Both variants of a pair have the same threads.
            let load = format!("{} {}", variant.level("load"), variant.level("cpus"));
            if loads.iter().all(|(known, _)| *known != load) {
                let made = load_of(variant, size, prepared).map_err(NotMeasurable::new)?;
                loads.push((load, made));
                turns.push((loads.len() - 1, variant.cpus.clone(), pair_by_chance(variant)));
                continue;
            }
            let at = loads.iter().position(|(known, _)| *known == load).unwrap_or(0);
            turns.push((at, variant.cpus.clone(), pair_by_chance(variant)));
        }
        Ok(Box::new(move |variant: usize| {
            let (load, cpus, pair) = &turns[variant];
            let (_, load) = loads.get_mut(*load).ok_or_else(|| Fault::new("an unknown load"))?;
            chance::probed(*pair, size, || load.turn(cpus).map(|turn| samples(&turn)))
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let found = Found::of(results);
        let pairs = PAIRS.iter().filter_map(|seats| summary(results, *seats));
        let smt = Kind::ALL.iter().filter_map(|kind| smt_sentence(results, &found, *kind));
        let cores = Kind::ALL.iter().filter_map(|kind| cores_sentence(results, &found, *kind));
        let by_chance = chance::sentences(results, "rate", &Kind::ALL.map(by_chance));
        pairs.chain(smt).chain(cores).chain(by_chance).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let found = Found::of(results);
        vec![speed_ups(&found)]
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }

    /// The loads of the article's summary, each by itself.
    fn nearest(&self, old: &Historic) -> Vec<Nearest> {
        let why = "two cores, because no two seats share one here";
        let of = |kind: Kind| {
            let [seats, cores] = [BOTH_SEATS, TWO_CORES].map(|seats| variant(kind, seats));
            [Nearest::of(old.metric, seats), Nearest::instead(old.metric, cores, why)]
        };
        [Kind::Chat, Kind::FileServer, Kind::TcpStream].into_iter().flat_map(of).collect()
    }
}

/// Two sets of CPUs that are compared; the load is made for as many as the larger one has.
struct Pair {
    sets: Vec<(&'static str, Vec<u32>)>,
    relation: Option<Relation>,
}

fn seats_of(shared: &[[u32; 2]]) -> Pair {
    let first = shared.iter().map(|core| core[0]).collect();
    let sets = vec![(ONE_SEAT, first), (BOTH_SEATS, shared.concat())];
    Pair { sets, relation: Some(Relation::Siblings) }
}

fn cores_of(host: &Host) -> Pair {
    let cores = host.one_per_core();
    let mut sets = vec![(ONE_CORE, cores[..1].to_vec())];
    if let Some(two) = cores.get(..2) {
        sets.push((TWO_CORES, two.to_vec()));
    }
    Pair { sets, relation: None }
}

fn add_pair(design: &mut Design, kind: Kind, pair: &Pair) {
    let most = pair.sets.iter().map(|(_, cpus)| cpus.len()).max().unwrap_or(1);
    let variant = |(name, cpus): &(&str, Vec<u32>)| {
        Variant::new(variant(kind, name))
            .with("load", kind.name())
            .with("seats", name)
            .with("cpus", most)
            .on(cpus, pair.relation)
            .crowded()
    };
    design.group("rate", pair.sets.iter().map(variant));
}

/// The two CPUs that the system calls two cores.
fn pair_by_chance(variant: &Variant) -> Option<[u32; 2]> {
    chance::pair(&variant.cpus).filter(|_| variant.level("seats") == TWO_CORES)
}

fn by_chance(kind: Kind) -> Work {
    Work { name: kind.name(), alone: variant(kind, ONE_CORE), both: variant(kind, TWO_CORES) }
}

fn variant(kind: Kind, seats: &str) -> String {
    format!("{} {seats}", kind.name())
}

fn load_of(variant: &Variant, size: Size, prepared: Option<&Path>) -> Result<Box<dyn Load>, Fault> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == variant.level("load"));
    match (kind, variant.level("cpus").parse()) {
        (Some(kind), Ok(cpus)) => kind.load(cpus, size, prepared),
        _ => Err(Fault::new("a variant of another version")),
    }
}

fn samples(turn: &Turn) -> Vec<Sample> {
    let seconds = turn.wall_ns.max(1) as f64 / 1e9;
    let sample = |metric, value| Sample::new(metric, value, turn.ops, turn.check.clone());
    let mut samples = vec![sample("rate", turn.ops as f64 / seconds)];
    if turn.bytes > 0 {
        samples.push(sample("bandwidth", turn.bytes as f64 / 1e6 / seconds));
    }
    samples.extend(turn.cpu_ns.map(|ns| sample("cpu-time", per_op(ns, turn.ops))));
    samples
}

/// The ratios of rates, computed once.
struct Found(Vec<ContrastResult>);

impl Found {
    fn of(results: &Results) -> Found {
        Found(results.contrasts())
    }

    fn contrast(&self, kind: Kind, seats: [&str; 2]) -> Option<&ContrastResult> {
        let [reference, candidate] = seats.map(|seats| variant(kind, seats));
        self.0.iter().find(|c| c.reference == reference && c.candidate == candidate)
    }

    /// How many times as much is done on the second set of CPUs.
    fn speed_up(&self, kind: Kind, seats: [&str; 2]) -> Option<(&ContrastResult, Estimate)> {
        let ratio = self.contrast(kind, seats)?;
        Some((ratio, ratio.estimate()?))
    }
}

/// All loads in one sentence.
fn summary(results: &Results, seats: [&str; 2]) -> Option<Sentence> {
    let pair = |kind: Kind| {
        NamedRatio::new(kind.name(), variant(kind, seats[0]), variant(kind, seats[1]), "rate")
    };
    ratios_sentence(results, &format!("work with {}", instead(seats)), &Kind::ALL.map(pair))
}

/// What is compared, in words.
fn instead(seats: [&str; 2]) -> &'static str {
    match seats[1] {
        BOTH_SEATS => "both seats of each core instead of one",
        _ => "two cores instead of one",
    }
}

fn smt_sentence(results: &Results, found: &Found, kind: Kind) -> Option<Sentence> {
    let seats = [ONE_SEAT, BOTH_SEATS];
    let (ratio, speed_up) = found.speed_up(kind, seats)?;
    let rate_of = |seats| results.estimate(&variant(kind, seats), "rate");
    let text = format!(
        "{}: {} with one seat of each core {}, with both {}{}",
        kind.name(),
        kind.operations(),
        numbers::estimate(&rate_of(ONE_SEAT)?, "1/s"),
        numbers::estimated_change(&speed_up),
        cpu_time(results, kind, seats)
    );
    Some(Sentence::about(text, [ratio]))
}

fn cores_sentence(results: &Results, found: &Found, kind: Kind) -> Option<Sentence> {
    let seats = [ONE_CORE, TWO_CORES];
    let one = results.estimate(&variant(kind, ONE_CORE), "rate")?;
    let head = format!(
        "{}: {} on one core {}",
        kind.name(),
        kind.operations(),
        numbers::estimate(&one, "1/s")
    );
    let Some((ratio, speed_up)) = found.speed_up(kind, seats) else {
        return Some(Sentence::fact(head));
    };
    let text = format!(
        "{head}, on two {}{}",
        numbers::estimated_change(&speed_up),
        cpu_time(results, kind, seats)
    );
    Some(Sentence::about(text, [ratio]))
}

/// What an operation costs on either set; more CPU time is not more work.
fn cpu_time(results: &Results, kind: Kind, seats: [&str; 2]) -> String {
    let pair = NamedRatio::new("", variant(kind, seats[0]), variant(kind, seats[1]), "cpu-time");
    let judged = judged_together(results, &[pair]);
    let told = judged.first().map(|(_, ratio)| format!("; CPU time of each {}", ratio_told(ratio)));
    told.unwrap_or_default()
}

fn speed_ups(found: &Found) -> Plot {
    let bar = |kind: Kind, seats: [&str; 2]| {
        let (_, estimate) = found.speed_up(kind, seats)?;
        let group = format!("{} against {}", seats[1], seats[0]);
        Some(Bar { label: kind.name().into(), estimate, group })
    };
    let of =
        |seats: [&'static str; 2]| Kind::ALL.into_iter().filter_map(move |kind| bar(kind, seats));
    Plot::Bars {
        title: "How many times as much is done".into(),
        axis: Axis::linear("speed-up", "times"),
        bars: PAIRS.into_iter().flat_map(of).collect(),
    }
}

const ARTICLE: &str =
    "Vianney, \"Hyper-Threading speeds Linux\", 2003 (one Xeon MP 1.6 GHz with two seats, Linux)";

const fn of_2003(label: &'static str, value: f64) -> Historic {
    Historic::new(label, value, "%", "rate")
        .means("What the article sums up of chat, dbench and tbench, booted with and without SMT: so much at most.")
        .differs("A summary over three loads; each is measured by itself here.")
        .printed_in(ARTICLE)
}

static HISTORIC: [Historic; 2] = [
    of_2003("multithreaded applications, 2003, kernel 2.4.19", 30.0),
    of_2003("multithreaded applications, 2003, kernel 2.5.32", 51.0),
];

#[cfg(test)]
mod tests {
    use super::super::jobs::NO_SMT;
    use super::*;
    use crate::harness::Check;

    #[test]
    fn with_siblings_the_same_load_has_one_seat_and_both() {
        let host = Host::described_with_smt();
        let design = SmtLoad.design(&host, Size::Quick).unwrap();
        assert_eq!(design.fault(), None);
        assert!(design.missing.iter().all(|(what, _)| what != BOTH_SEATS));
        for kind in Kind::ALL.into_iter().filter(|kind| kind.refusal(Size::Quick).is_none()) {
            let of = |seats| &design.variants[design.index(&variant(kind, seats)).unwrap()];
            assert_eq!(
                (&of(ONE_SEAT).cpus[..], &of(BOTH_SEATS).cpus[..]),
                (&[0, 1][..], &[0, 2, 1, 3][..])
            );
            assert_eq!((of(ONE_SEAT).level("cpus"), of(BOTH_SEATS).level("cpus")), ("4", "4"));
            assert_eq!((of(ONE_CORE).level("cpus"), of(TWO_CORES).level("cpus")), ("2", "2"));
        }
    }

    #[test]
    fn without_siblings_that_is_said_and_cores_are_compared() {
        let mut host = Host::described_with_smt();
        host.cpus = vec![0, 1];
        let design = SmtLoad.design(&host, Size::Quick).unwrap();
        assert!(design.missing.iter().any(|(what, why)| what == BOTH_SEATS && why == NO_SMT));
        assert!(design.index("sieve two-cores").is_some());
        host.cpus = vec![0];
        let design = SmtLoad.design(&host, Size::Quick).unwrap();
        assert!(design.missing.iter().any(|(what, _)| what == TWO_CORES));
        assert!(design.contrasts.is_empty());
    }

    #[test]
    fn one_turn_of_each_variant_here_passes_its_check() {
        let host = Host::discover().unwrap();
        let design = SmtLoad.design(&host, Size::Quick).unwrap();
        let mut apparatus = SmtLoad.open(&host, Size::Quick, &design).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = apparatus.measure(index).unwrap();
            assert!(
                samples.iter().all(|s| s.check == Check::Passed && s.value > 0.0),
                "{}",
                variant.name
            );
            let moves_contents = ["file-server", "tcp-stream"].contains(&variant.level("load"));
            assert_eq!(samples.iter().any(|s| s.metric == "bandwidth"), moves_contents);
        }
    }

    #[test]
    fn figures_follow_from_a_turn() {
        let turn = Turn {
            wall_ns: 500_000_000,
            cpu_ns: Some(1_000),
            ops: 10,
            bytes: 3_000_000,
            check: Check::Passed,
            took: Vec::new(),
        };
        let found: Vec<(String, f64)> =
            samples(&turn).into_iter().map(|sample| (sample.metric, sample.value)).collect();
        let due = [("rate", 20.0), ("bandwidth", 6.0), ("cpu-time", 100.0)];
        assert_eq!(found, due.map(|(metric, value)| (metric.to_string(), value)));
    }
}
