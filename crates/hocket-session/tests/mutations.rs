//! Whatever happens to a valid session file: it loads into a session that can be planned, or there
//! is a message; never a panic.

mod common;

use common::{FULL, Folder};
use hocket_plan::graph::{EffectFacts, session_graph};
use hocket_plan::session::{Clip, Strip};
use hocket_plan::{Effect, Session};
use hocket_session::{Loaded, SessionError, SessionErrors};
use proptest::prelude::*;
use proptest::sample::Index;

/// What people and disks do to files.
#[derive(Debug, Clone)]
enum Mutation {
    Overwrite(Index, u8),
    Insert(Index, String),
    Delete(Index, usize),
    Truncate(Index),
    SwapLines(Index, Index),
    RepeatLine(Index, Index),
    /// The value of a line becomes another one.
    Value(Index, String),
}

fn value() -> impl Strategy<Value = String> {
    let fixed = [
        "-inf",
        "nan",
        "0",
        "-1",
        "1e400",
        "99999999999999999999",
        "true",
        "\"\"",
        "\"master\"",
        "\"hall\"",
        "\"rhythm\"",
        "\"seats\"",
        "[]",
        "[{}]",
        "{}",
        "{a.b = 1}",
        "07:32:00",
        "\"audio/a.wav\"",
        "\"..\"",
        "\"/\"",
        "\"\\u0000\"",
        "'''\n'''",
        "0x7fffffffffffffff",
    ];
    prop_oneof![
        proptest::sample::select(fixed.map(str::to_owned).to_vec()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        any::<i64>().prop_map(|number| number.to_string()),
        ".{0,12}".prop_map(|text| format!("\"{text}\"")),
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    let inserted = prop_oneof![value(), "[\\[\\]{}=.,\"'#\n a-z0-9_\u{e4}]{1,6}"];
    prop_oneof![
        1 => (index(), any::<u8>()).prop_map(|(at, byte)| Mutation::Overwrite(at, byte)),
        1 => (index(), inserted).prop_map(|(at, text)| Mutation::Insert(at, text)),
        1 => (index(), 1usize..40).prop_map(|(at, count)| Mutation::Delete(at, count)),
        1 => index().prop_map(Mutation::Truncate),
        1 => (index(), index()).prop_map(|(a, b)| Mutation::SwapLines(a, b)),
        1 => (index(), index()).prop_map(|(from, to)| Mutation::RepeatLine(from, to)),
        4 => (index(), value()).prop_map(|(line, value)| Mutation::Value(line, value)),
    ]
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match self {
            Mutation::Overwrite(at, byte) => bytes[at.index(length)] = *byte,
            Mutation::Insert(at, text) => {
                let at = at.index(length);
                bytes.splice(at..at, text.bytes());
            }
            Mutation::Delete(at, count) => {
                let at = at.index(length);
                bytes.drain(at..(at + count).min(length));
            }
            Mutation::Truncate(at) => bytes.truncate(at.index(length)),
            _ => self.apply_to_lines(bytes),
        }
    }

    fn apply_to_lines(&self, bytes: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(Vec::from).collect();
        let count = lines.len();
        match self {
            Mutation::SwapLines(a, b) => lines.swap(a.index(count), b.index(count)),
            Mutation::RepeatLine(from, to) => {
                let line = lines[from.index(count)].clone();
                lines.insert(to.index(count), line);
            }
            Mutation::Value(line, value) => {
                let line = &mut lines[line.index(count)];
                if let Some(equals) = line.iter().position(|byte| *byte == b'=') {
                    line.truncate(equals + 1);
                    line.extend(value.bytes());
                }
            }
            _ => {}
        }
        *bytes = lines.join(&b'\n');
    }
}

struct Free;

impl EffectFacts for Free {
    fn cost(&self, _: &Effect) -> f64 {
        1.0
    }

    fn latency_frames(&self, _: &Effect) -> u32 {
        0
    }
}

fn check(text: &[u8], result: Result<Loaded, SessionErrors>) {
    match result {
        Ok(loaded) => check_session(&loaded.session),
        Err(errors) => {
            assert!(errors.count() > 0);
            errors.iter().for_each(|error| check_message(text, error));
        }
    }
}

/// What every reader of a session may rely on.
fn check_session(session: &Session) {
    assert!((8_000..=384_000).contains(&session.sample_rate_hz));
    assert!(session.length_s.is_none_or(|length| length > 0.0 && length.is_finite()));
    for id in session.strip_ids() {
        check_strip(session.strip(id));
    }
    for clip in session.tracks.iter().flat_map(|track| &track.clips) {
        check_clip(clip, session.media.len());
    }
    session_graph(session, &Free).expect("a session that loads can be planned");
}

fn is_level(gain_db: f32) -> bool {
    gain_db == f32::NEG_INFINITY || (-200.0..=24.0).contains(&gain_db)
}

fn check_strip(strip: &Strip) {
    assert!(!strip.name.is_empty());
    assert!(is_level(strip.gain_db) && (-1.0..=1.0).contains(&strip.pan));
    assert!(strip.sends.iter().all(|send| is_level(send.gain_db)));
    assert!(strip.chain.iter().flat_map(|effect| &effect.values).all(|value| value.is_finite()));
}

fn check_clip(clip: &Clip, media: usize) {
    assert!(clip.media.0 < media && is_level(clip.gain_db));
    for time in [clip.start_s, clip.offset_s, clip.fade_in_s, clip.fade_out_s] {
        assert!((0.0..=1e6).contains(&time));
    }
    assert!(clip.length_s.is_none_or(|length| length > 0.0 && length <= 1e6));
}

fn check_message(text: &[u8], error: &SessionError) {
    let message = error.to_string();
    assert!(message.contains("live.toml") && message.contains("= remedy: "), "{message}");
    assert!(!error.cause().is_empty() && !error.remedy().is_empty(), "{message}");
    let Some(place) = error.place() else { return };
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    assert!((1..=lines).contains(&place.line), "{message}");
    assert!((1..=place.text_line.chars().count() + 1).contains(&place.column), "{message}");
    assert_eq!(message.lines().count(), 5, "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_mutated_session_loads_or_is_refused(
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let folder = Folder::new();
        let mut text = FULL.as_bytes().to_vec();
        mutations.iter().for_each(|mutation| mutation.apply(&mut text));
        let result = folder.load(&text);
        check(&text, result);
    }

    #[test]
    fn noise_is_refused(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let result = Folder::new().load(&text);
        prop_assert!(result.is_err());
        check(&text, result);
    }

    #[test]
    fn a_file_cut_anywhere_loads_or_is_refused(at in 0..FULL.len()) {
        let text = &FULL.as_bytes()[..at];
        check(text, Folder::new().load(text));
    }
}
