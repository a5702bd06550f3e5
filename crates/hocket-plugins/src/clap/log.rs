//! What an instance of a CLAP plug-in logs: its first lines, and how many more there were. A plug-in may log in every
//! block, from any thread, so a line here is a copy without a lock or an allocation. The main thread passes it on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many lines of an instance are passed on.
const KEPT: usize = 3;
/// The most bytes of a line.
const BYTES: usize = 240;

/// The lines of one instance.
#[derive(Debug, Default)]
pub struct Log {
    /// Gives each line its place, and counts those without one. Relaxed: [`OnceLock`] publishes the lines.
    logged: AtomicU64,
    lines: [OnceLock<Line>; KEPT],
    /// How many the main thread has passed on. Relaxed: it alone writes, and the audio thread may see it late.
    told: AtomicU64,
}

#[derive(Debug)]
struct Line {
    bytes: [u8; BYTES],
    length: usize,
}

impl Log {
    /// Takes a line.
    ///
    /// Thread: any, also inside a block. Cost: a copy of [`BYTES`] at most; no allocation, lock or system call.
    pub fn add(&self, text: &str) {
        let place = self.logged.fetch_add(1, Relaxed);
        // The place is this call's alone, so `set` meets nobody and never waits.
        if let Some(line) = self.lines.get(usize::try_from(place).unwrap_or(usize::MAX)) {
            let _ = line.set(Line::of(text));
        }
    }

    /// Whether the main thread has lines to pass on. An answer that is late is right after a later block.
    pub fn has_news(&self) -> bool {
        self.told.load(Relaxed) < self.logged.load(Relaxed).min(KEPT as u64)
    }

    /// The lines that came since the last call. For the main thread.
    pub fn take_news(&self) -> Vec<String> {
        let told = self.told.load(Relaxed);
        let news = self.lines.iter().skip(told as usize).map_while(OnceLock::get);
        let news: Vec<String> = news.map(Line::text).collect();
        self.told.store(told + news.len() as u64, Relaxed);
        news
    }

    /// How many lines had no place.
    pub fn more(&self) -> u64 {
        self.logged.load(Relaxed).saturating_sub(KEPT as u64)
    }
}

impl Line {
    fn of(text: &str) -> Line {
        let fits = |end: &usize| text.is_char_boundary(*end);
        let length = (0..=text.len().min(BYTES)).rev().find(fits).unwrap_or(0);
        let mut bytes = [0; BYTES];
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Line { bytes, length }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..self.length]).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_are_kept_and_the_others_counted() {
        let log = Log::default();
        assert!(!log.has_news() && log.take_news().is_empty());
        log.add("one\n");
        assert!(log.has_news());
        assert_eq!(log.take_news(), ["one"]);
        assert!(!log.has_news() && log.take_news().is_empty());
        (2..=70).for_each(|number| log.add(&format!("{number}")));
        assert_eq!(log.take_news(), ["2", "3"]);
        assert!(!log.has_news());
        assert_eq!(log.more(), 67);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let log = Log::default();
        log.add(&format!("a{}", "\u{e4}".repeat(BYTES)));
        log.add("");
        let [long, empty] = log.take_news().try_into().unwrap();
        assert_eq!(long, format!("a{}", "\u{e4}".repeat((BYTES - 1) / 2)));
        assert_eq!(empty, "");
    }

    #[test]
    fn lines_of_several_threads_are_whole() {
        let log = Log::default();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let log = &log;
                scope.spawn(move || (0..50).for_each(|_| log.add(&format!("{number}").repeat(99))));
            }
        });
        let lines = log.take_news();
        assert!(lines.len() == KEPT && lines.iter().all(|line| line.len() == 99), "{lines:?}");
        assert!(lines.iter().all(|line| line.bytes().all(|byte| byte == line.as_bytes()[0])));
        assert_eq!(log.more(), 200 - KEPT as u64);
    }
}
