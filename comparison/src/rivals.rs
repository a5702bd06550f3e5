//! The threads of all rivals, started once and kept: each library sleeps while others have their turn.

use hocket_engine::ThreadReport;

use crate::native::{self, Rival, RivalThreads};
use crate::pool::{Leader, Pool};
use crate::record::rayon_versions;
use crate::seats::Seats;

/// A library that Hocket is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Library {
    /// Rayon.
    Rayon,
    /// oneTBB.
    Tbb,
    /// GCC's OpenMP.
    Openmp,
}

/// Everybody's threads; `None`: not asked for, or not there when this was built.
pub struct Rivals {
    /// Rayon's.
    pub rayon: Option<Pool>,
    /// oneTBB's.
    pub tbb: Option<RivalThreads>,
    /// OpenMP's.
    pub openmp: Option<RivalThreads>,
    /// Asked for and not there, in words.
    pub missing: Vec<&'static str>,
}

impl Rivals {
    /// Starts the threads of the libraries that are asked for and there.
    ///
    /// Thread: the leader-to-be, still in its ordinary class.
    ///
    /// # Errors
    /// As [`Pool::start`] and [`RivalThreads::start`].
    pub fn start(wanted: &[Library], seats: &Seats, leader: Leader) -> Result<Rivals, String> {
        let mut missing = Vec::new();
        let mut team = |library: Library, name: &'static str, rival: Option<&'static Rival>| {
            if !wanted.contains(&library) {
                return Ok(None);
            }
            if rival.is_none() {
                missing.push(name);
            }
            rival.map(|rival| RivalThreads::start(name, rival, seats)).transpose()
        };
        // The pool last: it makes the calling thread a member.
        Ok(Rivals {
            tbb: team(Library::Tbb, "oneTBB", native::tbb_flow())?,
            openmp: team(Library::Openmp, "OpenMP", native::omp_tasks())?,
            rayon: wanted
                .contains(&Library::Rayon)
                .then(|| Pool::start(seats, leader))
                .transpose()?,
            missing,
        })
    }

    /// What all threads asked for and got, library by library.
    pub fn reports(&self) -> Vec<ThreadReport> {
        let mut reports = self.rayon.as_ref().map_or(Vec::new(), |pool| pool.reports().to_vec());
        for team in [&self.tbb, &self.openmp].into_iter().flatten() {
            reports.extend(team.reports());
        }
        reports
    }

    /// Of the libraries that take part.
    pub fn versions(&self) -> Vec<String> {
        let rayon = self.rayon.is_some().then(rayon_versions);
        let of = |team: &Option<RivalThreads>, rival: Option<&'static Rival>| {
            team.is_some().then_some(rival).flatten().map(Rival::version)
        };
        let tbb = of(&self.tbb, native::tbb_flow());
        let openmp = of(&self.openmp, native::omp_tasks());
        [rayon, tbb, openmp].into_iter().flatten().collect()
    }
}
