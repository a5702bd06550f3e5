//! The checks, in the order in which they run.

mod events;
mod machine;
mod state;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use hocket_dsp::{Change, TimedChange};

use super::calls;
use super::piece::{Piece, sound};
use super::player::{Player, Score};
use super::sound::{
    Found, Random, Sound, constant, difference, from, is_silent, joined, loudest, not_finite, peak,
    same, subnormal,
};
use super::{Job, Line, Notes, SystemCalls};
use crate::Description;
use machine::median;

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
/// Frames of a sound whose cuts are compared. Where notes are played it is a second, so that voices also end meanwhile.
const FRAMES: usize = 12_000;
/// At one rate, a piece with notes goes on for so many seconds behind them: many voices fade out for longer than a second.
const FADE_OUT_S: usize = 3;
/// Frames for each end of a range, and where notes are played.
const END_FRAMES: usize = 1024;
const END_FRAMES_WITH_NOTES: usize = 4800;
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
    heard: Heard,
}

/// How often the present check has played the plug-in, and how often nothing sounded. Silence is the same whatever a plug-in
/// does wrong, so a check that heard nothing has shown nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    plays: u64,
    silent: u64,
}

impl Heard {
    fn nothing(self) -> bool {
        self.plays > 0 && self.silent == self.plays
    }
}

