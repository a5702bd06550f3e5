//! Clips that play from the disk keep the promises of a block: no allocation, no lock, no system call but the counted
//! ones, no fill or copy by the C library. A test binary of its own, because its allocator belongs to the whole process.
//!
//! Built with the feature `sentry`, it sees every call of a block (see `hocket_engine::sentry`).

#[allow(dead_code, unused_imports)]
#[path = "../../../hocket-engine/tests/realtime/watching.rs"]
mod watching;
#[path = "../../../hocket-disk/tests/common/mod.rs"]
mod common;
mod sentry;
#[path = "../streamed/mod.rs"]
mod streamed;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{Disk, GoesOn, OnDisk};
use hocket::load::streams::{DiskBuffer, DiskFile, Wait};
use hocket_disk::{Recorder, RecorderSettings, TakeSettings};
use hocket_engine::time::{LoopRange, TimedCommand, TransportCommand};
use hocket_engine::{
    ClipMedia, Engine, Fusing, MediaPool, Policy, ScheduleKind, Seat, Seating, Seats, Session,
    SiblingPolicy, Strategy, prepare_session,
};
use streamed::{FILE_FRAMES, RATE_HZ, Stage};

const FRAMES: usize = 64;
const PATIENCE: Duration = Duration::from_secs(120);

/// Counts belong to the process.
fn alone() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn engine(session: &Session, media: &MediaPool, schedule: ScheduleKind) -> Engine {
    let policy = Policy { schedule, sibling: SiblingPolicy::All, wait: Strategy::Futex };
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, policy.sibling, Some(2)).unwrap();
    let settings = hocket_engine::Settings {
        priority: None,
        ..hocket_engine::Settings::new(FRAMES as u32, RATE_HZ, policy)
    };
    let prepared = prepare_session(session, media, RATE_HZ, Fusing::Chains).unwrap();
    Engine::start(prepared, settings, seating).unwrap()
}

fn command(engine: &mut Engine, command: TransportCommand) {
    engine.command(TimedCommand { at_steady: 0, command }).unwrap();
}

#[test]
fn streamed_clips_leave_no_trace_of_the_system_whatever_they_meet() {
    let _alone = alone();
    watching::announce("streamed_clips_leave_no_trace_of_the_system_whatever_they_meet");
    let stage = Stage::new(&streamed::every_kind_of_clip());
    for schedule in ScheduleKind::ALL {
        let streamed = stage.streamed(Wait::Never);
        let mut engine = engine(&streamed.session, &streamed.media, schedule);
        let lap = LoopRange::from_frames(300, 2_000).unwrap();
        streamed.media.fill(PATIENCE).unwrap();
        watching::forget();
        let mut peak = 0.0f32;
        for block in 0..400usize {
            // Jumps that nobody has announced, loops, a stop: some of it is not ready.
            match block {
                50 => command(&mut engine, TransportCommand::Loop(lap)),
                100 => command(&mut engine, TransportCommand::Locate(1_000)),
                200 => command(&mut engine, TransportCommand::LoopOff),
                201 => command(&mut engine, TransportCommand::Locate(300_000)),
                250 => command(&mut engine, TransportCommand::Stop),
                260 => command(&mut engine, TransportCommand::Play),
                _ => {}
            }
            engine.process(FRAMES);
            let rows = engine.output(FRAMES);
            peak = rows.left.iter().fold(peak, |peak, sample| peak.max(sample.abs()));
        }
        assert!(peak > 1.0e-3, "{schedule:?}: nothing was played");
        watching::check(&engine, 400, &format!("{schedule:?}"));
    }
}

#[test]
fn a_disk_that_stalls_leaves_no_trace_in_a_block() {
    let _alone = alone();
    watching::announce("a_disk_that_stalls_leaves_no_trace_in_a_block");
    let stage = Stage::new(
        "[session]\nsample_rate_hz = 48000\n\n[[track]]\nname = \"one\"\nclip = [{ file = \"b.wav\" }]\n",
    );
    let session = stage.in_memory().session;
    let settings =
        hocket_disk::Settings { patience: Duration::ZERO, ..hocket_disk::Settings::new(1 << 20) };
    let buffer = DiskBuffer::start(settings, &[2], Wait::Never, RATE_HZ).unwrap();
    let disk = Disk::new(&stage.folder.path().join("b.wav"), 1);
    let file = DiskFile::new(&buffer, Arc::new(OnDisk(Arc::clone(&disk))), FILE_FRAMES as u64);
    let media = MediaPool::of(vec![ClipMedia::Stream(Arc::new(file))]);
    let mut engine = engine(&session, &media, ScheduleKind::Dataflow);
    media.fill(PATIENCE).unwrap();
    let _goes_on = GoesOn(Arc::clone(&disk));
    disk.change(|state| state.stalls = true);
    watching::forget();
    let blocks = 3_000;
    for _ in 0..blocks {
        engine.process(FRAMES);
    }
    watching::check(&engine, blocks, "a disk that stalls");
    let silent = media.not_ready()[0].frames;
    disk.change(|state| state.stalls = false);
    assert!(silent > 0, "the disk never stalled");
}

#[test]
fn a_take_leaves_no_trace_in_a_block() {
    let _alone = alone();
    watching::announce("a_take_leaves_no_trace_in_a_block");
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(RecorderSettings { chunk_frames: 64, ..Default::default() });
    let new = TakeSettings::new(&folder.path().join("take.wav"), RATE_HZ, 2);
    let (mut input, take) = recorder.begin(&TakeSettings { ring_frames: 640, ..new }).unwrap();
    watching::forget();
    let row = [0.5; 100];
    for _ in 0..500 {
        let _watch = watching::Watch::begin();
        // Much faster than any disk: some of it finds no room.
        input.write(&[&row, &row]);
    }
    watching::check_clean("a take");
    drop(input);
    assert_eq!(take.finish(PATIENCE).unwrap().frames, 50_000);
}
