//! A SoundFont in memory.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::ops::Range;
use std::path::Path;

use crate::chunks::{Chunk, Source, find};
use crate::error::{COPY_AGAIN, EXPORT_AGAIN, FontError, NAME_ANOTHER};
use crate::lists::{Tables, text};
use crate::zones::{self, Region};

/// The most bytes that the samples of a file may have. The largest General MIDI sets that are common have half of it.
pub const MAX_SAMPLE_BYTES: u64 = 1 << 30;
/// The most regions of a file: a large General MIDI set has some ten thousand.
pub const MAX_REGIONS: usize = 1 << 19;
/// The most regions of a preset, all of which a note looks at.
pub const MAX_REGIONS_OF_PRESET: usize = 1 << 13;
/// The most regions of a preset that sound for one note: each is a voice, which begins in the block.
pub const MAX_REGIONS_OF_NOTE: usize = 64;
/// The bank of drums.
pub const DRUMS: u16 = 128;

/// Samples, and the presets that play them. Instruments share it.
#[derive(Debug, Default)]
pub struct SoundFont {
    name: String,
    samples: Vec<i16>,
    /// Sorted by bank and program.
    presets: Vec<Preset>,
    /// The place of the first preset that is no drums.
    first: Option<usize>,
    regions: Vec<Region>,
}

/// A sound that notes can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Its bank: 0 to 127, or [`DRUMS`].
    pub bank: u16,
    /// Its number in the bank, from 0.
    pub program: u16,
    /// For people.
    pub name: String,
    /// Its place in the list of regions.
    pub(crate) regions: Range<usize>,
}

impl SoundFont {
    /// Reads a file.
    ///
    /// Thread: control; does file I/O. Memory: as many bytes as its samples have, and its tables.
    ///
    /// # Errors
    /// [`FontError`]: the file is no SoundFont 2 file, cut short, or says what makes no sense.
    pub fn open(path: &Path) -> Result<SoundFont, FontError> {
        SoundFont::open_within(path, MAX_SAMPLE_BYTES)
    }

