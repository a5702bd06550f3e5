//! Which voices sound: notes, channels, and what happens when there are too many.

use std::sync::Arc;

use hocket_dsp::level::db_to_lin;
use hocket_dsp::math::exp;
use hocket_dsp::ramp::Ramp;
use hocket_dsp::segment::{CONTROL_FRAMES, SegmentEffect};
use hocket_dsp::{Param, StereoMut, StereoRef};
use hocket_time::{EventKind, Midi1, Note, NoteAction, midi2_to_midi1};

use crate::channel::{CHANNELS, Channel};
use crate::envelope::Stage;
use crate::font::{Preset, SoundFont};
use crate::generators::number;
use crate::voice::{Sounding, Voice};

const PROGRAM: usize = 0;
const BANK: usize = 1;
const GAIN_DB: usize = 2;
const VOICES: usize = 3;

/// See [`crate::PARAMS`].
pub(crate) const PARAMS: &[Param] = &[
    Param::new(
        "program",
        "The preset's number, from 0; -1: what the MIDI says, 0 before that.",
        -1.0,
        127.0,
        -1.0,
    ),
    Param::new(
        "bank",
        "The preset's bank; -1: what the MIDI says, 0 before that, and 128 (drums) on channel 10.",
        -1.0,
        128.0,
        -1.0,
    ),
    Param::new("gain_db", "Level of all voices together.", -60.0, 12.0, -12.0),
    Param::new("voices", "How many sound together.", 1.0, 256.0, 64.0).fixed(),
];

/// Voices that sound together in most music: for declared costs.
pub(crate) const USUAL_VOICES: f64 = 16.0;
/// Places for voices that were taken away and fade out, beside those that sound.
const FADING: usize = 16;
/// Time in which a change of a controller is heard to two thirds.
const APPROACH_S: f64 = 0.005;

/// Plays the notes that it receives. Shape: adds stereo to both rows.
#[derive(Debug)]
pub struct Player {
    font: Arc<SoundFont>,
    rate_hz: f64,
    /// The preset that the session gives; below 0: what the MIDI says.
    program: i32,
    bank: i32,
    gain: Ramp,
    channels: [Channel; CHANNELS],
    voices: Box<[Voice]>,
    /// How many of them may sound.
    most: usize,
    /// How many notes have begun: the age of voices.
    begun: u64,
    approach: f32,
}

impl Player {
    /// A player at rest; values are in range.
    pub(crate) fn of(font: Arc<SoundFont>, values: &[f32], sample_rate_hz: u32) -> Player {
        let rate_hz = f64::from(sample_rate_hz);
        let most = values[VOICES].round() as usize;
        Player {
            font,
            rate_hz,
            program: values[PROGRAM].round() as i32,
            bank: values[BANK].round() as i32,
            gain: Ramp::smoothing(db_to_lin(values[GAIN_DB]), rate_hz),
            channels: [Channel::AT_REST; CHANNELS],
            voices: vec![Voice::default(); most + FADING].into(),
            most,
            begun: 0,
            approach: (1.0 - exp(-1.0 / (APPROACH_S * rate_hz))) as f32,
        }
    }
}

impl SegmentEffect for Player {
    const PARAMS: &'static [Param] = PARAMS;

    /// Without a file it is silent.
    fn new(values: &[f32], sample_rate_hz: u32) -> Player {
        Player::of(Arc::default(), values, sample_rate_hz)
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            PROGRAM => self.program = value.round() as i32,
            BANK => self.bank = value.round() as i32,
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

    fn control(&mut self, _elapsed: usize) {
        for voice in self.voices.iter_mut().filter(|voice| voice.is_on()) {
            voice.control(&self.channels[usize::from(voice.note.channel)], self.rate_hz);
        }
    }

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        // Apart: both together would be filled by the C library (hocket_dsp::rows).
        let mut left = [0.0; CONTROL_FRAMES];
        let mut right = [0.0; CONTROL_FRAMES];
        let mut sounds = false;
        // One voice after the other, in their order: the sum has the same bits for every block.
        for voice in self.voices.iter_mut().filter(|voice| voice.is_on()) {
            let rows = [&mut left[..frames], &mut right[..frames]];
            voice.add(self.font.samples(), rows, self.approach);
            sounds = true;
        }
        // In silence too, frame by frame: where a silence begins depends on how the time is cut.
        let mut gains = [0.0; CONTROL_FRAMES];
        self.gain.fill(&mut gains[..frames]);
        if !sounds {
            return;
        }
        for (frame, (out_left, out_right)) in rows.left.iter_mut().zip(rows.right).enumerate() {
            *out_left += left[frame] * gains[frame];
            *out_right += right[frame] * gains[frame];
        }
    }

    /// A sample may have a long silence in it, and an envelope a long delay.
    fn rests(&self) -> bool {
        false
    }

    fn reset(&mut self) {
        self.voices.iter_mut().for_each(Voice::stop);
        self.channels.iter_mut().for_each(|channel| *channel = Channel::AT_REST);
        self.begun = 0;
        self.gain.snap();
    }
}

