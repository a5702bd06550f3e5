//! The search for the largest number of channels that holds.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::runs::{MOST_RUNS, Played, Probe, Run, Wish, outside};

/// Halving ends when the space is this part of the number that holds.
pub const EXACT: f64 = 0.03;

/// The part of a period that the first guess fills.
const GUESSED_LOAD: f64 = 0.8;

/// A probe that fails is made again so often: one disturbance does not end the search.
const PROBES: usize = 2;

/// The largest number of `range` that holds, to [`EXACT`]: by steps up or down from `guess`, and then by halving the space
/// between one that holds and one that does not. `None`: not even the least holds.
///
/// # Errors
/// Those of `holds`.
pub fn largest<E>(
    range: RangeInclusive<usize>,
    guess: usize,
    mut holds: impl FnMut(usize) -> Result<bool, E>,
) -> Result<Option<usize>, E> {
    let (least, most) = range.into_inner();
    let (mut low, mut high) = (None, most + 1);
    let mut next = guess.max(least).min(most);
    loop {
        if holds(next)? {
            low = Some(next);
        } else {
            high = next;
        }
        next = match low {
            // A side that is not known yet: a quarter further.
            None if high <= least => return Ok(None),
            None => (high * 3 / 4).clamp(least, high - 1),
            Some(low) if (high - low) as f64 <= (EXACT * low as f64).max(1.0) => {
                return Ok(Some(low));
            }
            Some(low) if high > most => (low + low.div_ceil(4)).min(most),
            Some(low) => low + (high - low) / 2,
        };
    }
}

/// What plays so many channels: a machine, or a made-up one.
pub trait Plays {
    /// Why it cannot.
    type Error;

    /// Plays them for a moment.
    ///
    /// # Errors
    /// They cannot be played at all.
    fn probe(&mut self, channels: usize) -> Result<Probe, Self::Error>;

    /// Plays them for `time_s`. It may end early once there are `hopeless` misses.
    ///
    /// # Errors
    /// As [`Plays::probe`].
    fn run(&mut self, channels: usize, time_s: f64, hopeless: u64) -> Result<Played, Self::Error>;
}

/// Every probe and run of one block length, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Found {
    /// Short ones.
    pub probes: Vec<Probe>,
    /// Long ones. The last one held, or none did.
    pub runs: Vec<Run>,
}

/// Searches among `range`, whose least number is the session as it is, and plays for long what it found.
///
/// Where a run shows too many misses, the next one has fewer channels. There are at most [`MOST_RUNS`], and none where most
/// blocks of the least number are late.
///
/// # Errors
/// Those of `plays`.
pub fn measure<P: Plays>(
    plays: &mut P,
    wish: &Wish,
    range: RangeInclusive<usize>,
) -> Result<Found, P::Error> {
    let least = *range.start();
    let mut found = Found::default();
    let largest = probed(plays, range, &mut found.probes)?;
    // Even if the least did not hold for a moment, a long run says how often it is late, unless nearly every block is.
    let is_hopeless = largest.is_none() && found.probes.iter().all(Probe::is_overload);
    let mut next = if is_hopeless { None } else { Some(largest.unwrap_or(least)) };
    for attempt in 0..MOST_RUNS {
        let Some(channels) = next else { break };
        let outside = outside(attempt);
        let played = plays.run(channels, wish.time_s(outside), wish.hopeless(outside))?;
        let run = Run::of(played, outside, wish);
        next = if run.held { None } else { lower(channels, attempt, least) };
        found.runs.push(run);
    }
    Ok(found)
}

fn probed<P: Plays>(
    plays: &mut P,
    range: RangeInclusive<usize>,
    probes: &mut Vec<Probe>,
) -> Result<Option<usize>, P::Error> {
    let least = *range.start();
    let mut holds = |channels: usize| -> Result<Option<f64>, P::Error> {
        for _ in 0..PROBES {
            let probe = plays.probe(channels)?;
            let (held, load) = (probe.holds(), probe.load);
            probes.push(probe);
            if held {
                return Ok(Some(load));
            }
        }
        Ok(None)
    };
    let Some(load) = holds(least)? else { return Ok(None) };
    let guess = (least as f64 * GUESSED_LOAD / load.max(1e-3)) as usize;
    // The least is known to hold.
    largest(range, guess, |channels| Ok(channels == least || holds(channels)?.is_some()))
}

