//! VST3: the tests' own plug-in, and the effects of zam-plugins.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, WorkRefused, WorkRequests, WorkRoom,
};
use hocket_dsp::{Block, Change, Processor, StereoMut, StereoRef, TimedChange};
use hocket_plugins::vst3::{State, build, describe, plugins};
use hocket_plugins::{Param, Steps, clap, lv2};
use hocket_time::{Event, EventBuffer, EventKind, Midi1, Note, Source};

use crate::common::{bits, noise, played, test_vst3, vst3_bundle};

const ID: &str = "484F434B455400015445535400000001";

fn change(frame: u32, index: u16, value: f32) -> TimedChange {
    TimedChange { frame, change: Change::Param { index, value } }
}

/// The tests' own plug-in, and the folder that it lies in.
fn own(test: &str, name: &str) -> Option<(PathBuf, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let bundle = test_vst3(test, folder.path(), name)?;
    Some((bundle, folder))
}

#[test]
fn a_plug_in_describes_itself() {
    let Some((bundle, _folder)) = own("a_plug_in_describes_itself", "usual") else { return };
    assert_eq!(plugins(&bundle).unwrap(), [ID]);
    let found = describe(&bundle, ID).unwrap();
    assert_eq!((found.title.as_str(), &found.refusal), ("Test gain", &None));
    assert_eq!(found.kind, format!("vst3:{ID}"));
    let [gain, delay, mode] = found.params.as_slice() else { panic!("{found:?}") };
    assert_eq!((gain.name.as_str(), gain.unit.as_str()), ("output_gain", "x"));
    assert_eq!((gain.min, gain.max, gain.default), (0.0, 4.0, 1.0));
    assert_eq!((delay.max, delay.steps), (5_000.0, Steps::Whole));
    let names: Vec<(f32, &str)> =
        mode.points.iter().map(|(value, name)| (*value, name.as_str())).collect();
    assert_eq!(names, [(0.0, "Soft"), (1.0, "Hard"), (2.0, "Off")]);
    assert!(found.state && found.events);
    let layout = found.layout;
    assert_eq!((layout.inputs, layout.outputs, layout.side_chain), (2, 2, 1));
}

#[test]
fn values_change_at_their_frames_whatever_the_blocks() {
    let test = "values_change_at_their_frames_whatever_the_blocks";
    let Some((bundle, _folder)) = own(test, "usual") else { return };
    let sound = noise(10_000);
    for lengths in [&[64][..], &[1, 7, 300], &[9_000]] {
        let mut processor = build(&bundle, ID, &[0.5], 48_000, None).unwrap();
        let changes = [change(777, 0, 2.0), change(778, 0, 0.0), change(5_000, 0, 0.25)];
        let made = played(&mut *processor, &sound, lengths, &changes);
        for (frame, (made, sound)) in made[1].iter().zip(&sound[1]).enumerate() {
            let gain = match frame {
                ..777 => 0.5,
                777 => 2.0,
                778..5_000 => 0.0,
                _ => 0.25,
            };
            assert_eq!(*made, sound * gain, "frame {frame}");
        }
    }
}

#[test]
fn the_latency_follows_the_values() {
    let Some((bundle, _folder)) = own("the_latency_follows_the_values", "usual") else { return };
    let sound = noise(3_000);
    let mut processor = build(&bundle, ID, &[1.0, 480.0], 48_000, None).unwrap();
    assert_eq!(processor.latency_frames(), 480);
    let made = played(&mut *processor, &sound, &[333], &[]);
    assert_eq!(made[0][480..], sound[0][..3_000 - 480]);
    assert!(made[0][..480].iter().all(|sample| *sample == 0.0));
    processor.reset();
    assert_eq!(bits(&played(&mut *processor, &sound, &[100], &[])), bits(&made));
}

