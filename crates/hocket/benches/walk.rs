//! How long the walk over a session takes offline, with nothing beside it:
//! `cargo bench -p hocket --bench walk -- [--rounds N] [--record FILE [--force]]`.
//!
//! The session is the one of `comparison/render/render.py`: 16 stereo tracks of 60 s, each through 16 peaking bands, into
//! one mix. There, threads that read, measure and write take part of the machine. Here all files are in memory, and what
//! comes out is dropped, so the time is that of the blocks alone.
//!
//! Every way takes one turn a round, in an order drawn anew. A turn is the whole session, by an engine of its own whose start
//! does not count. Ratios pair a turn with that of the serial walk in the same round
//! ([`compare`]). `serial, again` is the serial walk once more: a difference below it is none.
//!
//! `serial, one on each CPU` plays two whole sessions at once, by two engines that wait for nothing but the host, and counts half
//! of the time. So it is what this machine gives two workers at best, at that minute: two virtual CPUs may share a core, and
//! two cores their clock and their memory. The ways with two workers are compared with it, too.
//!
//! Nothing is judged. Without `--bench` all of it runs briefly, to see that it works.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use hocket::load::{LoadedSession, load_session_for_seats, topology};
use hocket_engine::{
    Couples, Engine, Fusing, Policy, ScheduleKind, SeatSpeeds, Seating, Settings, SiblingPolicy,
    Steer, Strategy, offline, prepare_session,
};
use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_lab::stats::{Rng, compare, median};
use hocket_machine::Topology;
use hocket_media::{WavFormat, WavLayout};
use serde_json::json;

const SEED: u64 = 1;
const RATE_HZ: u32 = 48_000;
/// What `hocket render` has if nobody says otherwise.
const FRAMES: u32 = 1024;
const TRACKS: usize = 16;
const EFFECTS: usize = 4;
const BANDS: usize = 4;
const SIBLING: SiblingPolicy = SiblingPolicy::Off;
/// A first round warms up.
const WARM_UP: usize = 1;

/// One way through the session.
struct Way {
    name: &'static str,
    schedule: ScheduleKind,
    workers: usize,
    couples: Couples,
    /// So many engines, each on a CPU of its own.
    engines: usize,
}

/// The first one is what the others are compared with, the second its twin.
const WAYS: [Way; 6] = [
    Way::new("serial", ScheduleKind::Serial, 1),
    Way::new("serial, again", ScheduleKind::Serial, 1),
    Way { couples: Couples::Never, ..Way::new("serial, lanes off", ScheduleKind::Serial, 1) },
    Way { engines: 2, ..Way::new(EACH, ScheduleKind::Serial, 1) },
    Way::new("dataflow, 2 workers", ScheduleKind::Dataflow, 2),
    Way::new("critical, 2 workers", ScheduleKind::Critical, 2),
];
const EACH: &str = "serial, one on each CPU";

impl Way {
    const fn new(name: &'static str, schedule: ScheduleKind, workers: usize) -> Way {
        Way { name, schedule, workers, couples: Couples::WhereTheyPay, engines: 1 }
    }

    /// The CPUs that it takes, counted as workers.
    fn cpus(&self) -> usize {
        self.workers * self.engines
    }
}

