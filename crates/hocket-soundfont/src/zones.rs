//! Tables to presets, each a list of regions.

use crate::error::{EXPORT_AGAIN, FontError};
use crate::font::{MAX_REGIONS, MAX_REGIONS_OF_NOTE, MAX_REGIONS_OF_PRESET, Preset};
use crate::generators::{Generators, number};
use crate::lists::{Record, Table, Tables};

/// A piece of a sample, for which notes it sounds, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Region {
    pub(crate) generators: Generators,
    pub(crate) sample: Piece,
}

/// Which samples of the file a region plays. All places lie inside of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Piece {
    pub(crate) start: u32,
    /// Behind the last one.
    pub(crate) end: u32,
    /// At least one sample long, where it loops.
    pub(crate) looped: Span,
    pub(crate) mode: LoopMode,
    /// At least 1.
    pub(crate) rate_hz: u32,
    /// The key at which it sounds as it was recorded.
    pub(crate) root: u8,
    pub(crate) correction_cents: i8,
}

/// From one sample up to but not including another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) from: u32,
    /// Behind its last sample.
    pub(crate) to: u32,
}

/// How a region repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopMode {
    Once,
    Always,
    /// Then it goes on to its end.
    UntilRelease,
}

impl LoopMode {
    fn of(value: i16) -> LoopMode {
        match value & 3 {
            1 => LoopMode::Always,
            3 => LoopMode::UntilRelease,
            _ => LoopMode::Once,
        }
    }
}

/// What the tables say: presets in the order of banks and programs, and the regions of all.
pub(crate) fn presets(
    tables: &Tables,
    samples: u64,
) -> Result<(Vec<Preset>, Vec<Region>), FontError> {
    let count = tables.instruments.len() - 1;
    let mut reader = Reader {
        tables,
        samples,
        instruments: vec![None; count],
        regions: Vec::new(),
        looked_at: 0,
        gone_through: 0,
    };
    let mut presets = Vec::new();
    for index in 0..tables.presets.len() - 1 {
        presets.extend(reader.preset(index)?);
    }
    if presets.is_empty() {
        return Err(FontError::whole("it has no presets", EXPORT_AGAIN));
    }
    // Stable: of two presets with one number, the first one is found.
    presets.sort_by_key(|preset| (preset.bank, preset.program));
    Ok((presets, reader.regions))
}

struct Reader<'t> {
    tables: &'t Tables,
    /// How many samples the file has.
    samples: u64,
    /// The regions of instruments that a preset has named already.
    instruments: Vec<Option<Vec<Region>>>,
    regions: Vec<Region>,
    /// Regions of instruments that presets have gone through.
    looked_at: usize,
    /// Zones and generators that were gone through: records of two presets or instruments may name the same ones.
    gone_through: usize,
}

/// A zone: its generators, and what it names: an instrument or a sample.
struct Zone {
    generators: Generators,
    named: Option<usize>,
    at: u64,
}

