//! Plug-ins in processes of their own. That process is this test program, started for `the_child` alone.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, WorkAnswers, WorkRefused, WorkRequests, WorkRoom,
};
use hocket_dsp::{Block, Change, EventsOut, MoreRows, Processor, RowsMut, StereoMut, TimedChange};
use hocket_plugins::isolate::{Group, Isolation, Pace, Patience, build, serve};
use hocket_plugins::{Description, Wanted, clap, lv2, vst3};
use hocket_time::{Event, EventBuffer, EventKind, Midi1, Note, Pushed, Source};

use crate::common::{Stereo, bits, bundle, noise, test_clap, test_sender, test_vst3};

const ID: &str = "test.hocket.gain";
/// The test plug-in's.
const SEGFAULT: f32 = 3.5;
const STALL: f32 = 3.25;
const NOT_FINITE: f32 = 3.125;
const SCRIBBLE: f32 = 3.75;

/// Only to end a hang.
const HANGS: Duration = Duration::from_secs(600);

/// The child.
#[test]
#[ignore = "only in the process of a plug-in"]
fn the_child() {
    let _ = serve(|_, run| run());
}

/// Messages about a plug-in.
type Told = Arc<Mutex<Vec<String>>>;

fn isolation(frames: usize, pace: Pace) -> (Isolation, Told) {
    let told = Told::default();
    let arguments = ["--exact", "isolate::the_child", "--ignored", "--nocapture"];
    let tell = Arc::clone(&told);
    let isolation = Isolation {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(Into::into).into(),
        pace,
        frames: frames as u32,
        priority: None,
        request: |_| {},
        // Only a plug-in that hangs on purpose takes so long.
        patience: Patience { start: Duration::from_secs(600), answer: Duration::from_secs(5) },
        tell: Arc::new(move |what| tell.lock().unwrap().push(what.to_owned())),
        group: Group::default(),
    };
    (isolation, told)
}

/// The tests' plug-in in a file of this name.
fn described(test: &str, name: &str) -> Option<(tempfile::TempDir, Description)> {
    let file = test_clap(test)?;
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join(name);
    std::fs::copy(file, &library).unwrap();
    let plugin = clap::describe(&library, ID).unwrap();
    Some((folder, plugin))
}

fn wanted<'a>(plugin: &'a Description, values: &'a [f32]) -> Wanted<'a> {
    Wanted { kind: &plugin.kind, values, rate_hz: 48_000, state: None }
}

fn gain(frame: u32, value: f32) -> TimedChange {
    TimedChange { frame, change: Change::Param { index: 0, value } }
}

/// Plays a processor as an engine without a deadline does: what it asks for is done before the next block.
struct Played {
    processor: Box<dyn Processor>,
    halves: Halves,
    events: EventBuffer,
    sent: EventBuffer,
    /// What it has sent since it began, at frames of all that it has played.
    heard: Vec<(u32, EventKind)>,
    played: usize,
}

#[derive(Default)]
struct Halves {
    work: Option<Box<dyn BackgroundWork>>,
    side: Option<Box<dyn MainSide>>,
    requests: Arc<AtomicUsize>,
    counts: Arc<Counts>,
    answers: usize,
}

#[derive(Default)]
struct Counts {
    failed: AtomicUsize,
    lost: AtomicUsize,
    latency: AtomicUsize,
}

impl Played {
    fn new(mut processor: Box<dyn Processor>) -> Played {
        let mut halves = Halves::default();
        processor.join(&mut halves);
        let [events, sent] = [(); 2].map(|()| EventBuffer::new(1000, 4096));
        Played { processor, halves, events, sent, heard: Vec::new(), played: 0 }
    }

    /// In blocks of these lengths in turn, with changes and events at frames of the sound.
    fn play(
        &mut self,
        sound: &Stereo,
        lengths: &[usize],
        (changes, events): (&[TimedChange], &[(u32, EventKind)]),
    ) -> Stereo {
        self.play_wide(sound, lengths, (changes, events), 0).0
    }

