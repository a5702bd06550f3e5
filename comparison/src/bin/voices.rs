//! Hocket's part of `voices/voices.py`, which runs it; also useful alone, for `pair`.
//!
//! Lines of JSON on standard output; exit code: 0 done, 1 threshold missed, 2 bad usage, 3 not
//! possible here.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hocket_comparison::setup::RATE_HZ;
use hocket_comparison::voices::{self, Voice};
use hocket_engine::{BlockTimes, Engine, VirtualDevice};
use hocket_lab::about;
use hocket_lab::stats::{Comparison, Summary, compare, median};
use hocket_machine::Topology;
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use serde_json::{Value, json};

/// Voices of noise through 32 serial biquads into one bus, 48 kHz, on Hocket's virtual device.
#[derive(Debug, Parser)]
#[command(name = "voices")]
struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Plays and says what the blocks took
    Hold {
        /// Voices
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
        voices: u32,
        /// What a voice is made of
        #[arg(long, default_value = "nodes")]
        voice: Voice,
        /// Workers, the leader included
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
        workers: u32,
        /// Seconds that count; it plays a fifth of a second before
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3600))]
        seconds: u32,
        /// Frames a block
        #[arg(long, default_value = "64", value_parser = clap::value_parser!(u32).range(1..=8192))]
        frames: u32,
    },
    /// The same voices on one worker and on two, a block each in turn: never slower on two
    Pair {
        /// Voices
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
        voices: u32,
        /// What a voice is made of
        #[arg(long, default_value = "nodes")]
        voice: Voice,
        /// Blocks of each
        #[arg(long, default_value = "1500", value_parser = clap::value_parser!(u32).range(1..))]
        blocks: u32,
        /// Frames a block
        #[arg(long, default_value = "64", value_parser = clap::value_parser!(u32).range(1..=8192))]
        frames: u32,
    },
    /// Build and machine, for records
    About,
}

fn main() -> ExitCode {
    let done = match Options::parse().what {
        What::Hold { voices, voice, workers, seconds, frames } => {
            hold((voices as usize, voice), workers as usize, seconds, frames)
        }
        What::Pair { voices, voice, blocks, frames } => {
            pair((voices as usize, voice), blocks as usize, frames)
        }
        What::About => describe(),
    };
    done.unwrap_or_else(|message| {
        eprintln!("voices: {message}");
        ExitCode::from(3)
    })
}

fn describe() -> Result<ExitCode, String> {
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let about = json!({
        "hocket": about::build(),
        "machine": about::machine(&topology),
        "grants": about::grants(),
        "clock": about::clock(),
    });
    println!("{about}");
    Ok(ExitCode::SUCCESS)
}

fn hold(
    (voices, voice): (usize, Voice),
    workers: usize,
    seconds: u32,
    frames: u32,
) -> Result<ExitCode, String> {
    let mut engine = voices::engine(voices, voice, workers, frames)?;
    let entered = engine.enter();
    let mut device = VirtualDevice::new(frames, RATE_HZ);
    let a_second = u64::from(RATE_HZ / frames).max(1);
    device.run(&mut engine, a_second / 5, |_, _| true);
    println!("{}", json!({ "playing": voices }));
    let blocks = a_second * u64::from(seconds);
    let mut times = Vec::with_capacity(blocks as usize);
    device.run(&mut engine, blocks, |block, _| {
        times.push(*block);
        true
    });
    let class = entered.report.class_got.clone();
    drop(entered);
    println!("{}", held(&times, &class));
    Ok(ExitCode::SUCCESS)
}

fn held(times: &[BlockTimes], class: &str) -> Value {
    let period_ns = times.first().map_or(1, |block| block.deadline_ns) as f64;
    let summary = Summary::of(times.iter().map(|block| block.duration_ns as i64));
    let share = |ns: fn(&Summary) -> f64| summary.as_ref().map(|s| ns(s) / period_ns);
    let missed = |block: &&BlockTimes| block.misses().total() > 0;
    json!({
        "class": class,
        "blocks": times.len(),
        "with_misses": times.iter().filter(missed).count(),
        "load_mean": share(|s| s.mean),
        "load_p50": share(|s| s.p50),
        "load_p99": share(|s| s.p99),
        "load_p999": share(|s| s.p999),
        "load_max": share(|s| s.max),
    })
}

/// Blocks whose median is one observation of the ratio.
const STRETCH: usize = 50;
/// Blocks that are played and thrown away.
const WARM_UP: usize = 200;

fn pair((voices, voice): (usize, Voice), blocks: usize, frames: u32) -> Result<ExitCode, String> {
    let on = |workers| voices::engine(voices, voice, workers, frames);
    let mut engines = [on(1)?, on(2)?];
    let _entered = engines[1].enter();
    let mut pace =
        Pace { period_ns: u64::from(frames) * 1_000_000_000 / u64::from(RATE_HZ), next_ns: 0 };
    let mut samples = [Vec::with_capacity(blocks), Vec::with_capacity(blocks)];
    for block in 0..WARM_UP + blocks {
        for (engine, samples) in engines.iter_mut().zip(&mut samples) {
            let ns = pace.block(engine, frames as usize);
            if block >= WARM_UP {
                samples.push(ns);
            }
        }
    }
    let stretches =
        |samples: &[f64]| -> Vec<f64> { samples.chunks(STRETCH).filter_map(median).collect() };
    let [one, two] = &samples;
    let ratio = compare(&stretches(one), &stretches(two), 1);
    println!("{}", pair_json(voices, one, two, ratio));
    let slower = ratio.and_then(|ratio| ratio.interval).is_some_and(|interval| interval.low > 1.0);
    Ok(ExitCode::from(u8::from(slower)))
}

fn pair_json(voices: usize, one: &[f64], two: &[f64], ratio: Option<Comparison>) -> Value {
    json!({
        "voices": voices,
        "two_by_one": ratio.map(|ratio| ratio.ratio),
        "interval_95": ratio.and_then(|r| r.interval).map(|i| [i.low, i.high]),
        "one_p50_ns": median(one),
        "two_p50_ns": median(two),
        "one_ns": one.iter().map(|ns| *ns as u64).collect::<Vec<_>>(),
        "two_ns": two.iter().map(|ns| *ns as u64).collect::<Vec<_>>(),
    })
}

/// A block each period, the two engines in turn, each told when its next block comes.
struct Pace {
    period_ns: u64,
    next_ns: u64,
}

impl Pace {
    fn block(&mut self, engine: &mut Engine, frames: usize) -> f64 {
        // After a stall the next block lies ahead, so that blocks never come in a burst.
        self.next_ns = (self.next_ns + self.period_ns).max(monotonic_ns() + self.period_ns / 2);
        sleep_until_ns(self.next_ns);
        engine.expect_next(self.next_ns + 2 * self.period_ns);
        engine.process_planned(frames, self.next_ns).duration_ns as f64
    }
}
