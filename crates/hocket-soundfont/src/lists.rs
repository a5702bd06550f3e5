//! The tables of a file: records of a fixed length.

use std::io::{Read, Seek};

use crate::chunks::{Chunk, Source, find};
use crate::error::{COPY_AGAIN, EXPORT_AGAIN, FontError};

/// Indices between tables have 16 bits, and the last record of a table only ends it.
const MOST_RECORDS: u64 = (1 << 16) + 1;

/// A table whose records have `N` bytes.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    bytes: Vec<u8>,
    /// The byte of the file at which it begins.
    start: u64,
}

impl<const N: usize> Table<N> {
    fn read<R: Read + Seek>(
        source: &mut Source<R>,
        chunks: &[Chunk],
        name: &[u8; 4],
    ) -> Result<Table<N>, FontError> {
        let shown = crate::chunks::shown(*name);
        let chunk = find(chunks, name)
            .ok_or_else(|| FontError::whole(format!("it has no table '{shown}'"), COPY_AGAIN))?;
        let (length, size) = (chunk.length, N as u64);
        if length % size != 0 || length == 0 || length / size > MOST_RECORDS {
            let cause = format!(
                "the table '{shown}' has {length} bytes, and needs {size} for each of 1 to {MOST_RECORDS} records"
            );
            return Err(FontError::at(chunk.at, cause, EXPORT_AGAIN));
        }
        Ok(Table { bytes: source.contents(&chunk, length)?, start: chunk.start() })
    }

    /// How many records, with the one that ends the table.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / N
    }

    /// A record; `None` behind the last one.
    pub(crate) fn get(&self, index: usize) -> Option<Record<N>> {
        let bytes = self.bytes.get(index * N..(index + 1) * N)?;
        let at = self.start + (index * N) as u64;
        Some(Record { bytes: bytes.try_into().ok()?, at })
    }
}

/// One record, and the byte of the file at which it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<const N: usize> {
    bytes: [u8; N],
    pub(crate) at: u64,
}

impl<const N: usize> Record<N> {
    pub(crate) fn u8(&self, at: usize) -> u8 {
        self.bytes[at]
    }

    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes([0, 1, 2, 3].map(|byte| self.bytes[at + byte]))
    }

    /// The text in its first 20 bytes.
    pub(crate) fn name(&self) -> String {
        text(&self.bytes[..20])
    }
}

/// Up to the first zero byte; what no terminal should get becomes a question mark.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.trim().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// All tables of a file that say how samples sound.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Name, program, bank, first zone.
    pub(crate) presets: Table<38>,
    /// First generator, first modulator.
    pub(crate) preset_zones: Table<4>,
    /// Which generator, and its amount.
    pub(crate) preset_generators: Table<4>,
    /// Name, first zone.
    pub(crate) instruments: Table<22>,
    pub(crate) instrument_zones: Table<4>,
    pub(crate) instrument_generators: Table<4>,
    /// Name, start, end, loop, rate, pitch.
    pub(crate) samples: Table<46>,
}

impl Tables {
    pub(crate) fn read<R: Read + Seek>(
        source: &mut Source<R>,
        chunks: &[Chunk],
    ) -> Result<Tables, FontError> {
        Ok(Tables {
            presets: Table::read(source, chunks, b"phdr")?,
            preset_zones: Table::read(source, chunks, b"pbag")?,
            preset_generators: Table::read(source, chunks, b"pgen")?,
            instruments: Table::read(source, chunks, b"inst")?,
            instrument_zones: Table::read(source, chunks, b"ibag")?,
            instrument_generators: Table::read(source, chunks, b"igen")?,
            samples: Table::read(source, chunks, b"shdr")?,
        })
    }
}
