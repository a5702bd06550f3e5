//! Executors written in C++ (`native/`), behind safe types. They run the nodes by calling back, so
//! their work is the work of everybody else.
//!
//! Why the rules of [`crate::cells`] hold, named for the SAFETY comments that rely on it:
//!
//! - **DEPENDENCIES**: a library runs each node once a block, and after all that it reads, with the
//!   writes of one visible to the other: that is what its flow graph, its `depend` clauses or its
//!   barriers between levels are for. The tests hold it to that, row by row.
//! - **CLOSED**: `run` returns when all nodes have run, and borrows exclusively.
//! - **LEADER**: teams and executors stay on the thread that made them: they hold raw pointers, so
//!   they are not `Send`.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use hocket_engine::ThreadReport;
use hocket_machine::float_mode::FlushDenormals;

use crate::cells::Cells;
use crate::network::{Network, Row};
use crate::seats::Seats;

/// An executor of `native/`; the layouts are those of `native/rival.h`.
#[repr(C)]
pub struct Rival {
    version: *const c_char,
    start: unsafe extern "C" fn(*const RivalSeats) -> *mut c_void,
    stop: unsafe extern "C" fn(*mut c_void),
    prepare: unsafe extern "C" fn(*mut c_void, *const RivalNetwork) -> *mut c_void,
    run: unsafe extern "C" fn(*mut c_void),
    release: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
struct RivalSeats {
    threads: usize,
    settle: extern "C" fn(*const c_void, usize),
    context: *const c_void,
}

#[repr(C)]
struct RivalNetwork {
    nodes: usize,
    inputs: *const usize,
    input_begin: *const usize,
    levels: usize,
    level_begin: *const usize,
    run_node: unsafe extern "C" fn(*const c_void, usize),
    memory: *const c_void,
}

macro_rules! rival {
    ($(#[$doc:meta])* $name:ident, $there:meta, $symbol:ident) => {
        $(#[$doc])*
        pub fn $name() -> Option<&'static Rival> {
            #[cfg($there)]
            {
                unsafe extern "C" {
                    fn $symbol() -> *const Rival;
                }
                // SAFETY: the function takes nothing and returns a constant of the C++ side, whose
                // layout is `native/rival.h`'s.
                Some(unsafe { &*$symbol() })
            }
            #[cfg(not($there))]
            None
        }
    };
}

rival!(
    /// oneTBB's flow graph; `None`: it was not there when this was built.
    tbb_flow, has_tbb, rival_tbb_flow
);
rival!(
    /// OpenMP tasks with `depend`; `None`: it was not there when this was built.
    omp_tasks, has_openmp, rival_omp_tasks
);
rival!(
    /// OpenMP static loops; `None`: it was not there when this was built.
    omp_levels, has_openmp, rival_omp_levels
);

impl Rival {
    /// Of library and compiler.
    pub fn version(&self) -> String {
        // SAFETY: a constant string of the C++ side.
        unsafe { CStr::from_ptr(self.version) }.to_string_lossy().into_owned()
    }
}

/// The threads of a library.
pub struct RivalThreads {
    rival: &'static Rival,
    handle: NonNull<c_void>,
    roll: Arc<Roll>,
}

/// Where a library's threads settle and report.
struct Roll {
    library: &'static str,
    seats: Seats,
    reports: Mutex<Vec<ThreadReport>>,
}

impl RivalThreads {
    /// Starts the threads of `rival`'s library and waits until each sits on its seat. Executors of
    /// the same library can share a team.
    ///
    /// Thread: the leader-to-be, still in its ordinary class: a thread born on the CPU of a
    /// SCHED_FIFO leader would not get to run.
    ///
    /// # Errors
    /// The library does not bring as many threads as there are seats.
    pub fn start(
        library: &'static str,
        rival: &'static Rival,
        seats: &Seats,
    ) -> Result<RivalThreads, String> {
        let roll =
            Arc::new(Roll { library, seats: seats.clone(), reports: Mutex::new(Vec::new()) });
        // oneTBB gives its threads the float mode in which their arena was made.
        let _float = FlushDenormals::enter();
        let asked =
            RivalSeats { threads: seats.count(), settle, context: Arc::as_ptr(&roll).cast() };
        // SAFETY: the layout is `native/rival.h`'s; `settle` is called with the roll, which the
        // team keeps as long as its threads may call.
        let handle = unsafe { (rival.start)(&asked) };
        let Some(handle) = NonNull::new(handle) else {
            return Err(format!(
                "{library} does not bring {} threads; close other programs or ask for fewer workers",
                seats.count()
            ));
        };
        Ok(RivalThreads { rival, handle, roll })
    }

    /// What its threads asked for and got; a leader's own report is not among them.
    pub fn reports(&self) -> Vec<ThreadReport> {
        let reports = self.roll.reports.lock();
        let mut reports = reports.map(|reports| reports.clone()).unwrap_or_default();
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        reports
    }
}

impl Drop for RivalThreads {
    fn drop(&mut self) {
        // SAFETY: once, for a team of this rival; executors borrow the team, so none is left.
        unsafe { (self.rival.stop)(self.handle.as_ptr()) };
    }
}

/// Called by the threads of a library, each on itself.
extern "C" fn settle(context: *const c_void, index: usize) {
    // SAFETY: `context` is the roll that `RivalThreads::start` gave, alive as long as the team.
    let roll = unsafe { &*context.cast::<Roll>() };
    let report = roll.seats.settle(&format!("{} {index}", roll.library), index);
    if let Ok(mut reports) = roll.reports.lock() {
        reports.push(report);
    }
}

/// A graph in memory of its own, run by a team.
pub struct Native<'a> {
    rival: &'static Rival,
    handle: NonNull<c_void>,
    graph: Arc<Graph>,
    _team: &'a RivalThreads,
}

/// What the C++ side reads while it runs. In an `Arc`, so that no owner claims it for itself alone.
struct Graph {
    cells: Cells,
    inputs: Vec<usize>,
    input_begin: Vec<usize>,
    level_begin: Vec<usize>,
    output: usize,
}

impl<'a> Native<'a> {
    /// `network`, to be run by `rival` on `team`, which is of the same library.
    ///
    /// Thread: the team's leader.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(
        rival: &'static Rival,
        team: &'a RivalThreads,
        network: Network,
    ) -> Result<Native<'a>, String> {
        let graph = Arc::new(Graph::new(network));
        // SAFETY: layout and contract are `native/rival.h`'s; all memory is the graph's, which
        // stays where it is and is kept until after `release`.
        let handle = unsafe { (rival.prepare)(team.handle.as_ptr(), &graph.as_seen_from_c()) };
        let handle =
            NonNull::new(handle).ok_or("no memory left for a graph; close other programs")?;
        Ok(Native { rival, handle, graph, _team: team })
    }

    /// Runs one block.
    pub fn run(&mut self) {
        // SAFETY: an executor of this rival, on its leader (LEADER), one block at a time (CLOSED).
        unsafe { (self.rival.run)(self.handle.as_ptr()) };
    }

    /// The row of the graph's output.
    pub fn output_row(&self) -> &Row {
        self.row(self.graph.output)
    }

    /// The row of a node, by its place in the [`Network`].
    pub fn row(&self, node: usize) -> &Row {
        // SAFETY: CLOSED: `self` is borrowed, so no block is under way and none begins before the
        // row is given back.
        unsafe { self.graph.cells.row(node) }
    }
}

