//! Clips that play from the disk, in the engine: the bits of clips in memory where the disk keeps up, silence that is
//! counted and named where it does not, and never a block that waits.

#[path = "../../hocket-disk/tests/common/mod.rs"]
mod common;
mod streamed;

use std::sync::Arc;
use std::time::Duration;

use common::{Disk, GoesOn, OnDisk, Random, wait_for};
use hocket::load::streams::{DiskBuffer, DiskFile, DiskUse, Wait, summary};
use hocket::load::{LoadedSession, OpenedSession, topology};
use hocket_disk::Settings;
use hocket_engine::session::{Clip, MediaId, Track};
use hocket_engine::time::{LoopRange, TimedCommand, TransportCommand};
use hocket_engine::{
    ClipMedia, Edit, Editor, Engine, Fusing, MediaPool, NotReady, Policy, ScheduleKind, Seat,
    Seating, Seats, Session, SiblingPolicy, Strategy, prepare_session,
};
use streamed::{FILE_FRAMES, RATE_HZ, Stage, every_kind_of_clip};

const FRAMES: usize = 64;
/// So long a test waits for a disk that works.
const PATIENCE: Duration = Duration::from_secs(600);

/// An engine on two described seats; nobody is pinned.
fn engine(session: &LoadedSession) -> Engine {
    engine_of(session, &session.media)
}

fn engine_of(session: &LoadedSession, media: &MediaPool) -> Engine {
    engine_from(&session.session, media)
}

fn engine_from(session: &Session, media: &MediaPool) -> Engine {
    let prepared = prepare_session(session, media, RATE_HZ, Fusing::Chains).unwrap();
    let (settings, seating) = two_seats();
    Engine::start(prepared, settings, seating).unwrap()
}

fn two_seats() -> (hocket_engine::Settings, Seating) {
    let policy = Policy {
        schedule: ScheduleKind::Dataflow,
        sibling: SiblingPolicy::All,
        wait: Strategy::Futex,
    };
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, policy.sibling, Some(2)).unwrap();
    let settings = hocket_engine::Settings {
        priority: None,
        ..hocket_engine::Settings::new(FRAMES as u32, RATE_HZ, policy)
    };
    (settings, seating)
}

/// The bits of so many blocks, left and right in turn.
fn play(engine: &mut Engine, blocks: usize) -> Vec<u32> {
    let mut bits = Vec::with_capacity(blocks * FRAMES * 2);
    for _ in 0..blocks {
        engine.process(FRAMES);
        let rows = engine.output(FRAMES);
        bits.extend(rows.left.iter().zip(rows.right).flat_map(|(l, r)| [l.to_bits(), r.to_bits()]));
    }
    bits
}

fn command(engine: &mut Engine, command: TransportCommand) {
    engine.command(TimedCommand { at_steady: 0, command }).unwrap();
}

fn silent_frames(media: &MediaPool) -> u64 {
    media.not_ready().iter().map(|clip| clip.frames).sum()
}

/// One clip of `b.wav` as it is.
const ONE_CLIP: &str = "[session]\nsample_rate_hz = 48000\n\n[[track]]\nname = \"one\"\n\
                        clip = [{ file = \"b.wav\" }]\n";

/// The session's only file on a disk that the test breaks; and its pool.
fn breakable(stage: &Stage, wait: Wait, patience: Duration) -> (Arc<Disk>, MediaPool) {
    let settings = Settings { threads: 2, patience, ..Settings::new(1 << 20) };
    let buffer = DiskBuffer::start(settings, &[2], wait, RATE_HZ).unwrap();
    let disk = Disk::new(&stage.folder.path().join("b.wav"), 1);
    let file = DiskFile::new(&buffer, Arc::new(OnDisk(Arc::clone(&disk))), FILE_FRAMES as u64);
    (disk, MediaPool::of(vec![ClipMedia::Stream(Arc::new(file))]))
}

