//! A bench against earlier ones: have blocks become longer?

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::analysis::{Analysis, ENOUGH_STARTS, any, round_figures};
use crate::bench::BenchPlan;
use crate::foreign::plain;
use crate::lines::Lines;
use crate::numbers::{NONE, change_with, counted, percent, us};
use crate::record::{BenchRecord, Settings, Variant};
use crate::stats::{
    Judgement, MIN_ROUNDS, MIN_STARTS, Starts, Unpaired, all_at_once, between_runs,
};
use crate::table::Table;

/// By how many per cent a variant may become slower if nobody says otherwise.
///
/// One baseline does not tell how much two runs of one program differ. If runs deviate by 1 %, two of them are 5 % apart in
/// fewer than one of a thousand pairs. Where they deviate by more, several baselines show it.
pub const MAX_SLOWER: f64 = 5.0;

/// The median block times of one or more earlier runs, and of one now.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    head: String,
    earlier: usize,
    changes: Vec<Change>,
}

/// One variant in all of them.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    variant: String,
    /// `None`: one of the runs has no rounds of it.
    compared: Option<Unpaired>,
    /// The smallest difference that the runs can show, on the logarithmic scale.
    floor: Option<f64>,
    /// What the earlier runs differ by among themselves.
    between: Option<f64>,
}

/// Why a run cannot be judged, and against which of the earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Number of the earlier run, from 0.
    pub at: usize,
    /// A sentence.
    pub why: String,
}

/// Why a run of this plan could not be judged against the records, so that nothing is measured in vain. `machine` is the
/// present one ([`crate::about::machine`]).
pub fn baseline_misfit(
    baselines: &[BenchRecord],
    plan: &BenchPlan,
    machine: &Value,
) -> Option<Misfit> {
    let of_one = |it: &BenchRecord| unfit(it).or_else(|| ahead(it, plan, machine));
    first(baselines, of_one).or_else(|| given_twice(baselines))
}

fn first(records: &[BenchRecord], why: impl Fn(&BenchRecord) -> Option<String>) -> Option<Misfit> {
    records.iter().enumerate().find_map(|(at, it)| Some(Misfit { at, why: why(it)? }))
}

/// A run is no measure for itself.
fn given_twice(baselines: &[BenchRecord]) -> Option<Misfit> {
    let at = (1..baselines.len()).find(|at| {
        let begun = &baselines[*at].started_at;
        baselines[..*at].iter().any(|before| before.started_at == *begun)
    })?;
    let why = format!("the run of {} is named twice", plain(&baselines[at].started_at));
    Some(Misfit { at, why: format!("not comparable: {why}; a baseline more is another run") })
}

/// What no other run can mend.
fn unfit(baseline: &BenchRecord) -> Option<String> {
    let analysis = Analysis::of(baseline);
    let why = match () {
        () if baseline.partial.is_some() => return incomplete(baseline, "the baseline"),
        () if analysis.is_wrong() => {
            "a part of the session was not computed in the baseline".into()
        }
        () if analysis.starts < ENOUGH_STARTS => too_few_starts(),
        () if analysis.floor.is_none() => format!(
            "the baseline has no variant that was measured twice, or fewer than {MIN_ROUNDS} rounds; measure it again"
        ),
        () => return None,
    };
    Some(format!("cannot be judged: {why}"))
}

fn incomplete(record: &BenchRecord, which: &str) -> Option<String> {
    let why = record.partial.as_ref()?;
    Some(format!("not comparable: {which} is not complete: {}", plain(why)))
}

