//! Which paths of the standard library a source names.

use std::fmt;

use crate::tokens::Token;

/// The crates that make up the standard library.
const STD: [&str; 3] = ["std", "core", "alloc"];

/// One path of the standard library, without the `std::`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdPath {
    /// Its names from the outside in; `*` for a glob, `self` or `as` where the crate is renamed.
    pub names: Vec<String>,
    /// Line, from 1.
    pub line: usize,
}

impl StdPath {
    /// Whether one of `banned` is this path or the start of it. Where anything is banned, so is
    /// every way of bringing in the whole library under no name or another one.
    pub fn is_banned_by(&self, banned: &[&[&str]]) -> bool {
        let hides =
            matches!(self.names.as_slice(), [only] if ["*", "self", "as"].contains(&only.as_str()));
        hides || banned.iter().copied().flatten().any(|banned| self.starts_with(banned))
    }

    fn starts_with(&self, path: &str) -> bool {
        let mut names = self.names.iter();
        path.split("::")
            .all(|wanted| names.next().is_some_and(|name| name == wanted || name == "*"))
    }
}

impl fmt::Display for StdPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "std::{}", self.names.join("::"))
    }
}

/// Every path of the standard library in `tokens`; `use` trees are spelt out.
pub fn paths(tokens: &[Token]) -> Vec<StdPath> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if !STD.contains(&text(tokens, at)) || is_inner_name(tokens, at) {
            continue;
        }
        if is_separator(tokens, at + 1) {
            branch(tokens, at + 3, &[], &mut found);
        } else if text(tokens, at + 1) == "as" {
            found.push(StdPath { names: vec!["as".into()], line: tokens[at].line });
        }
    }
    found
}

/// Whether the name at `at` belongs to another path, such as `crate::core`.
fn is_inner_name(tokens: &[Token], at: usize) -> bool {
    let behind_separator = at >= 2 && is_separator(tokens, at - 2);
    behind_separator && at >= 3 && text(tokens, at - 3).chars().all(|c| c.is_alphanumeric())
}

/// Reads one branch of a path that starts at `at` below `above`; returns where it ends.
fn branch(tokens: &[Token], at: usize, above: &[String], found: &mut Vec<StdPath>) -> usize {
    match text(tokens, at) {
        "{" => group(tokens, at + 1, above, found),
        name if is_path_part(name) => {
            let mut names = above.to_vec();
            names.push(name.to_owned());
            if is_separator(tokens, at + 1) && continues(text(tokens, at + 3)) {
                return branch(tokens, at + 3, &names, found);
            }
            found.push(StdPath { names, line: tokens[at].line });
            at + 1
        }
        _ => at,
    }
}

/// Reads branches up to the closing brace; returns where the group ends.
fn group(tokens: &[Token], mut at: usize, above: &[String], found: &mut Vec<StdPath>) -> usize {
    while at < tokens.len() && text(tokens, at) != "}" {
        // Past a branch stands `,` or `as name`; always move on, so that odd input ends too.
        at = branch(tokens, at, above, found);
        while at < tokens.len() && !matches!(text(tokens, at), "," | "}") {
            at += 1;
        }
        at += usize::from(text(tokens, at) == ",");
    }
    at + 1
}

fn continues(text: &str) -> bool {
    text == "{" || is_path_part(text)
}

fn is_path_part(text: &str) -> bool {
    text == "*" || text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
}

fn is_separator(tokens: &[Token], at: usize) -> bool {
    text(tokens, at) == ":" && text(tokens, at + 1) == ":"
}

fn text(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| token.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tokens;

    fn check(source: &str, expected: &[&str]) {
        let found: Vec<String> =
            paths(&tokens(source)).iter().map(|path| path.names.join("::")).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn plain_paths_are_found_in_code_and_use() {
        check(
            "use std::thread; fn f() { ::std::time::Instant::now() }",
            &["thread", "time::Instant::now"],
        );
    }

    #[test]
    fn trees_are_spelt_out() {
        check(
            "use std::{fs::{self, File as F}, sync::{Arc, Mutex}, path::Path};",
            &["fs::self", "fs::File", "sync::Arc", "sync::Mutex", "path::Path"],
        );
    }

    #[test]
    fn generic_arguments_end_a_path() {
        check("std::vec::Vec::<u8>::new()", &["vec::Vec"]);
    }

    #[test]
    fn other_crates_are_left_alone() {
        check("crate::core::fs::x(); my_std::fs::y(); // std::fs", &[]);
    }

    #[test]
    fn hiding_the_library_behind_another_name_is_seen() {
        for source in ["use std::*;", "use std::{self as s};", "extern crate std as s;"] {
            let found = paths(&tokens(source));
            assert!(found.iter().any(|path| path.is_banned_by(&[&["thread"]])), "{source}");
        }
    }

    #[test]
    fn a_ban_holds_for_a_module_and_a_single_item() {
        let banned = |source: &str| {
            paths(&tokens(source))
                .iter()
                .any(|path| path.is_banned_by(&[&["time"], &["sync::Mutex"]]))
        };
        assert!(banned("use std::time::Duration;"));
        assert!(banned("use std::sync::{Arc, Mutex};"));
        assert!(banned("use std::sync::*;"));
        assert!(!banned("use std::sync::Arc;"));
        assert!(!banned("use core::fmt;"));
    }

    #[test]
    fn unfinished_source_ends() {
        check("use std::{fs::{", &[]);
        check("use std::", &[]);
    }
}
