//! All executors compute the same bits on every graph, whoever runs what when.

use std::sync::{Mutex, PoisonError};

use hocket_comparison::countdown::Countdowns;
use hocket_comparison::executor::{Engines, Who, seat};
use hocket_comparison::measure::agree;
use hocket_comparison::native::{self, Native};
use hocket_comparison::network::Network;
use hocket_comparison::pool::{Leader, Pool};
use hocket_comparison::rivals::{Library, Rivals};
use hocket_comparison::seats::Seats;
use hocket_comparison::setup::{Fuse, Setup};
use hocket_comparison::walks::{Levels, Serial};
use hocket_lab::graphs::GRAPHS;
use hocket_machine::float_mode::FlushDenormals;
use hocket_plan::Fusing;

/// Past the filters' transient, and enough blocks for tasks to meet in many orders.
const BLOCKS: usize = 80;

const LIBRARIES: [Library; 3] = [Library::Rayon, Library::Tbb, Library::Openmp];

/// One test at a time: how many threads oneTBB gives is a matter of the process.
static TURN: Mutex<()> = Mutex::new(());

/// On a thread of its own: a leader that became a member of a pool stays one.
fn on_a_leader(test: impl FnOnce() + Send) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        scope.spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// All who are there, in fresh memory, on threads that are started in any float mode; blocks run in
/// the one of all workers. Through the 160 sections of `narrow` the first samples come out denormal,
/// so a thread in another mode would compute other bits.
fn check(workers: usize, leader: Leader, fuse: Fuse) {
    on_a_leader(|| {
        let setup = Setup::unpinned(workers, fuse).unwrap();
        let rivals = Rivals::start(&LIBRARIES, &Seats::of(&setup), leader).unwrap();
        for library in &rivals.missing {
            println!("SKIPPED {library} on {workers} workers: not there when this was built");
        }
        for spec in &GRAPHS {
            let mut engines = Engines::start(spec, &setup).unwrap();
            assert_eq!(engines.told.schedule().workers(), workers);
            let mut all = seat(spec, &setup, &rivals, &mut engines).unwrap();
            assert_eq!(all.len(), Who::ALL.len() - missing_executors(&rivals));
            let _float = FlushDenormals::enter();
            for block in 0..BLOCKS {
                all.iter_mut().for_each(|(_, executor)| executor.block());
                assert_eq!(agree(spec, &all), Ok(()), "{} block {block}", spec.name);
            }
        }
    });
}

fn missing_executors(rivals: &Rivals) -> usize {
    usize::from(rivals.tbb.is_none()) + 2 * usize::from(rivals.openmp.is_none())
}

#[test]
fn two_workers_agree() {
    check(2, Leader::Member, Fuse::Hocket);
}

#[test]
fn four_workers_agree() {
    check(4, Leader::Member, Fuse::Hocket);
}

#[test]
fn four_workers_agree_on_fused_chains() {
    check(4, Leader::Member, Fuse::All);
}

#[test]
fn four_workers_agree_where_nobody_fuses() {
    check(4, Leader::Member, Fuse::Nobody);
}

#[test]
fn a_leader_outside_the_pool_agrees() {
    check(2, Leader::Outside, Fuse::Hocket);
}

#[test]
fn one_worker_agrees() {
    check(1, Leader::Member, Fuse::Hocket);
}

/// Not only the output: a wrong row could hide behind equal tracks.
#[test]
fn every_row_agrees() {
    on_a_leader(|| {
        let setup = Setup::unpinned(4, Fuse::Hocket).unwrap();
        let rivals = Rivals::start(&LIBRARIES, &Seats::of(&setup), Leader::Member).unwrap();
        let pool = rivals.rayon.as_ref().unwrap();
        for spec in &GRAPHS {
            let network = || Network::new(spec, Fusing::None).unwrap();
            let mut serial = Serial::new(network());
            let mut levels = Levels::new(network());
            let mut scope = Countdowns::new(network());
            let mut natives = natives(&rivals, network);
            let _float = FlushDenormals::enter();
            for _ in 0..BLOCKS {
                serial.run();
                pool.install(|| levels.run());
                pool.install(|| scope.run());
                natives.iter_mut().for_each(Native::run);
                for (place, node) in serial.network().nodes.iter().enumerate() {
                    assert_eq!(node.row(), levels.network().nodes[place].row());
                    assert_eq!(node.row(), scope.row(place));
                    assert!(natives.iter().all(|native| native.row(place) == node.row()));
                }
            }
        }
    });
}

fn natives(rivals: &Rivals, network: impl Fn() -> Network) -> Vec<Native<'_>> {
    let all = [
        (&rivals.tbb, native::tbb_flow()),
        (&rivals.openmp, native::omp_tasks()),
        (&rivals.openmp, native::omp_levels()),
    ];
    let there = all.into_iter().filter_map(|(team, rival)| Some((team.as_ref()?, rival?)));
    there.map(|(team, rival)| Native::new(rival, team, network()).unwrap()).collect()
}

/// The pool has as many threads as Hocket has workers, and the leader is the first of them.
#[test]
fn the_leader_is_one_of_the_pool() {
    on_a_leader(|| {
        let setup = Setup::unpinned(4, Fuse::Hocket).unwrap();
        let pool = Pool::start(&Seats::of(&setup), Leader::Member).unwrap();
        assert_eq!((pool.threads(), pool.reports().len()), (4, 3));
        assert!(pool.reports().iter().all(|report| report.denormals_flushed));
        let here = std::thread::current().id();
        pool.install(|| {
            assert_eq!(std::thread::current().id(), here, "install is a plain call");
            assert_eq!(rayon::current_thread_index(), Some(0));
            let everybody = rayon::broadcast(|thread| thread.index());
            assert_eq!(everybody, [0, 1, 2, 3], "each thread came");
        });
    });
}
