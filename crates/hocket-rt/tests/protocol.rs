//! Keeps PROTOCOL.md and the sources together: every edge is in both, at the sites and with the
//! orders and tests that the table names, and no access goes without its reason.
#![cfg(not(loom))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How far above a `Relaxed` access its reason may stand, in lines.
const REASON_WITHIN: usize = 10;

/// A line of the sources that is not only a comment.
struct Line {
    file: String,
    number: usize,
    function: String,
    code: String,
    comment: String,
    /// The comments of the lines above, within the same function.
    above: String,
}

impl Line {
    fn place(&self) -> String {
        format!("src/{}:{}", self.file, self.number)
    }

    fn uses(&self, ordering: &str) -> bool {
        let word = |c: char| !(c.is_alphanumeric() || c == '_');
        self.code.split(word).any(|token| token == ordering)
    }

    /// The edges of a comment like `E3 (store, load), E11 (store)`, and the sides of each.
    fn cited(&self) -> Vec<(String, Vec<String>)> {
        let Some(text) = self.comment.trim().strip_suffix(')') else { return Vec::new() };
        let one = |text: &str| {
            let (edge, sides) = text.split_once(" (")?;
            let sides = sides.split(", ").map(String::from).collect();
            is_edge(edge).then(|| (edge.to_string(), sides))
        };
        text.split("), ").map_while(one).collect()
    }
}

/// A row of the table of edges.
struct Edge {
    id: String,
    store: (String, String),
    load: (String, String),
    orders: String,
    tests: Vec<String>,
}

/// `E1`, `E12`; not `E0277`, which is an error of the compiler.
fn is_edge(word: &str) -> bool {
    word.strip_prefix('E').is_some_and(|digits| {
        digits.parse::<u32>().is_ok_and(|number| number.to_string() == digits)
    })
}

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let nested = folders.iter().flat_map(|folder| files_in(folder));
    let rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    files.into_iter().filter(rust).chain(nested).collect()
}

fn sources() -> Vec<Line> {
    files_in(&home().join("src")).iter().flat_map(|path| read_source(path)).collect()
}

fn read_source(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap();
    // Unit tests below the code set the stage as they like.
    let text = text.split("#[cfg(all(test").next().unwrap();
    let file = path.strip_prefix(home().join("src")).unwrap().display().to_string();
    let mut function = String::new();
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        if let Some(name) = function_name(code) {
            function = name;
            comments.clear();
        }
        comments.push((number, comment.to_string()));
        if !code.trim().is_empty() && !code.trim_start().starts_with("use ") {
            lines.push(Line {
                file: file.clone(),
                number,
                function: function.clone(),
                code: code.to_string(),
                comment: comment.to_string(),
                above: nearby(&comments, number),
            });
        }
    }
    lines
}

fn function_name(code: &str) -> Option<String> {
    let (before, after) = code.split_once("fn ")?;
    let declares = before.trim().is_empty() || before.trim_start().starts_with("pub");
    let name = after.split(['(', '<']).next()?;
    declares.then(|| name.to_string())
}

fn nearby(comments: &[(usize, String)], number: usize) -> String {
    let near = comments.iter().filter(|(at, _)| at + REASON_WITHIN >= number);
    near.map(|(_, comment)| comment.as_str()).collect::<Vec<_>>().join(" ")
}

fn table() -> Vec<Edge> {
    let text = fs::read_to_string(home().join("PROTOCOL.md")).unwrap();
    text.lines().filter_map(table_row).collect()
}

fn table_row(line: &str) -> Option<Edge> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [id, store, load, orders, _breaks, tests] = cells[..] else {
        return None;
    };
    is_edge(id).then(|| Edge {
        id: id.to_string(),
        store: site(store),
        load: site(load),
        orders: orders.to_string(),
        tests: quoted(tests),
    })
}

fn site(cell: &str) -> (String, String) {
    match &quoted(cell)[..] {
        [file, function] => (file.clone(), function.clone()),
        _ => panic!("PROTOCOL.md: '{cell}' should name a file and a function"),
    }
}

fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(String::from).collect()
}

#[test]
fn the_same_edges_are_in_the_table_and_in_the_code() {
    let listed: BTreeSet<String> = table().into_iter().map(|edge| edge.id).collect();
    let cited: BTreeSet<String> =
        sources().iter().flat_map(Line::cited).map(|(edge, _)| edge).collect();
    assert!(!listed.is_empty(), "PROTOCOL.md has no table of edges");
    assert_eq!(listed, cited, "left: PROTOCOL.md, right: src/");
}

#[test]
fn every_mention_of_an_edge_is_of_one_in_the_table() {
    let listed: BTreeSet<String> = table().into_iter().map(|edge| edge.id).collect();
    let mut texts = vec![home().join("PROTOCOL.md")];
    texts.extend(files_in(&home().join("src")));
    for path in texts {
        let text = fs::read_to_string(&path).unwrap();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| is_edge(word)) {
            assert!(listed.contains(word), "{} mentions {word}", path.display());
        }
    }
}

#[test]
fn every_strong_access_cites_its_edge_on_its_line() {
    let strong = ["Acquire", "Release", "AcqRel", "SeqCst"];
    for line in sources() {
        if strong.iter().any(|ordering| line.uses(ordering)) {
            let cited = line.cited();
            assert!(!cited.is_empty(), "{}: cite the edge, like `// E1 (store)`", line.place());
            for (edge, sides) in cited {
                let known = |side: &String| ["store", "load"].contains(&side.as_str());
                assert!(sides.iter().all(known), "{}: sides of {edge}", line.place());
            }
        }
    }
}

#[test]
fn every_relaxed_access_says_why() {
    for line in sources().iter().filter(|line| line.uses("Relaxed")) {
        let reasoned = line.above.contains("Relaxed") || !line.cited().is_empty();
        assert!(reasoned, "{}: say why nothing is published", line.place());
    }
}

#[test]
fn every_edge_is_where_the_table_says_with_those_orders() {
    let sources = sources();
    for edge in table() {
        for (side, (file, function)) in [("store", &edge.store), ("load", &edge.load)] {
            let cites = |line: &&Line| {
                let here = line.cited();
                here.iter()
                    .any(|(id, sides)| *id == edge.id && sides.iter().any(|cited| cited == side))
            };
            let sites: Vec<&Line> = sources.iter().filter(cites).collect();
            assert!(!sites.is_empty(), "{} has no {side} in src/", edge.id);
            for line in sites {
                assert_eq!((&line.file, &line.function), (file, function), "{}", line.place());
                let orders = ["AcqRel", "Acquire", "Release", "SeqCst"];
                let order = orders.iter().find(|order| line.uses(order)).unwrap();
                assert!(edge.orders.contains(order), "{}: {order}", line.place());
            }
        }
    }
}

#[test]
fn every_test_in_the_table_exists() {
    let tests: String = files_in(&home().join("tests"))
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for edge in table() {
        assert!(!edge.tests.is_empty(), "{} has no test", edge.id);
        for test in edge.tests {
            assert!(tests.contains(&format!("fn {test}()")), "{}: no test {test}", edge.id);
        }
    }
}