#[test]
fn live_playing_gives_the_bits_of_memory_where_the_disk_keeps_up() {
    let stage = Stage::new(&every_kind_of_clip());
    let memory = stage.in_memory();
    let streamed = stage.streamed(Wait::Never);
    let mut expected = engine(&memory);
    let mut engine = engine(&streamed);
    for round in 0..12 {
        // Everything that the next blocks play is in memory then.
        streamed.media.fill(PATIENCE).unwrap();
        assert!(play(&mut engine, 60) == play(&mut expected, 60), "round {round}");
    }
    assert_eq!(silent_frames(&streamed.media), 0);
    engine.reset();
    expected.reset();
    streamed.media.fill(PATIENCE).unwrap();
    assert!(play(&mut engine, 60) == play(&mut expected, 60), "after a reset");
    assert_eq!(silent_frames(&streamed.media), 0);
}

#[test]
fn a_place_that_was_prerolled_plays_at_once_after_a_jump() {
    let stage = Stage::new(&every_kind_of_clip());
    let memory = stage.in_memory();
    let streamed = stage.streamed(Wait::Never);
    let mut expected = engine(&memory);
    let mut engine = engine(&streamed);
    streamed.media.fill(PATIENCE).unwrap();
    // Forwards, backwards, and into the song's beginning.
    for song in [200_000, 90_001, 333_333, 17] {
        streamed.media.preroll(song, PATIENCE).unwrap();
        command(&mut engine, TransportCommand::Locate(song));
        command(&mut expected, TransportCommand::Locate(song));
        assert!(play(&mut engine, 40) == play(&mut expected, 40), "from {song}");
    }
    assert_eq!(silent_frames(&streamed.media), 0);
}

/// A stream keeps two places for jumps. So whoever jumps inside a loop reads its start ahead anew.
#[test]
fn after_jumps_inside_a_loop_its_start_can_be_prerolled_again() {
    let stage = Stage::new(&every_kind_of_clip());
    let memory = stage.in_memory();
    let streamed = stage.streamed(Wait::Never);
    let mut expected = engine(&memory);
    let mut engine = engine(&streamed);
    streamed.media.fill(PATIENCE).unwrap();
    let lap = TransportCommand::Loop(LoopRange::from_frames(90_000, 333_000).unwrap());
    streamed.media.preroll(90_000, PATIENCE).unwrap();
    command(&mut engine, lap);
    command(&mut expected, lap);
    for song in [200_000, 120_001, 280_333, 331_500] {
        streamed.media.preroll(song, PATIENCE).unwrap();
        command(&mut engine, TransportCommand::Locate(song));
        command(&mut expected, TransportCommand::Locate(song));
        streamed.media.preroll(90_000, PATIENCE).unwrap();
        // The last place is so late that the loop turns.
        assert!(play(&mut engine, 40) == play(&mut expected, 40), "from {song}");
    }
    assert_eq!(silent_frames(&streamed.media), 0);
}

#[test]
fn a_loop_whose_start_was_prerolled_never_misses_a_frame() {
    let stage = Stage::new(&every_kind_of_clip());
    let memory = stage.in_memory();
    let streamed = stage.streamed(Wait::Never);
    let mut expected = engine(&memory);
    let mut engine = engine(&streamed);
    streamed.media.fill(PATIENCE).unwrap();
    let lap = TransportCommand::Loop(LoopRange::from_frames(100, 3_100).unwrap());
    streamed.media.preroll(100, PATIENCE).unwrap();
    command(&mut engine, lap);
    command(&mut expected, lap);
    for round in 0..8 {
        assert!(play(&mut engine, 60) == play(&mut expected, 60), "round {round}");
    }
    assert_eq!(silent_frames(&streamed.media), 0);
}

#[test]
fn while_the_song_stands_still_a_place_can_be_prerolled_and_nothing_is_lost() {
    let stage = Stage::new(&every_kind_of_clip());
    let memory = stage.in_memory();
    let streamed = stage.streamed(Wait::Never);
    let mut expected = engine(&memory);
    let mut engine = engine(&streamed);
    command(&mut engine, TransportCommand::Stop);
    command(&mut expected, TransportCommand::Stop);
    assert!(play(&mut engine, 3).iter().all(|bits| f32::from_bits(*bits) == 0.0));
    play(&mut expected, 3);
    for song in [50_000, 100_000, 150_000, 200_000] {
        streamed.media.preroll(song, PATIENCE).unwrap();
        for engine in [&mut engine, &mut expected] {
            command(engine, TransportCommand::Locate(song));
            play(engine, 2);
        }
    }
    streamed.media.fill(PATIENCE).unwrap();
    command(&mut engine, TransportCommand::Play);
    command(&mut expected, TransportCommand::Play);
    assert!(play(&mut engine, 100) == play(&mut expected, 100));
    assert_eq!(silent_frames(&streamed.media), 0);
}

