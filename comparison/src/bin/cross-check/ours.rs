//! The lab's side: turns of one variant of an experiment, as `hocket lab run --full` has them.

use std::fmt;

use hocket_lab::experiments::find;
use hocket_lab::harness::{self, Apparatus, Design, Experiment, Host, Size};
use hocket_lab::stats::median;

use crate::checks::Take;

/// One variant, ready to have its turns.
pub struct Lab {
    /// Where it is pinned.
    pub cpus: Vec<u32>,
    experiment: &'static str,
    metric: &'static str,
    variant: String,
    turns: u32,
    found: &'static dyn Experiment,
    host: Host,
    design: Design,
    /// From the first turn on: what another check has open makes the forks of this process slower.
    apparatus: Option<Box<dyn Apparatus>>,
}

impl Lab {
    /// The variant of this name; `turns` of it are one figure.
    pub fn variant(
        host: &Host,
        experiment: &'static str,
        metric: &'static str,
        name: &str,
        turns: u32,
    ) -> Result<Lab, String> {
        let unknown = || format!("the lab has no {experiment} '{name}' here");
        let found = find(experiment).ok_or_else(unknown)?;
        let mut design = found.design(host, Size::Full).map_err(|why| why.to_string())?;
        design.variants.retain(|variant| variant.name == name);
        design.contrasts.clear();
        design.twins.clear();
        let cpus = design.variants.first().ok_or_else(unknown)?.cpus.clone();
        let (host, variant) = (host.clone(), name.into());
        Ok(Lab { cpus, experiment, metric, variant, turns, found, host, design, apparatus: None })
    }

    /// The median over its turns, in nanoseconds.
    pub fn taker(mut self) -> Take {
        Box::new(move || {
            let figures = (0..self.turns).map(|_| self.turn()).collect::<Result<Vec<f64>, _>>()?;
            median(&figures).ok_or_else(|| "no turns".to_string())
        })
    }

    fn opened(&mut self) -> Result<&mut Box<dyn Apparatus>, String> {
        let Lab { found, host, design, apparatus, .. } = self;
        match apparatus {
            Some(apparatus) => Ok(apparatus),
            None => {
                let opened = found.open(host, Size::Full, design).map_err(|why| why.to_string())?;
                Ok(apparatus.insert(opened))
            }
        }
    }

    fn turn(&mut self) -> Result<f64, String> {
        let samples = self.opened()?.measure(0).map_err(|fault| fault.to_string())?;
        let sample = samples.into_iter().find(|sample| sample.metric == self.metric);
        let sample = sample.ok_or_else(|| format!("no {}", self.metric))?;
        match sample.check {
            harness::Check::Failed(why) => Err(format!("a wrong result: {why}")),
            _ if ["lateness", "switch", "time"].contains(&self.metric) => Ok(sample.value),
            // A rate of so many, or of so many megabytes, a second.
            _ => Ok(1e9 / sample.value),
        }
    }
}

impl fmt::Display for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lab { experiment, metric, variant, turns, cpus, .. } = self;
        write!(f, "{experiment}.{metric}[{variant}], median of {turns} turns, CPUs {cpus:?}")
    }
}
