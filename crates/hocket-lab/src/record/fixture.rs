//! Invented records for tests of what is made from records. Nothing in them was measured.

use hocket_trace::cause::Cause;
use hocket_trace::{BlockTrace, Doing, Lane, Span};
use serde_json::{Value, json};

use super::*;
use crate::harness::TWIN;
use crate::stats::Rng;

/// The shape of an invented run.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Source of everything random in it.
    pub seed: u64,
    /// Four cores with two seats each and real-time rights, or two lone CPUs of a virtual machine
    /// without.
    pub pairs: bool,
    /// Rounds.
    pub rounds: usize,
    /// Blocks per variant and round.
    pub blocks_per_round: u64,
    /// Typical block time as a share of the period.
    pub load: f64,
}

/// Process starts of an invented run that has as many rounds.
const STARTS: usize = 5;

/// A complete run of six variants and the twin, 3000 blocks each, on a machine with pairs.
pub fn example(seed: u64) -> BenchRecord {
    Shape { seed, pairs: true, rounds: 30, blocks_per_round: 100, load: 0.36 }.record()
}

/// The same on a small virtual machine without pairs and without rights.
pub fn example_without_pairs(seed: u64) -> BenchRecord {
    Shape { seed, pairs: false, rounds: 30, blocks_per_round: 100, load: 0.42 }.record()
}

/// `schedule / sibling / wait`, relative block time, weight of the tail, part of the disturber's
/// progress that is left, why it was refused. The last one is the twin.
struct Plan(&'static str, &'static str, &'static str, f64, f64, f64, Option<&'static str>);

const PLANS: &[Plan] = &[
    Plan("dataflow", "off", "hybrid", 1.00, 0.6, 1.00, None),
    Plan("dataflow", "all", "hybrid", 0.94, 1.6, 0.55, None),
    Plan("dataflow", "idle-thread", "hybrid", 1.02, 0.3, 0.62, None),
    Plan("dataflow", "pair-barrier", "hybrid", 0.97, 0.5, 0.50, None),
    Plan("lists", "off", "hybrid", 1.09, 0.6, 0.98, None),
    Plan(
        "dataflow",
        "cookie",
        "hybrid",
        1.00,
        0.5,
        0.9,
        Some("this kernel was built without core scheduling (CONFIG_SCHED_CORE)"),
    ),
    Plan("dataflow", "off", "hybrid", 1.00, 0.6, 1.00, None),
];

impl Shape {
    /// The record.
    pub fn record(self) -> BenchRecord {
        let mut rng = Rng::new(self.seed);
        let variants: Vec<Variant> =
            PLANS.iter().enumerate().map(|(i, plan)| self.variant(i, plan, &mut rng)).collect();
        BenchRecord {
            format: FORMAT.into(),
            hocket: Build {
                version: "0.1.0".into(),
                commit: Some("3f1c2ab97d0e".into()),
                dirty: false,
                rustc: "rustc 1.95.0 (59807616e 2026-04-14)".into(),
                program_sha256: None,
            },
            command:
                "hocket bench sessions/worst-case-8.toml --frames 64 --disturb preview --disturb ui"
                    .split(' ')
                    .map(String::from)
                    .collect(),
            started_at: "2026-11-21T20:14:07Z".into(),
            finished_at: "2026-11-21T20:15:02Z".into(),
            partial: None,
            session: session(),
            settings: self.settings(),
            machine: if self.pairs { desktop() } else { small_guest() },
            grants: if self.pairs { all_granted() } else { hardly_granted() },
            memory_lock: Value::Null,
            clock: Clock {
                source: "CLOCK_MONOTONIC (tsc)".into(),
                resolution_ns: 1,
                read_cost_ns: 29.0,
                longest_gap_ns: Some(if self.pairs { 3_120 } else { 118_400 }),
            },
            wake_loop: self.wake_loop(&mut rng),
            variants,
            contained: Vec::new(),
            disk: Vec::new(),
            lost_events: Vec::new(),
        }
    }