    /// The same with so many rows of extra outputs, and these.
    fn play_wide(
        &mut self,
        sound: &Stereo,
        lengths: &[usize],
        (changes, events): (&[TimedChange], &[(u32, EventKind)]),
        rows: usize,
    ) -> (Stereo, Vec<Vec<f32>>) {
        let [mut left, mut right] = sound.clone();
        let mut extra = vec![Vec::new(); rows];
        let (mut at, mut lengths) = (0, lengths.iter().cycle());
        while at < left.len() {
            let end = left.len().min(at + lengths.next().unwrap());
            self.halves.before_block(&mut *self.processor);
            let moved =
                |frame: u32| (at..end).contains(&(frame as usize)).then(|| frame - at as u32);
            let here =
                |change: &TimedChange| Some(TimedChange { frame: moved(change.frame)?, ..*change });
            let changes: Vec<TimedChange> = changes.iter().filter_map(here).collect();
            self.events.clear();
            for (frame, kind) in events {
                if let Some(frame) = moved(*frame) {
                    let pushed = self.events.push(Event::new(frame, Source::edge(0), *kind));
                    assert_eq!(pushed, Pushed::Stored);
                }
            }
            let main = StereoMut { left: &mut left[at..end], right: &mut right[at..end] };
            let mut block = Block::new(main);
            block.events = &changes;
            block.events_in = Some(&self.events);
            let mut silence = vec![0.0; rows * (end - at)];
            let wide = RowsMut::new(&mut silence, end - at, end - at);
            let mut more = MoreRows { extra: wide, ..MoreRows::default() };
            block.more = (rows > 0).then_some(&mut more);
            self.sent.clear();
            block.events_out = Some(EventsOut::new(&mut self.sent, end - at));
            self.processor.process(&mut block);
            let first = self.played as u32;
            let sent = self.sent.all().iter().map(|event| (first + event.frame, event.kind));
            self.heard.extend(sent);
            self.played += end - at;
            for (row, all) in extra.iter_mut().enumerate() {
                all.extend_from_slice(&silence[row * (end - at)..][..end - at]);
            }
            at = end;
        }
        ([left, right], extra)
    }

    fn failed(&self) -> usize {
        self.halves.counts.failed.load(Relaxed)
    }
}

impl Halves {
    fn before_block(&mut self, processor: &mut dyn Processor) {
        for _ in 0..self.requests.swap(0, Relaxed) {
            let mut work = self.work.take();
            work.iter_mut().for_each(|work| work.work(&[], self));
            self.work = work;
        }
        (0..std::mem::take(&mut self.answers)).for_each(|_| processor.answered(&[]));
    }
}

impl WorkAnswers for Halves {
    fn answer(&mut self, _: &[u8]) -> Result<(), WorkRefused> {
        self.answers += 1;
        Ok(())
    }

    fn is_ending(&self) -> bool {
        false
    }
}

impl Host for Halves {
    fn largest_block(&self) -> usize {
        4096
    }

    fn node(&self) -> &str {
        "the node"
    }

    fn background(&mut self, work: Box<dyn BackgroundWork>, _: WorkRoom) -> Box<dyn WorkRequests> {
        self.work = Some(work);
        Box::new(Requests(Arc::clone(&self.requests)))
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        self.side = Some(side);
        Box::new(Asks(Arc::clone(&self.counts)))
    }
}

struct Requests(Arc<AtomicUsize>);

impl WorkRequests for Requests {
    fn request(&mut self, _: &[u8]) -> Result<(), WorkRefused> {
        self.0.fetch_add(1, Relaxed);
        Ok(())
    }
}

struct Asks(Arc<Counts>);

impl MainRequests for Asks {
    fn call(&mut self) {}

    fn latency_changed(&mut self, frames: u32) {
        self.0.latency.store(frames as usize, Relaxed);
    }

    fn tail_changed(&mut self, _: u64) {}

    fn restart(&mut self) {}

    fn failed(&mut self) {
        self.0.failed.fetch_add(1, Relaxed);
    }

    fn events_lost(&mut self, events: u64) {
        self.0.lost.fetch_add(events as usize, Relaxed);
    }
}

/// The frames of a sound but for the last ones, as bits.
fn without_end(sound: &Stereo, frames: usize) -> Vec<u32> {
    bits(&sound.clone().map(|row| row[..row.len() - frames].to_vec()))
}

/// The frames behind the first ones, as bits.
fn without_start(sound: &Stereo, frames: usize) -> Vec<u32> {
    bits(&sound.clone().map(|row| row[frames..].to_vec()))
}