/// How many channels are tried after the run with this number, from 0: 5, 10, 20 per cent less and so on.
fn lower(channels: usize, attempt: usize, least: usize) -> Option<usize> {
    let left = 1.0 - 0.05 * f64::from(1_u32 << attempt.min(4));
    let lower = ((channels as f64 * left) as usize).min(channels.saturating_sub(1)).max(least);
    (lower < channels).then_some(lower)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::super::runs::Verdict;
    use super::*;
    use crate::stats::Rng;

    const MOST: usize = 2_000;

    #[test]
    fn the_search_finds_the_edge_wherever_it_begins() {
        for edge in [0usize, 1, 2, 3, 7, 50, 333, 1_999, 2_000] {
            for guess in [1, 2, 40, 500, 2_000] {
                let mut probes = 0;
                let found = largest(1..=MOST, guess, |n| {
                    probes += 1;
                    Ok::<bool, Infallible>(n <= edge)
                });
                let Ok(found) = found;
                let found = found.unwrap_or(0);
                let near = (edge as f64 * (1.0 - EXACT)).floor() as usize;
                assert!((near..=edge).contains(&found), "{edge} from {guess}: {found}");
                assert!(probes < 45, "{edge} from {guess}: {probes}");
            }
        }
    }

    #[test]
    fn a_range_has_its_ends() {
        let find = |range: RangeInclusive<usize>, guess, edge: usize| {
            let Ok(found) = largest(range, guess, |n| Ok::<bool, Infallible>(n <= edge));
            found
        };
        for guess in [0, 8, 9, 30, 1000] {
            assert_eq!(find(8..=30, guess, 7), None);
            assert_eq!(find(8..=30, guess, 8), Some(8));
            assert_eq!(find(8..=30, guess, 99), Some(30));
            assert_eq!(find(8..=8, guess, 8), Some(8));
        }
    }

    #[test]
    fn numbers_go_down_by_growing_steps_and_not_below_the_least() {
        let tried = |from: usize, least: usize| {
            let mut all = vec![from];
            for attempt in 0..MOST_RUNS - 1 {
                let last = *all.last().unwrap();
                all.extend(lower(last, attempt, least));
            }
            all
        };
        assert_eq!(tried(100, 1), [100, 95, 85, 68, 40]);
        assert_eq!(tried(3, 1), [3, 2, 1]);
        assert_eq!(tried(10, 9), [10, 9]);
        assert_eq!(tried(9, 9), [9]);
    }

    /// A machine on which a block with so many channels takes so much of its period, and which is late at random: by a
    /// share of blocks beyond the period, and by a rate of disturbances an hour at any load.
    struct MadeUp {
        rng: Rng,
        channels_of_a_period: f64,
        disturbed_an_hour: f64,
        /// Disturbances come to probes with this chance.
        probe_disturbed: f64,
        runs: Vec<(usize, f64)>,
    }

    impl MadeUp {
        fn new(seed: u64, channels_of_a_period: f64, disturbed_an_hour: f64) -> MadeUp {
            let (rng, runs) = (Rng::new(seed), Vec::new());
            MadeUp { rng, channels_of_a_period, disturbed_an_hour, probe_disturbed: 0.1, runs }
        }

        fn load(&self, channels: usize) -> f64 {
            channels as f64 / self.channels_of_a_period
        }

        /// Misses an hour: many more from nine tenths of the period on.
        fn rate(&self, channels: usize) -> f64 {
            self.disturbed_an_hour + ((self.load(channels) - 0.9) * 200.0).exp()
        }

        /// A figure of Poisson's distribution, by its waiting times.
        fn poisson(&mut self, mean: f64) -> u64 {
            let (mut waited, mut count) = (0.0, 0);
            loop {
                waited -= (1.0 - self.rng.unit()).ln();
                if waited > mean || count == 10_000 {
                    return count;
                }
                count += 1;
            }
        }
    }

    impl Plays for MadeUp {
        type Error = Infallible;

        fn probe(&mut self, channels: usize) -> Result<Probe, Infallible> {
            let disturbed = self.rng.unit() < self.probe_disturbed;
            let load = self.load(channels) * (1.0 + 0.01 * self.rng.normal());
            let late = u64::from(disturbed || load > 1.0);
            let tight = if load > 0.9 { 600 } else { 0 };
            Ok(Probe { channels, blocks: 750, late, skipped: late, tight, load })
        }

        fn run(
            &mut self,
            channels: usize,
            time_s: f64,
            hopeless: u64,
        ) -> Result<Played, Infallible> {
            self.runs.push((channels, time_s));
            let mean = self.rate(channels) * time_s / 3600.0;
            let late = self.poisson(mean);
            let is_whole = late < hopeless;
            Ok(Played { channels, played_s: time_s, late, is_whole, ..Played::default() })
        }
    }

    fn wish(late_per_hour: Option<f64>) -> Wish {
        Wish { least_s: 120.0, is_exact: false, late_per_hour }
    }

    #[test]
    fn a_quiet_machine_holds_nearly_all_that_fits() {
        for seed in 0..20 {
            let mut machine = MadeUp::new(seed, 200.0, 0.0);
            let Ok(found) = measure(&mut machine, &wish(None), 4..=MOST);
            let last = found.runs.last().unwrap();
            assert!(last.held && last.played.misses() == 0, "{found:?}");
            assert!((130..=190).contains(&last.played.channels), "{}", last.played.channels);
        }
    }

    #[test]
    fn what_is_shown_of_a_noisy_machine_is_true_in_95_of_100() {
        let (mut said, mut wrong) = (0, 0);
        for seed in 0..2_000 {
            // None in two minutes is then as rare as a first run may be wrong.
            let mut machine = MadeUp::new(seed, 120.0, 100.0);
            let Ok(found) = measure(&mut machine, &wish(None), 8..=MOST);
            let verdict = Verdict::of(&found.runs);
            let Some(run) = verdict.run() else { continue };
            said += 1;
            let truth = machine.rate(run.played.channels);
            wrong += u32::from(run.at_most_an_hour.unwrap() < truth);
        }
        // Seeds are fixed: no chance decides here.
        assert!(said >= 1_900, "{said}");
        assert!(wrong > 0 && wrong * 20 <= said, "{wrong} of {said}");
    }

    #[test]
    fn a_wish_is_given_the_time_that_it_needs() {
        let mut machine = MadeUp::new(3, 100.0, 0.0);
        let Ok(found) = measure(&mut machine, &wish(Some(10.0)), 2..=MOST);
        let last = found.runs.last().unwrap();
        assert!(last.held && last.at_most_an_hour.unwrap() <= 10.0 + 1e-6, "{last:?}");
        assert!(machine.runs.iter().all(|(_, time_s)| *time_s > 1_100.0), "{:?}", machine.runs);
    }

    #[test]
    fn a_session_that_hardly_fits_is_played_for_long_and_one_that_does_not_is_not() {
        let mut machine = MadeUp::new(1, 10.0, 0.0);
        let Ok(found) = measure(&mut machine, &wish(None), 12..=MOST);
        assert!(found.runs.is_empty() && found.probes.iter().all(Probe::is_overload), "{found:?}");
        assert_eq!(Verdict::of(&found.runs), Verdict::Hopeless);
        let mut machine = MadeUp::new(1, 10.0, 0.0);
        machine.channels_of_a_period = 12.6;
        let Ok(found) = measure(&mut machine, &wish(None), 12..=MOST);
        assert_eq!(found.runs.len(), 1);
        assert!(!found.runs[0].held && found.runs[0].at_most_an_hour.is_none(), "{found:?}");
        assert_eq!(Verdict::of(&found.runs), Verdict::Hopeless);
        assert_eq!(found.probes.len(), PROBES, "one and its repetition");
    }

    /// The first probe of every number is late.
    struct Stumbles {
        machine: MadeUp,
        last: usize,
    }

    impl Plays for Stumbles {
        type Error = Infallible;

        fn probe(&mut self, channels: usize) -> Result<Probe, Infallible> {
            let Ok(probe) = self.machine.probe(channels);
            let late = if self.last == channels { probe.late } else { 1 };
            self.last = channels;
            Ok(Probe { late, ..probe })
        }

        fn run(
            &mut self,
            channels: usize,
            time_s: f64,
            hopeless: u64,
        ) -> Result<Played, Infallible> {
            self.machine.run(channels, time_s, hopeless)
        }
    }

    #[test]
    fn a_disturbed_probe_is_made_again() {
        let machine = MadeUp { probe_disturbed: 0.0, ..MadeUp::new(5, 100.0, 0.0) };
        let Ok(found) = measure(&mut Stumbles { machine, last: 0 }, &wish(None), 2..=40);
        assert_eq!(found.runs[0].played.channels, 40, "{found:?}");
    }
}
