//! Steers a run from beside it: transport, schedule and plans. Keys and OSC ask for the same things, and each has its own words
//! back.
//!
//! Thread: control, any. No audio thread waits for what happens here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::ValueEnum;
use hocket_devices::jack::TransportState;
use hocket_devices::{NoteEnds, ServerTransport};
use hocket_engine::time::{BarPosition, LoopRange, TempoMap, TimedCommand, TransportCommand};
use hocket_engine::{
    Control, ControlError, Engine, SiblingPolicy, Spans, Standing, Steer, Strategy,
};

use super::live::Live;
use super::policies::Policies;
use crate::cli::{Position, ScheduleArg, TransportArg};
use crate::load::LoadedSession;
use crate::render::frame_at;

/// How long a locate waits until the disk has what comes there; what is not there by then is silent.
const LOCATE_PATIENCE: Duration = Duration::from_millis(300);

/// What a song that follows a port answers.
const PORT_LEADS: &str = "the song follows the port 'transport': steer the Hocket that sends it";
/// What a song that follows a MIDI clock answers.
const CLOCK_LEADS: &str =
    "the song follows the MIDI clock at the port 'clock_in': steer the sender of the clock";
/// A loop of the song's own would take it away from where the server's other clients are.
const NO_LOOP: &str = "no loop: the song follows the JACK server's transport, which has none; play without --transport jack";

/// What was done, or why nothing was.
pub(super) type Steered = Result<String, String>;

/// One who steers. Clones steer the same run.
#[derive(Clone)]
pub(super) struct Steering<'a> {
    control: Control,
    live: Arc<Live>,
    loaded: &'a LoadedSession,
    map: Option<Arc<TempoMap>>,
    /// Where the song ends, in frames; `None`: nowhere.
    song_end: Option<u64>,
    leads: Leads,
    policies: Policies,
    /// `None`: no notes come in.
    note_ends: Option<Arc<NoteEnds>>,
    stop: &'a AtomicBool,
}

/// The schedule's name on the command line.
fn schedule_of(standing: &Standing) -> &'static str {
    match standing.steer {
        Steer::Auto => ScheduleArg::Auto.name(),
        _ => standing.kind.name(),
    }
}

/// Schedule, sibling policy and wait as they are now.
pub(super) fn names(control: &Control) -> [&'static str; 3] {
    let standing = control.standing();
    [schedule_of(&standing), standing.sibling.name(), standing.wait.name()]
}

/// The transport that the song follows.
#[derive(Debug, Clone)]
pub(super) enum Leads {
    /// The engine's own.
    Own,
    /// A server's.
    Server(ServerTransport),
    /// What a port says; this is the answer to those who would steer the song from here.
    Port(&'static str),
}

impl Leads {
    pub(super) fn of(server: Option<ServerTransport>, transport: TransportArg) -> Leads {
        match (server, transport) {
            (Some(server), _) => Leads::Server(server),
            (None, TransportArg::Port) => Leads::Port(PORT_LEADS),
            (None, TransportArg::Clock) => Leads::Port(CLOCK_LEADS),
            (None, _) => Leads::Own,
        }
    }
}

impl<'a> Steering<'a> {
    /// `stop` ends the run.
    pub(super) fn new(
        engine: &Engine,
        live: &Arc<Live>,
        loaded: &'a LoadedSession,
        song_end: Option<u64>,
        (leads, policies, note_ends): (Leads, Policies, Option<Arc<NoteEnds>>),
        stop: &'a AtomicBool,
    ) -> Steering<'a> {
        let control = engine.control();
        let map = loaded.session.time.map(loaded.rate_hz).ok().map(Arc::new);
        let live = Arc::clone(live);
        Steering { control, live, loaded, map, song_end, leads, policies, note_ends, stop }
    }

    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// What the engine does at present.
    pub(super) fn standing(&self) -> Standing {
        self.control.standing()
    }