#[test]
fn the_sound_is_the_same_one_block_later() {
    let test = "the_sound_is_the_same_one_block_later";
    let Some((_folder, plugin)) = described(test, "plain.clap") else { return };
    let values = [0.5, 480.0];
    let (sound, changes) = (noise(9_000), [gain(0, 0.25), gain(777, 2.0), gain(5_000, 0.75)]);
    for (late, lengths) in [(64, &[64][..]), (300, &[300, 1, 7, 64]), (1024, &[1024]), (1, &[1])] {
        let alone = clap::build(&plugin.library, ID, &values, 48_000, None).unwrap();
        let expected = Played::new(alone).play(&sound, lengths, (&changes, &[]));
        let (isolation, told) = isolation(late, Pace::Offline);
        let isolated = build(&isolation, &plugin, &wanted(&plugin, &values)).unwrap();
        assert_eq!(isolated.latency_frames() as usize, late + 480);
        let mut isolated = Played::new(isolated);
        let made = isolated.play(&sound, lengths, (&changes, &[]));
        assert!(made.iter().all(|row| row[..late].iter().all(|sample| *sample == 0.0)));
        assert!(without_start(&made, late) == without_end(&expected, late), "{lengths:?}");
        assert_eq!(isolated.failed(), 0);
        assert_eq!(*told.lock().unwrap(), [""; 0]);
        assert_eq!(isolation.group.reports(), []);
        // A reset plays as from the start.
        isolated.processor.preset(Change::Param { index: 0, value: 0.5 });
        isolated.processor.reset();
        assert!(bits(&isolated.play(&sound, lengths, (&changes, &[]))) == bits(&made));
    }
}

#[test]
fn an_lv2_instrument_hears_its_notes() {
    let Some(mda) = bundle("an_lv2_instrument_hears_its_notes", "mda.lv2") else { return };
    let uri = "http://drobilla.net/plugins/mda/EPiano";
    let plugin = lv2::describe(&mda, uri).unwrap();
    let note = |frame, key| (frame, EventKind::Note(Note::on(-1, 0, key, 0.8)));
    let off = |frame, key| (frame, EventKind::Note(Note::off(-1, 0, key, 0.8)));
    let events = [note(10, 60), note(400, 64), off(700, 60), note(3_000, 67)];
    let sound = noise(6_000);
    let alone = lv2::build(&mda, uri, &[], 48_000, None).unwrap();
    let expected = Played::new(alone).play(&sound, &[256], (&[], &events));
    assert!(bits(&expected) != bits(&sound));
    let (isolation, _) = isolation(256, Pace::Offline);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[])).unwrap();
    let made = Played::new(isolated).play(&sound, &[256], (&[], &events));
    assert!(without_start(&made, 256) == without_end(&expected, 256));
}

#[test]
fn a_vst3_plug_in_has_the_same_sound_and_state_in_a_process_of_its_own() {
    let test = "a_vst3_plug_in_has_the_same_sound_and_state_in_a_process_of_its_own";
    let folder = tempfile::tempdir().unwrap();
    let Some(bundle) = test_vst3(test, folder.path(), "usual") else { return };
    let id = vst3::plugins(&bundle).unwrap().remove(0);
    let plugin = vst3::describe(&bundle, &id).unwrap();
    let note = |frame, key| (frame, EventKind::Note(Note::on(-1, 0, key, 0.8)));
    let events = [note(10, 60), note(400, 64), (700, EventKind::EndAllNotes)];
    let changes = [gain(0, 0.25), gain(777, 2.0)];
    let (sound, values) = (noise(3_000), [0.5, 480.0]);
    let alone = vst3::build(&bundle, &id, &values, 48_000, None).unwrap();
    let expected = Played::new(alone).play(&sound, &[256], (&changes, &events));
    let (isolation, told) = isolation(256, Pace::Offline);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &values)).unwrap();
    assert_eq!(isolated.latency_frames(), 256 + 480);
    let made = Played::new(isolated).play(&sound, &[256], (&changes, &events));
    assert!(without_start(&made, 256) == without_end(&expected, 256));
    assert_eq!(*told.lock().unwrap(), [""; 0]);
}

