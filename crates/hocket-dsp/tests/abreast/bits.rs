//! The bits themselves, one number for each effect: x86-64 and AArch64 have to agree on it, and every kernel of either.
//!
//! They can agree because nothing is left to the system: effects add, multiply, divide and take roots as IEEE 754 says, and
//! Rust fuses none of these. Their elementary functions are the crate's own (`hocket_dsp::math`).
//!
//! Two effects of other crates are not here. `convolution` transforms with `rustfft`, whose factors come from the system's sine.
//! `soundfont` needs a file.
//!
//! Where an effect is to sound another way, its number changes. A test that fails prints the new ones.

use hocket_dsp::{BiquadCascade, Coefficients, Kind, Shape, TimedChange, kinds};
use hocket_time::{Event, EventBuffer, EventKind, Note, Pushed, Source};

use crate::common::{Stereo, known, stereo_noise};
use crate::kernel::Kernel;
use crate::sides::{
    FRAMES, Out, RATE_HZ, Side, abreast_of, anywhere, block, changes, eq, in_block, out_of, reading,
};
use crate::{TINY, hostile, switches};

const RATES_HZ: [u32; 3] = [44_100, RATE_HZ, 96_000];
const SEEDS: u32 = 8;

/// Of each effect that runs abreast: all [`pairs`] of it.
const PAIRS: [(&str, u64); 4] = [
    ("eq", 0x55ff_1987_f0ec_0324),
    ("compressor", 0x7127_6891_3f68_91ae),
    ("amp", 0xdaf1_0d50_1b21_c14d),
    ("correlation", 0x2245_8f25_ec86_6462),
];

/// Of each effect by itself, with what its meter shows, while all of its parameters move and notes come in.
const SINGLE: [(&str, u64); 13] = [
    ("gain", 0xbaef_1533_9cd0_a077),
    ("pan", 0xfa34_6c02_b66f_b304),
    ("tremolo", 0x356d_f6f8_33da_b76e),
    ("eq", 0xee48_e1bf_b933_dbc6),
    ("delay", 0x9a44_b159_6430_892c),
    ("freeverb", 0x3ebb_8a28_309a_e3ab),
    ("fdn", 0xb19f_4cad_c0a2_cc70),
    ("compressor", 0x3ec3_186c_c724_de95),
    ("limiter", 0xeb21_982a_375a_326e),
    ("gate", 0xdce1_cc4f_aff6_62df),
    ("amp", 0x9314_405c_37e6_42b0),
    ("correlation", 0x336e_be72_00a0_ba82),
    ("synth", 0x36e1_59f2_7218_ec8e),
];

/// Of a cascade of 21 sections: wide vectors take sixteen of them together, narrow ones four, and one is left.
const CASCADE: u64 = 0x77b1_293a_1c60_ebf9;

/// A number for bits in their order (FNV-1a, a word at a time).
struct Digest(u64);

impl Digest {
    fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    fn word(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x100_0000_01b3);
    }

    /// Samples that are numbers: signs and payloads of others are the processor's business, and they would hide what follows.
    fn row(&mut self, row: &[f32]) {
        assert!(row.iter().all(|sample| sample.is_finite()), "a sample is no number");
        row.iter().for_each(|sample| self.word(sample.to_bits()));
    }

    fn out(&mut self, out: &Out) {
        out.rows.rows().into_iter().for_each(|row| self.row(row));
        out.reading.into_iter().for_each(|reading| self.word(reading));
    }
}

/// Settings of a kind somewhere in their ranges. What is fixed is the same for two seeds, so that their kernel runs.
fn settings(kind: &Kind, seed: u32) -> Vec<f32> {
    if kind.name == "eq" {
        return eq(4, seed);
    }
    let (mut values, first) = (anywhere(kind.name, seed), anywhere(kind.name, seed / 2));
    for ((value, first), param) in values.iter_mut().zip(first).zip(kind.params) {
        *value = if param.fixed { first } else { *value };
    }
    values
}

/// Noise with numbers that are hardly any, then a loud one and silence, so that tails end.
fn with_a_tail(seed: u32) -> Stereo {
    let mut input = hostile(seed, &[&TINY[..], &[1e18]].concat());
    input.left[2000..].fill(0.0);
    input.right[2100..].fill(0.0);
    input
}

/// One of a pair: at rest, moving, with a bypass that is switched, or with a tail while it moves.
fn side(name: &str, seed: u32, turn: u32, rate_hz: u32) -> Side {
    let input = if turn == 3 { with_a_tail(seed) } else { stereo_noise(FRAMES, seed) };
    let side = Side::at_rate(name, settings(known(name), seed), input, rate_hz);
    match turn {
        0 => side,
        2 => side.bypassed(false).with(switches(seed)),
        _ => side.with(changes(name, seed)),
    }
}

