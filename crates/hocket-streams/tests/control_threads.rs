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
/// Four chunks of 1024 frames, and eight for jumps: the least that a stream needs.
const BUFFER_BYTES: usize = 12 * 1024 * 2 * 4;

fn buffer(settings: Settings) -> Arc<DiskBuffer> {
    DiskBuffer::start(settings, &[2], Wait::Never, RATE_HZ).unwrap()
}

/// A clip's stream, and the disk that it reads.
fn stream(buffer: &Arc<DiskBuffer>) -> (Arc<Disk>, ClipStream) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(&written(folder.path(), "long.wav", WavFormat::Pcm16, FRAMES), 1);
    let storage = Arc::new(OnDisk(Arc::clone(&disk)));
    let stream = DiskFile::new(buffer, storage, FRAMES as u64).open(0, None).unwrap();
    (disk, stream)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

/// Has a thread wait for the disk; the others leave it alone, because one device never has more than half of them.
fn stall(disk: &Disk, stream: &mut ClipStream) {
    disk.change(|state| state.stalls = true);
    stream.source.rest(Some(300_000));
    wait_for("a thread waits for the disk", || disk.see(|state| state.waiting) > 0);
}

#[test]
fn a_place_in_memory_is_there_although_the_disk_stalls() {
    let (disk, mut stream) = stream(&buffer(Settings::new(BUFFER_BYTES)));
    let _goes_on = GoesOn(Arc::clone(&disk));
    // Places come in their order, so both are there.
    stream.handle.want(100_000);
    stream.handle.want(200_000);
    stream.handle.wait(200_000, soon()).unwrap();
    stall(&disk, &mut stream);
    stream.handle.wait(100_000, Instant::now()).unwrap();
}

#[test]
fn a_thread_that_gives_up_a_place_does_not_end_the_wait_of_another_one() {
    let (disk, mut stream) = stream(&buffer(Settings::new(BUFFER_BYTES)));
    let _goes_on = GoesOn(Arc::clone(&disk));
    stall(&disk, &mut stream);
    let (handle, begun) = (&stream.handle, Instant::now());
    let wait = |patience: u64| {
        handle.want(100_000);
        handle.wait(100_000, begun + Duration::from_millis(patience))
    };
    std::thread::scope(|scope| {
        let patient = scope.spawn(|| wait(600));
        while begun.elapsed() < Duration::from_millis(200) {
            assert!(wait(0).is_err());
        }
        assert!(patient.join().unwrap().is_err(), "nobody has read it");
    });
}

#[test]
fn a_clip_that_goes_while_its_disk_stalls_holds_up_nobody_and_gives_its_memory_back() {
    let buffer = buffer(Settings::new(BUFFER_BYTES));
    let (disk, mut stream) = stream(&buffer);
    let _goes_on = GoesOn(Arc::clone(&disk));
    stall(&disk, &mut stream);
    drop(stream);
    assert_eq!(buffer.used_bytes(), 0);
}

/// The usual look is an hour away. A machine that is too slow for one jump gets another one.
#[test]
fn a_jump_that_was_announced_is_found_without_the_usual_look() {
    let settings = Settings { poll: Duration::from_secs(3600), ..Settings::new(BUFFER_BYTES) };
    let buffer = buffer(settings);
    let (disk, mut stream) = stream(&buffer);
    let is_read = |place: u64| disk.see(|state| state.read_up_to) > FRAME_BYTES * place;
    // Further from each other than is read ahead.
    let mut places = (50_000..FRAMES as u64).step_by(10_000);
    wait_for("a jump is found", || {
        buffer.expect_jump();
        // By now the threads have looked, because they were called, and rest.
        std::thread::sleep(Duration::from_millis(20));
        let place = places.next().expect("a jump is found");
        stream.source.rest(Some(place));
        (0..40).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            is_read(place)
        })
    });
}
