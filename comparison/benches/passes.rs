//! A pass of the lab's experiment `locks`, written without the lab and measured by criterion: one thread
//! increments a number under a lock and a number of its own. Run by `cross-check`.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use criterion::{Criterion, criterion_group, criterion_main};

fn passes(criterion: &mut Criterion) {
    let mut own = 0u64;
    let shared = std::sync::Mutex::new(0u64);
    criterion.bench_function("std-mutex", |bencher| {
        bencher.iter(|| {
            *shared.lock().expect("nobody panics with it") += 1;
            own += 1;
            black_box(&mut own);
        });
    });
    let shared = parking_lot::Mutex::new(0u64);
    criterion.bench_function("parking-lot", |bencher| {
        bencher.iter(|| {
            *shared.lock() += 1;
            own += 1;
            black_box(&mut own);
        });
    });
    let shared = AtomicU64::new(0);
    criterion.bench_function("atomic", |bencher| {
        bencher.iter(|| {
            shared.fetch_add(1, Relaxed);
            own += 1;
            black_box(&mut own);
        });
    });
}

criterion_group!(benches, passes);
criterion_main!(benches);
