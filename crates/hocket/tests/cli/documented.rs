//! Every command of the read-me and the pages in docs/ runs as it stands there, in a fresh folder.
//!
//! Indented lines and text between back quotes that begin with `hocket` are commands. Each runs as written, in the
//! order of its page, unless a table below names it: what takes long is run shorter, what is no whole command is only
//! looked up in the help, and what cannot be run here is skipped with the reason. A test that finds nothing to do for
//! a line of a table fails, so the tables never outlive the pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Ran, root};

/// Commands that take more than a few seconds, and what is run instead.
const SHORTER: &[(&str, &str)] = &[
    (
        "hocket bench sessions/worst-case-4.toml --record out/record.json",
        "hocket bench sessions/worst-case-4.toml --record out/record.json --blocks 20",
    ),
    (
        "hocket bench sessions/band.toml --policy off,idle-thread --disturb compute:4@siblings --report out/band.html",
        "hocket bench sessions/band.toml --policy off,idle-thread --disturb compute:4@siblings --report out/band.html \
         --blocks 20",
    ),
    ("hocket play sessions/band.toml --length 60", "hocket play sessions/band.toml --length 1"),
    (
        "hocket play sessions/band.toml --osc 9000",
        "hocket play sessions/band.toml --osc 0 --length 1",
    ),
    ("hocket tune", "hocket tune --time 10s"),
    ("hocket doctor --seconds 60", "hocket doctor --seconds 1"),
    ("hocket lab run --quick", "hocket lab run load-pattern --time 1s"),
    ("hocket lab run wake --time 10m", "hocket lab run wake --time 1s"),
    ("hocket lab run wake --time 2m", "hocket lab run wake --time 1s"),
    (
        "hocket lab run wake --time 2m --records base.sqlite",
        "hocket lab run wake --time 1s --records base.sqlite",
    ),
    ("hocket lab run wide-registers", "hocket lab run wide-registers --time 1s"),
    (
        "hocket bench sessions/worst-case-4.toml --policy off,all,idle-thread,pair-barrier,cookie --disturb compute:4@siblings",
        "hocket bench sessions/worst-case-4.toml --policy off,all,idle-thread,pair-barrier,cookie --disturb \
         compute:4@siblings --blocks 20",
    ),
    (
        "hocket bench sessions/worst-case-4.toml --schedule serial,dataflow,critical,auto --policy off --disturb compute:2",
        "hocket bench sessions/worst-case-4.toml --schedule serial,dataflow,critical,auto --policy off --disturb compute:2 \
         --blocks 20",
    ),
];

/// Names of commands in running text, and forms without all that they need.
const FORMS: &[&str] = &[
    "hocket bench",
    "hocket play",
    "hocket recover",
    "hocket render",
    "hocket lab plan",
    "hocket lab plan --renders",
    "hocket bench --wait umwait",
    "hocket session convert",
    "hocket plugin info",
    "hocket plugin render",
    "hocket plugin save",
];

/// What cannot be run here, and why.
const SKIPPED: &[(&str, &str)] = &[
    (
        "hocket play sessions/band.toml --device jack",
        "no JACK server runs here; tests/devices starts servers of its own and plays through them",
    ),
    (
        "hocket play sessions/band.toml --device alsa:hw:0 --frames 128",
        "no sound card is here; tests/cli/alsa.rs plays through ALSA's plug-ins",
    ),
    (
        "hocket plugin info lv2:http://drobilla.net/plugins/mda/Overdrive",
        "it needs the plug-ins of mda; tests/cli/plugins.rs runs it where they are",
    ),
    (
        "hocket plugin render lv2:http://drobilla.net/plugins/mda/Overdrive -i in.wav -o out.wav --set drive=0.5",
        "it needs the plug-ins of mda; tests/cli/plugins.rs runs it where they are",
    ),
    (
        "hocket plugin render lv2:http://drobilla.net/plugins/mda/Leslie -i in.wav -o fast.wav --preset Fast --set speed=0.9",
        "it needs the plug-ins of mda; tests/cli/plugins.rs runs it where they are",
    ),
    (
        "hocket render sessions/plugins/stage-piano.toml -o piano.wav",
        "it needs the plug-ins of mda; tests/cli/plugins.rs runs it where they are",
    ),
    (
        "hocket plugin save clap:org.example.synth -o soft.state --set cutoff=0.3",
        "the plug-in is made up; tests/cli/plugins.rs saves the state of the tests' own",
    ),
    (
        "hocket plugin check lv2:http://drobilla.net/plugins/mda/Overdrive --seed 7",
        "it needs the plug-ins of mda; tests/cli/plugins.rs runs it where they are",
    ),
    ("hocket lab compare last~1 last", "the page has two runs in mind and a fresh folder has one"),
    (
        "hocket lab compare base.sqlite last --fail-if \"wake.lateness > 10%\"",
        "runs of a second are too short to be judged; tests/cli/lab.rs judges changes",
    ),
    (
        "hocket lab compare base.sqlite last --fail-if \"wake.lateness[futex ordinary idle] > 10%\"",
        "as above",
    ),
    (
        "hocket lab merge all.sqlite /shared/plan/records/*.sqlite",
        "the plan's jobs run on other machines",
    ),
    (
        "hocket lab plan wake false-sharing --full --hosts hosts --for slurm -o /shared/plan",
        "it writes to a folder that machines share",
    ),
];

