//! Phrases that plain English avoids, in the texts that are free of them.

use std::path::Path;

use crate::finding::Finding;

/// A phrase, and the plain words for it.
struct Phrase {
    hard: &'static str,
    plain: &'static str,
}

const fn phrase(hard: &'static str, plain: &'static str) -> Phrase {
    Phrase { hard, plain }
}

/// What no plain text says. In lower case.
const PHRASES: [Phrase; 12] = [
    phrase("is told", "name who reports it: `Hocket prints`, `see`"),
    phrase("are told", "name who reports it: `Hocket prints`, `see`"),
    phrase("was told", "name who reports it: `Hocket prints`, `see`"),
    phrase("hears of", "`learns of`, `is notified of`"),
    phrase("hear of", "`learn of`, `be notified of`"),
    phrase("whoever", "name the thread or the person: `the worker that`"),
    phrase("gone by", "`passed`"),
    phrase("for want of", "`without`, `because there is no`"),
    phrase("was got", "`obtained`"),
    phrase("be had", "`be obtained`, `available`"),
    phrase("stands beside", "`is next to`"),
    phrase("whence", "`from where`"),
];

/// Files and folders that are free of these phrases. One is added once it passes.
const PLAIN: [&str; 31] = [
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "CONTRIBUTING.md",
    "docs/scheduling.md",
    "docs/play.md",
    "docs/tune.md",
    "docs/session-format.md",
    "docs/effects.md",
    "docs/embedding.md",
    "crates/hocket/src/cli.rs",
    "crates/hocket/src/cli/",
    "crates/hocket/src/machine/",
    "crates/hocket/src/lab/args.rs",
    "crates/hocket-plan/src/",
    "crates/hocket-session/src/",
    "crates/hocket-machine/src/",
    "crates/hocket-engine/src/",
    "crates/hocket-engine/PROTOCOL.md",
    "crates/hocket-rt/PROTOCOL.md",
    "crates/hocket-rt/src/",
    "crates/hocket-c/src/",
    "crates/hocket-c/include/hocket.h",
    "crates/hocket-trace/src/",
    "crates/hocket-time/src/",
    "crates/hocket-disk/src/",
    "docs/lab.md",
    "docs/lab-sources.md",
    "docs/fleet.md",
    "docs/trace.md",
    "comparison/README.md",
];

/// Checks one text file of the checkout.
pub fn check_text(file: &Path, text: &str) -> Vec<Finding> {
    let (is_plain, is_page, is_source) = (is_plain(file), is_page(file), is_source(file));
    if !is_plain && !is_source {
        return Vec::new();
    }
    let lines: Vec<String> = text.lines().map(str::to_lowercase).collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let next = lines.get(index + 1).map_or("", |next| without_marks(next));
        let finding = |what: String, remedy: &str| Finding {
            file: file.to_path_buf(),
            line: Some(index + 1),
            rule: "plain-english",
            what,
            remedy: remedy.into(),
        };
        let said = PHRASES.iter().filter(|phrase| is_plain && says(line, next, phrase.hard));
        findings.extend(said.map(|it| finding(format!("says `{}`", it.hard), it.plain)));
        let is_shown = is_plain && is_page || is_source && !line.trim_start().starts_with("//");
        if is_shown && has_us(line) {
            findings.push(finding("writes `us` for microseconds".into(), "write `µs`"));
        }
    }
    findings
}

fn is_plain(file: &Path) -> bool {
    PLAIN.iter().any(|plain| file.starts_with(plain))
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// Sources of what users run; outside of comments, a unit of time stands in a text that they read.
fn is_source(file: &Path) -> bool {
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    is_rust && file.starts_with("crates") && file.components().any(|part| part.as_os_str() == "src")
}

/// Whether `phrase` begins in `line`; its end may be in the next one.
fn says(line: &str, next: &str, phrase: &str) -> bool {
    let text = format!("{line} {next}");
    text.match_indices(phrase).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let after = text[start + found.len()..].chars().next();
        let alone = ![before, after].into_iter().flatten().any(is_in_word);
        start < line.len() && alone
    })
}

/// Whether `sign` continues a word or the name of a code item.
fn is_in_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// A line without the marks of a comment or a list at its beginning.
fn without_marks(line: &str) -> &str {
    line.trim_start_matches(|sign: char| sign.is_whitespace() || "/!-*|>#".contains(sign))
}

/// Whether a figure, or the place of one, stands before the letters `us`.
fn has_us(line: &str) -> bool {
    line.match_indices(" us").any(|(start, found)| {
        let figure = line[..start].ends_with(|sign: char| sign.is_ascii_digit() || sign == '}');
        let after = line[start + found.len()..].chars().next();
        figure && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> usize {
        check_text(Path::new(file), text).len()
    }

    #[test]
    fn every_phrase_is_found_in_plain_files_only() {
        for Phrase { hard, .. } in PHRASES {
            assert_eq!(found("README.md", &format!("A text, {hard}.")), 1, "{hard}");
            assert_eq!(found("crates/hocket-plan/src/a.rs", &format!("/// {hard} x")), 1, "{hard}");
            assert_eq!(
                found("crates/hocket-media/src/a.rs", &format!("/// {hard} x")),
                0,
                "{hard}"
            );
        }
    }

    #[test]
    fn a_phrase_over_two_lines_is_found_once() {
        let (first, second) = ("is", "told");
        assert_eq!(found("docs/play.md", &format!("what {first}\n{second} here")), 1);
        let comment = format!("    /// what {first}\n    /// {second} here");
        assert_eq!(found("crates/hocket-plan/src/a.rs", &comment), 1);
    }

    #[test]
    fn parts_of_words_are_no_phrases() {
        assert_eq!(found("README.md", "this told, maybe hadn't, beware hours"), 0);
        assert_eq!(found("README.md", "the test `whoever_asks_is_told`"), 0);
    }

    #[test]
    fn microseconds_have_their_letter_on_pages_and_in_messages() {
        assert_eq!(found("README.md", "within 40 us of it"), 1);
        assert_eq!(found("README.md", "within 40 µs of it, 2 users, for us"), 0);
        assert_eq!(found("crates/hocket-plan/src/a.rs", "// 40 us"), 0);
        assert_eq!(found("crates/hocket-lab/src/a.rs", "    \"took {took:.0} us\""), 1);
        assert_eq!(found("crates/hocket-lab/tests/a.rs", "    \"took {took:.0} us\""), 0);
    }
}