/// Its kick is its main output upside down.
#[test]
fn extra_outputs_come_one_block_later_too() {
    let test = "extra_outputs_come_one_block_later_too";
    let Some((_folder, plugin)) = described(test, "outputs.clap") else { return };
    let values = [0.5, 480.0];
    let (sound, changes) = (noise(9_000), [gain(0, 0.25), gain(777, 2.0), gain(5_000, 0.75)]);
    // Longer blocks are several requests.
    for (late, lengths) in [(64, &[64][..]), (300, &[300, 1, 7, 64]), (1024, &[1024])] {
        let alone = clap::build(&plugin.library, ID, &values, 48_000, None).unwrap();
        let expected = Played::new(alone).play_wide(&sound, lengths, (&changes, &[]), 3).1;
        let (isolation, told) = isolation(late, Pace::Offline);
        let isolated = build(&isolation, &plugin, &wanted(&plugin, &values)).unwrap();
        let made = Played::new(isolated).play_wide(&sound, lengths, (&changes, &[]), 3).1;
        for (made, expected) in made.iter().zip(expected) {
            assert!(made[..late].iter().all(|sample| *sample == 0.0));
            assert!(made[late..] == expected[..expected.len() - late], "{lengths:?}");
            assert!(made.iter().any(|sample| *sample != 0.0));
        }
        assert_eq!(*told.lock().unwrap(), [""; 0]);
    }
}

#[test]
fn extra_outputs_are_silent_where_the_plug_in_crashed_and_once_it_is_bypassed() {
    let test = "extra_outputs_are_silent_where_the_plug_in_crashed_and_once_it_is_bypassed";
    let Some((_folder, plugin)) = described(test, "outputs-trips.clap") else { return };
    let (isolation, told) = isolation(64, Pace::Offline);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[0.5])).unwrap();
    let sound = noise(6_400);
    // After the fourth time it is given up.
    let crashes = [640, 1_280, 1_920, 2_560];
    let changes: Vec<TimedChange> =
        crashes.iter().flat_map(|frame| [gain(*frame, SEGFAULT), gain(*frame + 64, 0.5)]).collect();
    let (_, extra) = Played::new(isolated).play_wide(&sound, &[64], (&changes, &[]), 3);
    for frame in 0..6_400 {
        let crashed = |at: &u32| (*at as usize + 64..*at as usize + 128).contains(&frame);
        let is_silent = frame < 64 || crashes.iter().any(crashed) || frame >= 2_560 + 64;
        let expected = if is_silent { 0.0 } else { -0.5 * sound[0][frame - 64] };
        assert_eq!(extra[0][frame], expected, "frame {frame}");
    }
    assert_eq!(told.lock().unwrap().len(), 4, "{:?}", told.lock().unwrap());
}

/// A plug-in that trips in the block of frame 640 and is good again in the next one. Returns what came out, and what was
/// told.
fn tripped(test: &str, gain_of_trip: f32) -> Option<(Stereo, Stereo, Vec<String>, usize)> {
    let (_folder, plugin) = described(test, "trips.clap")?;
    let (isolation, told) = isolation(64, Pace::Offline);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[0.5])).unwrap();
    let mut isolated = Played::new(isolated);
    let sound = noise(6_400);
    let changes = [gain(640, gain_of_trip), gain(704, 0.5)];
    let made = isolated.play(&sound, &[64], (&changes, &[]));
    let told = told.lock().unwrap().clone();
    Some((sound, made, told, isolated.failed()))
}

/// What comes out is half of the input, but for frames of the output that are silent.
#[track_caller]
fn check_half(sound: &Stereo, made: &Stereo, silent: std::ops::Range<usize>) {
    for (sound, made) in sound.iter().zip(made) {
        for (frame, made) in made.iter().enumerate() {
            let is_silent = frame < 64 || silent.contains(&frame);
            let expected = if is_silent { 0.0 } else { 0.5 * sound[frame - 64] };
            assert_eq!(*made, expected, "frame {frame}");
        }
    }
}

#[test]
fn a_plug_in_that_crashes_is_started_again() {
    let Some((sound, made, told, failed)) =
        tripped("a_plug_in_that_crashes_is_started_again", SEGFAULT)
    else {
        return;
    };
    check_half(&sound, &made, 704..768);
    let expected = "the node: the plug-in 'Test gain' crashed (signal 11); started again (1 of 3)";
    assert_eq!(told, [expected]);
    assert_eq!(failed, 1);
}

