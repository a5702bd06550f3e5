//! All figures of a report, computed once.

use hocket_trace::Misses;

use std::collections::BTreeMap;

use crate::foreign::plain;
use crate::harness::TWIN;
use crate::numbers::count;
use crate::record::{BenchRecord, Noise, Round, Variant};
use crate::stats::{
    self, MIN_ROUNDS, Proportion, StartComparison, Summary, Z_95, compare_steady, quantile_sorted,
};

/// Process starts below which no difference is shown. Three would do if places in memory were normal; five hold
/// where some starts are far off (`tests/bench_noise.rs`).
pub(super) const ENOUGH_STARTS: usize = 5;

/// Everything a report says in figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis<'a> {
    /// The record it was computed from.
    pub record: &'a BenchRecord,
    /// From a block's planned start to its deadline.
    pub period_ns: f64,
    /// What all variants have in common and their labels therefore leave out: `wait hybrid`.
    pub shared: Vec<String>,
    /// One per variant, in the order of the record.
    pub rows: Vec<Row<'a>>,
    /// The bare wake-up loop; `None` where it has no samples.
    pub wake: Option<Wake>,
    /// How many turns were disturbed.
    pub turns: Turns,
    /// How many process starts have rounds.
    pub starts: usize,
    /// What the twin of the first variant shows: what this machine cannot show today ([`stats::floor`]).
    pub floor: Option<f64>,
}

/// One variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// The variant.
    pub variant: &'a Variant,
    /// Its name without the parts that all variants share ([`Analysis::shared`]).
    pub label: String,
    /// Its figures; `None` where it has no blocks.
    pub measured: Option<Measured>,
}

/// What a variant's blocks show.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// From planned start to complete output: what the deadline is about.
    pub ready: Summary,
    /// The same, every block, ascending.
    pub ready_sorted: Vec<f64>,
    /// From the leader's awakening to complete output: the block time.
    pub took: Summary,
    /// The same, every block, ascending.
    pub took_sorted: Vec<f64>,
    /// Late blocks.
    pub late: Proportion,
    /// Late blocks and skipped periods.
    pub misses: Misses,
    /// Whether skipped periods were counted; older records lack them.
    pub counts_skipped: bool,
    /// Medians of the block time against the reference's; `None` for the reference itself. The intervals of
    /// all variants hold at once ([`stats::all_at_once`]).
    pub typical: Option<StartComparison>,
    /// The same of the 99 % quantiles.
    pub tail: Option<StartComparison>,
    /// That of the medians without the rounds in which either was disturbed; `None` where these are all or too few.
    pub undisturbed: Option<StartComparison>,
}

impl Measured {
    /// `14 = 12 + 2`: misses, late blocks and skipped periods.
    pub fn misses_words(&self) -> String {
        let Misses { late, skipped } = self.misses;
        match (self.misses.total(), self.counts_skipped) {
            (0, true) => "0".into(),
            (all, true) => format!("{} = {} + {}", count(all), count(late), count(skipped)),
            (all, false) => format!("at least {}", count(all)),
        }
    }

    /// Share of all periods for which the device had nothing new to play.
    pub fn missed_share(&self) -> f64 {
        let periods = self.late.of.saturating_add(self.misses.skipped).max(1);
        self.misses.total() as f64 / periods as f64
    }
}

/// What a row says about its difference from the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The variant is judged.
    Judged(stats::Judgement),
    /// The variant cannot differ here.
    SameHere,
    /// The reference once more; its difference tells the noise.
    Twin,
}

impl Judgement {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Judgement::Judged(judgement) => judgement.words(),
            Judgement::SameHere => "the same here",
            Judgement::Twin => "noise",
        }
    }

    /// Whether a difference is shown.
    pub fn is_shown(self) -> bool {
        matches!(self, Judgement::Judged(judgement) if judgement.is_shown())
    }
}

/// What the bare wake-up loop shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Wake {
    /// From planned wake-up to awake.
    pub lateness: Summary,
    /// The same, every wake-up, ascending.
    pub sorted: Vec<f64>,
    /// Wake-ups so late that even an empty block would have missed its deadline.
    pub late: Proportion,
}

/// How many of the turns saw work that was not the bench's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// All turns, those of the wake-up loop included.
    pub all: usize,
    /// The disturbed ones.
    pub disturbed: usize,
    /// Those of which the system does not tell it.
    pub unknown: usize,
}

