//! WAV and RF64.

use std::fs::File;
use std::path::Path;

use super::{Recovery, Repair, read_at};
use crate::error::RecoverError;

/// A file of more chunks than this is a trap for readers.
const MAX_CHUNKS: usize = 100_000;
/// A size that means "unknown", or "see ds64".
const UNKNOWN: u32 = u32::MAX;
/// The body of a `ds64` chunk without a table: three sizes and the length of the table.
const DS64_BYTES: u32 = 28;

/// Where everything is that states a length.
#[derive(Default)]
struct Chunks {
    is_rf64: bool,
    riff_size: u32,
    /// The place of a `ds64` chunk, and of a `JUNK` chunk that can become one.
    ds64: Option<u64>,
    junk: Option<u64>,
    ds64_data_size: Option<u64>,
    frame_bytes: u64,
    fact: Option<u64>,
    /// Where the samples begin.
    data: Option<(u64, u32)>,
}

pub(super) fn repair(
    path: &Path,
    file: &File,
    len: u64,
    interrupted: bool,
) -> Result<Repair, RecoverError> {
    let io = |source| RecoverError::Io { path: path.into(), source };
    let none = |cause: &str| RecoverError::NotARecording { path: path.into(), cause: cause.into() };
    let chunks = scan(file).map_err(io)?;
    let Some((data_at, data_size)) = chunks.data else { return Err(none("it has no data chunk")) };
    if chunks.frame_bytes == 0 {
        return Err(none("its format is not stated before its samples"));
    }
    let present = len.saturating_sub(data_at) / chunks.frame_bytes;
    let stated = chunks.stated(data_size);
    if chunks.are_whole(file, (data_at, data_size), len).map_err(io)? {
        let frames = u64::from(data_size) / chunks.frame_bytes;
        return Ok(Repair::nothing(Recovery::Intact { frames }));
    }
    if let Some(bytes) = stated {
        let frames = bytes / chunks.frame_bytes;
        if frames > present {
            let why = format!(
                "the header states {frames} frames, the file holds {present}: it was cut short"
            );
            return Ok(Repair::nothing(Recovery::LeftAlone { why }));
        }
        let end = data_at + bytes + bytes % 2;
        let room = len.saturating_sub(end) / chunks.frame_bytes;
        if frames == present || room == 0 {
            return Ok(Repair::nothing(Recovery::Intact { frames }));
        }
        let other = other_content(file, &chunks, end, interrupted).map_err(io)?;
        if let Some(why) = other {
            return Ok(Repair::nothing(Recovery::LeftAlone { why }));
        }
    }
    if present == 0 && stated.is_none() && data_size == 0 {
        return Ok(Repair::nothing(Recovery::Intact { frames: 0 }));
    }
    let no_room = RecoverError::NoRoom { path: path.into(), data_at };
    let patches = chunks.patches(data_at, present).ok_or(no_room)?;
    let stated = stated.map(|bytes| bytes / chunks.frame_bytes);
    Ok(Repair { recovery: Recovery::Repaired { stated, frames: present }, patches, length: None })
}

/// Walks the chunks up to the samples.
fn scan(file: &File) -> std::io::Result<Chunks> {
    let mut head = [0; 12];
    read_at(file, 0, &mut head)?;
    let mut chunks =
        Chunks { is_rf64: &head[..4] != b"RIFF", riff_size: u32_at(&head, 4), ..Chunks::default() };
    let mut at = 12;
    let mut header = [0; 8];
    for _ in 0..MAX_CHUNKS {
        if read_at(file, at, &mut header)? < 8 {
            break;
        }
        let (size, body) = (u32_at(&header, 4), at + 8);
        let mut bytes = [0; 16];
        match &header[..4] {
            b"JUNK" if size >= DS64_BYTES && at == 12 => chunks.junk = Some(at),
            b"ds64" if read_at(file, body, &mut bytes)? == 16 => {
                chunks.ds64 = Some(at);
                let size = u64::from(u32_at(&bytes, 8)) | u64::from(u32_at(&bytes, 12)) << 32;
                chunks.ds64_data_size = Some(size);
            }
            b"fmt " if read_at(file, body, &mut bytes)? == 16 => {
                chunks.frame_bytes = u64::from(bytes[12]) | u64::from(bytes[13]) << 8;
            }
            b"fact" if size >= 4 => chunks.fact = Some(body),
            b"data" => {
                chunks.data = Some((body, size));
                break;
            }
            _ => {}
        }
        at = body + u64::from(size) + u64::from(size % 2);
    }
    Ok(chunks)
}

