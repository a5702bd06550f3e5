//! Clips that play from the disk, takes, SoundFonts and impulse responses keep the promises of a block: no allocation, no lock, no system call but the
//! counted ones, no fill or copy by the C library. A test binary of its own, because its allocator belongs to the whole process.
//!
//! Built with the feature `sentry`, it sees every call of a block (see `hocket_engine::sentry`).

#[allow(dead_code, unused_imports)]
#[path = "../../../hocket-engine/tests/realtime/watching.rs"]
mod watching;
#[path = "../../../hocket-disk/tests/common/mod.rs"]
mod common;
mod page;
mod sentry;
#[path = "../streamed/mod.rs"]
mod streamed;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{Disk, GoesOn, OnDisk};
use hocket::load::load_session_for_seats;
use hocket::load::streams::{DiskBuffer, DiskFile, Wait};
use hocket_disk::{Recorder, RecorderSettings, TakeInput, TakeSettings};
use hocket_engine::time::{LoopRange, TimedCommand, TransportCommand};
use hocket_engine::{
    Block, ClipMedia, Edge, Engine, Fusing, Graph, MediaPool, Node, NodeKind, Policy, Prepared,
    Processor, ScheduleKind, Seat, Seating, Seats, Session, SiblingPolicy, Strategy,
    prepare_session,
};
use streamed::{FILE_FRAMES, RATE_HZ, Stage};

const FRAMES: usize = 64;
const PATIENCE: Duration = Duration::from_secs(600);

/// Counts belong to the process.
fn alone() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn engine(session: &Session, media: &MediaPool, schedule: ScheduleKind) -> Engine {
    start(prepare_session(session, media, RATE_HZ, Fusing::Chains).unwrap(), schedule)
}

fn start(prepared: Prepared, schedule: ScheduleKind) -> Engine {
    let policy = Policy { schedule, sibling: SiblingPolicy::All, wait: Strategy::Futex };
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, policy.sibling, Some(2)).unwrap();
    let settings = hocket_engine::Settings {
        priority: None,
        ..hocket_engine::Settings::new(FRAMES as u32, RATE_HZ, policy)
    };
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
fn a_soundfont_leaves_no_trace_of_the_system() {
    let _alone = alone();
    watching::announce("a_soundfont_leaves_no_trace_of_the_system");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessions/soundfont.toml");
    let loaded = load_session_for_seats(Path::new(path), Some(RATE_HZ), 2).unwrap();
    for schedule in ScheduleKind::ALL {
        let mut engine = engine(&loaded.session, &loaded.media, schedule);
        watching::forget();
        let mut peak = 0.0f32;
        for block in 0..2_000usize {
            // Jumps end notes and start others, and bring programs back.
            match block {
                700 => command(&mut engine, TransportCommand::Locate(300_000)),
                1_400 => command(&mut engine, TransportCommand::Stop),
                1_500 => command(&mut engine, TransportCommand::Play),
                _ => {}
            }
            engine.process(FRAMES);
            let rows = engine.output(FRAMES);
            peak = rows.left.iter().fold(peak, |peak, sample| peak.max(sample.abs()));
        }
        assert!(peak > 1.0e-2, "{schedule:?}: nothing was played");
        watching::check(&engine, 2_000, &format!("a SoundFont, {schedule:?}"));
    }
}

