//! What the leader does for each period of a card: wait, bring in, compute, put out.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_engine::{BlockTimes, Engine, period_ns, rows};
use hocket_machine::clock::monotonic_ns;

use super::libasound::{Pcm, Trouble};
use crate::xruns::{Attribution, Took};
use crate::{BlockObserver, Bundle, Channels, End, Xruns};

/// How long it waits for a card before it looks whether the user has ended the play.
const LOOK_MS: i32 = 100;
/// A card that has asked for nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a card may take to come back after the system has slept.
const WAKING: Duration = Duration::from_secs(30);
/// How long it rests while a card is not awake yet.
const NAP: Duration = Duration::from_millis(100);
/// So many failures in a row to begin anew, without a period between, and the card is given up.
const MOST_RESTARTS: u32 = 20;
/// Behind the first of them it rests, each time so much longer: a second in all.
const LONGER: Duration = Duration::from_millis(5);

/// A card's two directions.
pub(super) struct Card<'a> {
    name: &'a str,
    playback: &'a mut Pcm,
    capture: Option<&'a mut Pcm>,
    /// Whether both start and stop as one.
    linked: bool,
    clockless: bool,
}

impl<'a> Card<'a> {
    pub(super) fn new(
        name: &'a str,
        playback: &'a mut Pcm,
        mut capture: Option<&'a mut Pcm>,
    ) -> Card<'a> {
        let linked = capture.as_deref_mut().is_some_and(|capture| playback.link(capture));
        let clockless = playback.is_clockless();
        Card { name, playback, capture, linked, clockless }
    }

    /// Begins behind silence in all of the buffer but one period, which is due at once.
    fn begin(&mut self, silence: &[u8]) -> Result<(), Trouble> {
        self.stop();
        self.playback.prepare()?;
        if let Some(capture) = self.capture.as_deref_mut().filter(|_| !self.linked) {
            capture.prepare()?;
        }
        let mut written = 0;
        while written < silence.len() {
            written += self.playback.write(&silence[written..])?;
        }
        self.playback.start()?;
        match self.capture.as_deref_mut().filter(|_| !self.linked) {
            Some(capture) => capture.start(),
            None => Ok(()),
        }
    }

    fn stop(&mut self) {
        self.playback.stop();
        if let Some(capture) = self.capture.as_deref_mut() {
            capture.stop();
        }
    }

    /// Waits until both directions have a period, at most [`LOOK_MS`] for each; whether they have.
    fn wait(&mut self) -> Result<bool, Trouble> {
        let frames = self.playback.format().frames;
        for pcm in std::iter::once(&mut *self.playback).chain(self.capture.as_deref_mut()) {
            if pcm.available()? >= frames {
                continue;
            }
            if !pcm.wait(LOOK_MS)? || pcm.available()? < frames {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Engine, observer and card, in the leader's thread.
pub(super) struct Cycle<'a, O> {
    engine: Engine,
    observer: O,
    card: Card<'a>,
    /// Which of the session's outputs each channel of the card plays, by output and row.
    plays: Vec<Option<(usize, usize)>>,
    /// Channels of each engine input.
    inputs: Vec<usize>,
    /// A period of the card, in its format.
    out: Vec<u8>,
    came_in: Vec<u8>,
    /// A channel of it.
    row: Vec<f32>,
    attribution: Attribution,
    xruns: u64,
    /// When the last period was due, and whether it was late.
    last: Option<(u64, bool)>,
    /// The card has run empty since then, or has begun anew for another reason.
    ran_empty: bool,
    /// Periods without a block before the present one, until it reports them.
    skipped: u64,
    pace: Pace,
}

/// Why there is no further period.
enum Out {
    Trouble(Trouble),
    Finished,
}

impl From<Trouble> for Out {
    fn from(trouble: Trouble) -> Out {
        Out::Trouble(trouble)
    }
}

impl<'a, O: BlockObserver> Cycle<'a, O> {
    pub(super) fn new(
        engine: Engine,
        observer: O,
        card: Card<'a>,
        channels: &Channels,
    ) -> Cycle<'a, O> {
        let frames = card.playback.format().frames as usize;
        let bytes = |pcm: &Pcm| frames * pcm.channels() as usize * pcm.sample().bytes();
        let out = vec![0; bytes(card.playback)];
        let came_in = vec![0; card.capture.as_deref().map_or(0, bytes)];
        let plays = plays(&channels.outputs, card.playback.channels() as usize);
        let pace = Pace::new(card.playback.format().rate_hz, card.playback.buffer());
        Cycle {
            engine,
            observer,
            plays,
            inputs: channels.inputs.iter().map(|input| input.channels).collect(),
            out,
            came_in,
            row: vec![0.0; frames],
            attribution: Attribution::since(0),
            xruns: 0,
            last: None,
            ran_empty: false,
            skipped: 0,
            pace,
            card,
        }
    }

    /// Plays until the observer has had enough, `stop` becomes true or the card ends.
    ///
    /// Thread: leader. Nothing here allocates once it runs, but for the sentence that ends it.
    pub(super) fn run(&mut self, stop: &AtomicBool) -> End {
        let silence = vec![0; self.silence_bytes()];
        let end = self.play(&silence, stop).unwrap_or_else(|why| {
            End::DeviceEnded(format!(
                "the ALSA device '{}' has ended: {why}; see that the card is plugged in, and play again",
                self.card.name
            ))
        });
        self.card.stop();
        end
    }

    fn silence_bytes(&self) -> usize {
        let (buffer, period) = (self.card.playback.buffer(), self.card.playback.format().frames);
        let frame = self.card.playback.channels() as usize * self.card.playback.sample().bytes();
        buffer.saturating_sub(period) as usize * frame
    }

    /// Errors: the card's own words.
    fn play(&mut self, silence: &[u8], stop: &AtomicBool) -> Result<End, String> {
        let (mut trouble, mut restarts, mut moved) =
            (self.card.begin(silence).err(), 0, Instant::now());
        loop {
            // Relaxed: the flag publishes nothing.
            if stop.load(Relaxed) {
                return Ok(End::Stopped);
            }
            if let Some(before) = trouble.take() {
                std::thread::sleep(LONGER * restarts);
                trouble = self.go_on_after(before, silence, stop)?;
                restarts += 1;
                if restarts > MOST_RESTARTS {
                    return Err("it does not begin anew".into());
                }
                // A card that slept for long has asked for nothing since it woke.
                moved = Instant::now();
                continue;
            }
            match self.next() {
                Ok(true) => (restarts, moved) = (0, Instant::now()),
                Ok(false) if moved.elapsed() >= PATIENCE => {
                    return Err(format!("it has asked for nothing for {} s", PATIENCE.as_secs()));
                }
                Ok(false) => {}
                Err(Out::Finished) => {
                    self.sound_out(silence.len());
                    return Ok(End::Finished);
                }
                Err(Out::Trouble(found)) => trouble = Some(found),
            }
        }
    }

    /// Gets over a trouble. Returns the next one, if that comes at once.
    fn go_on_after(
        &mut self,
        trouble: Trouble,
        silence: &[u8],
        stop: &AtomicBool,
    ) -> Result<Option<Trouble>, String> {
        // Whatever it was: the card begins anew behind it, and what it had not brought yet is lost.
        self.ran_empty = true;
        match trouble {
            Trouble::Gone(why) => return Err(why),
            Trouble::Xrun => self.xruns += 1,
            Trouble::Suspended => await_resume(|| self.card.playback.resume(), (WAKING, NAP), stop),
            // It takes less than it has room for.
            Trouble::Later => std::thread::sleep(Duration::from_millis(1)),
        }
        Ok(self.card.begin(silence).err())
    }

    /// One period, if the card has room for one within a moment. Returns whether it had.
    fn next(&mut self) -> Result<bool, Out> {
        if !self.card.wait()? {
            return Ok(false);
        }
        let called_ns = monotonic_ns();
        let begun_ns = called_ns - self.waited_ns()?.min(called_ns);
        self.read()?;
        if std::mem::take(&mut self.ran_empty) {
            let period_ns = self.ns(self.row.len() as u64);
            self.skipped = lost_periods(self.last, begun_ns, period_ns);
        }
        let (times, last_block, goes_on) = self.compute(begun_ns);
        self.note(&times, last_block, called_ns);
        self.write()?;
        if !goes_on {
            return Err(Out::Finished);
        }
        self.pace.note(self.row.len());
        Ok(true)
    }

    /// What is in the card's buffer sounds before the card stops: behind it comes as much silence.
    fn sound_out(&mut self, bytes: usize) {
        self.out.fill(0);
        for _ in 0..=bytes.div_ceil(self.out.len().max(1)) {
            let is_ready = self.card.wait().is_ok_and(|is_ready| is_ready);
            // A trouble here ends the sound a moment earlier.
            if !is_ready || self.read().is_err() || self.write().is_err() {
                return;
            }
        }
    }

    fn ns(&self, frames: u64) -> u64 {
        period_ns(frames, self.card.playback.format().rate_hz.max(1))
    }

    /// For how long there has been room for a period. A file has room at any time.
    fn waited_ns(&mut self) -> Result<u64, Trouble> {
        if self.card.clockless {
            return Ok(0);
        }
        let more = self.card.playback.available()?.saturating_sub(self.row.len() as u32);
        Ok(self.ns(u64::from(more)))
    }

    /// What the card has recorded.
    fn read(&mut self) -> Result<(), Trouble> {
        let Some(capture) = self.card.capture.as_deref_mut() else { return Ok(()) };
        let mut had = 0;
        while had < self.came_in.len() {
            had += capture.read(&mut self.came_in[had..])?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Trouble> {
        let mut written = 0;
        while written < self.out.len() {
            written += self.card.playback.write(&self.out[written..])?;
        }
        Ok(())
    }

    /// The blocks of a period: one, unless the engine's are shorter. Returns their times together, the number of the last
    /// one, and whether to go on.
    fn compute(&mut self, begun_ns: u64) -> (BlockTimes, Option<u64>, bool) {
        let (frames, deadline_ns) = (self.row.len(), self.ns(self.row.len() as u64));
        let (mut from, mut period, mut block, mut goes_on) = (0, None, None, true);
        self.out.fill(0);
        if self.skipped > 0 {
            self.observer.missed(self.skipped.saturating_mul(frames as u64));
        }
        while from < frames && goes_on {
            let wanted = (frames - from).min(self.engine.settings().frames as usize);
            self.bring_in(from, wanted);
            if from + wanted == frames {
                self.engine.expect_next(begun_ns + deadline_ns);
            }
            let mut times = self.engine.process_planned(wanted, begun_ns);
            times.deadline_ns = deadline_ns;
            times.skipped = std::mem::take(&mut self.skipped);
            block = Some(times.block);
            self.put_out(from, wanted);
            from += wanted;
            period = Some(period.map_or(times, |before| crate::joined(before, &times)));
            goes_on = self.observer.block(&times, &self.engine);
        }
        (period.unwrap_or_default(), block, goes_on)
    }

    fn note(&mut self, times: &BlockTimes, last_block: Option<u64>, called_ns: u64) {
        self.observer.period(times);
        let due_ns = times.signaled_ns;
        self.last = Some((due_ns, times.is_late()));
        let took = Took {
            block: last_block,
            due_ns,
            lateness_ns: called_ns.saturating_sub(due_ns),
            duration_ns: monotonic_ns().saturating_sub(called_ns),
            period_ns: times.deadline_ns,
        };
        let xrun = self.attribution.note(took, self.xruns);
        xrun.iter().for_each(|xrun| self.observer.xrun(xrun));
    }

    fn bring_in(&mut self, from: usize, frames: usize) {
        let Some(capture) = self.card.capture.as_deref() else { return };
        let (channels, sample) = (capture.channels() as usize, capture.sample());
        let frame = channels * sample.bytes();
        let came_in = &self.came_in[from * frame..][..frames * frame];
        let mut channel = 0;
        for (number, wanted) in self.inputs.iter().enumerate() {
            if let Some(mut all) = self.engine.input_mut(number as u16, frames) {
                for (row, channel) in all.iter_mut().zip(channel..channel + wanted) {
                    match channel < channels {
                        true => sample.decode(came_in, row, (channel, channels)),
                        false => rows::fill(row, 0.0),
                    }
                }
            }
            channel += wanted;
        }
    }

    fn put_out(&mut self, from: usize, frames: usize) {
        let (channels, sample) =
            (self.card.playback.channels() as usize, self.card.playback.sample());
        let frame = channels * sample.bytes();
        let out = &mut self.out[from * frame..][..frames * frame];
        for (channel, plays) in self.plays.iter().enumerate() {
            let Some((output, row)) = *plays else { continue };
            let Some(all) = self.engine.output_rows(output, frames) else { continue };
            if row < all.len() {
                sample.encode(all.row(row), out, (channel, channels));
            }
        }
    }

    /// What is left behind the last period.
    pub(super) fn end(mut self, now_ns: u64) -> (Engine, O, Xruns) {
        let (xruns, last) = self.attribution.end(now_ns, self.xruns);
        last.iter().for_each(|xrun| self.observer.xrun(xrun));
        (self.engine, self.observer, xruns)
    }
}

/// Wakes a card. A driver that cannot begins anew, as after an xrun. `most` and `rest`: how long it tries, and how long it
/// rests between two attempts.
fn await_resume(
    mut resume: impl FnMut() -> Result<(), Trouble>,
    (most, rest): (Duration, Duration),
    stop: &AtomicBool,
) {
    let begun = Instant::now();
    // Relaxed: the flag publishes nothing.
    while begun.elapsed() < most && !stop.load(Relaxed) {
        match resume() {
            Err(Trouble::Later) => std::thread::sleep(rest),
            _ => return,
        }
    }
}

/// Periods without a block, where a card ran empty and begins anew with a period that is due at `due_ns`. `last`: when the one
/// before was due, and whether it was late: then that is its own miss, and no further one.
fn lost_periods(last: Option<(u64, bool)>, due_ns: u64, period_ns: u64) -> u64 {
    let Some((last_ns, was_late)) = last else { return 1 };
    let period_ns = period_ns.max(1);
    let passed = (due_ns.saturating_sub(last_ns) + period_ns / 2) / period_ns;
    passed.saturating_sub(1).max(u64::from(!was_late))
}

/// What each channel of the card plays: the rows of all outputs in their order. A main output with one channel plays on
/// both sides.
fn plays(outputs: &[Bundle], channels: usize) -> Vec<Option<(usize, usize)>> {
    let rows = |(output, bundle): (usize, &Bundle)| {
        (0..bundle.channels).map(move |row| (output, row)).collect::<Vec<_>>()
    };
    let mono = outputs.first().is_some_and(|main| main.channels == 1);
    let twice = mono.then_some((0, 0));
    let all = twice.into_iter().chain(outputs.iter().enumerate().flat_map(rows));
    all.map(Some).chain(std::iter::repeat(None)).take(channels).collect()
}

/// Holds back a device without a clock, which would take a real-time thread's whole CPU. No card plays twice as fast as
/// time passes.
struct Pace {
    /// So many frames are looked at together: a second, or four times what a card can catch up on.
    window: u64,
    lasts: Duration,
    frames: u64,
    since: Instant,
}

impl Pace {
    fn new(rate_hz: u32, buffer: u32) -> Pace {
        let window = u64::from(rate_hz).max(4 * u64::from(buffer));
        let lasts = Duration::from_secs_f64(window as f64 / f64::from(rate_hz.max(1)));
        Pace { window, lasts, frames: 0, since: Instant::now() }
    }

    fn note(&mut self, frames: usize) {
        self.frames += frames as u64;
        if self.frames < self.window {
            return;
        }
        if self.since.elapsed() < self.lasts / 2 {
            std::thread::sleep(self.lasts.saturating_sub(self.since.elapsed()));
        }
        (self.frames, self.since) = (0, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(channels: usize) -> Bundle {
        Bundle { name: "any".into(), channels, events: false }
    }

    #[test]
    fn channels_play_the_rows_of_all_outputs_in_their_order() {
        let stereo = plays(&[bundle(2), bundle(1)], 4);
        assert_eq!(stereo, [Some((0, 0)), Some((0, 1)), Some((1, 0)), None]);
        assert_eq!(plays(&[bundle(2), bundle(2)], 2), [Some((0, 0)), Some((0, 1))], "no room");
    }

    #[test]
    fn a_main_output_with_one_channel_plays_on_both_sides() {
        assert_eq!(plays(&[bundle(1), bundle(1)], 3), [Some((0, 0)), Some((0, 0)), Some((1, 0))]);
    }

    #[test]
    fn the_time_in_which_a_card_was_empty_counts_in_periods() {
        let (in_time, late) = (Some((7_000, false)), Some((7_000, true)));
        let lost = |last, after_ns: u64| lost_periods(last, 7_000 + after_ns, 1_000);
        // The next period would have been due after 1000.
        assert_eq!([900, 1_499, 2_499, 2_500, 9_000].map(|ns| lost(late, ns)), [0, 0, 1, 2, 8]);
        assert_eq!([0, 1_499, 2_499, 2_500, 9_000].map(|ns| lost(in_time, ns)), [1, 1, 1, 2, 8]);
        assert_eq!(lost(None, 9_000), 1, "before the first one");
    }

    /// How often a card is asked that answers so, and that for ever at the end.
    fn asked(answers: &[Result<(), Trouble>], most: Duration, is_stopped: bool) -> usize {
        let (mut asked, stop) = (0, AtomicBool::new(is_stopped));
        let resume = || {
            asked += 1;
            answers[asked.min(answers.len()) - 1].clone()
        };
        await_resume(resume, (most, Duration::from_millis(1)), &stop);
        asked
    }

    #[test]
    fn a_card_that_is_not_awake_yet_is_asked_again_and_one_that_cannot_wake_is_not() {
        let (later, gone) = (Err(Trouble::Later), Err(Trouble::Gone("no".into())));
        assert_eq!(asked(&[later.clone(), later.clone(), Ok(())], WAKING, false), 3);
        assert_eq!(asked(std::slice::from_ref(&gone), WAKING, false), 1);
        assert_eq!(asked(std::slice::from_ref(&later), WAKING, true), 0, "the user ends it");
        let bounded = asked(std::slice::from_ref(&later), Duration::from_millis(20), false);
        assert!((1..=20).contains(&bounded), "{bounded}");
    }
}
