//! Disks that stall, fail, lose a file's end, and come back.

mod common;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{Disk, GoesOn, OnDisk, bits, preloader, wait_for, written};
use hocket_disk::{PreloadError, Preloader, ReadAt, Storage, Stream, StreamReader, WavFormat};
use hocket_media::{Audio, decode};

const CHUNK: usize = 1024;
const FRAMES: usize = 1_000_000;

/// A file, its disk, and what should sound.
fn disk(device: u64) -> (tempfile::TempDir, Arc<Disk>, Audio) {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "long.wav", WavFormat::Float32, FRAMES);
    let audio = decode(&path).unwrap();
    (folder, Disk::new(&path, device), audio)
}

fn open(preloader: &Preloader, disk: &Arc<Disk>) -> (Stream, StreamReader) {
    preloader.open_storage(Arc::new(OnDisk(Arc::clone(disk))), 48_000, 4).unwrap()
}

/// Waits until the ring is full.
fn fill(disk: &Disk) {
    let four_chunks = (4 * CHUNK * 8) as u64;
    wait_for("the ring is full", || disk.see(|state| state.read_up_to) > four_chunks);
    wait_for("the last read is over", || disk.see(|state| state.waiting) == 0);
}

struct Player {
    reader: StreamReader,
    position: u64,
    audio: Audio,
}

impl Player {
    /// Plays a block of 128 frames: each frame is right or silent. Whether all were ready.
    fn block(&mut self) -> bool {
        let mut rows = [[f32::NAN; 128]; 2];
        let [left, right] = &mut rows;
        let ready = self.reader.read(self.position, &mut [left, right]);
        let at = self.position as usize;
        let mut right_frames = 0;
        for frame in 0..128 {
            let is = rows.each_ref().map(|row| row[frame]);
            let expected = [0, 1].map(|channel: usize| self.audio.channels[channel][at + frame]);
            let is_right = bits(&is) == bits(&expected);
            assert!(is_right || is == [0.0; 2], "frame {} is wrong", at + frame);
            right_frames += usize::from(is_right);
        }
        assert_eq!(right_frames, ready);
        self.position += 128;
        ready == 128
    }

    /// Plays, more slowly than the preloader can follow, until a block is ready.
    fn until_it_plays(&mut self) {
        wait_for("it plays again", || self.block());
    }
}

#[test]
fn a_disk_that_stalls_gives_silence_that_is_counted_and_named_and_comes_back() {
    let (_folder, disk, audio) = disk(1);
    let preloader = preloader(CHUNK);
    let (stream, reader) = open(&preloader, &disk);
    let mut player = Player { reader, position: 0, audio };
    fill(&disk);
    disk.change(|state| state.stalls = true);
    let ready = (0..).take_while(|_| player.block()).count();
    // The block that ended this was the first without data; ten seconds of music follow.
    for _ in 0..10 * 48_000 / 128 {
        assert!(!player.block());
    }
    let silent = player.reader.not_ready_frames();
    assert_eq!(silent + 128 * ready as u64, player.position, "every frame was ready or is counted");
    wait_for("the report knows", || stream.report().reading_since.is_some());
    let report = stream.report();
    let gap = report.gaps.last().unwrap();
    assert!(report.path.ends_with("long.wav") && !gap.is_over, "{report:?}");
    assert_eq!(gap.position, 128 * ready as u64);
    disk.change(|state| state.stalls = false);
    player.until_it_plays();
    let report = stream.report();
    let gap = report.gaps.last().unwrap();
    assert!(gap.is_over && gap.frames >= silent, "{gap:?}");
    assert_eq!(report.not_ready_frames, player.reader.not_ready_frames());
}

#[test]
fn a_disk_that_stalls_does_not_stop_another_one() {
    let preloader = preloader(CHUNK);
    let ((_a, stalled, _), (_b, healthy, audio)) = (disk(1), disk(2));
    let mut readers: Vec<_> = (0..3).map(|_| open(&preloader, &stalled)).collect();
    stalled.change(|state| state.stalls = true);
    for (_, reader) in &mut readers {
        reader.locate(500_000);
    }
    wait_for("a thread is stuck", || stalled.see(|state| state.waiting) > 0);
    let (_stream, reader) = open(&preloader, &healthy);
    let mut player = Player { reader, position: 0, audio };
    for _ in 0..200 {
        player.until_it_plays();
    }
    assert_eq!(
        stalled.see(|state| state.waiting),
        1,
        "one of two threads waits for the first disk"
    );
    stalled.change(|state| state.stalls = false);
}

