//! `auto` against the serial walk and every fixed schedule, interleaved in one run.
//!
//! Each graph gets seven engines with memory and workers of their own: the serial walk twice (the A/A pair),
//! every schedule that can be fixed, and `auto`. In a round each engine has one turn, in an order drawn
//! anew, so whatever drifts (frequency, neighbours, load) drifts through all alike.
//!
//! [`subject`] is what is run, [`play`] the turns, [`figures`] what they show, [`output`] table and record.

mod figures;
mod output;
mod play;
mod subject;

use hocket_engine::{Seating, Settings, Strategy};
use hocket_machine::Topology;
use hocket_plan::{ScheduleKind, SiblingPolicy};

use super::hostile::Hostility;
use super::options::Options;
use super::rows::Begun;
use figures::{Figures, Summary};
use play::Played;

/// What all graphs of a run share.
#[derive(Debug, Clone)]
struct Setup {
    seating: Seating,
    /// SCHED_FIFO priority that all threads ask for; `None`: ordinary threads.
    priority: Option<u8>,
    sibling: SiblingPolicy,
    wait: Strategy,
    frames: u32,
    rate_hz: u32,
    /// Turns of each engine.
    rounds: usize,
    /// How long `auto` runs alone before anything counts.
    settle_ns: u64,
    seed: u64,
}

/// One graph: who took how long, and what that shows.
struct Outcome {
    played: Played,
    figures: Figures,
}

/// Runs every graph that `options` ask for, prints the table and writes the record if asked.
///
/// Thread: control; becomes the leader while it measures.
///
/// # Errors
/// What could not be had here.
pub(super) fn run(options: &Options) -> Result<(), String> {
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let setup = Setup::here(&topology, options)?;
    let begun = Begun::now();
    output::head(options, &setup);
    let mut results = Vec::new();
    {
        let hostile = Hostility::begin(options.hostile, &setup.seating)?;
        for subject in subject::all(options) {
            let played = play::play(&subject, &setup, hostile.crossing())?;
            let figures = Figures::of(&played)
                .ok_or_else(|| format!("{}: too few rounds for an interval", subject.name))?;
            output::row(&played, &figures);
            results.push(Outcome { played, figures });
        }
    }
    let summary = Summary::of(results.iter().map(|one| (one.played.graph.as_str(), &one.figures)));
    output::summary(&summary);
    output::save(options, &setup, &topology, &results, &summary, &begun)
}

impl Setup {
    fn here(topology: &Topology, options: &Options) -> Result<Setup, String> {
        let seating = Seating::here(topology, options.sibling, options.workers)
            .map_err(|error| error.to_string())?;
        let setup = Setup::on(seating, options);
        let priority = setup.settings(ScheduleKind::Serial).priority;
        Ok(Setup { priority, ..setup })
    }

    /// With threads of the ordinary class.
    fn on(seating: Seating, options: &Options) -> Setup {
        Setup {
            seating,
            priority: None,
            sibling: options.sibling,
            wait: options.waits.first().copied().unwrap_or(Strategy::Hybrid),
            frames: options.frames,
            rate_hz: options.rate_hz,
            rounds: options.rounds,
            settle_ns: options.contest_settle_ns,
            seed: options.seed,
        }
    }

    /// As the engine has them by itself.
    fn settings(&self, schedule: ScheduleKind) -> Settings {
        let policy = hocket_engine::Policy { schedule, sibling: self.sibling, wait: self.wait };
        Settings::new(self.frames, self.rate_hz, policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::random::draw;
    use hocket_plan::{Seat, Seats};
    use play::{COUNTED, Who};
    use subject::Subject;

    /// Two workers that nobody pins: what is computed, not how long it takes.
    fn setup() -> Setup {
        let seats =
            Seats { seats: vec![Seat { core: 0, speed: 1.0 }, Seat { core: 1, speed: 1.0 }] };
        let seating = Seating::described(&seats, SiblingPolicy::Off, None).unwrap();
        let options =
            Options { rounds: 6, contest_settle_ns: 50_000_000, seed: 5, ..Options::default() };
        Setup::on(seating, &options)
    }

    fn small_subjects() -> Vec<Subject> {
        let small = |graph: &crate::graphs::random::RandomGraph| graph.nominal_us() < 60.0;
        draw(5, 40).into_iter().filter(small).take(3).map(Subject::random).collect()
    }

    #[test]
    fn three_graphs_are_played_by_everybody_alike() {
        let (setup, crossing) = (setup(), std::sync::Arc::default());
        let subjects = small_subjects();
        assert_eq!(subjects.len(), 3);
        // A result that another worker left costs more: on the last graph, which must not change the sound.
        let crossings = [None, None, Some(&crossing)];
        for (subject, crossing) in subjects.iter().zip(crossings) {
            let played = play::play(subject, &setup, crossing).unwrap();
            assert_eq!(played.runs.iter().map(|run| run.who).collect::<Vec<_>>(), Who::all());
            for run in &played.runs {
                assert_eq!(run.block_ns.len(), setup.rounds * COUNTED, "{}", run.who.name());
                assert!(run.block_ns.iter().all(|ns| *ns > 0.0));
                let came = &run.came;
                assert_eq!(came[0], 1.0, "the leader is always there");
                assert!(came.iter().all(|share| (0.0..=1.0).contains(share)), "{came:?}");
            }
            for serial in &played.runs[..2] {
                assert_eq!(serial.came.len(), 1, "nobody but the leader walks serially");
            }
            let figures = Figures::of(&played).unwrap();
            assert_eq!(figures.fixed.len(), 4);
            let row = output::graph_json(&played, &figures);
            assert_eq!(row["executors"].as_array().unwrap().len(), Who::all().len());
            assert!(row["auto_by_serial"]["interval_95"][1].as_f64().unwrap() > 0.0);
        }
    }
}
