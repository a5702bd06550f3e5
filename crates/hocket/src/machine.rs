//! `hocket machine`: what the machine is made of, and what the system grants here.
//!
//! The text groups what is alike, so that a machine of 256 seats stays readable; every single seat
//! is in the JSON.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use comfy_table::{Cell, ContentArrangement, Table};
use hocket_lab::experiments::siblings;
use hocket_lab::harness::Host;
use hocket_machine::facts::{self, MachineFacts};
use hocket_machine::grants::{self, Grant};
use hocket_machine::topology::{
    Cache, CacheType, Core, Kind, KindOrigin, NumaNode, Package, Source, Topology,
};
use hocket_machine::{CpuSet, Fact};
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::output;

/// Arguments of `hocket machine`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket machine                        this machine
  hocket machine --json                 the same for programs
  hocket machine --verify               who shares a core, by measurement (some seconds; best on an idle machine)
  hocket machine --topology server.xml  a machine that `lstopo --of xml server.xml` has described")]
pub struct MachineArgs {
    /// Prints JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Describes the machine in this hwloc XML file (formats 1, 2 and 3) instead of this one.
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,
    /// Measures which seats share a core, and compares it with what the system says. It uses both CPUs
    /// of many pairs for some seconds, and says `unknown` if other programs disturb it.
    #[arg(long, conflicts_with_all = ["json", "topology"])]
    pub verify: bool,
    /// Undoes what a killed run left behind: SMT switched off, CPUs reserved.
    #[arg(long, conflicts_with_all = ["json", "topology", "verify"])]
    pub restore: bool,
}

/// The JSON: the topology's fields at the top, and beside them what is known of this system alone.
#[derive(Debug, Serialize)]
struct Answer {
    #[serde(flatten)]
    topology: Topology,
    /// None where the topology is another machine's.
    grants: Option<Vec<Grant>>,
    /// None where the topology is another machine's.
    facts: Option<MachineFacts>,
}

/// Runs `hocket machine`.
///
/// # Errors
/// Bad input where the file cannot be read or understood, not possible where this machine cannot.
pub fn run(args: &MachineArgs) -> Result<Exit, Failure> {
    if args.restore {
        return restore();
    }
    if args.verify {
        return verify();
    }
    let answer = ask(args)?;
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&answer).map_err(Failure::not_possible)?;
            output::print(&format!("{json}\n"));
        }
        false => output::print(&text(&answer)),
    }
    Ok(Exit::Done)
}

fn restore() -> Result<Exit, Failure> {
    let done = crate::leftovers::restore()?;
    match done.is_empty() {
        true => output::print("Nothing was left changed.\n"),
        false => output::print(&format!("{}\n", done.join("\n"))),
    }
    Ok(Exit::Done)
}

/// The measurement takes about so long at most.
const VERIFY_LIMIT: Duration = Duration::from_secs(15);

/// The system's view, and the measured one beside it.
fn verify() -> Result<Exit, Failure> {
    let host = Host::discover().map_err(Failure::not_possible)?;
    let mut out = String::from("As the system says\n");
    line(&mut out, &summary(&host.topology));
    output::print(&out);
    let found = siblings::verify(&host, VERIFY_LIMIT).map_err(Failure::not_possible)?;
    let mut out = String::from("As measured\n");
    for sentence in &found.sentences {
        prose(&mut out, 2, &sentence.text);
    }
    if found.left_out > 0 {
        let left = plural(found.left_out, "CPU");
        prose(
            &mut out,
            2,
            &format!(
                "{left} more were left out; `hocket lab run siblings --full` takes more time."
            ),
        );
    }
    output::print(&out);
    Ok(Exit::Done)
}

fn ask(args: &MachineArgs) -> Result<Answer, Failure> {
    if let Some(file) = &args.topology {
        let topology = Topology::from_file(file).map_err(Failure::bad_input)?;
        return Ok(Answer { topology, grants: None, facts: None });
    }
    let topology = Topology::discover().map_err(Failure::not_possible)?;
    // The environment may have made hwloc describe another machine; then nothing else is this one's.
    let here = topology.is_this_system;
    let grants = here.then(grants::probe);
    Ok(Answer { topology, grants, facts: here.then(facts::read) })
}

