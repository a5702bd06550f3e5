//! All executors behind one call.

use hocket_engine::{Engine, Settings, Steer};
use hocket_lab::graphs::GraphSpec;
use hocket_plan::ScheduleKind;

use crate::countdown::Countdowns;
use crate::native::{self, Native, Rival, RivalThreads};
use crate::network::{FRAMES, Network};
use crate::pool::Pool;
use crate::rivals::Rivals;
use crate::setup::Setup;
use crate::walks::{Levels, Serial};

/// Runs a graph block by block, in memory that nobody else touches.
pub trait Executor {
    /// Runs one block; all of it is done on return. Thread: leader.
    fn block(&mut self);

    /// Hears when the block after the coming one is planned, on the monotonic clock, if it can use
    /// that.
    fn expect_next(&mut self, _next_ns: u64) {}

    /// What the last block left at the graph's output, [`FRAMES`] frames.
    fn output(&self) -> &[f32];

    /// Blocks in which each worker took part so far, the leader first; empty where nobody counts.
    fn blocks_by_worker(&self) -> Vec<u64> {
        Vec::new()
    }

    /// How `auto` walks at present, and why; nothing for everybody else.
    fn chose(&self) -> Option<String> {
        None
    }
}

/// Who takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The serial walk on the leader.
    Serial,
    /// Rayon, level by level.
    RayonLevels,
    /// Rayon, a task a ready node.
    RayonScope,
    /// oneTBB's flow graph.
    TbbFlow,
    /// OpenMP tasks with `depend`.
    OmpTasks,
    /// OpenMP static loops, level by level.
    OmpLevels,
    /// Hocket's engine, told when the next block comes, as its devices do.
    Hocket,
    /// Hocket's engine, told nothing.
    HocketUntold,
    /// Hocket's engine as it plays by itself: it chooses schedule and workers; told as [`Who::Hocket`] is.
    HocketAuto,
    /// Hocket's engine on the leader alone: what it does in a block beside the nodes' work.
    HocketSerial,
}

impl Who {
    /// Everybody, in the order of tables.
    pub const ALL: [Who; 10] = [
        Who::Serial,
        Who::RayonLevels,
        Who::RayonScope,
        Who::TbbFlow,
        Who::OmpTasks,
        Who::OmpLevels,
        Who::Hocket,
        Who::HocketUntold,
        Who::HocketAuto,
        Who::HocketSerial,
    ];

    /// For tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Who::Serial => "serial walk",
            Who::RayonLevels => "rayon levels",
            Who::RayonScope => "rayon scope + countdown",
            Who::TbbFlow => "oneTBB flow graph",
            Who::OmpTasks => "OpenMP tasks, depend",
            Who::OmpLevels => "OpenMP static, levels",
            Who::Hocket => "hocket",
            Who::HocketUntold => "hocket, next block untold",
            Who::HocketAuto => "hocket, auto",
            Who::HocketSerial => "hocket, one worker",
        }
    }

    /// Whether it is one of Hocket's rivals.
    pub fn is_rival(self) -> bool {
        !self.is_hocket() && self != Who::Serial
    }

    /// Whether it is Hocket's engine.
    pub fn is_hocket(self) -> bool {
        matches!(self, Who::Hocket | Who::HocketUntold | Who::HocketAuto | Who::HocketSerial)
    }
}

/// Somebody on a graph.
pub type Seated<'a> = (Who, Box<dyn Executor + 'a>);

/// Hocket's engines on one graph, each with memory and threads of its own.
pub struct Engines {
    /// [`Who::Hocket`].
    pub told: Engine,
    /// [`Who::HocketUntold`].
    pub untold: Engine,
    /// [`Who::HocketAuto`].
    pub auto: Engine,
    /// [`Who::HocketSerial`].
    pub serial: Engine,
}

impl Engines {
    /// For `spec`, started.
    ///
    /// Thread: the leader-to-be, still in its ordinary class.
    ///
    /// # Errors
    /// Whatever keeps one from starting.
    pub fn start(spec: &GraphSpec, setup: &Setup) -> Result<Engines, String> {
        let engine = |settings: Settings| {
            let prepared = spec.prepare(setup.fuse.hocket());
            let prepared = prepared.map_err(|error| format!("{}: {error}", spec.name))?;
            Engine::start(prepared, settings, setup.seating.clone())
                .map_err(|error| error.to_string())
        };
        let mut serial = setup.settings();
        serial.policy.schedule = ScheduleKind::Serial;
        Ok(Engines {
            told: engine(setup.settings())?,
            untold: engine(setup.settings())?,
            auto: engine(Settings { steer: Steer::Auto, ..setup.settings() })?,
            serial: engine(serial)?,
        })
    }
}

