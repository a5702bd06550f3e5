//! Streams many files at once, as a session of many tracks does, and prints what was not ready, what a block cost the
//! real-time thread, and how much memory that took.
//!
//!     cargo run --release -p hocket-disk --example stream_many -- FOLDER [STREAMS] [SECONDS] [BLOCK] [BUFFER_MIB]
//!
//! Defaults: 200 stereo streams of 24 bits at 96 kHz, 60 s, blocks of 64 frames, a disk buffer of 256 MiB. The files
//! are written into FOLDER first, unless they are there, one for each stream. The system is asked to forget them, so
//! that they come from the disk.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hocket_disk::{Preloader, Settings, Stream, StreamReader, WavFormat};
use hocket_media::WavWriter;

const RATE_HZ: u32 = 96_000;

struct Options {
    folder: PathBuf,
    streams: usize,
    seconds: usize,
    block: usize,
    buffer_mib: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options =
        options().ok_or("usage: stream_many FOLDER [STREAMS] [SECONDS] [BLOCK] [BUFFER_MIB]")?;
    let paths = files(&options)?;
    let settings = Settings::new(options.buffer_mib << 20);
    let channels = vec![2; options.streams];
    let ring_chunks = settings.ring_chunks_for(&channels).ok_or("the disk buffer is too small")?;
    let preloader = Preloader::start(settings)?;
    let opening = Instant::now();
    let opened: Result<Vec<_>, _> =
        paths.iter().map(|path| preloader.open(path, RATE_HZ, ring_chunks)).collect();
    let (streams, mut readers): (Vec<Stream>, Vec<StreamReader>) = opened?.into_iter().unzip();
    let starts: Vec<(&Stream, u64)> = streams.iter().map(|stream| (stream, 0)).collect();
    Stream::preload_all(&starts, Duration::from_secs(60)).map_err(|mut errors| errors.remove(0))?;
    println!("opened and preloaded {} streams in {:.0?}", streams.len(), opening.elapsed());
    let costs = play(&options, &mut readers);
    report(&options, &streams, &readers, costs);
    Ok(())
}

fn options() -> Option<Options> {
    let mut args = std::env::args().skip(1);
    let folder = args.next()?.into();
    let numbers: Vec<usize> = args.map(|arg| arg.parse().ok()).collect::<Option<_>>()?;
    let number =
        |index: usize, default| numbers.get(index).copied().filter(|n| *n > 0).unwrap_or(default);
    let (streams, seconds) = (number(0, 200), number(1, 60));
    Some(Options { folder, streams, seconds, block: number(2, 64), buffer_mib: number(3, 256) })
}

/// One file for each stream, long enough, and not in the system's cache.
fn files(options: &Options) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    std::fs::create_dir_all(&options.folder)?;
    let frames = (options.seconds + 1) * RATE_HZ as usize;
    let mut paths = Vec::new();
    for index in 0..options.streams {
        let path = options.folder.join(format!("stream-{index}-{}s.wav", options.seconds));
        if !path.exists() {
            write(&path, frames, index)?;
        }
        let file = File::open(&path)?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        paths.push(path);
    }
    Ok(paths)
}

fn write(path: &Path, frames: usize, index: usize) -> Result<(), Box<dyn Error>> {
    let mut writer = WavWriter::create(path, RATE_HZ, WavFormat::Pcm24)?;
    let row: Vec<f32> =
        (0..RATE_HZ as usize).map(|i| ((i * (index + 1)) % 1009) as f32 / 1009.0).collect();
    let mut left = frames;
    while left > 0 {
        let run = left.min(row.len());
        writer.write(&row[..run], &row[..run])?;
        left -= run;
    }
    writer.finish()?;
    Ok(())
}

/// Reads a block of every stream per period; returns what each block cost, in nanoseconds.
fn play(options: &Options, readers: &mut [StreamReader]) -> Vec<u64> {
    let blocks = options.seconds * RATE_HZ as usize / options.block;
    let period = Duration::from_secs_f64(options.block as f64 / f64::from(RATE_HZ));
    let mut costs = Vec::with_capacity(blocks);
    let (mut left, mut right) = (vec![0.0; options.block], vec![0.0; options.block]);
    let start = Instant::now();
    for block in 0..blocks {
        let begun = Instant::now();
        for reader in &mut *readers {
            reader.read((block * options.block) as u64, &mut [&mut left, &mut right]);
            std::hint::black_box((&left, &right));
        }
        costs.push(begun.elapsed().as_nanos() as u64);
        let next = start + period * (block as u32 + 1);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    costs
}

fn report(options: &Options, streams: &[Stream], readers: &[StreamReader], mut costs: Vec<u64>) {
    let missing: u64 = readers.iter().map(StreamReader::not_ready_frames).sum();
    let all = costs.len() as u64 * options.block as u64 * streams.len() as u64;
    println!("not ready: {missing} of {all} frames");
    for stream in streams {
        let report = stream.report();
        if let Some(gap) = report.gaps.first() {
            println!(
                "  {}: {} frames, first at {} ({})",
                report.path.display(),
                report.not_ready_frames,
                gap.position,
                gap.cause
            );
        }
    }
    costs.sort_unstable();
    let at = |share: f64| costs[((costs.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    println!(
        "all reads of a block: p50 {:.1} µs, p99 {:.1} µs, most {:.1} µs",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    let chunks: usize =
        readers.iter().flat_map(StreamReader::memory).map(|range| range.bytes).sum();
    println!(
        "chunks: {:.1} MiB; the process at its largest: {}",
        chunks as f64 / 1048576.0,
        largest()
    );
}

/// What the system says the process had at most.
fn largest() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".into(), |line| line.trim().into())
}
