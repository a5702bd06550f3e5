//! The parts of a file: chunks, and lists of chunks.

use std::io::{self, Read, Seek, SeekFrom};

use crate::error::{COPY_AGAIN, EXPORT_AGAIN, FontError, NAME_ANOTHER};

/// The bytes of a chunk's header: its name and its length.
const HEADER: u64 = 8;
/// More chunks than this no list has. Without a bound, empty chunks could fill the memory.
const MOST_CHUNKS: usize = 256;

/// A part of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) name: [u8; 4],
    /// The byte of the file at which its header begins.
    pub(crate) at: u64,
    /// The bytes behind the header.
    pub(crate) length: u64,
}

impl Chunk {
    /// The byte of the file at which its contents begin.
    pub(crate) fn start(&self) -> u64 {
        self.at + HEADER
    }

    fn end(&self) -> u64 {
        self.start() + self.length
    }
}

/// A name as people read it.
pub(crate) fn shown(name: [u8; 4]) -> String {
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// A file whose length is known, so that no length in it is believed.
pub(crate) struct Source<R> {
    file: R,
    length: u64,
}

impl<R: Read + Seek> Source<R> {
    pub(crate) fn new(mut file: R) -> Result<Source<R>, FontError> {
        let length = file.seek(SeekFrom::End(0)).map_err(|error| unreadable(0, &error))?;
        Ok(Source { file, length })
    }

    /// The lists of the file, by their kind: `INFO`, `sdta` and `pdta`.
    pub(crate) fn lists(&mut self) -> Result<Lists, FontError> {
        if self.length < HEADER + 4 {
            let cause = format!("the file has {} bytes, less than the header of one", self.length);
            return Err(FontError::whole(cause, NAME_ANOTHER));
        }
        let head: [u8; 12] = self.array(0)?;
        if &head[..4] != b"RIFF" || &head[8..] != b"sfbk" {
            return Err(FontError::at(0, "this is no SoundFont 2 file", NAME_ANOTHER));
        }
        let stated = HEADER + u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        let mut lists = Lists::default();
        for chunk in self.chunks(HEADER + 4, stated.min(self.length))? {
            if &chunk.name == b"LIST" && chunk.length >= 4 {
                let kind: [u8; 4] = self.array(chunk.start())?;
                let place = match &kind {
                    b"INFO" => &mut lists.info,
                    b"sdta" => &mut lists.samples,
                    b"pdta" => &mut lists.tables,
                    _ => continue,
                };
                place.get_or_insert(self.chunks(chunk.start() + 4, chunk.end())?);
            }
        }
        Ok(lists)
    }

    /// The chunks between two bytes of the file.
    fn chunks(&mut self, from: u64, to: u64) -> Result<Vec<Chunk>, FontError> {
        let (mut at, mut chunks) = (from, Vec::new());
        while at + HEADER <= to {
            let head: [u8; 8] = self.array(at)?;
            let name = [head[0], head[1], head[2], head[3]];
            let length = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
            let chunk = Chunk { name, at, length };
            if chunk.end() > to {
                let there = to - chunk.start();
                let name = shown(name);
                let what = if to == self.length { "the file" } else { "its list" };
                let cause = format!(
                    "the part '{name}' says that it has {length} bytes, and {what} has only {there} more"
                );
                return Err(FontError::at(at, cause, COPY_AGAIN));
            }
            if chunks.len() == MOST_CHUNKS {
                let cause = format!("a list has more than {MOST_CHUNKS} parts");
                return Err(FontError::at(at, cause, EXPORT_AGAIN));
            }
            chunks.push(chunk);
            // One of odd length has a byte behind it.
            at = chunk.end() + length % 2;
        }
        Ok(chunks)
    }

    /// So many bytes of the file, from a place on.
    fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], FontError> {
        let mut bytes = [0; N];
        self.fill(at, &mut bytes)?;
        Ok(bytes)
    }

    /// What is in a chunk, up to `most` bytes.
    pub(crate) fn contents(&mut self, chunk: &Chunk, most: u64) -> Result<Vec<u8>, FontError> {
        let mut bytes = vec![0; chunk.length.min(most) as usize];
        self.fill(chunk.start(), &mut bytes)?;
        Ok(bytes)
    }

    /// Reads what is in a chunk piece by piece.
    pub(crate) fn pieces(
        &mut self,
        chunk: &Chunk,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), FontError> {
        let mut piece = vec![0; PIECE.min(chunk.length) as usize];
        let mut at = chunk.start();
        while at < chunk.end() {
            let length = PIECE.min(chunk.end() - at) as usize;
            self.fill(at, &mut piece[..length])?;
            take(&piece[..length]);
            at += length as u64;
        }
        Ok(())
    }

    fn fill(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), FontError> {
        let moved = self.file.seek(SeekFrom::Start(at));
        moved.and_then(|_| self.file.read_exact(bytes)).map_err(|error| unreadable(at, &error))
    }
}

/// An even number, so that no sample is cut.
const PIECE: u64 = 1 << 16;

fn unreadable(at: u64, error: &io::Error) -> FontError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => FontError::at(at, "the file ends here", COPY_AGAIN),
        _ => FontError::at(
            at,
            format!("the file cannot be read: {error}"),
            "make sure that you may read it",
        ),
    }
}

/// The chunks of the three lists; `None` where there is no such list.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) info: Option<Vec<Chunk>>,
    pub(crate) samples: Option<Vec<Chunk>>,
    pub(crate) tables: Option<Vec<Chunk>>,
}

/// The first chunk of a name.
pub(crate) fn find(chunks: &[Chunk], name: &[u8; 4]) -> Option<Chunk> {
    chunks.iter().find(|chunk| chunk.name == *name).copied()
}