fn ahead(baseline: &BenchRecord, plan: &BenchPlan, machine: &Value) -> Option<String> {
    let has = |name: &String| baseline.variants.iter().any(|variant| variant.name == *name);
    let common = plan.variants.iter().any(|variant| has(&variant.to_string()));
    let session = baseline.session.content_sha256.as_ref().zip(plan.session_sha256.as_ref());
    let fills = [baseline.session.fill, plan.fill];
    let of_session = || session.and_then(|(before, now)| other_text(before, now, fills));
    let rounds = plan.rounds();
    let judged = || match () {
        () if !common => Some(nothing_in_common()),
        () if plan.of_starts().len() < ENOUGH_STARTS => Some(too_few_starts()),
        () if rounds < MIN_ROUNDS => Some(format!(
            "--blocks {} is {rounds} rounds, and a verdict needs {MIN_ROUNDS}; ask for more blocks",
            plan.blocks
        )),
        () => None,
    };
    difference(&of_settings(&baseline.settings), &of_plan(plan))
        .or_else(|| other_counting(counting(baseline), counting_of(plan)))
        .or_else(|| difference(&of_machine(&baseline.machine), &of_machine(machine)))
        .or_else(of_session)
        .or_else(|| judged().map(|why| format!("cannot be judged: {why}")))
}

fn too_few_starts() -> String {
    format!("a verdict needs {ENOUGH_STARTS} process starts in each run; see --starts")
}

fn nothing_in_common() -> String {
    "the two runs have no variant in common".into()
}

impl Baseline {
    /// Compares the variants that all runs have; all intervals hold at once.
    ///
    /// The starts of the earlier runs count together. What these runs differ by among themselves is noise, as what twins
    /// differ by is: the larger of both is the floor.
    ///
    /// # Errors
    /// Why they cannot be compared.
    pub fn of(baselines: &[BenchRecord], now: &BenchRecord) -> Result<Baseline, Misfit> {
        let misfit = first(baselines, |it| incomparable(it, now));
        if let Some(misfit) = misfit.or_else(|| given_twice(baselines)) {
            return Err(misfit);
        }
        let refuse = |why: String| Misfit { at: 0, why: format!("cannot be judged: {why}") };
        let runs: Vec<Analysis> = baselines.iter().chain([now]).map(Analysis::of).collect();
        if runs.iter().any(Analysis::is_wrong) {
            return Err(refuse("a part of the session was not computed in one of them".into()));
        }
        let floors: Option<Vec<f64>> = runs.iter().map(|run| run.floor).collect();
        let floor = floors.and_then(largest);
        let all = variants(baselines, now);
        let count = all.iter().filter(|(_, runs)| is_whole(runs)).count();
        let change = |(name, runs): &(String, Vec<Starts>)| Change::of(name, runs, floor, count);
        let changes: Vec<Change> = all.iter().map(change).collect();
        match changes.is_empty() {
            true => Err(refuse(nothing_in_common())),
            false => {
                let head = head(baselines, now, &changes);
                Ok(Baseline { head, earlier: baselines.len(), changes })
            }
        }
    }

    /// As text for a terminal.
    pub fn text(&self) -> String {
        let mut out = Lines::default();
        out.blank();
        out.prose("", &self.head);
        out.table("", &self.table());
        if let Some(caution) = self.caution() {
            out.prose("", &caution);
        }
        out.text
    }

    /// What was compared with what.
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Every variant with its verdict, which is in the last column.
    pub(crate) fn table(&self) -> Table {
        let heads = ["variant", "baseline", "now", "change", "verdict"];
        Table::new(heads, self.changes.iter().map(|it| self.row(it)).collect())
    }

    /// How many variants differ.
    pub(crate) fn shown(&self) -> usize {
        let differs = |it: &&Change| match self.tells_runs_apart() {
            true => it.judgement().is_shown(),
            false => it.judgement().is_shown() && it.is_large(),
        };
        self.changes.iter().filter(differs).count()
    }

    /// Whether there are enough earlier runs to say how far the next run of the same program may be from them.
    fn tells_runs_apart(&self) -> bool {
        self.earlier >= MIN_STARTS
    }

    /// How many variants have no verdict.
    pub(crate) fn not_judged(&self) -> usize {
        self.changes.iter().filter(|it| !it.judgement().is_decided()).count()
    }