/// The disk stalls until this thread lets it go on: a block that waited for it would never end.
#[test]
fn a_disk_that_stalls_is_silence_that_is_named_and_no_block_waits() {
    let stage = Stage::new(ONE_CLIP);
    let session = stage.in_memory();
    let mut expected = engine(&session);
    let (disk, media) = breakable(&stage, Wait::Never, Duration::ZERO);
    let mut engine = engine_of(&session, &media);
    media.fill(PATIENCE).unwrap();
    let _goes_on = GoesOn(Arc::clone(&disk));
    disk.change(|state| state.stalls = true);
    let blocks = FILE_FRAMES / FRAMES / 2;
    let (got, wanted) = (play(&mut engine, blocks), play(&mut expected, blocks));
    let silent = got.iter().position(|bits| *bits == 0).expect("the disk stalls");
    assert!(got[..silent] == wanted[..silent] && silent > 0, "what was read ahead is played");
    assert!(got[silent..].iter().all(|bits| *bits == 0));

    // Notices that found no room are lost; the next one has the totals.
    first(&media);
    play(&mut engine, 1);
    let told = first(&media);
    assert_eq!(told.frames, ((got.len() - silent) / 2 + FRAMES) as u64);
    assert!(told.file.ends_with("b.wav"), "{told:?}");
    assert_eq!(told.gaps[0].position, (silent / 2) as u64);
    assert!(told.gaps[0].cause.contains("too slow"), "{told:?}");

    play(&mut expected, 1);
    disk.change(|state| state.stalls = false);
    // When the disk is back, the clip goes on where the song is by then.
    let mut goes_on = false;
    wait_for("the clip goes on", || {
        std::thread::sleep(Duration::from_millis(5));
        let (got, wanted) = (play(&mut engine, 1), play(&mut expected, 1));
        goes_on = got == wanted;
        goes_on || engine.transport().position() > FILE_FRAMES as i64 - 10_000
    });
    assert!(goes_on, "{:?}", first(&media));
}

#[test]
fn plans_are_exchanged_while_the_disk_stalls_and_a_clip_comes_back() {
    let stage = Stage::new(ONE_CLIP);
    let mut session = stage.in_memory().session;
    let track = session.tracks[0].clone();
    session.tracks.push(Track { clips: Vec::new(), ..track.clone() });
    let (disk, media) = breakable(&stage, Wait::Never, Duration::ZERO);
    let (settings, seating) = two_seats();
    let (mut engine, mut editor) =
        Editor::start(session, media.clone(), settings, seating).unwrap();
    media.fill(PATIENCE).unwrap();
    let _goes_on = GoesOn(Arc::clone(&disk));
    disk.change(|state| state.stalls = true);
    command(&mut engine, TransportCommand::Locate(200_000));
    play(&mut engine, 1);
    wait_for("a thread waits for the disk", || disk.see(|state| state.waiting) > 0);
    editor.apply(Edit::RemoveTrack(0)).unwrap();
    wait_for("the clip is gone", || {
        play(&mut engine, 1);
        editor.take_applied();
        media.not_ready().is_empty()
    });
    std::thread::scope(|scope| {
        let added = scope.spawn(|| editor.apply(Edit::AddTrack(Box::new(track))));
        // The disk holds up who opens the file, and no block.
        wait_for("the file is opened", || disk.see(|state| state.waiting) > 1);
        play(&mut engine, 100);
        assert!(!added.is_finished());
        disk.change(|state| state.stalls = false);
        added.join().unwrap().unwrap();
    });
    wait_for("the clip plays", || play(&mut engine, 1).iter().any(|bits| *bits != 0));
}

