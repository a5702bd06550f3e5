//! From a locate to the first sound, beside a plain read of as many bytes from the same disk.
//!
//! A round measures each way once, in random order, each at a place of the file of its own:
//!
//! - *read*: one read of a chunk's bytes, which is what a stream reads before its first sound.
//! - *locate*: the song jumps. Measured until the end of the first block that sounds, with the frames that were silent.
//! - *announced*: the same, but the host says before that the song is about to jump, so that a thread looks more often.
//! - *prerolled*: the host brings the place into memory and then jumps. The time is that of the pre-roll.
//! - *loop*: a loop is set whose end comes soon, and the song goes on at its start. Measured are the silent frames.
//!
//! Before each, every stream is read ahead as far as it goes, so that nothing else uses the disk. Blocks come at their
//! time, on one thread that has no real-time class: on a busy machine some come late, which counts.

use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hocket::load::streams::{DiskBuffer, DiskUse, Wait};
use hocket::load::{LoadedSession, load_session_streaming};
use hocket_engine::time::{LoopRange, TimedCommand, TransportCommand};
use hocket_engine::{Engine, Fusing, prepare_session};
use hocket_lab::stats::{Rng, median, quantile_sorted};
use rustix::io::{Errno, ReadWriteFlags};
use serde_json::{Value, json};

use super::one_seat::one_seat;

const SEED: u64 = 1;
/// What `hocket play` has if nobody says otherwise.
const BUFFER_BYTES: usize = 256 << 20;
/// Of a stream with room enough.
const CHUNK_FRAMES: usize = 8192;
/// Stereo, 24 bits.
const FRAME_BYTES: usize = 6;
/// So long a disk may take for one place.
const PATIENCE: Duration = Duration::from_secs(20);
/// So many are heard.
const BLOCKS_BEHIND_A_TURN: usize = 16;
/// Rounds that only warm up.
const WARM_UP: usize = 2;

/// What is measured, and how often.
pub struct Size<'a> {
    pub session: &'a Path,
    pub file: &'a Path,
    pub rate_hz: usize,
    pub frames: usize,
    /// Of the file.
    pub seconds: usize,
    pub rounds: usize,
    /// Whether the file stays in the system's cache.
    pub is_warm: bool,
}

/// Returns the samples, and prints what they say.
pub fn locate(size: &Size<'_>) -> Result<Value, String> {
    let mut stage = Stage::new(size)?;
    let mut rng = Rng::new(SEED);
    let mut samples = Samples::default();
    for round in 0..size.rounds + WARM_UP {
        let mut order = [Way::Read, Way::Locate, Way::Announced, Way::Prerolled, Way::Loop];
        rng.shuffle(&mut order);
        for way in order {
            let place = stage.place(&mut rng);
            stage.rest(&mut rng)?;
            let measured = stage.measure(way, place)?;
            if round >= WARM_UP {
                samples.add(way, measured);
            }
        }
    }
    samples.print(size);
    stage.print_cache(size);
    Ok(json!({
        "samples": samples.json(), "rate_hz": size.rate_hz, "frames": size.frames, "warm": size.is_warm,
        "block_ns": size.block_ns(), "chunk_bytes": CHUNK_FRAMES * FRAME_BYTES,
        "looks": stage.looks, "found_in_cache": stage.found_in_cache,
    }))
}

impl Size<'_> {
    fn block_ns(&self) -> f64 {
        1e9 * self.frames as f64 / self.rate_hz as f64
    }
}

#[derive(Clone, Copy)]
enum Way {
    Read,
    Locate,
    Announced,
    Prerolled,
    Loop,
}

/// A time in ns, and frames of silence.
type Measured = (f64, f64);

// --- the stage ----------------------------------------------------------------

/// An engine that plays the file from the disk.
struct Stage<'a> {
    size: &'a Size<'a>,
    loaded: LoadedSession,
    disk: Arc<DiskBuffer>,
    engine: Engine,
    file: File,
    due: Instant,
    looks: usize,
    found_in_cache: usize,
}

