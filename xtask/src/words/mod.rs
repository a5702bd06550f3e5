//! The repository speaks of Hocket alone: no build machine's paths, no registry hosts, no words
//! of another trade. The terms are in [`list`]. Texts that are in plain English stay so: [`english`].
//! Sentences of pages are short: [`sentences`].

mod english;
mod list;
mod sentences;

use std::path::Path;

use crate::finding::Finding;
use crate::repo;
use list::{EXCEPTIONS, FOREIGN_WORDS, Kind, MACHINE_PATHS, REGISTRY_HOSTS};

/// A term to look for, in lower case.
struct Term {
    text: String,
    kind: Kind,
}

/// Checks every tracked text file of the checkout at `root`.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let terms = terms();
    let mut findings = Vec::new();
    for file in repo::tracked_files(root)? {
        if let Some(text) = repo::text(root, &file) {
            findings.extend(check_text(&terms, &file, &text));
            findings.extend(english::check_text(&file, &text));
            findings.extend(sentences::check_page(&file, &text));
        }
    }
    Ok(findings)
}

fn check_text(terms: &[Term], file: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for term in terms.iter().filter(|term| holds(&line, term) && !is_excepted(file, term)) {
            findings.push(Finding {
                file: file.to_path_buf(),
                line: Some(index + 1),
                rule: term.kind.rule(),
                what: format!("holds `{}`", term.text),
                remedy: term.kind.remedy().into(),
            });
        }
    }
    findings
}

fn terms() -> Vec<Term> {
    let plain = |kind| move |text: &&str| Term { text: text.to_lowercase(), kind };
    let coded = |text: &&str| Term { text: moved(text), kind: Kind::ForeignWord };
    let paths = MACHINE_PATHS.iter().map(plain(Kind::MachinePath));
    let hosts = REGISTRY_HOSTS.iter().map(plain(Kind::RegistryHost));
    paths.chain(hosts).chain(FOREIGN_WORDS.iter().map(coded)).collect()
}

/// Whether `line`, in lower case, holds `term` as a word or path of its own.
fn holds(line: &str, term: &Term) -> bool {
    line.match_indices(&term.text).any(|(start, found)| {
        let before = line[..start].chars().next_back();
        let after = line[start + found.len()..].chars().next();
        match term.kind {
            // Behind a name, a variable or `..` stands a folder inside of something, not a root.
            Kind::MachinePath => !before.is_some_and(is_path_sign),
            Kind::RegistryHost => !before.is_some_and(char::is_alphanumeric),
            Kind::ForeignWord => ![before, after].into_iter().flatten().any(char::is_alphanumeric),
        }
    })
}

fn is_path_sign(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '.' | '_' | '-' | '~' | '*' | '}' | ')' | '/')
}

fn is_excepted(file: &Path, term: &Term) -> bool {
    EXCEPTIONS.iter().any(|except| Path::new(except.file) == file && except.kind == term.kind)
}

/// Every letter moved by thirteen places; twice is where it was.
fn moved(text: &str) -> String {
    let letter = |sign: char| match sign {
        'a'..='m' => char::from(sign as u8 + 13),
        'n'..='z' => char::from(sign as u8 - 13),
        other => other,
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&'static str> {
        let findings = check_text(&terms(), Path::new("file"), line);
        findings.iter().map(|finding| finding.rule).collect()
    }

    /// A listed term, joined here so that this file does not hold it.
    fn path(name: &str) -> String {
        format!("/{name}/")
    }

    #[test]
    fn a_path_counts_from_the_root_only() {
        assert_eq!(found(&format!("cd {}x", path("home"))), ["no-machine-paths"]);
        assert_eq!(found(&format!("open(\"{}x\")", path("root"))), ["no-machine-paths"]);
        assert!(found(&format!("docs{}x", path("home"))).is_empty());
        assert!(found(&format!("..{}x", path("work"))).is_empty());
        assert!(found(&format!("$dir{}x", path("work"))).is_empty());
    }

    #[test]
    fn every_listed_host_is_found() {
        for host in REGISTRY_HOSTS {
            assert_eq!(found(&format!("see https://static.{host}/a")), ["no-registry-hosts"]);
        }
    }

    #[test]
    fn every_coded_word_is_found_in_any_case_and_only_as_a_word() {
        for word in FOREIGN_WORDS.map(moved) {
            assert!(found(&format!("by {}.", word.to_uppercase())).contains(&"hocket-alone"));
            assert!(found(&format!("x{word}x")).is_empty(), "{word}");
        }
    }

    #[test]
    fn ordinary_sentences_pass() {
        let line = "This session's worker waits for its assistant seat: ~120 us, see docs/work.md.";
        assert!(found(line).is_empty());
    }

    #[test]
    fn the_lock_file_may_name_its_registry_and_nothing_else_may() {
        let line = format!("source = \"registry+https://{}\"", REGISTRY_HOSTS[0]);
        assert!(check_text(&terms(), Path::new("Cargo.lock"), &line).is_empty());
        assert_eq!(check_text(&terms(), Path::new("README.md"), &line).len(), 1);
    }
}
