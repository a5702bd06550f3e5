//! An engine that plays a generated session for a turn.

mod song;

use hocket_engine::control::protect::Protection;
use hocket_engine::{Engine, Policy, Seating, Settings, VirtualDevice, prepare_session};
use hocket_machine::Topology;
use hocket_plan::{Fusing, ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;
use hocket_trace::Misses;

use crate::harness::{Check, Fault};
use crate::stats;
pub(super) use song::Song;

/// Of engine and device.
pub(super) const RATE_HZ: u32 = 48_000;
/// Blocks that are walked both ways and compared before each turn.
const COMPARED: usize = 4;

/// An engine with workers, ready to play.
pub(super) struct Player {
    engine: Engine,
    frames: u32,
}

/// What a turn of playing came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Played {
    /// From the planned start to the leader's awakening, by block, in nanoseconds.
    pub lateness_ns: Vec<f64>,
    /// From there to the complete output.
    pub duration_ns: Vec<f64>,
    /// Periods for which the device had nothing new to play.
    pub misses: Misses,
}

/// Every session of the experiments is played so, but for the sibling policy.
pub(super) fn policy(schedule: ScheduleKind, sibling: SiblingPolicy) -> Policy {
    Policy { schedule, sibling, wait: Strategy::Hybrid }
}

impl Player {
    /// Starts an engine on this machine.
    pub(super) fn start(
        topology: &Topology,
        song: Song,
        policy: Policy,
        frames: u32,
    ) -> Result<Player, Fault> {
        let seating = Seating::here(topology, policy.sibling, None).map_err(Fault::new)?;
        let (session, media) = song.session();
        let prepared = prepare_session(&session, &media, RATE_HZ, Fusing::Chains);
        let settings = Settings { spans: false, ..Settings::new(frames, RATE_HZ, policy) };
        let engine = Engine::start(prepared.map_err(Fault::new)?, settings, seating);
        Ok(Player { engine: engine.map_err(Fault::new)?, frames })
    }

    /// How many blocks' time passes in a period of this many frames.
    pub(super) fn period_ns(frames: u32) -> f64 {
        hocket_engine::period_ns(frames.into(), RATE_HZ) as f64
    }

    /// Frames a block.
    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    /// Whether plan and serial walk give the same bits from the beginning on; a sound, not silence.
    ///
    /// Cost: eight blocks.
    pub(super) fn check(&mut self) -> Check {
        let mut walk = |serial: bool| {
            self.engine.reset();
            (0..COMPARED).flat_map(|_| self.block(serial)).collect::<Vec<u32>>()
        };
        let (planned, serial) = (walk(false), walk(true));
        match (planned == serial, planned.iter().any(|bits| *bits != 0)) {
            (true, true) => Check::Passed,
            (true, false) => Check::Failed("nothing is heard".into()),
            (false, _) => {
                Check::Failed("the plan plays something else than the serial walk".into())
            }
        }
    }

    fn block(&mut self, serial: bool) -> Vec<u32> {
        let frames = self.frames as usize;
        match serial {
            true => self.engine.process_serial(frames),
            false => self.engine.process(frames),
        };
        self.engine.output(frames).left.iter().map(|sample| sample.to_bits()).collect()
    }

    /// Plays so many blocks against the clock, on the calling thread.
    ///
    /// # Errors
    /// A protection that the system refuses; nothing is played then.
    pub(super) fn play(&mut self, blocks: u64) -> Result<Played, Fault> {
        let entered = self.engine.enter();
        if let Some(why) = refused(&entered.others()) {
            return Err(Fault(why));
        }
        let mut played = Played::default();
        VirtualDevice::new(self.frames, RATE_HZ).run(&mut self.engine, blocks, |times, _| {
            played.lateness_ns.push(times.lateness_ns as f64);
            played.duration_ns.push(times.duration_ns as f64);
            played.misses += times.misses();
            true
        });
        drop(entered);
        Ok(played)
    }

    /// Median time of the serial walk, block after block.
    pub(super) fn serial_ns(&mut self, blocks: usize) -> f64 {
        let frames = self.frames as usize;
        let mut time = || self.engine.process_serial(frames).duration_ns as f64;
        let times: Vec<f64> = (0..blocks).map(|_| time()).collect();
        stats::median(&times).unwrap_or(1.0).max(1.0)
    }

    /// How many workers the plan has.
    pub(super) fn workers(&self) -> usize {
        self.engine.schedule().workers()
    }
}

/// What was asked for and not granted, in words.
fn refused(others: &Protection) -> Option<String> {
    let asked = others.asked.as_ref().filter(|_| !others.is_complete())?;
    Some(format!("{asked}: not granted here: {}", others.refused.join("; ")))
}

/// Why a sibling policy is the same as `off` here; `None` where it is not.
pub(super) fn no_effect(topology: &Topology, sibling: SiblingPolicy) -> Option<String> {
    match Seating::here(topology, sibling, None) {
        Err(error) => Some(error.to_string()),
        Ok(seating) => seating.placement().no_effect.clone(),
    }
}

/// How many effects each of `channels` channels needs for the serial walk of a block to take `target_ns`, and
/// at least one.
///
/// Cost: an engine and some blocks, tens of milliseconds.
pub(super) fn effects_for(
    topology: &Topology,
    channels: usize,
    frames: u32,
    target_ns: f64,
) -> Result<usize, Fault> {
    let walk_ns = |effects| {
        let song = Song { channels, effects };
        let off = policy(ScheduleKind::Serial, SiblingPolicy::Off);
        let mut player = Player::start(topology, song, off, frames)?;
        player.serial_ns(4);
        Ok::<f64, Fault>(player.serial_ns(12))
    };
    let (few, many) = (walk_ns(1)?, walk_ns(5)?);
    let each = ((many - few) / 4.0).max(1.0);
    Ok(1 + ((target_ns - few).max(0.0) / each).round() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Topology {
        Topology::discover().unwrap()
    }

    #[test]
    fn a_song_sounds_the_same_on_all_workers() {
        let song = Song { channels: 3, effects: 2 };
        for schedule in [ScheduleKind::Lists, ScheduleKind::Dataflow] {
            let policy = policy(schedule, SiblingPolicy::Off);
            let mut player = Player::start(&here(), song, policy, 64).unwrap();
            assert_eq!(player.check(), Check::Passed);
            let played = player.play(5).unwrap();
            assert_eq!((played.duration_ns.len(), played.lateness_ns.len()), (5, 5));
        }
    }

    #[test]
    fn more_time_is_filled_with_more_effects() {
        let topology = here();
        assert_eq!(effects_for(&topology, 2, 64, 0.0).unwrap(), 1);
        assert!(effects_for(&topology, 2, 64, 4e6).unwrap() > 10);
    }
}
