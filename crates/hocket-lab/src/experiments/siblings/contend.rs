//! How much slower two CPUs are side by side than beside CPUs that they share nothing with.

use std::time::Duration;

use hocket_kernels::contention::{AluIndependent, Fp, L1, LoadStore};
use hocket_machine::clock::monotonic_ns;

use crate::harness::timed::{calibrate, time};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault, Sample, Size};
use crate::siblings::{Kernel, Trial};
use crate::stats::median;

/// A figure is the median over pieces of this length, so that a thread that is put aside for some of
/// them is not taken for a slow one.
pub(super) const PIECE: Duration = Duration::from_micros(40);

/// How long CPUs are busy in a trial, and how often that is repeated.
pub(super) const WINDOW_NS: [u64; 2] = [600_000, 1_500_000];
pub(super) const REPEATS: [usize; 2] = [5, 9];

/// The metric of each kernel.
pub(crate) const METRICS: [(Kernel, &str); 4] = [
    (Kernel::Alu, "slowdown-integer"),
    (Kernel::Fp, "slowdown-float"),
    (Kernel::L1, "slowdown-cache"),
    (Kernel::LoadStore, "slowdown-load-store"),
];

/// Trials of contention.
pub(crate) struct Contention {
    window_ns: u64,
    repeats: usize,
    /// Passes of a piece, in the order of [`METRICS`].
    passes: [u64; 4],
}

impl Contention {
    /// Calibrates the kernels on the CPU that the scheduler chose.
    pub(crate) fn new(size: Size) -> Result<Contention, Fault> {
        let mut passes = [1; 4];
        for ((kind, _), passes) in METRICS.into_iter().zip(&mut passes) {
            let mut kernel = kernel(kind);
            *passes = calibrate(PIECE, |n| Ok(time(|| kernel.run(n)).0))?;
        }
        Ok(Contention { window_ns: size.of(WINDOW_NS), repeats: size.of(REPEATS), passes })
    }

    /// One trial: for every kernel the quotient of the times side by side and apart, of the CPU that
    /// slows down more. Side by side and apart alternate.
    ///
    /// # Errors
    /// Where the threads cannot be pinned or started.
    pub(crate) fn trial(&self, trial: Trial) -> Result<Vec<Sample>, Fault> {
        let mut ratios: [[Vec<f64>; 2]; 4] = Default::default();
        let mut checks = [const { Check::Passed }; 4];
        for _ in 0..self.repeats {
            for (at, (ratios, check)) in ratios.iter_mut().zip(&mut checks).enumerate() {
                let (ratio, right) = self.once(at, trial)?;
                ratios.iter_mut().zip(ratio).for_each(|(all, one)| all.push(one));
                *check = check.clone().and(right);
            }
        }
        let samples =
            METRICS.into_iter().zip(ratios).zip(checks).map(|(((_, metric), of), check)| {
                let slower = of
                    .iter()
                    .max_by(|a, b| median(a).unwrap_or(0.0).total_cmp(&median(b).unwrap_or(0.0)));
                Sample::median_of(metric, slower?, check)
            });
        samples.collect::<Option<_>>().ok_or_else(|| Fault::new("nothing was repeated"))
    }

    /// The quotients of both CPUs of one kernel.
    fn once(&self, kernel: usize, trial: Trial) -> Result<([f64; 2], Check), Fault> {
        let (a, b) = trial.pair;
        let beside =
            |cpu, other: Option<u32>| std::iter::once(cpu).chain(other).collect::<Vec<_>>();
        let (together, right) = self.busy(kernel, &[a, b])?;
        let (a_apart, a_right) = self.busy(kernel, &beside(a, trial.unrelated.map(|u| u.0)))?;
        let (b_apart, b_right) = self.busy(kernel, &beside(b, trial.unrelated.map(|u| u.1)))?;
        let ratios = [together[0] / a_apart[0], together[1] / b_apart[0]];
        Ok((ratios, right.and(a_right).and(b_right)))
    }

    /// All these CPUs busy for the window: the median time of a piece on each.
    fn busy(&self, kernel: usize, cpus: &[u32]) -> Result<(Vec<f64>, Check), Fault> {
        let work = || self.pieces(kernel);
        let team =
            cpus.iter().fold(TurnThreads::new(), |team, cpu| team.with(Place::on(*cpu), work));
        let mut times = Vec::with_capacity(cpus.len());
        let mut all = Check::Passed;
        for (piece_ns, check) in team.run()?.into_results() {
            times.push(piece_ns);
            all = all.and(check);
        }
        Ok((times, all))
    }

    fn pieces(&self, at: usize) -> (f64, Check) {
        let mut kernel = kernel(METRICS[at].0);
        kernel.run(self.passes[at]);
        let mut pieces_ns = Vec::with_capacity(64);
        let end_ns = monotonic_ns() + self.window_ns;
        while pieces_ns.is_empty() || monotonic_ns() < end_ns {
            pieces_ns.push(time(|| kernel.run(self.passes[at])).0.max(1) as f64);
        }
        let check = Check::of(kernel.check());
        (median(&pieces_ns).unwrap_or(1.0), check)
    }
}

fn kernel(kind: Kernel) -> Box<dyn hocket_kernels::Kernel> {
    match kind {
        Kernel::Alu => Box::new(AluIndependent::new()),
        Kernel::Fp => Box::new(Fp::new()),
        Kernel::L1 => Box::new(L1::new()),
        Kernel::LoadStore => Box::new(LoadStore::new()),
    }
}