    /// What so few baselines cannot tell, where that matters.
    pub(crate) fn caution(&self) -> Option<String> {
        let is_shown = self.changes.iter().any(|it| it.judgement().is_shown());
        (!self.tells_runs_apart() && is_shown).then(few_baselines)
    }

    fn row(&self, it: &Change) -> Vec<String> {
        let Some(Unpaired { before, after, ratio, interval, .. }) = it.compared else {
            let none = || NONE.to_string();
            return vec![it.variant.clone(), none(), none(), none(), "no rounds".into()];
        };
        let verdict = match it.judgement() {
            shown if shown.is_shown() && !self.tells_runs_apart() => match it.is_large() {
                true => DIFFERS,
                false => OPEN,
            },
            judgement => judgement.words(),
        };
        let changed = change_with(ratio, interval);
        vec![it.variant.clone(), us(before), us(after), changed, verdict.into()]
    }

    /// Variants whose blocks are shown to take longer than before by more than so many per cent.
    pub fn slower(&self, percent: f64) -> Vec<String> {
        let bound = 1.0 + percent / 100.0;
        let told = |it: &Change| {
            let compared = it.compared.filter(|_| it.beyond(bound).is_more())?;
            let changed = change_with(compared.ratio, compared.interval);
            let many = if self.earlier == 1 { "" } else { "s" };
            Some(format!(
                "{}: the median block time is {changed} against the baseline{many}, more than {percent} %",
                it.variant
            ))
        };
        self.changes.iter().filter_map(told).collect()
    }

    /// Why a variant cannot be judged, if so.
    pub fn undecided(&self) -> Option<String> {
        let why = self.changes.iter().find_map(Change::undecided)?;
        Some(format!("cannot be judged: {why}"))
    }
}

/// The verdicts where fewer baselines than tell how much runs differ show a difference: of more than runs usually differ
/// by, and of less.
const DIFFERS: &str = "differs";
const OPEN: &str = "open";

fn few_baselines() -> String {
    format!(
        "Fewer than {MIN_STARTS} earlier runs do not tell how much runs of one program differ. So a variant differs only where \
         the change is shown to be more than {MAX_SLOWER} %. A smaller one that is shown stays open: a second run of the same \
         program might show it, too. Name {MIN_STARTS} runs of the earlier program or more to find out: --baseline A --baseline B \
         --baseline C."
    )
}

impl Change {
    /// Of the starts of every run, the present one last.
    fn of(variant: &str, runs: &[Starts], floor: Option<f64>, of: usize) -> Change {
        let earlier = runs.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let means: Vec<f64> = earlier.iter().filter_map(Starts::mean).collect();
        let between = between_runs(&means, all_at_once(of));
        let floor = floor.and_then(|floor| largest([floor, between.unwrap_or(0.0)]));
        let compared = Change::compared(runs, of);
        Change { variant: variant.into(), compared, floor, between }
    }

    fn compared(runs: &[Starts], of: usize) -> Option<Unpaired> {
        let (now, earlier) = runs.split_last().filter(|_| is_whole(runs))?;
        let before: Vec<f64> = earlier.iter().flat_map(|run| run.figures.iter().copied()).collect();
        // Each run needs enough: many runs of one start do not tell how starts differ.
        let starts = runs.iter().map(|run| run.figures.len()).min()?;
        let unsteady = runs.iter().any(|run| run.unsteady);
        let compared = Unpaired::of(&before, &now.figures, of)?;
        Some(Unpaired { starts, unsteady, ..compared })
    }

    fn judgement(&self) -> Judgement {
        self.beyond(1.0)
    }

    /// Whether it is shown to be more than runs of one program usually differ by, in either direction.
    fn is_large(&self) -> bool {
        let bound = 1.0 + MAX_SLOWER / 100.0;
        self.beyond(bound).is_more() || self.beyond(1.0 / bound).is_less()
    }