/// The machine in a few lines, for commands that go on to do something else.
pub fn summary(topology: &Topology) -> String {
    let mut out = String::new();
    line(&mut out, &headline(topology));
    siblings(&mut out, topology);
    out
}

/// The widest line of the text where the terminal's width is not known.
const WIDTH: usize = 100;

/// The whole text.
fn text(answer: &Answer) -> String {
    let topology = &answer.topology;
    let mut out = String::new();
    line(&mut out, &headline(topology));
    line(&mut out, &source(topology));
    for packages in package_groups(topology) {
        package_text(&mut out, topology, &packages);
    }
    loose_seats(&mut out, topology);
    siblings(&mut out, topology);
    unusable(&mut out, topology);
    kinds(&mut out, topology);
    caches(&mut out, topology);
    memory(&mut out, topology);
    notes(&mut out, topology);
    if let Some(facts) = &answer.facts {
        system(&mut out, facts);
    }
    match &answer.grants {
        Some(grants) => grant_table(&mut out, grants),
        None => line(&mut out, "\nGrants are left out: this topology describes another machine."),
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// `a, b, c` broken into lines that start with `indent`.
fn wrap(out: &mut String, indent: usize, words: impl IntoIterator<Item = String>) {
    let margin = " ".repeat(indent);
    let mut current = margin.clone();
    for word in words {
        let used = current.chars().count();
        if used > indent && used + 1 + word.chars().count() > WIDTH {
            line(out, &current);
            current.clone_from(&margin);
        }
        if current.len() > indent {
            current.push(' ');
        }
        current.push_str(&word);
    }
    line(out, &current);
}

fn prose(out: &mut String, indent: usize, text: &str) {
    wrap(out, indent, text.split_whitespace().map(String::from));
}

/// `1 core`, `2 cores`.
fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

// ---- the machine ------------------------------------------------------------------------------

fn headline(t: &Topology) -> String {
    let mut parts = vec![plural(t.packages.len(), "package")];
    parts.push(match t.cores.len() {
        0 => "no word of cores".into(),
        cores => plural(cores, "core"),
    });
    parts.push(plural(t.seats.len(), "seat"));
    parts.push(plural(t.kinds.len(), "kind"));
    parts.join(", ")
}

fn source(t: &Topology) -> String {
    match &t.source {
        Source::HwlocLive { version } => format!("Read through hwloc {version}."),
        Source::Sysfs { root } => format!("Read from the kernel's files below {root}."),
        Source::File { path, format_version } => {
            format!("Read from {path} (hwloc XML, format {format_version}).")
        }
    }
}

/// Each package alone where there are few, those that are the same to look at together where there
/// are many.
fn package_groups(t: &Topology) -> Vec<Vec<&Package>> {
    if t.packages.len() <= DRAWN {
        return t.packages.iter().map(|p| vec![p]).collect();
    }
    let mut groups: Vec<Vec<&Package>> = Vec::new();
    for package in &t.packages {
        match groups.iter_mut().find(|g| look(t, g[0]) == look(t, package)) {
            Some(group) => group.push(package),
            None => groups.push(vec![package]),
        }
    }
    groups
}

/// What is shown of a package, but for its numbers.
fn look<'a>(t: &Topology, package: &'a Package) -> (Option<&'a str>, usize, Vec<(usize, usize)>) {
    let cores = package.cores.iter().map(|&c| (t.cores[c].kind, t.cores[c].seats.len()));
    (package.model.as_deref(), package.seats.len(), cores.collect())
}

fn package_text(out: &mut String, t: &Topology, packages: &[&Package]) {
    let first = packages[0];
    let numbers: CpuSet = packages.iter().filter_map(|p| p.os_index).collect();
    let number = if numbers.is_empty() { String::new() } else { format!(" {numbers}") };
    let name = match packages.len() {
        1 => format!("Package{number}"),
        many => format!("{many} packages{number}, all alike"),
    };
    let model = first.model.as_deref().unwrap_or("model unknown");
    let model = model.split_whitespace().collect::<Vec<_>>().join(" ");
    line(out, &format!("\n{name}: {model}"));
    let cores = packages.iter().flat_map(|p| &p.cores).map(|&c| &t.cores[c]);
    for group in alike(t, cores) {
        core_group(out, t, &group);
    }
    let seats: Vec<usize> = packages.iter().flat_map(|p| p.seats.iter().copied()).collect();
    if seats.is_empty() {
        line(out, "  nothing of it is shown to this process");
    } else if first.cores.is_empty() {
        let count = plural(seats.len(), "seat");
        line(out, &format!("  {count}, cores not known: CPUs {}", t.cpus_of(&seats)));
    }
}

/// Cores that are the same to look at: kind and number of seats; fastest kind first.
fn alike<'a>(t: &Topology, cores: impl Iterator<Item = &'a Core>) -> Vec<Vec<&'a Core>> {
    let mut groups: BTreeMap<(usize, usize), Vec<&Core>> = BTreeMap::new();
    for core in cores {
        let slowness = t.kinds.len() - core.kind;
        groups.entry((slowness, core.seats.len())).or_default().push(core);
    }
    groups.into_values().collect()
}

