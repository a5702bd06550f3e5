//! Where a MIDI file stops making sense. The parser reads up to there, and is silent about it.

use std::fmt;

use midly::{EventIter, MetaMessage, TrackEventKind};

/// The first place where a MIDI file is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The file ends inside a track. Tracks count from 1, bytes of the file from 0.
    CutShort { track: usize, byte: usize },
    /// An event makes no sense.
    NoEvent { track: usize, byte: usize },
    /// A track is over, and nothing says so.
    NoEnd { track: usize, byte: usize },
    /// Fewer tracks are there than the header counts.
    FewTracks { found: usize, stated: usize, byte: usize },
}

impl Damage {
    /// Of a file that the parser takes; `None`: it is whole.
    pub(crate) fn of(bytes: &[u8]) -> Option<Damage> {
        let (_, tracks) = midly::parse(bytes).ok()?;
        let stated = tracks.size_hint().0;
        let mut found = 0;
        for events in tracks.filter_map(Result::ok) {
            found += 1;
            if let Some(damage) = of_track(bytes, found, events) {
                return Some(damage);
            }
        }
        (found < stated).then_some(Damage::FewTracks { found, stated, byte: bytes.len() })
    }
}

fn of_track(bytes: &[u8], track: usize, mut events: EventIter<'_>) -> Option<Damage> {
    let start = place(bytes, events.unread());
    let mut is_over = false;
    loop {
        let left = events.unread();
        match events.next() {
            Some(Ok(event)) => {
                is_over = event.kind == TrackEventKind::Meta(MetaMessage::EndOfTrack);
            }
            _ if left.is_empty() && is_over => return None,
            _ => {
                let byte = place(bytes, left);
                return Some(match left.is_empty() {
                    _ if is_cut(bytes, start) => Damage::CutShort { track, byte },
                    true => Damage::NoEnd { track, byte },
                    false => Damage::NoEvent { track, byte },
                });
            }
        }
    }
}

/// Which byte of the file a part of it begins at.
fn place(bytes: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize).min(bytes.len())
}

/// Whether a track that begins there should end behind the file; its length is in the four bytes before.
fn is_cut(bytes: &[u8], start: usize) -> bool {
    let length = bytes.get(..start).and_then(<[u8]>::last_chunk::<4>);
    let length = length.map_or(0, |length| u32::from_be_bytes(*length));
    start as u64 + u64::from(length) > bytes.len() as u64
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::CutShort { track, byte } => {
                write!(f, "it is cut short in track {track}, which can be read up to byte {byte}")
            }
            Damage::NoEvent { track, byte } => {
                write!(f, "track {track} is damaged at byte {byte}")
            }
            Damage::NoEnd { track, byte } => {
                write!(f, "track {track} has no end at byte {byte}")
            }
            Damage::FewTracks { found, stated, byte } => {
                write!(f, "it has {found} of {stated} tracks, up to byte {byte}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &[u8] = b"\0\xff\x2f\0";
    const NOTE: &[u8] = b"\0\x90\x3c\x40\x60\x80\x3c\0";

    /// A file whose header counts `stated` tracks, with these.
    fn file(stated: u8, tracks: &[&[&[u8]]]) -> Vec<u8> {
        let mut bytes = b"MThd\0\0\0\x06\0\x01\0".to_vec();
        bytes.extend([stated, 0, 96]);
        for events in tracks {
            let events = events.concat();
            bytes.extend(b"MTrk");
            bytes.extend((events.len() as u32).to_be_bytes());
            bytes.extend(events);
        }
        bytes
    }

    #[test]
    fn whole_files_are_whole() {
        for tracks in [&[&[NOTE, END][..]][..], &[&[END], &[NOTE, NOTE, END]]] {
            assert_eq!(Damage::of(&file(tracks.len() as u8, tracks)), None);
        }
        // More tracks than the header counts are no loss.
        assert_eq!(Damage::of(&file(1, &[&[END], &[NOTE, END]])), None);
    }

    #[test]
    fn damage_has_its_track_and_byte() {
        let check = |bytes: &[u8], expected: Damage| {
            assert_eq!(Damage::of(bytes), Some(expected), "{bytes:x?}");
        };
        let whole = file(2, &[&[NOTE, END], &[NOTE, NOTE, END]]);
        // The first track has its events from byte 22, the second from byte 42.
        check(&whole[..48], Damage::CutShort { track: 2, byte: 46 });
        check(&whole[..50], Damage::CutShort { track: 2, byte: 50 });
        check(&whole[..24], Damage::CutShort { track: 1, byte: 22 });
        check(&whole[..34], Damage::FewTracks { found: 1, stated: 2, byte: 34 });
        check(&whole[..40], Damage::FewTracks { found: 1, stated: 2, byte: 40 });
        check(&whole[..42], Damage::CutShort { track: 2, byte: 42 });
        let mut damaged = whole.clone();
        damaged[48] = 0xff;
        check(&damaged, Damage::NoEvent { track: 2, byte: 46 });
        check(&file(2, &[&[NOTE], &[END]]), Damage::NoEnd { track: 1, byte: 30 });
        check(&file(1, &[&[NOTE, END, NOTE]]), Damage::NoEnd { track: 1, byte: 42 });
        check(&file(1, &[&[]]), Damage::NoEnd { track: 1, byte: 22 });
    }
}
