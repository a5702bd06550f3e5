//! Work that a processor of the host spreads.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::*;
use hocket_c::spread::*;

const VOICES: usize = 9;

/// Voices with a state each, one pass per voice.
#[derive(Default)]
struct Synth {
    /// As bits. Each pass has its own.
    voices: [AtomicU32; VOICES],
    passes: AtomicU64,
}

unsafe extern "C" fn voice(user: *mut c_void, pass: u32) {
    // SAFETY: told: the synthesizer outlives the engine.
    let synth = unsafe { &*user.cast::<Synth>() };
    let place = &synth.voices[pass as usize];
    let next = f32::from_bits(place.load(Relaxed)) * 0.9 + 0.1 / (pass + 1) as f32;
    place.store(next.to_bits(), Relaxed);
    synth.passes.fetch_add(1, Relaxed);
}

unsafe extern "C" fn all_voices(user: *mut c_void, block: *const Block) {
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_block_spread(block, 0, Some(voice), null_mut()), Status::Ok, "no pass");
        assert_eq!(hocket_block_spread(block, 1, None, user), Status::BadInput);
        assert_eq!(hocket_block_spread(block, VOICES as u32, Some(voice), user), Status::Ok);
        let synth = &*user.cast::<Synth>();
        let sum: f32 = synth.voices.iter().map(|voice| f32::from_bits(voice.load(Relaxed))).sum();
        for row in [(*block).left, (*block).right] {
            std::slice::from_raw_parts_mut(row, (*block).frames as usize).fill(sum);
        }
    }
}

/// Three synthesizers side by side: their loops meet in one place.
fn sound(schedule: &CStr, workers: u32) -> Vec<u32> {
    const BLOCKS: usize = 200;
    let synths: [Synth; 3] = Default::default();
    // SAFETY: told: the synthesizers outlive the engine.
    let heard = unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        for synth in &synths {
            let processor = Processor {
                user: std::ptr::from_ref(synth).cast_mut().cast(),
                process: Some(all_voices),
                cost: 50.0,
                ..Processor::default()
            };
            hocket_graph_add_node(graph, c"synth".as_ptr(), &processor, none);
        }
        let sum = hocket_graph_add_node(graph, c"sum".as_ptr(), null(), none);
        for (from, gain_lin) in [(0, 1.0), (1, 0.5), (2, 0.25)] {
            assert_eq!(hocket_graph_add_edge(graph, from, sum, gain_lin, none), Status::Ok);
        }
        let settings = Settings { schedule: schedule.as_ptr(), workers, ..settings() };
        let (engine, text) = told(|error| hocket_engine_start_graph(graph, &settings, error));
        assert!(!engine.is_null(), "{text}");
        let heard = (0..BLOCKS).map(|_| process(engine, 64).1[63].to_bits()).collect();
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
        heard
    };
    for synth in &synths {
        assert_eq!(synth.passes.load(Relaxed), (VOICES * BLOCKS) as u64);
    }
    heard
}

#[test]
fn spread_work_has_the_same_bits_whoever_does_it() {
    let expected = sound(c"serial", 1);
    for schedule in [c"dataflow", c"steal", c"lists"] {
        assert_eq!(sound(schedule, 0), expected, "{schedule:?}");
    }
}

#[test]
fn work_cannot_be_spread_without_a_block() {
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_block_spread(null(), 3, Some(voice), null_mut()), Status::BadInput);
    }
}
