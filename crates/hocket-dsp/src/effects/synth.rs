//! Subtractive synthesizer: an oscillator, an envelope and a low-pass filter for each voice.
//!
//! Oscillator: sine and triangle as they are, saw and square with rounded corners (polynomial band-limited
//! steps, Valimaki and Huovilainen 2007). Filter: the trapezoidal state-variable low-pass (Zavalishin, *The
//! Art of VA Filter Design*, 2012). Envelope: a straight attack, then exponential decay and release.
//!
//! It takes notes of CLAP's kind and of MIDI 1.0 and 2.0, and besides them pitch bend (two semitones each way), the
//! sustain pedal, and the controllers that end notes.

use hocket_time::{EventKind, Midi1, Note, NoteAction, midi2_to_midi1};

use crate::block::{StereoMut, StereoRef};
use crate::effects::row_of;
use crate::kinds::Param;
use crate::level::db_to_lin;
use crate::math::{exp, flush, sin_cos, tan};
use crate::ramp::Ramp;
use crate::segment::{CONTROL_FRAMES, SegmentEffect};

const WAVE: usize = 0;
const ATTACK_MS: usize = 1;
const DECAY_MS: usize = 2;
const SUSTAIN: usize = 3;
const RELEASE_MS: usize = 4;
const CUTOFF_HZ: usize = 5;
const RESONANCE: usize = 6;
const GAIN_DB: usize = 7;

/// Notes that sound together. One more takes the voice that matters least.
pub const VOICES: usize = 16;
const CHANNELS: usize = 16;
/// Semitones to each side.
const BEND_RANGE: f64 = 2.0;
/// A voice ends below this level, -80 dB.
const SILENT: f32 = 1e-4;
/// The release of a voice that has to stop at once.
const CHOKE_S: f64 = 0.002;
/// How often the exponentials fall by e in their time: to a thousandth.
const FALLS: f64 = 6.907_755_278_982_137;

/// The wave of the oscillator, by the value of its parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wave {
    Sine,
    Triangle,
    Saw,
    Square,
}

/// Plays the notes that it receives. Shape: adds the same to both rows.
#[derive(Debug, Clone)]
pub struct Synth {
    rate_hz: f64,
    wave: Wave,
    envelope: Envelope,
    /// The filter's coefficient: the tangent of half its cutoff.
    cutoff: Ramp,
    damping: Ramp,
    gain: Ramp,
    channels: [Channel; CHANNELS],
    voices: [Voice; VOICES],
    /// How many notes have begun: the age of voices.
    begun: u64,
}

/// What a MIDI channel says of all its notes.
#[derive(Debug, Clone, Copy)]
struct Channel {
    /// A factor of the pitch.
    bend: f64,
    pedal: bool,
}

const AT_REST: Channel = Channel { bend: 1.0, pedal: false };

/// What happens to the level, frame by frame.
#[derive(Debug, Clone, Copy)]
struct Envelope {
    attack_step: f32,
    /// Part of the way to the sustained level that is left after a frame.
    decay: f32,
    sustain: f32,
    release: f32,
    choke: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Off,
    Attack,
    Decay,
    Release,
    Choke,
}

#[derive(Debug, Clone, Copy)]
struct Voice {
    stage: Stage,
    id: i32,
    channel: i8,
    key: i8,
    /// Its note has ended, and the pedal holds it.
    held: bool,
    born: u64,
    velocity: f32,
    level: f32,
    /// In cycles, from 0 up to but not including 1.
    phase: f64,
    /// Cycles per frame without bend.
    pitch: f64,
    low: [f32; 2],
}

const NO_VOICE: Voice = Voice {
    stage: Stage::Off,
    id: -1,
    channel: 0,
    key: 0,
    held: false,
    born: 0,
    velocity: 0.0,
    level: 0.0,
    phase: 0.0,
    pitch: 0.0,
    low: [0.0; 2],
};

/// The filter's three coefficients, frame by frame.
struct Filter {
    a1: [f32; CONTROL_FRAMES],
    a2: [f32; CONTROL_FRAMES],
    a3: [f32; CONTROL_FRAMES],
}

