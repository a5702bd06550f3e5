//! What a plug-in does to the machine: calls, threads, and the time that it takes.

use std::time::Duration;

use super::super::calls::{self, Called, Purpose};
use super::super::piece::{HELD, Piece, sound};
use super::super::player::Score;
use super::super::sound::Random;
use super::super::{Level, Line, Timing, sibling};
use super::events::music;
use super::{Exercises, FRAMES, RATE_HZ};

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

impl Exercises<'_> {
    pub(super) fn calls(&mut self) -> Result<(), String> {
        self.at(RATE_HZ, &[64], self.seed);
        let mut player = self.player(RATE_HZ)?;
        if calls::watch(&self.loaded) == 0 {
            self.notes.ok("its libraries call nothing of the C library that is watched");
        }
        player.watch = self.system_calls.as_ref().ok().copied();
        if let Err(why) = &self.system_calls {
            self.notes.unknown(format!("system calls are not watched: {why}"));
        }
        for (index, (when, piece)) in self.watched_rounds().iter().enumerate() {
            self.play(&mut player, &[64], piece);
            self.called(when, index == 0);
        }
        if self.notes.worst.is_none_or(|worst| worst <= Level::Unmeasured) {
            self.pass(
                "while it processes: no memory, locks, waits, files or threads of the C library",
            );
        }
        Ok(())
    }

    /// What is played while calls are counted, and when that is. Each round has notes where the plug-in takes them.
    fn watched_rounds(&self) -> Vec<(&'static str, Piece)> {
        let (plugin, seed) = (self.plugin, self.seed);
        let frames = 64 * WATCHED_BLOCKS;
        let piece = || Piece::of(plugin, frames, seed);
        let mut rounds =
            vec![("in the first block", Piece::of(plugin, 64, seed)), ("while it plays", piece())];
        let changes = Random::new(seed).changes(&plugin.params, WATCHED_BLOCKS, frames);
        if !changes.is_empty() {
            let Piece { sound, score } = piece();
            let score = Score { changes, ..score };
            rounds.push(("when parameters change", Piece { sound, score }));
        }
        if plugin.events {
            let score = Score { changes: Vec::new(), events: music(seed, frames) };
            rounds.push(("with notes", Piece { sound: sound(plugin, frames, seed), score }));
        }
        rounds
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

    pub(super) fn threads(&mut self) -> Result<(), String> {
        self.notes.at(format!("{RATE_HZ} Hz, block 512"));
        let mut player = self.player(RATE_HZ)?;
        let piece = Piece::of(self.plugin, FRAMES, self.seed);
        self.play(&mut player, &[512], &piece);
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
            ([], []) => self.pass("it starts none"),
            (_, []) => self.pass(format!("it starts {}, and ends them", named(&started))),
            (_, left) => self.notes.warn(
                format!("{} go on after its end", named(left)),
                "join threads in the destructor: the library may be unloaded behind it",
            ),
        }
        Ok(())
    }

    pub(super) fn timing(&mut self) -> Result<(), String> {
        for frames in TIMED {
            self.at(RATE_HZ, &[frames], self.seed);
            let mut player = self.player(RATE_HZ)?;
            let piece = Piece::held(self.plugin, frames * (TIMED_BLOCKS + WARM_UP), self.seed);
            self.play(&mut player, &[frames], &piece);
            let timing = timing(frames, self.held_notes(), &player.times_ns[WARM_UP..]);
            self.notes.write(&Line::Timed(timing.clone()));
            self.deadline(&timing);
        }
        if self.heard.nothing() {
            self.notes.unknown("nothing sounded, so these are the times of silence");
        }
        if self.notes.is_clean() {
            self.notes.ok(format!(
                "99 of 100 blocks of each length take less than half of their deadline{}",
                with_notes(self.held_notes())
            ));
        }
        Ok(())
    }

    /// How many notes are held while blocks are timed.
    fn held_notes(&self) -> usize {
        if self.plugin.events { HELD } else { 0 }
    }

    /// What it is worth to keep the other half of the core free.
    pub(super) fn sibling(&mut self) -> Result<(), String> {
        let cpus = match self.pair {
            Ok(cpus) => *cpus,
            Err(why) => {
                self.notes.unknown(why.clone());
                return Ok(());
            }
        };
        self.at(RATE_HZ, &[BESIDE], self.seed);
        let mut player = self.player(RATE_HZ)?;
        let warm_up = Piece::held(self.plugin, BESIDE * WARM_UP, self.seed);
        self.play(&mut player, &[BESIDE], &warm_up);
        let blocks = (TURN_NS / median(&player.times_ns).max(1))
            .clamp(*TURN_BLOCKS.start(), *TURN_BLOCKS.end());
        let piece = Piece::held(self.plugin, BESIDE * blocks as usize, self.seed);
        let (frames, held) = (BESIDE, self.held_notes());
        let block_us = || {
            self.play(&mut player, &[BESIDE], &piece);
            median(&player.times_ns) as f64 / 1e3
        };
        match sibling::measure(cpus, (frames, held), block_us) {
            Ok(found) => {
                self.say_beside(found.told());
                self.notes.write(&Line::Beside(found));
            }
            Err(why) => self.notes.unknown(why),
        }
        Ok(())
    }

    fn say_beside(&mut self, told: String) {
        match self.heard.nothing() {
            true => self
                .notes
                .unknown(format!("nothing sounded, so this is the time of silence: {told}")),
            false => self.notes.ok(told),
        }
    }

    fn deadline(&mut self, timing: &Timing) {
        let share = |us: f64| 100.0 * us / timing.deadline_us;
        let (median, p99) = (share(timing.median_us), share(timing.p99_us));
        let held = with_notes(timing.held_notes);
        let remedy =
            "the plug-in alone leaves no time for others: use longer blocks, or make it cheaper";
        if median > 100.0 {
            self.notes.fail(
                format!("half of the blocks take {median:.0} % of their deadline or more{held}"),
                remedy,
            );
        } else if p99 > 50.0 {
            self.notes.warn(
                format!("one block in 100 takes {p99:.0} % of its deadline or more{held}"),
                remedy,
            );
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

pub(super) fn median(times_ns: &[u64]) -> u64 {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Behind what is said of times.
fn with_notes(held: usize) -> String {
    match held {
        0 => String::new(),
        _ => format!(", with {held} notes held and struck anew every half second"),
    }
}

fn timing(frames: usize, held_notes: usize, times_ns: &[u64]) -> Timing {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| {
        let place = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(place).map_or(0.0, |time| *time as f64 / 1e3)
    };
    Timing {
        rate_hz: RATE_HZ,
        frames,
        held_notes,
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
        let timing = timing(48, 8, &times);
        assert_eq!((timing.median_us, timing.p99_us, timing.worst_us), (501.0, 991.0, 1000.0));
        assert_eq!((timing.deadline_us, timing.held_notes), (1000.0, 8));
        assert_eq!(median(&[]), 0);
    }
}
