//! The real-time ends allocate and free nothing. A process of its own, because its allocator counts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use common::{preloader, wait_for, written};
use hocket_disk::{EventTakeSettings, Recorder, RecorderSettings, TakeSettings, WavFormat};
use hocket_time::{Event, EventBuffer, EventKind, Note, Pushed, Source};

struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends may have dropped its counter.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator as it is; counting allocates nothing (the counter is constant).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread allocated or freed.
fn calls(of: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    of();
    CALLS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(calls(|| drop(std::hint::black_box(vec![1, 2, 3]))), 2);
}

#[test]
fn a_reader_allocates_nothing_whatever_it_meets() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.wav", WavFormat::Pcm24, 300_000);
    let preloader = preloader(256);
    let (stream, mut reader) = preloader.open(&path, 48_000, 4).unwrap();
    let (mut left, mut right) = ([0.0; 64], [0.0; 64]);
    let (mut position, mut ready, mut missed) = (0, 0, 0);
    for block in 0..20_000u64 {
        if block % 500 == 0 {
            stream.preload(block * 10, Duration::from_secs(600)).unwrap();
        }
        let made = calls(|| match block % 100 {
            99 => reader.locate(block * 10),
            50 => reader.set_loop(Some(position..position + 640)),
            70 => reader.set_loop(None),
            _ => reader.service(),
        });
        position = if block % 100 == 99 { block * 10 } else { position };
        let read = calls(|| {
            let frames = reader.read(position, &mut [&mut left, &mut right]);
            (ready, missed) = (ready + frames, missed + 64 - frames);
        });
        position += 64;
        assert_eq!((made, read), (0, 0), "block {block}");
        if block % 3 == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    assert!(ready > 0 && missed > 0, "{ready} ready, {missed} missed: it met both");
    wait_for("the report knows", || stream.report().not_ready_frames > 0);
}

#[test]
fn a_take_allocates_nothing_with_room_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let recorder =
        Recorder::start(RecorderSettings { chunk_frames: 64, ..RecorderSettings::default() });
    let new = TakeSettings::new(&folder.path().join("a.wav"), 48_000, 2);
    let (mut input, take) = recorder.begin(&TakeSettings { ring_frames: 640, ..new }).unwrap();
    let row = [0.5; 100];
    for block in 0..5000 {
        let made = calls(|| {
            input.write(&[&row, &row]);
            if block % 100 == 0 {
                input.skip(10);
            }
        });
        assert_eq!(made, 0, "block {block}");
        if block % 200 == 0 {
            std::thread::sleep(Duration::from_millis(12));
        }
    }
    assert!(input.lost_frames() > 0 && input.lost_frames() < input.frames());
    drop(input);
    assert!(take.finish(Duration::from_secs(600)).is_ok());
}

#[test]
fn a_take_of_events_allocates_nothing_with_room_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(RecorderSettings::default());
    let new = EventTakeSettings::new(&folder.path().join("a.mid"), "keys", 48_000);
    let (mut input, take) = recorder.begin_events(&EventTakeSettings { room: 64, ..new }).unwrap();
    let mut events = EventBuffer::new(64, 256);
    for frame in 0..20 {
        let note = EventKind::Note(Note::on(-1, 0, 60, 0.5));
        assert_eq!(events.push(Event::new(frame, Source::LIVE, note)), Pushed::Stored);
    }
    assert_eq!(events.push_sysex(30, Source::LIVE, &[0xf0, 1, 2, 0xf7]), Pushed::Stored);
    let mut stored = 0;
    for block in 0..2000 {
        let made = calls(|| stored += input.write(&events, 0..64, 64 * block));
        assert_eq!(made, 0, "block {block}");
        if block % 3 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // A ring of so few finds no room for four blocks.
    assert!(stored > 0 && input.lost_events() > 0, "{stored} stored, {} lost", input.lost_events());
    drop(input);
    assert!(take.finish(Duration::from_secs(600)).is_ok());
}