impl SegmentEffect for Synth {
    const PARAMS: &'static [Param] = &[
        Param::new("wave", "0 sine, 1 triangle, 2 saw, 3 square.", 0.0, 3.0, 2.0).fixed(),
        Param::new("attack_ms", "From a note's start to its full level.", 0.1, 10_000.0, 5.0),
        Param::new(
            "decay_ms",
            "From there to within a thousandth of `sustain`.",
            1.0,
            20_000.0,
            400.0,
        ),
        Param::new("sustain", "The level while a note is held; 1 is full.", 0.0, 1.0, 0.5),
        Param::new("release_ms", "From a note's end down by 60 dB.", 1.0, 20_000.0, 200.0),
        Param::new("cutoff_hz", "Low-pass filter.", 20.0, 20_000.0, 4000.0),
        Param::new("resonance", "0: none; 1: the filter rings.", 0.0, 1.0, 0.2),
        Param::new("gain_db", "Level of all voices together.", -60.0, 12.0, -12.0),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Synth {
        let rate_hz = f64::from(sample_rate_hz);
        let wave = [Wave::Sine, Wave::Triangle, Wave::Saw, Wave::Square];
        let (attack_step, decay, sustain, release) = (1.0, 0.0, 0.0, 0.0);
        let choke = falling(CHOKE_S, rate_hz);
        let mut synth = Synth {
            rate_hz,
            wave: wave[(values[WAVE].round() as usize).min(3)],
            envelope: Envelope { attack_step, decay, sustain, release, choke },
            cutoff: Ramp::smoothing(coefficient(values[CUTOFF_HZ], rate_hz), rate_hz),
            damping: Ramp::smoothing(damping(values[RESONANCE]), rate_hz),
            gain: Ramp::smoothing(db_to_lin(values[GAIN_DB]), rate_hz),
            channels: [AT_REST; CHANNELS],
            voices: [NO_VOICE; VOICES],
            begun: 0,
        };
        (ATTACK_MS..=RELEASE_MS).for_each(|index| synth.set(index, values[index]));
        synth
    }

    fn set(&mut self, index: usize, value: f32) {
        let (envelope, rate_hz) = (&mut self.envelope, self.rate_hz);
        let seconds = f64::from(value) / 1000.0;
        match index {
            ATTACK_MS => envelope.attack_step = (1.0 / (seconds * rate_hz).max(1.0)) as f32,
            DECAY_MS => envelope.decay = falling(seconds, rate_hz),
            SUSTAIN => envelope.sustain = value,
            RELEASE_MS => envelope.release = falling(seconds, rate_hz),
            CUTOFF_HZ => self.cutoff.set(coefficient(value, rate_hz)),
            RESONANCE => self.damping.set(damping(value)),
            GAIN_DB => self.gain.set(db_to_lin(value)),
            _ => {}
        }
    }

    fn hear(&mut self, event: &EventKind) {
        match event {
            EventKind::Note(note) => self.note(note),
            EventKind::Midi(message) => self.message(*message),
            EventKind::Ump(packet) => {
                midi2_to_midi1(packet).as_slice().iter().for_each(|message| self.message(*message));
            }
            EventKind::EndAllNotes => {
                self.channels.iter_mut().for_each(|channel| channel.pedal = false);
                self.voices.iter_mut().for_each(|voice| voice.end(Stage::Release));
            }
            EventKind::Param(_) | EventKind::SysEx(_) => {}
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let gain = row_of(&mut self.gain, frames);
        let filter = self.filter(frames);
        let mut sum = [0.0; CONTROL_FRAMES];
        let mut sounds = false;
        // One voice after the other, in their order: the sum has the same bits for every block.
        for voice in self.voices.iter_mut().filter(|voice| voice.stage != Stage::Off) {
            let bend = self.channels[usize::from(voice.channel as u8 & 15)].bend;
            voice.add(&mut sum[..frames], (self.wave, bend), &self.envelope, &filter);
            sounds = true;
        }
        if sounds {
            for (frame, (left, right)) in rows.left.iter_mut().zip(rows.right).enumerate() {
                let sample = sum[frame] * gain[frame];
                *left += sample;
                *right += sample;
            }
        }
    }

    fn reset(&mut self) {
        self.voices = [NO_VOICE; VOICES];
        self.channels = [AT_REST; CHANNELS];
        self.begun = 0;
        [&mut self.cutoff, &mut self.damping, &mut self.gain].into_iter().for_each(Ramp::snap);
    }
}

/// Notes and messages.
impl Synth {
    fn message(&mut self, message: Midi1) {
        if let Some(note) = Note::from_midi(message) {
            return self.note(&note);
        }
        let [status, first, second] = message.bytes();
        let channel = status & 0xf;
        let of_channel = |voice: &&mut Voice| voice.channel as u8 & 15 == channel;
        match (status & 0xf0, first) {
            (0xe0, _) => {
                let amount = f64::from(i32::from(second) << 7 | i32::from(first)) / 8192.0 - 1.0;
                self.channels[usize::from(channel)].bend = semitones(BEND_RANGE * amount);
            }
            (0xb0, 64) => self.pedal(usize::from(channel), second >= 64),
            (0xb0, 120) => {
                let voices = self.voices.iter_mut().filter(of_channel);
                voices.for_each(|voice| voice.end(Stage::Choke));
            }
            (0xb0, 121) => {
                self.channels[usize::from(channel)].bend = 1.0;
                self.pedal(usize::from(channel), false);
            }
            (0xb0, 123..=127) => {
                let voices = self.voices.iter_mut().filter(of_channel);
                voices.for_each(|voice| voice.end(Stage::Release));
            }
            _ => {}
        }
    }

