//! Lengths of real MIDI files, by their tempo events, against those that another program computed.

use std::path::PathBuf;

use hocket_time::{BarPosition, MeterPoint, TempoMap, TempoPoint, TimeSignature};
use serde_json::Value;

/// The folder of MIDI files beside the repository, if it is there.
fn midi_files(test: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HOCKET_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = root.join("data/midi");
    if folder.join("ground-truth.json").is_file() {
        return Some(folder);
    }
    println!("SKIPPED {test}: no ground-truth.json in {}; set HOCKET_SHARED", folder.display());
    None
}

/// Tempo events (tick, microseconds per quarter note), time signatures (tick, numerator, denominator), and the last
/// tick.
#[derive(Default)]
struct Conductor {
    tempos: Vec<(u64, u32)>,
    signatures: Vec<(u64, u16, u16)>,
    end: u64,
    division: u16,
}

/// A number of variable length.
fn number(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return value;
        }
    }
}

/// Reads what steers time in a MIDI file that is whole.
fn conductor(file: &[u8]) -> Conductor {
    let mut result =
        Conductor { division: u16::from_be_bytes([file[12], file[13]]), ..Conductor::default() };
    let mut chunks = &file[14..];
    while chunks.len() >= 8 {
        let length = u32::from_be_bytes(chunks[4..8].try_into().unwrap()) as usize;
        read_track(&chunks[8..8 + length], &mut result);
        chunks = &chunks[8 + length..];
    }
    result.tempos.sort_by_key(|tempo| tempo.0);
    result.signatures.sort_by_key(|signature| signature.0);
    result
}

fn read_track(mut bytes: &[u8], result: &mut Conductor) {
    let (mut tick, mut running) = (0, 0);
    while !bytes.is_empty() {
        tick += number(&mut bytes);
        if bytes[0] >= 0x80 {
            running = bytes[0];
            bytes = &bytes[1..];
        }
        let mut length = match running {
            0xc0..=0xdf => 1,
            0x80..=0xef => 2,
            _ => 0,
        };
        let mut kind = 0;
        if running >= 0xf0 {
            if running == 0xff {
                kind = bytes[0];
                bytes = &bytes[1..];
            }
            length = number(&mut bytes) as usize;
        }
        let data = &bytes[..length];
        bytes = &bytes[length..];
        match kind {
            0x51 => result.tempos.push((tick, u32::from_be_bytes([0, data[0], data[1], data[2]]))),
            0x58 => result.signatures.push((tick, data[0].into(), 1 << data[1])),
            _ => {}
        }
    }
    result.end = result.end.max(tick);
}

impl Conductor {
    fn map(&self) -> TempoMap {
        let beats = |tick: u64| tick as f64 / f64::from(self.division);
        let tempos = self.tempos.iter();
        let mut tempos: Vec<_> =
            tempos.map(|(tick, us)| TempoPoint::from_midi(*tick, self.division, *us)).collect();
        // Files without a tempo at their start begin at 120.
        if tempos.first().is_none_or(|first| first.beats > 0.0) {
            tempos.insert(0, TempoPoint::step(0.0, 120.0));
        }
        let mut meters: Vec<MeterPoint> = Vec::new();
        for (tick, numerator, denominator) in &self.signatures {
            let signature = TimeSignature { numerator: *numerator, denominator: *denominator };
            meters.retain(|meter| meter.beats < beats(*tick));
            meters.push(MeterPoint { beats: beats(*tick), signature });
        }
        TempoMap::new(48_000, &tempos, &meters).expect("a map")
    }
}

#[test]
fn lengths_of_real_midi_files_agree_with_another_program() {
    let test = "lengths_of_real_midi_files_agree_with_another_program";
    let Some(folder) = midi_files(test) else { return };
    let truth = std::fs::read_to_string(folder.join("ground-truth.json")).expect("the truth");
    let truth: Value = serde_json::from_str(&truth).expect("JSON");
    let mut checked = 0;
    for file in truth["files"].as_array().expect("files") {
        let name = file["file"].as_str().expect("a name");
        let bytes = std::fs::read(folder.join(name)).expect(name);
        let conductor = conductor(&bytes);
        assert_eq!(Some(conductor.end), file["end_tick"].as_u64(), "{name}");
        assert_eq!(Some(conductor.tempos.len() as u64), file["tempo_events"].as_u64(), "{name}");
        let map = conductor.map();
        let end = conductor.end as f64 / f64::from(conductor.division);
        let length_s = file["length_s"].as_f64().expect("a length");
        // The truth has three decimals.
        assert!((map.seconds_at_beats(end) - length_s).abs() < 0.000_6, "{name}");
        for frame in (0..map.frame_at_beats(end)).step_by(9_973) {
            assert_eq!(map.frame_at_beats(map.beats_at_frame(frame)), frame, "{name}");
        }
        checked += 1;
    }
    assert!(checked > 10, "{checked} files");
}

#[test]
fn an_upbeat_is_a_bar_of_its_own() {
    let Some(folder) = midi_files("an_upbeat_is_a_bar_of_its_own") else { return };
    // 1/4 at the start, 4/4 one quarter note later.
    let bytes = std::fs::read(folder.join("music21-test02.mid")).expect("the file");
    let map = conductor(&bytes).map();
    assert_eq!(map.bar_at_beats(1.0), BarPosition { bar: 1, beat: 0, tick: 0 });
    assert_eq!(map.bar_at_beats(6.5).to_string(), "3.2.480");
}
