//! The checks, in the order in which they run.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use hocket_dsp::{Change, TimedChange};
use hocket_time::{Event, EventKind, Midi1, Note, Source};

use super::calls::{self, Called, Purpose};
use super::player::{Player, Score};
use super::sound::{
    Found, Random, Sound, constant, difference, from, joined, loudest, noise, not_finite, peak,
    same, subnormal,
};
use super::{Job, Level, Line, Notes, SystemCalls, Timing, sibling};
use crate::Description;

/// The names of the checks.
pub const ALL: &[&str] = &[
    "builds",
    "blocks",
    "parameters",
    "input",
    "silence",
    "reset",
    "state",
    "events",
    "calls",
    "threads",
    "timing",
    "sibling",
];

const RATES_HZ: [u32; 4] = [44_100, 48_000, 96_000, 192_000];
/// The rate of checks that need one only.
const RATE_HZ: u32 = 48_000;
/// Block lengths, each in turn; the first cut is the one that the others are compared with.
const CUTS: [&[usize]; 8] =
    [&[64], &[1], &[7], &[100], &[512], &[1024], &[4096], &[1, 64, 33, 1024, 7, 4096, 128, 500]];
const CHANGING: &[usize] = CUTS[7];
/// Frames of a sound whose cuts are compared.
const FRAMES: usize = 12_000;
/// Rounds with other random values.
const ROUNDS: u64 = 8;
/// Values above are suspicious: 60 dB over full scale.
const LOUD: f32 = 1000.0;
/// Below -120 dB it is silent.
const SILENT: f32 = 1e-6;
/// How long a tail is waited for.
const LONGEST_TAIL_S: usize = 20;
/// A tail that takes so many times as long as sound, and at least [`SLOW_NS`], is slow.
const SLOW: u64 = 4;
const SLOW_NS: u64 = 20_000;
/// Block lengths that are timed.
const TIMED: [usize; 6] = [32, 64, 128, 256, 512, 1024];
/// Blocks of each, and those before that only warm up.
const TIMED_BLOCKS: usize = 500;
const WARM_UP: usize = 20;
/// The length of blocks beside a busy sibling, and how many make a turn: some 10 ms, but no fewer and no more than these.
const BESIDE: usize = 256;
const TURN_NS: u64 = 10_000_000;
const TURN_BLOCKS: std::ops::RangeInclusive<u64> = 20..=2000;
/// Blocks in which calls are counted.
const WATCHED_BLOCKS: usize = 100;
/// Threads that are Hocket's own.
const OWN_THREADS: [&str; 2] = ["clap-main", "vst3-main"];
/// How long threads may take to end.
const GRACE: Duration = Duration::from_millis(300);

const REMEDY_FINITE: &str =
    "guard divisions, square roots, logarithms and feedback against values out of range";

/// Checks a plug-in, but for the first `skip` checks, and writes what it finds into a file. For the process of its own.
/// `system_calls`: or why they cannot be watched.
///
/// # Errors
/// The file cannot be written.
pub fn exercise(
    job: &Job,
    system_calls: Result<SystemCalls, String>,
    into: &Path,
) -> io::Result<()> {
    let file = OpenOptions::new().append(true).create(true).open(into)?;
    Exercises::new(job, system_calls, file).run(job.skip)
}

struct Exercises<'a> {
    plugin: &'a Description,
    seed: u64,
    system_calls: Result<SystemCalls, String>,
    notes: Notes,
    /// Objects that were loaded before the plug-in.
    loaded: Vec<usize>,
    pair: &'a Result<[u32; 2], String>,
}

