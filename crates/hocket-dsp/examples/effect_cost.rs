//! Prints what each kind and the biquad cascade cost on this machine, beside the declared
//! operations. `cargo run --release -p hocket-dsp --example effect_cost`

use std::time::Instant;

use hocket_dsp::{BiquadCascade, Block, Coefficients, Shape, StereoMut, kinds};

const FRAMES: usize = 64;
/// Short runs, many of them: the least is then free of interruptions.
const BLOCKS: usize = 50;
const RUNS: usize = 400;
const RATE_HZ: u32 = 48_000;

fn noise() -> Vec<f32> {
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / 16_777_216.0 - 0.5
    };
    (0..FRAMES).map(|_| next()).collect()
}

/// The least time of several runs, in nanoseconds a frame.
fn best_ns(mut work: impl FnMut(&mut [f32], &mut [f32])) -> f64 {
    let fresh = noise();
    let mut run = || {
        let start = Instant::now();
        for _ in 0..BLOCKS {
            let (mut left, mut right) = (fresh.clone(), fresh.clone());
            work(std::hint::black_box(&mut left), std::hint::black_box(&mut right));
        }
        start.elapsed().as_nanos() as f64 / (BLOCKS * FRAMES) as f64
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn print(name: &str, flops: f64, ns: f64) {
    println!("{name:<28} {flops:>8.0} {ns:>10.1} {:>8.2}", flops / ns);
}

fn main() {
    println!("{:<28} {:>8} {:>10} {:>8}", "kind", "flops", "ns/frame", "Gflop/s");
    for kind in kinds() {
        let heavy: Vec<f32> =
            kind.params.iter().map(|p| if p.fixed { p.max } else { p.default }).collect();
        for (setting, values) in [("default", kind.defaults()), ("heavy", heavy)] {
            let mut processor = (kind.build)(&values, RATE_HZ);
            let ns = best_ns(|left, right| {
                let main = StereoMut { left, right };
                processor.process(&mut Block::new(main));
            });
            let flops = (kind.flops_per_frame)(&values, RATE_HZ);
            print(&format!("{} ({setting})", kind.name), flops, ns);
        }
    }
    let section = Coefficients::design(Shape::Peaking, 1000.0, 0.7, 1.0, f64::from(RATE_HZ));
    for count in [1, 2, 3, 4, 32] {
        let mut cascade = BiquadCascade::repeated(section, count);
        let ns = best_ns(|left, _| cascade.process_mono(left));
        let name = format!("cascade of {count}, {:.2} ns each", ns / count as f64);
        print(&name, cascade.flops_per_sample(), ns);
    }
}
