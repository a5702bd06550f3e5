//! How a command is tried: as written, with less time, not run but looked up, or not at all.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::builds;
use super::pages::{is_variable, outside_quotes};
use crate::support::Ran;

/// How a command is tried.
pub enum Way {
    AsWritten,
    /// This is run in its place: with less time, or with what is here in place of what is the reader's.
    Shorter(String),
    /// It names all this, which is not there.
    LookedUp(Vec<String>),
    /// Not run, for this reason.
    Skipped(String),
}

/// This runs where the kernel has the file.
const CARDS: &str = "cat /proc/asound/cards";

/// What cannot run here, and why. A row stands for every command that begins with its words.
const SKIPPED: &[(&str, &str)] = &[
    ("sudo", "it changes the system, as root"),
    (
        "cp -r /usr/share/hocket/sessions",
        "no package is installed here; ci/packages.sh runs it in a fresh Debian",
    ),
    (
        "cp -r ~/.local/share/hocket/sessions",
        "Hocket is not installed here; tests/cli/installed.rs installs it elsewhere, and runs it",
    ),
    (CARDS, "the kernel here has no sound cards"),
    ("jackd", "no sound card is here; tests/devices starts servers without one"),
    (
        "hocket play sessions/band.toml --device jack",
        "no JACK server runs here; tests/devices runs it, and its other forms, on a server of its own",
    ),
    (
        "hocket play sessions/notes.toml --device jack",
        "no JACK server runs here; tests/devices runs it on a server of its own",
    ),
    (
        "hocket play sessions/band.toml --device alsa:hw:0",
        "no sound card is here; tests/cli/alsa.rs plays through ALSA's plug-ins",
    ),
    ("/shared/plan/submit.sh", "no Slurm is here; ci/fleet.sh starts one"),
    ("hocket lab merge all.sqlite /shared/plan/records/*.sqlite", "no host has run the plan"),
    (
        "hocket plugin save clap:org.example.synth",
        "the plug-in is made up; tests/cli/plugins.rs saves the state of the tests' own",
    ),
    (
        "hocket plugin render clap:org.example.drums",
        "the plug-in is made up; tests/cli/plugins.rs renders stems of the tests' own",
    ),
    ("hocket report --serve", "it serves until Ctrl-C; tests/cli/site.rs serves one and asks it"),
    (
        "hocket lab run tuning --system-wide",
        "it changes the whole machine; hocket-machine/tests/changes.rs changes a made-up one",
    ),
    (
        "hocket trace --attach",
        "the program is the reader's; tests/cli/attach.rs watches threads of its own",
    ),
    (
        "hocket check mine.dawproject --strict",
        "the project is the reader's; tests/cli/dawproject.rs checks one of its own",
    ),
    ("hocket plugin check build/mine.clap", "the plug-in is the reader's"),
    ("hocket plugin check mine.lv2", "the plug-in is the reader's"),
    ("cc", "the program is the reader's; hocket-c/tests/c_programs.rs builds those of examples/c"),
    ("mount", "it changes the system, as root"),
    ("perf bench", "it takes minutes; comparison/cross-check.sh runs it"),
    (
        "perf",
        "it records the whole system, as root; tests/cli/from_text.rs reads what it would print",
    ),
    ("trace-cmd", "it records the whole system, as root; tests/cli/from_text.rs reads its text"),
    ("pw-profiler", "it ends with its server; tests/cli/from_text.rs reads what it would print"),
    ("pw-metadata", "it changes the reader's PipeWire; tests/devices changes one of its own"),
    ("ssh", "the other computer is the reader's"),
    ("curl", "no session plays here; tests/cli/web.rs runs it beside one"),
    ("cargo install cargo-deb", "it installs another program"),
    ("cargo mutants", "it takes an hour"),
];

/// What stands in tables.
pub fn tables() -> impl Iterator<Item = &'static str> {
    SKIPPED.iter().map(|(known, _)| *known)
}

