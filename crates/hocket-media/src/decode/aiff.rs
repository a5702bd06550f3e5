//! AIFF and AIFF-C.

use super::Source;
use super::header::{Coding, Declared, Header, RawFormat};
use crate::MediaError;

const MAX_CHUNKS: usize = 100_000;

/// COMM: channels (2), frames (4), bits (2), rate (10), and in AIFF-C the codec (4).
const COMM_BYTES: usize = 22;

#[derive(Default)]
struct Found {
    comm: Option<[u8; COMM_BYTES]>,
    comm_len: usize,
    /// Start and length of the sound as the chunk says.
    sound: Option<(u64, u64)>,
}

pub(super) fn read_header(source: &mut Source) -> Result<Header, MediaError> {
    let mut head = [0; 12];
    source.read_at(0, &mut head)?;
    let is_aifc = match &head[8..12] {
        b"AIFF" => false,
        b"AIFC" => true,
        form => {
            let form = String::from_utf8_lossy(form).escape_default().to_string();
            return Err(source.malformed("AIFF", format!("its form is '{form}', not 'AIFF'")));
        }
    };
    let found = scan(source)?;
    let (Some(comm), true) = (found.comm, found.comm_len >= 18) else {
        return Err(source.malformed("AIFF", "it has no complete COMM chunk"));
    };
    let Some((start, size)) = found.sound else {
        return Err(source.malformed("AIFF", "it has no SSND chunk"));
    };
    let codec = if is_aifc && found.comm_len >= 22 { &comm[18..22] } else { b"NONE" };
    let raw = match raw_format(&comm, codec) {
        Ok(raw) => raw,
        Err(other) => return other_codec(source, other),
    };
    let frames = u64::from(u32::from_be_bytes([comm[2], comm[3], comm[4], comm[5]]));
    raw.layout(source, start, declared(&raw, frames, size), Vec::new())
}

fn scan(source: &mut Source) -> Result<Found, MediaError> {
    let mut found = Found::default();
    let mut at = 12u64;
    for _ in 0..MAX_CHUNKS {
        let mut header = [0; 8];
        if source.read_at(at, &mut header)? < 8 {
            return Ok(found);
        }
        let size = u64::from(u32::from_be_bytes([header[4], header[5], header[6], header[7]]));
        note(source, &header[..4], at + 8, size, &mut found)?;
        if found.comm.is_some() && found.sound.is_some() {
            return Ok(found);
        }
        at += 8 + size + size % 2;
    }
    Err(source.malformed("AIFF", format!("more than {MAX_CHUNKS} chunks")))
}

fn note(
    source: &mut Source,
    id: &[u8],
    body: u64,
    size: u64,
    found: &mut Found,
) -> Result<(), MediaError> {
    if id == b"COMM" && found.comm.is_none() {
        let mut comm = [0; COMM_BYTES];
        let wanted = (size as usize).min(COMM_BYTES);
        found.comm_len = source.read_at(body, &mut comm[..wanted])?;
        found.comm = Some(comm);
    }
    if id == b"SSND" && found.sound.is_none() {
        let mut offset = [0; 4];
        source.read_at(body, &mut offset)?;
        let skip = 8 + u64::from(u32::from_be_bytes(offset));
        found.sound = Some((body + skip, size.saturating_sub(skip)));
    }
    Ok(())
}

/// The format, or the codec's name where it is not one that is read here.
fn raw_format(comm: &[u8; COMM_BYTES], codec: &[u8]) -> Result<RawFormat, String> {
    let bits = u32::from(u16::from_be_bytes([comm[6], comm[7]]));
    let (coding, big_endian, bits) = match codec {
        b"NONE" | b"twos" => (Coding::Signed, true, bits),
        b"sowt" => (Coding::Signed, false, bits),
        b"raw " => (Coding::Unsigned, true, bits),
        b"in24" => (Coding::Signed, true, 24),
        b"in32" => (Coding::Signed, true, 32),
        b"fl32" | b"FL32" => (Coding::Float, true, 32),
        b"fl64" | b"FL64" => (Coding::Float, true, 64),
        b"alaw" | b"ALAW" => (Coding::ALaw, true, 8),
        b"ulaw" | b"ULAW" => (Coding::MuLaw, true, 8),
        other => return Err(String::from_utf8_lossy(other).escape_default().to_string()),
    };
    Ok(RawFormat {
        format: "AIFF",
        coding,
        big_endian,
        channels: u32::from(u16::from_be_bytes([comm[0], comm[1]])),
        sample_rate_hz: extended(&comm[8..18]),
        bits,
        bytes_per_sample: bits.div_ceil(8) as usize,
    })
}

fn other_codec(source: &Source, codec: String) -> Result<Header, MediaError> {
    if codec == "ima4" {
        return Ok(Header::Compressed("IMA ADPCM in AIFF-C".into()));
    }
    let format = format!("codec '{codec}' in AIFF-C");
    Err(MediaError::Unsupported { path: source.path.into(), format })
}

/// COMM counts frames and SSND bytes; the smaller one is meant, unless COMM was never filled in.
fn declared(raw: &RawFormat, frames: u64, sound_bytes: u64) -> Declared {
    let by_frames = frames * u64::from(raw.channels) * raw.bytes_per_sample as u64;
    match (by_frames, sound_bytes) {
        (0, 0) => Declared::Bytes(0),
        (0, bytes) | (bytes, 0) => Declared::Bytes(bytes),
        (a, b) => Declared::Bytes(a.min(b)),
    }
}

/// An 80-bit extended float: sign and 15-bit exponent, 64-bit mantissa with explicit one.
fn extended(bytes: &[u8]) -> f64 {
    let exponent = i32::from(u16::from_be_bytes([bytes[0], bytes[1]]) & 0x7fff) - 16383;
    let mantissa = bytes[2..10].iter().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    let sign = if bytes[0] & 0x80 == 0 { 1.0 } else { -1.0 };
    sign * mantissa as f64 * 2f64.powi(exponent - 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_floats_are_read() {
        assert_eq!(extended(&[0x40, 0x0e, 0xac, 0x44, 0, 0, 0, 0, 0, 0]), 44_100.0);
        assert_eq!(extended(&[0x40, 0x0e, 0xbb, 0x80, 0, 0, 0, 0, 0, 0]), 48_000.0);
        assert_eq!(extended(&[0; 10]), 0.0);
        assert!(extended(&[0xff; 10]) < 0.0);
    }
}
