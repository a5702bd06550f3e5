//! A CLAP instrument for the tests: each note is a sine that fades out when the note ends. No two notes are connected, so its
//! output depends on its notes alone.
//!
//! Its file name decides how it misbehaves (`Mode`).
#![allow(unsafe_code, reason = "the macro that exports the entry")]
#![allow(missing_docs)]

use std::ffi::CStr;
use std::sync::OnceLock;

use clack_extensions::audio_ports::{
    AudioPortFlags, AudioPortInfo, AudioPortInfoWriter, AudioPortType, PluginAudioPorts,
    PluginAudioPortsImpl,
};
use clack_extensions::note_ports::{
    NoteDialect, NoteDialects, NotePortInfo, NotePortInfoWriter, PluginNotePorts,
    PluginNotePortsImpl,
};
use clack_plugin::clack_export_entry;
use clack_plugin::entry::prelude::*;
use clack_plugin::events::Match;
use clack_plugin::events::spaces::CoreEventSpace;
use clack_plugin::prelude::*;

/// How it misbehaves, by what is in its file name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Not at all.
    Good,
    /// `runs`: a voice that is too quiet ends only where a run ends.
    Runs,
    /// `mute`: no note sounds.
    Mute,
    /// `drifts`: a reset leaves the place in the wave that new notes begin with.
    Drifts,
    /// `lingers`: no note ends.
    Lingers,
    /// `grows`: each note takes memory.
    Grows,
}

static MODE: OnceLock<Mode> = OnceLock::new();

impl Mode {
    fn of(name: &str) -> Mode {
        let modes = [
            ("runs", Mode::Runs),
            ("mute", Mode::Mute),
            ("drifts", Mode::Drifts),
            ("lingers", Mode::Lingers),
            ("grows", Mode::Grows),
        ];
        modes.iter().find(|(part, _)| name.contains(part)).map_or(Mode::Good, |(_, mode)| *mode)
    }

    fn now() -> Mode {
        MODE.get().copied().unwrap_or(Mode::Good)
    }
}

/// How many notes sound at once; more are left out.
const VOICES: usize = 64;
/// What is left of a voice that fades out, in each frame.
const FADE: f32 = 0.999;
/// A voice below this has ended.
const ENDED: f32 = 1e-3;

#[derive(Clone, Copy)]
struct Voice {
    key: u16,
    level: f32,
    phase: f32,
    fades: bool,
}

struct Instrument;

struct Main;

impl PluginMainThread<'_, ()> for Main {}

struct Sound {
    voices: Vec<Voice>,
    /// Where in the wave a note of this key begins, of one that drifts.
    drift: f32,
    rate: f32,
}

impl Plugin for Instrument {
    type AudioProcessor<'a> = Sound;
    type Shared<'a> = ();
    type MainThread<'a> = Main;

    fn declare_extensions(builder: &mut PluginExtensions<Self>, _: Option<&()>) {
        builder.register::<PluginAudioPorts>().register::<PluginNotePorts>();
    }
}

impl DefaultPluginFactory for Instrument {
    fn get_descriptor() -> PluginDescriptor {
        PluginDescriptor::new("test.hocket.instrument", "Test instrument")
    }

    fn new_shared(_: HostSharedHandle<'_>) -> Result<(), PluginError> {
        Ok(())
    }

    fn new_main_thread<'a>(_: HostMainThreadHandle<'a>, (): &'a ()) -> Result<Main, PluginError> {
        Ok(Main)
    }
}

impl<'a> PluginAudioProcessor<'a, (), Main> for Sound {
    fn activate(
        _: HostAudioProcessorHandle<'a>,
        _: &Main,
        (): &'a (),
        config: PluginAudioConfiguration,
    ) -> Result<Self, PluginError> {
        let voices = Vec::with_capacity(VOICES);
        Ok(Sound { voices, drift: 0.0, rate: config.sample_rate as f32 })
    }