impl<'a> Exercises<'a> {
    fn new(job: &'a Job, system_calls: Result<SystemCalls, String>, file: File) -> Exercises<'a> {
        // liblilv is none of the plug-in's libraries.
        let _ = crate::lv2::available();
        let (plugin, seed) = (&job.plugin, job.seed);
        let (notes, loaded, pair) = (Notes::new(file), calls::loaded(), &job.pair);
        Exercises { plugin, seed, system_calls, notes, loaded, pair }
    }

    fn run(mut self, skip: usize) -> io::Result<()> {
        for check in ALL.iter().skip(skip) {
            self.notes.begin(check);
            if let Err(why) = self.check(check) {
                self.notes.fail(why, "it ran before: look for what one instance leaves behind");
            }
            if let Some(error) = self.notes.error.take() {
                return Err(error);
            }
        }
        self.notes.write(&Line::Ends);
        self.notes.error.map_or(Ok(()), Err)
    }

    fn check(&mut self, name: &str) -> Result<(), String> {
        match name {
            "builds" => {
                self.builds();
                Ok(())
            }
            "blocks" => self.blocks(),
            "parameters" => self.parameters(),
            "input" => self.input(),
            "silence" => self.silence(),
            "reset" => self.reset(),
            "state" => self.state(),
            "events" => self.events(),
            "calls" => self.calls(),
            "threads" => self.threads(),
            "timing" => self.timing(),
            _ => self.sibling(),
        }
    }

    fn player(&self, rate_hz: u32) -> Result<Player, String> {
        Player::new(self.plugin, &self.defaults(), rate_hz, None)
    }

    fn defaults(&self) -> Vec<f32> {
        self.plugin.params.iter().map(|param| param.default_value()).collect()
    }

    fn at(&mut self, rate_hz: u32, lengths: &[usize], seed: u64) {
        self.notes.at(place(rate_hz, lengths, seed));
    }

    /// The output with this row, behind `the` or `its`: extra outputs have names.
    fn output(&self, row: usize) -> String {
        let mut rows = 2;
        let extra = self.plugin.extra_outputs.iter().find(|output| {
            rows += usize::from(output.channels);
            row < rows
        });
        match extra {
            Some(output) if row >= 2 => format!("output '{}'", output.name),
            _ => "output".into(),
        }
    }

    /// Whether two new instances make the same of one sound.
    fn is_repeatable(&self, values: &[f32], sound: &Sound) -> Result<bool, String> {
        let made = || -> Result<Sound, String> {
            let mut player = Player::new(self.plugin, values, RATE_HZ, None)?;
            Ok(player.play(sound, CUTS[0], &Score::default()))
        };
        Ok(same(&made()?, &made()?))
    }
}

fn place(rate_hz: u32, lengths: &[usize], seed: u64) -> String {
    let block = match lengths {
        [length] => length.to_string(),
        _ => "changing".into(),
    };
    format!("{rate_hz} Hz, block {block}, seed {seed}")
}

/// Making, cutting, resetting.
impl Exercises<'_> {
    fn builds(&mut self) {
        let mut latencies = Vec::new();
        for rate_hz in RATES_HZ {
            self.notes.at(format!("{rate_hz} Hz"));
            match self.player(rate_hz) {
                Ok(player) => latencies.push(player.latency().to_string()),
                Err(why) => self.notes.fail(why, "accept every usual sample rate"),
            }
        }
        if self.notes.is_clean() {
            let rates = RATES_HZ.map(|rate| rate.to_string()).join(", ");
            let latencies = latencies.join(", ");
            let extra = match self.plugin.extra_outputs.len() {
                0 => String::new(),
                1 => "; with its extra output".into(),
                count => format!("; with its {count} extra outputs"),
            };
            self.notes.ok(format!("at {rates} Hz; latency {latencies} frames{extra}"));
        }
    }

