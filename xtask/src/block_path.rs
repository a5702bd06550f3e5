//! Code that runs inside or around a block names none of a list of macros, types and methods that allocate, lock or print.
//!
//! The list does not have `fs` and `libc`, nor conversions (`into`), assignments and ends of scopes that free what they
//! replace.
//!
//! The check covers the folders whose name promises that (ARCHITECTURE.md, hocket-engine). Four things are
//! exempt, the first three visible in the source:
//!
//! - a function whose documentation says `Thread: control`, and names no leader or worker in that line: it prepares or
//!   disposes of what blocks use
//! - a `#[cfg(test)]` module, and a file `tests.rs` or `hosts.rs`
//! - a line whose own or preceding comment gives a reason behind `block-path:`
//! - a call of [`EXEMPT`], whose receiver has room that is fixed before the block, or owns nothing; an entry that no line
//!   needs is an offence
//!
//! It reads names, not types, so it finds what is written there and not what a callee does. The callees are
//! what the sentry and RealtimeSanitizer see at run time (`tests/realtime`).

use std::ops::Range;
use std::path::Path;

use crate::finding::{Finding, relative};
use crate::repo;
use crate::tokens::{Token, tokens};
use exempt::EXEMPT;

const ENGINE: &str = "crates/hocket-engine/src";

/// Folders whose code runs inside a block, or on the leader between two blocks.
const FOLDERS: [&str; 2] = ["crates/hocket-engine/src/block", "crates/hocket-engine/src/leader"];

/// Macros that allocate or print.
const MACROS: [&str; 7] = ["vec", "format", "println", "eprintln", "print", "eprint", "dbg"];
/// Types whose constructors allocate, lock, read a slow clock or call the system.
const TYPES: [&str; 14] = [
    "Vec",
    "VecDeque",
    "HashMap",
    "BTreeMap",
    "String",
    "Box",
    "Arc",
    "Rc",
    "Mutex",
    "RwLock",
    "Condvar",
    "Instant",
    "SystemTime",
    "File",
];
/// Methods that allocate or lock, or wait for a thread.
const METHODS: [&str; 17] = [
    "collect",
    "to_vec",
    "to_owned",
    "to_string",
    "into_boxed_slice",
    "into_bytes",
    "reserve",
    "reserve_exact",
    "push_str",
    "extend",
    "extend_from_slice",
    "resize",
    "insert",
    "with_capacity",
    "sort",
    "lock",
    "join",
];

/// Methods that allocate unless their receiver has room or owns nothing: [`EXEMPT`] says which do.
const GROWING: [&str; 9] =
    ["push", "push_back", "push_front", "append", "clone", "cloned", "split_off", "boxed", "spawn"];
/// Functions that free, or make a channel or a thread.
const FUNCTIONS: [&str; 4] = ["drop", "channel", "sync_channel", "spawn"];

/// Checks the folders of the checkout at `root`.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut used = [false; EXEMPT.len()];
    for folder in FOLDERS {
        let mut files = repo::rust_files(&root.join(folder))?;
        // `#[cfg(test)] mod tests;`, and the simulated hosts of such tests.
        files.retain(|file| {
            file.file_name().is_some_and(|name| name != "tests.rs" && name != "hosts.rs")
        });
        for file in files {
            let source = std::fs::read_to_string(&file)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            let path = relative(root, &file);
            let found = offences(&source).into_iter().filter(|(_, name)| {
                let place = EXEMPT.iter().position(|own| own.covers(&path, name));
                place.into_iter().for_each(|place| used[place] = true);
                place.is_none()
            });
            findings.extend(found.map(|(line, name)| Finding {
                file: path.clone(),
                line: Some(line),
                rule: "block-path",
                what: format!("`{name}` in code that runs in or around a block"),
                remedy: "move it to control/, say `Thread: control` in the function's documentation, \
                         or give the reason behind `block-path:` in a comment; a receiver whose room is fixed \
                         belongs on the list of xtask/src/block_path/exempt.rs"
                    .into(),
            }));
        }
    }
    findings.extend(unused(&used, |file| root.join(ENGINE).join(file).exists()));
    Ok(findings)
}

/// Entries that nothing needs any more. The tests of the rules check trees without the engine.
fn unused(used: &[bool], is_there: impl Fn(&str) -> bool) -> impl Iterator<Item = Finding> {
    let unused =
        EXEMPT.iter().zip(used).filter(move |(entry, used)| !**used && is_there(entry.file));
    unused.map(|(entry, _)| Finding {
        file: "xtask/src/block_path/exempt.rs".into(),
        line: None,
        rule: "block-path",
        what: format!("no line needs `{}` in {}", entry.call, entry.file),
        remedy: "remove the entry".into(),
    })
}

