//! MIDI clocks: what `--send-clock` has sent, and what `--transport clock` has followed.

use std::sync::Arc;
use std::time::Duration;

use hocket_devices::{ClockFollowed, ClockSent};
use hocket_engine::time::TempoMap;
use hocket_lab::numbers::counted;
use serde_json::{Value, json};

use super::device::Chosen;
use super::live::Live;
use crate::cli::{PlayArgs, TransportArg};
use crate::failure::Failure;
use crate::load::LoadedSession;
use crate::output::{note, tell, warn};

/// How often the thread looks what has come of the clock.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long it waits for a disk where the song stands and waits. It looks again afterwards.
const PATIENCE: Duration = Duration::from_millis(300);

/// What the user knows already.
#[derive(Default)]
struct Told {
    /// How often the clock was lost.
    lost: u64,
    other_tempo: bool,
}

/// The clocks of a run.
#[derive(Clone, Default)]
pub(super) struct Clocks {
    sent: Option<Arc<ClockSent>>,
    followed: Option<Arc<ClockFollowed>>,
    rate_hz: u32,
}

impl Clocks {
    /// Has the device send and follow what was asked for. Before it is prepared.
    ///
    /// # Errors
    /// Tempos that cannot be followed: exit code 2.
    pub(super) fn of(
        args: &PlayArgs,
        chosen: &mut Chosen,
        loaded: &LoadedSession,
    ) -> Result<Clocks, Failure> {
        let rate_hz = loaded.rate_hz;
        let follows = args.transport == TransportArg::Clock;
        let Chosen::Jack(jack) = chosen else { return Ok(Clocks::default()) };
        if !follows && !args.send_clock {
            return Ok(Clocks::default());
        }
        let map: TempoMap = loaded.session.time.map(rate_hz).map_err(Failure::bad_input)?;
        let map = Arc::new(map);
        let sent = args.send_clock.then(|| jack.send_clock(Arc::clone(&map)));
        let followed = follows.then(|| jack.follow_clock(map));
        Ok(Clocks { sent, followed, rate_hz })
    }

    /// Says what the ports are for, and what does not hold then.
    pub(super) fn tell_ports(&self, loaded: &LoadedSession) {
        if self.followed.is_some() {
            note(
                "the MIDI clock at the port 'clock_in' starts, stops and places the song, which keeps its own tempo; it \
                 stands still until a start comes",
            );
            if loaded.session.time.repeat.is_some() {
                warn("the session's loop is off: the MIDI clock says where the song goes");
            }
        }
        if self.sent.is_some() {
            note("the port 'clock_out' sends a MIDI clock");
        }
    }

    /// Whether somebody has to [`Clocks::watch`].
    pub(super) fn follows(&self) -> bool {
        self.followed.is_some()
    }

