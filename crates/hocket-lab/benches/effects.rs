//! What built-in effects cost: `cargo bench --bench effects -- [--record FILE [--force]]`.
//!
//! - Each kind with its defaults: nanoseconds per stereo frame, blocks of 64 frames of noise, caches warm.
//! - The equaliser against the same sections with their state side by side, left then right ([side][sum]), as it was
//!   before; in turns of one run, in random order, with the equaliser a second time as its twin. Both forms give the
//!   same bits, which is checked first.
//! - The equaliser in blocks of several lengths, in the same manner. Long blocks go as a wave, short ones frame by frame.
//! - A cascade of 32 sections, the filter of a voice, with four sections at a time, as on every CPU, and with the instructions
//!   of this one; in the same manner.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use hocket_dsp::segment::{SegmentEffect, Segmented};
use hocket_dsp::{
    BiquadCascade, Block, CascadeKernel, Coefficients, Kind, Param, Processor, Shape, StereoMut,
    StereoRef, kind, kinds, math,
};
use hocket_engine::cascade_kernel;
use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_lab::stats::{self, Rng};
use serde_json::{Value, json};

const FRAMES: usize = 64;
const RATE_HZ: u32 = 48_000;
const SEED: u64 = 1;

fn main() -> ExitCode {
    bench_exit("effects", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let size = match command.measures() {
        true => Size { rounds: 60, blocks: 500 },
        false => Size { rounds: 6, blocks: 5 },
    };
    let equaliser = equalisers(&size)?;
    let lengths = block_lengths(&size)?;
    let cascade = cascades(&size)?;
    let effects = every_kind(&size);
    let result = json!({
        "frames": FRAMES, "equaliser": equaliser, "equaliser_lengths": lengths,
        "cascade": cascade, "effects": effects,
    });
    command.keep("hocket-effects/1", result)
}

/// How much is measured.
struct Size {
    rounds: usize,
    /// Blocks of one turn.
    blocks: usize,
}

// --- every kind ---------------------------------------------------------------

fn every_kind(size: &Size) -> Vec<Value> {
    println!("nanoseconds per stereo frame, median of {} turns", size.rounds);
    let mut all: Vec<(&Kind, Box<dyn Processor>, Vec<f64>)> = Vec::new();
    for kind in kinds() {
        all.push((kind, (kind.build)(&kind.defaults(), RATE_HZ), Vec::new()));
    }
    let (mut rng, mut sound) = (Rng::new(SEED), Sound::new(FRAMES));
    for _ in 0..size.rounds {
        let mut order: Vec<usize> = (0..all.len()).collect();
        rng.shuffle(&mut order);
        for which in order {
            let (_, effect, ns) = &mut all[which];
            ns.push(turn(effect.as_mut(), &mut sound, size.blocks));
        }
    }
    let row = |(kind, _, ns): (&Kind, Box<dyn Processor>, Vec<f64>)| {
        println!("{:<12} {:>8.2}", kind.name, stats::median(&ns).unwrap_or(f64::NAN));
        json!({"kind": kind.name, "ns_per_frame": ns})
    };
    all.into_iter().map(row).collect()
}

// --- the equaliser in two forms -------------------------------------------------

fn equalisers(size: &Size) -> Result<Value, String> {
    let names = ["sides apart", "equaliser", "equaliser again"];
    let rivals: [Box<dyn Processor>; 3] =
        [Box::new(Segmented::<SidesApart>::new(&[], RATE_HZ)), equaliser(), equaliser()];
    println!("equaliser of four bands, nanoseconds per stereo frame; {}", stats::ONE_START);
    let ns = contest(size, names, rivals)?;
    ratio("equaliser / sides apart", &ns[0], &ns[1])?;
    ratio("the same twice", &ns[1], &ns[2])?;
    let [apart, one, again] = ns;
    Ok(json!({"sides_apart_ns": apart, "equaliser_ns": one, "equaliser_again_ns": again}))
}

fn equaliser() -> Box<dyn Processor> {
    let kind = kind("eq").expect("a kind of this name");
    (kind.build)(&kind.defaults(), RATE_HZ)
}

/// The four default sections of the equaliser, with the two sums of the left side, then those of the right side.
struct SidesApart {
    sections: [[f64; 5]; 4],
    state: [[[f64; 2]; 2]; 4],
}

impl SidesApart {
    fn new() -> SidesApart {
        let at = |shape, freq_hz| {
            Coefficients::design(
                shape,
                freq_hz,
                f64::from(0.707_106_77_f32),
                0.0,
                f64::from(RATE_HZ),
            )
            .to_array()
        };
        let sections = [
            at(Shape::LowShelf, 100.0),
            at(Shape::Peaking, 400.0),
            at(Shape::Peaking, 2500.0),
            at(Shape::HighShelf, 8000.0),
        ];
        SidesApart { sections, state: [[[0.0; 2]; 2]; 4] }
    }
}

impl SegmentEffect for SidesApart {
    const PARAMS: &'static [Param] = &[];

    fn new(_: &[f32], _: u32) -> SidesApart {
        SidesApart::new()
    }

    fn set(&mut self, _: usize, _: f32) {}

    fn control(&mut self, _: usize) {
        self.state.iter_mut().flatten().for_each(|sums| math::flush_together(sums));
    }

    fn run(&mut self, rows: StereoMut<'_>, _: Option<StereoRef<'_>>) {
        let (sections, mut states) = (self.sections, self.state);
        for (left, right) in rows.left.iter_mut().zip(rows.right.iter_mut()) {
            let mut y = [f64::from(*left), f64::from(*right)];
            for (c, state) in sections.iter().zip(&mut states) {
                for (state, y) in state.iter_mut().zip(&mut y) {
                    let x = *y;
                    *y = c[0] * x + state[0];
                    state[0] = (c[1] * x + state[1]) - c[3] * *y;
                    state[1] = c[2] * x - c[4] * *y;
                }
            }
            (*left, *right) = (math::narrow(y[0]), math::narrow(y[1]));
        }
        self.state = states;
    }

    fn reset(&mut self) {
        self.state = [[[0.0; 2]; 2]; 4];
    }
}

// --- the equaliser in blocks of several lengths ----------------------------------

/// The first one is what the others are compared with.
const LENGTHS: [usize; 6] = [FRAMES, 32, 96, 128, 256, 1024];

fn block_lengths(size: &Size) -> Result<Vec<Value>, String> {
    let mut all = LENGTHS.map(|frames| (equaliser(), Sound::new(frames), Vec::new()));
    let mut rng = Rng::new(SEED);
    for _ in 0..size.rounds {
        let mut order: [usize; LENGTHS.len()] = std::array::from_fn(|which| which);
        rng.shuffle(&mut order);
        for which in order {
            let (effect, sound, ns) = &mut all[which];
            let blocks = (size.blocks * FRAMES).div_ceil(LENGTHS[which]);
            ns.push(turn(effect.as_mut(), sound, blocks));
        }
    }
    println!("the same equaliser in blocks of several lengths, nanoseconds per stereo frame");
    let ns = all.map(|(_, _, ns)| ns);
    for (frames, ns) in LENGTHS.iter().zip(&ns) {
        println!("{frames:<16} {:>8.2}", stats::median(ns).unwrap_or(f64::NAN));
    }
    for (frames, candidate) in LENGTHS.iter().zip(&ns).skip(1) {
        ratio(&format!("{frames} frames / {FRAMES}"), &ns[0], candidate)?;
    }
    let row = |(frames, ns)| json!({"frames": frames, "ns_per_frame": ns});
    Ok(LENGTHS.iter().zip(ns).map(row).collect())
}

// --- a cascade in two forms -------------------------------------------------------

/// Sections of a voice, as in the comparison with audio servers.
const VOICE: usize = 32;
const SECTION: Coefficients = Coefficients { b0: 0.2, b1: 0.3, b2: 0.2, a1: -0.5, a2: 0.25 };

fn cascades(size: &Size) -> Result<Value, String> {
    let names = ["four at a time", "this CPU's", "this CPU's again"];
    let kernels = [CascadeKernel::PORTABLE, cascade_kernel(), cascade_kernel()];
    let rivals = kernels.map(|kernel| {
        Box::new(Cascade(BiquadCascade::with_kernel(&[SECTION; VOICE], kernel)))
            as Box<dyn Processor>
    });
    println!("cascade of {VOICE} sections, nanoseconds per frame; {}", stats::ONE_START);
    let ns = contest(size, names, rivals)?;
    ratio("this CPU's / four at a time", &ns[0], &ns[1])?;
    ratio("the same twice", &ns[1], &ns[2])?;
    let [fours, here, again] = ns;
    Ok(json!({"four_at_a_time_ns": fours, "this_cpu_ns": here, "this_cpu_again_ns": again}))
}

/// On the left row.
struct Cascade(BiquadCascade);

impl Processor for Cascade {
    fn process(&mut self, block: &mut Block<'_>) {
        self.0.process_mono(block.main.left);
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

// --- turns ------------------------------------------------------------------------

/// What each rival takes in each round. They take turns in random order, after their bits were compared.
fn contest<const N: usize>(
    size: &Size,
    names: [&str; N],
    mut rivals: [Box<dyn Processor>; N],
) -> Result<[Vec<f64>; N], String> {
    same_bits(&mut rivals)?;
    let (mut rng, mut sound) = (Rng::new(SEED), Sound::new(FRAMES));
    let mut ns = [const { Vec::new() }; N];
    for _ in 0..size.rounds {
        let mut order: [usize; N] = std::array::from_fn(|which| which);
        rng.shuffle(&mut order);
        for which in order {
            ns[which].push(turn(rivals[which].as_mut(), &mut sound, size.blocks));
        }
    }
    for (name, ns) in names.iter().zip(&ns) {
        println!("{name:<16} {:>8.2}", stats::median(ns).unwrap_or(f64::NAN));
    }
    Ok(ns)
}

fn ratio(name: &str, reference: &[f64], candidate: &[f64]) -> Result<(), String> {
    let ratio = stats::compare(reference, candidate, SEED).ok_or("too few rounds")?;
    let interval = ratio.interval.map(|at| format!("[{:.3}, {:.3}]", at.low, at.high));
    println!("{name:<30} {:.3} {}", ratio.ratio, interval.unwrap_or_default());
    Ok(())
}

fn same_bits(rivals: &mut [Box<dyn Processor>]) -> Result<(), String> {
    let mut outputs = rivals.iter_mut().map(|rival| {
        let mut sound = Sound::new(FRAMES);
        let mut bits = Vec::new();
        for _ in 0..50 {
            sound.through(rival.as_mut());
            bits.extend(sound.left.iter().chain(&sound.right).map(|sample| sample.to_bits()));
        }
        bits
    });
    let first = outputs.next();
    let same = outputs.all(|bits| Some(bits) == first);
    same.then_some(()).ok_or("two forms of one filter differ in their bits".into())
}

/// A block of noise that is played again and again.
struct Sound {
    noise: [Vec<f32>; 2],
    left: Vec<f32>,
    right: Vec<f32>,
}

impl Sound {
    fn new(frames: usize) -> Sound {
        let mut rng = Rng::new(SEED);
        let mut row = || (0..frames).map(|_| (rng.unit() - 0.5) as f32).collect::<Vec<f32>>();
        let noise = [row(), row()];
        Sound { left: noise[0].clone(), right: noise[1].clone(), noise }
    }

    fn through(&mut self, effect: &mut dyn Processor) {
        self.left.copy_from_slice(&self.noise[0]);
        self.right.copy_from_slice(&self.noise[1]);
        let main = StereoMut { left: &mut self.left, right: &mut self.right };
        effect.process(&mut Block::new(main));
        black_box(&self.left);
    }
}

/// Nanoseconds per stereo frame of one turn. Its first blocks warm the caches.
fn turn(effect: &mut dyn Processor, sound: &mut Sound, blocks: usize) -> f64 {
    for _ in 0..blocks.div_ceil(10) {
        sound.through(effect);
    }
    let start = Instant::now();
    for _ in 0..blocks {
        sound.through(effect);
    }
    start.elapsed().as_nanos() as f64 / (blocks * sound.left.len()) as f64
}
