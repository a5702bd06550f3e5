//! What the flights of a run add up to.

use std::collections::VecDeque;

use hocket_trace::cause::{Tally, Verdict};

use super::Flight;

/// Late blocks by cause, the last explanations, and the worst block.
#[derive(Debug, Clone)]
pub struct FlightLog {
    keep: usize,
    tally: Tally,
    last: VecDeque<Verdict>,
    worst: Option<Flight>,
}

impl FlightLog {
    /// Keeps the last `keep` explanations of late blocks.
    pub fn new(keep: usize) -> FlightLog {
        FlightLog { keep, tally: Tally::default(), last: VecDeque::new(), worst: None }
    }

    /// Takes over what a drain has collected.
    pub fn add(&mut self, flights: Vec<Flight>) {
        for flight in flights {
            let late = flight.verdict.as_ref().filter(|_| flight.times.is_late());
            if let Some(verdict) = late {
                self.tally.count(verdict.cause);
                self.last.push_back(verdict.clone());
            }
            while self.last.len() > self.keep {
                self.last.pop_front();
            }
            let slack = |flight: &Flight| flight.times.slack_ns();
            if self.worst.as_ref().is_none_or(|worst| slack(&flight) < slack(worst)) {
                self.worst = Some(flight);
            }
        }
    }

    /// Late blocks by cause. Blocks that were late and not collected are missing here.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Explanations of the last late blocks, oldest first.
    pub fn last(&self) -> impl ExactSizeIterator<Item = &Verdict> {
        self.last.iter()
    }

    /// The block with the least slack, late or not.
    pub fn worst(&self) -> Option<&Flight> {
        self.worst.as_ref()
    }
}