#[test]
fn a_latency_that_changes_while_it_plays_is_reported() {
    let test = "a_latency_that_changes_while_it_plays_is_reported";
    let Some((bundle, _folder)) = own(test, "usual") else { return };
    let mut host = Recorder::default();
    let mut processor = build(&bundle, ID, &[1.0], 48_000, None).unwrap();
    processor.join(&mut host);
    let seen = Arc::clone(&host.seen);
    played(&mut *processor, &noise(64), &[64], &[change(7, 1, 250.0)]);
    assert_eq!((seen.calls.load(Relaxed), seen.latency.load(Relaxed)), (1, 0));
    assert_eq!(seen.tail.load(Relaxed), 1_000);
    let mut side = host.side.take().unwrap();
    side.called();
    wait(|| {
        played(&mut *processor, &noise(64), &[64], &[]);
        seen.latency.load(Relaxed) == 250
    });
    assert_eq!(processor.latency_frames(), 250);
    assert_eq!(seen.restarts.load(Relaxed), 0);
}

#[test]
fn a_plug_in_with_another_latency_once_it_is_made_anew_is_made_anew() {
    let test = "a_plug_in_with_another_latency_once_it_is_made_anew_is_made_anew";
    let Some((bundle, _folder)) = own(test, "slow") else { return };
    let mut host = Recorder::default();
    let mut processor = build(&bundle, ID, &[1.0], 48_000, None).unwrap();
    processor.join(&mut host);
    let seen = Arc::clone(&host.seen);
    played(&mut *processor, &noise(64), &[64], &[change(7, 1, 250.0)]);
    let mut side = host.side.take().unwrap();
    side.called();
    wait(|| {
        played(&mut *processor, &noise(64), &[64], &[]);
        seen.restarts.load(Relaxed) == 1
    });
    // As a host program does it.
    let state = side.save().unwrap();
    let mut renewed = side.load(&state).unwrap();
    processor.exchange(&mut *renewed);
    drop(renewed);
    played(&mut *processor, &noise(64), &[64], &[]);
    assert_eq!((seen.latency.load(Relaxed), processor.latency_frames()), (250, 250));
}

#[test]
fn a_state_comes_back_and_a_bad_one_is_refused() {
    let test = "a_state_comes_back_and_a_bad_one_is_refused";
    let Some((bundle, _folder)) = own(test, "usual") else { return };
    let mut host = Recorder::default();
    let mut processor = build(&bundle, ID, &[0.5, 100.0], 48_000, None).unwrap();
    processor.join(&mut host);
    let side = host.side.as_mut().unwrap();
    // What has never played has its values, too.
    let saved = side.save().unwrap();
    let state = State::from_bytes(&saved).unwrap();
    let component = [0.125_f64, 0.02].map(f64::to_le_bytes).concat();
    assert_eq!((state.id.as_str(), &state.component), (ID, &component));
    assert_eq!(state.controller, Some(1.0_f64.to_le_bytes().to_vec()));
    // With the state, default values do not overwrite what it holds.
    let mut again = build(&bundle, ID, &[1.0, 0.0], 48_000, Some(&saved)).unwrap();
    assert_eq!(again.latency_frames(), 100);
    let sound = noise(1_000);
    let expected = bits(&played(&mut *processor, &sound, &[64], &[]));
    assert_eq!(bits(&played(&mut *again, &sound, &[64], &[])), expected);
    let mut made = side.load(&saved).unwrap();
    processor.exchange(&mut *made);
    drop(made);
    assert_eq!(bits(&played(&mut *processor, &sound, &[64], &[])), expected);
    let twice = State::from_bytes(&side.save().unwrap()).unwrap();
    assert_eq!(twice.controller, Some(2.0_f64.to_le_bytes().to_vec()), "it had its state");
    let refused = |state: &[u8]| build(&bundle, ID, &[], 48_000, Some(state)).err().unwrap();
    assert!(refused(b"no").contains("it does not begin with 'VST3'"), "{}", refused(b"no"));
    let of = |state: State| state.to_bytes();
    let short = of(State { component: vec![1; 5], ..state.clone() });
    assert_eq!(refused(&short), "the plug-in refuses the state");
    let other = of(State { id: "0".repeat(32), ..state });
    let expected = format!("the state is that of the plug-in vst3:{}", "0".repeat(32));
    assert_eq!(refused(&other), expected);
}

