//! How often the lab's advice is called sure, and locks are ranked, on simulated machines on which nothing differs.

mod noise;

use hocket_lab::experiments::find;
use hocket_lab::harness::{
    Design, Results, Rounds, Sentence, Size, Standing, Variant, as_far_as_it_holds,
};

use noise::{
    LONG_MEMORY, NOISES, Noise, ROUGH, STARTS, TURN_NS, WHITE, count, measured, only, tolerated,
    two_cores_with_smt,
};

const ROUNDS: Rounds = Rounds { processes: 5, per_process: 8, warm_up: 0 };

/// An experiment as a machine with SMT is asked to run it, without the variants that the advice leaves aside.
fn design_of(id: &str, keep: impl Fn(&Variant) -> bool) -> Design {
    let design = find(id).expect(id).design(&two_cores_with_smt(), Size::Quick).expect(id);
    let design = only(design, ROUNDS, keep);
    assert_eq!(design.fault(), None, "{id}");
    design
}

/// What one of them advises, as the report says it.
fn advice(id: &str, results: &Results) -> Sentence {
    let advice = find(id).and_then(|experiment| experiment.advice(results)).expect(id);
    as_far_as_it_holds(results, advice)
}

/// An experiment with what it measures, and the noise that can be in that.
struct Asked {
    id: &'static str,
    metric: &'static str,
    design: Design,
    noises: Vec<Noise>,
    /// A figure where nothing differs.
    usual: f64,
}

impl Asked {
    fn of(id: &'static str, metric: &'static str, design: Design) -> Asked {
        let noises = NOISES.into_iter().chain(ROUGH).collect();
        Asked { id, metric, design, noises, usual: TURN_NS }
    }

    /// A figure that is a quotient of two times of one turn: what slows the whole machine is not in it.
    fn quotient(self) -> Asked {
        let [rough, neighbours, starts, _] = ROUGH;
        let noises = vec![WHITE, NOISES[4], LONG_MEMORY, STARTS, rough, neighbours, starts];
        Asked { noises, usual: 1.0, ..self }
    }

    fn advice(&self, noise: Noise, effect: impl Fn(&str) -> f64, seed: u64) -> Sentence {
        let truth = |variant: &Variant| self.usual * effect(&variant.name);
        let metrics = [self.metric];
        advice(self.id, &measured(noise, self.id, &self.design, &metrics, truth, seed))
    }

    /// In at most 5 % it is sure where the truth says nothing.
    fn check_unsure(&self, effect: impl Fn(&str) -> f64) {
        const RUNS: u64 = 16;
        let mut all = 0.0;
        for noise in &self.noises {
            let is_sure = |seed| self.advice(*noise, &effect, seed).standing == Standing::Shown;
            let own = count(RUNS, is_sure);
            println!("{:12} {:16} sure in {own} of {RUNS}", self.id, noise.name);
            assert!(own <= tolerated(RUNS as f64), "{}, {}: {own}", self.id, noise.name);
            all += own;
        }
        let runs = (RUNS * self.noises.len() as u64) as f64;
        assert!(all <= tolerated(runs), "{}: {all} of {runs}", self.id);
    }

    /// In most runs it is sure, in these words.
    fn check_sure(&self, effect: impl Fn(&str) -> f64, words: &str) {
        const RUNS: u64 = 20;
        let says = |seed| {
            let Sentence { text, standing } = self.advice(WHITE, &effect, seed);
            standing == Standing::Shown && text.starts_with(words)
        };
        let found = count(RUNS, says);
        println!("{:12} '{words}' in {found} of {RUNS}", self.id);
        assert!(found >= 0.85 * RUNS as f64, "{}: {found}", self.id);
    }
}

fn equal(_: &str) -> f64 {
    1.0
}

#[test]
fn whether_smt_pays() {
    let design = design_of("smt-bound", |variant| variant.name.contains("biquads"));
    let asked = Asked::of("smt-bound", "speed-up", design).quotient();
    asked.check_unsure(equal);
    asked.check_sure(|_| 1.1, "Leave SMT on");
    asked.check_sure(|_| 0.9, "Use one thread of each core");
}

#[test]
fn whether_it_pays_to_tie_threads_to_cpus() {
    let asked = Asked::of("affinity", "time", design_of("affinity", |_| true));
    asked.check_unsure(equal);
    let pinned = |name: &str| if name.contains(" pinned ") { 0.9 } else { 1.0 };
    asked.check_sure(pinned, "Tie threads to CPUs");
}

/// FIFO is not granted everywhere, so its variant does not come from this machine.
#[test]
fn whether_priorities_pay() {
    let names = ["alone", "equal same-cpu 3-load", "fifo same-cpu 3-load"];
    let design = Design::against_first(names.map(Variant::new).to_vec(), "time", ROUNDS);
    let asked = Asked::of("priority", "time", design);
    asked.check_unsure(equal);
    // A load slows both, and a priority helps neither.
    let slowed = |name: &str| if name == "alone" { 1.0 } else { 4.0 };
    asked.check_unsure(slowed);
    let kept = |name: &str| if name.starts_with("equal") { 4.0 } else { 1.0 };
    asked.check_sure(kept, "Give audio threads a real-time priority");
}

