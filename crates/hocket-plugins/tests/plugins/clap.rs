//! CLAP: the tests' own plug-in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use hocket_dsp::host::{
    BackgroundWork, Host, MainRequests, MainSide, WorkRefused, WorkRequests, WorkRoom,
};
use hocket_dsp::{Block, Change, Helpers, StereoMut, TimedChange};
use hocket_plugins::clap::{build, describe, plugins};

use crate::common::{bits, noise, played, test_clap};

const ID: &str = "test.hocket.gain";

fn gain(frame: u32, value: f32) -> TimedChange {
    TimedChange { frame, change: Change::Param { index: 0, value } }
}

#[test]
fn a_plug_in_describes_itself() {
    let Some(file) = test_clap("a_plug_in_describes_itself") else { return };
    assert_eq!(plugins(&file).unwrap(), [ID]);
    let found = describe(&file, ID).unwrap();
    assert_eq!((found.title.as_str(), found.refusal), ("Test gain", None));
    let names: Vec<&str> = found.params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(names, ["output_gain", "delay"]);
    assert!(found.state && !found.events);
    assert_eq!(found.layout.instances(), 1);
}

#[test]
fn values_change_at_their_frames_whatever_the_blocks() {
    let Some(file) = test_clap("values_change_at_their_frames_whatever_the_blocks") else { return };
    let sound = noise(10_000);
    for lengths in [&[64][..], &[1, 7, 300], &[9_000]] {
        let mut processor = build(&file, ID, &[0.5], 48_000, None).unwrap();
        let made = played(&mut *processor, &sound, lengths, &[gain(777, 2.0), gain(5_000, 0.25)]);
        for (frame, (made, sound)) in made[1].iter().zip(&sound[1]).enumerate() {
            let gain = if frame < 777 {
                0.5
            } else if frame < 5_000 {
                2.0
            } else {
                0.25
            };
            assert_eq!(*made, sound * gain, "frame {frame}");
        }
    }
}

#[test]
fn the_latency_follows_the_values() {
    let Some(file) = test_clap("the_latency_follows_the_values") else { return };
    let sound = noise(3_000);
    let mut processor = build(&file, ID, &[1.0, 480.0], 48_000, None).unwrap();
    assert_eq!(processor.latency_frames(), 480);
    let made = played(&mut *processor, &sound, &[333], &[]);
    assert_eq!(made[0][480..], sound[0][..3_000 - 480]);
    assert!(made[0][..480].iter().all(|sample| *sample == 0.0));
    processor.reset();
    assert_eq!(bits(&played(&mut *processor, &sound, &[100], &[])), bits(&made));
}

#[test]
fn a_state_comes_back_and_a_bad_one_is_refused() {
    let Some(file) = test_clap("a_state_comes_back_and_a_bad_one_is_refused") else { return };
    let mut host = TestHost(None);
    let mut processor = build(&file, ID, &[0.5, 100.0], 48_000, None).unwrap();
    processor.join(&mut host);
    let side = host.0.as_mut().unwrap();
    let saved = side.save().unwrap();
    // With the state, default values do not overwrite what it holds.
    let mut again = build(&file, ID, &[1.0, 0.0], 48_000, Some(&saved)).unwrap();
    assert_eq!(again.latency_frames(), 100);
    let sound = noise(1_000);
    let expected = bits(&played(&mut *processor, &sound, &[64], &[]));
    assert_eq!(bits(&played(&mut *again, &sound, &[64], &[])), expected);
    let mut made = side.load(&saved).unwrap();
    processor.exchange(&mut *made);
    drop(made);
    assert_eq!(bits(&played(&mut *processor, &sound, &[64], &[])), expected);
    let refused = build(&file, ID, &[], 48_000, Some(b"no")).err().unwrap();
    assert_eq!(refused, "the plug-in refuses the state");
}

#[test]
fn a_state_that_asks_for_other_ports_is_refused() {
    let Some(file) = test_clap("a_state_that_asks_for_other_ports_is_refused") else { return };
    let state = [1.0_f32, 2_000.0].map(f32::to_le_bytes).concat();
    let refused = build(&file, ID, &[], 48_000, Some(&state)).err().unwrap();
    assert_eq!(refused, "its state asks for other ports");
    let mut host = TestHost(None);
    let mut processor = build(&file, ID, &[0.5], 48_000, None).unwrap();
    processor.join(&mut host);
    let refused = host.0.as_mut().unwrap().load(&state).err().unwrap();
    assert_eq!(refused.to_string(), "its state asks for other ports");
    let sound = noise(100);
    assert_eq!(played(&mut *processor, &sound, &[64], &[])[1][99], sound[1][99] * 0.5);
}

