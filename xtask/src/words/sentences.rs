//! Sentences of pages that are too long to read at once.

use std::path::Path;

use crate::finding::Finding;

/// The most words of a sentence.
const LONGEST: usize = 25;

/// Checks a page for people: those of the root and of `docs/`, but not the records. The changelog is a list of names.
pub fn check_page(file: &Path, text: &str) -> Vec<Finding> {
    if !is_page(file) {
        return Vec::new();
    }
    let long = paragraphs(text).into_iter().flat_map(|(line, paragraph)| {
        let sentences = sentences(&plain(&paragraph));
        sentences.into_iter().filter(|it| words(it) > LONGEST).map(move |it| (line, it))
    });
    let finding = |(line, sentence): (usize, String)| {
        let begin: Vec<&str> = sentence.split_whitespace().take(6).collect();
        Finding {
            file: file.to_path_buf(),
            line: Some(line),
            rule: "plain-english",
            what: format!(
                "has a sentence of {} words: `{} ...`",
                words(&sentence),
                begin.join(" ")
            ),
            remedy: format!("make two of it; {LONGEST} words are the most"),
        }
    };
    long.map(finding).collect()
}

fn is_page(file: &Path) -> bool {
    let is_text = file.extension().is_some_and(|extension| extension == "md");
    let folder = file.parent().unwrap_or(Path::new(""));
    let is_list = file == Path::new("CHANGELOG.md");
    is_text && !is_list && (folder == Path::new("") || folder == Path::new("docs"))
}

/// Running text and items of lists, each in one line, with the number of its first line. No code, tables or headings.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let (mut goes_on, mut in_code) = (false, false);
    for (line, number) in text.lines().zip(1..) {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let is_other = is_fence
            || in_code
            || line.trim().is_empty()
            || line.starts_with("    ")
            || line.trim_start().starts_with(['|', '#', '!', '>', '<']);
        if is_other {
            goes_on = false;
            continue;
        }
        match paragraphs.last_mut().filter(|_| goes_on && !is_item(line)) {
            Some((_, paragraph)) => {
                paragraph.push(' ');
                paragraph.push_str(line.trim());
            }
            None => paragraphs.push((number, without_mark(line).to_owned())),
        }
        goes_on = true;
    }
    paragraphs
}

/// What stands behind the mark of a list's item, if there is one.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let number = line.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let rest = line.strip_prefix(['-', '*']);
    let rest = rest.or_else(|| number.strip_prefix('.').filter(|_| number.len() < line.len()));
    rest?.strip_prefix(' ')
}

fn is_item(line: &str) -> bool {
    item(line).is_some()
}

fn without_mark(line: &str) -> &str {
    item(line).unwrap_or(line).trim()
}

/// Code as one word, and links without their targets.
fn plain(paragraph: &str) -> String {
    let mut plain = String::new();
    for (part, index) in paragraph.split('`').zip(0..) {
        plain.push_str(if index % 2 == 0 { part } else { "code" });
    }
    while let Some(at) = plain.find("](") {
        let Some(end) = plain[at..].find(')') else { break };
        plain.replace_range(at..=at + end, "");
    }
    plain.replace('[', "")
}

/// Split behind what ends a sentence or one of its parts, with the brackets and marks that follow it.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in text.split_whitespace() {
        let last = sentences.last_mut().expect("there is one");
        last.push_str(word);
        last.push(' ');
        // Between the names of a table of contents stands a middle dot.
        if word == "·"
            || word.trim_end_matches(['*', '_', ')', '"']).ends_with(['.', '!', '?', ':', ';'])
        {
            sentences.push(String::new());
        }
    }
    sentences
}

fn words(sentence: &str) -> usize {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    sentence.split_whitespace().filter(is_word).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<Option<usize>> {
        check_page(Path::new(file), text).into_iter().map(|it| it.line).collect()
    }

    fn long() -> String {
        "word ".repeat(LONGEST + 1)
    }

    #[test]
    fn a_long_sentence_is_found_where_its_paragraph_begins() {
        assert_eq!(found("docs/a.md", &format!("Short.\n\nAlso short. {}\n", long())), [Some(3)]);
        assert_eq!(found("README.md", &format!("- one\n- {}\n", long())), [Some(2)]);
        assert_eq!(found("README.md", &format!("1. one\n2. {}\n   end", long())), [Some(2)]);
        assert_eq!(found("docs/results/a.md", &long()), []);
        assert_eq!(found("src/a.rs", &long()), []);
        assert_eq!(found("CHANGELOG.md", &long()), []);
    }

    #[test]
    fn parts_code_links_and_what_is_no_text_do_not_count() {
        let half = "word ".repeat(LONGEST / 2 + 1);
        assert_eq!(found("docs/a.md", &format!("{half}end. {half}")), []);
        assert_eq!(found("docs/a.md", &format!("**{half}end.** {half}")), []);
        assert_eq!(found("docs/a.md", &format!("{half}`{half}` end")), []);
        assert_eq!(found("docs/a.md", &format!("{half}[a](b.md#{})", "x-".repeat(40))), []);
        assert_eq!(
            found("docs/a.md", &format!("| {} |\n\n    {}\n\n# {}", long(), long(), long())),
            []
        );
        assert_eq!(found("docs/a.md", &format!("```\n{}\n```\n", long())), []);
        assert_eq!(found("docs/a.md", &format!("{half}{half}")), [Some(1)]);
    }
}