    fn beyond(&self, bound: f64) -> Judgement {
        let judged = |it: Unpaired| it.judged_beyond(bound, self.floor, ENOUGH_STARTS);
        self.compared.map_or(Judgement::TooFew, judged)
    }

    fn undecided(&self) -> Option<String> {
        let variant = &self.variant;
        match self.judgement() {
            _ if self.compared.is_none() => {
                Some(format!("{variant} was not measured in one of the runs; see its report"))
            }
            Judgement::TooFewStarts => Some(too_few_starts()),
            Judgement::TooFew => {
                Some(format!("{variant}: too few rounds, or no twin; see --blocks"))
            }
            Judgement::Unsteady => Some(format!(
                "{variant}: its block times came to no level in most process starts; measure on an idle machine, or more \
                 --blocks"
            )),
            _ => None,
        }
    }
}

/// The largest. What is no number counts as endless: `max` alone would pass it over.
fn largest(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let known = |it: f64| if it.is_finite() { it } else { f64::INFINITY };
    figures.into_iter().map(known).reduce(f64::max)
}

fn is_whole(runs: &[Starts]) -> bool {
    runs.iter().all(|run| !run.figures.is_empty())
}

/// The variants that all runs name and at least one has measured, each with the starts of every run.
fn variants(baselines: &[BenchRecord], now: &BenchRecord) -> Vec<(String, Vec<Starts>)> {
    let of = |variant: &Variant| {
        let mut runs: Vec<&Variant> =
            baselines.iter().map(|it| same(it, variant)).collect::<Option<_>>()?;
        runs.push(variant);
        let measured = runs.iter().any(|it| !it.rounds.is_empty());
        measured.then(|| (variant.name.clone(), runs.into_iter().map(by_start).collect()))
    };
    now.variants.iter().filter(|it| !it.twin).filter_map(of).collect()
}

fn same<'r>(record: &'r BenchRecord, variant: &Variant) -> Option<&'r Variant> {
    record.variants.iter().find(|it| it.name == variant.name)
}

/// Median block times of a variant's process starts, in nanoseconds.
fn by_start(variant: &Variant) -> Starts {
    let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (round, figure) in round_figures(variant, 0.5, any) {
        starts.entry(round.start).or_default().push(figure);
    }
    Starts::of(&starts.into_values().collect::<Vec<_>>())
}

/// Why two runs cannot be compared, if so.
pub(crate) fn incomparable(baseline: &BenchRecord, now: &BenchRecord) -> Option<String> {
    incomplete(baseline, "the baseline")
        .or_else(|| incomplete(now, "this run"))
        .or_else(|| difference(&of_settings(&baseline.settings), &of_settings(&now.settings)))
        .or_else(|| other_counting(counting(baseline), counting(now)))
        .or_else(|| difference(&of_machine(&baseline.machine), &of_machine(&now.machine)))
        .or_else(|| other_session(baseline, now))
        .or_else(|| now.variants.iter().find_map(|it| other_threads(same(baseline, it)?, it)))
}

/// What has to be the same in two runs: what it is called, and what it is.
type Kind = Vec<(&'static str, String)>;

fn difference(before: &Kind, now: &Kind) -> Option<String> {
    before.iter().zip(now).find_map(|((what, before), (_, now))| differs(what, before, now))
}

fn differs(what: &str, before: &str, now: &str) -> Option<String> {
    let [one, other] = [before, now].map(plain);
    (before != now).then(|| {
        format!("not comparable: the two runs differ in {what}: {one} in the baseline, now {other}")
    })
}

fn of_settings(settings: &Settings) -> Kind {
    vec![
        ("frames", settings.frames.to_string()),
        ("Hz", settings.rate_hz.to_string()),
        ("blocks per round", settings.blocks_per_round.to_string()),
        ("warm-up blocks", settings.warmup.to_string()),
        ("seat wait", settings.seat_wait.clone().unwrap_or_else(unknown)),
        ("load", settings.disturb.join(",")),
    ]
}

fn of_plan(plan: &BenchPlan) -> Kind {
    let disturb: Vec<String> = plan.disturb.iter().map(ToString::to_string).collect();
    vec![
        ("frames", plan.frames.to_string()),
        ("Hz", plan.rate_hz.to_string()),
        ("blocks per round", plan.blocks_per_round.to_string()),
        ("warm-up blocks", plan.warm_up.to_string()),
        ("seat wait", plan.seat_wait.name().into()),
        ("load", disturb.join(",")),
    ]
}

/// Whether hardware counters counted beside.
fn counting(record: &BenchRecord) -> &'static str {
    let mut counted = record.variants.iter().filter_map(|variant| variant.counted.as_ref());
    match counted.next().map(|first| first.per_kind) {
        None => "off",
        Some(false) => "on",
        Some(true) => "on, by kind",
    }
}