impl<'a> Analysis<'a> {
    /// Computes every figure. Cost: some 20 ms per variant of 3000 blocks, most of it resampling.
    pub fn of(record: &'a BenchRecord) -> Analysis<'a> {
        let period_ns = record.period_ns();
        let reference = record.variants.first();
        let shared = Shared::of(&record.variants);
        let against = Against { reference, critical: critical(record), seed: record.settings.seed };
        let row = |(at, variant): (usize, &'a Variant)| Row {
            variant,
            label: shared.label(variant),
            measured: measure(variant, (at > 0).then_some(&against)),
        };
        Analysis {
            record,
            period_ns,
            shared: shared.words(reference),
            rows: record.variants.iter().enumerate().map(row).collect(),
            wake: wake(record, period_ns),
            turns: turns(record),
            starts: starts(record),
            floor: against.floor(record),
        }
    }

    /// Rows that have figures.
    pub fn measured(&self) -> impl Iterator<Item = (&Row<'a>, &Measured)> {
        self.rows.iter().filter_map(|row| Some((row, row.measured.as_ref()?)))
    }

    /// Late blocks of all variants together.
    pub fn late(&self) -> Proportion {
        let add = |sum: Proportion, late: &Proportion| Proportion {
            count: sum.count + late.count,
            of: sum.of + late.of,
        };
        let none = Proportion { count: 0, of: 0 };
        self.measured().map(|(_, measured)| &measured.late).fold(none, add)
    }

    /// What the median block time of a variant shows against the reference's; `None` for the reference.
    pub fn judgement(&self, row: &Row) -> Option<Judgement> {
        let compared = row.measured.as_ref()?.typical?;
        Some(match (row.variant.twin, cannot_differ(self.record, row.variant)) {
            (true, _) => Judgement::Twin,
            (_, true) => Judgement::SameHere,
            _ => Judgement::Judged(self.judged(&compared, self.floor)),
        })
    }

    /// The one judgement, with the process starts that a bench needs.
    pub(super) fn judged(&self, it: &StartComparison, floor: Option<f64>) -> stats::Judgement {
        it.judged(floor, ENOUGH_STARTS, self.is_wrong())
    }

    /// Whether a part of the session was not computed: then a variant may be fast because it is silent.
    pub fn is_wrong(&self) -> bool {
        self.record.contained.iter().any(|it| it.failed > 0 || it.panic.is_some())
    }

    /// The critical value of intervals that hold at once for every variant that is judged.
    pub(super) fn critical(&self) -> f64 {
        critical(self.record)
    }

    /// How far the reference's median of a round wandered during the run: smallest and largest,
    /// in nanoseconds.
    pub fn drift_ns(&self) -> Option<(f64, f64)> {
        let first = self.rows.first()?.variant;
        let all = || round_figures(first, 0.5, any).map(|(_, figure)| figure);
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    }
}

/// Which parts of the names are the same in all variants.
struct Shared {
    schedule: bool,
    sibling: bool,
    wait: bool,
}

impl Shared {
    fn of(variants: &[Variant]) -> Shared {
        let several = variants.iter().filter(|variant| !variant.twin).count() > 1;
        let same = |part: fn(&Variant) -> &str| {
            several && variants.iter().all(|v| part(v) == part(&variants[0]))
        };
        Shared {
            schedule: same(|v| &v.schedule),
            sibling: same(|v| &v.sibling),
            wait: same(|v| &v.wait),
        }
    }

    fn parts<'v>(&self, variant: &'v Variant) -> [(bool, &'static str, &'v str); 3] {
        [
            (self.schedule, "schedule", &variant.schedule),
            (self.sibling, "siblings", &variant.sibling),
            (self.wait, "wait", &variant.wait),
        ]
    }

    /// What differs, or the whole name where nothing does or the name is not made of the parts.
    fn label(&self, variant: &Variant) -> String {
        let parts = self.parts(variant);
        let again = if variant.twin { TWIN } else { "" };
        let whole = parts.map(|(_, _, part)| part).join(" / ") + again;
        let own: Vec<&str> =
            parts.iter().filter(|(shared, ..)| !shared).map(|(_, _, part)| *part).collect();
        let label = if own.is_empty() || whole != variant.name {
            variant.name.clone()
        } else {
            own.join(" / ") + again
        };
        plain(&label)
    }

    fn words(&self, first: Option<&Variant>) -> Vec<String> {
        let parts = first.map_or_else(Vec::new, |variant| self.parts(variant).to_vec());
        let shared = parts.into_iter().filter(|(shared, ..)| *shared);
        shared.map(|(_, what, part)| format!("{what} {}", plain(part))).collect()
    }
}

/// Whether the variant can differ from the reference in nothing but its name: same schedule, wait and lanes, and
/// a sibling policy that means `off` here, as the reference's does.
fn cannot_differ(record: &BenchRecord, variant: &Variant) -> bool {
    let is_off = |it: &Variant| it.sibling == "off" || it.effect_here.is_some();
    record.variants.first().is_some_and(|first| {
        let same = variant.schedule == first.schedule && variant.wait == first.wait;
        let same = same && variant.lanes == first.lanes;
        same && is_off(first) && variant.effect_here.is_some()
    })
}

fn critical(record: &BenchRecord) -> f64 {
    let judged = |variant: &&Variant| {
        !variant.twin && !variant.rounds.is_empty() && !cannot_differ(record, variant)
    };
    stats::all_at_once(record.variants.iter().skip(1).filter(judged).count())
}