    fn blocks(&mut self) -> Result<(), String> {
        let mut differs: Option<(Found<f32>, String)> = None;
        for rate_hz in RATES_HZ {
            let sound = noise(FRAMES, self.seed);
            let mut first = None;
            for lengths in CUTS {
                self.at(rate_hz, lengths, self.seed);
                let made = self.player(rate_hz)?.play(&sound, lengths, &Score::default());
                if let Some(Found { row, what: frame }) = not_finite(&made) {
                    let found =
                        format!("frame {frame} of the {} is no finite number", self.output(row));
                    self.notes.fail(found, REMEDY_FINITE);
                    return Ok(());
                }
                let first = first.get_or_insert_with(|| made.clone());
                let largest = difference(first, &made);
                let is_worse = differs.as_ref().is_none_or(|(most, _)| largest.what > most.what);
                if !same(first, &made) && is_worse {
                    differs = Some((largest, self.notes.at.clone()));
                }
            }
        }
        self.at(RATE_HZ, CUTS[0], self.seed);
        let repeats = self.is_repeatable(&self.defaults(), &noise(FRAMES, self.seed))?;
        match differs {
            _ if !repeats => self.notes.warn(
                "two new instances make different output of the same input, so block lengths cannot be compared",
                "if that is not meant: fill new memory, and seed random numbers per instance",
            ),
            Some((largest, at)) => {
                self.notes.at(at);
                let found = format!(
                    "the {} depends on the block length: it differs by {:.1e} from blocks of 64",
                    self.output(largest.row),
                    largest.what
                );
                let remedy = "count frames and not runs, for example where coefficients or an LFO change";
                self.notes.warn(found, remedy);
            }
            None => self.notes.ok("the same bits for blocks of 1 to 4096 frames and for changing ones, at each rate"),
        }
        Ok(())
    }

    fn reset(&mut self) -> Result<(), String> {
        let sound = noise(FRAMES, self.seed);
        self.at(RATE_HZ, CUTS[0], self.seed);
        let mut player = self.player(RATE_HZ)?;
        let first = player.play(&sound, CUTS[0], &Score::default());
        player.reset();
        let again = player.play(&sound, CUTS[0], &Score::default());
        let repeats = self.is_repeatable(&self.defaults(), &sound)?;
        match () {
            () if same(&first, &again) => self.notes.ok("after a reset it plays as a new one"),
            () if !repeats => self.notes.ok("not compared: new instances differ, too"),
            () => {
                let Found { row, what } = difference(&first, &again);
                let output = self.output(row);
                self.notes.warn(
                    format!("after a reset it does not play as a new one: the {output} differs by {what:.1e}"),
                    "clear delay lines, filters and envelopes in reset() or activate()",
                );
            }
        }
        Ok(())
    }
}