#[test]
fn a_plug_in_that_hangs_is_started_again() {
    let Some((sound, made, told, failed)) = tripped("a_plug_in_that_hangs_is_started_again", STALL)
    else {
        return;
    };
    check_half(&sound, &made, 704..768);
    let expected =
        "the node: the plug-in 'Test gain' gave no answer for 5 s; started again (1 of 3)";
    assert_eq!(told, [expected]);
    assert_eq!(failed, 1);
}

#[test]
fn a_plug_in_whose_output_is_not_finite_is_started_again() {
    let test = "a_plug_in_whose_output_is_not_finite_is_started_again";
    let Some((sound, made, told, failed)) = tripped(test, NOT_FINITE) else { return };
    // It is found when it is played, and the next block is on its way by then.
    check_half(&sound, &made, 704..832);
    let expected = "the node: the plug-in 'Test gain' put out samples that are not finite; started again (1 of 3)";
    assert_eq!(told, [expected]);
    assert_eq!(failed, 2);
}

#[test]
fn a_plug_in_that_writes_over_the_shared_memory_is_started_again() {
    let test = "a_plug_in_that_writes_over_the_shared_memory_is_started_again";
    let Some((_folder, plugin)) = described(test, "trips.clap") else { return };
    let (isolation, told) = isolation(64, Pace::Offline);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[0.5])).unwrap();
    let mut isolated = Played::new(isolated);
    let sound = noise(6_400);
    isolated.play(&sound, &[64], (&[gain(640, SCRIBBLE), gain(704, 0.5)], &[]));
    // The thread that writes has to get a CPU first.
    let begun = Instant::now();
    while told.lock().unwrap().is_empty() && begun.elapsed() < HANGS {
        isolated.play(&sound, &[64], (&[], &[]));
    }
    let made = isolated.play(&sound, &[64], (&[], &[]));
    let told = told.lock().unwrap().clone();
    // What of it shows first is chance.
    assert!(!told.is_empty() && told[0].contains("started again (1 of 3)"), "{told:?}");
    let tail = |sound: &[f32]| sound[sound.len() - 640..].to_vec();
    for (sound, made) in sound.iter().zip(&made) {
        let expected: Vec<f32> = sound.iter().map(|sample| 0.5 * sample).collect();
        assert_eq!(tail(made), tail(&expected[..expected.len() - 64]));
    }
}

#[test]
fn a_plug_in_that_fails_again_and_again_is_bypassed() {
    let test = "a_plug_in_that_fails_again_and_again_is_bypassed";
    let Some((_folder, plugin)) = described(test, "segfaults.clap") else { return };
    let (isolation, told) = isolation(64, Pace::Offline);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[0.5, 100.0])).unwrap();
    let mut isolated = Played::new(isolated);
    let sound = noise(1_280);
    let made = isolated.play(&sound, &[64], (&[], &[]));
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[2].ends_with("crashed (signal 11); started again (3 of 3)"), "{told:?}");
    let last = "crashed (signal 11); it failed 4 times in a row and is bypassed from now on";
    assert!(told[3].ends_with(last), "{told:?}");
    let [report] = &isolation.group.reports()[..] else { panic!("no report") };
    assert_eq!((report.node.as_str(), report.restarts, report.bypassed), ("the node", 3, true));
    // As late as it was: a block, and its own latency.
    for (sound, made) in sound.iter().zip(&made) {
        assert_eq!(made[640..], sound[640 - 164..1_280 - 164]);
        assert!(made[..256].iter().all(|sample| *sample == 0.0));
    }
}

#[test]
fn a_plug_in_that_does_not_start_is_named() {
    let test = "a_plug_in_that_does_not_start_is_named";
    let Some((folder, plugin)) = described(test, "plain.clap") else { return };
    let (isolation, _) = isolation(64, Pace::Offline);
    let library = folder.path().join("crashes.clap");
    std::fs::copy(&plugin.library, &library).unwrap();
    let crashes = Description { library, ..plugin.clone() };
    let refused = build(&isolation, &crashes, &wanted(&crashes, &[])).err().unwrap();
    assert_eq!(refused, "it crashed (signal 6)");
    let missing = Description { library: Path::new("/nowhere.clap").into(), ..plugin.clone() };
    let refused = build(&isolation, &missing, &wanted(&missing, &[])).err().unwrap();
    assert!(refused.starts_with("it does not load"), "{refused}");
    let nowhere = Isolation { program: "/nowhere".into(), ..isolation };
    let refused = build(&nowhere, &plugin, &wanted(&plugin, &[])).err().unwrap();
    assert!(refused.starts_with("it has no process to run in: "), "{refused}");
}

