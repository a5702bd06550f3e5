//! What the tests share: SoundFonts that they write themselves, and playing them.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::Cursor;
use std::sync::Arc;

use hocket_dsp::{Block, Change, Processor, StereoMut, TimedChange};
use hocket_soundfont::{PARAMS, SoundFont, instrument};
use hocket_time::{Event, EventBuffer, EventKind, Midi1, Note, ParamChange, Pushed, Source};

pub const RATE_HZ: u32 = 48_000;

/// Numbers of generators.
pub mod generator {
    pub const CUTOFF: u16 = 8;
    pub const PAN: u16 = 17;
    pub const ATTACK: u16 = 34;
    pub const HOLD: u16 = 35;
    pub const DECAY: u16 = 36;
    pub const SUSTAIN: u16 = 37;
    pub const RELEASE: u16 = 38;
    pub const KEYS: u16 = 43;
    pub const VELOCITIES: u16 = 44;
    pub const ATTENUATION: u16 = 48;
    pub const COARSE_TUNE: u16 = 51;
    pub const FINE_TUNE: u16 = 52;
    pub const LOOP_MODE: u16 = 54;
    pub const SCALE_TUNING: u16 = 56;
    pub const EXCLUSIVE: u16 = 57;
    pub const ROOT: u16 = 58;
}

/// The amount of a range.
pub fn range(low: u8, high: u8) -> i16 {
    i16::from_le_bytes([low, high])
}

#[derive(Debug, Clone)]
pub struct Sample {
    pub name: &'static str,
    pub data: Vec<i16>,
    /// From and up to, counted from its start.
    pub looped: (u32, u32),
    pub rate_hz: u32,
    pub root: u8,
    pub correction: i8,
    pub kind: u16,
}

impl Sample {
    /// A sine of so many samples per period, which loops as a whole.
    pub fn sine(period: usize, periods: usize) -> Sample {
        let value = |n: usize| (std::f64::consts::TAU * n as f64 / period as f64).sin() * AMPLITUDE;
        let data: Vec<i16> = (0..period * periods).map(|n| value(n).round() as i16).collect();
        let looped = (0, data.len() as u32);
        Sample { name: "Sine", data, looped, rate_hz: RATE_HZ, root: 69, correction: 0, kind: 1 }
    }

    /// The same value everywhere: what comes out shows the gain.
    pub fn flat(value: i16) -> Sample {
        let data = vec![value; 64];
        Sample { name: "Flat", data, looped: (8, 56), ..Sample::sine(8, 1) }
    }
}

/// The height of [`Sample::sine`].
pub const AMPLITUDE: f64 = 16_384.0;

/// Generators, and the number of the sample or instrument; `None`: a zone for all others.
pub type Zone = (Vec<(u16, i16)>, Option<u16>);

#[derive(Debug, Clone, Default)]
pub struct Font {
    pub samples: Vec<Sample>,
    pub instruments: Vec<Vec<Zone>>,
    /// Bank, program, zones.
    pub presets: Vec<(u16, u16, Vec<Zone>)>,
    /// Of the presets; those without one are `Preset` and the program.
    pub names: Vec<&'static str>,
}

impl Font {
    /// One sample, which one preset (bank 0, program 0) loops with these generators.
    pub fn of(sample: Sample, generators: &[(u16, i16)]) -> Font {
        let mut all = vec![(generator::LOOP_MODE, 1)];
        all.extend_from_slice(generators);
        Font {
            samples: vec![sample],
            instruments: vec![vec![(all, Some(0))]],
            presets: vec![(0, 0, vec![(vec![], Some(0))])],
            names: Vec::new(),
        }
    }

