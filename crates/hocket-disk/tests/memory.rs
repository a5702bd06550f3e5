//! What streams take in memory. A process of its own, because its allocator counts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Disk, GoesOn, OnDisk, wait_for, written};
use hocket_disk::{Preloader, Settings, WavFormat};

struct Counting;

/// Bytes that are allocated now. Relaxed: it publishes nothing.
static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

#[test]
fn a_stream_that_ends_takes_no_memory_although_a_thread_waits_for_another_disk() {
    const FRAMES: usize = 600_000;
    const CHUNKS: usize = 16;
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "long.wav", WavFormat::Pcm16, FRAMES);
    let [stalled, healthy] = [1, 2].map(|device| Disk::new(&path, device));
    let settings = Settings::new(64 << 20);
    let bytes = settings.stream_bytes(2, CHUNKS);
    let preloader = Preloader::start(settings).unwrap();
    let open = |disk: &Arc<Disk>| {
        let storage = Arc::new(OnDisk(Arc::clone(disk)));
        preloader.open_storage(storage, 48_000, CHUNKS).unwrap()
    };
    let ((ending, ending_reader), (waiting, mut reader)) = (open(&healthy), open(&stalled));
    wait_for("both are filled", || ending.is_filled() && waiting.is_filled());
    let _goes_on = GoesOn(Arc::clone(&stalled));
    stalled.change(|state| state.stalls = true);
    reader.locate(400_000);
    wait_for("a thread waits", || stalled.see(|state| state.waiting) > 0);
    let before = live();
    drop((ending_reader, ending));
    // Not all at once if the other thread has just looked at it.
    wait_for("its chunks are free", || live() + bytes <= before);
}