/// Values and input.
impl Exercises<'_> {
    fn parameters(&mut self) -> Result<(), String> {
        if self.plugin.params.is_empty() {
            self.notes.ok("it has none");
            return Ok(());
        }
        self.ends_of_ranges()?;
        for round in 0..ROUNDS {
            let seed = self.seed.wrapping_add(round);
            self.at(RATE_HZ, CHANGING, seed);
            let mut random = Random::new(seed);
            let values = random.values(&self.plugin.params);
            let changes = random.changes(&self.plugin.params, 200, FRAMES);
            let mut player = Player::new(self.plugin, &values, RATE_HZ, None)?;
            let score = Score { changes, events: Vec::new() };
            let made = player.play(&noise(FRAMES, seed), CHANGING, &score);
            if !self.is_fine(&made, "with random values") {
                return Ok(());
            }
        }
        if self.notes.is_clean() {
            let count = self.plugin.params.len();
            let found = format!(
                "{count} at both ends of their ranges, and {ROUNDS} rounds of 200 random changes"
            );
            self.notes.ok(found);
        }
        Ok(())
    }

    /// Each parameter alone at its ends. A player that failed is replaced.
    fn ends_of_ranges(&mut self) -> Result<(), String> {
        let sound = noise(1024, self.seed);
        let mut player = self.player(RATE_HZ)?;
        for (index, param) in self.plugin.params.iter().enumerate().take(usize::from(u16::MAX)) {
            let (min, max) = param.range();
            for value in [min, max, param.default_value()] {
                self.notes.at(format!("{RATE_HZ} Hz, block 64, {} = {value}", param.name));
                let change = Change::Param { index: index as u16, value };
                let changes = vec![TimedChange { frame: 0, change }];
                let made = player.play(&sound, CUTS[0], &Score { changes, events: Vec::new() });
                if !self.is_fine(&made, "with one parameter at an end of its range") {
                    player = self.player(RATE_HZ)?;
                }
            }
        }
        Ok(())
    }

    /// `false`: it was not finite.
    fn is_fine(&mut self, made: &Sound, when: &str) -> bool {
        if let Some(Found { row, .. }) = not_finite(made) {
            let output = self.output(row);
            self.notes.fail(format!("the {output} is no finite number {when}"), REMEDY_FINITE);
            return false;
        }
        let Found { row, what: peak } = loudest(made);
        if peak > LOUD {
            let (output, db) = (self.output(row), 20.0 * peak.log10());
            let remedy = "limit resonance and feedback, or narrow the ranges";
            self.notes.warn(format!("the {output} reaches {db:+.0} dBFS {when}"), remedy);
        }
        true
    }

    fn input(&mut self) -> Result<(), String> {
        let odd = [
            ("NaN", f32::NAN),
            ("infinite", f32::INFINITY),
            ("huge (1e30)", 1e30),
            ("subnormal", 1e-40),
        ];
        for (name, value) in odd {
            self.notes.at(format!("{RATE_HZ} Hz, block 64, {name} input, seed {}", self.seed));
            self.odd_input(name, value)?;
        }
        if self.notes.is_clean() {
            self.notes
                .ok("NaN, infinite, huge and subnormal input passes, and leaves nothing behind");
        }
        Ok(())
    }

    fn odd_input(&mut self, name: &str, value: f32) -> Result<(), String> {
        let mut player = self.player(RATE_HZ)?;
        let clean = noise(RATE_HZ as usize, self.seed);
        let sound = joined(&[noise(2048, self.seed), constant(value, 512), clean]);
        let made = player.play(&sound, CUTS[0], &Score::default());
        if value.is_subnormal() {
            self.is_fine(&made, "with subnormal input");
            return Ok(());
        }
        let last = from(&made, made[0].len() - FRAMES);
        let Some(Found { row, .. }) = not_finite(&last) else { return Ok(()) };
        let output = self.output(row);
        player.reset();
        let after = player.play(&noise(FRAMES, self.seed), CUTS[0], &Score::default());
        match not_finite(&after) {
            Some(_) => self.notes.fail(
                format!("{name} input for 512 frames makes its {output} unusable for ever: not even a reset helps"),
                "clear all state in reset() or activate()",
            ),
            None => self.notes.warn(
                format!("after {name} input for 512 frames its {output} is no finite number until a reset"),
                "let feedback paths and filters drop what is not finite; Hocket resets such a plug-in",
            ),
        }
        Ok(())
    }

    fn silence(&mut self) -> Result<(), String> {
        self.notes.at(format!("{RATE_HZ} Hz, block 512, seed {}", self.seed));
        let rate = RATE_HZ as usize;
        let mut player = self.player(RATE_HZ)?;
        player.play(&noise(rate, self.seed), &[512], &Score::default());
        let loud_ns = median(&player.times_ns);
        let (mut tail, mut subnormals, mut slowest_ns) = (0, 0, 0);
        for second in 0..LONGEST_TAIL_S {
            self.notes.at(self.notes.at.clone());
            let made = player.play(&constant(0.0, rate), &[512], &Score::default());
            if let Some(Found { row, what: frame }) = not_finite(&made) {
                let (output, frame) = (self.output(row), second * rate + frame);
                let found =
                    format!("frame {frame} of the tail of its {output} is no finite number");
                self.notes.fail(found, REMEDY_FINITE);
                return Ok(());
            }
            subnormals += subnormal(&made);
            slowest_ns = slowest_ns.max(median(&player.times_ns));
            if peak(&made) > SILENT {
                tail = second + 1;
            }
        }
        self.tail(tail, subnormals, (loud_ns, slowest_ns));
        Ok(())
    }

    fn tail(&mut self, tail_s: usize, subnormals: usize, (loud_ns, slowest_ns): (u64, u64)) {
        let remedy = "add a tiny value to feedback paths, or set values below 1e-20 to 0";
        if subnormals > 0 {
            let found = format!(
                "its tail has {subnormals} subnormal numbers, which slow down what comes behind"
            );
            self.notes.warn(found, remedy);
        }
        if slowest_ns > SLOW_NS && slowest_ns > SLOW * loud_ns {
            let times = slowest_ns / loud_ns.max(1);
            self.notes
                .warn(format!("in silence it takes {times} times as long as with sound"), remedy);
        }
        if self.notes.is_clean() {
            self.notes.ok(match tail_s {
                0 => "silent at once, below -120 dBFS".into(),
                LONGEST_TAIL_S => format!("it still sounds after {LONGEST_TAIL_S} s of silence"),
                _ => format!("it sounds on for up to {tail_s} s, then it is below -120 dBFS"),
            });
        }
    }
}

