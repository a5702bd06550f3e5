//! What a record says, in sentences.

use hocket_trace::Misses;

use super::analysis::{Analysis, ENOUGH_STARTS, Judgement, Measured, Row, paired};
use crate::foreign::plain;
use crate::numbers::{change_with, count, counted, listed, of, percent, percent_range, quantity};
use crate::record::{Round, ThreadGrant};
use crate::stats::{self, StartComparison, compare_steady, wilson};

/// Blocks of a variant below which "none was late" promises next to nothing: of 500 without a late one up
/// to 0.8 % may be.
const ENOUGH_BLOCKS: u64 = 500;

/// Whether a session meets its deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// There was no miss.
    Holds,
    /// There was no miss, in so few blocks that this promises next to nothing.
    TooFewBlocks,
    /// There were some, but the bare wake-up loop was late at least as often.
    NoMoreThanTheLoop,
    /// There were more.
    Misses,
}

impl Holding {
    /// From the best to the worst.
    const ALL: [Holding; 4] =
        [Holding::Holds, Holding::TooFewBlocks, Holding::NoMoreThanTheLoop, Holding::Misses];

    /// Whether there was no miss.
    fn is_clean(self) -> bool {
        matches!(self, Holding::Holds | Holding::TooFewBlocks)
    }
}

/// The first thing a report says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// The best any variant does; `None` where nothing was measured.
    pub holding: Option<Holding>,
    /// One sentence, or two where there were few blocks.
    pub verdict: String,
    /// What else one has to know, the most important first; one sentence or two each.
    pub findings: Vec<String>,
}

/// What is added to the late blocks; nothing where no period was skipped.
fn skipped_words(misses: Misses) -> String {
    match misses.skipped {
        0 => String::new(),
        1 => ", 1 period was skipped".into(),
        n => format!(", {} periods were skipped", count(n)),
    }
}