impl Reader<'_> {
    fn preset(&mut self, index: usize) -> Result<Option<Preset>, FontError> {
        let Some(record) = self.tables.presets.get(index) else { return Ok(None) };
        let next = self.tables.presets.get(index + 1).map_or(0, |next| next.u16(24));
        let tables = self.tables;
        let zones = self.zones(
            (record.u16(24), next, record.at),
            (&tables.preset_zones, &tables.preset_generators),
            (number::INSTRUMENT, Generators::NOTHING),
        )?;
        let first = self.regions.len();
        for zone in zones {
            self.preset_zone(&zone)?;
        }
        if self.regions.len() - first > MAX_REGIONS_OF_PRESET {
            let cause = format!(
                "the preset '{}' has more than {MAX_REGIONS_OF_PRESET} regions",
                record.name()
            );
            return Err(FontError::at(record.at, cause, EXPORT_AGAIN));
        }
        if most_of_one_note(&self.regions[first..]) > MAX_REGIONS_OF_NOTE {
            let cause = format!(
                "more than {MAX_REGIONS_OF_NOTE} regions of the preset '{}' sound for one note",
                record.name()
            );
            return Err(FontError::at(record.at, cause, EXPORT_AGAIN));
        }
        let regions = first..self.regions.len();
        let (name, program, bank) = (record.name(), record.u16(20), record.u16(22));
        Ok(Some(Preset { bank, program, name, regions }))
    }

    /// The regions of a preset's zone: those of its instrument that have a key and a velocity in common with it.
    fn preset_zone(&mut self, zone: &Zone) -> Result<(), FontError> {
        let Some(index) = zone.named else { return Ok(()) };
        let Some(known) = self.instruments.get(index) else {
            let cause = format!(
                "a preset names instrument {index}, and the file has {}",
                self.instruments.len()
            );
            return Err(FontError::at(zone.at, cause, EXPORT_AGAIN));
        };
        if known.is_none() {
            self.instruments[index] = Some(self.instrument(index)?);
        }
        let regions = self.instruments[index].as_deref().unwrap_or_default();
        self.looked_at += regions.len();
        if self.looked_at > MAX_REGIONS {
            let cause = format!("its presets have more than {MAX_REGIONS} regions");
            return Err(FontError::at(zone.at, cause, EXPORT_AGAIN));
        }
        let is_empty = |(low, high): (u8, u8)| low > high;
        for region in regions {
            let generators = region.generators.with(&zone.generators);
            let ranges = [number::KEYS, number::VELOCITIES].map(|range| generators.range(range));
            if !ranges.into_iter().any(is_empty) {
                self.regions.push(Region { generators, ..*region });
            }
        }
        Ok(())
    }

    fn instrument(&mut self, index: usize) -> Result<Vec<Region>, FontError> {
        let tables = self.tables;
        let table = &tables.instruments;
        let Some((record, next)) = table.get(index).zip(table.get(index + 1)) else {
            return Ok(Vec::new());
        };
        let zones = self.zones(
            (record.u16(20), next.u16(20), record.at),
            (&tables.instrument_zones, &tables.instrument_generators),
            (number::SAMPLE, Generators::DEFAULTS),
        )?;
        let regions = zones.into_iter().filter_map(|zone| {
            let sample = self.piece(zone.named?, &zone);
            Some(sample.map(|sample| Region { generators: zone.generators, sample }))
        });
        regions.collect()
    }

    /// The zones of a preset or an instrument. A first zone that names nothing holds for all others, and other such zones are
    /// left out.
    fn zones(
        &mut self,
        (first, end, at): (u16, u16, u64),
        (zones, generators): (&Table<4>, &Table<4>),
        (names, defaults): (usize, Generators),
    ) -> Result<Vec<Zone>, FontError> {
        let (first, end) = (usize::from(first), usize::from(end));
        if first > end || end >= zones.len() {
            let last = zones.len() - 1;
            let cause = format!("its zones are {first} to {end}, and the file has {last}");
            return Err(FontError::at(at, cause, EXPORT_AGAIN));
        }
        let mut all = defaults;
        let mut found = Vec::new();
        for index in first..end {
            let Some((record, next)) = zones.get(index).zip(zones.get(index + 1)) else { break };
            self.gone_through += 1 + usize::from(next.u16(0).saturating_sub(record.u16(0)));
            if self.gone_through > MAX_REGIONS {
                let cause = "its presets and instruments name the same zones again and again";
                return Err(FontError::at(at, cause, EXPORT_AGAIN));
            }
            let zone = zone((record, next), generators, (names, all))?;
            match zone.named {
                Some(_) => found.push(zone),
                None if index == first => all = zone.generators,
                None => {}
            }
        }
        Ok(found)
    }

    /// What a zone plays of a sample.
    fn piece(&self, index: usize, zone: &Zone) -> Result<Piece, FontError> {
        let count = self.tables.samples.len() - 1;
        let Some(record) = self.tables.samples.get(index).filter(|_| index < count) else {
            let cause = format!("an instrument names sample {index}, and the file has {count}");
            return Err(FontError::at(zone.at, cause, EXPORT_AGAIN));
        };
        let wrong = |cause: String| {
            let cause = format!("sample {index} '{}': {cause}", record.name());
            Err(FontError::at(record.at, cause, EXPORT_AGAIN))
        };
        if record.u16(44) & IN_ROM != 0 {
            return wrong("it is in the memory of a sound card and not in the file".into());
        }
        if record.u16(44) & COMPRESSED != 0 {
            return wrong("it is compressed (SF3), which Hocket does not read".into());
        }
        let rate_hz = record.u32(36);
        if !(1..=MAX_RATE_HZ).contains(&rate_hz) {
            return wrong(format!(
                "its rate is {rate_hz} Hz; at least 1 and at most {MAX_RATE_HZ} make sense"
            ));
        }
        let [start, end, from, to] = PLACES.map(|(at, fine, coarse)| {
            let moved = |number| i64::from(zone.generators.get(number));
            i64::from(record.u32(at)) + moved(fine) + COARSE * moved(coarse)
        });
        let inside = 0..=self.samples as i64;
        if start >= end || !inside.contains(&start) || !inside.contains(&end) {
            let there = self.samples;
            return wrong(format!(
                "it goes from {start} to {end}, and the file has the samples 0 to {there}"
            ));
        }
        let mode = LoopMode::of(zone.generators.get(number::LOOP_MODE));
        if mode != LoopMode::Once && (from >= to || from < 0 || !inside.contains(&to)) {
            let there = self.samples;
            return wrong(format!(
                "its loop goes from {from} to {to}; it needs at least one of the samples 0 to {there}"
            ));
        }
        let looped = match mode {
            LoopMode::Once => Span { from: start as u32, to: end as u32 },
            _ => Span { from: from as u32, to: to as u32 },
        };
        Ok(Piece {
            start: start as u32,
            end: end as u32,
            looped,
            mode,
            rate_hz,
            root: root(zone.generators.get(number::ROOT_KEY), record.u8(40)),
            correction_cents: record.u8(41) as i8,
        })
    }
}

