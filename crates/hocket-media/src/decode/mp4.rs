//! Which part of an MP4 track is meant to be heard.
//!
//! An AAC encoder begins with frames in which its filters fill, and fills up the last block. Symphonia decodes both.
//! The edit list says which part is the recording; in files of Apple's programs a tag, `iTunSMPB`, says it in frames.
//! Only these boxes are read here, and whatever is wrong with them means that nothing is known.

use super::Source;

/// A file with more boxes than this around its sound is no audio file but a trap for readers.
const MAX_BOXES: u32 = 10_000;
/// `iTunSMPB` has about 130 characters.
const MAX_TAG_BYTES: u64 = 1_024;

/// A part of a track in frames of the decoded sound, from `start` up to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub start: u64,
    pub end: u64,
}

/// What an MP4 file says about its tracks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Edits {
    /// Units of an edit's length, a second.
    movie_scale: u64,
    tracks: Vec<TrackEdits>,
    /// Delay and length in frames by the tag, which speaks of the one track of a file.
    tag: Option<(u64, u64)>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct TrackEdits {
    id: u32,
    /// Units of a place in the track, a second.
    media_scale: u64,
    /// Length in movie units and place in media units of each part that is heard.
    parts: Vec<(u64, u64)>,
}

impl Edits {
    /// Reads them. Whatever cannot be read is left out.
    pub fn read(source: &mut Source) -> Edits {
        let mut edits = Edits::default();
        let len = source.len;
        let mut walk = Walk { source, left: MAX_BOXES };
        walk.each(0, len, &mut |walk, it| {
            if &it.kind == b"moov" {
                edits.movie(walk, it);
            }
        });
        edits
    }

    fn movie(&mut self, walk: &mut Walk<'_, '_>, movie: Atom) {
        walk.each(movie.body, movie.end, &mut |walk, it| match &it.kind {
            b"mvhd" => self.movie_scale = walk.scale(it),
            b"trak" => self.tracks.push(TrackEdits::read(walk, it)),
            b"udta" => walk.each(it.body, it.end, &mut |walk, it| {
                if &it.kind == b"meta" {
                    self.tag = self.tag.or(walk.gapless_tag(it));
                }
            }),
            _ => {}
        });
    }

    /// The part of this track that is heard at this rate; `None`: the file does not say, or names several parts.
    pub fn heard(&self, track: u32, rate_hz: u32) -> Option<Heard> {
        if let (Some((start, length)), [_]) = (self.tag, &self.tracks[..]) {
            return Some(Heard { start, end: start.saturating_add(length) });
        }
        let track = self.tracks.iter().find(|it| it.id == track)?;
        let [(length, place)] = track.parts[..] else { return None };
        let frames = |units: u64, scale: u64| {
            // A length may be in milliseconds: rounded up, so that no frame of the recording is lost.
            let frames =
                (u128::from(units) * u128::from(rate_hz)).div_ceil(u128::from(scale.max(1)));
            u64::try_from(frames).unwrap_or(u64::MAX)
        };
        if self.movie_scale == 0 || track.media_scale == 0 {
            return None;
        }
        let start = frames(place, track.media_scale);
        // A length of zero means up to the end.
        let end = match length {
            0 => u64::MAX,
            length => start.saturating_add(frames(length, self.movie_scale)),
        };
        Some(Heard { start, end })
    }
}

impl TrackEdits {
    fn read(walk: &mut Walk<'_, '_>, track: Atom) -> TrackEdits {
        let mut edits = TrackEdits::default();
        walk.each(track.body, track.end, &mut |walk, it| match &it.kind {
            b"tkhd" => edits.id = walk.after_times(it),
            b"edts" => walk.each(it.body, it.end, &mut |walk, it| {
                if &it.kind == b"elst" {
                    edits.parts = walk.edit_list(it);
                }
            }),
            b"mdia" => walk.each(it.body, it.end, &mut |walk, it| {
                if &it.kind == b"mdhd" {
                    edits.media_scale = walk.scale(it);
                }
            }),
            _ => {}
        });
        edits
    }
}

