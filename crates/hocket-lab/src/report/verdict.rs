//! What a record says, in sentences.

use std::collections::BTreeMap;

use hocket_trace::Misses;

use super::analysis::{Analysis, ENOUGH_STARTS, Measured, Row};
use crate::foreign::plain;
use crate::numbers::{block_time, count, counted, listed, of, percent, percent_range};
use crate::record::{ThreadGrant, WakeRound};
use crate::stats::{Proportion, wilson};

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
    /// There were some, in no larger share of its turns than those in which the bare wake-up loop was late: nothing
    /// shows that the session adds any.
    LikeTheLoop,
    /// There were more.
    Misses,
}

impl Holding {
    /// From the best to the worst.
    const ALL: [Holding; 4] =
        [Holding::Holds, Holding::TooFewBlocks, Holding::LikeTheLoop, Holding::Misses];

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
    pub fn holding(&self, row: &Row, measured: &Measured) -> Holding {
        let own = self.late_turns_of_the_loop();
        let is_like_the_loop = own.count > 0 && missed_turns(row).share() <= own.share();
        match (measured.misses.total(), measured.late.of) {
            (0, ENOUGH_BLOCKS..) => Holding::Holds,
            (0, _) => Holding::TooFewBlocks,
            _ if is_like_the_loop => Holding::LikeTheLoop,
            _ => Holding::Misses,
        }
    }

    /// Turns of the bare wake-up loop in which even an empty block would have missed its deadline.
    fn late_turns_of_the_loop(&self) -> Proportion {
        let rounds = &self.record.wake_loop.rounds;
        let is_late = |round: &&WakeRound| {
            round.lateness_ns.iter().any(|lateness| *lateness as f64 > self.period_ns)
        };
        Proportion { count: rounds.iter().filter(is_late).count() as u64, of: rounds.len() as u64 }
    }

