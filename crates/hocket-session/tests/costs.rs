//! Cost tables: what is written is read back, and what is wrong is named with its place.

use hocket_plan::{ChainCost, CostTable};
use hocket_session::{costs_text, read_costs};
use proptest::prelude::*;

fn read(text: &str) -> Result<CostTable, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.toml");
    std::fs::write(&path, text).unwrap();
    read_costs(&path).map_err(|error| {
        let place = error.place().map(|place| format!("{}:{}: ", place.line, place.column));
        format!("{}{} | {}", place.unwrap_or_default(), error.cause(), error.remedy())
    })
}

fn table() -> impl Strategy<Value = CostTable> {
    let ns = || proptest::option::of(0.0..1e9f64);
    let row = (".*", 0..4usize, ns(), ns());
    (1..9000u32, 1..400_000u32, ".*", proptest::collection::vec(row, 0..20)).prop_map(
        |(frames, rate_hz, machine, rows)| {
            let named = |(i, (name, kind, alone_ns, shared_ns)): (usize, (String, _, _, _))| {
                ChainCost { chain: format!("{i} {name}"), kind, alone_ns, shared_ns }
            };
            let rows = rows.into_iter().enumerate().map(named).collect();
            CostTable { frames, rate_hz, machine, rows }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(table in table()) {
        prop_assert_eq!(read(&costs_text(&table)).unwrap(), table);
    }
}

const HEAD: &str = "format = \"hocket-costs/1\"\nframes = 64\nrate_hz = 48000\nmachine = \"x\"\n";

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let check = |text: &str, expected: &str| {
        let told = read(text).unwrap_err();
        assert!(told.starts_with(expected), "{told}");
    };
    check("format = \"hocket-costs/2\"", "1:10: this is a table of the format 'hocket-costs/2'");
    check("frames = 64", "1:1: 'format' is missing");
    check(&HEAD.replace("64", "0"), "2:10: 'frames' must be a whole number from 1");
    check(&HEAD.replace("64", "\"64\""), "2:10: 'frames' must be");
    check(&format!("{HEAD}speed = 1\n"), "5:1: a cost table has no key 'speed' here");
    check(&format!("{HEAD}chain = 1\n"), "5:9: 'chain' must be a list of tables");
    let chain = "[[chain]]\nname = \"a\"\nkind = 0\n";
    check(&format!("{HEAD}{chain}alone_ns = -1.0\n"), "8:12: 'alone_ns' must be a time");
    check(&format!("{HEAD}{chain}alone_ns = nan\n"), "8:12: 'alone_ns' must be a time");
    check(&format!("{HEAD}[[chain]]\nkind = 9\nname = \"a\"\n"), "6:8: 'kind' must be");
    check(&format!("{HEAD}{chain}{chain}"), "8:1: the chain 'a' has kind 0 twice");
    check("format = ", "1:");
}

/// The file may be somebody else's.
#[test]
fn nobody_is_asked_to_delete_a_file() {
    let other_format = "format = \"hocket-costs/2\"";
    for text in [other_format, "frames = 64", "My notes of a long day.\n", "[package]\n", ""] {
        let told = read(text).unwrap_err();
        let (_, remedy) = told.split_once(" | ").unwrap();
        assert!(remedy.starts_with("name another file"), "{text:?}: {told}");
        assert!(remedy.contains("move it away") && !remedy.contains("delete"), "{text:?}: {told}");
    }
}
