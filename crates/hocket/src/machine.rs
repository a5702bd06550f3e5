//! `hocket machine`: what the machine is made of, and what the system grants here.
//!
//! The text groups what is alike, so that a machine of 256 seats stays readable; every single seat
//! is in the JSON.

mod cores;
mod layout;
mod system;
mod topology;
mod verify;

use std::path::PathBuf;

use clap::Args;
use hocket_machine::facts::{self, MachineFacts};
use hocket_machine::grants::{self, Grant};
use hocket_machine::topology::Topology;
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::output;
use layout::line;

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
    /// Undoes what a killed run left behind: SMT switched off, CPUs reserved, settings changed.
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
        return verify::verify();
    }
    let answer = ask(args)?;
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&answer).map_err(Failure::not_possible)?;
            output::print_json(&format!("{json}\n"));
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
    line(&mut out, &topology::headline(topology));
    topology::siblings(&mut out, topology);
    out
}

/// The whole text.
fn text(answer: &Answer) -> String {
    let machine = &answer.topology;
    let mut out = String::new();
    line(&mut out, &topology::headline(machine));
    line(&mut out, &topology::source(machine));
    for packages in cores::package_groups(machine) {
        cores::package_text(&mut out, machine, &packages);
    }
    cores::loose_seats(&mut out, machine);
    topology::siblings(&mut out, machine);
    topology::unusable(&mut out, machine);
    topology::kinds(&mut out, machine);
    topology::caches(&mut out, machine);
    topology::memory(&mut out, machine);
    topology::notes(&mut out, machine);
    if let Some(facts) = &answer.facts {
        system::system(&mut out, facts);
    }
    match &answer.grants {
        Some(grants) => system::grant_table(&mut out, grants),
        None => line(&mut out, "\nGrants are left out: this topology describes another machine."),
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use layout::WIDTH;

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