#[test]
fn a_state_goes_to_the_process_and_back() {
    let Some((_folder, plugin)) = described("a_state_goes_to_the_process_and_back", "plain.clap")
    else {
        return;
    };
    let (isolation, _) = isolation(64, Pace::Offline);
    let quiet = build(&isolation, &plugin, &wanted(&plugin, &[0.25])).unwrap();
    let mut quiet = Played::new(quiet);
    let state = quiet.halves.side.as_mut().unwrap().save().unwrap();
    assert_eq!(state, [0.25_f32, 0.0].map(f32::to_le_bytes).concat());
    let other = build(&isolation, &plugin, &wanted(&plugin, &[0.5])).unwrap();
    let mut other = Played::new(other);
    let sound = noise(640);
    let half = other.play(&sound, &[64], (&[], &[]));
    assert_eq!(half[0][639], 0.5 * sound[0][575]);
    let side = other.halves.side.as_mut().unwrap();
    assert!(side.load(b"no").is_err());
    let mut made = side.load(&state).unwrap();
    other.processor.exchange(&mut *made);
    let quarter = other.play(&sound, &[64], (&[], &[]));
    // What was on its way is heard first.
    assert_eq!(quarter[0][63], 0.5 * sound[0][639]);
    assert_eq!(quarter[0][64..], sound[0][..576].iter().map(|it| 0.25 * it).collect::<Vec<_>>());
}

#[test]
fn longer_blocks_make_it_later() {
    let Some((_folder, plugin)) = described("longer_blocks_make_it_later", "plain.clap") else {
        return;
    };
    let (isolation, _) = isolation(64, Pace::Offline);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[0.5])).unwrap();
    let mut isolated = Played::new(isolated);
    isolated.play(&noise(640), &[64], (&[], &[]));
    let side = isolated.halves.side.as_mut().unwrap();
    assert!(side.grow(64).is_none());
    let mut longer = side.grow(1000).unwrap();
    isolated.processor.exchange(&mut *longer);
    assert_eq!(isolated.halves.counts.latency.load(Relaxed), 1000);
    assert_eq!(isolated.processor.latency_frames(), 1000);
    let sound = noise(5_000);
    let made = isolated.play(&sound, &[1000], (&[], &[]));
    assert_eq!(made[0][1000..], sound[0][..4000].iter().map(|it| 0.5 * it).collect::<Vec<_>>());
    assert_eq!(isolated.failed(), 0);
}

/// Two minutes are only there to end a hang.
#[test]
fn in_real_time_a_plug_in_that_hangs_comes_back() {
    let test = "in_real_time_a_plug_in_that_hangs_comes_back";
    let Some((_folder, plugin)) = described(test, "trips.clap") else { return };
    let (isolation, told) = isolation(64, Pace::RealTime);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[0.5])).unwrap();
    let mut isolated = Played::new(isolated);
    let ones = [vec![1.0; 64], vec![1.0; 64]];
    let mut heard = |changes: &[TimedChange], wanted: &dyn Fn() -> bool| {
        let begun = Instant::now();
        let mut first = changes;
        while begun.elapsed() < Duration::from_secs(600) {
            let made = isolated.play(&ones, &[64], (first, &[]));
            first = &[];
            let all = |value| made.iter().flatten().all(|sample| *sample == value);
            assert!(all(0.5) || all(0.0) || made[0].contains(&0.5), "{made:?}");
            if all(0.5) && wanted() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("nothing was heard for ten minutes");
    };
    heard(&[], &|| true);
    // The value with which it starts again is the one behind.
    let stall = [gain(0, STALL), gain(1, 0.5)];
    heard(&stall, &|| !told.lock().unwrap().is_empty());
    let told = told.lock().unwrap().clone();
    assert!(told[0].ends_with("gave no answer for 5 s; started again (1 of 3)"), "{told:?}");
}