/// State and events.
impl Exercises<'_> {
    fn state(&mut self) -> Result<(), String> {
        self.at(RATE_HZ, CUTS[0], self.seed);
        if self.player(RATE_HZ)?.save()?.is_none() {
            self.notes.ok("none beside its parameters");
            return Ok(());
        }
        for round in 0..ROUNDS {
            let seed = self.seed.wrapping_add(round);
            self.at(RATE_HZ, CUTS[0], seed);
            if !self.restored(seed)? {
                return Ok(());
            }
        }
        self.bad_states()?;
        if self.notes.is_clean() {
            self.notes.ok(format!(
                "{ROUNDS} random ones come back and sound the same; damaged ones do no harm"
            ));
        }
        Ok(())
    }

    /// Saves an instance with random values, restores it in another one, and compares. `false`: enough was found.
    fn restored(&mut self, seed: u64) -> Result<bool, String> {
        let values = Random::new(seed).values(&self.plugin.params);
        let sound = noise(FRAMES, seed);
        let mut original = Player::new(self.plugin, &values, RATE_HZ, None)?;
        let saved = original.save()?.unwrap_or_default();
        let remedy = "save every value that the sound depends on, and read all of them back";
        let mut copy =
            match Player::new(self.plugin, &self.beside_state(&values), RATE_HZ, Some(&saved)) {
                Ok(copy) => copy,
                Err(why) => {
                    self.notes.fail(format!("its own state is refused: {why}"), remedy);
                    return Ok(false);
                }
            };
        if copy.save()?.is_some_and(|again| again != saved) {
            self.notes.warn("a state that is restored and saved again is not the same", remedy);
        }
        let expected = original.play(&sound, CUTS[0], &Score::default());
        let made = copy.play(&sound, CUTS[0], &Score::default());
        if same(&expected, &made) {
            return Ok(true);
        }
        if !self.is_repeatable(&values, &sound)? {
            self.notes.ok("not compared: with these values, new instances differ, too");
            return Ok(false);
        }
        let Found { row, what: largest } = difference(&expected, &made);
        let output = self.output(row);
        let found = format!(
            "a restored instance sounds different from the original: its {output} by {largest:.1e}"
        );
        match largest > SILENT || largest.is_nan() {
            true => self.notes.fail(found, remedy),
            false => self.notes.warn(found, remedy),
        }
        Ok(false)
    }

    /// A state of CLAP or VST3 has the values; those of LV2 are apart from it.
    fn beside_state(&self, values: &[f32]) -> Vec<f32> {
        match crate::Format::of_kind(&self.plugin.kind) {
            Some((crate::Format::Clap | crate::Format::Vst3, _)) => self.defaults(),
            _ => values.to_vec(),
        }
    }

    /// A plug-in may refuse them or do what it can.
    fn bad_states(&mut self) -> Result<(), String> {
        let saved = self.player(RATE_HZ)?.save()?.unwrap_or_default();
        let mut flipped = saved.clone();
        let mut random = Random::new(self.seed);
        for _ in 0..flipped.len().min(16) {
            let place = random.below(flipped.len());
            flipped[place] ^= 0x5a;
        }
        let half = saved[..saved.len() / 2].to_vec();
        for (name, state) in [("empty", Vec::new()), ("cut in half", half), ("damaged", flipped)] {
            self.notes.at(format!("{RATE_HZ} Hz, {name} state, seed {}", self.seed));
            if let Ok(mut player) =
                Player::new(self.plugin, &self.defaults(), RATE_HZ, Some(&state))
            {
                let made = player.play(&noise(1024, self.seed), CUTS[0], &Score::default());
                self.is_fine(&made, &format!("with a state that is {name}"));
            }
        }
        Ok(())
    }

    fn events(&mut self) -> Result<(), String> {
        if !self.plugin.events {
            self.notes.ok("it takes none");
            return Ok(());
        }
        let mut heard = 0.0_f32;
        for round in 0..ROUNDS {
            let seed = self.seed.wrapping_add(round);
            self.at(RATE_HZ, CHANGING, seed);
            let mut player = self.player(RATE_HZ)?;
            let score = Score { changes: Vec::new(), events: music(seed, FRAMES) };
            let made = player.play(&constant(0.0, FRAMES), CHANGING, &score);
            heard = heard.max(peak(&made));
            if !self.is_fine(&made, "with notes and MIDI messages")
                || !self.falls_silent(&mut player)
            {
                return Ok(());
            }
        }
        if self.plugin.layout.inputs == 0 && heard == 0.0 {
            self.notes
                .warn("no note made a sound", "check the note input: key, channel and velocity");
        }
        if self.notes.is_clean() {
            self.notes.ok(format!(
                "{ROUNDS} rounds of random notes, controllers and messages; every note ends"
            ));
        }
        Ok(())
    }

    /// Ends all notes and waits. `false`: it sounds on.
    fn falls_silent(&mut self, player: &mut Player) -> bool {
        let rate = RATE_HZ as usize;
        let end = Event::new(0, Source::LIVE, EventKind::EndAllNotes);
        let mut score = Score { changes: Vec::new(), events: vec![end] };
        for _ in 0..LONGEST_TAIL_S {
            self.notes.at(self.notes.at.clone());
            let made = player.play(&constant(0.0, rate), &[512], &score);
            score.events.clear();
            if !self.is_fine(&made, "after the end of all notes") {
                return false;
            }
            if peak(&from(&made, rate / 2)) <= SILENT {
                return true;
            }
        }
        if self.plugin.layout.inputs == 0 {
            let found =
                format!("it sounds for {LONGEST_TAIL_S} s after all notes ended: a note may hang");
            self.notes
                .warn(found, "end notes on note-off, controller 123, and with the pedal (64) up");
        }
        false
    }
}