impl Stage<'_> {
    fn new<'a>(size: &'a Size<'a>) -> Result<Stage<'a>, String> {
        let in_use =
            DiskUse { buffer_bytes: BUFFER_BYTES, wait: Wait::Never, engines: 1, strict: false };
        let rate_hz = size.rate_hz as u32;
        let loaded = load_session_streaming(size.session, Some(rate_hz), 1, &in_use);
        let loaded = loaded.map_err(|failure| failure.to_string())?;
        let disk = loaded.disk.clone();
        let disk = disk.ok_or("the file does not stream; give it more --seconds")?;
        let prepared = prepare_session(&loaded.session, &loaded.media, rate_hz, Fusing::Chains);
        let prepared = prepared.map_err(|error| error.to_string())?;
        let (seating, settings) = one_seat(size.frames, rate_hz);
        let engine = Engine::start(prepared, settings, seating).map_err(|why| why.to_string())?;
        let file = File::open(size.file).map_err(|error| super::cannot(size.file, &error))?;
        let (due, looks, found_in_cache) = (Instant::now(), 0, 0);
        let mut stage = Stage { size, loaded, disk, engine, file, due, looks, found_in_cache };
        // A first loop has something behind it.
        stage.command(TransportCommand::Locate(size.rate_hz as i64))?;
        stage.until_sound()?;
        Ok(stage)
    }

    /// A frame that has a second behind it.
    fn place(&self, rng: &mut Rng) -> u64 {
        rng.below((self.size.seconds - 1) * self.size.rate_hz) as u64
    }

    /// Waits until nothing is read, and takes the file out of the cache.
    fn rest(&mut self, rng: &mut Rng) -> Result<(), String> {
        self.loaded.media.fill(PATIENCE).map_err(|error| error.to_string())?;
        if !self.size.is_warm {
            super::leave_cache(self.size.file)?;
            let elsewhere = self.place(rng);
            self.look_into_cache(elsewhere)?;
        }
        self.due = Instant::now();
        Ok(())
    }

    /// Whether a place of the file is still in the system's cache. The look has the system read there, so it is at
    /// another place than what is measured.
    fn look_into_cache(&mut self, place: u64) -> Result<(), String> {
        let mut byte = [0];
        let read = rustix::io::preadv2(
            &self.file,
            &mut [IoSliceMut::new(&mut byte)],
            place * FRAME_BYTES as u64,
            ReadWriteFlags::NOWAIT,
        );
        match read {
            Ok(_) => self.found_in_cache += 1,
            Err(Errno::AGAIN) => {}
            // Not every file system can say.
            Err(_) => return Ok(()),
        }
        self.looks += 1;
        Ok(())
    }

    fn measure(&mut self, way: Way, place: u64) -> Result<Measured, String> {
        match way {
            Way::Read => self.read(place),
            Way::Locate => self.jump(place, Instant::now()),
            Way::Announced => {
                let asked = Instant::now();
                self.disk.expect_jump();
                let measured = self.jump(place, asked);
                // What is measured next was not announced.
                std::thread::sleep(DiskBuffer::JUMP_COMES_WITHIN);
                measured
            }
            Way::Prerolled => {
                let asked = Instant::now();
                let ready = self.loaded.media.preroll(place as i64, PATIENCE);
                ready.map_err(|error| error.to_string())?;
                let took = asked.elapsed().as_nanos() as f64;
                self.due = Instant::now();
                self.command(TransportCommand::Locate(place as i64))?;
                Ok((took, self.until_sound()? as f64))
            }
            Way::Loop => self.turn(place),
        }
    }

    /// From the time at which somebody asked to the end of the first block that sounds, and how many frames were silent.
    fn jump(&mut self, place: u64, asked: Instant) -> Result<Measured, String> {
        self.command(TransportCommand::Locate(place as i64))?;
        let silent = self.until_sound()?;
        Ok((asked.elapsed().as_nanos() as f64, silent as f64))
    }

    /// A chunk's bytes, but for the few of the file's header.
    fn read(&mut self, place: u64) -> Result<Measured, String> {
        let mut bytes = vec![0; CHUNK_FRAMES * FRAME_BYTES];
        let asked = Instant::now();
        let read = self.file.read_exact_at(&mut bytes, place * FRAME_BYTES as u64);
        let took = asked.elapsed().as_nanos() as f64;
        read.map_err(|error| super::cannot(self.size.file, &error))?;
        Ok((took, 0.0))
    }

    /// Sets a loop that ends in three chunks, the least that is promised to be ready, and goes round once.
    fn turn(&mut self, start: u64) -> Result<Measured, String> {
        let mut before = self.engine.transport().position();
        let start = (start as i64).min(before);
        let end = before + 3 * CHUNK_FRAMES as i64;
        let lap = LoopRange::from_frames(start, end).map_err(|error| error.to_string())?;
        let asked = Instant::now();
        self.command(TransportCommand::Loop(lap))?;
        let (mut silent, mut has_turned, mut blocks_left) = (0, false, BLOCKS_BEHIND_A_TURN);
        while blocks_left > 0 {
            silent += self.block();
            let now = self.engine.transport().position();
            has_turned |= now < before;
            before = now;
            blocks_left -= usize::from(has_turned);
            if asked.elapsed() > PATIENCE {
                return Err("the loop does not end".into());
            }
        }
        let took = asked.elapsed().as_nanos() as f64;
        self.command(TransportCommand::LoopOff)?;
        Ok((took, silent as f64))
    }

    fn command(&mut self, command: TransportCommand) -> Result<(), String> {
        let refused = |_| "the engine has no room for a command".to_owned();
        self.engine.command(TimedCommand { at_steady: 0, command }).map_err(refused)
    }

    /// Plays until a block sounds; returns how many frames were silent.
    fn until_sound(&mut self) -> Result<usize, String> {
        let (begun, mut silent) = (Instant::now(), 0);
        loop {
            let quiet = self.block();
            silent += quiet;
            if quiet < self.size.frames {
                return Ok(silent);
            }
            if begun.elapsed() > PATIENCE {
                return Err("nothing sounds after a locate".into());
            }
        }
    }

    /// Plays a block at its time; returns how many of its frames are silent. Noise is never silent for long.
    fn block(&mut self) -> usize {
        self.due += Duration::from_nanos(self.size.block_ns() as u64);
        if let Some(left) = self.due.checked_duration_since(Instant::now()) {
            std::thread::sleep(left);
        }
        self.engine.process(self.size.frames);
        let rows = self.engine.output(self.size.frames);
        rows.left
            .iter()
            .zip(rows.right)
            .filter(|(left, right)| (**left, **right) == (0.0, 0.0))
            .count()
    }

    fn print_cache(&self, size: &Size<'_>) {
        let (found, looks) = (self.found_in_cache, self.looks);
        match (size.is_warm, looks) {
            (true, _) => println!("  the file was in the system's cache (--warm)"),
            (false, 0) => println!("  whether the file left the system's cache is unknown here"),
            (false, _) if found > 0 => println!(
                "  the file did not leave the system's cache in {found} of {looks} looks: these times are not the disk's"
            ),
            (false, _) => println!(
                "  the file had left the system's cache in all {looks} looks; a cache below the system is unknown"
            ),
        }
    }
}

