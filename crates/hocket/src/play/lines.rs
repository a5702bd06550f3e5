//! `--headless`: a line each second, for people or for programs.

use std::time::{Duration, Instant};

use super::view::View;
use crate::output::{print, print_json};

const EVERY: Duration = Duration::from_secs(1);

/// Who reads the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Person,
    Program,
}

/// Prints until the run ends. What reads the lines may be slow: the audio threads do not wait for it.
pub(super) fn run(mut view: View<'_>, reader: Reader) {
    let mut next = Instant::now() + EVERY;
    while !view.live().has_ended() {
        let left = next.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            view.live().rest(left, || false);
            continue;
        }
        // A reader that was slow gets no burst.
        next = (next + EVERY).max(Instant::now());
        let shown = view.look();
        match reader {
            Reader::Person => print(&format!("{}\n", shown.line())),
            Reader::Program => print_json(&format!("{}\n", shown.json())),
        }
    }
}