/// What a processor makes of silence and events.
fn heard(processor: &mut dyn Processor, frames: usize, events: &[(u32, EventKind)]) -> Vec<f32> {
    let (mut left, mut right) = (vec![0.0; frames], vec![0.0; frames]);
    let mut received = EventBuffer::new(64, 64);
    for (frame, kind) in events {
        let _ = received.push(Event::new(*frame, Source::edge(0), *kind));
    }
    let mut block = Block::new(StereoMut { left: &mut left, right: &mut right });
    block.events_in = Some(&received);
    processor.process(&mut block);
    assert_eq!(left, right);
    left
}

#[test]
fn notes_and_controllers_reach_it_at_their_frames() {
    let test = "notes_and_controllers_reach_it_at_their_frames";
    let Some((bundle, _folder)) = own(test, "usual") else { return };
    let mut processor = build(&bundle, ID, &[], 48_000, None).unwrap();
    let midi = |bytes: [u8; 3]| EventKind::Midi(Midi1::new(&bytes).unwrap());
    let notes = [
        (3, EventKind::Note(Note::on(5, 0, 60, 0.5))),
        (6, midi([0x91, 62, 127])),
        (9, midi([0x80, 60, 64])),
    ];
    let expected = [vec![0.0; 3], vec![0.5; 3], vec![1.5; 3], vec![1.0; 3]].concat();
    assert_eq!(heard(&mut *processor, 12, &notes), expected);
    assert_eq!(heard(&mut *processor, 4, &[(2, EventKind::EndAllNotes)]), [1.0, 1.0, 0.0, 0.0]);
    // All notes of a channel.
    let three = [60, 61, 62].map(|key| (0, EventKind::Note(Note::on(-1, 3, key, 0.25))));
    assert_eq!(heard(&mut *processor, 2, &three), [0.75; 2]);
    assert_eq!(heard(&mut *processor, 2, &[(1, midi([0xb3, 123, 0]))]), [0.75, 0.0]);
    let wildcard = EventKind::Note(Note::off(-1, -1, -1, 0.0));
    assert_eq!(heard(&mut *processor, 2, &three), [0.75; 2]);
    assert_eq!(heard(&mut *processor, 2, &[(1, wildcard)]), [0.75, 0.0]);
    // The pitch bend moves a hidden parameter.
    assert_eq!(heard(&mut *processor, 1, &[(0, midi([0xe0, 127, 127]))]), [1.0]);
    processor.reset();
    assert_eq!(heard(&mut *processor, 1, &[(0, midi([0xe0, 0, 0]))]), [0.0]);
}

#[test]
fn a_side_chain_reaches_it_and_other_outputs_do_not_sound() {
    let test = "a_side_chain_reaches_it_and_other_outputs_do_not_sound";
    let Some((bundle, _folder)) = own(test, "usual") else { return };
    let mut processor = build(&bundle, ID, &[2.0], 48_000, None).unwrap();
    let (mut left, mut right) = ([1.0, 2.0], [3.0, 4.0]);
    let mut block = Block::new(StereoMut { left: &mut left, right: &mut right });
    block.side_chain = Some(StereoRef { left: &[0.5, 0.5], right: &[1.5, 1.5] });
    processor.process(&mut block);
    assert_eq!((left, right), ([3.0, 5.0], [7.0, 9.0]));
}