fn pairs(name: &str) -> Vec<[Side; 2]> {
    let pair = |rate_hz: u32, seed: u32| {
        let one = side(name, 2 * seed, seed % 4, rate_hz);
        [one, side(name, 2 * seed + 1, seed / 2 % 4, rate_hz)]
    };
    RATES_HZ
        .into_iter()
        .flat_map(|rate_hz| (0..SEEDS).map(move |seed| pair(rate_hz, seed)))
        .collect()
}

/// Compares tables, and prints what would be right.
fn assert_table(got: &[(&str, u64)], expected: &[(&str, u64)], what: &str) {
    let rows: Vec<String> =
        got.iter().map(|(name, bits)| format!("    (\"{name}\", {bits:#018x}),")).collect();
    assert!(got == expected, "{what}: other bits than before. These are:\n{}", rows.join("\n"));
}

#[test]
fn every_processor_and_every_kernel_puts_out_these_bits_abreast() {
    let digests = |outs: &dyn Fn([&Side; 2]) -> [Out; 2]| {
        PAIRS.map(|(name, _)| {
            let mut digest = Digest::new();
            for [one, other] in &pairs(name) {
                outs([one, other]).iter().for_each(|out| digest.out(out));
            }
            (name, digest.0)
        })
    };
    assert_table(&digests(&|sides| sides.map(out_of)), &PAIRS, "each by itself");
    for kernel in Kernel::all() {
        let abreast = digests(&|sides| abreast_of(kernel, sides, &[64]).0);
        assert_table(&abreast, &PAIRS, &format!("{kernel:?}"));
    }
}

/// Chords that overlap, for effects that play notes.
fn notes() -> Vec<(u32, EventKind)> {
    let note = |n: u32| {
        let key = (36 + 7 * n % 60) as i8;
        let id = n as i32;
        let begin = Note::on(id, 0, key, 0.3 + 0.05 * f64::from(n));
        let end = Note::off(id, 0, key, 0.0);
        [(150 * n, EventKind::Note(begin)), (150 * n + 900, EventKind::Note(end))]
    };
    let mut notes: Vec<_> = (0..12).flat_map(note).collect();
    notes.sort_by_key(|(frame, _)| *frame);
    notes
}

/// An effect that hears notes, with parameters that move, in blocks of 64 frames.
fn single(kind: &Kind, seed: u32, rate_hz: u32) -> Out {
    let mut processor = (kind.build)(&anywhere(kind.name, seed), rate_hz);
    let mut out = stereo_noise(FRAMES, seed);
    let (changes, notes) = (changes(kind.name, seed), notes());
    let mut heard = EventBuffer::new(100, 0);
    for start in (0..FRAMES).step_by(64) {
        let end = (start + 64).min(FRAMES);
        heard.clear();
        let inside = |frame: u32| (start..end).contains(&(frame as usize));
        for (frame, kind) in notes.iter().filter(|(frame, _)| inside(*frame)) {
            let event = Event::new(frame - start as u32, Source::edge(0), *kind);
            assert_eq!(heard.push(event), Pushed::Stored);
        }
        let events: Vec<TimedChange> = in_block(&changes, start, end);
        let mut block = block(&mut out, start, end, &events);
        block.events_in = Some(&heard);
        processor.process(&mut block);
    }
    Out { rows: out, reading: reading(&*processor) }
}

#[test]
fn every_processor_puts_out_these_bits_of_every_effect() {
    let digest = |kind: &'static Kind| {
        let mut digest = Digest::new();
        for rate_hz in RATES_HZ {
            for seed in 0..SEEDS {
                digest.out(&single(kind, seed, rate_hz));
            }
        }
        (kind.name, digest.0)
    };
    let found: Vec<(&str, u64)> = kinds().iter().map(digest).collect();
    assert_table(&found, &SINGLE, "each by itself");
}

#[test]
fn every_processor_puts_out_these_bits_of_a_cascade() {
    let section = |n: u32| {
        let shape = [Shape::Peaking, Shape::LowShelf, Shape::HighShelf][n as usize % 3];
        let freq_hz = 40.0 * f64::from(n + 1) * f64::from(n + 1);
        Coefficients::design(shape, freq_hz, 0.7, 2.0 - f64::from(n % 5), f64::from(RATE_HZ))
    };
    let sections: Vec<Coefficients> = (0..21).map(section).collect();
    for kernel in Kernel::all() {
        let mut cascade = BiquadCascade::with_kernel(&sections, kernel.of_cascades());
        let mut out = stereo_noise(FRAMES, 7);
        for start in (0..FRAMES).step_by(64) {
            let part = start..(start + 64).min(FRAMES);
            cascade.process_stereo(&mut out.left[part.clone()], &mut out.right[part]);
        }
        let mut digest = Digest::new();
        out.rows().into_iter().for_each(|row| digest.row(row));
        assert_table(&[("cascade", digest.0)], &[("cascade", CASCADE)], &format!("{kernel:?}"));
    }
}
