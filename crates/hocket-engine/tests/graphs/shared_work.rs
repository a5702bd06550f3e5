//! What nodes of the model do besides their own work: loops that workers share, and work beside the blocks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_engine::Block;
use hocket_engine::host::{BackgroundWork, Host, WorkAnswers, WorkRequests, WorkRoom};

use super::FRAMES;

/// What a node does with its main channels besides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Besides {
    Nothing,
    /// One pass per channel, which workers share.
    Spreads,
    /// Work in the background on every [`FRAMES`] frames.
    Asks,
}

/// A filter for each channel, with a pass of its own.
#[derive(Default)]
pub struct Voices {
    /// As bits, by channel.
    states: Vec<AtomicU32>,
    /// By channel and frame.
    heard: Vec<Vec<f32>>,
    /// As bits, by channel and frame.
    played: Vec<Vec<AtomicU32>>,
}

impl Voices {
    pub fn new(channels: usize) -> Voices {
        let zero = |_| AtomicU32::new(0);
        Voices {
            states: (0..channels).map(zero).collect(),
            heard: vec![vec![0.0; FRAMES]; channels],
            played: (0..channels).map(|_| (0..FRAMES).map(zero).collect()).collect(),
        }
    }

    fn frame(state: &AtomicU32, sample: f32) -> f32 {
        let next = f32::from_bits(state.load(Relaxed)) * 0.5 + sample;
        state.store(next.to_bits(), Relaxed);
        next
    }

    /// What a block becomes, by passes.
    pub fn spread(&mut self, block: &mut Block<'_>) {
        let frames = block.frames();
        for (channel, heard) in self.heard.iter_mut().enumerate() {
            heard[..frames].copy_from_slice(&block.channel_mut(channel)[..frames]);
        }
        let Voices { states, heard, played } = &*self;
        block.spread(states.len() as u32, &|pass| {
            let channel = pass as usize;
            for (sample, played) in heard[channel][..frames].iter().zip(&played[channel]) {
                played.store(Voices::frame(&states[channel], *sample).to_bits(), Relaxed);
            }
        });
        for (channel, played) in played.iter().enumerate() {
            let row = block.channel_mut(channel)[..frames].iter_mut();
            row.zip(played).for_each(|(sample, it)| *sample = f32::from_bits(it.load(Relaxed)));
        }
    }

    /// What a frame becomes.
    pub fn alone(&self, main: &mut [f32]) {
        let samples = main.iter_mut().zip(&self.states);
        samples.for_each(|(sample, state)| *sample = Voices::frame(state, *sample));
    }

    pub fn reset(&mut self) {
        self.states.iter().for_each(|state| state.store(0, Relaxed));
    }
}

/// Cuts what it hears into chunks of [`FRAMES`] frames. What becomes of a chunk plays as long after its end: an answer comes
/// with the next block, and no block is longer.
#[derive(Default)]
pub struct Chunks {
    frame: usize,
    /// The chunk that is not complete, frame by frame.
    chunk: Vec<f32>,
    answers: VecDeque<Vec<f32>>,
    /// The answer that plays.
    playing: Vec<f32>,
    requests: Option<Box<dyn WorkRequests>>,
}

impl Chunks {
    pub fn join(&mut self, host: &mut dyn Host) {
        let room = WorkRoom { messages: 4, bytes: 2 * 4 * FRAMES, outlives_reset: false };
        self.requests = Some(host.background(Box::new(Answers), room));
    }

    pub fn answered(&mut self, answer: &[u8]) {
        self.answers.push_back(samples(answer));
    }

    /// Goes on by a frame, and returns a chunk that is complete.
    fn frame(&mut self, main: &mut [f32]) -> Option<Vec<f32>> {
        if self.frame.is_multiple_of(FRAMES) && self.frame >= 2 * FRAMES {
            // Without an answer it is silent, and the bits differ.
            self.playing = self.answers.pop_front().unwrap_or_default();
        }
        let at = self.frame % FRAMES * main.len();
        self.chunk.extend_from_slice(main);
        for (channel, sample) in main.iter_mut().enumerate() {
            *sample = self.playing.get(at + channel).copied().unwrap_or(0.0);
        }
        self.frame += 1;
        self.frame.is_multiple_of(FRAMES).then(|| std::mem::take(&mut self.chunk))
    }

    /// What a block of two channels becomes, with work in the background.
    pub fn ask(&mut self, block: &mut Block<'_>) {
        for i in 0..block.frames() {
            let mut main = [block.main.left[i], block.main.right[i]];
            if let Some(chunk) = self.frame(&mut main) {
                let request: Vec<u8> = chunk.iter().flat_map(|it| it.to_le_bytes()).collect();
                self.requests.as_mut().unwrap().request(&request).unwrap();
            }
            [block.main.left[i], block.main.right[i]] = main;
        }
    }

    /// What a frame becomes.
    pub fn alone(&mut self, main: &mut [f32]) {
        let complete = self.frame(main);
        self.answers.extend(complete.map(|chunk| answer(&chunk)));
    }

    pub fn reset(&mut self) {
        *self = Chunks { requests: self.requests.take(), ..Chunks::default() };
    }
}

/// The work in the background.
struct Answers;

impl BackgroundWork for Answers {
    fn work(&mut self, request: &[u8], answers: &mut dyn WorkAnswers) {
        let answer = answer(&samples(request));
        let bytes: Vec<u8> = answer.iter().flat_map(|it| it.to_le_bytes()).collect();
        answers.answer(&bytes).unwrap();
    }
}

/// A chunk of two channels, on top of its last frame.
fn answer(chunk: &[f32]) -> Vec<f32> {
    let last = &chunk[chunk.len() - 2..];
    chunk.iter().enumerate().map(|(at, sample)| sample * 0.5 + last[at % 2] * 0.25).collect()
}

fn samples(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}