/// How many of these regions sound at most for one key and velocity.
fn most_of_one_note(regions: &[Region]) -> usize {
    if regions.len() <= MAX_REGIONS_OF_NOTE {
        return regions.len();
    }
    let of_key = |key: u8| {
        // How many begin at a velocity, less those that ended before it.
        let mut begin = [0i32; 129];
        for region in regions {
            let (low, high) = region.generators.range(number::KEYS);
            if (low..=high).contains(&key) {
                let (soft, loud) = region.generators.range(number::VELOCITIES);
                begin[usize::from(soft.min(127))] += 1;
                begin[usize::from(loud.min(127)) + 1] -= 1;
            }
        }
        let sum = |all: &mut i32, one: &i32| {
            *all += one;
            Some(*all)
        };
        begin.iter().scan(0, sum).max().unwrap_or(0)
    };
    (0..128).map(of_key).max().unwrap_or(0) as usize
}

/// Marks of a sample's type.
const IN_ROM: u16 = 0x8000;
const COMPRESSED: u16 = 0x10;
/// More than any recording has.
const MAX_RATE_HZ: u32 = 1_000_000;
/// What the coarse offsets count in.
const COARSE: i64 = 32_768;
/// Start, end, start and end of the loop: the place in the record, and the generators that move it.
const PLACES: [(usize, usize, usize); 4] = [
    (20, number::START, number::START_COARSE),
    (24, number::END, number::END_COARSE),
    (28, number::LOOP_START, number::LOOP_START_COARSE),
    (32, number::LOOP_END, number::LOOP_END_COARSE),
];

/// The zone's own root key, else that of the sample, else middle C: 255 stands for a sound without pitch.
fn root(own: i16, sample: u8) -> u8 {
    match u8::try_from(own) {
        Ok(own) if own < 128 => own,
        _ if sample < 128 => sample,
        _ => 60,
    }
}

fn zone(
    (record, next): (Record<4>, Record<4>),
    generators: &Table<4>,
    (names, defaults): (usize, Generators),
) -> Result<Zone, FontError> {
    let (first, end) = (usize::from(record.u16(0)), usize::from(next.u16(0)));
    if first > end || end > generators.len() {
        let count = generators.len();
        let cause =
            format!("the generators of a zone are {first} to {end}, and the file has {count}");
        return Err(FontError::at(record.at, cause, EXPORT_AGAIN));
    }
    let mut zone = Zone { generators: defaults, named: None, at: record.at };
    for generator in (first..end).filter_map(|index| generators.get(index)) {
        let (number, amount) = (generator.u16(0), generator.u16(2));
        zone.generators.set(number, amount);
        if usize::from(number) == names {
            // What comes behind has no meaning.
            zone.named = Some(usize::from(amount));
            zone.at = generator.at;
            break;
        }
    }
    Ok(zone)
}