fn first(media: &MediaPool) -> NotReady {
    media.not_ready().remove(0)
}

/// What a test does to a disk.
type Break = fn(&Disk);

#[test]
fn a_file_that_is_cut_short_or_fails_while_it_plays_is_named_with_the_reason() {
    let stage = Stage::new(ONE_CLIP);
    let session = stage.in_memory();
    let breaks: [(&str, Break); 2] = [
        ("cut short", |disk| disk.change(|state| state.len /= 2)),
        ("entity not found", |disk| {
            disk.change(|state| state.fails = Some(std::io::ErrorKind::NotFound));
        }),
    ];
    for (cause, break_it) in breaks {
        let (disk, media) = breakable(&stage, Wait::Never, Duration::ZERO);
        let mut engine = engine_of(&session, &media);
        media.fill(PATIENCE).unwrap();
        break_it(&disk);
        let mut silent = 0;
        wait_for("the report names the cause", || {
            silent += play(&mut engine, 200).iter().filter(|bits| **bits == 0).count() / 2;
            let told = first(&media);
            told.gaps.iter().any(|gap| gap.cause.contains(cause))
                || engine.transport().position() > FILE_FRAMES as i64
        });
        let told = first(&media);
        assert!(told.gaps.iter().any(|gap| gap.cause.contains(cause)), "{cause}: {told:?}");
        assert!(told.frames > 0 && silent > 0, "{cause}: {told:?}");
        assert_eq!(engine.contained(), []);
    }
}

#[test]
fn a_render_goes_on_with_silence_when_a_disk_fails_for_good() {
    let stage = Stage::new(ONE_CLIP);
    let session = stage.in_memory();
    let (disk, media) = breakable(&stage, Wait::ForTheDisk, Duration::ZERO);
    let mut expected = engine(&session);
    let mut engine = engine_of(&session, &media);
    let half = FILE_FRAMES / 2;
    disk.change(|state| state.len /= 2);
    let blocks = FILE_FRAMES / FRAMES;
    let (got, wanted) = (play(&mut engine, blocks), play(&mut expected, blocks));
    let silent = got.iter().position(|bits| *bits == 0).unwrap();
    // The header takes some bytes of the first half.
    assert!((half - 100..=half).contains(&(silent / 2)), "{silent}");
    assert!(got[..silent] == wanted[..silent]);
    let lost = (blocks * FRAMES - silent / 2) as u64;
    first(&media);
    play(&mut engine, 1);
    assert!((lost..=lost + FRAMES as u64).contains(&first(&media).frames), "{:?}", first(&media));
}

#[test]
fn a_file_that_is_deleted_while_it_plays_plays_on() {
    let stage = Stage::new(ONE_CLIP);
    let mut expected = engine(&stage.in_memory());
    let streamed = stage.streamed(Wait::ForTheDisk);
    let mut engine = engine(&streamed);
    assert!(play(&mut engine, 10) == play(&mut expected, 10));
    std::fs::remove_file(stage.folder.path().join("b.wav")).unwrap();
    let rest = FILE_FRAMES / FRAMES;
    assert!(play(&mut engine, rest) == play(&mut expected, rest));
    assert_eq!(silent_frames(&streamed.media), 0);
}

