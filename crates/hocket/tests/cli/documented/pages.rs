//! Where commands stand, and how they are found there.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::support::root;

/// README.md, CONTRIBUTING.md, and the pages of docs/.
pub fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/results"] {
        let found = std::fs::read_dir(root().join(folder)).unwrap();
        let found = found.map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> =
            found.filter(|path| path.extension().is_some_and(|ext| ext == "md")).collect();
        found.sort();
        pages.append(&mut found);
    }
    pages
}

/// Every command that has examples in its help, with these.
pub fn helps() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    collect(&hocket::cli::Cli::command(), "hocket", &mut found);
    found
}

fn collect(command: &clap::Command, name: &str, found: &mut Vec<(String, Vec<String>)>) {
    let texts = [command.get_before_help(), command.get_after_help()];
    let texts = texts.into_iter().flatten().map(ToString::to_string);
    let examples: Vec<String> = texts.flat_map(|text| examples(&text)).collect();
    if !examples.is_empty() {
        found.push((name.to_owned(), examples));
    }
    for below in command.get_subcommands() {
        collect(below, &format!("{name} {}", below.get_name()), found);
    }
}

/// The lines below `Examples:`, or the one behind `Example:`.
fn examples(text: &str) -> Vec<String> {
    let lines =
        text.lines().filter_map(|line| line.strip_prefix("Example:").or(line.strip_prefix("  ")));
    lines.filter(|line| is_command(line.trim_start())).map(without_remark).collect()
}

/// What the pages tell their reader to start.
#[rustfmt::skip]
const PROGRAMS: [&str; 18] = [
    "hocket", "make", "cargo", "sudo", "jackd", "pw-jack", "cat", "cc", "/shared/plan/submit.sh", "mount", "perf",
    "trace-cmd", "pw-profiler", "pw-metadata", "chromium", "ssh", "curl", "cp",
];

/// With these begin lines of blocks that are no commands: outputs, lists of hosts, code, pictures in letters.
#[rustfmt::skip]
const NO_PROGRAMS: [&str; 15] = [
    "node1", "node2", "node3", "node4", "ok", "unknown", "loudness", "clips", "unit", "lanes", "import", "def", "return",
    "for", "let",
];

/// Lines of blocks that begin as a command does, and with no known program. Nobody would run them.
pub fn escaped(page: &str) -> Vec<&str> {
    let mut language: Option<&str> = None;
    let mut escaped = Vec::new();
    let mut lines = page.split_inclusive('\n');
    // Behind a blank line, or in a block: text of a list is indented, too.
    let mut may_be_block = true;
    while let Some(line) = lines.next() {
        let kind = Line::of(line, &mut language);
        if let Line::Command(code) = kind {
            rest(code, &mut lines);
            continue;
        }
        let is_block = matches!(kind, Line::Prose) && line.starts_with("    ") && may_be_block;
        may_be_block = is_block || line.trim().is_empty();
        if is_block && begins_as_a_command(line) {
            escaped.push(line.trim_end());
        }
    }
    escaped
}

/// A word in small letters that may be a program, and no `=` behind it.
fn begins_as_a_command(line: &str) -> bool {
    let mut words = line.trim_start().trim_start_matches("$ ").split_whitespace();
    let words: Vec<&str> = words.by_ref().skip_while(|word| is_variable(word)).take(2).collect();
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase() || c == '/' || c == '.')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+".contains(c))
            && word.chars().any(|c| c.is_ascii_alphanumeric())
    };
    words.first().is_some_and(|word| is_name(word) && !NO_PROGRAMS.contains(word))
        && words.get(1).is_none_or(|word| *word != "=" && !word.starts_with("->"))
}

/// Whether a text begins with a program and has something for it to do.
fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| is_variable(word));
    let program = words.next().unwrap_or_default();
    let begins_here = !text.starts_with(char::is_whitespace);
    begins_here && PROGRAMS.contains(&program) && (program.contains('/') || words.next().is_some())
}

/// Whether a word sets a variable for the program behind it.
pub fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// The commands of a page in their order.
pub fn commands(page: &str) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    // The page with spaces in place of its blocks.
    let mut prose = String::new();
    let mut language: Option<&str> = None;
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let place = prose.len();
        match Line::of(line, &mut language) {
            Line::Prose => prose.push_str(line),
            Line::Blank => prose.push_str(&" ".repeat(line.len())),
            Line::Command(code) => {
                let more = rest(code, &mut lines);
                prose.push_str(&" ".repeat(line.len() + more.len()));
                let commands = one_by_one(&format!("{code}{more}"));
                found.extend(commands.into_iter().map(|command| (place, command)));
            }
        }
    }
    found.extend(quoted(&prose).filter(|(_, text)| is_command(text)).map(|(place, text)| {
        let words: Vec<&str> = text.split_whitespace().collect();
        (place, words.join(" "))
    }));
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, command)| command).collect()
}

/// What a line of a page is.
enum Line<'a> {
    Prose,
    /// Code that is no command, or the border of a block.
    Blank,
    Command(&'a str),
}