/// Line and name of every offence.
fn offences(source: &str) -> Vec<(usize, String)> {
    let tokens = tokens(source);
    let lines: Vec<&str> = source.lines().collect();
    let exempt = exempt_lines(&tokens, &lines);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let line = tokens[at].line;
        let excused = exempt.iter().any(|lines| lines.contains(&line)) || has_reason(&lines, line);
        if excused {
            continue;
        }
        if is_offence(&tokens, at) {
            found.push((line, tokens[at].text.clone()));
        } else if let Some(call) = growing(&tokens, at) {
            found.push((line, call));
        }
    }
    found
}

/// Receiver and method of a call that may allocate: `events.push`.
fn growing(tokens: &[Token], at: usize) -> Option<String> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let called = GROWING.contains(&text(at)) && ["(", ":"].contains(&text(at + 1));
    if !called || at < 2 || text(at - 1) != "." {
        return None;
    }
    Some(format!("{}.{}", receiver(tokens, at - 2), text(at)))
}

/// The name before a dot, without an index or arguments behind it: `deques` of `deques[worker]`.
fn receiver(tokens: &[Token], end: usize) -> &str {
    let (mut depth, mut at) = (0, end);
    loop {
        match tokens[at].text.as_str() {
            ")" | "]" => depth += 1,
            "(" | "[" => depth -= 1,
            name if depth == 0 && name != "?" => return name,
            _ => {}
        }
        if at == 0 {
            return "";
        }
        at -= 1;
    }
}

fn is_offence(tokens: &[Token], at: usize) -> bool {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let name = text(at);
    let before = if at == 0 { "" } else { text(at - 1) };
    let is_macro = MACROS.contains(&name) && text(at + 1) == "!";
    let is_constructor = TYPES.contains(&name) && text(at + 1) == ":" && text(at + 2) == ":";
    let is_method = METHODS.contains(&name) && before == "." && ["(", ":"].contains(&text(at + 1));
    // `EventBuffer::with_capacity`: of whatever type, it makes room.
    let makes_room = name == "with_capacity" && before == ":" && text(at + 1) == "(";
    let sleeps = name == "sleep" && before == ":";
    let is_function =
        FUNCTIONS.contains(&name) && text(at + 1) == "(" && !["fn", "."].contains(&before);
    (is_macro || is_constructor || is_method || makes_room || sleeps || is_function)
        && !shares_a_handle(tokens, at)
}

/// `Arc::clone` counts a reference and allocates nothing.
fn shares_a_handle(tokens: &[Token], at: usize) -> bool {
    tokens[at].text == "Arc" && tokens.get(at + 3).is_some_and(|token| token.text == "clone")
}

/// Lines of functions for control threads and of test modules.
fn exempt_lines(tokens: &[Token], lines: &[&str]) -> Vec<Range<usize>> {
    let mut exempt = Vec::new();
    for at in 0..tokens.len() {
        let function = tokens[at].text == "fn" && documentation(lines, tokens[at].line);
        let tests = tokens[at].text == "mod" && is_test_module(lines, tokens[at].line);
        if function || tests {
            exempt.push(tokens[at].line..body_end(tokens, at) + 1);
        }
    }
    exempt
}

/// Whether the documentation right above `line` says that control threads call the function, and nobody else.
fn documentation(lines: &[&str], line: usize) -> bool {
    let others = |text: &str| ["leader", "worker"].iter().any(|other| text.contains(other));
    let alone = |text: &str| text.contains("Thread: control") && !others(text);
    above(lines, line).any(|text| text.starts_with("///") && alone(text))
}

fn is_test_module(lines: &[&str], line: usize) -> bool {
    above(lines, line).any(|text| text.contains("cfg(test)") || text.contains("cfg(all(test"))
}

/// Attributes and documentation above `line`, from the bottom up.
fn above<'a>(lines: &'a [&str], line: usize) -> impl Iterator<Item = &'a str> {
    let before = lines[..line - 1].iter().rev().map(|text| text.trim());
    before.take_while(|text| text.starts_with("///") || text.starts_with('#'))
}

/// The line of the brace that closes the body that begins behind `at`; a declaration ends at its `;`.
fn body_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for token in &tokens[at..] {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return token.line,
            _ => continue,
        }
        if depth == 0 {
            return token.line;
        }
    }
    tokens.last().map_or(0, |token| token.line)
}

