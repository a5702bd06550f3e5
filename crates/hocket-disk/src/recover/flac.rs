//! FLAC: the length is 36 bits of STREAMINFO, and the truth is what decodes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use hocket_media::{MediaError, ReadAt, StreamDecoder};

use super::{Recovery, Repair};
use crate::error::RecoverError;

/// The byte of the file whose lower half begins the length; four bytes follow.
const LENGTH_AT: u64 = 21;

/// The file with a length of zero, which means unknown: then the decoder counts.
struct WithoutLength(File);

impl ReadAt for WithoutLength {
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = ReadAt::read_at(&self.0, position, buffer)?;
        for (at, byte) in (position..).zip(&mut buffer[..count]) {
            match at {
                LENGTH_AT => *byte &= 0xf0,
                at if (LENGTH_AT + 1..LENGTH_AT + 5).contains(&at) => *byte = 0,
                _ => {}
            }
        }
        Ok(count)
    }

    fn byte_len(&self) -> io::Result<u64> {
        self.0.byte_len()
    }
}

pub(super) fn repair(path: &Path) -> Result<Repair, RecoverError> {
    let io = |source| RecoverError::Io { path: path.into(), source };
    let file = File::open(path).map_err(io)?;
    let mut length = [0; 5];
    if super::read_at(&file, LENGTH_AT, &mut length).map_err(io)? < length.len() {
        let cause = "it ends before its format is stated".into();
        return Err(RecoverError::NotARecording { path: path.into(), cause });
    }
    let stated = length.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte)) & 0xf_ffff_ffff;
    let frames = match StreamDecoder::open(path, Arc::new(WithoutLength(file))) {
        Ok(stream) => stream.info().frames,
        Err(MediaError::Io { source, .. }) => return Err(io(source)),
        // Killed before its first block.
        Err(_) if stated == 0 => 0,
        Err(error) => {
            return Err(RecoverError::NotARecording {
                path: path.into(),
                cause: error.to_string(),
            });
        }
    };
    if frames < stated {
        let why = format!("the header states {stated} frames, {frames} can be decoded");
        return Ok(Repair::nothing(Recovery::LeftAlone { why }));
    }
    if frames == stated {
        return Ok(Repair::nothing(Recovery::Intact { frames }));
    }
    let mut bytes = frames.to_be_bytes()[3..].to_vec();
    bytes[0] = bytes[0] & 0x0f | length[0] & 0xf0;
    let stated = (stated > 0).then_some(stated);
    let patches = vec![(LENGTH_AT, bytes)];
    Ok(Repair { recovery: Recovery::Repaired { stated, frames }, patches, length: None })
}