impl Chunks {
    /// Whether the file is chunk by chunk what its header states, up to its end. Then what lies behind the samples are
    /// other chunks, such as a title, also if there are no samples.
    fn are_whole(&self, file: &File, data: (u64, u32), len: u64) -> std::io::Result<bool> {
        if self.is_rf64 || u64::from(self.riff_size) + 8 != len {
            return Ok(false);
        }
        let (mut at, mut size) = data;
        for _ in 0..MAX_CHUNKS {
            at += u64::from(size) + u64::from(size % 2);
            let mut header = [0; 8];
            // Some programs leave the last byte of padding out.
            if at >= len {
                return Ok(at - len <= 1 && size != UNKNOWN);
            }
            let is_chunk = read_at(file, at, &mut header)? == 8
                && header[..4].iter().all(|byte| (b' '..=b'~').contains(byte));
            if !is_chunk {
                return Ok(false);
            }
            (at, size) = (at + 8, u32_at(&header, 4));
        }
        Ok(false)
    }

    /// The bytes of samples that the header states. `None` for 0 and -1.
    fn stated(&self, data_size: u32) -> Option<u64> {
        let size = match data_size {
            UNKNOWN if self.is_rf64 => self.ds64_data_size?,
            UNKNOWN => return None,
            size => u64::from(size),
        };
        (size > 0).then_some(size)
    }

    /// What makes the header state so many frames; `None` where it has no room to.
    fn patches(&self, data_at: u64, frames: u64) -> Option<Vec<(u64, Vec<u8>)>> {
        let data = frames * self.frame_bytes;
        let riff = data_at - 8 + data + data % 2;
        let mut patches = Vec::new();
        if let Some(fact) = self.fact {
            patches.push((fact, u32::try_from(frames).unwrap_or(UNKNOWN).to_le_bytes().to_vec()));
        }
        let is_small = riff < u64::from(UNKNOWN);
        if self.is_rf64 || !is_small {
            let sizes = [riff, data, frames].into_iter().flat_map(u64::to_le_bytes);
            match (self.ds64, self.junk) {
                // It keeps the table behind the sizes.
                (Some(at), _) => patches.push((at + 8, sizes.collect())),
                (None, Some(at)) => {
                    patches.push((at + 8, sizes.chain([0; 4]).collect()));
                    patches.push((at, b"ds64".to_vec()));
                }
                (None, None) => return None,
            }
            patches.push((data_at - 4, UNKNOWN.to_le_bytes().to_vec()));
            patches.push((4, UNKNOWN.to_le_bytes().to_vec()));
            if !self.is_rf64 {
                patches.push((0, b"RF64".to_vec()));
            }
        } else {
            patches.push((4, (riff as u32).to_le_bytes().to_vec()));
            patches.push((data_at - 4, (data as u32).to_le_bytes().to_vec()));
        }
        Some(patches)
    }
}

/// Why the bytes behind the stated samples may be something else, if they may. `interrupted`: samples are expected.
fn other_content(
    file: &File,
    chunks: &Chunks,
    end: u64,
    interrupted: bool,
) -> std::io::Result<Option<String>> {
    let mut id = [0; 4];
    read_at(file, end, &mut id)?;
    let is_stated = !chunks.is_rf64 && chunks.riff_size != UNKNOWN;
    if is_stated && u64::from(chunks.riff_size) + 8 > end {
        return Ok(Some("other chunks follow the samples".into()));
    }
    if interrupted {
        return Ok(None);
    }
    let is_name = id.iter().all(|byte| (b' '..=b'~').contains(byte))
        || id.starts_with(b"ID3")
        || id.starts_with(b"TAG");
    Ok(is_name.then(|| format!("what follows the samples begins with '{}'", id.escape_ascii())))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