    fn starts(self) -> usize {
        STARTS.min(self.rounds)
    }

    fn start_of(self, round: usize) -> u32 {
        (round * self.starts() / self.rounds) as u32
    }

    fn workers(self) -> usize {
        if self.pairs { 4 } else { 2 }
    }

    fn period_ns(self) -> f64 {
        64.0 / 48_000.0 * 1e9
    }

    fn settings(self) -> Settings {
        Settings {
            frames: 64,
            rate_hz: 48_000,
            workers: self.workers(),
            blocks_per_variant: self.rounds as u64 * self.blocks_per_round,
            starts: self.starts(),
            rounds: self.rounds,
            blocks_per_round: self.blocks_per_round,
            warmup: 50,
            seed: self.seed,
            seat_wait: Some("pause".into()),
            disturb: vec!["preview".into(), "ui".into()],
        }
    }

    fn variant(self, index: usize, plan: &Plan, rng: &mut Rng) -> Variant {
        let Plan(schedule, sibling, wait, ratio, tail, rest, refused) = *plan;
        let ratio = if self.pairs || schedule == "lists" { ratio } else { 1.0 };
        let tail = if self.pairs { tail } else { 2.0 };
        let twin = index + 1 == PLANS.len();
        let mut variant = Variant {
            name: format!("{schedule} / {sibling} / {wait}{}", if twin { TWIN } else { "" }),
            schedule: schedule.into(),
            sibling: sibling.into(),
            wait: wait.into(),
            lanes: false,
            twin,
            effect_here: (!self.pairs && sibling != "off")
                .then(|| "no two seats share a core here, so this is the same as 'off'".into()),
            refused: refused.map(String::from),
            threads: self.threads(),
            rounds: Vec::new(),
            disturbers: Vec::new(),
            ordinary: None,
            worst: None,
            explained: None,
        };
        if refused.is_some() {
            variant.threads.clear();
            return variant;
        }
        variant.rounds = (0..self.rounds)
            .map(|round| self.round(index, round, self.load * ratio, tail, rng))
            .collect();
        variant.disturbers = self.disturbers(rest, rng);
        self.trace(&mut variant, rng);
        variant
    }

    fn threads(self) -> Vec<ThreadGrant> {
        (0..self.workers() as u32)
            .map(|seat| ThreadGrant {
                thread: if seat == 0 {
                    "worker 0 (leader)".into()
                } else {
                    format!("worker {seat}")
                },
                cpu_asked: Some(seat),
                cpu_got: Some(seat),
                class_asked: "FIFO 70".into(),
                class_got: if self.pairs { "FIFO 70".into() } else { "OTHER nice 0".into() },
                why: (!self.pairs).then(|| "SCHED_FIFO was refused: RLIMIT_RTPRIO is 0".into()),
            })
            .collect()
    }

    fn round(self, variant: usize, round: usize, load: f64, tail: f64, rng: &mut Rng) -> Round {
        let drift = 1.0 + 0.02 * (round as f64 / 4.0).sin();
        let period = self.period_ns();
        let jitter = if self.pairs { 1.0 } else { 6.0 };
        let mut out = Round {
            start: self.start_of(round),
            round: round as u32,
            order: (round * (PLANS.len() + 1) + (variant + round) % PLANS.len()) as u32,
            first_block: 50 + (round as u64) * self.blocks_per_round,
            wakes: self.blocks_per_round,
            blocks: self.blocks_per_round,
            noise: self.noise(rng),
            lateness_ns: Vec::new(),
            duration_ns: Vec::new(),
            slack_ns: Vec::new(),
            worker_awake_max_ns: Vec::new(),
            skipped_periods: Vec::new(),
        };
        for _ in 0..self.blocks_per_round {
            let lateness = wake(jitter, rng);
            let rare = if rng.unit() < 0.012 * tail { 1.0 + 0.9 * rng.unit().powi(2) } else { 1.0 };
            let stall = if rng.unit() < 0.0007 * tail { 1.5 + 2.5 * rng.unit() } else { 1.0 };
            let took = period * load * drift * rare * stall * (0.035 * rng.normal()).exp();
            out.lateness_ns.push(lateness as i64);
            out.duration_ns.push(took as i64);
            out.slack_ns.push(period as i64 - lateness as i64 - took as i64);
            out.worker_awake_max_ns.push((lateness + 2_000.0 * jitter * (1.0 + rng.unit())) as i64);
            out.skipped_periods.push(((lateness + took) / period) as u64);
        }
        out
    }

