//! All executors compute the same bits on every graph, whoever runs what when.

use hocket_comparison::countdown::Countdowns;
use hocket_comparison::executor::{engine, four};
use hocket_comparison::measure::agree;
use hocket_comparison::pool::{Leader, Pool};
use hocket_comparison::setup::{Fuse, Setup};
use hocket_comparison::walks::{Levels, Serial};
use hocket_lab::graphs::GRAPHS;
use hocket_machine::float_mode::FlushDenormals;
use hocket_plan::Fusing;

/// Past the filters' transient, and enough blocks for tasks to meet in many orders.
const BLOCKS: usize = 200;

/// On a thread of its own: a leader that became a member of a pool stays one. In the float mode of
/// all workers: through the 160 sections of `narrow` the first samples come out denormal, so a
/// leader in another mode would compute other bits.
fn on_a_leader(test: impl FnOnce() + Send) {
    let leader = || {
        let _float = FlushDenormals::enter();
        test();
    };
    std::thread::scope(|scope| {
        scope.spawn(leader).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn check(workers: usize, leader: Leader, fuse: Fuse) {
    on_a_leader(|| {
        let setup = Setup::unpinned(workers, fuse).unwrap();
        let pool = Pool::start(&setup.seating, setup.priority, leader).unwrap();
        for spec in &GRAPHS {
            let mut engine = engine(spec, &setup).unwrap();
            assert_eq!(engine.schedule().workers(), workers);
            let mut four = four(spec, &setup, &pool, &mut engine).unwrap();
            for block in 0..BLOCKS {
                four.iter_mut().for_each(|executor| executor.block());
                assert_eq!(agree(spec, &four), Ok(()), "{} block {block}", spec.name);
            }
        }
    });
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
        let pool = Pool::start(&setup.seating, None, Leader::Member).unwrap();
        for spec in &GRAPHS {
            let mut serial = Serial::new(spec, Fusing::None).unwrap();
            let mut levels = Levels::new(spec, Fusing::None).unwrap();
            let mut scope = Countdowns::new(spec, Fusing::None).unwrap();
            for _ in 0..BLOCKS {
                serial.run();
                pool.install(|| levels.run());
                pool.install(|| scope.run());
                for (place, node) in serial.network().nodes.iter().enumerate() {
                    assert_eq!(node.row(), levels.network().nodes[place].row());
                    assert_eq!(node.row(), scope.row(place));
                }
            }
        }
    });
}

/// The pool has as many threads as Hocket has workers, and the leader is the first of them.
#[test]
fn the_leader_is_one_of_the_pool() {
    on_a_leader(|| {
        let setup = Setup::unpinned(4, Fuse::Hocket).unwrap();
        let pool = Pool::start(&setup.seating, None, Leader::Member).unwrap();
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