/// Everybody who is there on `spec`, each in fresh memory, in the order of [`Who::ALL`]; Hocket's
/// workers sit and wait.
///
/// Thread: leader.
///
/// # Errors
/// Whatever keeps somebody from starting.
pub fn seat<'a>(
    spec: &GraphSpec,
    setup: &Setup,
    rivals: &'a Rivals,
    engines: &'a mut Engines,
) -> Result<Vec<Seated<'a>>, String> {
    let fusing = setup.fuse.others();
    let network = || Network::new(spec, fusing).map_err(|error| format!("{}: {error}", spec.name));
    let mut all: Vec<Seated<'a>> = vec![(Who::Serial, Box::new(Serial::new(network()?)))];
    if let Some(pool) = &rivals.rayon {
        let levels = OnPool { pool, walk: Levels::new(network()?) };
        let scope = OnPool { pool, walk: Countdowns::new(network()?) };
        all.push((Who::RayonLevels, Box::new(levels)));
        all.push((Who::RayonScope, Box::new(scope)));
    }
    for (who, team, rival) in native_rivals(rivals) {
        all.push((who, Box::new(Native::new(rival, team, network()?)?)));
    }
    let Engines { told, untold, auto, serial } = engines;
    all.push((Who::Hocket, Box::new(Hocket { engine: told, told: true })));
    all.push((Who::HocketUntold, Box::new(Hocket { engine: untold, told: false })));
    all.push((Who::HocketAuto, Box::new(Hocket { engine: auto, told: true })));
    all.push((Who::HocketSerial, Box::new(Hocket { engine: serial, told: false })));
    Ok(all)
}

/// The executors in C++ whose threads were started.
fn native_rivals(rivals: &Rivals) -> impl Iterator<Item = (Who, &RivalThreads, &'static Rival)> {
    let all = [
        (Who::TbbFlow, &rivals.tbb, native::tbb_flow()),
        (Who::OmpTasks, &rivals.openmp, native::omp_tasks()),
        (Who::OmpLevels, &rivals.openmp, native::omp_levels()),
    ];
    all.into_iter().filter_map(|(who, team, rival)| Some((who, team.as_ref()?, rival?)))
}

impl Executor for Serial {
    fn block(&mut self) {
        self.run();
    }

    fn output(&self) -> &[f32] {
        self.network().output_row()
    }
}

/// One of rayon's ways, on the pool.
struct OnPool<'a, W> {
    pool: &'a Pool,
    walk: W,
}

impl Executor for OnPool<'_, Levels> {
    fn block(&mut self) {
        let walk = &mut self.walk;
        self.pool.install(|| walk.run());
    }

    fn output(&self) -> &[f32] {
        self.walk.network().output_row()
    }
}

impl Executor for OnPool<'_, Countdowns> {
    fn block(&mut self) {
        let walk = &mut self.walk;
        self.pool.install(|| walk.run());
    }

    fn output(&self) -> &[f32] {
        self.walk.output_row()
    }
}

impl Executor for Native<'_> {
    fn block(&mut self) {
        self.run();
    }

    fn output(&self) -> &[f32] {
        self.output_row()
    }
}

struct Hocket<'a> {
    engine: &'a mut Engine,
    told: bool,
}

impl Executor for Hocket<'_> {
    fn block(&mut self) {
        self.engine.process(FRAMES);
    }

    fn expect_next(&mut self, next_ns: u64) {
        if self.told {
            self.engine.expect_next(next_ns);
        }
    }

    fn output(&self) -> &[f32] {
        self.engine.output(FRAMES).left
    }

    fn blocks_by_worker(&self) -> Vec<u64> {
        self.engine.totals().iter().map(|totals| totals.blocks).collect()
    }

    fn chose(&self) -> Option<String> {
        let standing = self.engine.control().standing();
        (standing.steer == Steer::Auto).then(|| {
            let us = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{:.1} us", ns / 1000.0));
            format!(
                "{} of {} units on {} of its workers: {}; alone {}, together {}",
                standing.kind.name(),
                standing.units,
                if standing.walks_alone { 1 } else { standing.workers },
                standing.reason.text(),
                us(standing.serial_ns),
                us(standing.workers_ns),
            )
        })
    }
}