    fn noise(self, rng: &mut Rng) -> Noise {
        let busy = rng.unit() < 0.08;
        Noise {
            wall_ns: (self.period_ns() * self.blocks_per_round as f64) as u64,
            steal_ticks: Some(u64::from(!self.pairs && rng.unit() < 0.3)),
            foreign_cpu_ns: Some(if busy { 31_000_000 } else { (1e6 * rng.unit()) as u64 }),
            involuntary_switches: Some(if self.pairs { 0 } else { rng.below(9) as u64 }),
            faults: Some(rng.below(3) as u64),
            load: 2.0 + rng.unit(),
        }
    }

    fn wake_loop(self, rng: &mut Rng) -> WakeLoop {
        let jitter = if self.pairs { 1.0 } else { 6.0 };
        let rounds = (0..self.rounds)
            .map(|round| WakeRound {
                start: self.start_of(round),
                round: round as u32,
                order: (round * (PLANS.len() + 1) + PLANS.len()) as u32,
                noise: self.noise(rng),
                lateness_ns: (0..self.blocks_per_round).map(|_| wake(jitter, rng) as i64).collect(),
            })
            .collect();
        WakeLoop { thread: self.threads().into_iter().next(), rounds }
    }

    fn disturbers(self, rest: f64, rng: &mut Rng) -> Vec<Disturber> {
        let rest = if self.pairs { rest } else { 0.8 };
        let one = |name: &str, unit: &str, most: f64, rng: &mut Rng| Disturber {
            name: name.into(),
            unit: unit.into(),
            progress: (0..self.rounds).map(|_| most * rest * (0.05 * rng.normal()).exp()).collect(),
            cpu_time_ns: (3.1e9 * rest) as u64,
            ran_on: self.pairs.then_some(RanOn {
                worker_seat: 0.05,
                sibling: 0.75 * rest,
                elsewhere: 0.95 - 0.75 * rest,
            }),
        };
        vec![one("preview", "MB", 41.0, rng), one("ui", "frames", 8.0, rng)]
    }

    fn trace(self, variant: &mut Variant, rng: &mut Rng) {
        let mut all: Vec<(i64, i64, u64)> = variant
            .rounds
            .iter()
            .flat_map(|round| {
                let times = round.lateness_ns.iter().zip(&round.duration_ns);
                times
                    .enumerate()
                    .map(|(i, (late, took))| (*late, *took, round.first_block + i as u64))
            })
            .collect();
        all.sort_by_key(|(late, took, _)| late + took);
        let guarded = variant.sibling == "idle-thread" && self.pairs;
        let lists = variant.schedule == "lists";
        let mut draw = |at: usize| {
            let (late, took, block) = all[at];
            block_trace(late, took, block, self, lists, guarded, rng)
        };
        variant.ordinary = Some(draw(all.len() / 2));
        variant.worst = Some(draw(all.len() - 1));
        variant.explained = Some(explained(variant, all[all.len() - 1].2));
    }
}

