//! The four executors behind one call.

use hocket_engine::Engine;
use hocket_lab::graphs::GraphSpec;

use crate::countdown::Countdowns;
use crate::network::FRAMES;
use crate::pool::Pool;
use crate::setup::{POLICY, Setup};
use crate::walks::{Levels, Serial};

/// Runs a graph block by block, in memory that nobody else touches.
pub trait Executor {
    /// Runs one block; all of it is done on return. Thread: leader.
    fn block(&mut self);

    /// What the last block left at the graph's output, [`FRAMES`] frames.
    fn output(&self) -> &[f32];
}

/// Who takes part; as numbers, their places in every array of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The serial walk on the leader.
    Serial,
    /// Rayon, level by level.
    Levels,
    /// Rayon, a task a ready node.
    Scope,
    /// Hocket's engine.
    Hocket,
}

impl Who {
    /// Everybody, in the order of their numbers.
    pub const ALL: [Who; 4] = [Who::Serial, Who::Levels, Who::Scope, Who::Hocket];

    /// For tables and records.
    pub fn name(self) -> String {
        match self {
            Who::Serial => "serial walk".into(),
            Who::Levels => "rayon levels".into(),
            Who::Scope => "rayon scope + countdown".into(),
            Who::Hocket => format!("hocket {POLICY}"),
        }
    }
}

/// All four on one graph. `Box`ed in the order of [`Who::ALL`].
pub type Four<'a> = [Box<dyn Executor + 'a>; 4];

/// The four on `spec`, each in fresh memory; Hocket's workers sit and wait.
///
/// # Errors
/// Whatever keeps Hocket's engine from starting.
pub fn four<'a>(
    spec: &GraphSpec,
    setup: &Setup,
    pool: &'a Pool,
    engine: &'a mut Engine,
) -> Result<Four<'a>, String> {
    let fusing = setup.fuse.others();
    let graph = |error: hocket_plan::GraphError| format!("{}: {error}", spec.name);
    Ok([
        Box::new(Serial::new(spec, fusing).map_err(graph)?),
        Box::new(OnPool { pool, walk: Levels::new(spec, fusing).map_err(graph)? }),
        Box::new(OnPool { pool, walk: Countdowns::new(spec, fusing).map_err(graph)? }),
        Box::new(Hocket { engine }),
    ])
}

/// Hocket's engine for `spec`, started.
///
/// Thread: the leader-to-be, still in its ordinary class.
///
/// # Errors
/// Whatever keeps it from starting.
pub fn engine(spec: &GraphSpec, setup: &Setup) -> Result<Engine, String> {
    let prepared = spec.prepare(setup.fuse.hocket());
    let prepared = prepared.map_err(|error| format!("{}: {error}", spec.name))?;
    Engine::start(prepared, setup.settings(), setup.seating.clone())
        .map_err(|error| error.to_string())
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

struct Hocket<'a> {
    engine: &'a mut Engine,
}

impl Executor for Hocket<'_> {
    fn block(&mut self) {
        self.engine.process(FRAMES);
    }

    fn output(&self) -> &[f32] {
        self.engine.output(FRAMES).left
    }
}
