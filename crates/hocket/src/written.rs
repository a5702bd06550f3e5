//! What was written, and where the time went: real time from the start of the command.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub(crate) use hocket_files::readable;

use crate::output::{detail, note};

static BEGAN: OnceLock<Instant> = OnceLock::new();

/// The command begins; what it takes from here on is its time.
pub(crate) fn begin() {
    BEGAN.get_or_init(Instant::now);
}

/// Real time since the command began.
fn elapsed() -> Duration {
    BEGAN.get_or_init(Instant::now).elapsed()
}

/// Says that a file is written: `wrote PATH (SIZE, TIME)`. Pipes and devices have no size.
pub(crate) fn wrote(path: &Path) {
    let size = std::fs::metadata(path).ok().filter(|there| there.is_file()).map(|it| it.len());
    let size = size.map_or(String::new(), |bytes| readable(bytes) + ", ");
    note(format_args!("wrote {} ({size}{})", path.display(), seconds(elapsed())));
}

/// A time for people: `0.31 s`, `4.2 s`, `75 s`.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let places = if seconds < 1.0 { 2 } else { usize::from(seconds < 20.0) };
    format!("{seconds:.places$} s")
}

/// The parts of a command's time, one after the other; the first begins with the command.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    ended: Vec<(&'static str, Duration)>,
}

impl Parts {
    /// The part of this name ends now.
    pub(crate) fn end(&mut self, name: &'static str) {
        self.ended.push((name, elapsed()));
    }

    /// Real time up to the end of the last part.
    pub(crate) fn total(&self) -> Duration {
        self.ended.last().map_or(Duration::ZERO, |(_, end)| *end)
    }

    /// `loading 0.31 s, rendering 0.49 s`
    pub(crate) fn text(&self) -> String {
        let begins = std::iter::once(Duration::ZERO).chain(self.ended.iter().map(|(_, end)| *end));
        let part = |((name, end), begin): (&(&str, Duration), Duration)| {
            format!("{name} {}", seconds(end.saturating_sub(begin)))
        };
        self.ended.iter().zip(begins).map(part).collect::<Vec<_>>().join(", ")
    }

    /// Tells them with `--verbose`.
    pub(crate) fn tell(&self) {
        detail(format_args!("{} in all: {}", seconds(self.total()), self.text()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let at = Duration::from_millis;
        let parts = Parts { ended: vec![("loading", at(310)), ("rendering", at(4_510))] };
        assert_eq!(parts.text(), "loading 0.31 s, rendering 4.2 s");
        assert_eq!(parts.total(), at(4_510));
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            [5, 1_234, 75_400].map(|ms| seconds(Duration::from_millis(ms))),
            ["0.01 s", "1.2 s", "75 s"]
        );
    }
}
