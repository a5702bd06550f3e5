//! WAV and its kin: RIFF, RIFX (big-endian), RF64 and BW64 (64-bit sizes), W64 (GUID chunks).

use super::Source;
use super::header::{Coding, Declared, Header, RawFormat};
use crate::MediaError;

/// A file of more chunks than this is no audio file but a trap for readers.
const MAX_CHUNKS: usize = 100_000;
/// RIFF and W64 chunk sizes that mean "unknown".
const UNKNOWN_32: u64 = 0xffff_ffff;

/// `fmt` chunks are 16, 18 or 40 bytes; more is codec data that is not needed here.
const FMT_BYTES: usize = 40;

/// The format tag that puts the real one into an extension.
const EXTENSIBLE: u16 = 0xfffe;

const W64_TAIL_RIFF: [u8; 12] =
    [0x2e, 0x91, 0xcf, 0x11, 0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0x00, 0x00];

/// The dialect, told by the first four bytes.
#[derive(Debug, Clone, Copy)]
struct Dialect {
    name: &'static str,
    big_endian: bool,
    /// Sizes of 64 bits after a GUID of 16 bytes, chunks aligned to 8.
    guid_chunks: bool,
    /// A `ds64` chunk gives the real size of chunks whose own size is 0xffffffff.
    has_ds64: bool,
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    id: [u8; 4],
    /// As the header says.
    size: u64,
    body: u64,
}

#[derive(Default)]
struct Found {
    fmt: Option<Vec<u8>>,
    data: Option<Chunk>,
    ds64_data_size: Option<u64>,
    warnings: Vec<String>,
}

pub(super) fn read_header(source: &mut Source) -> Result<Header, MediaError> {
    let mut head = [0; 40];
    let len = source.read_at(0, &mut head)?;
    let dialect = dialect(source, &head[..len])?;
    let outer_size = dialect.outer_size(&head);
    let found = scan(source, dialect)?;
    let Some(fmt) = found.fmt.as_deref() else {
        return Err(source.malformed(dialect.name, "it has no fmt chunk"));
    };
    let Some(data) = found.data else {
        return Err(source.malformed(dialect.name, "it has no data chunk"));
    };
    let declared = declared(dialect, data, outer_size, found.ds64_data_size);
    match parse_fmt(source, dialect, fmt)? {
        Codec::Pcm(raw) => raw.layout(source, data.body, declared, found.warnings),
        Codec::Other(name) => Ok(Header::Compressed(name)),
    }
}

fn dialect(source: &Source, head: &[u8]) -> Result<Dialect, MediaError> {
    let plain =
        |name, big_endian, has_ds64| Dialect { name, big_endian, guid_chunks: false, has_ds64 };
    let dialect = match head.get(..4) {
        Some(b"RIFX") => plain("RIFX", true, false),
        Some(b"RF64") => plain("RF64", false, true),
        Some(b"BW64") => plain("BW64", false, true),
        Some(b"riff") if head.get(4..16) == Some(&W64_TAIL_RIFF) => {
            Dialect { name: "W64", big_endian: false, guid_chunks: true, has_ds64: false }
        }
        _ => plain("WAV", false, false),
    };
    let form_at = if dialect.guid_chunks { 24 } else { 8 };
    let form = head.get(form_at..form_at + 4).unwrap_or_default();
    if form.eq_ignore_ascii_case(b"WAVE") {
        return Ok(dialect);
    }
    let form = String::from_utf8_lossy(form).escape_default().to_string();
    Err(source.malformed(dialect.name, format!("its form is '{form}', not 'WAVE'")))
}

impl Dialect {
    fn first_chunk(self) -> u64 {
        if self.guid_chunks { 40 } else { 12 }
    }