#[test]
fn whether_several_workers_pay() {
    let keep = |variant: &Variant| {
        let [frames, wait] = ["frames", "wait"].map(|factor| variant.level(factor));
        frames == "64" && ["hybrid", "futex", "pause"].contains(&wait)
    };
    let asked = Asked::of("schedules", "duration", design_of("schedules", keep));
    asked.check_unsure(equal);
    let shorter = |name: &str| if name == "64 dataflow off hybrid" { 0.9 } else { 1.0 };
    asked.check_sure(shorter, "Use all workers: at 64 frames");
}

#[test]
fn how_workers_wait() {
    let keep = |variant: &Variant| {
        variant.level("load") == "idle" && ["spin", "futex"].contains(&variant.level("wait"))
    };
    let asked = Asked::of("wake", "lateness", design_of("wake", keep));
    asked.check_unsure(equal);
    let late = |name: &str| if name.starts_with("futex") { 1.1 } else { 1.0 };
    asked.check_sure(late, "Let workers look for a moment");
}

/// Six locks in four placements.
fn locks() -> Design {
    const KINDS: [&str; 6] =
        ["std-mutex", "pthread-normal", "pthread-adaptive", "test-and-set", "ticket", "mcs"];
    const PLACES: [&str; 4] = ["alone", "same-cpu", "siblings", "4-threads"];
    let keep = |variant: &Variant| {
        KINDS.contains(&variant.level("lock")) && PLACES.contains(&variant.level("spread"))
    };
    let design = only(
        find("locks").expect("locks").design(&two_cores_with_smt(), Size::Quick).expect("locks"),
        Rounds { processes: 5, per_process: 4, warm_up: 0 },
        keep,
    );
    assert_eq!((design.variants.len(), design.fault()), (KINDS.len() * PLACES.len(), None));
    design
}

/// What `locks` says: the ranks, and all sentences besides.
fn said_of_locks(
    design: &Design,
    noise: Noise,
    effect: impl Fn(&str) -> f64,
    seed: u64,
) -> (Sentence, Vec<Sentence>) {
    let truth = |variant: &Variant| 1e7 * effect(&variant.name);
    let results = measured(noise, "locks", design, &["passes"], truth, seed);
    let said = find("locks").expect("locks").findings(&results).into_iter();
    let said = said.map(|sentence| as_far_as_it_holds(&results, sentence));
    let (mut ranks, others): (Vec<Sentence>, Vec<Sentence>) =
        said.partition(|sentence| sentence.text.starts_with("mean rank over "));
    (ranks.remove(0), others)
}

/// What a start does to a lock it may do in every placement: those are the starts of one run, and no new evidence.
#[test]
fn equal_locks_are_ranked_in_at_most_five_per_cent_of_runs() {
    const RUNS: u64 = 24;
    let design = locks();
    let kin = Noise { name: "kin", kin: 0.01, ..STARTS };
    let noises = [WHITE, NOISES[7], STARTS, kin];
    let (mut all, mut told) = (0.0, 0.0);
    let mut sentences = 0.0;
    for noise in noises {
        let (mut ranked, mut others, mut of) = (0.0, 0.0, 0.0);
        for seed in 0..RUNS {
            let (ranks, rest) = said_of_locks(&design, noise, equal, seed);
            ranked += f64::from(u8::from(ranks.standing == Standing::Shown));
            others += rest.iter().filter(|it| it.standing == Standing::Shown).count() as f64;
            of += rest.len() as f64;
        }
        println!("{:12} ranked in {ranked} of {RUNS}, sentences {others} of {of}", noise.name);
        assert!(ranked <= tolerated(RUNS as f64), "{}: {ranked} of {RUNS}", noise.name);
        assert!(others <= tolerated(of), "{}: {others} of {of}", noise.name);
        all += ranked;
        (told, sentences) = (told + others, sentences + of);
    }
    let runs = (RUNS * noises.len() as u64) as f64;
    assert!(all <= tolerated(runs), "{all} of {runs}");
    assert!(sentences >= 4.0 * runs && told <= tolerated(sentences), "{told} of {sentences}");
}

#[test]
fn a_lock_with_more_passes_everywhere_is_ranked_first() {
    const RUNS: u64 = 10;
    let design = locks();
    let effect = |name: &str| match name.split(' ').next() {
        Some("mcs") => 1.2,
        Some("ticket") => 1.1,
        Some("test-and-set") => 0.8,
        _ => 1.0,
    };
    let is_first = |seed| {
        let (ranks, _) = said_of_locks(&design, WHITE, effect, seed);
        ranks.standing == Standing::Shown && ranks.text.contains(": mcs 1.0, ticket 2.0")
    };
    let found = count(RUNS, is_first);
    assert!(found >= 0.8 * RUNS as f64, "{found}");
}