    /// As a file has it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut info = b"INFO".to_vec();
        info.extend(chunk(b"ifil", &[2, 0, 1, 0]));
        info.extend(chunk(b"INAM", b"Test\0\0"));
        let mut sdta = b"sdta".to_vec();
        let silence = [0i16; 46];
        let data = self.samples.iter().flat_map(|sample| sample.data.iter().chain(&silence));
        let data: Vec<u8> = data.flat_map(|sample| sample.to_le_bytes()).collect();
        sdta.extend(chunk(b"smpl", &data));
        let mut riff = b"sfbk".to_vec();
        for list in [info, sdta, self.tables()] {
            riff.extend(chunk(b"LIST", &list));
        }
        chunk(b"RIFF", &riff)
    }

    fn tables(&self) -> Vec<u8> {
        let (mut phdr, mut inst, mut shdr) = (Vec::new(), Vec::new(), Vec::new());
        let (mut preset_zones, mut instrument_zones) = (Zones::new(41), Zones::new(53));
        for (index, (bank, program, zones)) in self.presets.iter().enumerate() {
            let own = self.names.get(index).map(|own| (*own).to_owned());
            phdr.extend(name(&own.unwrap_or_else(|| format!("Preset {program}"))));
            phdr.extend([*program, *bank, preset_zones.count()].map(u16::to_le_bytes).concat());
            phdr.extend([0; 12]);
            preset_zones.add(zones);
        }
        phdr.extend(name("EOP"));
        phdr.extend([0, 0, preset_zones.count()].map(u16::to_le_bytes).concat());
        phdr.extend([0; 12]);
        for zones in &self.instruments {
            inst.extend(name("Instrument"));
            inst.extend(instrument_zones.count().to_le_bytes());
            instrument_zones.add(zones);
        }
        inst.extend(name("EOI"));
        inst.extend(instrument_zones.count().to_le_bytes());
        let mut start = 0;
        for sample in &self.samples {
            shdr.extend(name(sample.name));
            let (from, to) = sample.looped;
            let end = start + sample.data.len() as u32;
            let places = [start, end, start + from, start + to, sample.rate_hz];
            shdr.extend(places.map(u32::to_le_bytes).concat());
            shdr.extend([sample.root, sample.correction as u8, 0, 0]);
            shdr.extend(sample.kind.to_le_bytes());
            start = end + 46;
        }
        shdr.extend(name("EOS"));
        shdr.extend([0; 26]);
        let (pbag, pgen) = preset_zones.end();
        let (ibag, igen) = instrument_zones.end();
        let mut pdta = b"pdta".to_vec();
        let none = [0; 10];
        let parts: [(&[u8; 4], &[u8]); 9] = [
            (b"phdr", &phdr),
            (b"pbag", &pbag),
            (b"pmod", &none),
            (b"pgen", &pgen),
            (b"inst", &inst),
            (b"ibag", &ibag),
            (b"imod", &none),
            (b"igen", &igen),
            (b"shdr", &shdr),
        ];
        pdta.extend(parts.map(|(name, bytes)| chunk(name, bytes)).concat());
        pdta
    }

    pub fn read(&self) -> Arc<SoundFont> {
        let font = SoundFont::read(Cursor::new(self.bytes()));
        Arc::new(font.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// The tables of zones and generators.
struct Zones {
    /// The generator that names what a zone plays.
    names: u16,
    zones: Vec<u8>,
    generators: Vec<u8>,
}

impl Zones {
    fn new(names: u16) -> Zones {
        Zones { names, zones: Vec::new(), generators: Vec::new() }
    }

    fn count(&self) -> u16 {
        (self.zones.len() / 4) as u16
    }

    fn begin(&mut self) {
        let first = (self.generators.len() / 4) as u16;
        self.zones.extend(first.to_le_bytes());
        self.zones.extend([0, 0]);
    }

    fn add(&mut self, zones: &[Zone]) {
        for (generators, named) in zones {
            self.begin();
            let named = named.map(|index| (self.names, index as i16));
            for (number, amount) in generators.iter().copied().chain(named) {
                self.generators.extend(number.to_le_bytes());
                self.generators.extend(amount.to_le_bytes());
            }
        }
    }

    fn end(mut self) -> (Vec<u8>, Vec<u8>) {
        self.begin();
        self.generators.extend([0; 4]);
        (self.zones, self.generators)
    }
}

fn name(text: &str) -> [u8; 20] {
    let mut name = [0; 20];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

pub fn chunk(name: &[u8; 4], bytes: &[u8]) -> Vec<u8> {
    let mut chunk = name.to_vec();
    chunk.extend((bytes.len() as u32).to_le_bytes());
    chunk.extend(bytes);
    chunk.resize(chunk.len() + bytes.len() % 2, 0);
    chunk
}

/// The place of the contents of the first chunk of this name.
pub fn place_of(bytes: &[u8], name: &[u8; 4]) -> usize {
    bytes.windows(4).position(|part| part == name).expect("such a chunk") + 8
}

pub fn on(key: i8) -> EventKind {
    EventKind::Note(Note::on(i32::from(key), 0, key, 1.0))
}

pub fn off(key: i8) -> EventKind {
    EventKind::Note(Note::off(i32::from(key), 0, key, 0.0))
}

pub fn midi(bytes: &[u8]) -> EventKind {
    EventKind::Midi(Midi1::new(bytes).unwrap())
}

/// Full volume on channel 1: the level of a sample.
pub fn loud() -> (u32, EventKind) {
    (0, midi(&[0xb0, 7, 127]))
}

/// An instrument with these parameters, the gain at 0 dB unless it is given.
pub fn build(font: &Arc<SoundFont>, settings: &[(&str, f32)]) -> Box<dyn Processor> {
    let value = |name: &str, default: f32| {
        let given = settings.iter().find(|(given, _)| *given == name);
        given.map_or(if name == "gain_db" { 0.0 } else { default }, |(_, value)| *value)
    };
    let values: Vec<f32> = PARAMS.iter().map(|param| value(param.name, param.default)).collect();
    instrument(font, &values, RATE_HZ)
}

/// Runs over blocks of the given lengths, again and again; events at absolute frames.
pub fn run(
    processor: &mut dyn Processor,
    frames: usize,
    lengths: &[usize],
    heard: &[(u32, EventKind)],
) -> [Vec<f32>; 2] {
    let [mut left, mut right] = [vec![0.0; frames], vec![0.0; frames]];
    let mut received = EventBuffer::new(1000, 0);
    let mut start = 0;
    for length in lengths.iter().cycle() {
        let end = (start + length).min(frames);
        received.clear();
        let inside = |frame: u32| (start..end).contains(&(frame as usize));
        let mut changes = Vec::new();
        for (frame, kind) in heard.iter().filter(|(frame, _)| inside(*frame)) {
            let frame = frame - start as u32;
            if let EventKind::Param(ParamChange { param, value, .. }) = kind {
                let change = Change::Param { index: *param as u16, value: *value as f32 };
                changes.push(TimedChange { frame, change });
                continue;
            }
            let event = Event::new(frame, Source::edge(0), *kind);
            assert_eq!(received.push(event), Pushed::Stored);
        }
        let main = StereoMut { left: &mut left[start..end], right: &mut right[start..end] };
        processor.process(&mut Block {
            events: &changes,
            events_in: Some(&received),
            ..Block::new(main)
        });
        start = end;
        if start == frames {
            break;
        }
    }
    [left, right]
}

/// A change of a parameter, where [`run`] is given it among what is heard.
pub fn change(name: &str, value: f64) -> EventKind {
    let index = PARAMS.iter().position(|param| param.name == name).unwrap();
    EventKind::param(index as u32, value)
}

/// What a font plays of these events in one block.
pub fn play(font: &Font, frames: usize, heard: &[(u32, EventKind)]) -> [Vec<f32>; 2] {
    run(&mut *build(&font.read(), &[]), frames, &[frames], heard)
}

pub fn peak(row: &[f32]) -> f32 {
    row.iter().fold(0.0, |peak, sample| peak.max(sample.abs()))
}