    fn outer_size(self, head: &[u8; 40]) -> u64 {
        if self.guid_chunks { u64_at(head, 16) } else { u64::from(self.u32_at(head, 4)) }
    }

    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let mut raw = [0; 4];
        raw.copy_from_slice(&bytes[at..at + 4]);
        if self.big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
    }

    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let raw = [bytes[at], bytes[at + 1]];
        if self.big_endian { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) }
    }

    fn chunk_header_len(self) -> usize {
        if self.guid_chunks { 24 } else { 8 }
    }

    /// The chunk whose header is `bytes` and lies at `at`.
    fn chunk(self, bytes: &[u8], at: u64) -> Chunk {
        let id = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let body = at + self.chunk_header_len() as u64;
        let size = if self.guid_chunks {
            // A W64 chunk counts its own header.
            u64_at(bytes, 16).saturating_sub(24)
        } else {
            u64::from(self.u32_at(bytes, 4))
        };
        Chunk { id, size, body }
    }

    /// Where the next chunk begins, padding included.
    fn after(self, chunk: Chunk) -> u64 {
        let align = if self.guid_chunks { 8 } else { 2 };
        let end = chunk.body.saturating_add(chunk.size);
        end.saturating_add((align - end % align) % align)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut raw = [0; 8];
    raw.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(raw)
}

/// Walks the chunks until both `fmt` and `data` are known or the file ends.
fn scan(source: &mut Source, dialect: Dialect) -> Result<Found, MediaError> {
    let mut found = Found::default();
    let mut at = dialect.first_chunk();
    let mut header = [0; 24];
    let header = &mut header[..dialect.chunk_header_len()];
    for _ in 0..MAX_CHUNKS {
        if source.read_at(at, header)? < header.len() {
            return Ok(found);
        }
        let chunk = dialect.chunk(header, at);
        note(source, dialect, chunk, &mut found)?;
        if found.fmt.is_some() && found.data.is_some() {
            return Ok(found);
        }
        at = next_chunk(source, dialect, chunk, &mut found)?;
    }
    Err(source.malformed(dialect.name, format!("more than {MAX_CHUNKS} chunks")))
}

/// Keeps what is needed of one chunk. The first `fmt` and the first `data` count.
fn note(
    source: &mut Source,
    dialect: Dialect,
    chunk: Chunk,
    found: &mut Found,
) -> Result<(), MediaError> {
    match &chunk.id {
        b"fmt " if found.fmt.is_none() => {
            let mut fmt = vec![0; (chunk.size as usize).min(FMT_BYTES)];
            let len = source.read_at(chunk.body, &mut fmt)?;
            fmt.truncate(len);
            found.fmt = Some(fmt);
        }
        b"ds64" if dialect.has_ds64 => {
            let mut sizes = [0; 16];
            if chunk.size >= 16 && source.read_at(chunk.body, &mut sizes)? == 16 {
                found.ds64_data_size = Some(u64_at(&sizes, 8));
            }
        }
        b"data" if found.data.is_none() => found.data = Some(chunk),
        _ => {}
    }
    Ok(())
}

/// Some writers forget the pad byte after a chunk of odd size. A pad byte is zero; a letter in
/// its place that starts a known name is the next chunk.
fn next_chunk(
    source: &mut Source,
    dialect: Dialect,
    chunk: Chunk,
    found: &mut Found,
) -> Result<u64, MediaError> {
    let padded = dialect.after(chunk);
    if dialect.guid_chunks || chunk.size.is_multiple_of(2) {
        return Ok(padded);
    }
    let mut id = [0; 4];
    source.read_at(padded - 1, &mut id)?;
    if !matches!(&id, b"data" | b"fmt " | b"LIST" | b"fact" | b"bext" | b"cue " | b"smpl") {
        return Ok(padded);
    }
    let name = String::from_utf8_lossy(&chunk.id).escape_default().to_string();
    found.warnings.push(format!("the pad byte after the chunk '{name}' is missing"));
    Ok(padded - 1)
}

fn declared(dialect: Dialect, data: Chunk, outer_size: u64, ds64: Option<u64>) -> Declared {
    match data.size {
        UNKNOWN_32 if dialect.has_ds64 => ds64.map_or(Declared::ToTheEnd, Declared::Bytes),
        UNKNOWN_32 if !dialect.guid_chunks => Declared::ToTheEnd,
        // A complete header counts at least itself; zero or less means the writer never came back.
        0 if outer_size < data.body - dialect.chunk_header_len() as u64 - 8 => {
            Declared::NeverFilledIn
        }
        size => Declared::Bytes(size),
    }
}

enum Codec {
    Pcm(RawFormat),
    /// Left to Symphonia, by name.
    Other(String),
}