fn main() -> ExitCode {
    bench_exit("walk", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let asked = command.value("--rounds").map_or(Ok(10), str::parse);
    let asked: usize = asked.map_err(|error| format!("--rounds: {error}"))?;
    let (rounds, seconds) = if command.measures() { (asked.max(1), 60) } else { (1, 1) };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let session = make_session(folder.path(), seconds).map_err(|error| error.to_string())?;
    let topology = topology().map_err(|failure| failure.to_string())?;
    let loaded = load_session_for_seats(&session, None, 1).map_err(|error| error.to_string())?;
    // One core with two threads has two seats, but no place for two workers without its sibling.
    let here: Vec<&Way> = WAYS.iter().filter(|way| seating(way, &topology).is_ok()).collect();
    let times_s = turns(&here, (rounds, seconds), &loaded, &topology)?;
    print(&here, &times_s)?;
    let ways = here
        .iter()
        .zip(&times_s)
        .map(|(way, times)| json!({ "name": way.name, "workers": way.workers, "engines": way.engines, "times_s": times }));
    let result = json!({
        "tracks": TRACKS, "bands": EFFECTS * BANDS, "seconds": seconds, "rate_hz": RATE_HZ, "frames": FRAMES,
        "rounds": rounds, "ways": ways.collect::<Vec<_>>(),
    });
    command.keep("hocket-walk/1", result)
}

/// The time of each turn of each way, in seconds.
fn turns(
    ways: &[&Way],
    (rounds, seconds): (usize, usize),
    loaded: &LoadedSession,
    topology: &Topology,
) -> Result<Vec<Vec<f64>>, String> {
    let mut rng = Rng::new(SEED);
    let mut times_s = vec![Vec::new(); ways.len()];
    for round in 0..rounds + WARM_UP {
        let mut order: Vec<usize> = (0..ways.len()).collect();
        rng.shuffle(&mut order);
        for which in order {
            let took = turn(ways[which], seconds, loaded, topology)?;
            if round >= WARM_UP {
                times_s[which].push(took);
            }
        }
    }
    Ok(times_s)
}

/// Where its workers sit, or those of all its engines.
fn seating(way: &Way, topology: &Topology) -> Result<Seating, String> {
    Seating::here(topology, SIBLING, Some(way.cpus())).map_err(|error| error.to_string())
}

fn turn(
    way: &Way,
    seconds: usize,
    loaded: &LoadedSession,
    topology: &Topology,
) -> Result<f64, String> {
    let all = seating(way, topology)?;
    let seatings = match way.engines {
        1 => vec![all],
        engines => {
            (0..engines).map(|which| one_seat(&all, which, topology)).collect::<Result<_, _>>()?
        }
    };
    let mut engines = Vec::new();
    for seating in seatings {
        engines.push(start(way, loaded, seating)?);
    }
    let ready = Barrier::new(engines.len());
    let took_s = std::thread::scope(|scope| {
        let Some((first, rest)) = engines.split_first_mut() else { return Ok(0.0) };
        let mut others = Vec::new();
        for engine in rest {
            others.push(scope.spawn(|| play(way, seconds, engine, &ready)));
        }
        let mut longest_s = play(way, seconds, first, &ready)?;
        for other in others {
            longest_s = longest_s.max(other.join().map_err(|_| "a walk panicked")??);
        }
        Ok::<f64, String>(longest_s)
    })?;
    Ok(took_s / way.engines as f64)
}

/// A seat for one worker, on the CPU of worker `which` of `all`.
fn one_seat(all: &Seating, which: usize, topology: &Topology) -> Result<Seating, String> {
    let mut speeds = SeatSpeeds::default();
    for worker in 0..all.placement().workers.len() {
        if let Some(cpu) = all.worker_cpu(worker) {
            // Workers take the fastest seats first.
            speeds.by_cpu.insert(cpu, if worker == which { 1.0 } else { 0.5 });
        }
    }
    let seat = Seating::here_with(topology, SIBLING, Some(1), &speeds);
    let seat = seat.map_err(|error| error.to_string())?;
    match seat.worker_cpu(0) == all.worker_cpu(which) {
        true => Ok(seat),
        false => Err("no CPU of its own for each of two engines".to_owned()),
    }
}

fn start(way: &Way, loaded: &LoadedSession, seating: Seating) -> Result<Engine, String> {
    let policy = Policy { schedule: way.schedule, sibling: SIBLING, wait: Strategy::Hybrid };
    let settings = Settings {
        steer: Steer::Fixed,
        priority: None,
        spans: false,
        couples: way.couples,
        ..Settings::new(FRAMES, RATE_HZ, policy)
    };
    let prepared = prepare_session(&loaded.session, &loaded.media, RATE_HZ, Fusing::Chains);
    let prepared = prepared.map_err(|error| error.to_string())?;
    Engine::start(prepared, settings, seating).map_err(|error| error.to_string())
}

/// How long the whole session takes, in seconds, from when all engines of the turn are ready.
fn play(way: &Way, seconds: usize, engine: &mut Engine, ready: &Barrier) -> Result<f64, String> {
    let frames = seconds as u64 * u64::from(RATE_HZ);
    let entered = engine.enter();
    ready.wait();
    let begun = Instant::now();
    let mut loudest = 0.0f32;
    let Ok(done) = offline::render_blocks(engine, frames, |engine, length| {
        loudest = loudest.max(engine.output(length).left[0].abs());
        Ok::<bool, Infallible>(true)
    });
    let took_s = begun.elapsed().as_secs_f64();
    drop(entered);
    if done < frames || loudest == 0.0 {
        return Err(format!("{}: nothing sounds", way.name));
    }
    Ok(took_s)
}

fn print(ways: &[&Way], times_s: &[Vec<f64>]) -> Result<(), String> {
    println!("{TRACKS} tracks with {} bands, blocks of {FRAMES} frames", EFFECTS * BANDS);
    let name = "way";
    println!("{name:<24} {:>8}  {:<22}  time / {EACH} [95 %]", "time", "time / serial [95 %]");
    let each = ways.iter().position(|way| way.name == EACH);
    for (way, times) in ways.iter().zip(times_s) {
        let took = median(times).unwrap_or(f64::NAN);
        let beside = each.filter(|_| way.cpus() > 1 && way.name != EACH);
        let beside = beside.map_or(Ok(String::new()), |each| ratio(&times_s[each], times))?;
        let of_serial = ratio(&times_s[0], times)?;
        println!("{:<24} {took:>6.3} s  {of_serial:<22}  {beside}", way.name);
    }
    Ok(())
}

/// One way's time by that of another one, with its interval, in words.
fn ratio(base_s: &[f64], times_s: &[f64]) -> Result<String, String> {
    let compared = compare(base_s, times_s, SEED).ok_or("no turn")?;
    let interval = match compared.interval {
        Some(within) => format!(" [{:.3}, {:.3}]", within.low, within.high),
        None => " (too few rounds)".to_owned(),
    };
    Ok(format!("{:.3}{interval}", compared.ratio))
}

// --- the session ----------------------------------------------------------------

fn make_session(folder: &Path, seconds: usize) -> std::io::Result<std::path::PathBuf> {
    let mut text = format!("[session]\nsample_rate_hz = {RATE_HZ}\nlength_s = {seconds}\n");
    for track in 0..TRACKS {
        write_noise(&folder.join(format!("{track}.wav")), seconds, track as u64)?;
        let _ = write!(
            text,
            "[[track]]\nname = \"{track}\"\ngain_db = -18\nclip = [{{ file = \"{track}.wav\" }}]\n"
        );
        for effect in 0..EFFECTS {
            text += "[[track.effect]]\nkind = \"eq\"\n";
            for band in 0..BANDS {
                let (hertz, gain_db) = peak(track, effect * BANDS + band);
                let name = format!("band{}", band + 1);
                let _ = write!(
                    text,
                    "{name}_type = 1\n{name}_freq_hz = {hertz:.1}\n{name}_q = 0.7071\n{name}_gain_db = {gain_db}\n"
                );
            }
        }
    }
    let path = folder.join("walk.toml");
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Centre in Hz and gain in dB; no two tracks have the same.
fn peak(track: usize, band: usize) -> (f64, i32) {
    let bands = (EFFECTS * BANDS) as f64;
    let share = (band as f64 + 0.5 + track as f64 / (2 * TRACKS) as f64) / bands;
    (40.0 * 300f64.powf(share), if band.is_multiple_of(2) { -3 } else { 3 })
}

fn write_noise(path: &Path, seconds: usize, seed: u64) -> std::io::Result<()> {
    let layout = WavLayout { samples: WavFormat::Pcm16, sample_rate_hz: RATE_HZ, channels: 2 };
    let frames = RATE_HZ as usize * seconds;
    let mut bytes = layout.header(frames as u64).to_vec();
    let mut rng = Rng::new(seed);
    let second: Vec<u8> = (0..2 * RATE_HZ as usize)
        .flat_map(|_| ((rng.below(8192) as i16) - 4096).to_le_bytes())
        .collect();
    (0..seconds).for_each(|_| bytes.extend_from_slice(&second));
    std::fs::write(path, bytes)
}
