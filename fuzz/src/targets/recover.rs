//! Interrupted recordings: the header may be corrected, and nothing else.

use hocket_disk::{Recovery, recover};

use super::scratch;

/// More bytes than the lengths of any header take: the sizes of RIFF, data and fact, and the chunk `ds64`.
const MOST_CHANGED: usize = 64;

pub fn check(bytes: &[u8]) {
    let path = scratch::file("take.wav", bytes);
    let found = recover(&path);
    let after = std::fs::read(&path).expect("the file is still there");
    let is_events = matches!(found, Ok(Recovery::RepairedEvents { .. }));
    // A MIDI file gains the ends of its notes.
    assert!(is_events || after.len() == bytes.len(), "nothing is added or removed");
    let changed = after.iter().zip(bytes).filter(|(after, before)| after != before).count();
    match found {
        Ok(Recovery::Repaired { frames, .. }) => {
            assert!(changed <= MOST_CHANGED, "{changed} bytes are other ones");
            let again = recover(&path).expect("it is a recording");
            // A length of zero in `ds64` says as little as none, so an empty RF64 file is corrected each time.
            assert!(frames == 0 || again == Recovery::Intact { frames }, "{again}");
        }
        Ok(Recovery::RepairedEvents { events, .. }) => {
            let again = recover(&path).expect("it is a take");
            assert_eq!(again, Recovery::IntactEvents { events });
        }
        Ok(
            Recovery::Intact { .. } | Recovery::IntactEvents { .. } | Recovery::LeftAlone { .. },
        ) => assert_eq!(changed, 0),
        Err(error) => {
            assert_eq!(changed, 0, "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}