#[test]
fn a_disk_that_fails_is_named_with_its_error_and_comes_back() {
    let (_folder, disk, audio) = disk(1);
    let preloader = preloader(CHUNK);
    let (stream, reader) = open(&preloader, &disk);
    let mut player = Player { reader, position: 0, audio };
    fill(&disk);
    for kind in
        [io::ErrorKind::NotFound, io::ErrorKind::StaleNetworkFileHandle, io::ErrorKind::Other]
    {
        disk.change(|state| state.fails = Some(kind));
        wait_for("something is missing", || !player.block());
        wait_for("the failure is known", || {
            player.block();
            stream.report().failure.is_some()
        });
        let failure = stream.report().failure.unwrap();
        assert!(failure.contains("long.wav"), "{failure}");
        let refused = stream.preload(900_000, Duration::from_millis(5)).unwrap_err();
        assert!(matches!(refused, PreloadError::Failing { position: 900_000, .. }), "{refused}");
        disk.change(|state| state.fails = None);
        player.until_it_plays();
        assert_eq!(stream.report().failure, None);
        let gap = stream.report().gaps.last().unwrap().clone();
        assert!(gap.is_over && gap.cause.contains("long.wav"), "{gap:?}");
    }
}

#[test]
fn a_file_that_is_cut_short_plays_to_its_end_and_grows_back() {
    let (_folder, disk, audio) = disk(1);
    let preloader = preloader(CHUNK);
    let (stream, reader) = open(&preloader, &disk);
    let mut player = Player { reader, position: 0, audio };
    fill(&disk);
    let whole = disk.see(|state| state.len);
    // In the middle of a chunk and of a frame.
    disk.change(|state| state.len = 200_003);
    let kept = (disk.see(|state| state.len) - 80) / 8;
    while player.position + 128 < kept as u64 - 128 {
        player.until_it_plays();
    }
    wait_for("the end is known", || {
        player.block();
        stream.report().failure.is_some_and(|failure| failure.contains("cut short"))
    });
    disk.change(|state| state.len = whole);
    player.until_it_plays();
}

/// Leaves so many frames of the file.
fn cut(disk: &Disk, frames: usize) {
    disk.change(|state| state.len -= 8 * (FRAMES - frames));
}

#[test]
fn offline_a_loop_over_a_file_that_was_cut_short_plays_what_is_left_in_every_lap() {
    let (_folder, disk, audio) = disk(1);
    // It has no patience.
    let preloader = preloader(CHUNK);
    let (stream, mut reader) = open(&preloader, &disk);
    // More than the ring holds, so none of what goes is in memory.
    let (left, lap) = (4 * CHUNK + 500, 8 * CHUNK);
    cut(&disk, left);
    reader.set_loop(Some(0..lap as u64));
    for round in 0..20 {
        let mut rows = [vec![f32::NAN; lap], vec![f32::NAN; lap]];
        let [first, second] = &mut rows;
        assert_eq!(reader.read_waiting(0, &mut [first, second]), left, "round {round}");
        for (row, whole) in rows.iter().zip(&audio.channels) {
            assert_eq!(bits(&row[..left]), bits(&whole[..left]), "round {round}");
            assert!(row[left..].iter().all(|sample| *sample == 0.0), "round {round}");
        }
    }
    let gaps = stream.report().gaps;
    assert!(gaps.iter().all(|gap| gap.cause.contains("cut short")), "{gaps:?}");
}

#[test]
fn a_position_behind_the_end_of_a_file_that_was_cut_short_holds_up_no_other_one() {
    let (_folder, disk, _) = disk(1);
    let preloader = preloader(CHUNK);
    let (stream, _reader) = open(&preloader, &disk);
    cut(&disk, 100_000);
    let [behind, before] = [900_000, 50_000].map(|position| stream.want(position));
    stream.wait(before, Duration::from_secs(600)).unwrap();
    let error = stream.wait(behind, Duration::ZERO).unwrap_err();
    assert!(matches!(error, PreloadError::Failing { position: 900_000, .. }), "{error}");
}

#[test]
fn a_stream_is_filled_when_its_file_was_cut_short_and_nothing_more_is_left() {
    let (_folder, disk, _) = disk(1);
    let preloader = preloader(CHUNK);
    let (stream, mut reader) = open(&preloader, &disk);
    fill(&disk);
    cut(&disk, 100_000);
    reader.locate(100_000 - CHUNK as u64);
    wait_for("it is filled", || stream.is_filled());
    assert!(stream.report().failure.is_some_and(|failure| failure.contains("cut short")));
}