/// Whether a command begins with these words.
pub fn begins_with(command: &str, words: &str) -> bool {
    command.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether commands behind it on its page may read what it leaves. Then it runs on every page that has it, others once.
pub fn is_read_later(command: &str) -> bool {
    ["hocket lab run", "hocket session convert", " --record ", " --take "]
        .into_iter()
        .any(|part| command.contains(part))
}

/// How this command is tried.
pub fn way(command: &str) -> Way {
    let program = programs(command).next().unwrap_or_default();
    let cannot = |known: &str| begins_with(command, known) && !(known == CARDS && has_cards());
    if let Some((_, why)) = SKIPPED.iter().find(|(known, _)| cannot(known)) {
        Way::Skipped((*why).to_owned())
    } else if let Some(missing) = programs(command).find(|program| !is_installed(program)) {
        Way::Skipped(format!("{missing} is not installed"))
    } else if command.contains("--guest ./program") && !is_installed("python3") {
        Way::Skipped("python3 is not installed, in which the program here is written".to_owned())
    } else if let Some(guest) = guest(command).filter(|guest| !is_installed(guest)) {
        Way::Skipped(format!("{guest} is not installed"))
    } else if needs_mda(command) && !super::folders::has_mda() {
        Way::Skipped("the LV2 plug-ins of mda are not installed".to_owned())
    } else if program == "hocket" {
        way_of_hocket(command)
    } else if is_form(command) {
        Way::LookedUp(Vec::new())
    } else if program == "make" || program == "cargo" {
        Way::LookedUp(builds::missing(command))
    } else {
        Way::AsWritten
    }
}

fn has_cards() -> bool {
    std::path::Path::new("/proc/asound/cards").exists()
}

fn way_of_hocket(command: &str) -> Way {
    if is_form(command) || is_name(command) {
        Way::LookedUp(missing_options(command))
    } else {
        shorter(command).map_or(Way::AsWritten, Way::Shorter)
    }
}

/// The programs that a command starts, but `make` and `cargo`, which are not run.
fn programs(command: &str) -> impl Iterator<Item = &str> {
    let pipes = outside_quotes(command).filter(move |at| command[*at..].starts_with(" | "));
    let begins = [0].into_iter().chain(pipes.map(|at| at + " | ".len()));
    begins.filter_map(move |at| command[at..].split_whitespace().find(|word| !is_variable(word)))
}

/// The program that an experiment measures.
fn guest(command: &str) -> Option<&str> {
    let (_, quoted) = command.split_once("--guest \"")?;
    quoted.split([' ', '"']).next()
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["hocket", "make", "cargo"].contains(&program)
        || std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

fn needs_mda(command: &str) -> bool {
    command.contains("lv2:http://drobilla.net") || command.contains("sessions/plugins/")
}

// --- less time --------------------------------------------------------------

/// The longest session is rendered whole once.
const WHOLE: &str = "hocket render sessions/band.toml -o band.wav";

/// The same with less time, for what takes more than a few seconds.
fn shorter(command: &str) -> Option<String> {
    let has = |option: &str| command.split_whitespace().any(|word| word == option);
    let is = |name: &str| begins_with(command, name);
    let is_whole = is("hocket render sessions/band.toml") && !has("--from") && command != WHOLE;
    // Without probes, each of which starts the session once.
    let command = &command.replace("--fill 85%", "--fill 4");
    let short = match () {
        // The port may be taken: any free one.
        () if has("--web") => with_length(&command.replace("--web ", "--web=0 ")),
        () if is("hocket trace") && (has("--on-miss") || has("--length")) => with_length(command),
        () if has("--osc") => with_length(&with(command, "--osc", "0")),
        () if is("hocket play") || is_whole => with_length(command),
        () if (is("hocket bench") || is("hocket demo")) && !has("--blocks") => {
            with(command, "--blocks", "20")
        }
        () if is("hocket capacity") => with(&with(command, "--frames", "64"), "--time", "1s"),
        () if is("hocket doctor") && has("--seconds") => with(command, "--seconds", "1"),
        () if is("hocket tune") && !has("--check") && !has("--from-records") => {
            with(command, "--time", "10s")
        }
        () if is("hocket lab run") => short_run(command),
        // A folder of this test for one that machines share, and any day with a run.
        () if is("hocket lab plan") => command.replace("/shared/plan", "shared-plan"),
        () if is("hocket lab report") => command.replace("2026-05-01", "last"),
        () => return None,
    };
    (short != *command).then_some(short)
}

/// Two seconds at most.
fn with_length(command: &str) -> String {
    let length = value_of(command, "--length").and_then(|text| text.parse::<f64>().ok());
    let is_short = length.is_some_and(|seconds| seconds <= 2.0);
    if is_short { command.to_owned() } else { with(command, "--length", "1") }
}

/// One experiment in place of all, and as many rounds as fit into a second.
fn short_run(command: &str) -> String {
    let is_of_all = begins_with(command, "hocket lab run --quick");
    let names = if is_of_all { " load-pattern" } else { "" };
    // One pass of that benchmark takes half a minute, and the file is one that is here.
    let command = &command.replace("7zz b 1 -md18 -mmt2", "7zz i").replace("FILE", "in.wav");
    let short = with(&command.replace(" --quick", names).replace(" --full", ""), "--time", "1s");
    // Later commands compare the last run with figures of the sources, and these quote none.
    let of_guests =
        ["hocket lab run jvm", "hocket lab run --guest", "hocket lab run affinity --guest"];
    let has_none = of_guests.iter().any(|known| begins_with(command, known));
    if has_none { with(&short, "--records", "guests.sqlite") } else { short }
}

/// What stands behind an option.
fn value_of<'a>(command: &'a str, option: &str) -> Option<&'a str> {
    let mut words = command.split_whitespace();
    words.find(|word| *word == option)?;
    words.next()
}