// --- what it says -------------------------------------------------------------

/// One value for each round, in its order.
#[derive(Default)]
struct Samples {
    read_ns: Vec<f64>,
    locate_ns: Vec<f64>,
    locate_silent: Vec<f64>,
    announced_ns: Vec<f64>,
    announced_silent: Vec<f64>,
    preroll_ns: Vec<f64>,
    prerolled_silent: Vec<f64>,
    loop_silent: Vec<f64>,
}

impl Samples {
    fn add(&mut self, way: Way, (ns, silent): Measured) {
        match way {
            Way::Read => self.read_ns.push(ns),
            Way::Locate => {
                self.locate_ns.push(ns);
                self.locate_silent.push(silent);
            }
            Way::Announced => {
                self.announced_ns.push(ns);
                self.announced_silent.push(silent);
            }
            Way::Prerolled => {
                self.preroll_ns.push(ns);
                self.prerolled_silent.push(silent);
            }
            Way::Loop => self.loop_silent.push(silent),
        }
    }

    /// What a locate takes more than the disk, round by round.
    fn over_disk_ns(&self, locate_ns: &[f64]) -> Vec<f64> {
        locate_ns.iter().zip(&self.read_ns).map(|(locate, read)| locate - read).collect()
    }

    fn print(&self, size: &Size<'_>) {
        println!(
            "from a locate to the first sound, {} frames at {} Hz, {} rounds: median [95 %], p99",
            size.frames, size.rate_hz, size.rounds
        );
        for (what, ns) in [
            ("plain read of a chunk", &self.read_ns),
            ("locate to first sound", &self.locate_ns),
            ("the same, less the read of its round", &self.over_disk_ns(&self.locate_ns)),
            ("locate that was announced, to first sound", &self.announced_ns),
            ("the same, less the read of its round", &self.over_disk_ns(&self.announced_ns)),
            ("pre-roll, before a locate", &self.preroll_ns),
        ] {
            print(what, ns, 1e3, "us");
        }
        println!("  (a block is {:.1} µs)", size.block_ns() / 1e3);
        for (what, frames) in [
            ("silent after a locate", &self.locate_silent),
            ("silent after a locate that was announced", &self.announced_silent),
            ("silent after a pre-roll and a locate", &self.prerolled_silent),
            ("silent in a loop and after its turn", &self.loop_silent),
        ] {
            print(what, frames, 1.0, "frames");
        }
    }

    fn json(&self) -> Value {
        json!({
            "read_ns": self.read_ns, "locate_ns": self.locate_ns, "locate_silent_frames": self.locate_silent,
            "announced_ns": self.announced_ns, "announced_silent_frames": self.announced_silent,
            "preroll_ns": self.preroll_ns, "prerolled_silent_frames": self.prerolled_silent,
            "loop_silent_frames": self.loop_silent,
        })
    }
}

/// The interval is that of the median: order statistics, normal approximation.
fn print(what: &str, values: &[f64], unit: f64, name: &str) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let reach = 0.98 / (values.len() as f64).sqrt();
    let at = |part: f64| quantile_sorted(&sorted, part.clamp(0.0, 1.0)).unwrap_or(f64::NAN) / unit;
    let middle = median(values).unwrap_or(f64::NAN) / unit;
    let (low, high, p99) = (at(0.5 - reach), at(0.5 + reach), at(0.99));
    println!("  {what}: {middle:.1} [{low:.1}, {high:.1}], {p99:.1} {name}");
}
