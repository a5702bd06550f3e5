//! How an audio file says that Hocket wrote it, and whether a render makes it again.
//!
//! Text about Hocket elsewhere in a file, such as a title, says nothing about who wrote it. So the mark counts only to
//! the letter, and only where it is written.

/// How a render and every other output names its software.
pub const SOFTWARE: &str = "Hocket";

/// How a take does: nothing makes a recording again.
pub(crate) const TAKE_SOFTWARE: &str = "Hocket take";

/// `RIFF` header and form (12), `JUNK` or `ds64` (8 + 28).
pub(crate) const FMT_AT: usize = 48;

/// The marker (4) and STREAMINFO with its header (4 + 34).
const COMMENT_AT: usize = 42;

/// Whether a file that begins with `head` is one that Hocket wrote, and no take. 512 bytes are enough.
pub fn is_output(head: &[u8]) -> bool {
    match head {
        [b'R', b'I', b'F', b'F', ..] | [b'R', b'F', b'6', b'4', ..] => is_own_wav(head),
        [b'f', b'L', b'a', b'C', ..] => has_at(head, COMMENT_AT, &flac_comment(SOFTWARE)),
        _ => false,
    }
}

fn is_own_wav(head: &[u8]) -> bool {
    let has = |at, bytes: &[u8]| has_at(head, at, bytes);
    let room = has(12, b"JUNK\x1c\0\0\0") || has(12, b"ds64\x1c\0\0\0");
    let size = head.get(FMT_AT + 4).map(|size| usize::from(*size));
    let software = size.map(|size| FMT_AT + 8 + size);
    room && has(8, b"WAVE")
        && has(FMT_AT, b"fmt ")
        && software.is_some_and(|at| has(at, &software_chunk(SOFTWARE)))
}

fn has_at(head: &[u8], at: usize, bytes: &[u8]) -> bool {
    head.get(at..).is_some_and(|rest| rest.starts_with(bytes))
}

/// A `LIST` chunk of WAV that names the software, with zeros to an even length.
pub(crate) fn software_chunk(software: &str) -> Vec<u8> {
    let text = (software.len() + 1).next_multiple_of(2);
    let mut bytes = b"LIST".to_vec();
    bytes.extend((4 + 8 + text as u32).to_le_bytes());
    bytes.extend(b"INFOISFT");
    bytes.extend((text as u32).to_le_bytes());
    bytes.extend(software.as_bytes());
    bytes.resize(bytes.len() + text - software.len(), 0);
    bytes
}

/// The last block of FLAC's metadata: a Vorbis comment without fields, by this software.
pub(crate) fn flac_comment(software: &str) -> Vec<u8> {
    let bytes = (4 + software.len() + 4) as u32;
    let mut comment = vec![0x84];
    comment.extend_from_slice(&bytes.to_be_bytes()[1..]);
    comment.extend_from_slice(&(software.len() as u32).to_le_bytes());
    comment.extend_from_slice(software.as_bytes());
    comment.extend_from_slice(&[0; 4]);
    comment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlacEncoder, WavFormat, WavLayout};

    const FORMATS: [WavFormat; 3] = [WavFormat::Pcm16, WavFormat::Pcm24, WavFormat::Float32];

    #[test]
    fn outputs_are_known_by_their_heads_and_takes_are_none() {
        for samples in FORMATS {
            for channels in [1, 2, 6, 64] {
                let layout = WavLayout { samples, sample_rate_hz: 96_000, channels };
                for frames in [0, 1000, 1 << 33] {
                    assert!(is_output(&layout.header(frames)), "{layout:?}");
                    assert!(!is_output(&layout.take_header(frames)), "{layout:?}");
                }
            }
        }
        let layout = WavLayout { samples: WavFormat::Pcm24, sample_rate_hz: 96_000, channels: 8 };
        assert!(is_output(&FlacEncoder::new(layout).unwrap().head().unwrap()));
        assert!(!is_output(&FlacEncoder::for_take(layout).unwrap().head().unwrap()));
    }

    #[test]
    fn a_head_that_is_cut_or_changed_anywhere_in_its_mark_is_of_somebody_else() {
        let layout = WavLayout { samples: WavFormat::Pcm16, sample_rate_hz: 48_000, channels: 2 };
        let flac = FlacEncoder::new(layout).unwrap().head().unwrap();
        for (head, before, behind) in [(layout.header(9), 20, 2), (flac, 8, 4)] {
            let name = head.windows(SOFTWARE.len()).position(|part| part == SOFTWARE.as_bytes());
            let name = name.unwrap();
            let end = name + SOFTWARE.len() + behind;
            assert!((0..end).all(|length| !is_output(&head[..length])));
            for at in name - before..end {
                let mut other = head.clone();
                other[at] ^= 1;
                assert!(!is_output(&other), "{at}");
            }
        }
    }
}