impl Drop for Native<'_> {
    fn drop(&mut self) {
        // SAFETY: once, for an executor of this rival, on its leader; the graph is dropped after it.
        unsafe { (self.rival.release)(self.handle.as_ptr()) };
    }
}

impl Graph {
    fn new(network: Network) -> Graph {
        let (mut inputs, mut input_begin) = (Vec::new(), vec![0]);
        for node in &network.nodes {
            inputs.extend(node.inputs());
            input_begin.push(inputs.len());
        }
        let ends = network.levels.iter().map(|level| level.end);
        Graph {
            inputs,
            input_begin,
            level_begin: std::iter::once(0).chain(ends).collect(),
            output: network.output,
            cells: Cells::new(network.nodes),
        }
    }

    fn as_seen_from_c(self: &Arc<Graph>) -> RivalNetwork {
        RivalNetwork {
            nodes: self.input_begin.len() - 1,
            inputs: self.inputs.as_ptr(),
            input_begin: self.input_begin.as_ptr(),
            levels: self.level_begin.len() - 1,
            level_begin: self.level_begin.as_ptr(),
            run_node,
            memory: Arc::as_ptr(self).cast(),
        }
    }
}

/// One node, for the C++ side.
///
/// # Safety
/// `memory` is the [`Graph`] that [`Graph::as_seen_from_c`] gave, alive; [`Cells::run`]'s rules.
unsafe extern "C" fn run_node(memory: *const c_void, node: usize) {
    // SAFETY: by contract.
    let graph = unsafe { &*memory.cast::<Graph>() };
    // SAFETY: DEPENDENCIES; rows are held between blocks only (CLOSED).
    unsafe { graph.cells.run(node) };
}