/// The command with this value of an option. If it has none, the option stands before all others.
fn with(command: &str, option: &str, value: &str) -> String {
    if let Some(before) = value_of(command, option) {
        return command.replace(&format!("{option} {before}"), &format!("{option} {value}"));
    }
    let levels = if command.starts_with("hocket lab ") { 3 } else { 2 };
    let words: Vec<&str> = command.split(' ').collect();
    let (names, rest) = words.split_at(levels.min(words.len()));
    [names, &[option, value], rest].concat().join(" ")
}

// --- forms and names --------------------------------------------------------

/// Whether a part stands for something else: a word in capitals outside quotes, three dots, a choice.
fn is_form(command: &str) -> bool {
    let stands_for_more = |word: &str| {
        let word = word.trim_matches(['[', ']']);
        let is_choice = word.len() > 1 && word.contains('|');
        is_choice || word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase())
    };
    command.contains("...")
        || command.split('"').step_by(2).flat_map(str::split_whitespace).any(stands_for_more)
}

/// Whether running text names a command or an option, and leaves out what they need.
fn is_name(command: &str) -> bool {
    let names_only = !command.contains(['/', '.', '=']);
    names_only && parsed(command).is_err_and(|error| is_incomplete(&error))
}

fn is_incomplete(error: &clap::Error) -> bool {
    let empty = ContextValue::String(String::new());
    match error.kind() {
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
        ErrorKind::InvalidValue => error.get(ContextKind::InvalidValue) == Some(&empty),
        _ => false,
    }
}

/// The options that the named command does not have, or the command.
fn missing_options(command: &str) -> Vec<String> {
    let mut known = hocket::cli::Cli::command();
    known.build();
    let mut known = &known;
    let mut words = command.split_whitespace().skip(1).peekable();
    while let Some(below) = words.peek().and_then(|word| known.find_subcommand(word)) {
        known = below;
        words.next();
    }
    if known.has_subcommands() && words.peek().is_some() {
        return vec![format!("command {}", words.collect::<Vec<_>>().join(" "))];
    }
    let options = words.filter_map(|word| word.trim_start_matches('[').strip_prefix("--"));
    options
        .filter(|option| !has_option(known, option))
        .map(|option| format!("--{option}"))
        .collect()
}

fn has_option(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|known| known.get_long() == Some(name))
}

// --- arguments --------------------------------------------------------------

/// Why the program refuses its arguments; `None` where it takes them, and for other programs.
pub fn misunderstood(command: &str) -> Option<String> {
    if !begins_with(command, "hocket") {
        return None;
    }
    let error = parsed(command).err()?;
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!is_help).then(|| error.to_string())
}

fn parsed(command: &str) -> Result<clap::ArgMatches, clap::Error> {
    hocket::cli::Cli::command().try_get_matches_from(arguments(command))
}

