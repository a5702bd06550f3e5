//! Packages with their cores and seats: one by one where there are few, by what they have in common where there are many.

use std::collections::BTreeMap;

use hocket_machine::CpuSet;
use hocket_machine::topology::{Core, Package, Topology};

use super::layout::{line, plural, wrap};

/// Each package alone where there are few, those that are the same to look at together where there
/// are many.
pub(super) fn package_groups(t: &Topology) -> Vec<Vec<&Package>> {
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

pub(super) fn package_text(out: &mut String, t: &Topology, packages: &[&Package]) {
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
pub(super) const DRAWN: usize = 16;

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
pub(super) fn spaced(cpus: &CpuSet) -> String {
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
pub(super) fn loose_seats(out: &mut String, t: &Topology) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_steps_are_abbreviated() {
        let cpus = |list: &str| list.parse::<CpuSet>().expect("a list");
        assert_eq!(spaced(&cpus("0,4,8,12,16,20")), "0,4,...,20");
        assert_eq!(spaced(&cpus("0-63")), "0-63");
        assert_eq!(spaced(&cpus("0,2,5,7,9")), "0,2,5,7,9");
        assert_eq!(spaced(&cpus("")), "none");
    }
}