fn core_group(out: &mut String, t: &Topology, cores: &[&Core]) {
    let first = cores[0];
    let kind = match t.kinds.len() {
        1 => String::new(),
        _ => format!(" of kind {}", t.kinds[first.kind].name),
    };
    let seats = match first.seats.len() {
        1 => "1 seat each".to_string(),
        n => format!("{n} seats each"),
    };
    let cpus: CpuSet =
        cores.iter().flat_map(|c| t.cpus_of(&c.seats).iter().collect::<Vec<_>>()).collect();
    line(out, &format!("  {}{kind}, {seats}: CPUs {}", plural(cores.len(), "core"), spaced(&cpus)));
    if first.seats.len() > 1 {
        wrap(out, 4, brackets(t, cores));
    }
}

/// No more cores than this are drawn one by one.
const DRAWN: usize = 16;

/// The seats of each core in brackets; of many cores, the rule if there is one, else the first.
fn brackets(t: &Topology, cores: &[&Core]) -> Vec<String> {
    let cpus: Vec<Vec<u32>> =
        cores.iter().map(|c| c.seats.iter().map(|&s| t.seats[s].cpu).collect()).collect();
    let one = |cpus: &Vec<u32>| {
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        format!("[{}]", cpus.join(" "))
    };
    if cpus.len() <= DRAWN {
        return cpus.iter().map(one).collect();
    }
    if let Some(rule) = rule(&cpus) {
        return rule.split(' ').map(String::from).collect();
    }
    let shown = cpus.iter().take(DRAWN - 1).map(one);
    let rest = format!("... and {} more", cpus.len() + 1 - DRAWN);
    shown.chain([rest]).collect()
}

/// `[n n+64] for n = 0-63` where all cores number their seats alike.
fn rule(cores: &[Vec<u32>]) -> Option<String> {
    let steps = |core: &Vec<u32>| core.iter().map(|cpu| cpu - core[0]).collect::<Vec<u32>>();
    let pattern = steps(cores.first()?);
    if cores.iter().any(|core| steps(core) != pattern) {
        return None;
    }
    let names: Vec<String> =
        pattern.iter().map(|&s| if s == 0 { "n".into() } else { format!("n+{s}") }).collect();
    let firsts: CpuSet = cores.iter().map(|core| core[0]).collect();
    Some(format!("[{}] for n = {}", names.join(" "), spaced(&firsts)))
}

/// A list of CPUs, or `0,4,...,252` where it steps evenly.
fn spaced(cpus: &CpuSet) -> String {
    let list: Vec<u32> = cpus.iter().collect();
    match list.as_slice() {
        [first, second, .., last] if list.len() > 4 && second - first > 1 => {
            let even = list.windows(2).all(|w| w[1] - w[0] == second - first);
            if even { format!("{first},{second},...,{last}") } else { cpus.to_string() }
        }
        _ => cpus.to_string(),
    }
}

