//! The inference of siblings on made-up processors whose truth is known, with growing noise.

use std::path::{Path, PathBuf};

use hocket_lab::siblings::{
    CpuPair, Figure, Inference, Kernel, Measurements, Plan, Reason, Relation, Slowdown, Step,
    compare_with_system, infer,
};
use hocket_lab::stats::Rng;
use hocket_machine::Topology;

/// Where a seat of a made-up processor is.
#[derive(Debug, Clone, Copy)]
struct Seat {
    core: usize,
    /// Which cores share a second-level cache.
    cluster: usize,
    package: usize,
    efficient: bool,
}

/// A made-up processor.
#[derive(Debug, Clone)]
struct Model {
    name: String,
    seats: Vec<Seat>,
    /// One-way hand-over in nanoseconds within a core, a cluster, a package, the machine.
    latency_ns: [f64; 4],
    /// How much two siblings slow each other down, by kernel.
    slowdown: [f64; 4],
    /// The same for two cores of a cluster.
    in_cluster: [f64; 4],
}

const NO_CONTENTION: [f64; 4] = [1.0, 1.0, 1.0, 1.0];

impl Model {
    /// `cores` with `threads` each, `per_cluster` cores sharing a cache, `per_package` a package.
    fn new(cores: usize, threads: usize, per_cluster: usize, per_package: usize) -> Self {
        let seat = |cpu: usize| {
            // Numbered as Linux does on bare metal: first threads first.
            let core = cpu % cores;
            Seat {
                core,
                cluster: core / per_cluster,
                package: core / per_package,
                efficient: false,
            }
        };
        let shared = [1.75, 1.9, 1.6, 1.7];
        let wide = [1.5, 1.6, 1.35, 1.4];
        Model {
            name: format!("{cores} x {threads}, clusters of {per_cluster}"),
            seats: (0..cores * threads).map(seat).collect(),
            latency_ns: [6.5, 17.0, 46.0, 115.0],
            slowdown: if threads > 2 { wide } else { shared },
            in_cluster: [1.0, 1.0, 1.02, 1.03],
        }
    }

    /// Performance cores with two threads, then clusters of four efficient ones with one.
    fn hybrid(performance: usize, efficient: usize) -> Self {
        let mut model = Model::new(performance, 2, 1, performance + efficient);
        let seat = |at: usize| Seat {
            core: performance + at,
            cluster: performance + at / 4,
            package: 0,
            efficient: true,
        };
        model.seats.extend((0..efficient).map(seat));
        model.name = format!("{performance} P with SMT, {efficient} E");
        model
    }

    /// Modules of two cores that share their floating-point units, as AMD built in 2011.
    fn modules(modules: usize) -> Self {
        let mut model = Model::new(2 * modules, 1, 2, 2 * modules);
        model.in_cluster = [1.02, 1.7, 1.03, 1.03];
        model.name = format!("{modules} modules");
        model
    }

    /// The structure of a machine that was read from a file.
    fn of(topology: &Topology) -> Self {
        let mut model = Model::new(1, 1, 1, 1);
        let seat = |seat: &hocket_machine::topology::Seat| Seat {
            core: seat.core.map_or(1000 + seat.index, |core| core),
            cluster: topology.sharing_cache(seat.index, 2).map_or(1000 + seat.index, |on| on[0]),
            package: seat.package.unwrap_or(0),
            efficient: seat.kind + 1 < topology.kinds.len(),
        };
        model.seats = topology.seats.iter().map(seat).collect();
        let widest = topology.cores.iter().map(|core| core.seats.len()).max().unwrap_or(1);
        model.slowdown = Model::new(1, widest, 1, 1).slowdown;
        model
    }

    fn cpus(&self) -> Vec<u32> {
        (0..self.seats.len() as u32).collect()
    }

    fn between(&self, pair: CpuPair) -> (Seat, Seat) {
        (self.seats[pair.0 as usize], self.seats[pair.1 as usize])
    }

    fn are_siblings(&self, pair: CpuPair) -> bool {
        let (a, b) = self.between(pair);
        a.core == b.core
    }