/// Notes, controllers, pitch bends, pressures and programs, with the odd ones: ends without a start, velocity 0, every key.
fn music(seed: u64, frames: usize) -> Vec<Event> {
    let mut random = Random::new(seed);
    let mut events: Vec<Event> = (0..300).map(|_| random_event(&mut random, frames)).collect();
    events.sort_by_key(|event| event.frame);
    events
}

fn random_event(random: &mut Random, frames: usize) -> Event {
    let (frame, channel) = (random.below(frames) as u32, random.below(16) as u8);
    let (one, two) = (random.below(128) as u8, random.below(128) as u8);
    let velocity = f64::from(random.unit());
    let message = |bytes: &[u8]| Midi1::new(bytes).map_or(EventKind::EndAllNotes, EventKind::Midi);
    let kind = match random.below(8) {
        0..3 => EventKind::Note(Note::on(-1, channel as i8, one as i8, velocity)),
        3..5 => EventKind::Note(Note::off(-1, channel as i8, one as i8, velocity)),
        5 => message(&[0xb0 | channel, one, two]),
        6 => message(&[0xe0 | channel, one, two]),
        _ => message(&[0xc0 | channel, one]),
    };
    Event::new(frame, Source::LIVE, kind)
}

/// What it does to the machine.
impl Exercises<'_> {
    fn calls(&mut self) -> Result<(), String> {
        self.at(RATE_HZ, &[64], self.seed);
        let mut player = self.player(RATE_HZ)?;
        if calls::watch(&self.loaded) == 0 {
            self.notes.ok("its libraries call nothing of the C library that is watched");
        }
        player.watch = self.system_calls.as_ref().ok().copied();
        if let Err(why) = &self.system_calls {
            let found = format!("system calls are not watched: {why}");
            self.notes.say(Level::Unmeasured, found, None);
        }
        let frames = 64 * WATCHED_BLOCKS;
        let sound = noise(frames, self.seed);
        let mut random = Random::new(self.seed);
        let changes = random.changes(&self.plugin.params, WATCHED_BLOCKS, frames);
        let events = if self.plugin.events { music(self.seed, frames) } else { Vec::new() };
        let rounds = [
            ("in the first block", noise(64, self.seed), Score::default()),
            ("while it plays", sound.clone(), Score::default()),
            ("when parameters change", sound.clone(), Score { changes, events: Vec::new() }),
            ("with notes", sound, Score { changes: Vec::new(), events }),
        ];
        let says_more = |score: &Score| !(score.changes.is_empty() && score.events.is_empty());
        for (index, (when, sound, score)) in rounds.iter().enumerate() {
            if index < 2 || says_more(score) {
                player.play(sound, &[64], score);
                self.called(when, index == 0);
            }
        }
        if self.notes.worst.is_none_or(|worst| worst <= Level::Unmeasured) {
            self.notes.ok(
                "while it processes: no memory, locks, waits, files or threads of the C library",
            );
        }
        Ok(())
    }

    /// What a round called.
    fn called(&mut self, when: &str, is_first: bool) {
        let called = calls::take();
        let system = self.system_calls.as_ref().map_or_else(|_| Vec::new(), |calls| (calls.take)());
        let level = if is_first { Level::Warning } else { Level::Failed };
        for (purpose, what, remedy) in PURPOSES {
            let of: Vec<&Called> = called.iter().filter(|call| call.purpose == purpose).collect();
            if !of.is_empty() {
                let counts: Vec<String> =
                    of.iter().map(|call| format!("{} {} times", call.name, call.count)).collect();
                let found = format!("{what} {when}: {}", counts.join(", "));
                self.notes.say(level, found, Some(remedy));
            }
        }
        if !system.is_empty() {
            let found = format!("system calls {when}: {}", system.join(", "));
            self.notes.say(
                level,
                found,
                Some("see which function makes them: `strace -k` shows the stack"),
            );
        }
    }

    fn threads(&mut self) -> Result<(), String> {
        self.notes.at(format!("{RATE_HZ} Hz, block 512"));
        let mut player = self.player(RATE_HZ)?;
        player.play(&noise(FRAMES, self.seed), &[512], &Score::default());
        let wants_restart = player.wants_restart();
        let started = other_threads();
        drop(player);
        std::thread::sleep(GRACE);
        let left = other_threads();
        if wants_restart {
            self.notes.warn(
                "it asks to be made anew while it plays",
                "ask only when something changed that needs it",
            );
        }
        match (started.as_slice(), left.as_slice()) {
            ([], []) => self.notes.ok("it starts none"),
            (_, []) => self.notes.ok(format!("it starts {}, and ends them", named(&started))),
            (_, left) => self.notes.warn(
                format!("{} go on after its end", named(left)),
                "join threads in the destructor: the library may be unloaded behind it",
            ),
        }
        Ok(())
    }

    fn timing(&mut self) -> Result<(), String> {
        for frames in TIMED {
            self.at(RATE_HZ, &[frames], self.seed);
            let mut player = self.player(RATE_HZ)?;
            let sound = noise(frames * (TIMED_BLOCKS + WARM_UP), self.seed);
            player.play(&sound, &[frames], &Score::default());
            let timing = timing(frames, &player.times_ns[WARM_UP..]);
            self.notes.write(&Line::Timed(timing.clone()));
            self.deadline(&timing);
        }
        if self.notes.is_clean() {
            self.notes.ok("99 of 100 blocks of each length take less than half of their deadline");
        }
        Ok(())
    }

    /// What it is worth to keep the other half of the core free.
    fn sibling(&mut self) -> Result<(), String> {
        let cpus = match self.pair {
            Ok(cpus) => *cpus,
            Err(why) => {
                self.notes.say(Level::Unmeasured, why.clone(), None);
                return Ok(());
            }
        };
        self.at(RATE_HZ, &[BESIDE], self.seed);
        let mut player = self.player(RATE_HZ)?;
        let warm_up = noise(BESIDE * WARM_UP, self.seed);
        player.play(&warm_up, &[BESIDE], &Score::default());
        let blocks = (TURN_NS / median(&player.times_ns).max(1))
            .clamp(*TURN_BLOCKS.start(), *TURN_BLOCKS.end());
        let sound = noise(BESIDE * blocks as usize, self.seed);
        let block_us = || {
            player.play(&sound, &[BESIDE], &Score::default());
            median(&player.times_ns) as f64 / 1e3
        };
        match sibling::measure(cpus, BESIDE, block_us) {
            Ok(found) => {
                self.notes.ok(found.told());
                self.notes.write(&Line::Beside(found));
            }
            Err(why) => self.notes.say(Level::Unmeasured, why, None),
        }
        Ok(())
    }

    fn deadline(&mut self, timing: &Timing) {
        let share = |us: f64| 100.0 * us / timing.deadline_us;
        let (median, p99) = (share(timing.median_us), share(timing.p99_us));
        let remedy =
            "the plug-in alone leaves no time for others: use longer blocks, or make it cheaper";
        if median > 100.0 {
            self.notes.fail(
                format!("half of the blocks take {median:.0} % of their deadline or more"),
                remedy,
            );
        } else if p99 > 50.0 {
            self.notes
                .warn(format!("one block in 100 takes {p99:.0} % of its deadline or more"), remedy);
        }
    }
}