/// Seats of no package.
fn loose_seats(out: &mut String, t: &Topology) {
    let loose: Vec<usize> =
        t.seats.iter().filter(|s| s.package.is_none()).map(|s| s.index).collect();
    if loose.is_empty() {
        return;
    }
    line(out, "\nOutside any package:");
    for group in alike(t, t.cores.iter().filter(|c| c.package.is_none())) {
        core_group(out, t, &group);
    }
    let bare: Vec<usize> = loose.into_iter().filter(|&s| t.seats[s].core.is_none()).collect();
    if !bare.is_empty() {
        let seats = plural(bare.len(), "seat");
        line(out, &format!("  {seats}, cores not known: CPUs {}", t.cpus_of(&bare)));
    }
}

fn siblings(out: &mut String, t: &Topology) {
    let text = match (t.cores.len(), t.pairs.len()) {
        (0, _) => "Siblings: the system does not say which seats share a core.".to_string(),
        (_, 0) => "Siblings: no SMT here: every core has one seat, and sibling policies change \
                   nothing."
            .into(),
        (cores, pairs) if cores == pairs => {
            format!("Siblings: each of the {cores} cores is a pair.")
        }
        (cores, pairs) => format!("Siblings: {pairs} of {cores} cores are pairs."),
    };
    out.push('\n');
    prose(out, 0, &text);
    let most = t.pairs.iter().map(|p| p.seats.len()).max().unwrap_or(0);
    if most > 2 {
        prose(
            out,
            2,
            &format!("A pair has up to {most} seats here; policies hold for all of them."),
        );
    }
}

fn unusable(out: &mut String, t: &Topology) {
    let hidden: CpuSet = t.offline_or_hidden_cpus.iter().copied().collect();
    if !hidden.is_empty() {
        line(out, &format!("Off line or hidden: CPUs {hidden}"));
    }
    let refused: CpuSet =
        t.seats.iter().filter(|s| s.online && !s.allowed).map(|s| s.cpu).collect();
    if !refused.is_empty() {
        line(out, &format!("Not allowed to this process: CPUs {refused}"));
    }
}

fn kinds(out: &mut String, t: &Topology) {
    if t.kinds.len() == 1 {
        return;
    }
    line(out, "\nKinds of core, fastest first");
    for kind in t.kinds.iter().rev() {
        kind_text(out, t, kind);
    }
}

fn kind_text(out: &mut String, t: &Topology, kind: &Kind) {
    let cores = t.cores.iter().filter(|c| c.kind == kind.index).count();
    let clock = kind.max_mhz.map_or(String::new(), |mhz| format!(", up to {mhz} MHz"));
    let how = match kind.how {
        KindOrigin::Reported => "reported",
        KindOrigin::Inferred => "inferred",
    };
    let size = format!("{}, {}", plural(cores, "core"), plural(kind.seats.len(), "seat"));
    prose(out, 2, &format!("{}: {size}{clock} ({how}: {})", kind.name, kind.reason));
}

fn caches(out: &mut String, t: &Topology) {
    if t.caches.is_empty() {
        return;
    }
    let mut groups: BTreeMap<(u32, CacheType, Option<u64>, usize), usize> = BTreeMap::new();
    for Cache { level, cache_type, size_bytes, seats, .. } in &t.caches {
        *groups.entry((*level, *cache_type, *size_bytes, seats.len())).or_default() += 1;
    }
    line(out, "\nCaches");
    for ((level, cache_type, size, seats), count) in groups {
        let holds = match cache_type {
            CacheType::Data => "data",
            CacheType::Instruction => "instructions",
            CacheType::Unified => "both",
        };
        let size = size.map_or("size unknown".into(), bytes);
        let shared = plural(seats, "seat");
        line(out, &format!("  L{level} {holds:<13}{count:>4} x {size:<10} for {shared} each"));
    }
}

