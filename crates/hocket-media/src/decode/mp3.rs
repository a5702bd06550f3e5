//! Whether an MP3 file says how long it is.
//!
//! The first frame may be a header that counts the others (Xing, Info, VBRI). Without it, Symphonia guesses a length from the
//! first frames, and a guess shows nothing about the file.

use super::Source;
use crate::MediaError;

/// Bytes in which the first frame is looked for, behind the tags. A frame has at most 2881.
const HEAD_BYTES: usize = 1 << 13;
/// Tags that are skipped at most.
const MOST_TAGS: usize = 16;
const TAG_BYTES: u64 = 10;

/// Whether the first frame counts the others.
pub(super) fn states_length(source: &mut Source) -> Result<bool, MediaError> {
    let mut head = vec![0; HEAD_BYTES];
    let start = behind_tags(source)?;
    let len = source.read_at(start, &mut head)?;
    let marks: [&[u8; 4]; 3] = [b"Xing", b"Info", b"VBRI"];
    Ok(head[..len].windows(4).any(|part| marks.iter().any(|mark| part == *mark)))
}

/// So many frames of one kind in a row are no accident. What follows the end may be a tag, and any tag has bytes that look like the
/// header of a frame.
pub(super) const ENOUGH_FRAMES: usize = 8;

/// Whether two frames can belong to one stream: by version, layer, sample rate, and mono or not.
pub(super) fn is_alike(one: &[u8], other: &[u8]) -> bool {
    let kind = |frame: &[u8]| {
        let [_, second, third, fourth] = *frame.first_chunk::<4>()?;
        Some((second & 0xfe, third & 0x0c, fourth >> 6 == 3))
    };
    kind(one) == kind(other)
}

/// Where the sound begins behind ID3v2 tags.
fn behind_tags(source: &mut Source) -> Result<u64, MediaError> {
    let mut at = 0;
    for _ in 0..MOST_TAGS {
        let mut tag = [0; TAG_BYTES as usize];
        let len = source.read_at(at, &mut tag)?;
        if len < tag.len() || !tag.starts_with(b"ID3") {
            break;
        }
        // Four bytes of seven bits. A footer is as long as the header.
        let size = tag[6..].iter().fold(0, |size, byte| size << 7 | u64::from(byte & 0x7f));
        let footer = if tag[5] & 0x10 == 0 { 0 } else { TAG_BYTES };
        at += TAG_BYTES + size + footer;
    }
    Ok(at)
}