/// As a run on a machine with SMT might find out; one late block came too fast.
fn explained(variant: &Variant, worst: u64) -> Explained {
    let late = variant.misses().late;
    let seen = late - late.min(1);
    let cause = |n: u64| if n.is_multiple_of(3) { Cause::SeatTaken } else { Cause::SiblingBusy };
    let verdict = |block: u64| Verdict {
        block,
        late_ns: 120_000,
        cause: cause(block),
        share_ns: 90_000,
        subject: "preview (thread 4711)".into(),
        text: format!(
            "block {block} came 120 µs too late: preview (thread 4711) ran on CPU 8, beside worker 0 \
             (leader), while it computed vocals: about 90 µs lost"
        ),
        others: Vec::new(),
    };
    Explained {
        causes: (0..seen).map(cause).collect(),
        unexplained: late - seen,
        last: (0..seen.min(8)).map(verdict).collect(),
        worst: Some(verdict(worst)),
        limits: Vec::new(),
    }
}

/// Lateness of a wake-up: usually some microseconds, rarely much more.
fn wake(jitter: f64, rng: &mut Rng) -> f64 {
    let usual = 4_200.0 * jitter * (0.3 * rng.normal()).exp();
    let rare = if rng.unit() < 0.01 { 20_000.0 * jitter * rng.unit() } else { 0.0 };
    let stall = if jitter > 1.0 && rng.unit() < 0.0006 { 1.1e6 * (0.6 + rng.unit()) } else { 0.0 };
    usual + rare + stall
}