fn memory(out: &mut String, t: &Topology) {
    line(out, "\nMemory");
    let mut groups: BTreeMap<(Option<u64>, usize), Vec<&NumaNode>> = BTreeMap::new();
    let many = t.numa_nodes.len() > DRAWN;
    for (place, node) in t.numa_nodes.iter().enumerate() {
        // Few nodes are shown one by one, many by what they have in common.
        let key = if many { (node.memory_bytes, node.seats.len()) } else { (None, place) };
        groups.entry(key).or_default().push(node);
    }
    for nodes in groups.values() {
        let numbers: CpuSet = nodes.iter().filter_map(|n| n.os_index).collect();
        let seats: Vec<usize> = nodes.iter().flat_map(|n| n.seats.iter().copied()).collect();
        let size = nodes[0].memory_bytes.map_or("size unknown".into(), bytes);
        let each = if nodes.len() > 1 { " each" } else { "" };
        let near = t.cpus_of(&seats);
        line(out, &format!("  node {numbers}: {size}{each}, near to CPUs {}", spaced(&near)));
    }
}

fn bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_048_576 => (1_u64 << 10, "KiB"),
        1_048_576..1_073_741_824 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    let value = format!("{:.2}", bytes as f64 / unit as f64);
    format!("{} {name}", value.trim_end_matches('0').trim_end_matches('.'))
}

fn notes(out: &mut String, t: &Topology) {
    if t.notes.is_empty() {
        return;
    }
    line(out, "\nNotes");
    for note in &t.notes {
        prose(out, 2, note);
    }
}

// ---- this system ------------------------------------------------------------------------------

fn system(out: &mut String, facts: &MachineFacts) {
    line(out, "\nSystem");
    let mut fact = |name: &str, value: String| prose(out, 2, &format!("{name}: {value}"));
    fact("distribution", facts.distribution.to_string());
    fact("kernel", format!("{}, preemption {}", facts.kernel_release, facts.preemption));
    fact("hypervisor", facts.hypervisor.to_string());
    fact("SMT", facts.smt.to_string());
    fact("governors", governors(facts));
    fact("clock source", facts.clocksource.to_string());
    fact("load", load(&facts.load));
    fact("isolated CPUs", facts.isolated_cpus.to_string());
    fact("CPUs without tick", facts.tickless_cpus.to_string());
    fact("real-time throttle", facts.real_time_throttle.to_string());
}

/// Each governor with its CPUs, or the one reason why there is none.
fn governors(facts: &MachineFacts) -> String {
    let mut by_name: BTreeMap<&str, CpuSet> = BTreeMap::new();
    for (&cpu, clock) in &facts.clocks {
        if let Some(name) = clock.governor.value() {
            by_name.entry(name).or_default().insert(cpu);
        }
    }
    if by_name.is_empty() {
        return "unknown (the kernel does not control the clocks here)".into();
    }
    let each = by_name.iter().map(|(name, cpus)| format!("{name} on CPUs {cpus}"));
    each.collect::<Vec<_>>().join("; ")
}

fn load(load: &Fact<[f64; 3]>) -> String {
    match load {
        Fact::Value([one, five, fifteen]) => {
            format!("{one:.2} {five:.2} {fifteen:.2} (1, 5, 15 minutes)")
        }
        Fact::Unknown(why) => format!("unknown ({why})"),
    }
}