/// Short parts and long ones of an impulse response, and a tremolo.
#[test]
fn an_impulse_response_leaves_no_trace_of_the_system() {
    let _alone = alone();
    watching::announce("an_impulse_response_leaves_no_trace_of_the_system");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessions/room.toml");
    let loaded = load_session_for_seats(Path::new(path), Some(RATE_HZ), 2).unwrap();
    for schedule in ScheduleKind::ALL {
        let mut engine = engine(&loaded.session, &loaded.media, schedule);
        watching::forget();
        let mut peak = 0.0f32;
        for _ in 0..1_000 {
            engine.process(FRAMES);
            let rows = engine.output(FRAMES);
            peak = rows.left.iter().fold(peak, |peak, sample| peak.max(sample.abs()));
        }
        assert!(peak > 1.0e-2, "{schedule:?}: nothing was played");
        watching::check(&engine, 1_000, &format!("an impulse response, {schedule:?}"));
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

/// Bits of two rows.
fn bits<'a>(rows: impl IntoIterator<Item = &'a [f32]>) -> Vec<Vec<u32>> {
    rows.into_iter().map(|row| row.iter().map(|sample| sample.to_bits()).collect()).collect()
}

#[test]
fn a_take_of_what_an_engine_plays_leaves_no_trace_in_a_block_and_has_all_of_it() {
    const BLOCKS: usize = 400;
    let _alone = alone();
    watching::announce("a_take_of_what_an_engine_plays_leaves_no_trace_in_a_block");
    let stage = Stage::new(&streamed::every_kind_of_clip());
    let recorder = Recorder::start(RecorderSettings::default());
    for schedule in ScheduleKind::ALL {
        let streamed = stage.streamed(Wait::Never);
        let mut engine = engine(&streamed.session, &streamed.media, schedule);
        streamed.media.fill(PATIENCE).unwrap();
        let path = stage.folder.path().join(format!("{}.wav", schedule.name()));
        let new = TakeSettings::new(&path, RATE_HZ, 2);
        let settings = TakeSettings { ring_frames: BLOCKS * FRAMES, ..new };
        let (mut input, take) = recorder.begin(&settings).unwrap();
        let mut heard = [(); 2].map(|()| Vec::with_capacity(BLOCKS * FRAMES));
        watching::forget();
        for block in 0..BLOCKS {
            // Jumps that nobody has announced, as elsewhere: the take goes on with what is heard.
            if block == 150 {
                command(&mut engine, TransportCommand::Locate(300_000));
            }
            let _watch = watching::Watch::begin();
            engine.process(FRAMES);
            let rows = engine.output_rows(0, FRAMES).unwrap();
            assert_eq!(input.write(&[rows.row(0), rows.row(1)]), FRAMES);
            (0..2).for_each(|row| rows.row(row).iter().for_each(|x| heard[row].push(*x)));
        }
        watching::check_clean(&format!("a take, {schedule:?}"));
        drop(input);
        let report = take.finish(PATIENCE).unwrap();
        assert!(report.error.is_none(), "{schedule:?}: {report:?}");
        let counts = (report.frames, report.silent_frames);
        assert_eq!(counts, ((BLOCKS * FRAMES) as u64, 0), "{schedule:?}");
        let recorded = hocket_media::decode(&path).unwrap();
        let rows = recorded.channels.iter().map(Vec::as_slice);
        assert!(bits(rows) == bits(heard.each_ref().map(Vec::as_slice)), "{schedule:?}");
        assert!(heard[0].iter().any(|sample| sample.abs() > 1.0e-3), "{schedule:?}: silence");
    }
}

/// Records what it plays, so that whoever watches a block sees the take too.
struct Records {
    frame: usize,
    input: TakeInput,
}

impl Records {
    fn sample(frame: usize) -> f32 {
        (frame % 1009) as f32 / 1009.0
    }
}

impl Processor for Records {
    fn process(&mut self, block: &mut Block<'_>) {
        let rows = &mut block.main;
        // This crate is not optimised in tests: iterators would be copied through the C library here.
        for i in 0..rows.left.len() {
            rows.left[i] = Records::sample(self.frame + i);
            rows.right[i] = -rows.left[i];
        }
        self.frame += rows.left.len();
        self.input.write(&[&*rows.left, &*rows.right]);
    }

    fn reset(&mut self) {}
}

#[test]
fn a_take_that_is_written_inside_a_block_keeps_its_promises() {
    const BLOCKS: usize = 300;
    let _alone = alone();
    watching::announce("a_take_that_is_written_inside_a_block_keeps_its_promises");
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(RecorderSettings::default());
    for schedule in ScheduleKind::ALL {
        let path = folder.path().join(format!("{}.wav", schedule.name()));
        let new = TakeSettings::new(&path, RATE_HZ, 2);
        let settings = TakeSettings { ring_frames: BLOCKS * FRAMES, ..new };
        let (input, take) = recorder.begin(&settings).unwrap();
        let mut graph = Graph::default();
        let plays = graph.add(Node::new("plays", NodeKind::Custom(0))).unwrap();
        let inputs = vec![Edge::new(plays, 1.0)];
        graph.add(Node { inputs, ..Node::new("out", NodeKind::Custom(1)) }).unwrap();
        let records: Box<dyn Processor> = Box::new(Records { frame: 0, input });
        let prepared = Prepared::from_graph(&graph, vec![Some(records), None], Fusing::None);
        let mut engine = start(prepared.unwrap(), schedule);
        watching::forget();
        (0..BLOCKS).for_each(|_| _ = engine.process(FRAMES));
        watching::check(&engine, BLOCKS, &format!("a take inside, {schedule:?}"));
        drop(engine);
        let report = take.finish(PATIENCE).unwrap();
        assert_eq!((report.frames, report.silent_frames), ((BLOCKS * FRAMES) as u64, 0));
        let recorded = hocket_media::decode(&path).unwrap();
        let row: Vec<f32> = (0..BLOCKS * FRAMES).map(Records::sample).collect();
        assert!(recorded.channels[0] == row, "{schedule:?}");
    }
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
