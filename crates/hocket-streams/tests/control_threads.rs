//! Control threads beside a clip that streams: they announce jumps, and they want places while the disk stalls.

#[path = "../../hocket-disk/tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Disk, GoesOn, OnDisk, wait_for, written};
use hocket_disk::{Settings, WavFormat};
use hocket_engine::{ClipStream, StreamedFile};
use hocket_streams::{DiskBuffer, DiskFile, Wait};

const RATE_HZ: u32 = 48_000;
const FRAMES: usize = 400_000;
/// 16 bits, stereo.
const FRAME_BYTES: u64 = 4;

/// A clip's stream, and the disk that it reads.
fn streamed(settings: Settings) -> (tempfile::TempDir, Arc<Disk>, ClipStream) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(&written(folder.path(), "long.wav", WavFormat::Pcm16, FRAMES), 1);
    let buffer = DiskBuffer::start(settings, &[2], Wait::Never, RATE_HZ).unwrap();
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let stream = DiskFile::new(&buffer, storage, FRAMES as u64).open(0, None).unwrap();
    (folder, disk, stream)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[test]
fn a_place_in_memory_is_there_although_the_disk_stalls() {
    let (_folder, disk, stream) = streamed(Settings::new(1 << 20));
    let _goes_on = GoesOn(Arc::clone(&disk));
    // Places come in their order, so both are there.
    [100_000, 200_000].map(|place| stream.handle.want(place));
    stream.handle.wait(200_000, soon()).unwrap();
    disk.change(|state| state.stalls = true);
    stream.handle.wait(100_000, Instant::now()).unwrap();
}

#[test]
fn two_threads_that_want_one_place_do_not_end_each_others_wait() {
    let (_folder, disk, stream) = streamed(Settings::new(1 << 20));
    let _goes_on = GoesOn(Arc::clone(&disk));
    disk.change(|state| state.stalls = true);
    [100_000, 100_000].map(|place| stream.handle.want(place));
    assert!(stream.handle.wait(100_000, Instant::now()).is_err());
    assert!(stream.handle.wait(100_000, Instant::now()).is_err(), "nobody has read it");
}