/// What calls are for, how it reads, and what to do.
const PURPOSES: [(Purpose, &str, &str); 5] = [
    (Purpose::Memory, "it allocates", "allocate in activate() or in a worker"),
    (
        Purpose::Lock,
        "it locks",
        "share data through atomics or a ring; a lock may wait for a thread without priority",
    ),
    (Purpose::Wait, "it waits", "never wait while processing"),
    (Purpose::File, "it uses files", "read and write in a worker"),
    (Purpose::Thread, "it starts threads or loads libraries", "do so before activate()"),
];

/// Names of threads that are neither the first one, nor the calling one, nor Hocket's.
fn other_threads() -> Vec<String> {
    let first = std::process::id().to_string();
    let own = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = tasks.filter(|task| {
        task.file_name() != first.as_str() && Some(&*task.file_name()) != own.file_name()
    });
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    let names = others.filter_map(name).map(|name| name.trim().to_string());
    names.filter(|name| !OWN_THREADS.contains(&name.as_str())).collect()
}

fn named(threads: &[String]) -> String {
    let s = if threads.len() == 1 { "" } else { "s" };
    format!("{} thread{s} ({})", threads.len(), threads.join(", "))
}

fn median(times_ns: &[u64]) -> u64 {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

fn timing(frames: usize, times_ns: &[u64]) -> Timing {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| {
        let place = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(place).map_or(0.0, |time| *time as f64 / 1e3)
    };
    Timing {
        rate_hz: RATE_HZ,
        frames,
        blocks: times_ns.len(),
        median_us: at(0.5),
        p99_us: at(0.99),
        worst_us: at(1.0),
        deadline_us: frames as f64 * 1e6 / f64::from(RATE_HZ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ranked() {
        let times: Vec<u64> = (1..=1000).rev().map(|time| time * 1000).collect();
        let timing = timing(48, &times);
        assert_eq!((timing.median_us, timing.p99_us, timing.worst_us), (501.0, 991.0, 1000.0));
        assert_eq!(timing.deadline_us, 1000.0);
        assert_eq!(median(&[]), 0);
    }

    #[test]
    fn random_events_are_in_the_order_of_frames() {
        let events = music(3, 1000);
        assert!(events.is_sorted_by_key(|event| event.frame) && events.len() == 300);
        assert_eq!(events, music(3, 1000));
    }
}