/// A box: four letters, and where its body begins and ends.
#[derive(Debug, Clone, Copy)]
struct Atom {
    kind: [u8; 4],
    body: u64,
    end: u64,
}

/// Goes through boxes, and not for ever.
struct Walk<'w, 'p> {
    source: &'w mut Source<'p>,
    left: u32,
}

impl Walk<'_, '_> {
    fn each(&mut self, mut at: u64, end: u64, visit: &mut dyn FnMut(&mut Self, Atom)) {
        while let Some(atom) = self.next(at, end) {
            visit(self, atom);
            at = atom.end;
        }
    }

    fn next(&mut self, at: u64, end: u64) -> Option<Atom> {
        self.left = self.left.checked_sub(1)?;
        let head: [u8; 8] = self.bytes(at)?;
        let (size, kind) = (u64::from(u32_at(&head, 0)), [head[4], head[5], head[6], head[7]]);
        let (size, header) = match size {
            0 => (end.checked_sub(at)?, 8),
            1 => (u64::from_be_bytes(self.bytes(at + 8)?), 16),
            size => (size, 8),
        };
        let whole = at.checked_add(size).filter(|stop| size >= header && *stop <= end)?;
        Some(Atom { kind, body: at + header, end: whole })
    }

    fn bytes<const N: usize>(&mut self, at: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (self.source.read_at(at, &mut bytes).ok()? == N).then_some(bytes)
    }

    /// Two times stand before what is looked for in `mvhd`, `mdhd` and `tkhd`: of 32 bits, or of 64.
    fn after_times(&mut self, atom: Atom) -> u32 {
        let wide = self.bytes::<1>(atom.body) == Some([1]);
        let at = atom.body + if wide { 20 } else { 12 };
        self.bytes(at).map_or(0, u32::from_be_bytes)
    }

    fn scale(&mut self, atom: Atom) -> u64 {
        u64::from(self.after_times(atom))
    }

