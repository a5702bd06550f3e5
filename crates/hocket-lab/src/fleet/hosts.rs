//! The list of machines: TOML, or one name a line.

use std::path::Path;

use hocket_machine::CpuSet;
use serde::Deserialize;
use toml::Spanned;

use super::FleetError;
use super::error::{Source, read};

/// A machine as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// As the scheduler calls it.
    pub name: String,
    /// As it calls itself, where that is another name.
    pub hostname: Option<String>,
    /// The CPUs that jobs may use there; `None`: all that they are given.
    pub cpus: Option<CpuSet>,
    /// The scheduler's partition; `None`: its default.
    pub partition: Option<String>,
    /// Whether renders use siblings; the lab measures them in any case.
    pub siblings: bool,
}

const REMEDY: &str = "write one host a line, as in 'node1 cpus=0-7 partition=fast', or TOML with a \
                      [[host]] for each; options are hostname, cpus, partition and siblings=no";

impl Host {
    /// The hosts of a file, in its order. Thread: control; does file I/O.
    ///
    /// # Errors
    /// [`FleetError`] with the place of what is wrong.
    pub fn read(path: &Path) -> Result<Vec<Host>, FleetError> {
        Host::parse(path, &read(path, "list of hosts")?)
    }

    /// The same from a text; `path` is named in errors.
    ///
    /// # Errors
    /// [`FleetError`] with the place of what is wrong.
    pub fn parse(path: &Path, text: &str) -> Result<Vec<Host>, FleetError> {
        let source = Source { path, text };
        let is_toml = text.lines().any(|line| line.trim_start().starts_with('['));
        let entries = if is_toml { tables(&source)? } else { lines(&source)? };
        if entries.is_empty() {
            return Err(FleetError::whole(path, "there is no host in it", REMEDY));
        }
        let mut hosts: Vec<Host> = Vec::new();
        for (at, entry) in entries {
            let host = host(entry).map_err(|cause| source.error(at, cause, REMEDY))?;
            // Names are names of files, too, and some file systems do not tell cases apart.
            if hosts.iter().any(|known| known.name.eq_ignore_ascii_case(&host.name)) {
                let cause = format!("the host '{}' is there twice", host.name);
                return Err(source.error(at, cause, "keep one of the two"));
            }
            hosts.push(host);
        }
        Ok(hosts)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(default)]
    host: Vec<Spanned<Entry>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    hostname: Option<String>,
    cpus: Option<String>,
    partition: Option<String>,
    siblings: Option<bool>,
}

fn tables(source: &Source<'_>) -> Result<Vec<(usize, Entry)>, FleetError> {
    let tables: Tables =
        toml::from_str(source.text).map_err(|error| source.toml(&error, REMEDY))?;
    Ok(tables.host.into_iter().map(|entry| (entry.span().start, entry.into_inner())).collect())
}

fn lines(source: &Source<'_>) -> Result<Vec<(usize, Entry)>, FleetError> {
    let mut entries = Vec::new();
    let mut at = 0;
    for line in source.text.split_inclusive('\n') {
        let told = line.split('#').next().unwrap_or_default();
        if let Some(first) = told.find(|c: char| !c.is_whitespace()) {
            let place = at + first;
            let entry = entry(told).map_err(|cause| source.error(place, cause, REMEDY))?;
            entries.push((place, entry));
        }
        at += line.len();
    }
    Ok(entries)
}

fn entry(line: &str) -> Result<Entry, String> {
    let mut words = line.split_whitespace();
    let mut entry = Entry { name: words.next().unwrap_or_default().to_owned(), ..Entry::default() };
    for word in words {
        let (key, value) =
            word.split_once('=').ok_or_else(|| format!("'{word}' is no option (KEY=VALUE)"))?;
        match key {
            "hostname" => entry.hostname = Some(value.to_owned()),
            "cpus" => entry.cpus = Some(value.to_owned()),
            "partition" => entry.partition = Some(value.to_owned()),
            "siblings" => entry.siblings = Some(yes(value)?),
            _ => return Err(format!("there is no option '{key}'")),
        }
    }
    Ok(entry)
}

fn yes(value: &str) -> Result<bool, String> {
    match value {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(format!("siblings is yes or no, not '{value}'")),
    }
}

fn host(entry: Entry) -> Result<Host, String> {
    let named = [Some(&entry.name), entry.hostname.as_ref(), entry.partition.as_ref()];
    named.into_iter().flatten().try_for_each(|text| name(text))?;
    Ok(Host {
        cpus: entry.cpus.as_deref().map(cpus).transpose()?,
        name: entry.name,
        hostname: entry.hostname,
        partition: entry.partition,
        siblings: entry.siblings.unwrap_or(true),
    })
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    let cpus: CpuSet = text.parse().map_err(|why| format!("cpus '{text}': {why}"))?;
    if cpus.is_empty() { Err("cpus names no CPU".into()) } else { Ok(cpus) }
}

/// Names go into scripts and names of files as they are.
fn name(text: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let first = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    match first && text.len() <= 200 && text.chars().all(good) {
        true => Ok(()),
        false if text.contains('[') => {
            Err(format!("'{text}' is many hosts; `scontrol show hostnames '{text}'` lists them"))
        }
        false => Err(format!("'{text}' is no name (letters, digits and . - _)")),
    }
}
