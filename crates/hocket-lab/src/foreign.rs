//! Text from elsewhere (records, sessions, queries, file names, tags) made fit to be shown.
//!
//! A terminal obeys control characters, and marks of direction let one text look like another. Here every
//! such character becomes its escape, as in `\u{1b}`, so that a reader sees that it is there.

use std::fmt::Write;

/// No more characters of one foreign text are shown.
const MOST: usize = 4000;
/// No line of a message is longer.
const MOST_OF_A_LINE: usize = 1000;

/// One foreign text as a part of a line: escaped, line breaks too, and cut in the middle when very long.
pub fn plain(text: &str) -> String {
    shortened(&escaped(text, is_hidden), MOST)
}

/// Whole lines that have foreign text in them: escaped, line breaks kept, nothing cut.
pub fn lines(text: &str) -> String {
    escaped(text, |c| c != '\n' && is_hidden(c))
}

/// As [`lines`], and a long line is cut in the middle: what is wrong and what to do stand at its two ends.
pub fn message(text: &str) -> String {
    let cut: Vec<String> =
        lines(text).split('\n').map(|line| shortened(line, MOST_OF_A_LINE)).collect();
    cut.join("\n")
}

/// The same JSON with every hidden character as the escape that JSON has for it.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The text itself, or its two ends with the number of characters left out between them.
pub fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.into();
    }
    let tail = most / 4;
    let head = most - tail;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let (begin, end) = (&text[..at(head)], &text[at(length - tail)..]);
    format!("{begin} [... {} characters left out ...] {end}", length - most)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_escaped(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// Characters that act instead of being seen. Joiners (U+200C, U+200D) are parts of words and stay.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_is_seen() {
        assert_eq!(plain("a\u{1b}[31mb\n\u{202e}c\u{9b}"), "a\\u{1b}[31mb\\n\\u{202e}c\\u{9b}");
        assert_eq!(lines("a\n\u{7}b\n"), "a\n\\u{7}b\n");
        let stays = "Bjørk \u{65}\u{301} 東京 \u{1f469}\u{200d}\u{1f3a4} C:\\dir 'x'";
        assert_eq!(plain(stays), stays);
    }

    #[test]
    fn json_stays_the_same_json() {
        let text = "{\"a\u{202e}\": \"\u{9b}\u{e0001}é\"}\n";
        let safe = json(text);
        assert!(safe.chars().all(|c| c == '\n' || !is_hidden(c)), "{safe}");
        let [before, after] = [text, &safe].map(serde_json::from_str::<serde_json::Value>);
        assert_eq!(before.unwrap(), after.unwrap());
    }

    #[test]
    fn what_is_left_out_is_counted() {
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
        assert_eq!(shortened("äbcdefghi", 8), "äbcdef [... 1 characters left out ...] hi");
        let long = format!("{}\nend", "x".repeat(1 << 20));
        let short = message(&long);
        assert!(short.len() < 1100 && short.ends_with("\nend"), "{short}");
        assert!(short.contains("1047576 characters"), "{short}");
    }
}
