//! Clips that play from a disk while a control thread asks for places: workers, the leader, the threads that read ahead and
//! the control thread at the same time. ThreadSanitizer watches these too (hocket-engine/check-tsan.sh).

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

use hocket_disk::{FileStorage, Settings as DiskSettings};
use hocket_engine::session::{Clip, ClipFade, Destination, Media, MediaId, Strip, Track};
use hocket_engine::time::{LoopRange, TimedCommand, TransportCommand};
use hocket_engine::{
    ClipMedia, Engine, Fusing, MediaPool, Policy, ScheduleKind, Seat, Seating, Seats, Session,
    Settings, SiblingPolicy, StereoAudio, Strategy, prepare_session,
};
use hocket_media::{AudioWriter, FileFormat, WavFormat};
use hocket_streams::{DiskBuffer, DiskFile, Wait};

const RATE_HZ: u32 = 48_000;
const FRAMES: usize = 64;
const FILE_FRAMES: usize = 400_000;
/// So long a test waits for a disk that works.
const PATIENCE: Duration = Duration::from_secs(600);

/// Two files; the first is heard on the left alone, the second on the right alone, so that each shows its own silence.
fn rows(file: usize) -> [Vec<f32>; 2] {
    let mut state = 1 + file as u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.1 + (state >> 8) as f32 / (1 << 26) as f32
    };
    let mut rows = [vec![0.0; FILE_FRAMES], vec![0.0; FILE_FRAMES]];
    rows[file].iter_mut().for_each(|sample| *sample = next());
    rows
}

fn written(folder: &Path, file: usize) -> DiskStorage {
    let path = folder.join(format!("{file}.wav"));
    let (samples, length) = (WavFormat::Float32, FILE_FRAMES as u64);
    let mut writer = AudioWriter::create(&path, FileFormat::Wav, RATE_HZ, samples, length).unwrap();
    let [left, right] = rows(file);
    writer.write(&left, &right).unwrap();
    writer.finish().unwrap();
    Arc::new(FileStorage::new(&path).unwrap())
}

type DiskStorage = Arc<FileStorage>;

fn in_memory() -> MediaPool {
    MediaPool::new([0, 1].map(|file| Arc::new(StereoAudio::from_planar(&rows(file)))).into())
}

fn streamed(folder: &Path, wait: Wait) -> MediaPool {
    let settings = DiskSettings { threads: 2, ..DiskSettings::new(4 << 20) };
    let buffer = DiskBuffer::start(settings, &[2, 2], wait, RATE_HZ).unwrap();
    let file = |file| {
        let storage = written(folder, file);
        ClipMedia::Stream(Arc::new(DiskFile::new(&buffer, storage, FILE_FRAMES as u64)))
    };
    MediaPool::of(vec![file(0), file(1)])
}

fn session() -> Session {
    let clip = |file| Clip {
        media: MediaId(file),
        start_s: 0.0,
        offset_s: 0.0,
        length_s: None,
        looped: false,
        gain_db: 0.0,
        fade_in_s: 0.0,
        fade_out_s: 0.0,
        fade_curve: ClipFade::default(),
    };
    let track = |file| Track {
        strip: Strip::new(format!("track {file}")),
        output: Destination::Master,
        clips: vec![clip(file)],
        input: None,
        from: None,
        notes: Vec::new(),
    };
    let media = |file| Media { path: format!("{file}.wav").into(), resample: false };
    Session {
        sample_rate_hz: RATE_HZ,
        media: vec![media(0), media(1)],
        tracks: vec![track(0), track(1)],
        ..Session::default()
    }
}

/// Two workers on described seats; nobody is pinned.
fn engine(media: &MediaPool) -> Engine {
    let policy = Policy {
        schedule: ScheduleKind::Dataflow,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Futex,
    };
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, policy.sibling, Some(2)).unwrap();
    let settings = Settings { priority: None, ..Settings::new(FRAMES as u32, RATE_HZ, policy) };
    let prepared = prepare_session(&session(), media, RATE_HZ, Fusing::Chains).unwrap();
    Engine::start(prepared, settings, seating).unwrap()
}

/// An engine that streams, the same in memory, and what was silent in the first.
struct Pair {
    streamed: Engine,
    memory: Engine,
    silent: [u64; 2],
}

impl Pair {
    fn command(&mut self, command: TransportCommand) {
        let command = TimedCommand { at_steady: 0, command };
        self.streamed.command(command).unwrap();
        self.memory.command(command).unwrap();
    }

    /// Each sample is right, or silent where it should not be, which is counted.
    fn play(&mut self, blocks: usize) {
        for _ in 0..blocks {
            self.streamed.process(FRAMES);
            self.memory.process(FRAMES);
            let (is, should) = (self.streamed.output(FRAMES), self.memory.output(FRAMES));
            for (row, (is, should)) in
                [(is.left, should.left), (is.right, should.right)].into_iter().enumerate()
            {
                for (frame, (is, should)) in is.iter().zip(should).enumerate() {
                    assert!(
                        is == should || *is == 0.0,
                        "row {row}, frame {frame}: {is} for {should}"
                    );
                    self.silent[row] += u64::from(is != should);
                }
            }
        }
    }
}

/// Brings places into memory, as a host's control thread does.
fn bring(media: &MediaPool, places: &Receiver<i64>, done: &Sender<()>) {
    for place in places {
        media.preroll(place, PATIENCE).unwrap();
        media.not_ready();
        done.send(()).unwrap();
    }
}

#[test]
fn jumps_and_loops_play_what_memory_plays_and_silence_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let media = streamed(folder.path(), Wait::Never);
    let (streamed, memory) = (engine(&media), engine(&in_memory()));
    media.fill(PATIENCE).unwrap();
    let mut pair = Pair { streamed, memory, silent: [0; 2] };
    let (places, asked) = channel();
    let (said, done) = channel();
    std::thread::scope(|scope| {
        let pool = &media;
        let control = scope.spawn(move || bring(pool, &asked, &said));
        for place in [200_000, 90_001, 333_333, 17, 150_000] {
            places.send(place).unwrap();
            while done.try_recv() == Err(TryRecvError::Empty) {
                pair.play(1);
                // Not faster than a disk could be.
                std::thread::sleep(Duration::from_millis(1));
            }
            let before = pair.silent;
            pair.command(TransportCommand::Locate(place));
            pair.play(20);
            assert_eq!(pair.silent, before, "what was prerolled is there");
            pair.command(TransportCommand::Loop(
                LoopRange::from_frames(place, place + 4_000).unwrap(),
            ));
            pair.play(100);
            pair.command(TransportCommand::LoopOff);
        }
        drop(places);
        control.join().unwrap();
    });
    // A notice tells of the last silence when it is over.
    media.fill(PATIENCE).unwrap();
    pair.play(1);
    let counted: Vec<u64> = media.not_ready().iter().map(|clip| clip.frames).collect();
    assert_eq!(counted, pair.silent);
}

#[test]
fn a_render_waits_for_the_disk_and_plays_what_memory_plays() {
    let folder = tempfile::tempdir().unwrap();
    let media = streamed(folder.path(), Wait::ForTheDisk);
    let mut pair = Pair { streamed: engine(&media), memory: engine(&in_memory()), silent: [0; 2] };
    pair.play(500);
    pair.command(TransportCommand::Locate(321_000));
    pair.play(FILE_FRAMES / FRAMES / 4);
    assert_eq!(pair.silent, [0; 2]);
}