fn counting_of(plan: &BenchPlan) -> &'static str {
    match (plan.counters, plan.counters_per_kind) {
        (false, _) => "off",
        (true, false) => "on",
        (true, true) => "on, by kind",
    }
}

/// Counting costs time when threads are switched; by kind, it costs system calls inside blocks.
fn other_counting(before: &str, now: &str) -> Option<String> {
    differs("hardware counters (--counters)", before, now)
}

fn unknown() -> String {
    "unknown".into()
}

/// What another machine would have otherwise. The kernel may be a newer one: then the head says so.
fn of_machine(machine: &Value) -> Kind {
    let fact = |name: &str| fact(machine, name).unwrap_or_else(unknown);
    vec![
        ("the processor", fact("cpu_model")),
        ("the architecture", fact("architecture")),
        ("the hypervisor", fact("hypervisor")),
        ("SMT", fact("smt")),
        ("usable CPUs", usable(machine)),
        ("the governor", governors(machine)),
    ]
}

/// `None` where the record does not have it, or the system did not tell.
pub(crate) fn fact(machine: &Value, name: &str) -> Option<String> {
    let value = machine.pointer(&format!("/facts/{name}/value"))?;
    Some(value.as_str().map_or_else(|| value.to_string(), Into::into))
}

/// How many CPUs a process may use there.
pub(crate) fn usable(machine: &Value) -> String {
    let is = |seat: &Value, what: &str| seat.get(what).and_then(Value::as_bool) == Some(true);
    let is_usable = |seat: &&Value| is(seat, "allowed") && is(seat, "online");
    let seats = machine.pointer("/topology/seats").and_then(Value::as_array);
    seats.map_or_else(unknown, |all| all.iter().filter(is_usable).count().to_string())
}

fn governors(machine: &Value) -> String {
    let clocks = machine.pointer("/facts/clocks").and_then(Value::as_object);
    let of_cpu = |cpu: &Value| {
        let governor = cpu.pointer("/governor/value").and_then(Value::as_str);
        governor.map_or_else(unknown, Into::into)
    };
    let all: BTreeSet<String> = clocks.into_iter().flat_map(|it| it.values().map(of_cpu)).collect();
    if all.is_empty() { unknown() } else { Vec::from_iter(all).join(", ") }
}

/// By the digests of both, in which is also what fills the session.
fn other_text(before: &str, now: &str, fills: [Option<usize>; 2]) -> Option<String> {
    let why = "not comparable: the two runs differ in the session's text; name a record of this very session";
    (before != now).then(|| other_fill(fills).unwrap_or_else(|| why.into()))
}

/// A share or a time makes another number of equalisers in each run, so the remedy is a number.
fn other_fill([before, now]: [Option<usize>; 2]) -> Option<String> {
    let told = |fill: Option<usize>| fill.map_or("none".into(), |it| counted(it, "equaliser"));
    let why = differs("--fill", &told(before), &told(now))?;
    let remedy = before.map_or("leave --fill out".into(), |it| format!("give --fill {it}"));
    Some(format!("{why}; {remedy}, or name another record"))
}