/// Process starts that have rounds.
fn starts(record: &BenchRecord) -> usize {
    let rounds = record.variants.iter().flat_map(|variant| &variant.rounds);
    rounds.map(|round| round.start).collect::<std::collections::BTreeSet<u32>>().len()
}

fn measure(variant: &Variant, against: Option<&Against>) -> Option<Measured> {
    let ready_sorted = ascending(variant.ready_ns());
    let took_sorted = ascending(variant.duration_ns());
    Some(Measured {
        ready: Summary::of_sorted(&ready_sorted)?,
        took: Summary::of_sorted(&took_sorted)?,
        late: Proportion { count: variant.misses().late, of: variant.blocks() },
        misses: variant.misses(),
        counts_skipped: variant.counts_skipped(),
        typical: against.and_then(|against| against.typical(variant)),
        tail: against.and_then(|against| against.tail(variant)),
        undisturbed: against.and_then(|against| against.undisturbed(variant)),
        ready_sorted,
        took_sorted,
    })
}

fn ascending(samples: impl Iterator<Item = i64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.map(|sample| sample as f64).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Quantile `q` of the block time in each round that `keep` wants.
pub(crate) fn round_figures(
    variant: &Variant,
    q: f64,
    keep: fn(&Round) -> bool,
) -> impl Iterator<Item = (&Round, f64)> {
    variant.rounds.iter().filter(move |round| keep(round)).filter_map(move |round| {
        let sorted = ascending(round.duration_ns.iter().copied());
        Some((round, quantile_sorted(&sorted, q)?))
    })
}

pub(crate) fn any(_: &Round) -> bool {
    true
}

fn quiet(round: &Round) -> bool {
    round.noise.disturbed().is_none()
}

/// Comparisons with the reference.
struct Against<'a> {
    reference: Option<&'a Variant>,
    critical: f64,
    seed: u64,
}

impl Against<'_> {
    fn typical(&self, variant: &Variant) -> Option<StartComparison> {
        self.compared(variant, 0.5, any, self.critical)
    }

    fn tail(&self, variant: &Variant) -> Option<StartComparison> {
        self.compared(variant, 0.99, any, self.critical)
    }

    fn undisturbed(&self, variant: &Variant) -> Option<StartComparison> {
        let compared = self.compared(variant, 0.5, quiet, self.critical)?;
        let rounds = compared.comparison.rounds;
        (rounds >= MIN_ROUNDS && rounds < self.reference?.rounds.len()).then_some(compared)
    }

    /// The twin is one comparison, whatever else is judged.
    fn floor(&self, record: &BenchRecord) -> Option<f64> {
        let twin = record.variants.iter().find(|variant| variant.twin)?;
        stats::floor(&self.compared(twin, 0.5, any, Z_95)?)
    }

    fn compared(
        &self,
        variant: &Variant,
        q: f64,
        keep: fn(&Round) -> bool,
        critical: f64,
    ) -> Option<StartComparison> {
        let (before, after) = self.paired(variant, q, keep)?;
        compare_steady(before, after, critical, self.seed)
    }

    fn paired(&self, variant: &Variant, q: f64, keep: fn(&Round) -> bool) -> Option<Paired> {
        let before = round_figures(self.reference?, q, keep);
        Some(paired(before, round_figures(variant, q, keep)))
    }
}

/// Figures of the reference and of a variant, `[start][round]`.
pub(super) type Paired = (Vec<Vec<f64>>, Vec<Vec<f64>>);

/// The figures that both have in rounds of the same number, by process start: a run that was ended early may
/// lack the last round of some.
pub(super) fn paired<'r>(
    reference: impl Iterator<Item = (&'r Round, f64)>,
    variant: impl Iterator<Item = (&'r Round, f64)>,
) -> Paired {
    let partner: BTreeMap<u32, f64> = reference.map(|(it, figure)| (it.round, figure)).collect();
    let mut starts: BTreeMap<u32, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for (round, figure) in variant {
        if let Some(before) = partner.get(&round.round) {
            let (all, own) = starts.entry(round.start).or_default();
            all.push(*before);
            own.push(figure);
        }
    }
    starts.into_values().unzip()
}

fn wake(record: &BenchRecord, period_ns: f64) -> Option<Wake> {
    let sorted = ascending(record.wake_loop.lateness_ns());
    let late = sorted.iter().filter(|lateness| **lateness > period_ns).count() as u64;
    Some(Wake {
        lateness: Summary::of_sorted(&sorted)?,
        late: Proportion { count: late, of: sorted.len() as u64 },
        sorted,
    })
}

fn turns(record: &BenchRecord) -> Turns {
    let of_variants = record.variants.iter().flat_map(|variant| &variant.rounds).map(|r| &r.noise);
    let of_loop = record.wake_loop.rounds.iter().map(|round| &round.noise);
    let all: Vec<&Noise> = of_variants.chain(of_loop).collect();
    let disturbed = all.iter().filter(|noise| noise.disturbed().is_some()).count();
    let unknown = all.iter().filter(|noise| !noise.is_known()).count();
    Turns { all: all.len(), disturbed, unknown }
}