    fn latency(&self, pair: CpuPair) -> f64 {
        let (a, b) = self.between(pair);
        let level = match (a.core == b.core, a.cluster == b.cluster, a.package == b.package) {
            (true, ..) => 0,
            (_, true, _) => 1,
            (.., true) => 2,
            _ => 3,
        };
        // The way across a mesh differs by pair; efficient cores are slower.
        let way = if level < 2 {
            1.0
        } else {
            0.9 + 0.2 * Rng::new(u64::from(pair.0 * 977 + pair.1)).unit()
        };
        let slow = if a.efficient || b.efficient { 1.6 } else { 1.0 };
        self.latency_ns[level] * way * slow
    }

    fn contention(&self, pair: CpuPair, kernel: usize) -> f64 {
        let (a, b) = self.between(pair);
        let ratios = match (a.core == b.core, a.cluster == b.cluster) {
            (true, _) => self.slowdown,
            (_, true) => self.in_cluster,
            _ => NO_CONTENTION,
        };
        ratios[kernel]
    }
}

/// Measures a model with noise of this size: a part of the figure a sample, a fifth of it common to
/// all samples of one measurement (which its spread does not show), and now and then a
/// measurement that is off altogether.
struct Bench<'a> {
    model: &'a Model,
    noise: f64,
    rng: Rng,
}

impl Bench<'_> {
    fn figure(&mut self, truth: f64) -> Figure {
        let mut off = self.noise / 5.0 * self.rng.normal();
        if self.rng.unit() < self.noise / 20.0 {
            off += 0.4 * self.rng.normal();
        }
        let mut sample = || {
            let spike = if self.rng.unit() < 0.1 { 3.0 } else { 1.0 };
            truth * (off + self.noise * spike * self.rng.normal()).exp()
        };
        let samples: Vec<f64> = (0..15).map(|_| sample()).collect();
        Figure::of(&samples).expect("enough samples")
    }

    fn step(&mut self, step: Step, found: &mut Measurements) {
        match step {
            Step::Latencies(pairs) => pairs.into_iter().for_each(|pair| {
                found.record_latency(pair, self.figure(self.model.latency(pair)));
            }),
            Step::Contention(trials) => trials.into_iter().for_each(|trial| {
                let slowdown = |(at, kernel)| {
                    let ratio = self.figure(self.model.contention(trial.pair, at));
                    Slowdown { kernel, ratio }
                };
                let all = Kernel::ALL.into_iter().enumerate().map(slowdown).collect();
                found.record_contention(trial.pair, all);
            }),
            Step::Done => {}
        }
    }
}

/// The inference, and how many trials of contention it took.
fn inferred(model: &Model, noise: f64, seed: u64) -> (Inference, usize) {
    let mut bench = Bench { model, noise, rng: Rng::new(seed) };
    let (mut found, mut plan) = (Measurements::new(&model.cpus()), Plan::new(seed));
    loop {
        match plan.next(&found) {
            Step::Done => return (infer(&found), plan.trials_so_far()),
            step => bench.step(step, &mut found),
        }
    }
}

/// What came out over several runs, in pairs.
#[derive(Debug, Default, Clone, Copy)]
struct Score {
    pairs: usize,
    unknown: usize,
    /// Called siblings and are not, or the reverse.
    wrong: usize,
    siblings: usize,
    siblings_found: usize,
}

impl Score {
    fn add(&mut self, model: &Model, inference: &Inference) {
        for (pair, found) in &inference.findings {
            let truth = model.are_siblings(*pair);
            self.pairs += 1;
            self.siblings += usize::from(truth);
            match found.relation {
                Relation::Unknown => self.unknown += 1,
                relation if (relation == Relation::Siblings) != truth => self.wrong += 1,
                _ => self.siblings_found += usize::from(truth),
            }
        }
    }

    fn of(model: &Model, noise: f64, runs: u64) -> Score {
        let mut score = Score::default();
        (0..runs).for_each(|seed| score.add(model, &inferred(model, noise, 100 + seed).0));
        score
    }

    fn share(self, of: usize) -> f64 {
        of as f64 / self.pairs.max(1) as f64
    }
}

