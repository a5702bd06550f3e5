//! SoundFonts: what is read twice is equal, an error says where, and what is accepted can be played.

use std::io::Cursor;
use std::sync::Arc;

use hocket_engine::time::{Event, EventBuffer, EventKind, Midi1, Source};
use hocket_engine::{Block, StereoMut};
use hocket_soundfont::{PARAMS, SoundFont, instrument};

const RATE_HZ: u32 = 48_000;
const FRAMES: usize = 64;
const BLOCKS: usize = 6;
/// Presets that are played, of each file.
const PLAYED: usize = 4;

pub fn check(bytes: &[u8]) {
    let read = || SoundFont::read(Cursor::new(bytes));
    match (read(), read()) {
        (Ok(font), Ok(again)) => {
            assert_eq!(font.presets(), again.presets());
            assert!(!font.presets().is_empty() && font.sample_bytes() <= bytes.len() as u64);
            let font = Arc::new(font);
            assert_eq!(play(&font, FRAMES), play(&font, 1));
        }
        (Err(error), Err(again)) => {
            assert_eq!(error, again);
            assert!(!error.cause().is_empty() && !error.remedy().is_empty());
        }
        _ => panic!("a file is right once and wrong once"),
    }
}

/// The bits of what the first presets play, in blocks of so many frames.
fn play(font: &Arc<SoundFont>, frames: usize) -> Vec<u32> {
    let mut bits = Vec::new();
    for preset in font.presets().iter().take(PLAYED) {
        let values: Vec<f32> = PARAMS
            .iter()
            .map(|param| match param.name {
                "bank" => param.clamp(f32::from(preset.bank)),
                "program" => param.clamp(f32::from(preset.program)),
                "voices" => 8.0,
                _ => param.default,
            })
            .collect();
        let mut instrument = instrument(font, &values, RATE_HZ);
        let mut events = EventBuffer::new(64, 0);
        for begin in (0..BLOCKS * FRAMES).step_by(frames) {
            events.clear();
            for (at, message) in heard() {
                if (begin..begin + frames).contains(&at) {
                    let at = (at - begin) as u32;
                    _ = events.push(Event::new(at, Source::edge(0), EventKind::Midi(message)));
                }
            }
            let (mut left, mut right) = (vec![0.0; frames], vec![0.0; frames]);
            let main = StereoMut { left: &mut left, right: &mut right };
            instrument.process(&mut Block { events_in: Some(&events), ..Block::new(main) });
            assert!(left.iter().chain(&right).all(|sample| sample.is_finite()));
            bits.extend(left.iter().zip(&right).flat_map(|(a, b)| [a.to_bits(), b.to_bits()]));
        }
    }
    bits
}

/// Notes high and low, a pedal, a bend, and the end of all.
fn heard() -> impl Iterator<Item = (usize, Midi1)> {
    let messages: [(usize, [u8; 3]); 9] = [
        (0, [0x90, 60, 100]),
        (3, [0x90, 0, 1]),
        (40, [0x90, 127, 127]),
        (70, [0xb0, 64, 127]),
        (90, [0x80, 60, 0]),
        (100, [0xe0, 0, 127]),
        (130, [0x90, 60, 64]),
        (200, [0xb0, 64, 0]),
        (250, [0xb0, 123, 0]),
    ];
    messages.into_iter().filter_map(|(at, bytes)| Some((at, Midi1::new(&bytes).ok()?)))
}