    /// The same, where its samples may have so many bytes, at most [`MAX_SAMPLE_BYTES`].
    ///
    /// # Errors
    /// As [`SoundFont::open`], and its samples have more: then they are not read.
    pub fn open_within(path: &Path, room_bytes: u64) -> Result<SoundFont, FontError> {
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => FontError::whole("this file does not exist", NAME_ANOTHER),
            _ => FontError::whole(
                format!("this file cannot be read: {error}"),
                "make sure that you may read it",
            ),
        };
        // Looked at first, because opening a pipe waits until somebody writes into it.
        let is_file = std::fs::metadata(path).map_err(unreadable)?.is_file();
        if !is_file {
            return Err(FontError::whole("this is not a regular file", NAME_ANOTHER));
        }
        SoundFont::read_within(File::open(path).map_err(unreadable)?, room_bytes)
    }

    /// The same of any bytes.
    ///
    /// # Errors
    /// As [`SoundFont::open`].
    pub fn read(file: impl Read + Seek) -> Result<SoundFont, FontError> {
        SoundFont::read_within(file, MAX_SAMPLE_BYTES)
    }

    fn read_within(file: impl Read + Seek, room_bytes: u64) -> Result<SoundFont, FontError> {
        let mut source = Source::new(file)?;
        let lists = source.lists()?;
        let info = lists.info.unwrap_or_default();
        if let Some(version) = find(&info, b"ifil") {
            let version_bytes = source.contents(&version, 2)?;
            if version_bytes.first().is_some_and(|major| *major > 2) {
                let cause = "this is a compressed SoundFont (SF3), which Hocket does not read";
                return Err(FontError::at(version.at, cause, NAME_ANOTHER));
            }
        }
        let name = match find(&info, b"INAM") {
            Some(name) => text(&source.contents(&name, 256)?),
            None => String::new(),
        };
        let missing = |what: &str| FontError::whole(format!("it has no {what}"), COPY_AGAIN);
        let tables = lists.tables.ok_or_else(|| missing("tables (the list 'pdta')"))?;
        let tables = Tables::read(&mut source, &tables)?;
        let samples = lists.samples.unwrap_or_default();
        let samples =
            find(&samples, b"smpl").ok_or_else(|| missing("samples (the part 'smpl')"))?;
        if samples.length > room_bytes.min(MAX_SAMPLE_BYTES) {
            return Err(too_large(&samples, room_bytes));
        }
        // Before the samples, which take long.
        let (presets, regions) = zones::presets(&tables, samples.length / 2)?;
        let samples = read_samples(&mut source, &samples)?;
        let first = presets.iter().position(|preset| preset.bank != DRUMS);
        Ok(SoundFont { name, samples, presets, first, regions })
    }

    /// What the file calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All presets, by bank and program.
    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    /// The preset of this bank and program.
    ///
    /// Thread: any, also inside a block. Cost: a binary search.
    pub fn preset(&self, bank: u16, program: u16) -> Option<&Preset> {
        let wanted = (bank, program);
        let place = |preset: &Preset| (preset.bank, preset.program);
        let first = self.presets.partition_point(|preset| place(preset) < wanted);
        self.presets.get(first).filter(|preset| place(preset) == wanted)
    }

    /// What plays where the file lacks a preset: the same program of bank 0, else that bank's first program, else the first
    /// preset that is no drums. Of drums: the usual drums, else nothing.
    ///
    /// Thread: any, also inside a block. Cost: a few binary searches.
    pub fn nearest(&self, bank: u16, program: u16) -> Option<&Preset> {
        let own = self.preset(bank, program);
        if bank == DRUMS {
            return own.or_else(|| self.preset(DRUMS, 0));
        }
        let usual = || self.preset(0, program).or_else(|| self.preset(0, 0));
        let first = || self.presets.get(self.first?);
        own.or_else(usual).or_else(first)
    }

    /// The memory of its samples, in bytes.
    pub fn sample_bytes(&self) -> u64 {
        size_of_val(self.samples.as_slice()) as u64
    }

    /// The memory of its samples, presets and regions, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let presets: usize = self.presets.iter().map(|preset| preset.name.len()).sum();
        let tables = size_of_val(self.presets.as_slice()) + size_of_val(self.regions.as_slice());
        self.sample_bytes() + (presets + tables) as u64
    }

    pub(crate) fn samples(&self) -> &[i16] {
        &self.samples
    }

    pub(crate) fn region(&self, index: usize) -> &Region {
        &self.regions[index]
    }
}

fn too_large(samples: &Chunk, room_bytes: u64) -> FontError {
    let (has, most) = (samples.length >> 20, MAX_SAMPLE_BYTES >> 20);
    let cause = match room_bytes < MAX_SAMPLE_BYTES {
        true => {
            format!("its samples have {has} MiB, and there is room for {} MiB", room_bytes >> 20)
        }
        false => format!("its samples have {has} MiB; Hocket reads up to {most} MiB"),
    };
    FontError::at(samples.at, cause, "use a smaller SoundFont")
}

fn read_samples(
    source: &mut Source<impl Read + Seek>,
    chunk: &Chunk,
) -> Result<Vec<i16>, FontError> {
    let mut samples = Vec::new();
    let count = (chunk.length / 2) as usize;
    if samples.try_reserve_exact(count).is_err() {
        let cause = format!("there is no memory for its samples, {} MiB", chunk.length >> 20);
        return Err(FontError::at(
            chunk.at,
            cause,
            "use a smaller SoundFont, or end other programs",
        ));
    }
    source.pieces(chunk, |piece| {
        let pairs = piece.chunks_exact(2);
        samples.extend(pairs.map(|pair| i16::from_le_bytes([pair[0], pair[1]])));
    })?;
    match samples.is_empty() {
        false => Ok(samples),
        true => Err(FontError::at(chunk.at, "it has no samples", EXPORT_AGAIN)),
    }
}
