//! All figures of a report, computed once.

use hocket_trace::Misses;

use super::numbers::{count, plain};
use crate::record::{BenchRecord, Noise, Round, Variant};
use crate::stats::{
    Comparison, MIN_ROUNDS, Proportion, Summary, Verdict, compare, quantile_sorted,
};

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
    /// Medians of the block time against the reference's; `None` for the reference itself.
    pub typical: Option<Comparison>,
    /// 99 % quantiles of the block time likewise.
    pub tail: Option<Comparison>,
    /// As `typical`, without the rounds in which either was disturbed; `None` where that leaves
    /// all of them or too few.
    pub undisturbed: Option<Comparison>,
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

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// What the interval says.
    Shown(Verdict),
    /// The interval says that there is a difference, but variants that cannot differ show as much.
    WithinNoise,
    /// The variant cannot differ; its difference tells the noise.
    Check,
}

impl Judgement {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Judgement::Shown(verdict) => verdict.words(),
            Judgement::WithinNoise => "within the noise",
            Judgement::Check => "check: noise",
        }
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
}

impl<'a> Analysis<'a> {
    /// Computes every figure. Cost: some 20 ms per variant of 3000 blocks, most of it resampling.
    pub fn of(record: &'a BenchRecord) -> Analysis<'a> {
        let period_ns = record.period_ns();
        let reference = record.variants.first();
        let shared = Shared::of(&record.variants);
        let row = |(at, variant): (usize, &'a Variant)| Row {
            variant,
            label: shared.label(variant),
            measured: measure(variant, reference.filter(|_| at > 0), record.settings.seed),
        };
        Analysis {
            record,
            period_ns,
            shared: shared.words(reference),
            rows: record.variants.iter().enumerate().map(row).collect(),
            wake: wake(record, period_ns),
            turns: turns(record),
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

    /// Whether the variant can differ from the reference in nothing but its name: same schedule
    /// and wait, and a sibling policy that means `off` here, as the reference's does. What it
    /// shows as a difference is noise.
    pub fn is_check(&self, row: &Row) -> bool {
        let Some(first) = self.rows.first().map(|first| first.variant) else { return false };
        let it = row.variant;
        !std::ptr::eq(it, first)
            && (first.sibling == "off" || first.effect_here.is_some())
            && it.effect_here.is_some()
            && it.schedule == first.schedule
            && it.wait == first.wait
    }

    /// The largest change of the median block time among [checks](Analysis::is_check), with how
    /// many were compared: what this machine shows as a difference where there is none. `None`
    /// where there are no such variants.
    pub fn noise_floor(&self) -> Option<(f64, usize)> {
        let changes: Vec<f64> = self
            .measured()
            .filter(|(row, _)| self.is_check(row))
            .filter_map(|(_, measured)| Some((measured.typical?.ratio - 1.0).abs()))
            .collect();
        let largest = changes.iter().copied().reduce(f64::max)?;
        Some((largest, changes.len()))
    }

    /// What the median block time of a variant shows against the reference's, after the noise
    /// that the checks show; `None` for the reference.
    pub fn judgement(&self, row: &Row) -> Option<Judgement> {
        let comparison = row.measured.as_ref()?.typical?;
        let floor = self.noise_floor().map_or(0.0, |(floor, _)| floor);
        let within = (comparison.ratio - 1.0).abs() <= floor;
        Some(match comparison.verdict() {
            _ if self.is_check(row) => Judgement::Check,
            Verdict::Faster | Verdict::Slower if within => Judgement::WithinNoise,
            verdict => Judgement::Shown(verdict),
        })
    }

    /// How far the reference's median of a round wandered during the run: smallest and largest,
    /// in nanoseconds.
    pub fn drift_ns(&self) -> Option<(f64, f64)> {
        let medians = round_figures(self.rows.first()?.variant, 0.5, any);
        let all = || medians.iter().map(|(_, figure)| *figure);
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
        let same = |part: fn(&Variant) -> &str| {
            variants.len() > 1 && variants.iter().all(|v| part(v) == part(&variants[0]))
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
        let whole = parts.map(|(_, _, part)| part).join(" / ");
        let own: Vec<&str> =
            parts.iter().filter(|(shared, ..)| !shared).map(|(_, _, part)| *part).collect();
        let label = if own.is_empty() || whole != variant.name {
            variant.name.clone()
        } else {
            own.join(" / ")
        };
        plain(&label)
    }

    fn words(&self, first: Option<&Variant>) -> Vec<String> {
        let parts = first.map_or_else(Vec::new, |variant| self.parts(variant).to_vec());
        let shared = parts.into_iter().filter(|(shared, ..)| *shared);
        shared.map(|(_, what, part)| format!("{what} {}", plain(part))).collect()
    }
}

fn measure(variant: &Variant, reference: Option<&Variant>, seed: u64) -> Option<Measured> {
    let ready_sorted = ascending(variant.ready_ns());
    let took_sorted = ascending(variant.duration_ns());
    let against = |q: f64| reference.and_then(|reference| against(reference, variant, q, seed));
    Some(Measured {
        ready: Summary::of_sorted(&ready_sorted)?,
        took: Summary::of_sorted(&took_sorted)?,
        late: Proportion { count: variant.misses().late, of: variant.blocks() },
        misses: variant.misses(),
        counts_skipped: variant.counts_skipped(),
        typical: against(0.5),
        tail: against(0.99),
        undisturbed: reference.and_then(|reference| undisturbed(reference, variant, seed)),
        ready_sorted,
        took_sorted,
    })
}

fn ascending(samples: impl Iterator<Item = i64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.map(|sample| sample as f64).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Quantile `q` of the block time in each round that `keep` wants, with the round's number.
fn round_figures(variant: &Variant, q: f64, keep: fn(&Round) -> bool) -> Vec<(u32, f64)> {
    let figure = |round: &Round| {
        let sorted = ascending(round.duration_ns.iter().copied());
        Some((round.round, quantile_sorted(&sorted, q)?))
    };
    variant.rounds.iter().filter(|round| keep(round)).filter_map(figure).collect()
}

fn any(_: &Round) -> bool {
    true
}

fn quiet(round: &Round) -> bool {
    round.noise.disturbed().is_none()
}

fn against(reference: &Variant, variant: &Variant, q: f64, seed: u64) -> Option<Comparison> {
    compare_rounds(&round_figures(reference, q, any), &round_figures(variant, q, any), seed)
}

fn undisturbed(reference: &Variant, variant: &Variant, seed: u64) -> Option<Comparison> {
    let rounds = |keep| (round_figures(reference, 0.5, keep), round_figures(variant, 0.5, keep));
    let ((all, _), (before, after)) = (rounds(any), rounds(quiet));
    let found = compare_rounds(&before, &after, seed)?;
    (found.rounds >= MIN_ROUNDS && found.rounds < all.len()).then_some(found)
}

/// Compares what two variants have in rounds of the same number: a run that was ended early may
/// lack the last round of some.
fn compare_rounds(
    reference: &[(u32, f64)],
    variant: &[(u32, f64)],
    seed: u64,
) -> Option<Comparison> {
    let partner = |number: u32| reference.iter().find(|(other, _)| *other == number);
    let (before, after): (Vec<f64>, Vec<f64>) =
        variant.iter().filter_map(|(number, figure)| Some((partner(*number)?.1, *figure))).unzip();
    compare(&before, &after, seed)
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
    Turns { all: all.len(), disturbed }
}