fn parse_fmt(source: &Source, dialect: Dialect, fmt: &[u8]) -> Result<Codec, MediaError> {
    if fmt.len() < 16 {
        let cause = format!("its fmt chunk has {} bytes, 16 are needed", fmt.len());
        return Err(source.malformed(dialect.name, cause));
    }
    let mut tag = dialect.u16_at(fmt, 0);
    if tag == EXTENSIBLE {
        tag = extensible_tag(source, dialect, fmt)?;
    }
    let channels = u32::from(dialect.u16_at(fmt, 2));
    let bits = u32::from(dialect.u16_at(fmt, 14));
    let Some(coding) = coding(tag, bits) else {
        return other_codec(source, dialect, tag);
    };
    let block = u32::from(dialect.u16_at(fmt, 12));
    Ok(Codec::Pcm(RawFormat {
        format: dialect.name,
        coding,
        big_endian: dialect.big_endian,
        channels,
        sample_rate_hz: f64::from(dialect.u32_at(fmt, 4)),
        bits: match coding {
            Coding::ALaw | Coding::MuLaw => 8,
            Coding::Signed => valid_bits(dialect, fmt, bits),
            _ => bits,
        },
        bytes_per_sample: bytes_per_sample(channels, bits, block),
    }))
}

fn coding(tag: u16, bits: u32) -> Option<Coding> {
    match tag {
        1 if bits <= 8 => Some(Coding::Unsigned),
        1 => Some(Coding::Signed),
        3 => Some(Coding::Float),
        6 => Some(Coding::ALaw),
        7 => Some(Coding::MuLaw),
        _ => None,
    }
}

/// The container of a sample: what the block alignment says where that makes sense, else the
/// bits rounded up to bytes.
fn bytes_per_sample(channels: u32, bits: u32, block: u32) -> usize {
    let least = bits.div_ceil(8);
    match block.checked_div(channels) {
        Some(bytes) if block.is_multiple_of(channels) && (least..=8).contains(&bytes) => {
            bytes as usize
        }
        _ => least as usize,
    }
}

/// The real tag of WAVE_FORMAT_EXTENSIBLE: the first two bytes of a GUID with a fixed rest.
fn extensible_tag(source: &Source, dialect: Dialect, fmt: &[u8]) -> Result<u16, MediaError> {
    if fmt.len() < 40 {
        return Err(source.malformed(dialect.name, "its extensible fmt chunk is cut short"));
    }
    const REST: [u8; 8] = [0x80, 0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71];
    let middle = (dialect.u16_at(fmt, 28), dialect.u16_at(fmt, 30));
    if middle != (0, 0x10) || fmt[32..40] != REST {
        let format = format!("{} with a private codec", dialect.name);
        return Err(MediaError::Unsupported { path: source.path.into(), format });
    }
    Ok(dialect.u32_at(fmt, 24) as u16)
}

/// How many bits of a sample are meant: the extension may state fewer than the container has.
fn valid_bits(dialect: Dialect, fmt: &[u8], bits: u32) -> u32 {
    if dialect.u16_at(fmt, 0) != EXTENSIBLE || fmt.len() < 20 {
        return bits;
    }
    match u32::from(dialect.u16_at(fmt, 18)) {
        0 => bits,
        valid => valid.min(bits),
    }
}

fn other_codec(source: &Source, dialect: Dialect, tag: u16) -> Result<Codec, MediaError> {
    match tag {
        0x0002 => Ok(Codec::Other("Microsoft ADPCM in WAV".into())),
        0x0011 => Ok(Codec::Other("IMA ADPCM in WAV".into())),
        _ => {
            let format = format!("{} in {}", tag_name(tag), dialect.name);
            Err(MediaError::Unsupported { path: source.path.into(), format })
        }
    }
}

fn tag_name(tag: u16) -> String {
    match tag {
        0x0010 => "OKI ADPCM".into(),
        0x0031 => "GSM 6.10".into(),
        0x0040 | 0x0045 | 0x0064 => "G.72x ADPCM".into(),
        0x0050 => "MPEG layer 1 or 2".into(),
        0x0055 => "MP3".into(),
        0x0092 | 0x2000 => "AC-3".into(),
        0x00ff | 0x1600..=0x1602 | 0x1610 => "AAC".into(),
        0x0160..=0x0163 => "Windows Media Audio".into(),
        0x0270 => "ATRAC3".into(),
        0x2001 => "DTS".into(),
        0x566f | 0x674f..=0x6751 | 0x676f..=0x6771 => "Vorbis".into(),
        0xf1ac => "FLAC".into(),
        _ => format!("codec {tag:#06x}"),
    }
}