impl<'a> Exercises<'a> {
    fn new(job: &'a Job, system_calls: Result<SystemCalls, String>, file: File) -> Exercises<'a> {
        // liblilv is none of the plug-in's libraries.
        let _ = crate::lv2::available();
        let (plugin, seed) = (&job.plugin, job.seed);
        let (notes, loaded, pair) = (Notes::new(file), calls::loaded(), &job.pair);
        let heard = Heard::default();
        Exercises { plugin, seed, system_calls, notes, loaded, pair, heard }
    }

    fn run(mut self, skip: usize) -> io::Result<()> {
        for check in ALL.iter().skip(skip) {
            self.notes.begin(check);
            self.heard = Heard::default();
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

    /// How long a sound is whose cuts are compared.
    fn frames(&self, rate_hz: u32) -> usize {
        if self.plugin.events { rate_hz as usize } else { FRAMES }
    }

    /// What goes in where outputs are compared.
    fn piece(&self, rate_hz: u32, seed: u64) -> Piece {
        Piece::of(self.plugin, self.frames(rate_hz), seed)
    }

    /// What goes in where block lengths are compared. At one rate, voices have time to end.
    fn long_piece(&self, rate_hz: u32) -> Piece {
        let piece = self.piece(rate_hz, self.seed);
        let more = match self.plugin.events && rate_hz == RATE_HZ {
            true => sound(self.plugin, FADE_OUT_S * rate_hz as usize, self.seed),
            false => return piece,
        };
        Piece { sound: joined(&[piece.sound, more]), ..piece }
    }

    /// Plays a piece, and takes note of whether it sounds.
    fn play(&mut self, player: &mut Player, lengths: &[usize], piece: &Piece) -> Sound {
        let made = player.play(&piece.sound, lengths, &piece.score);
        self.heard.plays += 1;
        self.heard.silent += u64::from(is_silent(&made, SILENT));
        made
    }

    /// The check has found nothing wrong, unless nothing sounded.
    fn pass(&mut self, found: impl Into<String>) {
        match self.heard.nothing() {
            true => self.notes.unknown("nothing sounded, so this check shows nothing"),
            false => self.notes.ok(found),
        }
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

    /// Whether two new instances make the same of one piece.
    fn is_repeatable(&self, values: &[f32], piece: &Piece) -> Result<bool, String> {
        let made = || -> Result<Sound, String> {
            let mut player = Player::new(self.plugin, values, RATE_HZ, None)?;
            Ok(player.play(&piece.sound, CUTS[0], &piece.score))
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
            let piece = self.long_piece(rate_hz);
            let mut first = None;
            for lengths in CUTS {
                self.at(rate_hz, lengths, self.seed);
                let mut player = self.player(rate_hz)?;
                let made = self.play(&mut player, lengths, &piece);
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
        let repeats = self.is_repeatable(&self.defaults(), &self.long_piece(RATE_HZ))?;
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
            None => self.pass("the same bits for blocks of 1 to 4096 frames and for changing ones, at each rate"),
        }
        Ok(())
    }

    fn reset(&mut self) -> Result<(), String> {
        let piece = self.piece(RATE_HZ, self.seed);
        self.at(RATE_HZ, CUTS[0], self.seed);
        let mut player = self.player(RATE_HZ)?;
        let first = self.play(&mut player, CUTS[0], &piece);
        player.reset();
        let again = self.play(&mut player, CUTS[0], &piece);
        let repeats = self.is_repeatable(&self.defaults(), &piece)?;
        match () {
            () if same(&first, &again) => self.pass("after a reset it plays as a new one"),
            () if !repeats => self.notes.unknown("not compared: new instances differ, too"),
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
        let before = self.heard.silent;
        for round in 0..ROUNDS {
            let seed = self.seed.wrapping_add(round);
            self.at(RATE_HZ, CHANGING, seed);
            let mut random = Random::new(seed);
            let values = random.values(&self.plugin.params);
            let mut piece = self.piece(RATE_HZ, seed);
            piece.score.changes = random.changes(&self.plugin.params, 200, self.frames(RATE_HZ));
            let mut player = Player::new(self.plugin, &values, RATE_HZ, None)?;
            let made = self.play(&mut player, CHANGING, &piece);
            if !self.is_fine(&made, "with random values") {
                return Ok(());
            }
        }
        if self.notes.is_clean() {
            let count = self.plugin.params.len();
            let silent = silent_rounds(self.heard.silent - before);
            self.pass(format!(
                "{count} at both ends of their ranges, and {ROUNDS} rounds of 200 random changes{silent}"
            ));
        }
        Ok(())
    }

    /// Each parameter alone at its ends. A player that failed is replaced.
    fn ends_of_ranges(&mut self) -> Result<(), String> {
        let frames = if self.plugin.events { END_FRAMES_WITH_NOTES } else { END_FRAMES };
        let mut piece = Piece::of(self.plugin, frames, self.seed);
        let mut player = self.player(RATE_HZ)?;
        for (index, param) in self.plugin.params.iter().enumerate().take(usize::from(u16::MAX)) {
            let (min, max) = param.range();
            for value in [min, max, param.default_value()] {
                self.notes.at(format!("{RATE_HZ} Hz, block 64, {} = {value}", param.name));
                let change = Change::Param { index: index as u16, value };
                piece.score.changes = vec![TimedChange { frame: 0, change }];
                let made = self.play(&mut player, CUTS[0], &piece);
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
        if self.plugin.layout.inputs == 0 {
            self.notes.ok("it has no audio input");
            return Ok(());
        }
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
            self.pass("NaN, infinite, huge and subnormal input passes, and leaves nothing behind");
        }
        Ok(())
    }

    fn odd_input(&mut self, name: &str, value: f32) -> Result<(), String> {
        let mut player = self.player(RATE_HZ)?;
        let [begin, clean] =
            [2048, RATE_HZ as usize].map(|frames| sound(self.plugin, frames, self.seed));
        let odd = joined(&[begin, constant(value, 512), clean]);
        let notes = Piece::of(self.plugin, odd[0].len(), self.seed);
        let made = self.play(&mut player, CUTS[0], &Piece { sound: odd, ..notes });
        if value.is_subnormal() {
            self.is_fine(&made, "with subnormal input");
            return Ok(());
        }
        let last = from(&made, made[0].len() - FRAMES);
        let Some(Found { row, .. }) = not_finite(&last) else { return Ok(()) };
        let output = self.output(row);
        player.reset();
        let again = self.piece(RATE_HZ, self.seed);
        let after = self.play(&mut player, CUTS[0], &again);
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
        // Its notes have ended where the silence begins.
        let piece = Piece::of(self.plugin, rate, self.seed);
        self.play(&mut player, &[512], &piece);
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
            self.pass(match tail_s {
                0 => "silent at once, below -120 dBFS".into(),
                LONGEST_TAIL_S => format!("it still sounds after {LONGEST_TAIL_S} s of silence"),
                _ => format!("it sounds on for up to {tail_s} s, then it is below -120 dBFS"),
            });
        }
    }
}

/// Behind what random rounds found: in how many of them nothing sounded.
fn silent_rounds(silent: u64) -> String {
    match silent {
        0 => String::new(),
        1 => "; in 1 of these rounds nothing sounded".into(),
        _ => format!("; in {silent} of these rounds nothing sounded"),
    }
}