    fn pedal(&mut self, channel: usize, down: bool) {
        self.channels[channel].pedal = down;
        if !down {
            let of_channel = |voice: &&mut Voice| usize::from(voice.channel as u8 & 15) == channel;
            let held = self.voices.iter_mut().filter(of_channel).filter(|voice| voice.held);
            held.for_each(|voice| voice.end(Stage::Release));
        }
    }

    fn note(&mut self, note: &Note) {
        match note.action {
            NoteAction::On => self.begin(note),
            NoteAction::Off => self.end(note, Stage::Release),
            NoteAction::Choke => self.end(note, Stage::Choke),
            NoteAction::End => {}
        }
    }

    /// A wildcard of the note means every voice that sounds.
    fn end(&mut self, note: &Note, stage: Stage) {
        // What ends already, or is held by the pedal, can still be choked.
        let may_end = |voice: &Voice| match stage {
            Stage::Choke => voice.stage != Stage::Off,
            _ => voice.is_on(),
        };
        let meant = |voice: &&mut Voice| {
            may_end(voice)
                && (note.id == -1 || voice.id == note.id)
                && (note.key == -1 || voice.key == note.key)
                && (note.channel == -1 || voice.channel == note.channel)
        };
        for voice in self.voices.iter_mut().filter(meant) {
            let pedal = self.channels[usize::from(voice.channel as u8 & 15)].pedal;
            match stage {
                Stage::Release if pedal => voice.held = true,
                stage => voice.end(stage),
            }
        }
    }

    fn begin(&mut self, note: &Note) {
        if note.key < 0 || !note.velocity.is_finite() {
            return;
        }
        self.begun += 1;
        let voice = self.free_voice();
        let (phase, pitch) = (0.0, pitch_hz(note.key) / self.rate_hz);
        let velocity = note.velocity.clamp(0.0, 1.0) as f32;
        let Note { id, channel, key, .. } = *note;
        // One that is taken goes on from its level, so that it does not jump to silence.
        let level = self.voices[voice].level;
        let born = self.begun;
        let (stage, held, low) = (Stage::Attack, false, self.voices[voice].low);
        self.voices[voice] =
            Voice { stage, id, channel, key, held, born, velocity, level, phase, pitch, low };
    }

    /// A voice that is off, else the quietest that is ending, else the oldest.
    fn free_voice(&self) -> usize {
        let rank = |voice: &Voice| match voice.stage {
            Stage::Off => (0, 0.0, 0),
            Stage::Release | Stage::Choke => (1, voice.level, voice.born),
            Stage::Attack | Stage::Decay => (2, 0.0, voice.born),
        };
        let mut best = 0;
        for index in 1..VOICES {
            let (own, found) = (rank(&self.voices[index]), rank(&self.voices[best]));
            if own.0 < found.0 || own.0 == found.0 && (own.1, own.2) < (found.1, found.2) {
                best = index;
            }
        }
        best
    }

    fn filter(&mut self, frames: usize) -> Filter {
        let (cutoff, damping) =
            (row_of(&mut self.cutoff, frames), row_of(&mut self.damping, frames));
        let (mut a1, mut a2, mut a3) =
            ([0.0; CONTROL_FRAMES], [0.0; CONTROL_FRAMES], [0.0; CONTROL_FRAMES]);
        for frame in 0..frames {
            let (g, k) = (cutoff[frame], damping[frame]);
            a1[frame] = 1.0 / (1.0 + g * (g + k));
            a2[frame] = g * a1[frame];
            a3[frame] = g * a2[frame];
        }
        Filter { a1, a2, a3 }
    }
}

impl Voice {
    /// Whether its note has not ended. The pedal may hold it.
    fn is_on(&self) -> bool {
        matches!(self.stage, Stage::Attack | Stage::Decay) && !self.held
    }

    fn end(&mut self, stage: Stage) {
        self.held = false;
        match self.stage {
            Stage::Off | Stage::Choke => {}
            Stage::Release if stage == Stage::Release => {}
            _ => self.stage = stage,
        }
    }

