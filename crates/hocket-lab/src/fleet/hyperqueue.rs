//! A job definition file for HyperQueue (`hq job submit-file`).
//!
//! Its workers are told apart by a resource that only the worker of that host offers. Names of
//! resources are letters, digits and slashes, so hosts are numbered there.

use serde::Serialize;

use super::{Fleet, Host};

#[derive(Serialize)]
struct JobFile<'a> {
    name: &'a str,
    task: Vec<Task>,
}

#[derive(Serialize)]
struct Task {
    id: usize,
    command: Vec<String>,
    cwd: String,
    stdout: String,
    stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_limit: Option<String>,
    request: [Request; 1],
}

#[derive(Serialize)]
struct Request {
    resources: toml::Table,
}

/// Names and texts of the files, relative to the plan's folder.
pub fn files(fleet: &Fleet, hosts: &[Host]) -> Vec<(String, String)> {
    let task = hosts.iter().enumerate().map(|(at, host)| task(fleet, at, host)).collect();
    let job = JobFile { name: &fleet.name, task };
    // Texts and whole numbers, all of which TOML can hold.
    let text = toml::to_string(&job).unwrap_or_default();
    vec![("hq.toml".into(), head(hosts) + &text)]
}

fn task(fleet: &Fleet, at: usize, host: &Host) -> Task {
    let text = |path: &std::path::Path| path.display().to_string();
    let logs = fleet.folder.join("logs");
    Task {
        id: at,
        command: vec![
            text(&fleet.program),
            "lab".into(),
            "run".into(),
            "--spec".into(),
            text(&fleet.job(host)),
            "--records".into(),
            text(&fleet.record(host)),
        ],
        cwd: text(&fleet.folder),
        stdout: text(&logs.join(format!("{}.txt", host.name))),
        stderr: text(&logs.join(format!("{}.errors.txt", host.name))),
        time_limit: fleet.limit.map(|limit| format!("{}s", limit.as_secs())),
        request: [Request { resources: resources(at) }],
    }
}

/// The whole host, and that one.
fn resources(at: usize) -> toml::Table {
    let mut table = toml::Table::new();
    table.insert("cpus".into(), "all".into());
    table.insert(resource(at), 1.into());
    table
}

fn resource(at: usize) -> String {
    format!("host/{at}")
}

fn head(hosts: &[Host]) -> String {
    let mut text =
        String::from("# Written by `hocket lab plan`. Start one worker on each host:\n#\n");
    for (at, host) in hosts.iter().enumerate() {
        let resource = resource(at);
        text +=
            &format!("#   on {}: hq worker start --resource \"{resource}=sum(1)\"\n", host.name);
    }
    text + "#\n# and submit this file: hq job submit-file hq.toml\n\n"
}