/// Notes and messages.
impl Player {
    fn message(&mut self, message: Midi1) {
        if let Some(note) = Note::from_midi(message) {
            return self.note(&note);
        }
        let [status, first, second] = message.bytes();
        let number = status & 0xf;
        let channel = &mut self.channels[usize::from(number)];
        match (status & 0xf0, first) {
            (0xc0, _) => channel.set_program(first),
            (0xd0, _) => channel.set_pressure(first),
            (0xe0, _) => channel.set_bend(first, second),
            (0xb0, 64) => self.pedal(number, second >= 64),
            (0xb0, 120) => self.end_channel(number, Stage::Choke),
            (0xb0, 121) => {
                channel.reset_controllers();
                self.pedal(number, false);
            }
            (0xb0, 123..=127) => self.end_channel(number, Stage::Release),
            (0xb0, _) => channel.control(first, second),
            _ => {}
        }
    }

    fn of_channel(&mut self, channel: u8) -> impl Iterator<Item = &mut Voice> {
        self.voices.iter_mut().filter(move |voice| voice.note.channel == channel)
    }

    fn end_channel(&mut self, channel: u8, stage: Stage) {
        self.of_channel(channel).for_each(|voice| voice.end(stage));
    }

    fn pedal(&mut self, channel: u8, down: bool) {
        self.channels[usize::from(channel)].pedal = down;
        if !down {
            let held = self.of_channel(channel).filter(|voice| voice.held);
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
        let is = |wanted: i8, own: u8| wanted == -1 || wanted as u8 == own;
        for voice in self.voices.iter_mut() {
            let Sounding { id, channel, key, .. } = voice.note;
            let meant =
                (note.id == -1 || id == note.id) && is(note.key, key) && is(note.channel, channel);
            // What ends already, or is held by the pedal, can still be choked.
            let may_end = if stage == Stage::Choke { voice.is_on() } else { voice.is_held_down() };
            if !may_end || !meant {
                continue;
            }
            match stage {
                Stage::Release if self.channels[usize::from(channel)].pedal => voice.held = true,
                stage => voice.end(stage),
            }
        }
    }

    /// The preset of a channel's notes.
    fn preset(&self, channel: u8) -> Option<&Preset> {
        let index = usize::from(channel);
        let (bank, program) = self.channels[index].preset(index);
        let given = |value: i32, other: u16| u16::try_from(value).unwrap_or(other);
        self.font.nearest(given(self.bank, bank), given(self.program, program))
    }

    fn begin(&mut self, note: &Note) {
        if note.key < 0 || !note.velocity.is_finite() {
            return;
        }
        let channel = note.channel.max(0) as u8 & 15;
        let Some(preset) = self.preset(channel) else { return };
        let regions = preset.regions.clone();
        self.begun += 1;
        let (key, velocity) = (note.key as u8, note.velocity.clamp(0.0, 1.0));
        // Ranges of velocities are in MIDI's steps, and no note begins with none.
        let step = ((velocity * 127.0).round() as u8).max(1);
        let sounding = Sounding { id: note.id, channel, key, born: self.begun };
        let inside = |(low, high): (u8, u8), value: u8| (low..=high).contains(&value);
        for index in regions {
            let generators = &self.font.region(index).generators;
            if inside(generators.range(number::KEYS), key)
                && inside(generators.range(number::VELOCITIES), step)
            {
                self.choke_class(generators.get(number::EXCLUSIVE_CLASS), &sounding);
                let place = self.free_place();
                let region = self.font.region(index);
                self.voices[place].start(region, sounding, velocity, self.rate_hz);
            }
        }
    }

    /// Ends other notes of the class on this channel, as a closed hi-hat ends an open one.
    fn choke_class(&mut self, class: i16, note: &Sounding) {
        if class == 0 {
            return;
        }
        let others = self.of_channel(note.channel);
        let others =
            others.filter(|voice| voice.exclusive == class && voice.note.born != note.born);
        others.for_each(|voice| voice.end(Stage::Choke));
    }

    /// A place for a voice. Where as many sound as may, the quietest that is ending has to fade out, else one of the oldest
    /// note. Where no place is left even for those that fade, the quietest of these stops.
    fn free_place(&mut self) -> usize {
        let sounding = |voice: &Voice| !matches!(voice.volume.stage, Stage::Off | Stage::Choke);
        if self.voices.iter().filter(|voice| sounding(voice)).count() >= self.most {
            let places = (0..self.voices.len()).filter(|place| sounding(&self.voices[*place]));
            let least = least(places, |place| {
                let Voice { volume, note, .. } = &self.voices[place];
                match volume.stage {
                    Stage::Release => (0, volume.level, note.born),
                    _ => (1, 0.0, note.born),
                }
            });
            self.voices[least].end(Stage::Choke);
        }
        let free = self.voices.iter().position(|voice| !voice.is_on());
        free.unwrap_or_else(|| {
            let fading = |place: &usize| self.voices[*place].volume.stage == Stage::Choke;
            let places = (0..self.voices.len()).filter(fading);
            least(places, |place| {
                (0, self.voices[place].volume.level, self.voices[place].note.born)
            })
        })
    }
}

/// The first place with the smallest rank; 0 of none.
fn least(places: impl Iterator<Item = usize>, rank: impl Fn(usize) -> (u8, f64, u64)) -> usize {
    let smaller = |a: (u8, f64, u64), b: (u8, f64, u64)| {
        a.0 < b.0 || a.0 == b.0 && (a.1 < b.1 || a.1 == b.1 && a.2 < b.2)
    };
    let best = places.fold(None, |best: Option<usize>, place| match best {
        Some(best) if !smaller(rank(place), rank(best)) => Some(best),
        _ => Some(place),
    });
    best.unwrap_or(0)
}