/// Where both have a digest of the session, its parts are not looked at: the program may plan the same session otherwise,
/// and that is a change to be measured.
fn other_session(baseline: &BenchRecord, now: &BenchRecord) -> Option<String> {
    let content = |record: &BenchRecord| record.session.content_sha256.clone();
    let of_session = match content(baseline).zip(content(now)) {
        Some((before, after)) => {
            other_text(&before, &after, [baseline.session.fill, now.session.fill])
        }
        None => difference(&of_session(baseline), &of_session(now)),
    };
    let media = |record: &BenchRecord| -> Vec<String> {
        let all = record.session.media.iter();
        all.map(|it| it.sha256.clone().unwrap_or_else(|| it.path.clone())).collect()
    };
    let other = media(baseline) != media(now);
    let of_media = other.then(|| "not comparable: the two runs played other audio files".into());
    of_session.or(of_media)
}

fn of_session(record: &BenchRecord) -> Kind {
    let it = &record.session;
    let size = [
        counted(it.tracks, "track"),
        counted(it.groups, "group"),
        counted(it.returns, "return"),
        counted(it.units, "unit"),
        counted(it.edges, "edge"),
    ];
    vec![("the session's name", it.name.clone()), ("the session", size.join(", "))]
}

/// Other workers, or another class: what the system granted, whatever was asked for.
fn other_threads(before: &Variant, now: &Variant) -> Option<String> {
    let of_both = [before, now];
    if before.twin || now.twin || of_both.iter().any(|it| it.rounds.is_empty()) {
        return None;
    }
    let [workers_before, workers] = of_both.map(|it| workers(it).to_string());
    let [classes_before, classes] = of_both.map(classes);
    let name = plain(&now.name);
    differs(&format!("workers of {name}"), &workers_before, &workers)
        .or_else(|| differs(&format!("class of {name}"), &classes_before, &classes))
}

/// Threads that a later start named once more are no workers of their own.
fn workers(variant: &Variant) -> usize {
    let is_worker = |name: &str| {
        (name.starts_with("leader") || name.starts_with("worker")) && !name.contains(", start ")
    };
    variant.threads.iter().filter(|it| is_worker(&it.thread)).count()
}

fn classes(variant: &Variant) -> String {
    let all: BTreeSet<&str> = variant.threads.iter().map(|it| it.class_got.as_str()).collect();
    if all.is_empty() { unknown() } else { Vec::from_iter(all).join(", ") }
}

fn head(baselines: &[BenchRecord], now: &BenchRecord, changes: &[Change]) -> String {
    let build = |record: &BenchRecord| {
        let commit = record.hocket.commit.as_deref().unwrap_or("unknown");
        format!("hocket {}, commit {commit}", record.hocket.version)
    };
    let builds: BTreeSet<String> = baselines.iter().map(build).collect();
    let builds = Vec::from_iter(builds).join("; ");
    let against = match baselines {
        [one] => format!("the run of {} ({builds})", one.started_at),
        _ => {
            let times: Vec<&str> = baselines.iter().map(|it| it.started_at.as_str()).collect();
            format!("{} runs ({}; {builds})", times.len(), times.join(", "))
        }
    };
    let mut head = format!(
        "Against {against}: median block time, in µs. Rounds of different runs are not paired, so whatever changed between \
         them (load, clock, kernel) is in the change."
    );
    if let Some(between) = largest(changes.iter().filter_map(|it| it.between)) {
        head += &format!(
            " As the earlier runs differ among themselves, a change of up to {} is noise.",
            percent(between.exp_m1())
        );
    }
    if baselines.iter().any(|it| it.session.content_sha256.is_none())
        || now.session.content_sha256.is_none()
    {
        head += " One of the records has no digest of its session, so Hocket took the session to be the same by its name \
                 and size.";
    }
    let kernel = |record: &BenchRecord| fact(&record.machine, "kernel_release");
    if baselines.iter().any(|it| kernel(it) != kernel(now)) {
        head += " The kernels are not the same.";
    }
    head
}
