//! LV2 plug-ins of the system.

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, WorkRefused, WorkRequests, WorkRoom,
};
use hocket_dsp::{Block, Change, StereoMut, TimedChange};
use hocket_plugins::lv2::{Entry, State, build, describe, plugins};
use hocket_time::{Event, EventBuffer, EventKind, Note, Pushed, Source};

use crate::common::{bits, bundle, compiled, noise, played};

const OVERDRIVE: &str = "http://drobilla.net/plugins/mda/Overdrive";
const CUTS: [&[usize]; 4] = [&[64], &[1, 7, 300], &[1024], &[9000]];

fn change(frame: u32, index: u16, value: f32) -> TimedChange {
    TimedChange { frame, change: Change::Param { index, value } }
}

#[test]
fn every_cut_into_blocks_gives_the_same_bits() {
    let Some(mda) = bundle("every_cut_into_blocks_gives_the_same_bits", "mda.lv2") else { return };
    let sound = noise(20_000);
    let changes =
        [change(0, 0, 0.1), change(700, 0, 0.9), change(701, 0, 0.8), change(9_999, 0, 0.2)];
    let mut heard = CUTS.iter().map(|lengths| {
        let mut processor = build(&mda, OVERDRIVE, &[0.5, 0.3, 0.5], 48_000, None).unwrap();
        bits(&played(&mut *processor, &sound, lengths, &changes))
    });
    let first = heard.next().unwrap();
    assert_ne!(first, bits(&sound));
    assert!(heard.all(|other| other == first));
}

#[test]
fn a_reset_plug_in_plays_as_a_new_one() {
    let Some(mda) = bundle("a_reset_plug_in_plays_as_a_new_one", "mda.lv2") else { return };
    let sound = noise(5_000);
    let uri = "http://drobilla.net/plugins/mda/Delay";
    let mut processor = build(&mda, uri, &[0.1, 0.2, 0.8], 48_000, None).unwrap();
    let first = bits(&played(&mut *processor, &sound, &[256], &[]));
    processor.reset();
    assert_eq!(bits(&played(&mut *processor, &sound, &[256], &[])), first);
}

#[test]
fn a_mono_plug_in_plays_each_side_alone() {
    let Some(amp) = bundle("a_mono_plug_in_plays_each_side_alone", "eg-amp.lv2") else { return };
    let sound = noise(1_000);
    let mut processor = build(&amp, &plugins(&amp).unwrap()[0], &[-6.0], 48_000, None).unwrap();
    let made = played(&mut *processor, &sound, &[128], &[]);
    let gain = 10_f32.powf(-6.0 / 20.0);
    for (made, sound) in made.iter().flatten().zip(sound.iter().flatten()) {
        assert!((made - sound * gain).abs() < 1e-6);
    }
}

/// Its data name the sound file that it plays.
#[test]
fn a_sampler_starts_with_the_state_that_its_data_describe() {
    let test = "a_sampler_starts_with_the_state_that_its_data_describe";
    let Some(sampler) = bundle(test, "eg-sampler.lv2") else { return };
    let uri = "http://lv2plug.in/plugins/eg-sampler";
    let found = describe(&sampler, uri).unwrap();
    assert!(found.events && found.state && found.refusal.is_none(), "{found:?}");
    let mut processor = build(&sampler, uri, &[], 48_000, None).unwrap();
    let (mut left, mut right) = (vec![0.0; 4_000], vec![0.0; 4_000]);
    let mut events = EventBuffer::new(8, 0);
    let _ = events.push(Event::new(10, Source::LIVE, EventKind::Note(Note::on(-1, 0, 60, 0.8))));
    let mut block = Block::new(StereoMut { left: &mut left, right: &mut right });
    block.events_in = Some(&events);
    processor.process(&mut block);
    assert!(left.iter().any(|sample| sample.abs() > 0.01), "it plays a click");
    assert_eq!(left, right);
}

/// The tests' own plug-in puts out the level of its state, and its data say 0.25. At a level of 0 it saves nothing, and it
/// refuses a state without a level.
#[test]
fn a_default_state_stands_where_no_other_is_given_and_an_empty_one_is_none() {
    let test = "a_default_state_stands_where_no_other_is_given_and_an_empty_one_is_none";
    let Some((_folder, bundle)) = compiled(test, "state") else { return };
    let uri = "urn:hocket:test:state";
    let found = describe(&bundle, uri).unwrap();
    assert!(found.state && found.refusal.is_none(), "{found:?}");
    let level = |state: Option<&[u8]>| {
        let mut processor = build(&bundle, uri, &[], 48_000, state).unwrap();
        let silence = [vec![0.0; 64], vec![0.0; 64]];
        played(&mut *processor, &silence, &[64], &[])[0][63]
    };
    assert_eq!(level(None), 0.25);
    let mut host = TestHost::default();
    let mut processor = build(&bundle, uri, &[], 48_000, None).unwrap();
    processor.join(&mut host);
    let saved = State::from_bytes(&host.side.unwrap().save().unwrap()).unwrap();
    let [entry] = saved.entries.as_slice() else { panic!("{saved:?}") };
    let half = Entry { value: 0.5_f32.to_ne_bytes().to_vec(), ..entry.clone() };
    assert_eq!(level(Some(&State { entries: vec![half] }.to_bytes())), 0.5);
    assert_eq!(level(Some(&State::default().to_bytes())), 0.0);
}