/// Whether the line, or the comment above it, gives a reason.
fn has_reason(lines: &[&str], line: usize) -> bool {
    let own = lines.get(line - 1).is_some_and(|text| text.contains("// block-path:"));
    let before = lines[..line - 1].iter().rev().take_while(|text| text.trim().starts_with("//"));
    own || before.into_iter().any(|text| text.contains("// block-path:"))
}

mod exempt;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[(usize, &str)]) {
        let found = offences(source);
        let found: Vec<_> = found.iter().map(|(line, name)| (*line, name.as_str())).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn what_allocates_locks_or_prints_is_found() {
        check("fn f() {\n let a = vec![1];\n}", &[(2, "vec")]);
        check("fn f() { Box::new(1); Vec::<u8>::new(); }", &[(1, "Box"), (1, "Vec")]);
        check("fn f() { m.lock(); a.iter().collect::<Vec<_>>(); }", &[(1, "lock"), (1, "collect")]);
        check(
            "fn f() { s.push_str(a); v.extend(b); v.resize(3, 0); }",
            &[(1, "push_str"), (1, "extend"), (1, "resize")],
        );
        check(
            "fn f() { map.insert(1, 2); v.extend_from_slice(a); v.reserve(4); }",
            &[(1, "insert"), (1, "extend_from_slice"), (1, "reserve")],
        );
        check("fn f() { EventBuffer::with_capacity(9); }", &[(1, "with_capacity")]);
        check("fn insert() { extend(); self.resize = 1; }", &[]);
        check("fn f() { println!(); std::thread::sleep(d); }", &[(1, "println"), (1, "sleep")]);
    }

    #[test]
    fn what_grows_is_found_with_its_receiver() {
        check(
            "fn f() { list.push(1); s.list[at(3)].push_back(2); }",
            &[(1, "list.push"), (1, "list.push_back")],
        );
        check(
            "fn f() { let a = name().clone(); drop(a); b?.append(c); }",
            &[(1, "name.clone"), (1, "drop"), (1, "b.append")],
        );
        check(
            "fn f() { std::thread::spawn(g); channel(); named.spawn(g); }",
            &[(1, "spawn"), (1, "channel"), (1, "named.spawn")],
        );
        check(
            "impl Drop for A { fn drop(&mut self) {} }\nfn push(a: &Arc<u8>) { Arc::clone(a); }",
            &[],
        );
    }

    #[test]
    fn an_exemption_holds_for_its_file_and_receiver_and_has_a_reason() {
        let entry = &EXEMPT[0];
        let file = Path::new("crates/hocket-engine/src").join(entry.file);
        assert!(entry.covers(&file, entry.call));
        assert!(!entry.covers(&file, "other.push"));
        assert!(!entry.covers(Path::new("crates/hocket-engine/src/block/other.rs"), entry.call));
        assert!(EXEMPT.iter().all(|entry| entry.why.len() > 15));
        assert_eq!(unused(&[false; EXEMPT.len()], |_| true).count(), EXEMPT.len());
    }

    #[test]
    fn types_and_shared_handles_are_no_offence() {
        check("struct S { a: Box<[u8]>, b: Vec<u8> }\nfn f(a: &Arc<u8>) { Arc::clone(a); }", &[]);
    }

    #[test]
    fn functions_for_control_threads_are_exempt_and_the_next_one_is_not() {
        let source = "/// Makes it.\n///\n/// Thread: control; allocates.\n#[must_use]\npub fn new() -> S {\n \
                      let f = || { vec![0] };\n S(Box::new(1))\n}\nfn f() { vec![1]; }";
        check(source, &[(9, "vec")]);
    }

    #[test]
    fn functions_that_the_leader_or_a_worker_calls_too_are_not_exempt() {
        let source = "/// Thread: control, or the leader between blocks.\nfn f() { vec![1]; }";
        check(source, &[(2, "vec")]);
    }

    #[test]
    fn tests_and_given_reasons_are_exempt() {
        check("#[cfg(test)]\nmod tests {\n fn f() { vec![1]; }\n}", &[]);
        check(
            "fn f() {\n // block-path: the process ends here.\n eprintln!();\n vec![2];\n}",
            &[(4, "vec")],
        );
    }

    #[test]
    fn comments_and_strings_do_not_count() {
        check("fn f() { // vec![1]\n g(\"Box::new\"); }", &[]);
    }
}