fn session() -> SessionFacts {
    let media = |path: &str, digest: Option<&str>| MediaFacts {
        path: path.into(),
        sha256: digest.map(String::from),
    };
    SessionFacts {
        name: "worst-case-8".into(),
        file: "sessions/worst-case-8.toml".into(),
        tracks: 8,
        groups: 2,
        returns: 1,
        units: UNITS.len() * 8 + LATE_UNITS.len(),
        edges: 31,
        critical_path_units: 5,
        media: vec![
            media(
                "media/voice.flac",
                Some("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
            ),
            media("media/large.wav", None),
        ],
    }
}

/// Units of a track with their relative cost.
const UNITS: &[(&str, f64)] = &[("play, eq, compressor", 1.0), ("amp, chorus, fader", 1.6)];
/// What follows them, one after the other.
const LATE_UNITS: &[(&str, f64)] = &[
    ("drums: sum, compressor", 0.7),
    ("band: sum, eq", 0.5),
    ("hall: reverb", 1.9),
    ("master: sum, limiter", 0.6),
];

/// A block in which a list scheduler ran these units, stretched to the given times.
fn block_trace(
    awake_ns: i64,
    took: i64,
    block: u64,
    shape: Shape,
    lists: bool,
    guarded: bool,
    rng: &mut Rng,
) -> BlockTrace {
    let mut draft = Draft { lanes: vec![Vec::new(); shape.workers()], names: Vec::new() };
    let tracks =
        ["kick", "snare", "bass", "piano", "guitar left", "guitar right", "voice", "choir"];
    for (stage, (unit, cost)) in UNITS.iter().enumerate() {
        for track in tracks {
            draft.run(format!("{track}: {unit}"), cost * (0.9 + 0.2 * rng.unit()));
        }
        if lists || stage + 1 == UNITS.len() {
            draft.meet(if lists { Doing::Barrier } else { Doing::Wait });
        }
    }
    draft.run(LATE_UNITS[0].0.into(), LATE_UNITS[0].1);
    draft.run(LATE_UNITS[1].0.into(), LATE_UNITS[1].1);
    draft.run(LATE_UNITS[2].0.into(), LATE_UNITS[2].1);
    draft.meet(if lists { Doing::Barrier } else { Doing::Wait });
    draft.run(LATE_UNITS[3].0.into(), LATE_UNITS[3].1);
    draft.finish(awake_ns, took, block, shape, guarded)
}

struct Draft {
    lanes: Vec<Vec<(Doing, f64, f64)>>,
    names: Vec<String>,
}

impl Draft {
    fn end(lane: &[(Doing, f64, f64)]) -> f64 {
        lane.last().map_or(0.0, |(_, _, end)| *end)
    }

    /// Runs a unit on the lane that is free first.
    fn run(&mut self, name: String, cost: f64) {
        let lane = self
            .lanes
            .iter_mut()
            .min_by(|a, b| Self::end(a).total_cmp(&Self::end(b)))
            .expect("there is at least one worker");
        let start = Self::end(lane);
        lane.push((Doing::Unit(self.names.len() as u32), start, start + cost));
        self.names.push(name);
    }

    /// Lets all lanes wait for the last one.
    fn meet(&mut self, how: Doing) {
        let last = self.lanes.iter().map(|lane| Self::end(lane)).fold(0.0, f64::max);
        for lane in &mut self.lanes {
            let end = Self::end(lane);
            if end < last {
                lane.push((how.clone(), end, last));
            }
        }
    }

    fn finish(
        self,
        awake_ns: i64,
        took: i64,
        block: u64,
        shape: Shape,
        guarded: bool,
    ) -> BlockTrace {
        let length = self.lanes.iter().map(|lane| Self::end(lane)).fold(0.0, f64::max);
        let at = |t: f64| awake_ns + (t / length * took as f64) as i64;
        let mut lanes: Vec<Lane> = self
            .lanes
            .iter()
            .enumerate()
            .map(|(i, lane)| Lane {
                name: if i == 0 { "worker 0 (leader)".into() } else { format!("worker {i}") },
                cpu: Some(i as u32),
                awake_ns: awake_ns + if i == 0 { 0 } else { 900 + 400 * i as i64 },
                finished_ns: at(Self::end(lane)),
                spans: lane
                    .iter()
                    .map(|(doing, from, to)| span(doing, at(*from), at(*to)))
                    .collect(),
            })
            .collect();
        for lane in lanes.iter_mut().skip(1) {
            let awake = lane.awake_ns;
            lane.spans.retain(|span| span.end_ns > awake);
            if let Some(first) = lane.spans.first_mut() {
                first.start_ns = first.start_ns.max(awake);
            }
        }
        if guarded {
            let guards: Vec<Lane> =
                (0..lanes.len()).map(|i| guard(i, awake_ns, at(length))).collect();
            lanes.extend(guards);
        }
        BlockTrace {
            block,
            awake_ns,
            finished_ns: awake_ns + took,
            deadline_ns: shape.period_ns() as i64,
            unit_names: self.names,
            lanes,
        }
    }
}

fn span(doing: &Doing, start_ns: i64, end_ns: i64) -> Span {
    Span { doing: doing.clone(), start_ns, end_ns }
}

fn guard(worker: usize, awake_ns: i64, finished_ns: i64) -> Lane {
    Lane {
        name: format!("guard of worker {worker}"),
        cpu: Some(4 + worker as u32),
        awake_ns: awake_ns + 1_500,
        finished_ns,
        spans: vec![span(&Doing::Guard, awake_ns + 1_500, finished_ns)],
    }
}

fn topology(cores: u32, threads: u32, model: &str) -> Value {
    let seats: Vec<Value> = (0..cores * threads)
        .map(|i| {
            // Numbered as the kernel does: first threads of all cores, then their siblings.
            json!({"index": i, "cpu": i % threads * cores + i / threads, "core": i / threads,
                   "package": 0, "numa": 0, "kind": 0, "allowed": true, "online": true})
        })
        .collect();
    let of_core = |c: u32| (c * threads..(c + 1) * threads).collect::<Vec<_>>();
    let core_list: Vec<Value> = (0..cores)
        .map(|c| json!({"index": c, "os_index": c, "package": 0, "kind": 0, "seats": of_core(c)}))
        .collect();
    let pairs: Vec<Value> = (0..if threads > 1 { cores } else { 0 })
        .map(|c| json!({"core": c, "seats": of_core(c)}))
        .collect();
    let every: Vec<u32> = (0..cores * threads).collect();
    json!({
        "source": {"from": "hwloc_live", "version": "2.9.0"}, "is_this_system": true,
        "packages": [{"index": 0, "os_index": 0, "model": model, "vendor": "GenuineIntel",
                      "cores": (0..cores).collect::<Vec<_>>(), "seats": every}],
        "cores": core_list, "seats": seats, "pairs": pairs,
        "kinds": [{"index": 0, "name": "core", "efficiency": null, "max_mhz": 3200, "seats": every,
                   "how": "reported", "reason": "one kind"}],
        "caches": [{"level": 3, "type": "unified", "size_bytes": 8_388_608, "line_bytes": 64, "seats": every}],
        "numa_nodes": [{"os_index": 0, "memory_bytes": 17_179_869_184_u64, "seats": every}],
        "offline_or_hidden_cpus": [], "notes": []
    })
}

/// Facts as hocket-machine serialises them: a value, or why it is unknown.
fn facts(known: Value, unknown: &[(&str, &str)]) -> Value {
    let wrap = |(name, value): (&String, &Value)| (name.clone(), json!({ "value": value }));
    let mut all: serde_json::Map<String, Value> =
        known.as_object().into_iter().flatten().map(wrap).collect();
    all.extend(unknown.iter().map(|(name, why)| ((*name).into(), json!({ "unknown": why }))));
    Value::Object(all)
}

fn clocks(cpus: u32, governor: &Value) -> Value {
    let one = json!({"governor": governor, "min_khz": {"value": 800_000},
                     "max_khz": {"value": 3_200_000}, "now_khz": {"value": 3_192_004}});
    (0..cpus).map(|cpu| (cpu.to_string(), one.clone())).collect::<serde_json::Map<_, _>>().into()
}

fn desktop() -> Value {
    let known = json!({
        "kernel_release": "6.12.9", "architecture": "x86_64", "preemption": "full",
        "cpu_model": "Example CPU with 4 cores", "microcode": "0xb4", "hypervisor": "none",
        "smt": "on", "boost": true, "clocksource": "tsc", "load": [0.31, 0.24, 0.2],
        "memory_bytes": 17_179_869_184_u64, "swap_used_bytes": 0, "uptime_s": 81_522.4,
        "real_time_throttle": "950000 of 1000000"
    });
    let mut facts = facts(known, &[("tickless_cpus", "the kernel was built without nohz_full")]);
    facts["clocks"] = clocks(8, &json!({"value": "performance"}));
    json!({ "topology": topology(4, 2, "Example CPU with 4 cores"), "facts": facts })
}

fn small_guest() -> Value {
    let known = json!({
        "kernel_release": "6.18.0", "architecture": "x86_64", "cpu_model": "Example virtual CPU",
        "hypervisor": "KVM", "smt": "notsupported", "clocksource": "tsc",
        "memory_bytes": 25_276_514_304_u64, "uptime_s": 1_040.0
    });
    let mut facts = facts(known, &[("preemption", "not in the version text")]);
    facts["clocks"] = clocks(2, &json!({"unknown": "this system does not offer cpufreq"}));
    json!({ "topology": topology(2, 1, "Example virtual CPU"), "facts": facts })
}

fn grant(name: &str, granted: bool, detail: &str, remedy: Option<&str>) -> Value {
    json!({ "name": name, "granted": granted, "detail": detail, "remedy": remedy })
}

fn all_granted() -> Value {
    json!([
        grant("real_time_priority", true, "SCHED_FIFO up to 95", None),
        grant("memory_lock", true, "8 GiB", None),
        grant(
            "core_cookies",
            false,
            "this kernel was built without core scheduling",
            Some("use a kernel with CONFIG_SCHED_CORE")
        ),
        grant("hardware_counters", true, "4 counters a seat", None)
    ])
}

fn hardly_granted() -> Value {
    json!([
        grant(
            "real_time_priority",
            false,
            "RLIMIT_RTPRIO is 0 and there is no rtkit",
            Some("add the user to a group with rtprio in /etc/security/limits.d")
        ),
        grant("memory_lock", false, "RLIMIT_MEMLOCK is 64 KiB", Some("raise memlock there, too")),
        grant("core_cookies", false, "there are no pairs", None),
        grant("hardware_counters", false, "the hypervisor hides them", None)
    ])
}