/// As while a sound server freewheels.
#[test]
fn in_real_time_answers_are_awaited_while_blocks_have_no_deadline() {
    let test = "in_real_time_answers_are_awaited_while_blocks_have_no_deadline";
    let Some((_folder, plugin)) = described(test, "plain.clap") else { return };
    let (isolation, told) = isolation(64, Pace::RealTime);
    let isolated = build(&isolation, &plugin, &wanted(&plugin, &[0.5])).unwrap();
    let mut isolated = Played::new(isolated);
    isolation.group.wait_for_answers(true);
    // A request that comes before the process is ready is left out, and waited for all the same.
    let (begin, sound) = (noise(128), noise(9_000));
    isolated.play(&begin, &[64], (&[], &[]));
    let failed = isolated.failed();
    let made = isolated.play(&sound, &[64, 1, 7, 40], (&[], &[]));
    for ((made, begin), sound) in made.iter().zip(&begin).zip(&sound) {
        let expected = begin[64..].iter().chain(sound).map(|sample| 0.5 * sample);
        let is_same = |(made, expected): (&f32, f32)| made.to_bits() == expected.to_bits();
        assert!(made.iter().zip(expected).all(is_same));
    }
    assert_eq!(isolated.failed(), failed);
    assert_eq!(*told.lock().unwrap(), [""; 0]);
}

/// Events at frames.
type Timed = Vec<(u32, EventKind)>;

/// Notes of a sender, and what it makes of them alone: each an octave higher, and a controller in front of its start.
fn octaves() -> (Timed, Timed) {
    let note = |on: bool, key: i8| match on {
        true => EventKind::Note(Note::on(-1, 1, key, 0.5)),
        false => EventKind::Note(Note::off(-1, 1, key, 0.0)),
    };
    let wheel = EventKind::Midi(Midi1::new(&[0xb1, 1, 100]).unwrap());
    let (mut notes, mut made) = (Vec::new(), Vec::new());
    for (start, key) in [(0, 60), (255, 61), (256, 62), (1_500, 63)] {
        notes.extend([(start, note(true, key)), (start + 700, note(false, key))]);
        made.extend([(start, wheel), (start, note(true, key + 12))]);
        made.push((start + 700, note(false, key + 12)));
    }
    notes.sort_by_key(|(frame, _)| *frame);
    made.sort_by_key(|(frame, _)| *frame);
    (notes, made)
}

#[test]
fn the_events_of_an_isolated_plug_in_come_with_its_sound_whatever_the_blocks() {
    let test = "the_events_of_an_isolated_plug_in_come_with_its_sound_whatever_the_blocks";
    let Some(file) = test_sender(test) else { return };
    let plugin = clap::describe(&file, "test.hocket.sender").unwrap();
    let (notes, made) = octaves();
    let sound = noise(4_000);
    for lengths in [&[64][..], &[300], &[1, 7, 300], &[256]] {
        let frames = *lengths.iter().max().unwrap();
        let (isolation, _) = isolation(frames, Pace::Offline);
        let mut played = Played::new(build(&isolation, &plugin, &wanted(&plugin, &[])).unwrap());
        let heard = played.play(&sound, lengths, (&[], &notes));
        let late = |(frame, kind): &(u32, EventKind)| (frame + frames as u32, *kind);
        let expected: Vec<(u32, EventKind)> = made.iter().map(late).collect();
        assert_eq!(played.heard, expected, "{lengths:?}");
        assert_eq!(heard[0][frames..], sound[0][..4_000 - frames], "sound passes");
        assert_eq!((played.failed(), played.halves.counts.lost.load(Relaxed)), (0, 0));
    }
}

#[test]
fn events_of_an_isolated_plug_in_without_room_are_counted() {
    let test = "events_of_an_isolated_plug_in_without_room_are_counted";
    let Some(file) = test_sender(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("floods.clap");
    std::fs::copy(file, &library).unwrap();
    let plugin = clap::describe(&library, "test.hocket.sender").unwrap();
    let (isolation, _) = isolation(64, Pace::Offline);
    let mut played = Played::new(build(&isolation, &plugin, &wanted(&plugin, &[])).unwrap());
    let on = EventKind::Note(Note::on(-1, 0, 60, 1.0));
    let off = EventKind::Note(Note::off(-1, 0, 60, 0.0));
    played.play(&noise(256), &[64], (&[], &[(3, on), (20, off)]));
    let lost = played.halves.counts.lost.load(Relaxed);
    assert_eq!(played.heard.len() + lost, 1_502);
    assert!(lost > 0 && played.heard.len() > 100, "{lost}");
    let end = EventKind::Note(Note::off(-1, 0, 72, 0.0));
    assert_eq!(played.heard.last(), Some(&(84, end)), "the end has room of its own");
}