fn models() -> Vec<Model> {
    vec![
        Model::new(1, 2, 1, 1),
        Model::new(2, 1, 1, 2),
        Model::new(2, 2, 1, 2),
        Model::new(4, 1, 4, 4),
        Model::new(4, 2, 1, 4),
        Model::new(8, 1, 4, 8),
        Model::new(8, 2, 4, 8),
        Model::new(4, 4, 1, 4),
        Model::new(4, 8, 1, 4),
        Model::new(1, 8, 1, 1),
        Model::new(16, 1, 2, 16),
        Model::hybrid(6, 8),
        Model::hybrid(2, 8),
        Model::new(32, 2, 8, 16),
        Model::new(64, 2, 8, 32),
        Model::new(128, 1, 4, 64),
        Model::new(32, 4, 2, 8),
        Model::new(16, 8, 1, 8),
    ]
}

#[test]
fn low_noise_decides_every_pair_rightly() {
    for model in models() {
        for noise in [0.01, 0.05] {
            let runs = if model.seats.len() > 32 { 1 } else { 4 };
            let score = Score::of(&model, noise, runs);
            assert_eq!(score.wrong, 0, "{} at {noise}: {score:?}", model.name);
            assert!(score.share(score.unknown) <= 0.01, "{} at {noise}: {score:?}", model.name);
        }
    }
}

#[test]
fn high_noise_says_unknown_rather_than_wrong() {
    let small: Vec<Model> = models().into_iter().filter(|m| m.seats.len() <= 32).collect();
    println!("noise  pairs  wrong %  unknown %  siblings found %");
    for noise in [0.02, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8] {
        let mut all = Score::default();
        for model in &small {
            let score = Score::of(model, noise, 6);
            assert!(score.share(score.wrong) <= 0.01, "{} at {noise}: {score:?}", model.name);
            all = Score {
                pairs: all.pairs + score.pairs,
                unknown: all.unknown + score.unknown,
                wrong: all.wrong + score.wrong,
                siblings: all.siblings + score.siblings,
                siblings_found: all.siblings_found + score.siblings_found,
            };
        }
        println!(
            "{noise:5.2} {:6} {:8.2} {:10.1} {:17.1}",
            all.pairs,
            100.0 * all.share(all.wrong),
            100.0 * all.share(all.unknown),
            100.0 * all.siblings_found as f64 / all.siblings as f64,
        );
    }
}

#[test]
fn large_machines_need_few_trials() {
    for model in models().iter().filter(|model| model.seats.len() >= 64) {
        let (seats, (_, trials)) = (model.seats.len(), inferred(model, 0.05, 1));
        println!("{}: {trials} trials for {} pairs", model.name, seats * (seats - 1) / 2);
        // Every pair twice would be 127 a seat. A core of eight has 3.5 pairs a seat, tried twice.
        assert!(trials <= 10 * seats, "{}: {trials}", model.name);
    }
}

#[test]
fn a_module_of_two_cores_is_neither() {
    let (got, _) = inferred(&Model::modules(4), 0.02, 1);
    assert!(got.cores.is_empty());
    let shared =
        got.findings.values().filter(|f| f.reason == Reason::SharesSomeUnits(vec![Kernel::Fp]));
    assert_eq!((shared.count(), got.counts()), (4, [0, 24, 4]));
}

#[test]
fn contradictory_evidence_is_unknown() {
    // Contention without nearness: a noisy neighbour, or a clock that falls when both are busy.
    let mut contending = Model::new(4, 2, 1, 4);
    contending.latency_ns[0] = contending.latency_ns[2];
    let (got, _) = inferred(&contending, 0.02, 1);
    assert_eq!(got.counts()[0], 0, "{got:?}");
    assert_eq!(got.relation(0, 4), Relation::Unknown);
    // Nearness like siblings' without contention, beside true siblings.
    let mut near = Model::new(4, 2, 1, 4);
    near.seats.extend((0..2).map(|_| Seat { core: 9, cluster: 9, package: 0, efficient: false }));
    near.seats[9].core = 10;
    near.latency_ns[1] = near.latency_ns[0] * 0.9;
    let (got, _) = inferred(&near, 0.02, 1);
    assert_eq!(got.findings[&(8, 9)].reason, Reason::NearNotContending);
    assert_eq!(got.relation(0, 4), Relation::Siblings);
}