/// What a shell makes of the words: quotes end with it, and what follows a pipe or an arrow belongs to others.
fn arguments(command: &str) -> Vec<String> {
    let is_outside: Vec<usize> = outside_quotes(command).collect();
    let is_outside = |at: usize| is_outside.binary_search(&at).is_ok();
    let mut words = vec![String::new()];
    let mut open: Option<char> = None;
    for (at, c) in command.char_indices() {
        match c {
            '|' | '>' if is_outside(at) => break,
            _ if is_outside(at) && c.is_whitespace() => words.push(String::new()),
            '"' | '\'' if open.is_none_or(|quote| quote == c) => {
                open = if open.is_none() { Some(c) } else { None };
            }
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

// --- how it ends ------------------------------------------------------------

/// Whether a command ended as a reader may expect.
pub fn is_as_told(command: &str, ran: &Ran) -> bool {
    let has = |word: &str| command.contains(word);
    let asks =
        ["--check", "--fail-if", "--baseline", "--max-misses", "--late-per-hour", "plugin check"];
    let asks = asks.into_iter().any(has);
    let compares = has("lab compare") || has("--baseline");
    match ran.code {
        Some(0) => true,
        // The answer of this machine.
        Some(1) => asks,
        // A second is too short for an answer.
        Some(2) if asks && compares => ran.err.contains("cannot be judged"),
        // Pairs, and a second worker.
        Some(2 | 3) if one_cpu() => {
            ran.err.contains("may use one") || ran.err.contains("use 1 seats")
        }
        _ => false,
    }
}

/// Some commands need two, and say so.
fn one_cpu() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1)
}

#[test]
fn long_commands_are_run_with_less_time() {
    for (command, expected) in [
        (
            "hocket play a.toml --length 60 --json > run.json",
            "hocket play a.toml --length 1 --json > run.json",
        ),
        ("hocket play a.toml --osc 9000", "hocket play --length 1 a.toml --osc 0"),
        (
            "hocket play a.toml --web --web-token random",
            "hocket play --length 1 a.toml --web=0 --web-token random",
        ),
        ("hocket bench a.toml --policy off", "hocket bench --blocks 20 a.toml --policy off"),
        ("hocket bench a.toml --fill 85%", "hocket bench --blocks 20 a.toml --fill 4"),
        (
            "hocket render sessions/band.toml -o - | a",
            "hocket render --length 1 sessions/band.toml -o - | a",
        ),
        ("hocket lab run --quick", "hocket lab run --time 1s load-pattern"),
        ("hocket lab run wake --quick", "hocket lab run --time 1s wake"),
        (
            "hocket lab run jvm openmp",
            "hocket lab run --records guests.sqlite --time 1s jvm openmp",
        ),
        ("hocket lab run wake --time 10m", "hocket lab run wake --time 1s"),
        ("hocket lab run wake --full", "hocket lab run --time 1s wake"),
        ("hocket tune", "hocket tune --time 10s"),
        ("hocket capacity a.toml --frames 32,64", "hocket capacity --time 1s a.toml --frames 64"),
        (
            "hocket lab run affinity --guest \"7zz b 1 -md18 -mmt2\" --time 10m",
            "hocket lab run --records guests.sqlite affinity --guest \"7zz i\" --time 1s",
        ),
        (
            "hocket lab run --guest ./program",
            "hocket lab run --records guests.sqlite --time 1s --guest ./program",
        ),
        (
            "hocket lab run affinity --guest \"xz -kc FILE\"",
            "hocket lab run --records guests.sqlite --time 1s affinity --guest \"xz -kc in.wav\"",
        ),
        ("hocket lab report 2026-05-01 -o may.html", "hocket lab report last -o may.html"),
        (
            "hocket lab plan wake --hosts hosts --for slurm -o /shared/plan",
            "hocket lab plan wake --hosts hosts --for slurm -o shared-plan",
        ),
    ] {
        assert_eq!(shorter(command).as_deref(), Some(expected));
    }
    for command in ["hocket play a.toml --length 2", "hocket tune --check", "hocket doctor", WHOLE]
    {
        assert_eq!(shorter(command), None);
    }
}

#[test]
fn forms_and_names_are_looked_up() {
    for (command, missing) in [
        ("hocket recover FILE", vec![]),
        ("hocket lab plan [ID...] --hosts FILE --for slurm|hyperqueue", vec![]),
        ("hocket lab plan --renders", vec![]),
        ("hocket plugin", vec![]),
        ("hocket play --coasts FILE", vec!["--coasts"]),
        ("hocket lab paly ID", vec!["command paly ID"]),
    ] {
        assert!(is_form(command) || is_name(command), "{command}");
        assert_eq!(missing_options(command), missing, "{command}");
    }
    for command in ["hocket machine", "hocket render sessions/band.toml", "hocket play a | sox b"] {
        assert!(!is_form(command) && !is_name(command), "{command}");
    }
}

#[test]
fn arguments_are_those_of_a_shell() {
    let words = arguments("hocket a \"b 'c' | d\"e --f 'g > h' > i j");
    assert_eq!(words, ["hocket", "a", "b 'c' | de", "--f", "g > h"]);
    assert_eq!(misunderstood("hocket render a.toml -o - | sox - b.ogg"), None);
    assert!(misunderstood("hocket render a.toml --loud -o b.wav").is_some());
    let programs: Vec<&str> = programs("A=1 hocket a \"b | c\" | sox d").collect();
    assert_eq!(programs, ["hocket", "sox"]);
    assert_eq!(guest("hocket lab run affinity --guest \"7zz b 1\" --time 1s"), Some("7zz"));
    assert_eq!(guest("hocket lab run affinity"), None);
}

#[test]
fn rows_stand_for_whole_words() {
    assert!(begins_with("cc a.c", "cc") && begins_with("cc", "cc") && !begins_with("ccache", "cc"));
}