    /// The verdict and the findings.
    pub fn headline(&self) -> Headline {
        let states: Vec<Holding> = self.measured().map(|(row, m)| self.holding(row, m)).collect();
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
            self.like_the_loop(&at)
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

    fn like_the_loop(&self, at: &str) -> String {
        format!(
            "Late blocks {at}, not shown to be more than this machine makes without any work: {} blocks were late{}{}.",
            of(self.late()),
            skipped_words(self.measured().map(|(_, m)| m.misses).sum()),
            self.wake_words()
        )
    }

    /// Variants without a miss, and those with one: apart only where the shares of their turns with a miss are, and those of
    /// their process starts. An engine keeps its place in memory for a whole start, so that its turns are late together.
    fn some_hold(&self, at: &str) -> String {
        let (clean, late): (Vec<Found>, Vec<Found>) =
            self.measured().partition(|(row, measured)| self.holding(row, measured).is_clean());
        let most = |missed: fn(&Row) -> Proportion| {
            clean.iter().map(|(row, _)| missed(row).interval().high).fold(0.0, f64::max)
        };
        let (turns, starts) = (most(missed_turns), most(missed_starts));
        let is_apart = |(row, _): &Found| {
            missed_turns(row).interval().low > turns && missed_starts(row).interval().low > starts
        };
        let (apart, open): (Vec<Found>, Vec<Found>) = late.into_iter().partition(is_apart);
        let names: Vec<&str> = clean.iter().map(|(row, _)| row.label.as_str()).collect();
        let names = listed(&names);
        if apart.is_empty() {
            return format!(
                "No late block {at} with {names}, some with {}: too few to tell them apart.",
                all_late(&open)
            );
        }
        let few = clean.iter().any(|(row, m)| self.holding(row, m) == Holding::TooFewBlocks);
        let holds = if few { "No late block" } else { "Holds" };
        let open = match open.is_empty() {
            true => String::new(),
            false => format!("; too few to tell with {}", all_late(&open)),
        };
        format!("{holds} {at} with {names}; late blocks with {}{open}.", all_late(&apart))
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
        // Where even the variant with the fewest cannot be told from the loop, nothing says whose misses they are.
        let (turns, own) = (missed_turns(least.0).interval(), self.late_turns_of_the_loop());
        let open = match self.wake.is_some() && turns.overlaps(&own.interval()) {
            true => ": too few to tell them apart",
            false => "",
        };
        format!("Misses {at}: {subject}{}{open}.", self.wake_words())
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
        let turns = || self.measured().map(|(row, _)| missed_turns(row));
        let by_share = |a: &Proportion, b: &Proportion| a.share().total_cmp(&b.share());
        let (best, worst) = (turns().min_by(by_share)?, turns().max_by(by_share)?);
        let late = || self.measured().map(|(_, measured)| measured.late.count);
        let differ = late().max() > late().min();
        (differ && worst.interval().overlaps(&best.interval())).then(|| {
            "The late blocks are too few to rank the variants by them: the 95 % intervals of the turns that have some \
             overlap. A longer run would tell."
                .into()
        })
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

    /// Whether waking up alone eats the period.
    fn wake_ups(&self) -> Option<String> {
        let lateness = &self.wake.as_ref()?.lateness;
        let most = [(lateness.shown_p999(), "999 of 1000"), (lateness.shown_p99(), "99 of 100")];
        let (most, cases) = most.into_iter().find_map(|(most, cases)| Some((most?, cases)))?;
        (most > 0.25 * self.period_ns).then(|| {
            format!(
                "Waking up alone takes up to {} in {cases} cases, {} of the {} there are; no schedule can give that back.",
                block_time(most),
                percent(most / self.period_ns),
                block_time(self.period_ns)
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
                "{} failed to process {} and was silent in them; try `hocket plugin check`.",
                plain(&contained.unit),
                counted(contained.failed as usize, "block")
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
                "{} lost {}, because a block has no room for more; use a smaller --frames, or fewer notes at a time.",
                plain(&lost.node),
                counted(lost.events as usize, "event")
            )
        })
    }

    fn silenced(&self) -> Option<String> {
        let not_finite = self.record.contained.iter().filter(|c| c.blocks > 0);
        let units: Vec<&str> = not_finite.map(|c| c.unit.as_str()).collect();
        let blocks: u64 = self.record.contained.iter().map(|c| c.blocks).sum();
        (blocks > 0).then(|| {
            format!(
                "In {} the output was not finite and was silenced: {}.",
                counted(blocks as usize, "block"),
                plain(&listed(&units))
            )
        })
    }
}

/// A variant with its figures.
type Found<'f, 'a> = (&'f Row<'a>, &'f Measured);

/// Turns in which a variant missed a period. Late blocks come together, so what happens once is such a turn: eight late
/// blocks in one of them are one event.
fn missed_turns(row: &Row) -> Proportion {
    let rounds = &row.variant.rounds;
    let missed = rounds.iter().filter(|round| round.misses().total() > 0).count();
    Proportion { count: missed as u64, of: rounds.len() as u64 }
}

/// Process starts in which a variant missed a period.
fn missed_starts(row: &Row) -> Proportion {
    let mut starts: BTreeMap<u32, bool> = BTreeMap::new();
    for round in &row.variant.rounds {
        *starts.entry(round.start).or_default() |= round.misses().total() > 0;
    }
    let missed = starts.values().filter(|missed| **missed).count();
    Proportion { count: missed as u64, of: starts.len() as u64 }
}

fn all_late(found: &[Found]) -> String {
    let each: Vec<String> = found.iter().map(|it| late_in(*it)).collect();
    listed(&each.iter().map(String::as_str).collect::<Vec<&str>>())
}

/// `all (3 of 800, 1 period was skipped)`.
fn late_in((row, measured): Found) -> String {
    format!("{} ({}{})", row.label, of(measured.late), skipped_words(measured.misses))
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