/// Whether a part stands for something else: a word in capitals outside quotes, three dots, a choice.
fn is_form(command: &str) -> bool {
    let bare = |word: &&str| {
        let word = word.trim_matches(['[', ']']);
        word.contains('|') || word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase())
    };
    command.contains("...")
        || command.split('"').step_by(2).flat_map(str::split_whitespace).any(|w| bare(&w))
}

/// What the user has before the first command: the repository's folder without anything made by Hocket.
fn fresh_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let link = |from: PathBuf, to: &str| {
        let to = folder.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(from.canonicalize().unwrap(), to).unwrap();
    };
    link(root().join("sessions"), "sessions");
    link(root().join("docs/results"), "docs/results");
    // What the pages say that the user brings.
    link(root().join("crates/hocket-machine/tests/fixtures/smt4-2c.xml"), "server.xml");
    link(root().join("docs/results/lab-quick-2cpu-vm.sqlite"), "all.sqlite");
    std::fs::write(folder.path().join("hosts"), "node1\nnode2  cpus=0-7\n").unwrap();
    link(PathBuf::from(env!("CARGO_BIN_EXE_hocket")), "bin/hocket");
    folder
}

fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|ext| ext == "md")).collect();
    pages.sort();
    pages.insert(0, root().join("README.md"));
    pages
}

/// The commands of a page in their order.
fn commands(page: &str) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    let mut prose = String::new();
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let begin = at;
        at += line.len();
        let code = line.strip_prefix("    ").map(|code| code.trim_start_matches("$ "));
        let Some(code) = code.filter(|code| code.starts_with("hocket ")) else {
            prose.push_str(line);
            continue;
        };
        let mut command = code.to_string();
        while command.matches('"').count() % 2 == 1 || command.trim_end().ends_with('\\') {
            let Some(more) = lines.next() else { break };
            at += more.len();
            command.push_str(more);
        }
        prose.push_str(&" ".repeat(at - begin));
        found.push((begin, without_remark(&command)));
    }
    let mut from = 0;
    while let Some(begin) = prose[from..].find("`hocket ").map(|place| from + place + 1) {
        let Some(length) = prose[begin..].find('`') else { break };
        let words: Vec<&str> = prose[begin..begin + length].split_whitespace().collect();
        found.push((begin, words.join(" ")));
        from = begin + length + 1;
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, command)| command).collect()
}

/// Without the remark that stands behind some spaces, and without what is done with another program.
fn without_remark(command: &str) -> String {
    let mut quoted = false;
    let mut spaces = 0;
    let mut end = command.len();
    for (at, c) in command.char_indices() {
        quoted ^= c == '"';
        spaces = if c == ' ' { spaces + 1 } else { 0 };
        let another = command[at..].starts_with("&& ");
        if !quoted && (spaces == 3 || another || c == '\n') {
            end = at;
            break;
        }
    }
    command[..end].trim().to_string()
}

#[derive(Default)]
struct Tally {
    used: BTreeSet<&'static str>,
    written: usize,
    failures: Vec<String>,
}