    /// Says what happens to a clock that is followed, and reads ahead where the song waits for it, until the run ends.
    ///
    /// Thread: its own, control.
    pub(super) fn watch(&self, loaded: &LoadedSession, live: &Live) {
        let Some(clock) = &self.followed else { return };
        let (mut told, mut place) = (Told::default(), None);
        while !live.has_ended() {
            self.tell_news(clock, &mut told);
            let waits_at = clock.waits_at();
            if waits_at != place {
                place = waits_at;
                waits_at.into_iter().for_each(|frame| read_ahead(loaded, frame));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        // What came between the last look and the end is news too.
        self.tell_news(clock, &mut told);
    }

    fn tell_news(&self, clock: &ClockFollowed, told: &mut Told) {
        let lost = clock.lost.get();
        if lost > told.lost {
            told.lost = lost;
            tell(
                "warning: the MIDI clock comes no longer: the song stands still until the next start",
            );
        }
        if clock.other_tempo.get() > 0 && !told.other_tempo {
            told.other_tempo = true;
            tell(format_args!("warning: MIDI clock: {}", self.tempos(clock)));
        }
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let sent = self.sent.iter().flat_map(|clock| sent_lines(clock));
        let followed = self.followed.iter().flat_map(|clock| self.followed_lines(clock));
        sent.chain(followed).collect()
    }

    /// For programs. Null: there is no clock.
    pub(super) fn json(&self) -> Value {
        if self.sent.is_none() && self.followed.is_none() {
            return Value::Null;
        }
        let sent = self.sent.as_ref().map(|clock| {
            json!({
                "pulses": clock.pulses.get(),
                "starts": clock.starts.get(),
                "stops": clock.stops.get(),
                "song_positions": clock.positions.get(),
                "beyond": clock.beyond.get(),
                "no_room": clock.no_room.get(),
            })
        });
        let followed = self.followed.as_ref().map(|clock| {
            json!({
                "pulses": clock.pulses.get(),
                "unused_pulses": clock.unused_pulses.get(),
                "starts": clock.starts.get(),
                "stops": clock.stops.get(),
                "song_positions": clock.positions.get(),
                "ignored": clock.ignored.get(),
                "lost": clock.lost.get(),
                "no_room": clock.no_room.get(),
                "quarters": clock.quarters.get(),
                "quarters_with_other_tempo": clock.other_tempo.get(),
                "bpm": self.bpm(clock, clock.took_frames.get()),
                "session_bpm": self.bpm(clock, clock.session_frames.get()),
                "most_apart_frames": clock.most_apart.get(),
            })
        });
        json!({ "sent": sent, "followed": followed })
    }

    fn followed_lines(&self, clock: &ClockFollowed) -> Vec<String> {
        let counts = counts(&[
            (clock.pulses.get(), "pulse"),
            (clock.starts.get(), "start"),
            (clock.stops.get(), "stop"),
            (clock.positions.get(), "song position"),
        ]);
        let mut lines = vec![format!("MIDI clock: got {counts}")];
        if clock.pulses.get() > 0 && clock.starts.get() == 0 {
            lines.push(
                "MIDI clock: no start came, so the song stood still; start the sender anew".into(),
            );
        }
        if clock.quarters.get() > 0 {
            lines.push(format!("MIDI clock: {}", self.tempos(clock)));
        }
        if clock.lost.get() > 0 {
            let lost = counted(clock.lost.get() as usize, "time");
            lines.push(format!("MIDI clock: came no longer {lost}, and the song stood still"));
        }
        if clock.ignored.get() > 0 {
            let ignored = counted(clock.ignored.get() as usize, "message");
            lines.push(format!("MIDI clock: {ignored} ignored, because no transport knows them"));
        }
        if clock.no_room.get() > 0 {
            let no_room = counted(clock.no_room.get() as usize, "command");
            lines.push(format!("MIDI clock: {no_room} found no room in the engine and came late"));
        }
        lines
    }

    /// Both tempos, and what helps where they differ.
    fn tempos(&self, clock: &ClockFollowed) -> String {
        let tempo = |frames| self.bpm(clock, frames).unwrap_or(0.0);
        let took = tempo(clock.took_frames.get());
        let session = tempo(clock.session_frames.get());
        let ms = clock.most_apart.get() as f64 * 1e3 / f64::from(self.rate_hz.max(1));
        let mut text = format!(
            "its tempo is {took:.2}, the session's {session:.2}; the song was {ms:.1} ms from it at most"
        );
        if clock.other_tempo.get() > 0 {
            text += &format!(
                "; {} of {} quarter notes differ by more than 1 %: give both the same tempo",
                clock.other_tempo.get(),
                clock.quarters.get()
            );
        }
        text
    }

    /// Quarter notes per minute, if the measured ones take so many frames. `None`: there are none.
    fn bpm(&self, clock: &ClockFollowed, frames: u64) -> Option<f64> {
        let quarters = clock.quarters.get() as f64;
        (frames > 0).then(|| quarters * 60.0 * f64::from(self.rate_hz) / frames as f64)
    }
}

fn sent_lines(clock: &ClockSent) -> Vec<String> {
    let counts = counts(&[
        (clock.pulses.get(), "pulse"),
        (clock.starts.get(), "start"),
        (clock.stops.get(), "stop"),
        (clock.positions.get(), "song position"),
    ]);
    let mut lines = vec![format!("MIDI clock: sent {counts}")];
    if clock.beyond.get() > 0 {
        let beyond = counted(clock.beyond.get() as usize, "time");
        lines.push(format!(
            "MIDI clock: the song was {beyond} behind the last song position of MIDI, 4095.75 quarter notes; receivers \
             were stopped"
        ));
    }
    if clock.no_room.get() > 0 {
        let no_room = counted(clock.no_room.get() as usize, "message");
        lines.push(format!(
            "MIDI clock: {no_room} found no room in a period; receivers were stopped and started anew; use shorter periods"
        ));
    }
    lines
}

/// `3 clocks, 1 start, 0 stops`.
fn counts(all: &[(u64, &str)]) -> String {
    let all: Vec<String> = all.iter().map(|(count, what)| counted(*count as usize, what)).collect();
    all.join(", ")
}

/// What is not in memory by the next start is silent, and counted as such.
fn read_ahead(loaded: &LoadedSession, frame: i64) {
    if let Some(disk) = &loaded.disk {
        disk.expect_jump();
        let _ = loaded.media.preroll(frame, PATIENCE);
    }
}