    /// Notes begin and end at their frames.
    fn process(
        &mut self,
        _: Process,
        mut audio: Audio,
        events: Events,
    ) -> Result<ProcessStatus, PluginError> {
        let mut port = audio.output_port(0).ok_or(PluginError::Message("no port"))?;
        let mut rows = port.channels()?.into_f32().ok_or(PluginError::Message("no f32"))?;
        let mut next = events.input.iter().peekable();
        let frames = rows.channel(0).map_or(0, |row| row.len());
        for frame in 0..frames {
            while let Some(event) = next.next_if(|event| event.header().time() as usize <= frame) {
                self.take(event);
            }
            let sample = self.frame();
            rows.iter_mut().for_each(|row| row[frame] = sample);
        }
        if Mode::now() == Mode::Runs {
            self.voices.retain(|voice| voice.level >= ENDED);
        }
        Ok(ProcessStatus::Continue)
    }

    fn reset(&mut self) {
        self.voices.clear();
        if Mode::now() != Mode::Drifts {
            self.drift = 0.0;
        }
    }
}

impl Sound {
    fn take(&mut self, event: &UnknownEvent) {
        match event.as_core_event() {
            Some(CoreEventSpace::NoteOn(note)) => self.begin(note.key(), note.velocity() as f32),
            Some(CoreEventSpace::NoteOff(note)) => self.end(note.key()),
            Some(CoreEventSpace::NoteChoke(note)) => self.end(note.key()),
            _ => {}
        }
    }

    fn begin(&mut self, key: Match<u16>, velocity: f32) {
        if Mode::now() == Mode::Grows {
            drop(std::hint::black_box(vec![0_u8; 1000]));
        }
        let Match::Specific(key) = key else { return };
        if Mode::now() != Mode::Mute && self.voices.len() < VOICES {
            self.voices.push(Voice { key, level: velocity / 8.0, phase: self.drift, fades: false });
        }
    }

    fn end(&mut self, key: Match<u16>) {
        let of = |voice: &&mut Voice| match key {
            Match::Specific(key) => voice.key == key,
            Match::All => true,
        };
        if Mode::now() != Mode::Lingers {
            self.voices.iter_mut().filter(of).for_each(|voice| voice.fades = true);
        }
    }

    /// One sample of all voices.
    fn frame(&mut self) -> f32 {
        let mut sum = 0.0;
        for voice in &mut self.voices {
            sum += voice.level * (voice.phase * std::f32::consts::TAU).sin();
            voice.phase = (voice.phase + 55.0 * f32::from(voice.key + 1) / self.rate / 4.0).fract();
            voice.level *= if voice.fades { FADE } else { 1.0 };
        }
        if Mode::now() == Mode::Drifts {
            self.drift = (self.drift + 1e-4).fract();
        }
        if Mode::now() != Mode::Runs {
            self.voices.retain(|voice| voice.level >= ENDED);
        }
        sum
    }
}

impl PluginAudioPortsImpl for Main {
    fn count(&self, is_input: bool) -> u32 {
        u32::from(!is_input)
    }

    fn get(&self, _: u32, _: bool, writer: &mut AudioPortInfoWriter) {
        writer.set(&AudioPortInfo {
            id: ClapId::new(0),
            name: b"main",
            channel_count: 2,
            flags: AudioPortFlags::IS_MAIN,
            port_type: Some(AudioPortType::STEREO),
            in_place_pair: None,
        });
    }
}

impl PluginNotePortsImpl for Main {
    fn count(&self, is_input: bool) -> u32 {
        u32::from(is_input)
    }

    fn get(&self, _: u32, _: bool, writer: &mut NotePortInfoWriter) {
        writer.set(&NotePortInfo {
            id: ClapId::new(0),
            name: b"notes",
            supported_dialects: NoteDialects::CLAP,
            preferred_dialect: Some(NoteDialect::Clap),
        });
    }
}

/// Misbehaves as the file's name says.
struct InstrumentEntry(SinglePluginEntry<Instrument>);

impl Entry for InstrumentEntry {
    fn new(path: Option<&CStr>) -> Result<Self, EntryLoadError> {
        let text = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        MODE.get_or_init(|| Mode::of(text.rsplit('/').next().unwrap_or_default()));
        Ok(InstrumentEntry(SinglePluginEntry::new(path)?))
    }

    fn declare_factories<'a>(&'a self, builder: &mut EntryFactories<'a>) {
        self.0.declare_factories(builder);
    }
}

clack_export_entry!(InstrumentEntry);
