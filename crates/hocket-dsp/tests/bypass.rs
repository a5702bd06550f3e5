//! What an effect in a [`Bypass`] gets: the same changes and the same song time as without it.

mod common;

use common::{event, run_with, stereo_noise};
use hocket_dsp::{Block, Bypass, Change, Processor, StereoMut};
use hocket_time::{BlockTime, TempoMap, TimedCommand, Transport, TransportCommand};

/// More than a piece of a block has room for otherwise.
const PARAMS: usize = 700;

/// Adds all its parameters to the input.
struct Many(Vec<f32>);

impl Processor for Many {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut events = block.events.iter().peekable();
        for frame in 0..block.frames() {
            while let Some(event) = events.next_if(|event| event.frame as usize <= frame) {
                let Change::Param { index, value } = event.change;
                self.0[usize::from(index)] = value;
            }
            block.main.left[frame] = self.0.iter().sum();
        }
    }

    fn reset(&mut self) {}
}

/// Adds the changes that belong to its frames. Others are lost, as in a CLAP plug-in.
#[derive(Default)]
struct Strict(f32);

impl Processor for Strict {
    fn process(&mut self, block: &mut Block<'_>) {
        for frame in 0..block.frames() {
            let due = block.events.iter().filter(|event| event.frame as usize == frame);
            self.0 += due
                .map(|event| {
                    let Change::Param { value, .. } = event.change;
                    value
                })
                .sum::<f32>();
            block.main.left[frame] = self.0;
        }
    }

    fn reset(&mut self) {}
}

#[test]
fn changes_that_find_no_room_come_with_the_next_piece() {
    let at = |frame: u32| (0..200).map(move |n| event(frame, n, 1.0));
    let switch = event(100, Bypass::PARAM, 0.0);
    let events: Vec<_> =
        at(10).chain([switch]).chain(at(100)).chain(at(101)).chain(at(255)).collect();
    let input = stereo_noise(512, 1);
    let mut wrapped = Bypass::new(Box::<Strict>::default(), 48_000, false).with_params(200);
    let got = run_with(&mut wrapped, &input, None, &[512], &events);
    let bare = run_with(&mut Strict::default(), &input, None, &[512], &events);
    assert_eq!(bare.left[511], 800.0);
    assert_eq!(got.left, bare.left);
}

#[test]
fn as_many_changes_as_there_are_parameters_arrive_at_one_frame() {
    let many = || Box::new(Many(vec![0.0; PARAMS]));
    let at = |frame: u32, value: f32| (0..PARAMS as u16).map(move |n| event(frame, n, value));
    // Each of them twice at one frame, where the last one counts, and then at the last frame of a block.
    let events: Vec<_> = at(300, 9.0).chain(at(300, 1.0)).chain(at(1023, 2.0)).collect();
    let input = stereo_noise(2048, 1);
    let mut wrapped = Bypass::new(many(), 48_000, false).with_params(PARAMS);
    let got = run_with(&mut wrapped, &input, None, &[1024], &events);
    assert_eq!((got.left[299], got.left[300]), (0.0, PARAMS as f32));
    assert_eq!((got.left[1022], got.left[1023]), (PARAMS as f32, 2.0 * PARAMS as f32));
    assert_eq!(got.bits(), run_with(&mut *many(), &input, None, &[1024], &events).bits());
}

/// Plays where the song is, how long the engine has run, and where it jumped.
struct Clock;

impl Processor for Clock {
    fn process(&mut self, block: &mut Block<'_>) {
        let time = block.time.expect("it keeps time");
        assert_eq!(time.frames() as usize, block.frames());
        for frame in 0..block.frames() {
            let segment = time.segment_at(frame as u32);
            let jumps = segment.jumped && segment.offset as usize == frame;
            block.main.left[frame] = time.beats_at(frame as u32) as f32;
            block.main.right[frame] =
                (time.steady_frame + frame as u64) as f32 + if jumps { 0.5 } else { 0.0 };
        }
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn reset(&mut self) {}
}

#[test]
fn song_time_is_that_of_the_block() {
    let play = |clock: &mut dyn Processor| {
        assert!(clock.keeps_time());
        let map = TempoMap::constant(48_000, 133.0).unwrap();
        let mut transport = Transport::new();
        for (at_steady, command) in
            [(100, TransportCommand::Play), (700, TransportCommand::Locate(7))]
        {
            transport.schedule(TimedCommand { at_steady, command }).unwrap();
        }
        let (mut steady_frame, mut rows) = (0, [Vec::new(), Vec::new()]);
        for frames in [1024, 300, 1, 513] {
            let segments = transport.next_block(frames);
            let time = BlockTime { steady_frame, segments: &segments, map: &map };
            let mut block = [vec![0.0; frames as usize], vec![0.0; frames as usize]];
            let [left, right] = &mut block;
            let main = StereoMut { left, right };
            clock.process(&mut Block { time: Some(&time), ..Block::new(main) });
            rows.iter_mut().zip(&block).for_each(|(row, block)| row.extend_from_slice(block));
            steady_frame += u64::from(frames);
        }
        rows
    };
    let bare = play(&mut Clock);
    assert_eq!(bare[1].iter().filter(|at| at.fract() != 0.0).count(), 1, "one jump");
    assert_eq!(play(&mut Bypass::new(Box::new(Clock), 48_000, false)), bare);
}