    /// Where the song is, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.map.as_ref().map_or(0.0, |map| map.seconds_at_frame(self.live.song.position()))
    }

    /// Where the song is, as `12.3.000`: bar, beat and tick from 1.
    pub(super) fn bar(&self) -> String {
        self.bar_of(self.live.song.position())
    }

    fn bar_of(&self, frame: i64) -> String {
        self.map.as_ref().map_or(String::new(), |map| map.bar_at_frame(frame).to_string())
    }

    pub(super) fn play(&self) -> Steered {
        self.send(TransportCommand::Play, "playing")
    }

    /// The song stops; the run goes on.
    pub(super) fn stop(&self) -> Steered {
        self.send(TransportCommand::Stop, "stopped")
    }

    pub(super) fn play_or_stop(&self) -> Steered {
        match self.is_on() {
            true => self.stop(),
            false => self.play(),
        }
    }

    /// Whether the song plays. One that waits for the clients of a server is about to.
    fn is_on(&self) -> bool {
        match &self.leads {
            Leads::Server(server) => {
                server.now().is_some_and(|at| at.state != TransportState::Stopped)
            }
            Leads::Own | Leads::Port(_) => self.live.song.plays.load(Relaxed),
        }
    }

    /// So many bars on, or back; to the start of a bar.
    pub(super) fn locate_by(&self, bars: i64) -> Steered {
        let map = self.map()?;
        self.locate(bar_start(map, self.live.song.position(), bars))
    }

    pub(super) fn locate_to(&self, position: Position) -> Steered {
        self.locate(self.frame_at(position)?)
    }

    pub(super) fn locate(&self, frame: i64) -> Steered {
        let (command, done) = (TransportCommand::Locate(frame), self.bar_of(frame));
        let done = format!("at bar {done}");
        if !matches!(self.leads, Leads::Own) {
            // What plays there is read when the server goes there, whoever asks for it.
            return self.send(command, &done);
        }
        self.preroll(frame);
        // For what is not in memory by now, and for what follows it.
        if let Some(disk) = &self.loaded.disk {
            disk.expect_jump();
        }
        let sent = self.send(command, &done);
        // A stream keeps two places: that of the jump may have replaced the way back.
        if let Some([start, _]) = self.live.song.repeat() {
            self.preroll(start);
        }
        sent
    }

    /// The session's loop, or the whole song where it has none; or none, if there is one now.
    pub(super) fn loop_or_not(&self) -> Steered {
        match self.live.song.repeat() {
            Some(_) => self.loop_off(),
            None => self.loop_on(),
        }
    }

    pub(super) fn loop_off(&self) -> Steered {
        self.send(TransportCommand::LoopOff, "loop off")
    }

    /// The session's loop, or the whole song where it has none.
    pub(super) fn loop_on(&self) -> Steered {
        self.can_loop()?;
        let time = &self.loaded.session.time;
        let own = self.map.as_ref().and_then(|map| time.loop_range(map).ok().flatten());
        let whole = || LoopRange::from_frames(0, self.song_end? as i64).ok();
        let range = own.or_else(whole).ok_or("no loop: the session has none, and no end")?;
        self.repeat(range)
    }

    pub(super) fn loop_between(&self, from: Position, to: Position) -> Steered {
        let range = LoopRange::from_frames(self.frame_at(from)?, self.frame_at(to)?);
        self.repeat(range.map_err(|error| error.to_string())?)
    }

    fn repeat(&self, range: LoopRange) -> Steered {
        self.can_loop()?;
        self.preroll(range.start());
        let ends = [range.start(), range.end()].map(|frame| self.bar_of(frame));
        self.send(TransportCommand::Loop(range), &format!("loop on: {} to {}", ends[0], ends[1]))
    }

    fn can_loop(&self) -> Result<(), String> {
        match self.leads {
            Leads::Own => Ok(()),
            Leads::Port(why) => Err(why.into()),
            Leads::Server(_) => Err(NO_LOOP.into()),
        }
    }

    /// A plan from the costs that were measured so far.
    pub(super) fn replan(&self) -> Steered {
        self.control.replan().map_err(|error| error.to_string())?;
        Ok("planned anew from measured costs".into())
    }

    /// Schedule, sibling policy and wait as they are now.
    pub(super) fn policy(&self) -> [&'static str; 3] {
        names(&self.control)
    }

    /// Says what the system granted, too.
    pub(super) fn set_policy(&self, policy: SiblingPolicy) -> Steered {
        if let Some(why) = self.policies.refusal(policy) {
            return Err(why);
        }
        let granted = self.control.set_sibling_policy(policy).map_err(|error| error.to_string())?;
        let granted = granted.summary().map_or(String::new(), |summary| format!(": {summary}"));
        Ok(format!("policy {}{granted}", policy.name()))
    }

    /// The one after the present one that changes something here.
    pub(super) fn next_policy(&self) -> Steered {
        match self.policies.after(self.standing().sibling) {
            Some(next) => self.set_policy(next),
            None => {
                Err("policy: there is no other one that can change something here while it plays"
                    .into())
            }
        }
    }

    pub(super) fn set_wait(&self, wait: Strategy) -> Steered {
        self.control.set_wait(wait).map_err(|error| error.to_string())?;
        Ok(format!("wait {wait}"))
    }

    pub(super) fn set_spans(&self, spans: Spans) -> Steered {
        self.control.set_spans(spans);
        let words = match spans {
            Spans::Off => "off: late blocks have no cause in the block",
            Spans::Times => "times",
            Spans::CpuTime => "times and CPU time",
        };
        Ok(format!("spans {words}"))
    }

    /// The one after the present one.
    pub(super) fn next_spans(&self) -> Steered {
        self.set_spans(match self.control.spans() {
            Spans::Off => Spans::Times,
            Spans::Times => Spans::CpuTime,
            Spans::CpuTime => Spans::Off,
        })
    }

    /// The one after the present one that this CPU can.
    pub(super) fn next_wait(&self) -> Steered {
        let now = self.standing().wait;
        let after = Strategy::here().skip_while(|wait| *wait != now).nth(1);
        self.set_wait(after.or(Strategy::here().next()).unwrap_or(now))
    }

    pub(super) fn set_schedule(&self, schedule: ScheduleArg) -> Steered {
        let kind = (schedule != ScheduleArg::Auto).then(|| schedule.kind());
        self.control.set_schedule(kind).map_err(|error| match error {
            ControlError::NeverChose => {
                "schedule auto: only a run that began with it can come back to it; play with \
                                         --schedule auto"
                    .into()
            }
            error => error.to_string(),
        })?;
        Ok(format!("schedule {}", schedule.name()))
    }

    /// The one after the present one. A run that did not begin with `auto` leaves it out.
    pub(super) fn next_schedule(&self) -> Steered {
        let all = ScheduleArg::value_variants();
        let now = schedule_of(&self.standing());
        let place = all.iter().position(|schedule| schedule.name() == now).unwrap_or(0);
        let next = |steps: usize| all[(place + steps) % all.len()];
        match next(1) {
            ScheduleArg::Auto => {
                self.set_schedule(ScheduleArg::Auto).or_else(|_| self.set_schedule(next(2)))
            }
            schedule => self.set_schedule(schedule),
        }
    }

    /// Ends all notes that have come in at MIDI inputs. Those of the song's own go on.
    pub(super) fn end_notes(&self) -> Steered {
        let ends = self.note_ends.as_ref().ok_or("no notes come in: MIDI needs --device jack")?;
        ends.ask_all();
        Ok("ended all notes that came in".into())
    }

    /// The user ends the run, which is no interruption.
    pub(super) fn quit(&self) -> Steered {
        self.live.quit();
        // Relaxed: the flag publishes nothing.
        self.stop.store(true, Relaxed);
        Ok("quits".into())
    }

    fn map(&self) -> Result<&TempoMap, String> {
        self.map.as_deref().ok_or_else(|| "the session's tempos cannot be followed".into())
    }

    fn frame_at(&self, position: Position) -> Result<i64, String> {
        let frame = frame_at(position, self.map()?, self.loaded.rate_hz)?;
        Ok(i64::try_from(frame).unwrap_or(i64::MAX))
    }

    /// What is not in memory by then is silent, and counted as such.
    fn preroll(&self, frame: i64) {
        let _ = self.loaded.media.preroll(frame, LOCATE_PATIENCE);
    }

    fn send(&self, command: TransportCommand, done: &str) -> Steered {
        match &self.leads {
            Leads::Own => {}
            Leads::Port(why) => return Err((*why).into()),
            Leads::Server(server) => return ask(server, command, done),
        }
        let sent = self.control.transport(TimedCommand { at_steady: 0, command });
        sent.map(|_| done.into()).map_err(|error| error.to_string())
    }
}

