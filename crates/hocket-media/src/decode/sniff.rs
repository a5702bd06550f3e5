//! What a file is, by its first bytes.

/// The name of MP4 and its kin (.m4a).
pub(super) const MP4: &str = "MP4";
/// The name of FLAC in its own container.
pub(super) const FLAC: &str = "FLAC";

/// How the names of MP3 files begin, and of layers 1 and 2.
const MP3: &str = "MP3";

pub(super) fn is_mp3(format: &str) -> bool {
    format.starts_with(MP3)
}

/// How many bytes are enough to tell.
pub(super) const HEAD_BYTES: usize = 4096;

/// The uncompressed containers that are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// RIFF, RIFX, RF64, BW64 and W64.
    Riff,
    /// AIFF and AIFF-C.
    Aiff,
    /// Sun and NeXT `.au`.
    Au,
}

/// Who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Pcm(Container),
    /// A format that Symphonia decodes, by name.
    Compressed(&'static str),
    /// A format that is known by name only.
    Unsupported(&'static str),
}

/// Formats that begin with fixed bytes at offset 0.
const MAGICS: &[(&[u8], Content)] = &[
    (b".snd", Content::Pcm(Container::Au)),
    (b"dns.", Content::Pcm(Container::Au)),
    (b"fLaC", Content::Compressed(FLAC)),
    (b"caff", Content::Compressed("CAF")),
    (b"ID3", Content::Compressed("MP3 (with an ID3 tag)")),
    (b"\x1a\x45\xdf\xa3", Content::Compressed("Matroska or WebM")),
    (b"wvpk", Content::Unsupported("WavPack")),
    (b"MAC ", Content::Unsupported("Monkey's Audio")),
    (b"MPCK", Content::Unsupported("Musepack")),
    (b"MP+", Content::Unsupported("Musepack")),
    (b"TTA1", Content::Unsupported("True Audio")),
    (b"DSD ", Content::Unsupported("DSD stream file")),
    (b"FRM8", Content::Unsupported("DSD interchange file")),
    (b"OFR ", Content::Unsupported("OptimFROG")),
    (b"tBaK", Content::Unsupported("TAK")),
    (b"#!AMR", Content::Unsupported("AMR")),
    (b".RMF", Content::Unsupported("RealMedia")),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", Content::Unsupported("Windows Media (ASF)")),
    (b"Creative Voice File", Content::Unsupported("Creative Voice")),
    (b"MThd", Content::Unsupported("Standard MIDI file (notes, no audio)")),
    (b"PK\x03\x04", Content::Unsupported("ZIP archive (perhaps a DAWproject)")),
];

/// Names the format, or says what the bytes look like instead.
///
/// MPEG audio without a tag has no magic number but an 11-bit pattern that random data often
/// shows, so its decoder may only hunt for it in a file that is also named so (`named_mp3`).
pub(super) fn identify(head: &[u8], named_mp3: bool) -> Result<Content, String> {
    if let Some(content) = by_magic(head).or_else(|| by_form(head)) {
        return Ok(content);
    }
    match mpeg_sync(head) {
        Some(content) => Ok(content),
        None if named_mp3 => Ok(Content::Compressed(MP3)),
        None => Err(describe(head)),
    }
}

fn by_magic(head: &[u8]) -> Option<Content> {
    MAGICS.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, content)| content)
}

/// Formats that need a look past the first bytes.
fn by_form(head: &[u8]) -> Option<Content> {
    let form = head.get(8..12);
    match head.get(..4)? {
        b"RIFF" | b"RIFX" | b"RF64" | b"BW64" => Some(match form {
            Some(b"AVI ") => Content::Unsupported("AVI video"),
            Some(b"RMID") => Content::Unsupported("MIDI in RIFF (notes, no audio)"),
            Some(b"sfbk") => Content::Unsupported("SoundFont"),
            _ => Content::Pcm(Container::Riff),
        }),
        b"riff" => Some(Content::Pcm(Container::Riff)),
        b"FORM" => Some(match form {
            Some(b"8SVX") => Content::Unsupported("Amiga 8SVX"),
            _ => Content::Pcm(Container::Aiff),
        }),
        b"OggS" => Some(ogg_codec(head)),
        _ if head.get(4..8) == Some(b"ftyp") => Some(Content::Compressed(MP4)),
        _ => None,
    }
}

/// The codec of an Ogg file, which its first page names.
fn ogg_codec(head: &[u8]) -> Content {
    let names = |magic: &[u8]| head.windows(magic.len()).take(256).any(|bytes| bytes == magic);
    if names(b"OpusHead") {
        Content::Unsupported("Opus in Ogg")
    } else if names(b"Speex   ") {
        Content::Unsupported("Speex in Ogg")
    } else if names(b"\x80theora") {
        Content::Unsupported("Theora video in Ogg")
    } else if names(b"\x7fFLAC") {
        Content::Compressed("FLAC in Ogg")
    } else if names(b"\x01vorbis") {
        Content::Compressed("Ogg Vorbis")
    } else {
        Content::Compressed("Ogg")
    }
}

/// MPEG audio: 11 set bits, then fields of which some values are reserved.
fn mpeg_sync(head: &[u8]) -> Option<Content> {
    let &[first, second, third, _] = head.first_chunk::<4>()?;
    if first != 0xff || second & 0xe0 != 0xe0 {
        return None;
    }
    if second & 0xf6 == 0xf0 {
        return Some(Content::Compressed("AAC (ADTS)"));
    }
    let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
    let (bit_rate, rate) = (third >> 4, third >> 2 & 3);
    let reserved = version == 1 || layer == 0 || bit_rate == 15 || rate == 3;
    (!reserved).then_some(Content::Compressed(MP3))
}

/// A few words on bytes that are no known format.
fn describe(head: &[u8]) -> String {
    if head.iter().all(|&byte| byte == 0) {
        return "it begins with zero bytes".into();
    }
    let text = std::str::from_utf8(&head[..head.len().min(64)]).is_ok_and(|s| !s.contains('\0'));
    if text {
        return "it is text".into();
    }
    let first: Vec<String> = head.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("it begins with the bytes {}", first.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_content_is_described() {
        assert_eq!(identify(b"hello world, this is text", false), Err("it is text".into()));
        assert_eq!(identify(&[0; 64], false), Err("it begins with zero bytes".into()));
        assert!(identify(&[0x80, 0, 1, 2], false).unwrap_err().contains("80 00 01 02"));
    }

    #[test]
    fn short_heads_are_no_trouble() {
        for len in 0..16 {
            let _ = identify(&b"RIFF\xff\xff\xff\xffWAVEfmt "[..len], false);
        }
    }

    #[test]
    fn reserved_mpeg_fields_are_not_mp3() {
        assert!(mpeg_sync(&[0xff, 0xfb, 0x90, 0]).is_some());
        assert!(mpeg_sync(&[0xff, 0xfb, 0xf0, 0]).is_none());
        assert!(mpeg_sync(&[0xff, 0xff, 0xff, 0xff]).is_none());
    }
}