#[test]
fn a_plan_ends_though_nothing_can_be_measured() {
    let (found, mut plan) = (Measurements::new(&[0, 1, 2]), Plan::new(1));
    let steps = (0..100).take_while(|_| plan.next(&found) != Step::Done).count();
    assert!(steps < 20, "{steps}");
    let got = infer(&found);
    assert_eq!(got.counts(), [0, 0, 3]);
    assert!(got.findings.values().all(|f| f.reason == Reason::Unmeasured));
    for cpus in [&[] as &[u32], &[7]] {
        assert_eq!(Plan::new(1).next(&Measurements::new(cpus)), Step::Done);
    }
}

#[test]
fn trials_are_compared_with_cpus_that_share_nothing() {
    let model = Model::new(8, 2, 4, 8);
    let (mut found, mut plan) = (Measurements::new(&model.cpus()), Plan::new(3));
    let mut bench = Bench { model: &model, noise: 0.02, rng: Rng::new(3) };
    let mut trials = 0;
    loop {
        let step = plan.next(&found);
        if let Step::Contention(batch) = &step {
            for trial in batch {
                let (x, y) = trial.unrelated.expect("16 CPUs have unrelated ones");
                let (a, b) = trial.pair;
                assert!(!model.are_siblings((a, x)) && !model.are_siblings((b, y)), "{trial:?}");
                assert!(x != y && ![a, b].contains(&x) && ![a, b].contains(&y), "{trial:?}");
                trials += 1;
            }
        }
        if step == Step::Done {
            break;
        }
        bench.step(step, &mut found);
    }
    assert!(trials > 16);
}

/// The folder with real machines, or a printed reason for skipping.
fn machines(test: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("HOCKET_SHARED").map(PathBuf::from);
    let shared =
        shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folder = shared.join("data/hwloc");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("SKIPPED {test}: {} is absent (set HOCKET_SHARED)", folder.display());
    None
}

fn topology(folder: &Path, file: &str) -> Topology {
    Topology::from_file(&folder.join(file)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_structure_of_real_machines_is_found_again() {
    let Some(folder) = machines("the_structure_of_real_machines_is_found_again") else { return };
    for file in [
        "intel-nehalem-corei7-4c8t.xml",
        "intel-hybrid-i7-1370P-6P8E.xml",
        "amd-zen5-ryzenai9-hx370.xml",
        "power8nvl-2x4c-smt2.xml",
        "intel-clovertown-2xE5345-nosmt.xml",
        "arm-128c-clusters.xml",
        "amd-zen-2xEpyc7451-smt.xml",
    ] {
        let topology = topology(&folder, file);
        let model = Model::of(&topology);
        let (got, _) = inferred(&model, 0.03, 1);
        let mut score = Score::default();
        score.add(&model, &got);
        assert_eq!((score.wrong, score.siblings_found), (0, score.siblings), "{file}: {score:?}");
    }
}

#[test]
fn disagreement_with_the_system_is_stated() {
    let Some(folder) = machines("disagreement_with_the_system_is_stated") else { return };
    let quad = topology(&folder, "intel-nehalem-corei7-4c8t.xml");
    let (plain, _) = inferred(&Model::new(8, 1, 8, 8), 0.02, 1);
    let view = compare_with_system(&plain, &quad, None);
    assert_eq!((view.disagreements.len(), view.agreed), (4, 24), "{}", view.sentence);
    assert!(view.disagreements.iter().all(|d| d.system_says_siblings));
    let guest = topology(&folder, "vm-kvm-cloudstack-2x1.xml");
    let (pair, _) = inferred(&Model::new(1, 2, 1, 1), 0.02, 1);
    let view = compare_with_system(&pair, &guest, Some("KVM"));
    assert!(view.hides_siblings && view.sentence.contains("(KVM) hides siblings"), "{view:?}");
    let (apart, _) = inferred(&Model::new(2, 1, 1, 2), 0.02, 1);
    let view = compare_with_system(&apart, &guest, Some("KVM"));
    assert_eq!((view.hides_siblings, view.agreed), (false, 1), "{}", view.sentence);
}
