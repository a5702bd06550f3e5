//! Sun and NeXT `.au`, big-endian and its little-endian kin.

use super::Source;
use super::header::{Coding, Declared, Header, RawFormat};
use crate::MediaError;

pub(super) fn read_header(source: &mut Source) -> Result<Header, MediaError> {
    let mut head = [0; 24];
    if source.read_at(0, &mut head)? < 24 {
        return Err(source.malformed("AU", "the header is cut short"));
    }
    let big_endian = &head[..4] == b".snd";
    let word = |index: usize| {
        let mut raw = [0; 4];
        raw.copy_from_slice(&head[4 * index..4 * index + 4]);
        if big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
    };
    let (start, size, encoding) = (u64::from(word(1)), word(2), word(3));
    if start < 24 {
        return Err(source.malformed("AU", format!("its audio begins at byte {start}")));
    }
    let Some((coding, bits)) = coding(encoding) else {
        let format = format!("encoding {encoding} in AU");
        return Err(MediaError::Unsupported { path: source.path.into(), format });
    };
    let raw = RawFormat {
        format: "AU",
        coding,
        big_endian,
        channels: word(5),
        sample_rate_hz: f64::from(word(4)),
        bits,
        bytes_per_sample: bits.div_ceil(8) as usize,
    };
    let declared =
        if size == u32::MAX { Declared::ToTheEnd } else { Declared::Bytes(u64::from(size)) };
    raw.layout(source, start, declared, Vec::new())
}

fn coding(encoding: u32) -> Option<(Coding, u32)> {
    match encoding {
        1 => Some((Coding::MuLaw, 8)),
        2 => Some((Coding::Signed, 8)),
        3 => Some((Coding::Signed, 16)),
        4 => Some((Coding::Signed, 24)),
        5 => Some((Coding::Signed, 32)),
        6 => Some((Coding::Float, 32)),
        7 => Some((Coding::Float, 64)),
        27 => Some((Coding::ALaw, 8)),
        _ => None,
    }
}
