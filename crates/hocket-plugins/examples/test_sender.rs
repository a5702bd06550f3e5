//! A CLAP plug-in for the tests that sends events: each note that it receives goes out an octave higher, at its frame, with the
//! messages that CLAP has besides. It has no audio ports.
//!
//! Its file name decides how it differs (`Mode`).
#![allow(unsafe_code, reason = "the macro that exports the entry")]
#![allow(missing_docs)]

use std::ffi::CStr;
use std::sync::OnceLock;

use clack_extensions::note_ports::{
    NoteDialect, NoteDialects, NotePortInfo, NotePortInfoWriter, PluginNotePorts,
    PluginNotePortsImpl,
};
use clack_plugin::clack_export_entry;
use clack_plugin::entry::prelude::*;
use clack_plugin::events::event_types::{MidiEvent, NoteOffEvent, NoteOnEvent};
use clack_plugin::events::spaces::CoreEventSpace;
use clack_plugin::prelude::*;

/// How it differs, by what is in its file name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Not at all.
    Octave,
    /// `floods`: each note start goes out as many times as [`FLOOD`] says.
    Floods,
    /// `pattern`: it takes no notes, and sends one in each run of its own accord.
    Pattern,
}

static MODE: OnceLock<Mode> = OnceLock::new();

impl Mode {
    fn of(name: &str) -> Mode {
        match name {
            name if name.contains("floods") => Mode::Floods,
            name if name.contains("pattern") => Mode::Pattern,
            _ => Mode::Octave,
        }
    }

    fn now() -> Mode {
        MODE.get().copied().unwrap_or(Mode::Octave)
    }
}

const FLOOD: usize = 1_500;
/// Frames between two notes of a pattern, and how long they are.
const STEP: u64 = 1_000;
const LENGTH: u64 = 400;

struct Sender;

struct Main;

impl PluginMainThread<'_, ()> for Main {}

struct Sound {
    /// Frames since the last reset.
    played: u64,
}

impl Plugin for Sender {
    type AudioProcessor<'a> = Sound;
    type Shared<'a> = ();
    type MainThread<'a> = Main;

    fn declare_extensions(builder: &mut PluginExtensions<Self>, _: Option<&()>) {
        builder.register::<PluginNotePorts>();
    }
}

impl DefaultPluginFactory for Sender {
    fn get_descriptor() -> PluginDescriptor {
        PluginDescriptor::new("test.hocket.sender", "Test sender")
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
        _: PluginAudioConfiguration,
    ) -> Result<Self, PluginError> {
        Ok(Sound { played: 0 })
    }

    fn process(
        &mut self,
        _: Process,
        audio: Audio,
        events: Events,
    ) -> Result<ProcessStatus, PluginError> {
        let frames = u64::from(audio.frames_count());
        if Mode::now() == Mode::Pattern {
            self.pattern(frames, events.output);
        } else {
            events.input.iter().for_each(|event| octave(event, events.output));
        }
        self.played += frames;
        Ok(ProcessStatus::Continue)
    }

    fn reset(&mut self) {
        self.played = 0;
    }
}

/// Sends a note an octave higher, and the pedal of its channel in front of its start.
fn octave(event: &UnknownEvent, to: &mut OutputEvents<'_>) {
    let time = event.header().time();
    let up = |place: Pckn| {
        let (channel, key) = (place.raw_channel(), place.raw_key() + 12);
        Pckn::from_raw(0, channel, key, place.raw_note_id())
    };
    match event.as_core_event() {
        Some(CoreEventSpace::NoteOn(note)) => {
            let count = if Mode::now() == Mode::Floods { FLOOD } else { 1 };
            let channel = note.pckn().raw_channel().clamp(0, 15) as u8;
            let _ = to.try_push(MidiEvent::new(time, 0, [0xb0 | channel, 1, 100]));
            for _ in 0..count {
                let _ = to.try_push(NoteOnEvent::new(time, up(note.pckn()), note.velocity()));
            }
        }
        Some(CoreEventSpace::NoteOff(note)) => {
            let _ = to.try_push(NoteOffEvent::new(time, up(note.pckn()), note.velocity()));
        }
        _ => {}
    }
}

impl Sound {
    /// A note at each multiple of a step.
    fn pattern(&self, frames: u64, to: &mut OutputEvents<'_>) {
        let place = Pckn::from_raw(0, 0, 60, -1);
        for frame in 0..frames {
            match (self.played + frame) % STEP {
                0 => _ = to.try_push(NoteOnEvent::new(frame as u32, place, 1.0)),
                LENGTH => _ = to.try_push(NoteOffEvent::new(frame as u32, place, 0.0)),
                _ => {}
            }
        }
    }
}

impl PluginNotePortsImpl for Main {
    fn count(&self, is_input: bool) -> u32 {
        u32::from(!is_input || Mode::now() != Mode::Pattern)
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

/// Differs as the file's name says.
struct SenderEntry(SinglePluginEntry<Sender>);

impl Entry for SenderEntry {
    fn new(path: Option<&CStr>) -> Result<Self, EntryLoadError> {
        let text = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        MODE.get_or_init(|| Mode::of(text.rsplit('/').next().unwrap_or_default()));
        Ok(SenderEntry(SinglePluginEntry::new(path)?))
    }

    fn declare_factories<'a>(&'a self, builder: &mut EntryFactories<'a>) {
        self.0.declare_factories(builder);
    }
}

clack_export_entry!(SenderEntry);