    /// Every part that has a place in the track; one without is a pause before the sound.
    fn edit_list(&mut self, atom: Atom) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        let Some(head) = self.bytes::<8>(atom.body) else { return parts };
        let (wide, mut at) = (head[0] == 1, atom.body + 8);
        let size = if wide { 20 } else { 12 };
        for _ in 0..u32_at(&head, 4).min(MAX_BOXES) {
            let part = match wide {
                true => self.bytes::<20>(at).map(|it| (u64_at(&it, 0), u64_at(&it, 8) as i64)),
                false => self
                    .bytes::<12>(at)
                    .map(|it| (u64::from(u32_at(&it, 0)), i64::from(u32_at(&it, 4) as i32))),
            };
            let Some((length, place)) = part.filter(|_| at + size <= atom.end) else { break };
            parts.extend(u64::try_from(place).ok().map(|place| (length, place)));
            at += size;
        }
        parts
    }

    /// Delay and length by the tag `iTunSMPB`: hexadecimal numbers, of which the second is the delay, the third
    /// the padding and the fourth the length.
    fn gapless_tag(&mut self, meta: Atom) -> Option<(u64, u64)> {
        let mut found = None;
        // Version and flags stand before the boxes in `meta`.
        self.each(meta.body + 4, meta.end, &mut |walk, it| {
            if &it.kind == b"ilst" {
                walk.each(it.body, it.end, &mut |walk, it| {
                    if &it.kind == b"----" {
                        found = found.or(walk.smpb(it));
                    }
                });
            }
        });
        found
    }

    fn smpb(&mut self, tag: Atom) -> Option<(u64, u64)> {
        let (mut named, mut numbers) = (false, None);
        self.each(tag.body, tag.end, &mut |walk, it| match &it.kind {
            b"name" => named = walk.text(it, 4).as_deref() == Some("iTunSMPB"),
            b"data" => numbers = walk.text(it, 8),
            _ => {}
        });
        let numbers = numbers.filter(|_| named)?;
        let mut numbers = numbers.split_whitespace().map(|word| u64::from_str_radix(word, 16));
        let (_, delay, _padding, length) =
            (numbers.next()?, numbers.next()?.ok()?, numbers.next()?, numbers.next()?.ok()?);
        (length > 0).then_some((delay, length))
    }

    fn text(&mut self, atom: Atom, skipped: u64) -> Option<String> {
        let at = atom.body + skipped;
        let length = atom.end.checked_sub(at).filter(|length| *length <= MAX_TAG_BYTES)?;
        let mut bytes = vec![0; length as usize];
        let read = self.source.read_at(at, &mut bytes).ok()?;
        String::from_utf8(bytes).ok().filter(|text| text.len() == read)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut raw = [0; 4];
    raw.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(raw)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atom(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let size = (8 + body.len()) as u32;
        [&size.to_be_bytes()[..], kind, body].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// One track, number 7, with 44100 units a second in a movie with `scale`.
    fn movie(scale: u32, entries: &[u32], more: &[u8]) -> Vec<u8> {
        let count = entries.len() as u32 / 3;
        let elst = atom(b"elst", &[words(&[0, count]), words(entries)].concat());
        let track = [
            atom(b"tkhd", &words(&[0, 0, 0, 7])),
            atom(b"edts", &elst),
            atom(b"mdia", &atom(b"mdhd", &words(&[0, 0, 0, 44_100]))),
        ];
        let all =
            [atom(b"mvhd", &words(&[0, 0, 0, scale])), atom(b"trak", &track.concat()), more.into()];
        [atom(b"ftyp", b"M4A "), atom(b"moov", &all.concat())].concat()
    }

    fn heard(bytes: &[u8], track: u32, rate_hz: u32) -> Option<Heard> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Edits::read(&mut Source::open(file.path()).unwrap()).heard(track, rate_hz)
    }

    #[test]
    fn one_edit_is_the_part_that_is_heard() {
        let rate = 0x1_0000;
        let file = movie(1000, &[1000, 1024, rate], &[]);
        assert_eq!(heard(&file, 7, 44_100), Some(Heard { start: 1024, end: 1024 + 44_100 }));
        assert_eq!(heard(&file, 7, 22_050), Some(Heard { start: 512, end: 512 + 22_050 }));
        assert_eq!(heard(&file, 8, 44_100), None, "another track");
        // A pause before it; milliseconds rounded up.
        let file = movie(1000, &[500, u32::MAX, rate, 1, 2112, rate], &[]);
        assert_eq!(heard(&file, 7, 44_100), Some(Heard { start: 2112, end: 2112 + 45 }));
        let file = movie(1000, &[0, 64, rate], &[]);
        assert_eq!(heard(&file, 7, 44_100), Some(Heard { start: 64, end: u64::MAX }));
    }

    #[test]
    fn several_parts_and_damage_are_not_guessed_at() {
        let file = movie(1000, &[10, 0, 1, 10, 500, 1], &[]);
        assert_eq!(heard(&file, 7, 44_100), None);
        assert_eq!(heard(&movie(0, &[1000, 1024, 1], &[]), 7, 44_100), None);
        let file = movie(1000, &[1000, 1024, 1], &[]);
        for end in 1..file.len() {
            let _ = heard(&file[..end], 7, 44_100);
        }
        for at in 0..file.len() {
            for value in [0, 1, 0xff] {
                let mut bad = file.clone();
                bad[at] = value;
                let _ = heard(&bad, 7, 44_100);
            }
        }
    }

    #[test]
    fn the_tag_counts_in_frames_and_comes_first() {
        let data =
            [words(&[1, 0]), b" 00000000 00000840 000001CA 000000000000AC44 00000000".to_vec()];
        let tag = [
            atom(b"mean", b"\0\0\0\0com.apple.iTunes"),
            atom(b"name", b"\0\0\0\0iTunSMPB"),
            atom(b"data", &data.concat()),
        ];
        let list = atom(b"ilst", &atom(b"----", &tag.concat()));
        let meta = atom(b"udta", &atom(b"meta", &[vec![0; 4], list].concat()));
        let file = movie(600, &[600, 1024, 1], &meta);
        assert_eq!(heard(&file, 7, 44_100), Some(Heard { start: 2112, end: 2112 + 44_100 }));
    }
}