#[test]
fn two_hundred_tracks_stay_within_the_disk_buffer() {
    let tracks: String = (0..200)
        .map(|track| {
            let offset_s = track as f64 / 100.0;
            format!(
                "\n[[track]]\nname = \"track {track}\"\n\
                 clip = [{{ file = \"{track}.wav\", offset_s = {offset_s} }}]\n"
            )
        })
        .collect();
    let stage = Stage::new(&format!("[session]\nsample_rate_hz = 48000\n{tracks}"));
    let at = |name: String| stage.folder.path().join(name);
    for track in 0..200 {
        std::os::unix::fs::symlink(at("b.wav".into()), at(format!("{track}.wav"))).unwrap();
    }
    let bytes = 64 << 20;
    let disk = DiskUse { buffer_bytes: bytes, wait: Wait::Never, engines: 1, strict: false };
    let streamed = stage.load(&disk);
    let buffer = Arc::clone(streamed.disk.as_ref().unwrap());
    assert_eq!(buffer.used_bytes(), 0, "nothing is open yet");
    let mut engine = engine(&streamed);
    let used = buffer.used_bytes();
    assert!(used > bytes / 2 && used <= bytes, "{used} of {bytes}");
    streamed.media.fill(PATIENCE).unwrap();
    assert!(play(&mut engine, 20).iter().any(|bits| *bits != 0));
    assert_eq!((buffer.used_bytes(), silent_frames(&streamed.media)), (used, 0));
    println!("200 streams: {}, {used} bytes used; {}", summary(&buffer), resident());
    drop(engine);
    assert_eq!(buffer.used_bytes(), 0, "an engine that ends gives everything back");

    let two = DiskUse { engines: 2, ..disk };
    let streamed = stage.load(&two);
    let both = (self::engine(&streamed), self::engine(&streamed));
    assert!(streamed.disk.as_ref().unwrap().used_bytes() <= bytes, "two engines share it");
    drop(both);
}

/// For the log: it counts the test's own files in memory, too.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("VmRSS unknown").into()
}

#[test]
fn a_file_with_many_clips_is_decoded_once_instead_of_read_by_each() {
    let clips = |count: usize| {
        let clips = vec!["{ file = \"b.wav\", length_s = 0.01 }"; count].join(", ");
        let text = format!(
            "[session]\nsample_rate_hz = 48000\n\n[[track]]\nname = \"one\"\nclip = [{clips}]\n"
        );
        let disk = DiskUse { buffer_bytes: 64 << 20, wait: Wait::Never, engines: 1, strict: false };
        Stage::new(&text).load(&disk).disk.is_some()
    };
    assert!(clips(1) && clips(4));
    assert!(!clips(50));
}

#[test]
fn long_files_stream_as_they_are_or_from_temporary_files_unless_the_disk_has_no_part_in_it() {
    let text = "[session]\nsample_rate_hz = 48000\n\n[[track]]\nname = \"one\"\n\
                clip = [{ file = \"b.wav\" }, { file = \"d.flac\" }]\n";
    let stage = Stage::new(text);
    let streams = |rate_hz, disk: DiskUse| {
        let loaded =
            hocket::load::load_session_streaming(&stage.file, Some(rate_hz), 4, &disk).unwrap();
        let ids = (0..loaded.session.media.len()).map(hocket_engine::session::MediaId);
        let streams = ids.filter(|id| loaded.media.get(*id).is_none()).count();
        // Where nothing streams, a file that is not there as a whole is there in parts.
        if loaded.disk.is_some() { streams } else { 0 }
    };
    let disk =
        DiskUse { buffer_bytes: 16 << 20, wait: Wait::ForTheDisk, engines: 1, strict: false };
    assert_eq!(streams(48_000, disk), 2);
    assert_eq!(streams(48_000, DiskUse { strict: true, ..disk }), 2, "FLAC states its length");
    assert_eq!(streams(44_100, disk), 2, "another rate");
    assert_eq!(streams(48_000, DiskUse::IN_MEMORY), 0);
}