#[test]
fn offline_a_disk_that_fails_ends_in_silence_and_not_in_waiting() {
    let (_folder, disk, audio) = disk(1);
    // It has no patience.
    let preloader = preloader(CHUNK);
    let (stream, mut reader) = open(&preloader, &disk);
    let mut rows = [[f32::NAN; 2000]; 2];
    let [left, right] = &mut rows;
    assert_eq!(reader.read_waiting(0, &mut [left, right]), 2000);
    fill(&disk);
    disk.change(|state| state.fails = Some(io::ErrorKind::Other));
    let mut position = 2000;
    let mut lost = 0;
    while lost == 0 {
        let [left, right] = &mut rows;
        let ready = reader.read_waiting(position, &mut [left, right]);
        assert_eq!(bits(&rows[0][..ready]), bits(&audio.channels[0][position as usize..][..ready]));
        assert!(rows[0][ready..].iter().all(|x| *x == 0.0));
        (position, lost) = (position + 2000, 2000 - ready);
    }
    assert_eq!(reader.not_ready_frames(), lost as u64);
    disk.change(|state| state.fails = None);
    wait_for("it is whole again", || {
        let [left, right] = &mut rows;
        let ready = reader.read_waiting(position, &mut [left, right]);
        position += 2000;
        ready == 2000
    });
    assert!(stream.report().gaps.iter().all(|gap| gap.is_over));
}

#[test]
fn a_decoder_that_panics_ends_in_silence_and_holds_up_no_other_stream() {
    let preloader = preloader(CHUNK);
    let ((_one, bad, _), (_two, good, audio)) = (disk(1), disk(1));
    let (stream, mut reader) = open(&preloader, &bad);
    fill(&bad);
    bad.change(|state| state.panics = true);
    // More panics than there are threads, and a reader that waits for the disk.
    reader.locate(500_000);
    let mut row = [0.5; 4 * CHUNK];
    let ready = reader.read_waiting(500_000, &mut [&mut row]);
    assert!(row[ready..].iter().all(|sample| *sample == 0.0) && ready < row.len());
    wait_for("it is named", || {
        let causes = stream.report().gaps.into_iter().map(|gap| gap.cause);
        causes.into_iter().any(|cause| cause.contains("panicked"))
    });
    let (_stream, reader) = open(&preloader, &good);
    fill(&good);
    let mut player = Player { reader, position: 0, audio };
    assert!(player.block());
}

/// A disk whose name cannot be read by the preloader: where it says that the file ends early, it panics.
struct Nameless(OnDisk);

impl Storage for Nameless {
    fn path(&self) -> &Path {
        if std::thread::current().name().is_some_and(|name| name.starts_with("hocket-preload")) {
            std::panic::resume_unwind(Box::new("a fault outside of the decoder"));
        }
        self.0.path()
    }

    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        self.0.open()
    }

    fn device(&self) -> u64 {
        self.0.device()
    }
}

#[test]
fn a_panic_outside_of_the_decoder_ends_its_stream_with_the_cause_and_no_other_one() {
    let preloader = preloader(CHUNK);
    let ((_one, bad, _), (_two, good, audio)) = (disk(1), disk(1));
    let nameless = Arc::new(Nameless(OnDisk(Arc::clone(&bad))));
    let (stream, mut reader) = preloader.open_storage(nameless, 48_000, 4).unwrap();
    fill(&bad);
    bad.change(|state| state.len = 64);
    // Offline, the reader does not wait for ever, and control threads do not either.
    let mut row = [0.5; 4 * CHUNK];
    assert_eq!(reader.read_waiting(500_000, &mut [&mut row]), 0);
    assert!(row.iter().all(|sample| *sample == 0.0));
    let error = stream.preload(600_000, Duration::MAX / 4).unwrap_err();
    assert!(matches!(&error, PreloadError::Failing { .. }), "{error}");
    assert!(stream.is_filled(), "nothing more comes");
    // Live, it is silence that is counted.
    assert_eq!(reader.read(500_000, &mut [&mut row]), 0);
    assert_eq!(reader.not_ready_frames(), 8 * CHUNK as u64);
    let report = stream.report();
    let cause = report.ended.unwrap();
    assert!(cause.contains("long.wav") && cause.contains("panicked"), "{cause}");
    assert!(report.gaps.iter().all(|gap| gap.cause == cause), "{:?}", report.gaps);
    let (_stream, reader) = open(&preloader, &good);
    fill(&good);
    let mut player = Player { reader, position: 0, audio };
    assert!(player.block());
}