#[test]
fn a_run_that_fails_is_silent_and_counted() {
    let test = "a_run_that_fails_is_silent_and_counted";
    let Some((bundle, _folder)) = own(test, "errs") else { return };
    let mut host = Recorder::default();
    let mut processor = build(&bundle, ID, &[], 48_000, None).unwrap();
    processor.join(&mut host);
    let sound = noise(40);
    let made = played(&mut *processor, &sound, &[10], &[]);
    assert_eq!((&made[0][..10], &made[0][10..20]), (&sound[0][..10], &[0.0; 10][..]));
    assert_eq!(host.seen.failed.load(Relaxed), 2);
    let refused = build(&bundle, ID, &[], 44_101, None).err().unwrap();
    assert_eq!(refused, "it does not play at 44101 Hz: choose another rate");
}

#[test]
fn events_without_room_are_counted() {
    let Some((bundle, _folder)) = own("events_without_room_are_counted", "usual") else { return };
    let mut host = Recorder::default();
    let mut processor = build(&bundle, ID, &[], 48_000, None).unwrap();
    processor.join(&mut host);
    let changes: Vec<TimedChange> =
        (0..1_100).map(|n| change(n / 20, 0, 0.5 + n as f32 / 2_000.0)).collect();
    played(&mut *processor, &noise(64), &[64], &changes[..1_024]);
    assert_eq!(host.seen.lost.load(Relaxed), 0);
    let sound = noise(64);
    let made = played(&mut *processor, &sound, &[64], &changes);
    // Two of each of its four parameters find room beside 1024.
    assert_eq!(host.seen.lost.load(Relaxed), 1_100 - (1_024 + 2 * 4));
    let expected = sound[0][63] * (0.5 + 1_031.0 / 2_000.0);
    assert!((made[0][63] - expected).abs() < 1e-6, "the first ones stand");
}

#[test]
fn a_timer_of_a_plug_in_rings_and_what_it_asks_for_is_passed_on() {
    let test = "a_timer_of_a_plug_in_rings_and_what_it_asks_for_is_passed_on";
    let Some((bundle, _folder)) = own(test, "timers") else { return };
    let mut host = Recorder::default();
    let mut processor = build(&bundle, ID, &[], 48_000, None).unwrap();
    processor.join(&mut host);
    wait(|| {
        played(&mut *processor, &noise(64), &[64], &[]);
        host.seen.restarts.load(Relaxed) == 1
    });
}

#[test]
fn each_of_the_zam_effects_plays_as_its_lv2_and_clap_builds_do() {
    let test = "each_of_the_zam_effects_plays_as_its_lv2_and_clap_builds_do";
    if vst3_bundle(test, "ZamComp.vst3").is_none() || lv2::available().is_err() {
        return;
    }
    let mut names: Vec<String> = std::fs::read_dir("/usr/lib/vst3")
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("Za"))
        .collect();
    names.sort();
    for name in names {
        for share in [None, Some(0.37), Some(0.7)] {
            compare(&name, share);
        }
    }
}

/// They take no values without sound.
#[test]
fn what_has_never_played_saves_its_values() {
    let test = "what_has_never_played_saves_its_values";
    let Some(bundle) = vst3_bundle(test, "ZamComp.vst3") else { return };
    let id = plugins(&bundle).unwrap().remove(0);
    let found = describe(&bundle, &id).unwrap();
    let values: Vec<f32> = found.params.iter().map(|param| value(param, Some(0.6))).collect();
    let mut original = build(&bundle, &id, &values, 48_000, None).unwrap();
    let mut host = Recorder::default();
    original.join(&mut host);
    let state = host.side.as_mut().unwrap().save().unwrap();
    let mut copy = build(&bundle, &id, &[], 48_000, Some(&state)).unwrap();
    let sound = noise(4_000);
    let expected = bits(&played(&mut *original, &sound, &[256], &[]));
    assert_eq!(bits(&played(&mut *copy, &sound, &[256], &[])), expected);
}

/// In VST3, the way of a value from its unit to the range from 0 to 1 and back changes its last bits. These effects make
/// much of that with some values.
const SENSITIVE: [&str; 3] = ["ZamDynamicEQ", "ZamGrains", "ZamTube"];