/// Between the look at the headers and the decoding. All of them are named, in the session's order, on however many threads.
#[test]
fn files_that_vanish_while_a_session_is_loaded_are_all_named() {
    let clips = ["a.wav", "b.wav", "c.wav", "d.flac", "mono.wav"]
        .map(|name| format!("{{ file = \"{name}\" }}"))
        .join(", ");
    let text = format!(
        "[session]\nsample_rate_hz = 48000\n\n[[track]]\nname = \"one\"\nclip = [{clips}]\n"
    );
    let topology = topology().unwrap();
    for (rate_hz, buffer_bytes) in [(48_000, 64 << 20), (44_100, 64 << 20), (44_100, 0)] {
        let stage = Stage::new(&text);
        let opened = OpenedSession::open(&stage.file, Some(rate_hz), &topology).unwrap();
        std::fs::remove_file(stage.folder.path().join("a.wav")).unwrap();
        std::fs::write(stage.folder.path().join("c.wav"), []).unwrap();
        std::fs::write(stage.folder.path().join("d.flac"), "no sound at all").unwrap();
        let disk = DiskUse { buffer_bytes, wait: Wait::ForTheDisk, engines: 1, strict: false };
        let failure = opened.load_for(&disk).err().unwrap();
        let told = failure.message;
        let place = |words: [&str; 2]| {
            let lines = told.match_indices(words[0]).map(|(place, _)| place);
            let own = |place: &usize| told[*place..].split('\n').next().unwrap().contains(words[1]);
            let mut lines = lines.filter(own);
            lines.next().unwrap_or_else(|| panic!("{words:?} in {told}"))
        };
        let causes = [
            ["a.wav': ", "cannot read the file"],
            ["c.wav': ", "the file is empty"],
            ["d.flac': ", "not an audio file"],
        ];
        assert!(causes.map(place).is_sorted(), "{told}");
        assert!(!told.contains("b.wav': ") && !told.contains("mono.wav': "), "{told}");
    }
}

/// Any clip of the session's five files.
fn any_clip(random: &mut Random, like: &Clip) -> Clip {
    let seconds = |frames: u64| frames as f64 / f64::from(RATE_HZ);
    let all = FILE_FRAMES as u64;
    let offset = match random.below(3) {
        0 => 0,
        1 => random.below(all),
        // Short loops, and clips that end soon or never begin.
        _ => all + 20 - random.below(2_000),
    };
    let mut clip = like.clone();
    clip.media = MediaId(random.below(5) as usize);
    clip.start_s = seconds(random.below(3_000));
    clip.offset_s = seconds(offset);
    clip.length_s = (random.below(2) == 0).then(|| seconds(1 + random.below(20_000)));
    clip.looped = random.below(2) == 0;
    clip.gain_db = random.below(24) as f32 - 20.0;
    clip.fade_in_s = seconds(random.below(500));
    clip.fade_out_s = seconds(random.below(500));
    clip
}

fn any_command(random: &mut Random) -> TransportCommand {
    let far = FILE_FRAMES as u64 + 1_000;
    match random.below(6) {
        0 => TransportCommand::Stop,
        1 => TransportCommand::LoopOff,
        2 | 3 => TransportCommand::Locate(random.below(far) as i64 - 300),
        4 => {
            let start = random.below(5_000) as i64;
            let end = start + 256 + random.below(3_000) as i64;
            TransportCommand::Loop(LoopRange::from_frames(start, end).unwrap())
        }
        _ => TransportCommand::Play,
    }
}

#[test]
fn any_clips_under_any_commands_have_the_bits_of_memory() {
    let stage = Stage::new(&every_kind_of_clip());
    let memory = stage.in_memory();
    // Room for any number of clips.
    let disk =
        DiskUse { buffer_bytes: 256 << 20, wait: Wait::ForTheDisk, engines: 3, strict: false };
    let streamed = stage.load(&disk);
    let like = memory.session.tracks[0].clips[0].clone();
    let mut random = Random(11);
    for round in 0..25 {
        let mut session = memory.session.clone();
        for track in &mut session.tracks {
            let clips = random.below(4);
            track.clips = (0..clips).map(|_| any_clip(&mut random, &like)).collect();
        }
        let mut expected = engine_from(&session, &memory.media);
        let mut engine = engine_from(&session, &streamed.media);
        for step in 0..12 {
            let asked = any_command(&mut random);
            command(&mut engine, asked);
            command(&mut expected, asked);
            let frames = 1 + random.below(FRAMES as u64) as usize;
            for block in 0..1 + random.below(20) {
                engine.process(frames);
                expected.process(frames);
                let (got, wanted) = (engine.output(frames), expected.output(frames));
                let same = |a: &[f32], b: &[f32]| {
                    a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
                };
                let is_same = same(got.left, wanted.left) && same(got.right, wanted.right);
                assert!(is_same, "round {round}, step {step}, {asked:?}, block {block}");
            }
        }
        assert_eq!(silent_frames(&streamed.media), 0, "round {round}");
    }
}