    /// Adds its sound to `sum`.
    fn add(
        &mut self,
        sum: &mut [f32],
        (wave, bend): (Wave, f64),
        envelope: &Envelope,
        filter: &Filter,
    ) {
        // Above half the rate there is nothing to hear but aliases.
        let step = (self.pitch * bend).min(0.5);
        for (frame, sum) in sum.iter_mut().enumerate() {
            let level = self.next_level(envelope);
            if self.stage == Stage::Off {
                self.low = [0.0; 2];
                return;
            }
            let raw = wave.sample(self.phase, step) * level * self.velocity;
            self.phase += step;
            self.phase -= f64::from(u8::from(self.phase >= 1.0));
            *sum += self.filtered(raw, filter, frame);
        }
    }

    #[inline]
    fn next_level(&mut self, envelope: &Envelope) -> f32 {
        match self.stage {
            Stage::Off => self.level = 0.0,
            Stage::Attack => {
                self.level += envelope.attack_step;
                if self.level >= 1.0 {
                    (self.level, self.stage) = (1.0, Stage::Decay);
                }
            }
            Stage::Decay => {
                self.level = envelope.sustain + (self.level - envelope.sustain) * envelope.decay;
                // A sound that decays to nothing ends by itself.
                if envelope.sustain < SILENT && self.level < SILENT {
                    (self.level, self.stage) = (0.0, Stage::Off);
                }
            }
            Stage::Release | Stage::Choke => {
                let fall =
                    if self.stage == Stage::Choke { envelope.choke } else { envelope.release };
                self.level *= fall;
                if self.level < SILENT {
                    (self.level, self.stage) = (0.0, Stage::Off);
                }
            }
        }
        self.level
    }

    #[inline]
    fn filtered(&mut self, sample: f32, filter: &Filter, frame: usize) -> f32 {
        let [first, second] = self.low;
        let (a1, a2, a3) = (filter.a1[frame], filter.a2[frame], filter.a3[frame]);
        let rest = sample - second;
        let band = a1 * first + a2 * rest;
        let low = second + a2 * first + a3 * rest;
        self.low = [flush(2.0 * band - first), flush(2.0 * low - second)];
        low
    }
}

impl Wave {
    /// Its value at a phase; `step`: cycles per frame.
    #[inline]
    fn sample(self, phase: f64, step: f64) -> f32 {
        let value = match self {
            Wave::Sine => sin_cos(std::f64::consts::TAU * phase).0,
            Wave::Triangle => 1.0 - 4.0 * (phase - 0.5).abs(),
            Wave::Saw => 2.0 * phase - 1.0 - corner(phase, step),
            Wave::Square => {
                let half = if phase < 0.5 { phase + 0.5 } else { phase - 0.5 };
                let flat = if phase < 0.5 { 1.0 } else { -1.0 };
                flat + corner(phase, step) - corner(half, step)
            }
        };
        value as f32
    }
}

/// What a step of height two at phase 0 lacks of a band-limited one.
#[inline]
fn corner(phase: f64, step: f64) -> f64 {
    if phase < step {
        let x = phase / step;
        x + x - x * x - 1.0
    } else if phase > 1.0 - step {
        let x = (phase - 1.0) / step;
        x * x + x + x + 1.0
    } else {
        0.0
    }
}

/// What is left after a frame of something that falls by 60 dB in so many seconds.
fn falling(seconds: f64, rate_hz: f64) -> f32 {
    exp(-FALLS / (seconds * rate_hz).max(1.0)) as f32
}

/// Prewarped; at most 0.45 of the rate.
fn coefficient(cutoff_hz: f32, rate_hz: f64) -> f32 {
    let cutoff = (f64::from(cutoff_hz) / rate_hz).min(0.45);
    tan(std::f64::consts::PI * cutoff) as f32
}

/// Twice the damping ratio: 2 for none of the resonance, and enough for the filter to stay stable.
fn damping(resonance: f32) -> f32 {
    2.0 - 1.95 * resonance
}

fn semitones(count: f64) -> f64 {
    exp(count / 12.0 * std::f64::consts::LN_2)
}

/// Equal temperament; key 69 is A4, 440 Hz.
fn pitch_hz(key: i8) -> f64 {
    440.0 * semitones(f64::from(key) - 69.0)
}

/// All voices sounding.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    // Per voice: envelope 3, oscillator 12, level 2, phase 2, filter 15, sum 1. Then the coefficients and the gain.
    VOICES as f64 * 35.0 + 10.0
}