fn compare(name: &str, share: Option<f32>) {
    let at = |format: &str| Path::new("/usr/lib").join(format).join(format!("{name}.{format}"));
    let bundle = at("vst3");
    let id = plugins(&bundle).unwrap().remove(0);
    let found = describe(&bundle, &id).unwrap();
    let values: Vec<f32> = found.params.iter().map(|param| value(param, share)).collect();
    let sound = noise(12_000);
    let mut vst3 = build(&bundle, &id, &values, 48_000, None).unwrap();
    let by_vst3 = played(&mut *vst3, &sound, &[256], &[]);
    let (mut other, format) = other_build(name, &at, &values);
    let by_other = played(&mut *other, &sound, &[256], &[]);
    assert_eq!(vst3.latency_frames(), other.latency_frames(), "{name} {share:?}");
    let same = bits(&by_vst3) == bits(&by_other);
    if !same {
        println!("{name} {share:?} differs from its {format} build");
    }
    assert!(same || SENSITIVE.contains(&name), "{name} {share:?}: not as {format}");
    assert!(by_vst3.iter().flatten().all(|sample| sample.is_finite()), "{name} {share:?}");
}

/// The CLAP build of the same effect, or the LV2 build where the CLAP build crashes at its end.
fn other_build(
    name: &str,
    at: &dyn Fn(&str) -> PathBuf,
    values: &[f32],
) -> (Box<dyn Processor>, &'static str) {
    if name == "ZaMaximX2" {
        let uri = lv2::plugins(&at("lv2")).unwrap().remove(0);
        return (lv2::build(&at("lv2"), &uri, values, 48_000, None).unwrap(), "lv2");
    }
    let id = clap::plugins(&at("clap")).unwrap().remove(0);
    (clap::build(&at("clap"), &id, values, 48_000, None).unwrap(), "clap")
}

/// The default, or a share of the range.
fn value(param: &Param, share: Option<f32>) -> f32 {
    let Some(share) = share else { return param.default };
    let value = param.min + (param.max - param.min) * share;
    if param.steps == Steps::None { value } else { value.round() }
}

/// Looks again and again.
fn wait(mut until: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !until() {
        assert!(begin.elapsed() < Duration::from_secs(600), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a processor asks of its engine.
#[derive(Default)]
struct Seen {
    calls: AtomicU32,
    latency: AtomicU32,
    tail: AtomicU64,
    restarts: AtomicU32,
    failed: AtomicU32,
    lost: AtomicU64,
}

#[derive(Default)]
struct Recorder {
    side: Option<Box<dyn MainSide>>,
    seen: Arc<Seen>,
}

struct Asks(Arc<Seen>);

impl MainRequests for Asks {
    fn call(&mut self) {
        self.0.calls.fetch_add(1, Relaxed);
    }

    fn latency_changed(&mut self, frames: u32) {
        self.0.latency.store(frames, Relaxed);
    }

    fn tail_changed(&mut self, frames: u64) {
        self.0.tail.store(frames, Relaxed);
    }

    fn restart(&mut self) {
        self.0.restarts.fetch_add(1, Relaxed);
    }

    fn failed(&mut self) {
        self.0.failed.fetch_add(1, Relaxed);
    }

    fn events_lost(&mut self, events: u64) {
        self.0.lost.fetch_add(events, Relaxed);
    }
}

struct Nothing;

impl WorkRequests for Nothing {
    fn request(&mut self, _: &[u8]) -> Result<(), WorkRefused> {
        Ok(())
    }
}

impl Host for Recorder {
    fn largest_block(&self) -> usize {
        1024
    }

    fn background(&mut self, _: Box<dyn BackgroundWork>, _: WorkRoom) -> Box<dyn WorkRequests> {
        Box::new(Nothing)
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        self.side = Some(side);
        Box::new(Asks(Arc::clone(&self.seen)))
    }
}
