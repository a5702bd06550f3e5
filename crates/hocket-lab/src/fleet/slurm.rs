//! Job arrays for Slurm (sbatch(1), scontrol(1)).
//!
//! An array has one task a host. All tasks of an array share their options, so none of these can name a
//! task's host; the array is submitted on hold, each task is bound to its host by `ReqNodeList`, and
//! then the array is released. `submit.sh` does this. Hosts of different partitions are in different arrays.

use std::fmt::Write;
use std::time::Duration;

use super::{Fleet, Host};

/// The largest array that a cluster takes unless it was configured otherwise (`MaxArraySize`).
const MAX_TASKS: usize = 1000;

/// Names and texts of the files, relative to the plan's folder; the last one is a script to be run.
pub fn files(fleet: &Fleet, hosts: &[Host]) -> Vec<(String, String)> {
    let arrays = arrays(hosts);
    let name = |at: usize| format!("array-{}.sbatch", at + 1);
    let mut files: Vec<(String, String)> =
        arrays.iter().enumerate().map(|(at, hosts)| (name(at), array(fleet, hosts))).collect();
    let named: Vec<(String, &[&Host])> =
        arrays.iter().enumerate().map(|(at, hosts)| (name(at), hosts.as_slice())).collect();
    files.push(("submit.sh".into(), submit(fleet, &named)));
    files
}

/// Hosts that can share an array, in the order of the file.
fn arrays(hosts: &[Host]) -> Vec<Vec<&Host>> {
    let mut arrays: Vec<Vec<&Host>> = Vec::new();
    for host in hosts {
        let fits = |array: &&mut Vec<&Host>| {
            let first = array[0];
            let same = (&first.partition, first.siblings) == (&host.partition, host.siblings);
            same && array.len() < MAX_TASKS
        };
        match arrays.iter_mut().find(fits) {
            Some(array) => array.push(host),
            None => arrays.push(vec![host]),
        }
    }
    arrays
}

fn array(fleet: &Fleet, hosts: &[&Host]) -> String {
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    let folder = fleet.folder.display();
    format!(
        "#!/bin/bash\n\
         # Written by `hocket lab plan`. Submit it with submit.sh, which binds each task to its host.\n\
         {}\n\
         hosts=({})\n\
         host=${{hosts[$SLURM_ARRAY_TASK_ID]}}\n\
         # One process tree: the signal before the time limit reaches the program itself.\n\
         exec '{}' lab run --spec '{folder}/jobs/'\"$host.toml\" \\\n  \
         --records '{folder}/records/'\"$host.sqlite\"\n",
        options(fleet, hosts),
        names.join(" "),
        fleet.program.display()
    )
}

/// A host is used by nobody else meanwhile. The lab is shown all seats of a core; renders that leave
/// siblings alone are given one thread a core.
fn options(fleet: &Fleet, hosts: &[&Host]) -> String {
    let mut options = format!(
        "#SBATCH --job-name={}\n#SBATCH --array=0-{}\n#SBATCH --hold\n#SBATCH --nodes=1\n\
         #SBATCH --exclusive\n#SBATCH --mem=0\n#SBATCH --export=NIL\n\
         #SBATCH --output=\"{}/logs/%A_%a.txt\"\n",
        fleet.name,
        hosts.len() - 1,
        fleet.folder.display()
    );
    let mut option = |text: String| {
        let _ = writeln!(options, "#SBATCH {text}");
    };
    if let Some(partition) = &hosts[0].partition {
        option(format!("--partition={partition}"));
    }
    if fleet.renders && !hosts[0].siblings {
        option("--hint=nomultithread".into());
    }
    if let Some(limit) = fleet.limit {
        option(format!("--time={}", minutes(limit)));
        option("--signal=B:TERM@60".into());
    }
    options
}

fn minutes(limit: Duration) -> u64 {
    limit.as_secs().div_ceil(60).max(2)
}

fn submit(fleet: &Fleet, arrays: &[(String, &[&Host])]) -> String {
    let folder = fleet.folder.display();
    let mut text = String::from(SUBMIT);
    for (script, hosts) in arrays {
        let _ = write!(text, "submit '{folder}/{script}'");
        hosts.iter().for_each(|host| {
            let _ = write!(text, " \\\n  {}", host.name);
        });
        text.push('\n');
    }
    text
}

const SUBMIT: &str = "#!/bin/bash
# Written by `hocket lab plan`: submits the arrays with each task bound to its host, and prints their ids.
set -euo pipefail

submit() { # SCRIPT HOST...
  local id host task=0
  id=$(sbatch --parsable \"$1\")
  id=${id%%;*}
  shift
  for host; do
    scontrol update \"JobId=${id}_$task\" \"ReqNodeList=$host\" || {
      scancel \"$id\"
      echo \"submit.sh: $host cannot be asked for; array $id is cancelled\" >&2
      exit 1
    }
    task=$((task + 1))
  done
  scontrol release \"$id\"
  echo \"$id\"
}

";