/// Asks the server, which then takes all its clients there.
fn ask(server: &ServerTransport, command: TransportCommand, done: &str) -> Steered {
    let asked = match command {
        TransportCommand::Play => server.start(),
        TransportCommand::Stop => server.stop(),
        TransportCommand::Locate(frame) => server.locate(frame),
        TransportCommand::Loop(_) | TransportCommand::LoopOff => return Err(NO_LOOP.into()),
    };
    asked.map_err(|error| error.to_string())?;
    Ok(format!("asked the JACK server: {done}"))
}

/// The start of a bar, `bars` from the one at `position`. Back within a bar is its own start first.
fn bar_start(map: &TempoMap, position: i64, bars: i64) -> i64 {
    let start = |bar| map.frame_at_beats(map.beats_at_bar(BarPosition { bar, beat: 0, tick: 0 }));
    let BarPosition { bar, beat, .. } = map.bar_at_frame(position);
    let back_to_start = i64::from(bars < 0 && beat > 0);
    start((bar + bars + back_to_start).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_counted_from_the_one_at_the_position() {
        let map = TempoMap::constant(48_000, 120.0).unwrap();
        // A beat is 24000 frames, a bar 96000.
        for (position, bars, start) in [
            (0, 1, 96_000),
            (95_999, 1, 96_000),
            (96_000, -1, 0),
            (100_000, -1, 0),
            (150_000, -1, 96_000),
            (0, -1, 0),
            (-5_000, -1, 0),
            (200_000, -2, 0),
        ] {
            assert_eq!(bar_start(&map, position, bars), start, "{position}, {bars}");
        }
    }
}