#[test]
fn events_without_room_are_counted() {
    let Some(file) = test_clap("events_without_room_are_counted") else { return };
    let mut processor = build(&file, ID, &[0.5], 48_000, None).unwrap();
    let lost = Arc::new(AtomicU64::new(0));
    let mut host = Counting(Arc::clone(&lost));
    processor.join(&mut host);
    let changes: Vec<TimedChange> =
        (0..1_100).map(|n| gain(n / 20, 0.5 + n as f32 / 2_000.0)).collect();
    played(&mut *processor, &noise(64), &[64], &changes[..1_024]);
    assert_eq!(lost.load(Relaxed), 0);
    let sound = noise(64);
    let made = played(&mut *processor, &sound, &[64], &changes);
    assert_eq!(lost.load(Relaxed), 76);
    assert_eq!(made[0][63], sound[0][63] * (0.5 + 1_023.0 / 2_000.0), "the first ones stand");
}

/// Threads that take passes from one another, and how many passes they ran.
#[derive(Debug)]
struct Crew {
    threads: u32,
    ran: AtomicU32,
}

impl Helpers for Crew {
    fn share(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) {
        let next = AtomicU32::new(0);
        let work = || {
            while let Some(pass) = Some(next.fetch_add(1, Relaxed)).filter(|pass| *pass < passes) {
                body(pass);
                self.ran.fetch_add(1, Relaxed);
            }
        };
        std::thread::scope(|threads| {
            (0..self.threads).for_each(|_| _ = threads.spawn(work));
        });
    }
}

/// The plug-in fails, and puts out silence, where a task did not run, or ran on a thread that the host took for another one.
#[test]
fn tasks_of_a_plug_in_run_on_threads_that_help() {
    let Some(file) = test_clap("tasks_of_a_plug_in_run_on_threads_that_help") else { return };
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("pools.clap");
    std::fs::copy(file, &library).unwrap();
    let sound = noise(6_000);
    let made = |crew: Option<&Crew>| {
        let mut processor = build(&library, ID, &[0.5], 48_000, None).unwrap();
        let [mut left, mut right] = sound.clone();
        // The first block is two runs of the plug-in.
        for (at, end) in [(0, 5_000), (5_000, 5_001), (5_001, 6_000)] {
            let main = StereoMut { left: &mut left[at..end], right: &mut right[at..end] };
            let mut block = Block::new(main);
            block.helpers = crew.map(|crew| crew as &dyn Helpers);
            processor.process(&mut block);
        }
        [left, right]
    };
    let alone = made(None);
    assert!(alone.iter().flatten().all(|sample| *sample != 0.0), "it failed");
    assert_ne!(bits(&alone), bits(&sound.clone().map(|row| row.iter().map(|s| s * 0.5).collect())));
    for threads in [1, 2, 5] {
        let crew = Crew { threads, ran: AtomicU32::new(0) };
        assert_eq!(bits(&made(Some(&crew))), bits(&alone), "{threads} threads");
        assert_eq!(crew.ran.into_inner(), 4 * 8, "{threads} threads");
    }
}

/// Counts what finds no room.
struct Counting(Arc<AtomicU64>);

impl MainRequests for Counting {
    fn call(&mut self) {}

    fn latency_changed(&mut self, _: u32) {}

    fn tail_changed(&mut self, _: u64) {}

    fn restart(&mut self) {}

    fn events_lost(&mut self, events: u64) {
        self.0.fetch_add(events, Relaxed);
    }
}

impl Host for Counting {
    fn largest_block(&self) -> usize {
        1024
    }

    fn background(&mut self, _: Box<dyn BackgroundWork>, _: WorkRoom) -> Box<dyn WorkRequests> {
        Box::new(Nothing)
    }

    fn main_side(&mut self, _: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        Box::new(Counting(Arc::clone(&self.0)))
    }
}

struct TestHost(Option<Box<dyn MainSide>>);

struct Nothing;

impl WorkRequests for Nothing {
    fn request(&mut self, _: &[u8]) -> Result<(), WorkRefused> {
        Ok(())
    }
}

impl MainRequests for Nothing {
    fn call(&mut self) {}

    fn latency_changed(&mut self, _: u32) {}

    fn tail_changed(&mut self, _: u64) {}

    fn restart(&mut self) {}
}

impl Host for TestHost {
    fn largest_block(&self) -> usize {
        1024
    }

    fn background(&mut self, _: Box<dyn BackgroundWork>, _: WorkRoom) -> Box<dyn WorkRequests> {
        Box::new(Nothing)
    }

    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests> {
        self.0 = Some(side);
        Box::new(Nothing)
    }
}