#[test]
fn a_stream_that_was_dropped_holds_up_no_reader_that_waits() {
    let preloader = preloader(CHUNK);
    let (_folder, disk, _) = disk(1);
    let (stream, mut reader) = open(&preloader, &disk);
    drop(stream);
    let mut row = [0.5; CHUNK];
    assert_eq!(reader.read_waiting(500_000, &mut [&mut row]), 0);
    assert_eq!(reader.not_ready_frames(), CHUNK as u64);
}

#[test]
fn a_preloader_that_stops_holds_up_no_reader_although_another_disk_stalls() {
    let preloader = preloader(CHUNK);
    let ((_a, stalled, _), (_b, healthy, _)) = (disk(1), disk(2));
    let (_stalled_stream, mut stalled_reader) = open(&preloader, &stalled);
    let (_stream, mut reader) = open(&preloader, &healthy);
    let _goes_on = GoesOn(Arc::clone(&stalled));
    stalled.change(|state| state.stalls = true);
    stalled_reader.locate(500_000);
    wait_for("a thread is stuck", || stalled.see(|state| state.waiting) > 0);
    let stopping = std::thread::spawn(move || preloader.stop());
    let reading = std::thread::spawn(move || {
        let places = (0..u64::MAX).map(|index| 50_000 * (index % 19));
        let mut row = [0.0; CHUNK];
        // Until the preloader stops every place is read.
        let mut ready = places.map(|place| reader.read_waiting(place, &mut [&mut row]));
        ready.any(|frames| frames < CHUNK)
    });
    wait_for("the reader goes on in silence", || reading.is_finished());
    assert!(!stopping.is_finished(), "the stop itself waits for the disk");
    stalled.change(|state| state.stalls = false);
    stopping.join().unwrap();
}

#[test]
fn a_deleted_file_plays_on_because_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm16, 200_000);
    let audio = decode(&path).unwrap();
    let preloader = preloader(CHUNK);
    let (_stream, mut reader) = preloader.open(&path, 48_000, 2).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut rows = vec![vec![0.0; 200_000]; 2];
    let mut slices: Vec<&mut [f32]> = rows.iter_mut().map(|row| &mut row[..]).collect();
    assert_eq!(reader.read_waiting(0, &mut slices), 200_000);
    assert!(rows == audio.channels);
}

#[test]
fn the_first_turn_of_a_loop_is_ready_although_more_was_read_ahead() {
    let (_folder, disk, audio) = disk(1);
    let preloader = preloader(CHUNK);
    let (_stream, reader) = open(&preloader, &disk);
    let mut player = Player { reader, position: 0, audio };
    fill(&disk);
    // Two chunks behind its end are in the ring already.
    player.reader.set_loop(Some(0..2 * CHUNK as u64));
    let before = disk.see(|state| state.reads);
    // The first chunk goes back when the second one begins.
    let played = (CHUNK / 128) as u64 + 1;
    assert!((0..played).all(|_| player.block()));
    wait_for("the start of the loop is read again", || disk.see(|state| state.reads) > before);
    wait_for("the last read is over", || disk.see(|state| state.waiting) == 0);
    disk.change(|state| state.stalls = true);
    let blocks = (3 * CHUNK / 128) as u64;
    let ready = (played..blocks).filter(|block| {
        player.position = 128 * block % (2 * CHUNK as u64);
        player.block()
    });
    assert_eq!(ready.count() as u64, blocks - played);
    disk.change(|state| state.stalls = false);
}

#[test]
fn a_short_loop_stays_in_memory_when_the_disk_is_gone() {
    let (_folder, disk, audio) = disk(1);
    let preloader = preloader(CHUNK);
    let (stream, reader) = open(&preloader, &disk);
    let mut player = Player { reader, position: 0, audio };
    player.reader.set_loop(Some(256..768));
    while player.position < 768 {
        player.until_it_plays();
        if player.position > 640 {
            break;
        }
    }
    player.position = 256;
    player.until_it_plays();
    disk.change(|state| state.fails = Some(io::ErrorKind::NotFound));
    let before = player.reader.not_ready_frames();
    for _ in 0..1000 {
        player.position = if player.position == 768 { 256 } else { player.position };
        assert!(player.block());
    }
    assert_eq!(player.reader.not_ready_frames(), before);
    drop(stream);
}