impl Tally {
    fn run(&mut self, folder: &Path, command: &str) {
        if let Some((known, why)) = SKIPPED.iter().find(|(known, _)| *known == command) {
            println!("SKIPPED every_command_of_the_pages_runs_as_written: `{command}`: {why}");
            self.used.insert(known);
        } else if let Some(known) = FORMS.iter().find(|known| **known == command) {
            self.used.insert(known);
            self.look_up(folder, command);
        } else if is_form(command) {
            self.look_up(folder, command);
        } else if let Some((known, shorter)) = SHORTER.iter().find(|(known, _)| *known == command) {
            // Several pages name this one, and nothing on them needs what it leaves.
            if !self.used.insert(known) && command == "hocket tune" {
                return;
            }
            println!("`{command}` takes long; run as `{shorter}`");
            self.check(shorter, &in_shell(folder, shorter));
        } else {
            self.written += 1;
            self.check(command, &in_shell(folder, command));
        }
    }

    fn check(&mut self, command: &str, ran: &Ran) {
        let no_parquet = command.contains("parquet") && !cfg!(feature = "parquet");
        let as_told = match ran.code {
            _ if no_parquet => ran.err.contains("built without it"),
            // Pairs, and a second worker.
            Some(2 | 3) if one_cpu() => {
                ran.err.contains("may use one") || ran.err.contains("use 1 seats")
            }
            code => code == Some(0),
        };
        if !as_told {
            self.failures
                .push(format!("`{command}` ends with {:?}:\n{}{}", ran.code, ran.out, ran.err));
        }
    }

    /// A form names a command and options that there are.
    fn look_up(&mut self, folder: &Path, command: &str) {
        let plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
        let levels = if command.starts_with("hocket lab") { 3 } else { 2 };
        let names: Vec<&str> = command.split_whitespace().take(levels).take_while(plain).collect();
        let ran = in_shell(folder, &format!("{} --help", names.join(" ")));
        let options = command.split_whitespace().map(|word| word.trim_start_matches('['));
        let unknown: Vec<&str> =
            options.filter(|word| word.starts_with("--") && !ran.out.contains(*word)).collect();
        if ran.code != Some(0) || !unknown.is_empty() {
            self.failures.push(format!("`{command}`: not in the help: {unknown:?}\n{}", ran.err));
        }
    }
}

/// Some commands need two, and say so.
fn one_cpu() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1)
}

fn in_shell(folder: &Path, command: &str) -> Ran {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).stdin(Stdio::null());
    shell.env("PATH", format!("{}:{path}", folder.join("bin").display()));
    // A profile of this user would decide; one that `tune` writes here stays here.
    shell.env("XDG_CONFIG_HOME", folder.join("config")).env_remove("HOCKET_PROFILE");
    // A sound server of this user would decide, too.
    shell.env("HOCKET_DEVICE", "virtual");
    shell.output().unwrap().into()
}

#[test]
fn every_command_of_the_pages_runs_as_written() {
    let mut tally = Tally::default();
    for page in pages() {
        let folder = fresh_folder();
        for command in commands(&std::fs::read_to_string(&page).unwrap()) {
            tally.run(folder.path(), &command);
        }
    }
    assert!(tally.failures.is_empty(), "{}", tally.failures.join("\n"));
    assert!(tally.written >= 10, "only {} commands ran as written", tally.written);
    let tables =
        SHORTER.iter().chain(SKIPPED).map(|(known, _)| *known).chain(FORMS.iter().copied());
    let gone: Vec<&str> = tables.filter(|known| !tally.used.contains(known)).collect();
    assert!(gone.is_empty(), "no longer in the pages: {gone:#?}");
}

#[test]
fn commands_are_found_in_blocks_and_in_running_text() {
    let page = "Use `hocket machine`, or:\n\n    $ hocket lab query \"SELECT a   b\n      FROM c\"\n    \
                hocket tune          measures\n    hocket a -o b && \\\n      other\n\nThen `hocket bench\nx.toml`, not `make`.\n";
    let expected = [
        "hocket machine",
        "hocket lab query \"SELECT a   b\n      FROM c\"",
        "hocket tune",
        "hocket a -o b",
        "hocket bench x.toml",
    ];
    assert_eq!(commands(page), expected);
}