impl Analysis<'_> {
    /// Whether a variant meets its deadlines: the one judgement behind every headline.
    pub fn holding(&self, measured: &Measured) -> Holding {
        let loop_is_late_as_often = self.wake.as_ref().is_some_and(|wake| {
            wake.late.count > 0 && measured.missed_share() <= wake.late.share()
        });
        match (measured.misses.total(), measured.late.of) {
            (0, ENOUGH_BLOCKS..) => Holding::Holds,
            (0, _) => Holding::TooFewBlocks,
            _ if loop_is_late_as_often => Holding::NoMoreThanTheLoop,
            _ => Holding::Misses,
        }
    }

    /// The verdict and the findings.
    pub fn headline(&self) -> Headline {
        let states: Vec<Holding> = self.measured().map(|(_, m)| self.holding(m)).collect();
        let best = Holding::ALL.into_iter().find(|state| states.contains(state));
        Headline { holding: best, verdict: self.verdict(&states), findings: self.findings() }
    }

    fn verdict(&self, states: &[Holding]) -> String {
        let at = format!("at {} frames", self.record.settings.frames);
        let all = |is: fn(&Holding) -> bool| states.iter().all(is);
        let any = |is: fn(&Holding) -> bool| states.iter().any(is);
        if states.is_empty() {
            format!("Nothing was measured {at}.")
        } else if all(|state| *state == Holding::Holds) {
            format!("Holds {at}: none of {} blocks was late.", count(self.late().of))
        } else if all(|state| state.is_clean()) {
            self.too_few(&at)
        } else if any(|state| state.is_clean()) {
            self.some_hold(&at)
        } else if any(|state| *state == Holding::Misses) {
            self.all_miss(&at)
        } else {
            self.no_more_than_the_loop(&at)
        }
    }

    /// No late block, and what so few blocks still allow.
    fn too_few(&self, at: &str) -> String {
        let least = self.measured().map(|(_, measured)| measured.late.of).min().unwrap_or(0);
        format!(
            "None of {} blocks was late {at}, but {} blocks of a variant are too few to promise that it holds: up \
             to {:.1} % may be late (95 %). Measure longer with --blocks.",
            count(self.late().of),
            count(least),
            wilson(0, least).high * 100.0
        )
    }

    /// `; the bare wake-up loop, which computes nothing, was late in 2 of 3000`.
    fn wake_words(&self) -> String {
        self.wake.as_ref().map_or_else(String::new, |wake| {
            format!(
                "; the bare wake-up loop, which computes nothing, was late in {}",
                of(wake.late)
            )
        })
    }

    fn no_more_than_the_loop(&self, at: &str) -> String {
        let late = of(self.late());
        format!(
            "No more misses {at} than this machine makes without any work: {late} blocks were late{}{}.",
            skipped_words(self.measured().map(|(_, m)| m.misses).sum()),
            self.wake_words()
        )
    }

    fn some_hold(&self, at: &str) -> String {
        let those =
            |clean: bool| self.measured().filter(move |(_, m)| self.holding(m).is_clean() == clean);
        let names: Vec<&str> = those(true).map(|(row, _)| row.label.as_str()).collect();
        let late: Vec<String> = those(false).map(late_in).collect();
        let late: Vec<&str> = late.iter().map(String::as_str).collect();
        let few = those(true).any(|(_, m)| self.holding(m) == Holding::TooFewBlocks);
        let holds = if few { "No late block" } else { "Holds" };
        format!("{holds} {at} with {}; late blocks with {}.", listed(&names), listed(&late))
    }

    fn all_miss(&self, at: &str) -> String {
        let by_share = |a: &(&Row, &Measured), b: &(&Row, &Measured)| {
            a.1.missed_share().total_cmp(&b.1.missed_share())
        };
        let (Some(least), Some(most)) =
            (self.measured().min_by(by_share), self.measured().max_by(by_share))
        else {
            return String::new();
        };
        let subject = match self.measured().count() {
            1 => {
                let (late, skipped) = (of(least.1.late), skipped_words(least.1.misses));
                format!("{late} blocks were late{skipped}")
            }
            _ => format!("every variant, from {} to {}", late_in(least), late_in(most)),
        };
        format!("Misses {at}: {subject}{}.", self.wake_words())
    }

    fn findings(&self) -> Vec<String> {
        let mut out = Vec::new();
        out.extend(self.record.partial.as_ref().map(|why| {
            format!(
                "The run is incomplete: {}. Figures are of the blocks that were measured.",
                plain(why)
            )
        }));
        out.extend(self.rights());
        out.extend(self.too_few_to_rank());
        out.extend(self.speeds());
        out.extend(self.noise());
        out.extend(self.siblings());
        out.extend(self.neighbours());
        out.extend(self.wake_ups());
        out.extend(self.refusals());
        out.extend(self.silenced());
        out.extend(self.failed());
        out.extend(self.panicked());
        out.extend(self.disks());
        out.extend(self.lost_events());
        out
    }

    /// Priorities and pins that were asked for and not given.
    fn rights(&self) -> Option<String> {
        let threads = || self.record.variants.iter().flat_map(|variant| &variant.threads);
        let denied =
            |grant: &&ThreadGrant| grant.why.is_some() && grant.class_asked != grant.class_got;
        let unpinned =
            |grant: &&ThreadGrant| grant.cpu_asked.is_some() && grant.cpu_asked != grant.cpu_got;
        let why = |grant: &ThreadGrant| {
            grant.why.as_ref().map_or_else(String::new, |why| format!(" ({})", plain(why)))
        };
        if let Some(grant) = threads().find(denied) {
            return Some(format!(
                "The audio threads asked for {} and ran as {}{}. Anything on this machine could interrupt them, so late blocks say more about that than about the session.",
                plain(&grant.class_asked),
                plain(&grant.class_got),
                why(grant)
            ));
        }
        threads().find(unpinned).map(|grant| {
            format!(
                "Not every thread stayed on the CPU it asked for: {}{}.",
                plain(&grant.thread),
                why(grant)
            )
        })
    }

    /// Whether the late blocks are too few to say which variant is the safer one.
    fn too_few_to_rank(&self) -> Option<String> {
        let by_share = |a: &&Measured, b: &&Measured| a.late.share().total_cmp(&b.late.share());
        let best = self.measured().map(|(_, m)| m).min_by(by_share)?;
        let worst = self.measured().map(|(_, m)| m).max_by(by_share)?;
        let differ = worst.late.count > best.late.count;
        (differ && worst.late.interval().overlaps(&best.late.interval())).then(|| {
            "The late blocks are too few to rank the variants by them: their 95 % intervals overlap. A longer run would tell.".into()
        })
    }

    /// Which variant is faster or slower than the reference. The best and the worst of several are named: their
    /// intervals hold for all variants at once.
    fn speeds(&self) -> Vec<String> {
        let all: Vec<(&Row, StartComparison, stats::Judgement)> = self
            .measured()
            .filter_map(|(row, measured)| match self.judgement(row)? {
                Judgement::Judged(judgement) => Some((row, measured.typical?, judgement)),
                _ => None,
            })
            .collect();
        let Some(first) = self.rows.first().filter(|_| !all.is_empty()) else {
            return Vec::new();
        };
        let are = |is: fn(stats::Judgement) -> bool| all.iter().filter(move |it| is(it.2));
        let all_are = |one: stats::Judgement| all.iter().all(|it| it.2 == one);
        if self.is_wrong() {
            let why = "a part of the session was not computed, and silence is fast";
            return vec![format!("No difference in speed is shown: {why}.")];
        }
        if all_are(stats::Judgement::TooFewStarts) {
            return vec![self.too_few_starts()];
        }
        let reference = first.label.clone();
        let ratio = |it: &&(&Row, StartComparison, stats::Judgement)| it.1.comparison.ratio;
        let fastest = are(stats::Judgement::is_less);
        let fastest = fastest.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let slowest = are(stats::Judgement::is_more);
        let slowest = slowest.max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let say = |word, it: &(&Row, StartComparison, _)| speed(word, it.0, &it.1, &reference);
        let mut out: Vec<String> = fastest.map(|it| say("Fastest", it)).into_iter().collect();
        if out.is_empty() && all_are(stats::Judgement::TooFew) {
            out.push("Too few rounds to say whether any variant is faster than another.".into());
        } else if out.is_empty() {
            out.push(format!("No variant is shown to be faster than {reference}."));
        }
        out.extend(slowest.map(|it| say("Slowest", it)));
        out
    }

    fn too_few_starts(&self) -> String {
        format!(
            "No difference in speed is shown: the run has {}, and a verdict needs {ENOUGH_STARTS}. Within a start each \
             variant keeps its place in memory, which alone can make it faster or slower. Measure with --starts {ENOUGH_STARTS}.",
            counted(self.starts, "process start")
        )
    }

    /// What the twin of the first variant says about this machine.
    fn noise(&self) -> Option<String> {
        let floor = self.floor.filter(|_| self.starts >= ENOUGH_STARTS)?;
        Some(format!(
            "Differences below {} are noise here: so far can {}, measured again, be from itself.",
            percent(floor.exp_m1()),
            self.rows.first()?.label
        ))
    }

    /// Why sibling policies make no difference.
    fn siblings(&self) -> Option<String> {
        let all = || self.rows.iter().filter(|row| !row.variant.twin);
        let mut reasons: Vec<&str> =
            all().filter_map(|row| row.variant.effect_here.as_deref()).collect();
        let idle = reasons.len();
        reasons.dedup();
        (idle > 0).then(|| {
            format!(
                "{idle} of {} variants cannot differ through their sibling policy: {}.",
                all().count(),
                plain(&reasons.join("; "))
            )
        })
    }

    /// What protection costs the neighbours, where it is shown.
    fn neighbours(&self) -> Option<String> {
        let (first, others) = self.rows.split_first()?;
        let name = &first.variant.disturbers.first()?.name;
        let ratio = |it: &StartComparison| it.comparison.ratio;
        let (least, row) = others
            .iter()
            .filter(|row| matches!(self.judgement(row), Some(Judgement::Judged(_))))
            .filter_map(|row| Some((self.neighbour(name, first, row)?, row)))
            .min_by(|a, b| ratio(&a.0).total_cmp(&ratio(&b.0)))?;
        (ratio(&least) < 0.95).then(|| {
            format!(
                "The disturber \"{}\" got least done beside {}: {} against {}.",
                plain(name),
                row.label,
                change_with(ratio(&least), least.interval()),
                first.label
            )
        })
    }

    /// What is left of a disturber's progress, where less is shown: more than beside the reference's twin.
    fn neighbour(&self, name: &str, reference: &Row, row: &Row) -> Option<StartComparison> {
        let beside = |row: &Row| {
            let (before, after) = paired(progress(name, reference)?, progress(name, row)?);
            compare_steady(before, after, self.critical(), self.record.settings.seed)
        };
        let twin = self.rows.iter().find(|row| row.variant.twin)?;
        let floor = stats::floor(&beside(twin)?);
        beside(row).filter(|compared| self.judged(compared, floor).is_less())
    }

    /// Whether waking up alone eats the period.
    fn wake_ups(&self) -> Option<String> {
        let lateness = &self.wake.as_ref()?.lateness;
        // A quantile that rests on less than one wake-up would be the longest one under another name.
        let (most, cases) = match lateness.n {
            1000.. => (lateness.p999, "999 of 1000"),
            100.. => (lateness.p99, "99 of 100"),
            _ => return None,
        };
        (most > 0.25 * self.period_ns).then(|| {
            format!(
                "Waking up alone takes up to {} in {cases} cases, {} of the {} there are; no schedule can give that back.",
                quantity(most, "ns"),
                percent(most / self.period_ns),
                quantity(self.period_ns, "ns")
            )
        })
    }

    fn refusals(&self) -> impl Iterator<Item = String> {
        self.rows.iter().filter_map(|row| {
            let why = row.variant.refused.as_ref()?;
            Some(format!("Not measurable here: {}: {}.", row.label, plain(why)))
        })
    }

    fn failed(&self) -> impl Iterator<Item = String> {
        let failed = self.record.contained.iter().filter(|contained| contained.failed > 0);
        failed.map(|contained| {
            format!(
                "{} failed to process {} blocks and was silent in them; try `hocket plugin check`.",
                plain(&contained.unit),
                count(contained.failed)
            )
        })
    }

    fn panicked(&self) -> impl Iterator<Item = String> {
        self.record.contained.iter().filter_map(|contained| {
            let message = contained.panic.as_ref()?;
            Some(format!("{} panicked and was silent: {}.", plain(&contained.unit), plain(message)))
        })
    }

    fn disks(&self) -> impl Iterator<Item = String> {
        self.record.disk.iter().map(|silence| {
            let cause = silence.cause.as_deref().unwrap_or("the disk was too slow");
            format!(
                "{} was silent for {} frames, because the disk did not answer in time ({}); these are no misses.",
                plain(&silence.file),
                count(silence.silent_frames),
                plain(cause)
            )
        })
    }

    fn lost_events(&self) -> impl Iterator<Item = String> {
        self.record.lost_events.iter().map(|lost| {
            format!(
                "{} lost {} events, because a block has no room for more; use a smaller --frames, or fewer notes at a time.",
                plain(&lost.node),
                count(lost.events)
            )
        })
    }

    fn silenced(&self) -> Option<String> {
        let not_finite = self.record.contained.iter().filter(|c| c.blocks > 0);
        let units: Vec<&str> = not_finite.map(|c| c.unit.as_str()).collect();
        let blocks: u64 = self.record.contained.iter().map(|c| c.blocks).sum();
        (blocks > 0).then(|| {
            format!(
                "In {} blocks the output was not finite and was silenced: {}.",
                count(blocks),
                plain(&listed(&units))
            )
        })
    }
}

/// `all (3 of 800, 1 period was skipped)`.
fn late_in((row, measured): (&Row, &Measured)) -> String {
    format!("{} ({}{})", row.label, of(measured.late), skipped_words(measured.misses))
}

/// What a disturber got done in each round of a variant.
fn progress<'a>(name: &str, row: &Row<'a>) -> Option<impl Iterator<Item = (&'a Round, f64)>> {
    let disturber = row.variant.disturbers.iter().find(|it| it.name == name)?;
    Some(row.variant.rounds.iter().zip(disturber.progress.iter().copied()))
}

fn speed(word: &str, row: &Row, compared: &StartComparison, reference: &str) -> String {
    let ratio = compared.comparison.ratio;
    format!(
        "{word}: {}, whose median block time is {} than that of {reference}: {}.",
        row.label,
        if ratio < 1.0 { "shorter" } else { "longer" },
        change_with(ratio, compared.interval())
    )
}

/// What a share of none still allows: `none of 3000 still allows up to 0.13 %`.
pub(super) fn none_allows(measured: &Measured) -> Option<String> {
    (measured.late.count == 0).then(|| {
        format!(
            "None of {} late blocks still allows a share of {}.",
            count(measured.late.of),
            percent_range(measured.late.interval())
        )
    })
}