#[test]
fn notes_reach_an_instrument_and_are_added() {
    let Some(mda) = bundle("notes_reach_an_instrument_and_are_added", "mda.lv2") else { return };
    let uri = "http://drobilla.net/plugins/mda/EPiano";
    let found = describe(&mda, uri).unwrap();
    assert!(found.events && found.refusal.is_none(), "{found:?}");
    let peak = |input: f32, note: bool| {
        let mut processor = build(&mda, uri, &[], 48_000, None).unwrap();
        let (mut left, mut right) = (vec![input; 4_000], vec![input; 4_000]);
        let mut events = EventBuffer::new(8, 0);
        if note {
            let on = EventKind::Note(Note::on(-1, 0, 60, 0.8));
            let _ = events.push(Event::new(10, Source::LIVE, on));
        }
        let mut block = Block::new(StereoMut { left: &mut left, right: &mut right });
        block.events_in = Some(&events);
        processor.process(&mut block);
        left.iter().fold(0.0_f32, |peak, sample| peak.max((sample - input).abs()))
    };
    assert_eq!(peak(0.25, false), 0.0, "what is there stays");
    assert!(peak(0.0, true) > 0.01);
}

#[test]
fn events_without_room_are_counted() {
    let Some(mda) = bundle("events_without_room_are_counted", "mda.lv2") else { return };
    let mut processor =
        build(&mda, "http://drobilla.net/plugins/mda/EPiano", &[], 48_000, None).unwrap();
    let mut host = TestHost::default();
    processor.join(&mut host);
    let lost_of = |notes: usize, processor: &mut dyn hocket_dsp::Processor| {
        let (mut left, mut right) = ([0.0; 64], [0.0; 64]);
        let mut events = EventBuffer::new(notes, 0);
        for _ in 0..notes {
            let on = EventKind::Note(Note::on(-1, 0, 60, 0.8));
            assert_ne!(events.push(Event::new(10, Source::LIVE, on)), Pushed::Refused);
        }
        let mut block = Block::new(StereoMut { left: &mut left, right: &mut right });
        block.events_in = Some(&events);
        processor.process(&mut block);
        std::mem::take(&mut *host.lost.lock().unwrap())
    };
    assert_eq!(lost_of(1_000, &mut *processor), 0);
    // 24 bytes each: 2730 would be 64 KiB, and note ends have some of it for themselves.
    let (lost, more) = (lost_of(4_000, &mut *processor), lost_of(4_001, &mut *processor));
    assert!(lost > 4_000 - 2_730, "{lost}");
    assert_eq!(more, lost + 1);
    assert_eq!(lost_of(10, &mut *processor), 0, "the next block has its room again");
}

#[test]
fn a_latency_port_is_read_before_the_first_block_and_after_each() {
    let test = "a_latency_port_is_read_before_the_first_block_and_after_each";
    let Some(folder) = bundle(test, "latency-swh.lv2") else { return };
    let uri = plugins(&folder).unwrap().remove(0);
    let mut processor = build(&folder, &uri, &[50.0], 48_000, None).unwrap();
    assert_eq!(processor.latency_frames(), 2_400);
    let mut host = TestHost::default();
    processor.join(&mut host);
    played(&mut *processor, &noise(256), &[64], &[change(0, 0, 10.0)]);
    assert_eq!(processor.latency_frames(), 480);
    assert_eq!(*host.latency.lock().unwrap(), Some(480));
}

#[test]
fn ranges_that_depend_on_the_rate_are_multiplied() {
    let test = "ranges_that_depend_on_the_rate_are_multiplied";
    let Some(folder) = bundle(test, "triple_para-swh.lv2") else { return };
    let uri = plugins(&folder).unwrap().remove(0);
    let found = describe(&folder, &uri).unwrap();
    let low = found.params.iter().find(|param| param.name == "fc_L").unwrap();
    assert!(low.per_rate && low.max <= 0.5, "{low:?}");
    assert_eq!(low.fit(1e9, 48_000), low.max * 48_000.0);
}

/// Why a plug-in of the system is refused.
fn refusal(test: &str, name: &str) -> Option<String> {
    let folder = bundle(test, name)?;
    describe(&folder, &plugins(&folder).unwrap()[0]).unwrap().refusal
}

#[test]
fn what_hocket_cannot_run_is_refused_with_the_reason() {
    let test = "what_hocket_cannot_run_is_refused_with_the_reason";
    if let Some(why) = refusal(test, "eg-params.lv2") {
        assert_eq!(why, "it has no audio output");
    }
    // Debian's library of this one lacks another library.
    if let Some(why) = refusal(test, "mbeq-swh.lv2") {
        assert_eq!(why, "it makes no instance: its library does not load, or it refuses");
    }
}

/// Keeps what a processor hands over.
#[derive(Default)]
struct TestHost {
    side: Option<Box<dyn MainSide>>,
    work: Option<Box<dyn BackgroundWork>>,
    latency: std::sync::Arc<std::sync::Mutex<Option<u32>>>,
    lost: std::sync::Arc<std::sync::Mutex<u64>>,
}

struct Requests;

impl WorkRequests for Requests {
    fn request(&mut self, _: &[u8]) -> Result<(), WorkRefused> {
        Ok(())
    }
}

struct Main(std::sync::Arc<std::sync::Mutex<Option<u32>>>, std::sync::Arc<std::sync::Mutex<u64>>);

impl MainRequests for Main {
    fn call(&mut self) {}

    fn latency_changed(&mut self, frames: u32) {
        *self.0.lock().unwrap() = Some(frames);
    }

    fn tail_changed(&mut self, _: u64) {}

    fn restart(&mut self) {}

    fn events_lost(&mut self, events: u64) {
        *self.1.lock().unwrap() += events;
    }
}

impl Host for TestHost {
    fn largest_block(&self) -> usize {
        1024
    }

    fn background(&mut self, work: Box<dyn BackgroundWork>, _: WorkRoom) -> Box<dyn WorkRequests> {
        self.work = Some(work);
        Box::new(Requests)
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        self.side = Some(side);
        Box::new(Main(self.latency.clone(), self.lost.clone()))
    }
}
