//! Lines of bounded length, of a text of bounded length with a bounded number of them.

use std::io::BufRead;

use super::ReadError;
use super::error::check_first;

/// Bytes of a text that are read: more than 80 million events of the scheduler.
const MOST_BYTES: u64 = 16 << 30;
/// Lines of a text that are read. A text of shorter lines than those of events would have billions.
const MOST_LINES: u64 = 100_000_000;
/// Bytes of a line that are passed over. A text that has more has no lines.
const MOST_OF_A_LINE: u64 = 64 << 20;

/// Reads line by line, and holds one at a time.
pub(crate) struct Lines<R> {
    text: R,
    longest: usize,
    number: u64,
    held: Vec<u8>,
    /// Bytes that may still be read.
    left: u64,
}

/// One line.
pub(crate) struct TextLine<'a> {
    /// From 1 on.
    pub number: u64,
    /// Without its end; the beginning of a line that is too long.
    pub bytes: &'a [u8],
    /// Whether it is too long.
    pub is_cut: bool,
}

impl<R: BufRead> Lines<R> {
    /// Keeps `longest` bytes of a line.
    pub fn new(text: R, longest: usize) -> Lines<R> {
        Lines { text, longest, number: 0, held: Vec::new(), left: MOST_BYTES }
    }

    /// The number of the last line.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` after the last one.
    ///
    /// # Errors
    /// The system cannot read it, its first bytes say that it is no text, or it, or a line of it, is too long, or it has
    /// too many lines.
    pub fn next(&mut self) -> Result<Option<TextLine<'_>>, ReadError> {
        self.held.clear();
        let (mut is_cut, mut is_some, mut length) = (false, false, 0);
        loop {
            let ready = match self.text.fill_buf() {
                Ok(ready) => ready,
                Err(why) if why.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(why) => {
                    return Err(ReadError::Io { line: self.number + 1, why: why.to_string() });
                }
            };
            if ready.is_empty() {
                break;
            }
            is_some = true;
            let end = ready.iter().position(|byte| *byte == b'\n');
            let part = &ready[..end.unwrap_or(ready.len())];
            let kept = part.len().min(self.longest - self.held.len());
            self.held.extend_from_slice(&part[..kept]);
            is_cut |= kept < part.len();
            // What is no text may have no line's end.
            if self.number == 0 {
                check_first(&self.held)?;
            }
            let used = part.len() + usize::from(end.is_some());
            self.text.consume(used);
            length += used as u64;
            if length > MOST_OF_A_LINE {
                return Err(ReadError::NoLines { line: self.number + 1, bytes: MOST_OF_A_LINE });
            }
            self.left = match self.left.checked_sub(used as u64) {
                Some(left) => left,
                None => return Err(ReadError::TooLarge { bytes: MOST_BYTES }),
            };
            if end.is_some() {
                break;
            }
        }
        self.number += u64::from(is_some);
        if self.number > MOST_LINES {
            return Err(ReadError::TooManyLines { lines: MOST_LINES });
        }
        let line = TextLine { number: self.number, bytes: &self.held, is_cut };
        Ok(is_some.then_some(line))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    const LONGEST: usize = 100;

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let text = format!("a\n{}\n\nend", "x".repeat(3 * LONGEST));
        // A small buffer, so that lines come in pieces.
        let mut lines = Lines::new(BufReader::with_capacity(7, text.as_bytes()), LONGEST);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push((line.number, line.bytes.len(), line.is_cut));
        }
        assert_eq!(found, [(1, 1, false), (2, LONGEST, true), (3, 0, false), (4, 3, false)]);
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let endless = BufReader::new(std::io::Read::chain(&b"a\n"[..], std::io::repeat(b'x')));
        let mut lines = Lines::new(endless, LONGEST);
        assert!(lines.next().unwrap().is_some());
        let why = lines.next().err().unwrap();
        assert_eq!(why, ReadError::NoLines { line: 2, bytes: MOST_OF_A_LINE });
        assert!(why.to_string().starts_with("line 2: it has more than 64 MiB"), "{why}");
    }

    #[test]
    fn a_text_that_is_too_large_is_refused() {
        let mut lines = Lines { left: 5, ..Lines::new(&b"a\nb\nc\nd\n"[..], LONGEST) };
        assert!(lines.next().unwrap().is_some() && lines.next().unwrap().is_some());
        let why = lines.next().err().unwrap();
        assert_eq!(why, ReadError::TooLarge { bytes: MOST_BYTES });
        assert!(why.to_string().contains("more than 16 GiB"), "{why}");
    }

    #[test]
    fn a_text_with_too_many_lines_is_refused() {
        let mut lines = Lines { number: MOST_LINES - 2, ..Lines::new(&b"a\nb\nc\n"[..], LONGEST) };
        assert!(lines.next().unwrap().is_some() && lines.next().unwrap().is_some());
        let why = lines.next().err().unwrap();
        assert_eq!(why, ReadError::TooManyLines { lines: MOST_LINES });
        assert!(why.to_string().contains("more than 100 million lines; record"), "{why}");
    }
}
