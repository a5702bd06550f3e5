//! What streams take in memory. A process of its own, because its allocator counts.

#[path = "../common/mod.rs"]
mod common;
mod sentry;

use std::sync::Arc;

use common::{Disk, GoesOn, OnDisk, wait_for, written};
use hocket_disk::{Preloader, Settings, WavFormat};
use sentry::live;

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