impl<'a> Line<'a> {
    /// `language` is that of the block between fences in which the line stands. A line of a shell is a command, whatever
    /// its program.
    fn of(line: &'a str, language: &mut Option<&'a str>) -> Line<'a> {
        match (line.trim_start().strip_prefix("```"), *language) {
            (Some(name), None) => {
                *language = Some(name.trim());
                Line::Blank
            }
            (Some(_), Some(_)) => {
                *language = None;
                Line::Blank
            }
            (None, Some("sh")) if !line.trim().is_empty() => Line::Command(line),
            (None, Some(_)) => Line::Blank,
            (None, None) => line.strip_prefix("    ").map_or(Line::Prose, Line::indented),
        }
    }

    /// Blocks of lists are indented further.
    fn indented(code: &'a str) -> Line<'a> {
        let code = code.trim_start().trim_start_matches("$ ");
        if is_command(code) { Line::Command(code) } else { Line::Prose }
    }
}

/// The lines that belong to a command besides its first: quotes are open, or the line ends with a backslash.
fn rest<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut more = String::new();
    let quotes = |text: &str| text.matches('"').count();
    let goes_on = |text: &str| text.trim_end().ends_with('\\');
    while (quotes(first) + quotes(&more)) % 2 == 1
        || goes_on(if more.is_empty() { first } else { &more })
    {
        let Some(line) = lines.next() else { break };
        more.push_str(line);
    }
    more
}

/// What stands behind each back quote up to the next one: also what stands between two quoted texts.
fn quoted(prose: &str) -> impl Iterator<Item = (usize, &str)> {
    let quotes: Vec<usize> = prose.match_indices('`').map(|(at, _)| at).collect();
    let texts: Vec<(usize, &str)> =
        quotes.windows(2).map(|two| (two[0] + 1, &prose[two[0] + 1..two[1]])).collect();
    texts.into_iter()
}

/// The commands of a line, which `&&` parts.
fn one_by_one(line: &str) -> Vec<String> {
    let joined: Vec<&str> = line.split("\\\n").map(str::trim).collect();
    let joined = joined.join(" ");
    let ends = outside_quotes(&joined).filter(|at| joined[*at..].starts_with("&& "));
    let mut begin = 0;
    let mut commands = Vec::new();
    for end in ends.chain([joined.len()]) {
        commands.push(without_remark(&joined[begin..end]));
        begin = end + "&& ".len();
    }
    commands
}

/// Without the remark, which stands behind two spaces or `#`.
fn without_remark(command: &str) -> String {
    let command = command.trim_start();
    let ends = |at: &usize| {
        let rest = &command[*at..];
        rest.starts_with("  ") || rest.starts_with(" #") || rest.starts_with('\n')
    };
    let end = outside_quotes(command).find(ends).unwrap_or(command.len());
    command[..end].trim_end().to_owned()
}

/// The places in a command that are not quoted.
pub fn outside_quotes(command: &str) -> impl Iterator<Item = usize> + '_ {
    let mut open: Option<char> = None;
    command.char_indices().filter_map(move |(at, c)| {
        match open {
            Some(quote) if c == quote => open = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => open = Some(c),
            None => return Some(at),
        }
        None
    })
}

#[test]
fn commands_are_found_in_blocks_and_in_running_text() {
    let page = "Use `hocket machine`, or:\n\n    $ hocket lab query \"SELECT a   b\n      FROM 'c'\"\n    \
                hocket tune          it measures\n    hocket a -o b && \\\n      other\n\n- A list:\n\n      \
                hocket a b  indented\n      VAR=1 cargo test # all\n\nThen `hocket bench\nx.toml`, `make site`, \
                not `make`.\n\n```rust\nlet hocket = \"`hocket x`\";\n```\n```sh\nhocket last --a 'b  c'\n```\n";
    let expected = [
        "hocket machine",
        "hocket lab query \"SELECT a   b\n      FROM 'c'\"",
        "hocket tune",
        "hocket a -o b",
        "other",
        "hocket a b",
        "VAR=1 cargo test",
        "hocket bench x.toml",
        "make site",
        "hocket last --a 'b  c'",
    ];
    assert_eq!(commands(page), expected);
}

#[test]
fn a_line_of_a_block_with_an_unknown_program_is_found() {
    let page = "Use:\n\n    hocket a \\\n      b c\n    VAR=1 brew tea\n    ok  all\n    ./tea.sh\n    key = 1\n    \
                [[track]]\n\n- A list\n    goes on\n\n```toml\nbrew tea\n```\n\n      $ tea\n";
    assert_eq!(escaped(page), ["    VAR=1 brew tea", "    ./tea.sh", "      $ tea"]);
}

#[test]
fn examples_stand_below_their_heading() {
    let text =
        "Examples:\n  hocket a \"b  c\"   explains\n  hocket d > e   f\n\nhocket does something.";
    assert_eq!(examples(text), ["hocket a \"b  c\"", "hocket d > e"]);
    assert_eq!(examples("Example: hocket a"), ["hocket a"]);
}