fn grant_table(out: &mut String, grants: &[Grant]) {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_none() {
        table.set_width(WIDTH as u16);
    }
    table.set_header(["granted here", "", "why, and what would help"]);
    for grant in grants {
        let mut why = grant.detail.clone();
        if let Some(remedy) = &grant.remedy {
            let _ = write!(why, "; to get it: {remedy}");
        }
        let yes = if grant.granted { "yes" } else { "no" };
        table.add_row([Cell::new(grant.name.label()), Cell::new(yes), Cell::new(why)]);
    }
    let _ = writeln!(out, "\n{table}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of `packages` packages of `cores` cores of `threads` seats, numbered as Linux does:
    /// the first threads of all cores, then the second ones.
    fn machine(packages: u32, cores: u32, threads: u32) -> Topology {
        let mut xml = String::from("<topology version=\"2.0\"><object type=\"Machine\">");
        for package in 0..packages {
            let _ = write!(xml, "<object type=\"Package\" os_index=\"{package}\">");
            for core in 0..cores {
                let _ = write!(xml, "<object type=\"Core\" os_index=\"{core}\">");
                for thread in 0..threads {
                    let cpu = thread * packages * cores + package * cores + core;
                    let _ = write!(xml, "<object type=\"PU\" os_index=\"{cpu}\"/>");
                }
                xml.push_str("</object>");
            }
            xml.push_str("</object>");
        }
        xml.push_str("</object></topology>");
        Topology::from_xml(&xml, "made").expect("a well-formed machine")
    }

    fn shown(topology: Topology) -> String {
        text(&Answer { topology, grants: None, facts: None })
    }

    fn check(topology: Topology, expected: &[&str]) {
        let text = shown(topology);
        for part in expected {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
    }

    #[test]
    fn pairs_are_drawn_one_by_one_where_there_are_few() {
        check(
            machine(1, 4, 2),
            &[
                "1 package, 4 cores, 8 seats",
                "[0 4] [1 5] [2 6] [3 7]",
                "each of the 4 cores is a pair",
            ],
        );
    }

    #[test]
    fn two_hundred_and_fifty_six_seats_stay_readable() {
        let text = shown(machine(2, 64, 2));
        assert!(text.contains("[n n+128] for n = 0-63"), "{text}");
        assert!(text.contains("[n n+128] for n = 64-127"), "{text}");
        assert!(
            text.lines().count() < 40 && text.lines().all(|l| l.chars().count() <= WIDTH),
            "{text}"
        );
    }

    #[test]
    fn many_packages_that_are_alike_are_one_entry() {
        let text = shown(machine(64, 1, 4));
        assert!(text.contains("64 packages 0-63, all alike"), "{text}");
        assert!(text.contains("[n n+64 n+128 n+192] for n = 0-63"), "{text}");
        assert!(text.lines().count() < 20, "{text}");
    }

    #[test]
    fn a_machine_without_smt_says_what_that_means() {
        check(machine(1, 2, 1), &["no SMT here", "sibling policies change nothing"]);
    }

    #[test]
    fn four_seats_on_a_core_are_one_pair() {
        check(machine(1, 2, 4), &["[0 2 4 6] [1 3 5 7]", "up to 4 seats"]);
    }

    #[test]
    fn even_steps_are_abbreviated() {
        let cpus = |list: &str| list.parse::<CpuSet>().expect("a list");
        assert_eq!(spaced(&cpus("0,4,8,12,16,20")), "0,4,...,20");
        assert_eq!(spaced(&cpus("0-63")), "0-63");
        assert_eq!(spaced(&cpus("0,2,5,7,9")), "0,2,5,7,9");
        assert_eq!(spaced(&cpus("")), "none");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes(512), "0.5 KiB");
        assert_eq!(bytes(32 << 10), "32 KiB");
        assert_eq!(bytes(3 << 19), "1.5 MiB");
        assert_eq!(bytes(5 << 18), "1.25 MiB");
        assert_eq!(bytes(30 << 30), "30 GiB");
    }

    #[test]
    fn the_json_has_what_programs_look_for() {
        let answer = Answer { topology: machine(1, 2, 2), grants: None, facts: None };
        let json = serde_json::to_value(&answer).expect("serialisable");
        for key in ["packages", "cores", "seats", "pairs", "kinds", "caches", "numa_nodes", "notes"]
        {
            assert!(json[key].is_array(), "{key}");
        }
        assert_eq!(json["source"]["from"], "file");
        assert!(json.get("grants").is_some() && json.get("facts").is_some());
        assert_eq!(json["pairs"][1]["seats"], serde_json::json!([2, 3]));
    }

    #[test]
    fn a_missing_file_is_bad_input_with_its_name() {
        let topology = Some(PathBuf::from("no-such-file.xml"));
        let failure = run(&MachineArgs { json: false, topology, restore: false, verify: false })
            .expect_err("there is none");
        assert_eq!(failure.exit, Exit::BadInput);
        assert!(failure.message.contains("no-such-file.xml"), "{}", failure.message);
    }
}
